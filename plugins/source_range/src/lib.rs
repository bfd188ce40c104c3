//! Source and port range checks: TCP and UDP packets pass an interface only if their source is in
//! a listed prefix, with their destination port in one of its ranges.
//!
//! Lists have the number of a routing table, but are none: the longest prefix in a list that a
//! source is in decides. An interface has up to four: for received TCP and UDP packets (their lists
//! are called `out`, seen from the hosts) and for packets sent to the hosts (`in`). Other protocols
//! pass, and so do fragments but the first, unless shallow reassembly ([`net::reassembly`]) gave
//! them its ports.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use std::ops::RangeInclusive;

use net::ip4::IP4_OUTPUT;
use net::prelude::*;

pub use api::{IpSourceAndPortRangeCheckAddDel, IpSourceAndPortRangeCheckInterfaceAddDel};

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

/// The numbers of an interface's lists: for TCP and UDP, received and sent.
pub type Lists = [[Option<u16>; 2]; 2];

/// The state of control.
struct Checks {
    by_vrf: HashMap<u32, u16>,
    lists: Shared<Vec<Arc<List>>>,
}

/// Routing tables whose lists an interface is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vrfs {
    /// For received TCP packets.
    pub tcp_out: Option<u32>,
    /// For received UDP packets.
    pub udp_out: Option<u32>,
    /// For sent TCP packets.
    pub tcp_in: Option<u32>,
    /// For sent UDP packets.
    pub udp_in: Option<u32>,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such table {0}
    #[retval(INVALID_VALUE)]
    NoTable(u32),
    /// at most {MOST_LISTS} tables
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// at most {MOST_RANGES} ranges per prefix
    #[retval(EXCEEDED_NUMBER_OF_RANGES_CAPACITY)]
    TooMany,
    /// a range ends before it begins
    #[retval(INVALID_VALUE)]
    Backwards,
    /// no such range
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// the list of table {0} is not empty, or in use by an interface
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
}

/// Adds or deletes port ranges of a source prefix in the list of a table. The table is created if
/// necessary.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_ranges(
    router: &mut Router,
    vrf: u32,
    prefix: Ip4Prefix,
    ranges: &[Ports],
    is_add: bool,
) -> Result<(), Error> {
    let prefix = prefix.network();
    if ranges.iter().any(RangeInclusive::is_empty) {
        return Err(Error::Backwards);
    }
    let checks = router.own::<Checks>();
    let known = checks.by_vrf.get(&vrf).map(|at| usize::from(*at));
    let mut lists = checks.lists.current().clone();
    let mut list = known.map_or_else(List::default, |at| List::clone(&lists[at]));
    let listed = list.ranges.entry(prefix).or_default();
    for range in ranges {
        match listed.iter().position(|r| r == range) {
            None if is_add => listed.push(range.clone()),
            Some(at) if !is_add => drop(listed.remove(at)),
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
        Some(at) => lists[at] = Arc::new(list),
        None => {
            let of_none = |at: &usize| !checks.by_vrf.values().any(|of| usize::from(*of) == *at);
            let at = (0..lists.len()).find(of_none).unwrap_or(lists.len());
            let place = at;
            let at = u16::try_from(at).map_err(|_| Error::Full)?;
            if router.fib.table::<Ip4>(vrf).is_none() {
                router.add_table::<Ip4>(vrf).map_err(|_| Error::Full)?;
            }
            // A list stays, if only with nothing in it, and its table with it.
            router.hold_table::<Ip4>(vrf).map_err(|_| Error::Full)?;
            match lists.get_mut(place) {
                Some(free) => *free = Arc::new(list),
                None => lists.push(Arc::new(list)),
            }
            router.own_mut::<Checks>().by_vrf.insert(vrf, at);
        }
    }
    router.own_mut::<Checks>().lists.publish(lists);
    Ok(())
}

/// Removes the list of a table, which is empty and which no interface uses.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn forget(router: &mut Router, vrf: u32) -> Result<(), Error> {
    let checks = router.own::<Checks>();
    let at = *checks.by_vrf.get(&vrf).ok_or(Error::NoTable(vrf))?;
    let is_used = router.settings::<Lists>().any(|(_, l)| l.as_flattened().contains(&Some(at)));
    if is_used || !checks.lists.current()[usize::from(at)].ranges.is_empty() {
        return Err(Error::InUse(vrf));
    }
    router.own_mut::<Checks>().by_vrf.remove(&vrf);
    if let Some(table) = router.fib.table::<Ip4>(vrf) {
        router.release_table::<Ip4>(table);
    }
    Ok(())
}

/// Sets the lists that check TCP and UDP packets of an interface.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::NoTable`]; nothing has changed then.
pub fn check(router: &mut Router, interface: InterfaceIndex, vrfs: Vrfs) -> Result<(), Error> {
    let by_vrf = &router.own::<Checks>().by_vrf;
    let list = |vrf: Option<u32>| {
        vrf.map(|vrf| by_vrf.get(&vrf).copied().ok_or(Error::NoTable(vrf))).transpose()
    };
    let rx = [list(vrfs.tcp_out)?, list(vrfs.udp_out)?];
    let tx = [list(vrfs.tcp_in)?, list(vrfs.udp_in)?];
    Ok(router.put::<Lists>(interface, [rx, tx])?)
}

/// The ports that a source may send packets to, in the list of a routing table.
///
/// # Errors
/// [`Error::NoTable`].
pub fn ranges_of(router: &Router, vrf: u32, source: Ipv4Addr) -> Result<&[Ports], Error> {
    let checks = router.own::<Checks>();
    let list = checks.by_vrf.get(&vrf).ok_or(Error::NoTable(vrf))?;
    Ok(checks.lists.current()[usize::from(*list)].ranges_of(source).unwrap_or_default())
}

/// Source and port range checks.
pub const FEATURE: Feature = Feature {
    name: "source_range",
    about: "Source and port range checks",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let (settings, lists) = (router.attach::<Lists>().map_err(refuse)?, Shared::new(Vec::new()));
    node::add(router, settings, &lists).map_err(refuse)?;
    router.attach_at::<Lists, _>([
        AttachedAt { arc: &IP4_UNICAST, node: node::RX, is_on: |[rx, _]| *rx != [None; 2] },
        AttachedAt { arc: &IP4_OUTPUT, node: node::TX, is_on: |[_, tx]| *tx != [None; 2] },
    ]);
    router.insert(Checks { by_vrf: HashMap::new(), lists });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
