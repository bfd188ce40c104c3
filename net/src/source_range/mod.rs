//! Checks of sources and ports: TCP and UDP packets pass an interface only if their source is in a
//! prefix that is listed, with their destination port in one of its ranges.
//!
//! Lists have the number of a routing table, but are none: the longest prefix in a list that a
//! source is in decides. An interface has up to four: for what TCP and UDP bring in (their lists
//! are called `out`, seen from the hosts) and for what is sent to the hosts (`in`). Other
//! protocols pass, and so do fragments but the first, unless shallow reassembly
//! ([`crate::reassembly`]) gave them its ports.

mod api;
mod cli;
mod node;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use control::feature::Refused;
use infra::rcu::Shared;
use wire::Ip4Prefix;

use crate::fib::Ip4;
use crate::interface::{Change, InterfaceIndex};
use crate::ip4::{IP4_OUTPUT, IP4_UNICAST};
use crate::router::{Feature, Parts, Router, refuse};

/// Ranges of one prefix at most.
pub const MOST_RANGES: usize = 256;
/// Lists at most.
const MOST_LISTS: usize = 1 << 16;

/// Ports.
pub type Ports = RangeInclusive<u16>;

/// Prefixes and the ports of each.
#[derive(Clone, Default)]
pub struct List {
    ranges: HashMap<Ip4Prefix, Vec<Ports>>,
    /// Lengths of prefixes, longest first.
    lens: Vec<u8>,
}

impl List {
    /// The ranges that hold for a source.
    #[inline(always)]
    fn ranges_of(&self, source: Ipv4Addr) -> Option<&[Ports]> {
        let prefix = |len: &u8| Ip4Prefix::new(source, *len).ok().map(|p| p.network());
        let found = self.lens.iter().find_map(|len| self.ranges.get(&prefix(len)?));
        found.map(Vec::as_slice)
    }
    /// Whether packets from a source to a port pass.
    #[inline(always)]
    pub fn passes(&self, source: Ipv4Addr, port: u16) -> bool {
        self.ranges_of(source).is_some_and(|ranges| ranges.iter().any(|r| r.contains(&port)))
    }
}

/// The numbers of an interface's lists: TCP and UDP, of what comes in and of what goes out.
pub type Lists = [[Option<u16>; 2]; 2];

/// What nodes read.
#[derive(Clone, Default)]
struct Tables {
    lists: Vec<Arc<List>>,
    interfaces: Vec<Lists>,
}

/// What control keeps.
struct Checks {
    by_vrf: HashMap<u32, u16>,
    tables: Shared<Tables>,
}

/// Routing tables whose lists an interface is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vrfs {
    /// For TCP that comes in.
    pub tcp_out: Option<u32>,
    /// For UDP that comes in.
    pub udp_out: Option<u32>,
    /// For TCP that goes out.
    pub tcp_in: Option<u32>,
    /// For UDP that goes out.
    pub udp_in: Option<u32>,
}

/// Why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no such interface.
    NoInterface,
    /// There is no such routing table.
    NoTable(u32),
    /// There are as many lists as there may be.
    Full,
    /// More ranges than a prefix may have.
    TooMany,
    /// A range that ends before it begins.
    Backwards,
    /// There is no such range to take away.
    Unknown,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => f.write_str("no such interface"),
            Self::NoTable(id) => write!(f, "no such table {id}"),
            Self::Full => write!(f, "no more than {MOST_LISTS} tables"),
            Self::TooMany => write!(f, "no more than {MOST_RANGES} ranges for a prefix"),
            Self::Backwards => f.write_str("a range ends before it begins"),
            Self::Unknown => f.write_str("no such range"),
        }
    }
}
impl std::error::Error for Error {}

impl Router {
    /// Lists ports for sources in a prefix, or no longer, in the list of a routing table, which is
    /// made if it is not there.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set_source_ranges(
        &mut self,
        vrf: u32,
        prefix: Ip4Prefix,
        ranges: &[Ports],
        on: bool,
    ) -> Result<(), Error> {
        let prefix = prefix.network();
        if ranges.iter().any(RangeInclusive::is_empty) {
            return Err(Error::Backwards);
        }
        let known = self.checks().by_vrf.get(&vrf).map(|at| usize::from(*at));
        let mut tables = self.checks().tables.current().clone();
        let mut list = known.map_or_else(List::default, |at| List::clone(&tables.lists[at]));
        let listed = list.ranges.entry(prefix).or_default();
        for range in ranges {
            match listed.iter().position(|r| r == range) {
                None if on => listed.push(range.clone()),
                Some(at) if !on => drop(listed.remove(at)),
                None => return Err(Error::Unknown),
                Some(_) => (),
            }
        }
        if listed.len() > MOST_RANGES {
            return Err(Error::TooMany);
        }
        if listed.is_empty() {
            list.ranges.remove(&prefix);
        }
        list.lens = list.ranges.keys().map(|prefix| prefix.prefix_len()).collect();
        list.lens.sort_unstable_by(|a, b| b.cmp(a));
        list.lens.dedup();
        match known {
            Some(at) => tables.lists[at] = Arc::new(list),
            None => {
                let at = u16::try_from(tables.lists.len()).map_err(|_| Error::Full)?;
                if self.fib.table::<Ip4>(vrf).is_none() {
                    self.add_table::<Ip4>(vrf).map_err(|_| Error::Full)?;
                }
                tables.lists.push(Arc::new(list));
                self.checks().by_vrf.insert(vrf, at);
            }
        }
        self.checks().tables.publish(tables);
        Ok(())
    }
    /// Has what TCP and UDP bring in on an interface, or send out of it, checked by these lists and
    /// no others.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::NoTable`]; nothing has changed then.
    pub fn check_ranges(&mut self, interface: InterfaceIndex, vrfs: Vrfs) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let of = |router: &mut Self, vrf: Option<u32>| {
            let Some(vrf) = vrf else { return Ok(None) };
            let number = router.checks().by_vrf.get(&vrf).copied();
            number.map(Some).ok_or(Error::NoTable(vrf))
        };
        let lists = [
            [of(self, vrfs.tcp_out)?, of(self, vrfs.udp_out)?],
            [of(self, vrfs.tcp_in)?, of(self, vrfs.udp_in)?],
        ];
        self.put_lists(interface, lists);
        Ok(())
    }
    fn put_lists(&mut self, interface: InterfaceIndex, lists: Lists) {
        let mut tables = self.checks().tables.current().clone();
        let at = interface.0 as usize;
        tables.interfaces.resize(tables.interfaces.len().max(at + 1), Lists::default());
        tables.interfaces[at] = lists;
        self.checks().tables.publish(tables);
        for ((arc, node), lists) in
            [(&IP4_UNICAST, node::RX), (&IP4_OUTPUT, node::TX)].into_iter().zip(lists)
        {
            let on = lists.iter().any(Option::is_some);
            let done = self.engine.set_feature(arc, node, interface.0, on);
            done.expect("the node is on the arc since the feature registered");
        }
    }
    /// The ports that a source may have packets for, in the list of a routing table.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    pub fn source_ranges(&self, vrf: u32, source: Ipv4Addr) -> Result<&[Ports], Error> {
        let checks = self.state::<Checks>().expect("the feature puts it in");
        let list = checks.by_vrf.get(&vrf).ok_or(Error::NoTable(vrf))?;
        let list = &checks.tables.current().lists[usize::from(*list)];
        Ok(list.ranges_of(source).unwrap_or_default())
    }
    fn checks(&mut self) -> &mut Checks {
        self.state_mut().expect("the feature puts it in")
    }
}

/// Forgets an interface that goes.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        router.put_lists(interface, Lists::default());
    }
}

/// Checks of sources and ports.
pub const FEATURE: Feature = Feature {
    name: "source_range",
    about: "Checks of sources and ports",
    default_enabled: true,
    register,
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let tables = Shared::new(Tables::default());
    node::add(router, &tables).map_err(refuse)?;
    router.insert(Checks { by_vrf: HashMap::new(), tables });
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
