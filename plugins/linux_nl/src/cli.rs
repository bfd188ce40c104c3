//! `show lcp diff`, `lcp resync`.

use net::prelude::*;

use super::message::Route;
use super::{Mirrors, diff};

/// Show where the router and Linux differ about mirrored interfaces and routes over them.
#[derive(Command)]
#[command("show lcp diff")]
struct Diff;

/// Read all state of mirrored interfaces from Linux again.
#[derive(Command)]
#[command("lcp resync")]
struct Resync;

/// Show what is mirrored of Linux, by namespace.
#[derive(Command)]
#[command("show lcp mirror")]
struct Show;

#[derive(Serialize)]
struct Row {
    namespace: String,
    routes: usize,
    /// Routes with an encapsulation, which are left out.
    left_out: usize,
    neighbors: usize,
    rounds: u32,
}

#[derive(Serialize)]
struct Shown {
    lost: u64,
    mirrors: Vec<Row>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.mirrors {
            let name = if row.namespace.is_empty() { "<own>" } else { &row.namespace };
            write!(f, "netns {name}: {} routes, {} neighbors", row.routes, row.neighbors)?;
            write!(f, ", read {} times", row.rounds)?;
            match row.left_out {
                0 => writeln!(f)?,
                count => writeln!(f, ", {count} routes with an encapsulation left out")?,
            }
        }
        writeln!(f, "news lost {} times", self.lost)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, _: Diff| Ok(diff::begin(router)));
    cli.command(|router: &mut Router, _: Show| {
        let mirrors = router.own::<Mirrors>();
        let row = |(name, mirror): (&String, &super::Mirror)| {
            let all = || mirror.places.values().flat_map(|place| &place.routes);
            let is_left_out = |(route, _): &&(Route, u32)| route.encapsulation.is_some();
            let left_out = all().filter(is_left_out).count();
            Row {
                namespace: name.clone(),
                routes: all().count() - left_out,
                left_out,
                neighbors: mirror.neighbors.len(),
                rounds: mirror.round,
            }
        };
        let rows = mirrors.all.iter().map(row).collect();
        Ok(Output::of(Shown { lost: mirrors.lost, mirrors: rows }))
    });
    cli.command(|router: &mut Router, _: Resync| {
        let mirrors = router.own::<Mirrors>();
        mirrors.all.values().for_each(|mirror| mirror.listener.tell_all());
        Ok(())
    });
}
