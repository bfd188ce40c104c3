//! Session tables: what stateful features (NAT, access lists with `permit+reflect`) remember of the
//! packets that passed.
//!
//! # The table
//!
//! [`Sessions`] is a table for each thread. A session is owned by one thread and touched by no
//! other: no locks, no shared lines, and whether a flow is free is a question for one table. It has
//! two keys, the flow of its packets as received ([`New::forward`]) and that of the replies
//! ([`New::reverse`]), which may be of two types (NAT64), and some data of the feature's own. A
//! lookup is one line of tags and the session's record ([`Session`]), which holds both flows: flows
//! with equal tags are distinguished there. TCP state and counts are elsewhere ([`Counted`]). The
//! table grows while in use; records take memory as they are used. Many keys are best looked up
//! together ([`Table::find_all`]).
//!
//! # In a node
//!
//! ```ignore
//! let now = frame.now();
//! let Some(mut table) = self.sessions.lend(frame.thread()) else { return … };
//! frame.each(|p| {
//!     let seen = <[u8; 4]>::look(p.bytes(), p.ports(), p.fib()).ok_or(Error::Truncated)?;
//!     let (at, direction) = match table.find_any(&seen.flow) {          // or find, find_reverse
//!         Some((at, direction)) if !table.is_over(at, now) => (at, direction),
//!         found => {
//!             found.map(|(at, _)| table.remove(at));
//!             let (forward, reverse) = (seen.flow, seen.flow.reversed());
//!             let new = New { forward, reverse, data, class: UDP };
//!             (table.insert(new, now, |end, gone| …).map_err(…)?, Direction::Forward)
//!         }
//!     };
//!     if let Kind::Tcp(flags) = seen.kind && let Some(data) = table.data_mut(at) {
//!         data.tcp = data.tcp.after(flags, direction);                  // RFC 7857, RFC 5382
//!         let class = if data.tcp.is_established() { ESTABLISHED } else { TRANSITORY };
//!         table.set_class(at, class);
//!     }
//!     table.passed(at, p.total_len(), now);
//!     …
//! ```
//!
//! * **Owner.** A node in front hands packets over ([`graph::HandsOff`]) to
//!   `frame.thread_of(flow.meeting(sessions.seed()))`. [`Flow::meeting`] is the same for both
//!   directions. Where they differ because addresses are translated, a port is chosen so that both
//!   flows meet.
//! * **Other threads.** When their number changes, a feature moves its sessions
//!   ([`Sessions::rehome`], called in `Router::on_threads`). Flows that do not meet then are
//!   [`Strays`]: where packets go by hashes that differ by direction, both the node that hands over
//!   and the code that chooses ports ask [`Strays::thread`].
//! * **Explanations** are on no thread: [`Sessions::lend`] gives them a copy with the sessions of
//!   all, so that a node does with it what it does with its own. What else it would change for
//!   others it leaves when the frame is explained.
//! * **Packets** of either version are seen by [`Look::look`]: ports, ICMP identifiers, and of an
//!   ICMP error the flow of the packet it quotes, ends exchanged, so that it finds the session as
//!   an answer would. Fragments have the ports of the first one when the interface has
//!   `Router::need_fragment_ports`.
//! * **Classes** are timeouts ([`Class`]), chosen with [`Table::set_class`]; a new timeout applies
//!   to existing sessions. An expired session ([`Table::is_over`]) is found until it is freed, at
//!   most [`GRACE`] seconds and a visit later: nodes check. [`Table::insert`] frees some itself; a
//!   control process calls [`Sessions::expire`].
//! * **Limits.** A table has room for so many sessions. When it is full, first an expired one is
//!   freed, then the oldest of a class that may be evicted, then a new one is refused
//!   ([`Refused::Full`]). Each end is given to `gone`, for counters, logs and limits of others.
//!
//! # In control
//!
//! [`Sessions::walk`] visits all sessions on their threads, in slices of [`VISIT`] records between
//! two loops: to list, change or end them, all in one turn of control. [`slices`] lets others have
//! their turn in between: for listings, and where more than a few sessions end.
//! [`Sessions::usage`] counts. Tables that are listed ([`list`]) are in `show session tables`.
#![forbid(unsafe_code)]

mod ages;
mod cli;
mod either;
mod flow;
mod health;
mod packet;
pub mod page;
mod rehome;
mod session;
mod shared;
pub mod slices;
mod table;
pub mod tcp;
#[cfg(test)]
mod tests;
mod usage;

use control::feature::Refused as FeatureRefused;
use control::stats::gauges::Gauges;
use graph::NoAnswer;
use net::{Configuration, Feature, Origin, Parts, Router};

pub use either::{Found, KEYS, Sought};
pub use flow::{Address, Direction, Flow, Flow4, Flow6, Key};
pub use packet::{ICMP_HEADER, Kind, Look, Seen};
pub use rehome::{Affinity, Lost, Step, Strays};
pub use session::{Counted, Session};
pub use shared::{Lent, Place, Sessions, VISIT, Walked};
pub use table::{Class, End, GRACE, New, Refused, SessionIndex, Table};
pub use usage::Usage;

/// Session tables.
pub const FEATURE: Feature = Feature {
    name: "sessions",
    about: "Session tables of stateful features",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("sessions are learned"),
};

/// Counts what a feature's tables have done, by thread; empty while it has none.
pub type Count = fn(&mut Router) -> Vec<Usage>;

/// Takes a page of the sessions of a feature.
pub type TakePage = fn(&mut Router, &page::Wanted) -> Result<page::Page, NoAnswer>;

/// The tables of all features, by name.
#[derive(Default)]
struct Listed(Vec<(&'static str, Count)>);

/// The tables whose sessions can be listed a page at a time, by name.
#[derive(Default)]
struct Pages(Vec<(&'static str, TakePage)>);

/// Lists a feature's tables in `show session tables`. The feature requires `sessions`.
pub fn list(router: &mut Router, name: &'static str, count: Count) {
    router.own_mut::<Listed>().0.push((name, count));
}

/// Lists a table's sessions in `show session list` ([`page::page`]).
pub fn list_pages(router: &mut Router, name: &'static str, pages: TakePage) {
    router.own_mut::<Pages>().0.push((name, pages));
}

/// Numbers of tables that have, or had, sessions.
fn gauges(router: &mut Router, gauges: &mut Gauges) {
    for (table, count) in router.own::<Listed>().0.clone() {
        for (thread, usage) in count(router).into_iter().enumerate() {
            if usage.made == 0 && usage.refused == 0 {
                continue;
            }
            let labels = [("table", table), ("thread", &*thread.to_string())];
            let mut gauge =
                |name, help, value: usize| gauges.gauge(name, help, &labels, value as f64);
            gauge("sessions", "Sessions now.", usage.sessions);
            gauge("sessions_limit", "Sessions that a thread may have.", usage.limit);
            let mut counter = |name, help, value: u64| {
                gauges.counter(name, help, &labels, value as f64);
            };
            counter("sessions_made", "Sessions begun.", usage.made);
            counter("sessions_expired", "Sessions that were idle for too long.", usage.expired);
            counter("sessions_evicted", "Sessions that made room for others.", usage.evicted);
            counter("sessions_refused", "Sessions refused for want of room.", usage.refused);
        }
    }
}

fn register(parts: &mut Parts) -> Result<(), FeatureRefused> {
    parts.router.insert(Listed::default());
    health::register(parts.router);
    parts.router.insert(Pages::default());
    slices::register(parts.router);
    parts.router.gauges.push(gauges);
    cli::register(&mut parts.cli);
    page::register(&mut parts.cli);
    Ok(())
}
