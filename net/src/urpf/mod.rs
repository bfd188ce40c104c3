//! Checks of source addresses on interfaces: unicast reverse-path forwarding (RFC 3704).
//!
//! *Loose* takes a packet when there is a way back to its source at all. *Strict* takes what comes
//! in when a way back leads over the interface it came in on, and what goes out when there is a way
//! back and none leads over the interface it leaves by: nobody behind that sends it. What this
//! router made passes on its way out.

mod api;
mod back;
mod cli;
mod node;
#[cfg(test)]
mod tests;

use std::fmt;

use infra::rcu::Shared;

use crate::adjacency::Link;
use crate::fib::{Ip4, Ip6, TableIndex};
use crate::interface::{Change, InterfaceIndex};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use back::{Back, WaysBack};
pub use node::{Checked, Urpf};

/// How sources are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Some way leads back.
    Loose,
    /// A way leads back over the interface.
    Strict,
}

/// Which packets of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What comes in.
    Rx,
    /// What goes out.
    Tx,
}

/// One check of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The interface.
    pub interface: InterfaceIndex,
    /// Which packets.
    pub direction: Direction,
    /// Of IPv4 or of IPv6.
    pub link: Link,
    /// How.
    pub mode: Mode,
    /// Where sources are looked up; `None` where packets of the interface they came in on are.
    pub table: Option<TableIndex>,
}

/// Tables that sources are looked up in, by interface; none is the interface's own.
pub type Tables = Vec<Option<u16>>;

/// All checks.
#[derive(Default)]
struct Checks {
    all: Vec<Check>,
    /// For nodes: of IPv4 and IPv6, what comes in and what goes out.
    tables: [[Option<Shared<Tables>>; 2]; 2],
}

/// Why a check is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no such interface.
    NoInterface,
    /// There is no such table.
    NoTable,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoInterface => "no such interface",
            Self::NoTable => "no such table",
        })
    }
}
impl std::error::Error for Error {}

impl Router {
    /// Has sources of packets checked, in another way than before, or no longer (`None`).
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn check_sources(
        &mut self,
        interface: InterfaceIndex,
        direction: Direction,
        link: Link,
        mode: Option<Mode>,
        table: Option<TableIndex>,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let has_table = |table: TableIndex| match link {
            Link::Ip4 => self.fib.table_id::<Ip4>(table).is_some(),
            _ => self.fib.table_id::<Ip6>(table).is_some(),
        };
        if table.is_some_and(|table| !has_table(table)) {
            return Err(Error::NoTable);
        }
        self.put_check(interface, direction, link, mode, table);
        Ok(())
    }
    fn put_check(
        &mut self,
        interface: InterfaceIndex,
        direction: Direction,
        link: Link,
        mode: Option<Mode>,
        table: Option<TableIndex>,
    ) {
        let Some(checks) = self.state_mut::<Checks>() else { return };
        let is_it = |c: &Check| (c.interface, c.direction, c.link) == (interface, direction, link);
        checks.all.retain(|c| !is_it(c));
        checks.all.extend(mode.map(|mode| Check { interface, direction, link, mode, table }));
        checks.all.sort_by_key(|c| (c.interface, c.direction == Direction::Tx, c.link));
        let place = &mut checks.tables[usize::from(link == Link::Ip6)];
        if let Some(tables) = &mut place[usize::from(direction == Direction::Tx)] {
            let mut new = tables.current().clone();
            let at = interface.0 as usize;
            new.resize(new.len().max(at + 1), None);
            new[at] = table.map(|t| t.0);
            tables.publish(new);
        }
        for each in [Mode::Loose, Mode::Strict] {
            let (arc, node) = match link {
                Link::Ip4 => node::place::<Ip4>(direction, each),
                _ => node::place::<Ip6>(direction, each),
            };
            let done = self.engine.set_feature(arc, node, interface.0, mode == Some(each));
            done.expect("the node is on the arc since the feature registered");
        }
    }
    /// All checks, by interface.
    pub fn source_checks(&self) -> &[Check] {
        self.state::<Checks>().map_or(&[], |checks| &checks.all)
    }
}

/// Source checks.
pub const FEATURE: Feature = Feature {
    name: "urpf",
    about: "Unicast Reverse Path Forwarding (uRPF)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::None("its commands do not print themselves yet"),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut parts.router;
    let mut checks = Checks::default();
    checks.tables[0] = node::add::<Ip4>(router).map_err(refuse)?.map(Some);
    checks.tables[1] = node::add::<Ip6>(router).map_err(refuse)?.map(Some);
    router.insert(checks);
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

/// Follows changes of interfaces.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        let mine = router.source_checks().iter().filter(|c| c.interface == interface);
        let mine: Vec<Check> = mine.copied().collect();
        for c in mine {
            router.put_check(interface, c.direction, c.link, None, None);
        }
    }
}
