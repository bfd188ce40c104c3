//! `show http`.

use std::sync::atomic::{AtomicU64, Ordering};

use net::prelude::*;

use crate::Http;

/// Show the HTTP listeners and their usage.
#[derive(Command)]
#[command("show http")]
struct Show;

#[derive(Serialize)]
struct Shown {
    served: Vec<String>,
    connections: u64,
    accepted: u64,
    turned_away: u64,
    requests: u64,
    refused: u64,
    foreign: u64,
    live: u64,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.served.is_empty() {
            return writeln!(f, "nothing is served: see `http {{ listen ADDRESS }}'");
        }
        self.served.iter().try_for_each(|address| writeln!(f, "serving {address}"))?;
        let connections = [
            (self.connections, "open"),
            (self.accepted, "so far"),
            (self.turned_away, "turned away"),
        ];
        let requests = [
            (self.requests, "so far"),
            (self.refused, "without the right token"),
            (self.foreign, "of other origins"),
        ];
        let line = |of: &[(u64, &str)]| {
            of.iter().map(|(n, what)| format!("{n} {what}")).collect::<Vec<_>>().join(", ")
        };
        writeln!(f, "connections: {}", line(&connections))?;
        writeln!(f, "requests: {}", line(&requests))?;
        writeln!(f, "clients of live statistics: {}", self.live)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, _: Show| {
        let http = router.own::<Http>();
        let (now, c) = (|counter: &AtomicU64| counter.load(Ordering::Relaxed), &http.counts);
        Ok(Output::of(Shown {
            served: http.served.clone(),
            connections: now(&c.connections),
            accepted: now(&c.accepted),
            turned_away: now(&c.turned_away),
            requests: now(&c.requests),
            refused: now(&c.refused),
            foreign: now(&c.foreign),
            live: now(&c.live),
        }))
    });
}
