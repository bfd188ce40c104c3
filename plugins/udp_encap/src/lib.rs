//! UDP headers as forwarding objects. Paths of routes lead to an *encapsulation*: an IP and a UDP
//! header that are put in front of IP packets, labelled packets or packets with a BIER header, and
//! the route to the far end that these follow then. A *decapsulation* has what is behind the UDP
//! header of a port forwarded. Neither has an interface.
//!
//! The hop count of what is carried stays as it is: what leads there is part of a route.
//!
//! An encapsulation that was deleted stays as long as paths lead to it.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod decap;
mod encap;

use control::stats::Columns;
use infra::counter::Rows;
use net::adjacency::chain::Hop;
use net::fib::types::{FibPath, FibPathType};
use net::fib::{self, Followed, NewKind, Object, ObjectKind, PathType, PathWord, RouteOf};
use net::ip::Chain;
use net::prelude::*;
use net::tunnel::{Behind, FAR, Outer};

pub use api::*;
pub use decap::UdpDecapNextProto;
pub use encap::{Encap, Error as EncapDrops};

use encap::{CARRIED, Fronts, NODES};

/// Most encapsulations.
const MOST: u32 = 1 << 16;
const COLUMNS: Columns = Columns::growing("udp-encap", MOST as usize);

/// Headers that an encapsulation puts in front, as the operator gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpEncap {
    /// Local address.
    pub src: IpAddr,
    /// Remote address.
    pub dst: IpAddr,
    /// The port that it comes from; one that stands for the flow when `None`.
    pub src_port: Option<u16>,
    /// The port at the far end.
    pub dst_port: u16,
    /// Table to route the outer packets in.
    pub table_id: u32,
}

/// An encapsulation.
struct Made {
    encap: UdpEncap,
    table: TableIndex,
    followed: Followed,
    /// Paths that lead there.
    users: u32,
    /// Whether it was not deleted.
    is_wanted: bool,
}

/// A port whose packets are taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decap {
    /// The version of the outer header.
    pub version: IpVersion,
    /// Port.
    pub port: u16,
}

/// State of control.
struct Encaps {
    made: BTreeMap<u32, Made>,
    /// Over IPv4 and over IPv6, as nodes read them.
    fronts: [SharedSlab<Fronts>; 2],
    kinds: [ObjectKind; 2],
    counters: Rows<VolumeCounter>,
    decaps: BTreeMap<Decap, UdpDecapNextProto>,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// source and destination have different address families
    #[retval(INVALID_ADDRESS_FAMILY)]
    Families,
    /// {0} cannot be a source or destination
    #[retval(INVALID_VALUE)]
    Address(IpAddr),
    /// destination port 0
    #[retval(INVALID_VALUE)]
    NoPort,
    /// {0} is in use
    #[retval(VALUE_EXIST)]
    InUse(u32),
    /// no encapsulation {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(u32),
    /// at most 65536 encapsulations
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// UDP port {0} has no decapsulation
    #[retval(NO_SUCH_ENTRY)]
    NoDecap(u16),
    /// {0}
    #[retval(UDP_PORT_TAKEN)]
    Taken(net::ip::Error),
    /// the payload must be IPv4, IPv6 or MPLS
    #[retval(INVALID_VALUE)]
    Protocol,
    /// {0}
    #[retval(UNSPECIFIED)]
    Fib(fib::Error),
}

fn place(addr: IpAddr) -> usize {
    usize::from(addr.is_ipv6())
}

fn check(new: &UdpEncap) -> Result<(), Error> {
    if new.src.is_ipv4() != new.dst.is_ipv4() {
        return Err(Error::Families);
    }
    let is_bad = |addr: &IpAddr| addr.is_unspecified();
    if let Some(addr) = [new.src, new.dst].into_iter().find(is_bad) {
        return Err(Error::Address(addr));
    }
    if new.src.is_multicast() {
        return Err(Error::Address(new.src));
    }
    if new.dst_port == 0 {
        return Err(Error::NoPort);
    }
    Ok(())
}

/// The headers in front of packets of a kind.
fn chain(new: &UdpEncap, table: TableIndex, carried: Link) -> Chain {
    let mut behind = Behind::udp(new.dst_port, &[]);
    if let Some(port) = new.src_port {
        behind.bytes[..2].copy_from_slice(&port.to_be_bytes());
        behind.keeps_port = true;
    }
    Outer::new(new.src, new.dst, table).chain(new.dst, FAR, carried, &behind)
}

/// Makes an encapsulation, with this number or the lowest that is free; returns the number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, id: Option<u32>, new: UdpEncap) -> Result<u32, Error> {
    check(&new)?;
    let link = Link::of(new.dst);
    let table = router.table_of(link, new.table_id).ok_or(Error::NoTable(new.table_id))?;
    let made = &router.own::<Encaps>().made;
    let id = match id {
        Some(id) if made.contains_key(&id) => return Err(Error::InUse(id)),
        Some(id) => id,
        None => {
            made.keys().zip(0..).find(|(used, n)| **used != *n).map_or(made.len() as u32, |u| u.1)
        }
    };
    if id >= MOST {
        return Err(Error::Full);
    }
    let followed = router.follow(link, table, new.dst, None).map_err(Error::Fib)?;
    router.use_table_of(link, table, true);
    let (stacked, at) = (followed.load_balance(), place(new.dst));
    let edge = |router: &mut Router, from: &str, to: &str| {
        router.engine.connect(from, to).unwrap_or(Slot(0))
    };
    let mut hop = |carried: usize| {
        let node = NODES[at][carried];
        let Chain { header, fixup, carries_offloads, .. } = chain(&new, table, CARRIED[carried]);
        let rewrite = edge(router, node, link.rewrite_node());
        let balance = edge(router, node, link.load_balance_node());
        Hop { header, fixup, carries_offloads, stacked, fib: table.0, rewrite, balance }
    };
    let hops = [hop(0), hop(1), hop(2)];
    let again = NODES[at].map(|node| edge(router, node, node));
    let encaps = router.own_mut::<Encaps>();
    encaps.fronts[at].put(id, Some(Fronts { hops, again }));
    let new = Made { encap: new, table, followed, users: 0, is_wanted: true };
    encaps.made.insert(id, new);
    let counters = encaps.counters.clone();
    router.count_from_zero(&counters, COLUMNS, id, "UDP encapsulations");
    Ok(id)
}

/// Deletes an encapsulation; it stays as long as paths lead there.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(router: &mut Router, id: u32) -> Result<(), Error> {
    let made = router.own_mut::<Encaps>().made.get_mut(&id).filter(|made| made.is_wanted);
    made.ok_or(Error::Unknown(id))?.is_wanted = false;
    reap(router, id);
    Ok(())
}

/// Frees an encapsulation without users and paths.
fn reap(router: &mut Router, id: u32) {
    let encaps = router.own_mut::<Encaps>();
    if !encaps.made.get(&id).is_some_and(|made| made.users == 0 && !made.is_wanted) {
        return;
    }
    let Some(gone) = encaps.made.remove(&id) else { return };
    encaps.fronts[place(gone.encap.dst)].put(id, None);
    router.unfollow(gone.followed);
    router.use_table_of(Link::of(gone.encap.dst), gone.table, false);
}

/// Counters of an encapsulation.
pub fn counted(router: &Router, id: u32) -> Volume {
    router.own::<Encaps>().counters.sum(id as usize)
}

/// Follows paths that come to lead to an encapsulation, or do no longer.
fn hold(router: &mut Router, id: u32, is_held: bool) {
    if let Some(made) = router.own_mut::<Encaps>().made.get_mut(&id) {
        made.users = if is_held { made.users + 1 } else { made.users.saturating_sub(1) };
    }
    reap(router, id);
}

fn stack(router: &Router, id: u32) -> Option<u32> {
    router.own::<Encaps>().made.get(&id).map(|made| made.followed.load_balance())
}

fn describe(router: &Router, id: u32) -> String {
    cli::describe(router, id).unwrap_or_else(|| format!("udp-encap:[{id}]"))
}

/// The object of an encapsulation that paths may lead to.
fn object(router: &Router, id: u32) -> Option<Object> {
    let encaps = router.own::<Encaps>();
    let made = encaps.made.get(&id).filter(|made| made.is_wanted)?;
    Some(Object { kind: encaps.kinds[place(made.encap.dst)], index: id })
}

fn read(router: &Router, path: &FibPath, of: RouteOf) -> Result<Target, Retval> {
    if of.link() == Link::Ethernet {
        return Err(Retval::INVALID_ADDRESS_FAMILY);
    }
    object(router, path.nh.obj_id).map(Target::Object).ok_or(Retval::NO_SUCH_ENTRY)
}

fn write(router: &Router, object: Object, path: &mut FibPath) -> bool {
    let is_own = router.own::<Encaps>().kinds.contains(&object.kind);
    if is_own {
        path.nh.obj_id = object.index;
    }
    is_own
}

fn parse(router: &Router, of: RouteOf, args: &mut Args<'_>) -> Result<Object, control::cli::Error> {
    let id = args.value("id")?;
    if of.link() == Link::Ethernet {
        return Err(args.error("expected a route of IP packets or labels before"));
    }
    Ok(object(router, id).ok_or(Error::Unknown(id))?)
}

fn print(router: &Router, id: u32) -> Option<String> {
    object(router, id).map(|object| object.index.to_string())
}

/// UDP headers as forwarding objects.
pub const FEATURE: Feature = Feature {
    name: "udp-encap",
    about: "UDP headers that routes lead to, and ports that packets are taken out at",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "tunnel", "mpls"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let counters = router.stats.combined("/net/udp-encap", COLUMNS);
    let counters = counters.map_err(|e| refuse(std::io::Error::other(e)))?;
    let slab = || SharedSlab::new(MOST as usize).map_err(refuse);
    let fronts = [slab()?, slab()?];
    let readers = [fronts[0].reader(), fronts[1].reader()];
    encap::add(router, &readers, &counters).map_err(refuse)?;
    decap::add_nodes(router).map_err(refuse)?;
    let mut kind = |names: [&str; 3]| {
        let nodes = CARRIED.into_iter().zip(names.map(str::to_owned)).collect();
        router.add_object_kind(NewKind { nodes, describe }).map_err(refuse)
    };
    let kinds = [kind(NODES[0])?, kind(NODES[1])?];
    for kind in kinds {
        router.fib.watch_objects(kind, hold);
        router.fib.stack_objects(kind, stack);
        // The first is that of `ip route`, the second that of labels and bit positions.
        for word in ["udp-encap", "udp-encap-id"] {
            router.fib.add_path_word(PathWord { kind, word, parse, print });
        }
    }
    router.fib.add_path_type(PathType { number: FibPathType::UDP_ENCAP, read, write });
    let (made, decaps) = Default::default();
    router.insert(Encaps { made, fronts, kinds, counters, decaps });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
