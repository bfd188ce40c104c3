//! Protected tunnels: all packets of an interface are encrypted with one SA and decrypted with
//! others, per tunnel or, for multipoint tunnels, per next hop.
//!
//! Packets go from the node that prepends the tunnel's headers to one that encrypts them; the SA is
//! found by adjacency. For received packets it is found by remote address and SPI.

mod frames;
mod input;
pub mod itf;

use std::collections::HashSet;

use net::adjacency::chain::Hop;
use net::adjacency::{AdjacencyIndex, MAX_ADJACENCIES};
use net::fib::Followed;
use net::interface::Kind;
use net::prelude::*;
use net::punt::Reason;
use net::tunnel::{Outer, Tuple};

use super::decrypt::MPLS;
use super::{Error, Ipsec, Sa, sa};

pub use frames::GRE;
pub use input::{Known, TunInput};

/// Limit of protected tunnels.
const MOST: usize = 1 << 16;

/// Encryption of packets over an adjacency, or of frames of a tunnel.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// Security association.
    pub sa: u32,
    /// Whether the tunnel prepends no header, so that the TTL is decremented here.
    pub is_bare: bool,
    /// The route to the remote endpoint of a tunnel for frames.
    pub hop: Option<Hop>,
}

/// A protected tunnel for the decryption nodes.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Interface.
    pub interface: InterfaceIndex,
    /// Whether the tunnel's header is inside that of the SA.
    pub is_enclosed: bool,
    /// Remote and local address in the tunnel's header.
    pub ends: Option<(u128, u128)>,
}

impl Carried {
    /// Protocol and length of the tunnel's header; `None` if it belongs to another tunnel.
    pub fn enclosed(&self, packet: &[u8]) -> Option<(Protocol, usize)> {
        let (protocol, len, src, dst) = match packet.first()? >> 4 {
            4 => {
                let (h, _) = ip4::Header::ref_from_prefix(packet).ok()?;
                let bits = |addr| u128::from(u32::from_be_bytes(addr));
                (h.protocol, h.header_len(), bits(h.src), bits(h.dst))
            }
            6 => {
                let (h, _) = ip6::Header::ref_from_prefix(packet).ok()?;
                let (src, dst) = (u128::from_be_bytes(h.src), u128::from_be_bytes(h.dst));
                (h.next_header, size_of::<ip6::Header>(), src, dst)
            }
            _ => return None,
        };
        let carries = [Protocol::IP4, Protocol::IP6, Protocol::GRE, MPLS].contains(&protocol);
        let is_own = carries && self.ends.is_none_or(|ends| ends == (src, dst));
        is_own.then_some((protocol, len))
    }
}

/// Length of a GRE header without options, and the EtherType of its payload (RFC 2784).
pub fn gre(bytes: &[u8]) -> Option<(usize, EtherType)> {
    let [flags, version, a, b] = *bytes.first_chunk::<4>()?;
    if version & 7 != 0 || flags & 0x4f != 0 {
        return None;
    }
    let options =
        usize::from(flags >> 7) + usize::from(flags >> 5 & 1) + usize::from(flags >> 4 & 1);
    Some((4 + 4 * options, EtherType::new(u16::from_be_bytes([a, b]))))
}

/// A protected tunnel.
#[derive(Clone, Debug)]
pub struct Protected {
    /// Interface.
    pub interface: InterfaceIndex,
    /// The next hop; unspecified for all.
    pub next_hop: IpAddr,
    /// Outbound security association.
    pub sa_out: u32,
    /// Inbound security associations.
    pub sa_in: Vec<u32>,
    /// Its number for the nodes.
    number: u32,
    received: Received,
}

type Key = (InterfaceIndex, IpAddr);

/// All protected tunnels.
pub struct Protect {
    all: BTreeMap<Key, Protected>,
    by_adjacency: SharedSlab<Sealing>,
    carried: SharedSlab<Carried>,
    /// Tunnels by remote address and SPI, over IPv4 and IPv6.
    known: [Shared<Known>; 2],
    /// Whether ESP for this router goes to the input node, over IPv4 and IPv6.
    takes_esp: [bool; 2],
    /// Number of users of each UDP port.
    ports: HashMap<(bool, u16), u32>,
    itfs: itf::Itfs,
    /// Tunnels that carry packets only while they are protected.
    held: HashSet<InterfaceIndex>,
    /// Routes to the remote endpoints of tunnels for frames, by tunnel number.
    followed: HashMap<u32, Followed>,
}

impl Protect {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            all: BTreeMap::new(),
            by_adjacency: SharedSlab::new(MAX_ADJACENCIES + MOST)?,
            carried: SharedSlab::new(MOST)?,
            known: [Shared::new(Known::new()), Shared::new(Known::new())],
            takes_esp: [false; 2],
            ports: HashMap::new(),
            itfs: itf::Itfs::default(),
            held: HashSet::new(),
            followed: HashMap::new(),
        })
    }
    pub(super) fn by_adjacency(&self) -> SlabReader<Sealing> {
        self.by_adjacency.reader()
    }
    pub(super) fn carried(&self) -> SlabReader<Carried> {
        self.carried.reader()
    }
    /// Whether packets of an interface are encrypted or dropped.
    fn is_sealed(&self, interface: InterfaceIndex) -> bool {
        self.held.contains(&interface) || self.all.keys().any(|(i, _)| *i == interface)
    }
    /// Changes the keys of received packets; each table is published once.
    fn relearn(&mut self, received: &Received, change: impl Fn(&mut Known, &((u128, u32), u32))) {
        for (at, known) in self.known.iter_mut().enumerate() {
            let keys = received.keys.iter().filter(|(is_6, ..)| usize::from(*is_6) == at);
            let mut keys = keys.map(|(_, key, sa)| (*key, *sa)).peekable();
            if keys.peek().is_some() {
                let mut new = known.current().clone();
                keys.for_each(|key| change(&mut new, &key));
                known.publish(new);
            }
        }
    }
    fn learn(&mut self, received: &Received, number: u32) {
        self.relearn(received, |known, (key, sa)| {
            known.insert(*key, (*sa, number));
        });
    }
    /// Removes the keys of a tunnel; keys that another tunnel uses by now stay.
    fn forget(&mut self, received: &Received, number: u32) {
        self.relearn(received, |known, (key, _)| {
            if known.get(key).is_some_and(|(_, of)| *of == number) {
                known.remove(key);
            }
        });
    }
    /// The protection of packets to a next hop.
    fn of(&self, interface: InterfaceIndex, next_hop: IpAddr) -> Option<&Protected> {
        let everybody = |link: Link| self.all.get(&(interface, link.unspecified()));
        let exact = self.all.get(&(interface, next_hop));
        exact.or_else(|| everybody(Link::Ip4)).or_else(|| everybody(Link::Ip6))
    }
}

/// All protected tunnels by interface.
pub fn all(router: &Router) -> impl Iterator<Item = &Protected> {
    router.own::<Protect>().all.values()
}

/// Lookup keys of received packets, for debugging: IPv6 flag, remote address, SPI, SA.
pub fn keys(router: &Router) -> Vec<(bool, u128, u32, u32)> {
    let known = &router.own::<Protect>().known;
    let of = |is_6: bool| {
        let rows = known[usize::from(is_6)].current().iter();
        rows.map(move |((remote, spi), (sa, _))| (is_6, *remote, *spi, *sa))
    };
    let mut all: Vec<_> = of(false).chain(of(true)).collect();
    all.sort_unstable();
    all
}

/// The ID of an SA, even if it has been deleted and is still in use.
pub fn id_of(router: &Router, index: u32) -> u32 {
    router.own::<Ipsec>().sas.at(index).map_or(u32::MAX, |sa| sa.config.id)
}

/// Whether a tunnel is protected by another feature with its own SAs.
pub fn is_derived(router: &Router, t: &Protected) -> bool {
    router.own::<Ipsec>().sas.at(t.sa_out).is_some_and(|sa| sa.config.is_derived)
}

/// The interface protected by an SA.
pub fn interface_of(router: &Router, index: u32) -> Option<InterfaceIndex> {
    let has = |t: &&Protected| t.sa_out == index || t.sa_in.contains(&index);
    all(router).find(has).map(|t| t.interface)
}

/// The outer header of packets of a tunnel to a next hop.
fn outer_of(router: &Router, interface: InterfaceIndex, next_hop: IpAddr) -> Option<Outer> {
    let outer = router.outer_of_tunnel(interface)?;
    if !outer.is_multipoint() {
        return Some(outer);
    }
    let (table, dst) = router.own::<net::teib::Peers>().find(interface, next_hop)?;
    Some(Outer { table, dst, ..outer })
}

/// Protects a tunnel, or replaces the SAs of its protection.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn update(
    router: &mut Router,
    interface: InterfaceIndex,
    next_hop: IpAddr,
    sa_out: u32,
    sa_in: &[u32],
) -> Result<(), Error> {
    let found = router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if found.kind == Kind::Ethernet && found.hardware != frames::GRE {
        return Err(Error::Frames);
    }
    let sa_out = sa::index(router, sa_out)?;
    let sa_in = sa_in.iter().map(|id| sa::index(router, *id)).collect::<Result<Vec<_>, _>>()?;
    let is_ah = |index: &u32| router.own::<Ipsec>().sas.at(*index).is_some_and(Sa::is_ah);
    if sa_in.iter().chain([&sa_out]).any(is_ah) {
        return Err(Error::Protocol);
    }
    set(router, interface, next_hop, sa_out, sa_in)?;
    itf::follow(router, interface);
    Ok(())
}

/// Lookup keys of received packets of a tunnel.
#[derive(Clone, Debug, Default)]
struct Received {
    /// IPv6 flag, remote address and SPI, and the SA.
    keys: Vec<(bool, (u128, u32), u32)>,
    /// UDP ports on which they are received.
    ports: Vec<(bool, u16)>,
}

impl Received {
    /// Empty for SAs in transport mode while the remote address is unknown: the next hops of
    /// multipoint tunnels may be added later, and be removed.
    fn of(router: &Router, outer: Option<&Outer>, sa_in: &[u32]) -> Self {
        let mut received = Self::default();
        for index in sa_in {
            let Some(sa) = router.own::<Ipsec>().sas.at(*index) else { continue };
            let remote = sa.config.tunnel.as_ref().map(|tunnel| tunnel.src);
            let Some(remote) = remote.or(outer.map(|outer| outer.dst)) else { continue };
            let is_6 = remote.is_ipv6();
            received.keys.push((is_6, (Tuple::bits(remote), sa.config.spi), *index));
            received.ports.extend(sa.config.udp.map(|(_, dst)| (is_6, dst)));
        }
        received
    }
}

/// Like [`update`], with the indices of SAs.
fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    next_hop: IpAddr,
    sa_out: u32,
    sa_in: Vec<u32>,
) -> Result<(), Error> {
    let is_itf = itf::is_one(router, interface);
    let outer = outer_of(router, interface, next_hop);
    let sas = &router.own::<Ipsec>().sas;
    let tunnel_of = |index: u32| sas.at(index).and_then(|sa| sa.config.tunnel);
    if !is_itf && router.outer_of_tunnel(interface).is_none() {
        return Err(Error::NoTunnel);
    }
    if is_itf && (tunnel_of(sa_out).is_none() || sa_in.iter().any(|sa| tunnel_of(*sa).is_none())) {
        return Err(Error::Unfit);
    }
    let is_enclosed = !is_itf && sa_in.iter().any(|sa| tunnel_of(*sa).is_some());
    let route = frames::follow(router, interface, outer.as_ref())?;
    let received = Received::of(router, outer.as_ref(), &sa_in);
    let ends = outer.map(|o| (Tuple::bits(o.dst), Tuple::bits(o.src)));
    let protect = router.own_mut::<Protect>();
    let number = protect.carried.insert(Carried { interface, is_enclosed, ends });
    let number = number.map_err(|_| Error::Full)?;
    let users: Vec<_> = sa_in.iter().chain([&sa_out]).copied().collect();
    users.iter().for_each(|index| sa::use_one(router, *index, true));
    received.ports.iter().for_each(|at| listen(router, *at, true));
    let protect = router.own_mut::<Protect>();
    protect.learn(&received, number);
    protect.followed.extend(route.map(|route| (number, route)));
    let new = Protected { interface, next_hop, sa_out, sa_in, number, received };
    // The old protection is removed after the new one is in place: no packet passes unprotected.
    let old = protect.all.insert((interface, next_hop), new);
    lead(router, interface);
    old.into_iter().for_each(|old| give_up(router, &old));
    dispatch_esp(router);
    Ok(())
}

/// Removes the protection of a tunnel.
///
/// # Errors
/// [`Error::NotProtected`].
pub fn remove(
    router: &mut Router,
    interface: InterfaceIndex,
    next_hop: IpAddr,
) -> Result<(), Error> {
    let protect = router.own_mut::<Protect>();
    let gone = protect.all.remove(&(interface, next_hop)).ok_or(Error::NotProtected)?;
    itf::follow(router, interface);
    lead(router, interface);
    give_up(router, &gone);
    dispatch_esp(router);
    Ok(())
}

/// Holds a tunnel, which then carries packets only while it is protected, or releases it.
pub fn hold(router: &mut Router, interface: InterfaceIndex, is_held: bool) {
    let is_for_frames = router
        .interfaces
        .at(interface)
        .is_some_and(|i| i.kind == Kind::Ethernet && i.hardware != frames::GRE);
    let is_tunnel = router.outer_of_tunnel(interface).is_some() && !is_for_frames;
    if is_held && !is_tunnel {
        return;
    }
    let held = &mut router.own_mut::<Protect>().held;
    let is_new = if is_held { held.insert(interface) } else { held.remove(&interface) };
    if is_new {
        lead(router, interface);
    }
}

/// Releases the resources of a protected tunnel.
fn give_up(router: &mut Router, gone: &Protected) {
    let protect = router.own_mut::<Protect>();
    protect.carried.remove(gone.number);
    protect.by_adjacency.put(frames::mark(gone.number), None);
    let route = protect.followed.remove(&gone.number);
    protect.forget(&gone.received, gone.number);
    if let Some(route) = route {
        router.unfollow(route);
    }
    gone.received.ports.iter().for_each(|at| listen(router, *at, false));
    gone.sa_in.iter().chain([&gone.sa_out]).for_each(|sa| sa::use_one(router, *sa, false));
}

/// Gives ESP for this router to the input node while there are protected tunnels over the same
/// version; otherwise it is a protocol without a receiver, as in VPP, and may be redirected.
fn dispatch_esp(router: &mut Router) {
    for (at, version) in [IpVersion::V4, IpVersion::V6].into_iter().enumerate() {
        let protect = router.own_mut::<Protect>();
        let takes = !protect.known[at].current().is_empty();
        if std::mem::replace(&mut protect.takes_esp[at], takes) != takes {
            let node = takes.then_some(input::NODES[at]);
            let done = router.redispatch_protocol(version, Protocol::ESP, node);
            debug_assert!(done.is_ok(), "the input nodes are in the graph");
        }
    }
}

/// Recomputes tunnels from their SAs.
fn refresh_those(router: &mut Router, is_meant: impl Fn(&Protected) -> bool) {
    let mine: Vec<_> = all(router).filter(|t| is_meant(t)).cloned().collect();
    for t in mine {
        let _ = set(router, t.interface, t.next_hop, t.sa_out, t.sa_in);
    }
}

/// Handles a change of an SA of protected tunnels. As in VPP, packets of IPsec interfaces continue
/// to be sent to the remote address at the time of protection.
pub(super) fn refresh(router: &mut Router, index: u32) {
    refresh_those(router, |t| t.sa_out == index || t.sa_in.contains(&index));
}

/// Registers a user of a UDP port, or removes one: packets to the port go to the input node while
/// it has users.
pub fn listen(router: &mut Router, (is_6, port): (bool, u16), is_on: bool) {
    let users = router.own_mut::<Protect>().ports.entry((is_6, port)).or_default();
    let before = *users;
    *users = if is_on { before + 1 } else { before.saturating_sub(1) };
    let to = match (before, is_on) {
        (0, true) => Some(input::NODES[usize::from(is_6)]),
        (1, false) => None,
        _ => return,
    };
    // A port used by another feature is not taken over.
    let _ = router.lead_tunnel_port(IpVersion::six(is_6), port, to);
}

/// The encryption node for packets of a link, by their outermost header.
fn sealing_node(router: &Router, interface: InterfaceIndex, link: Link) -> &'static str {
    let outer = router.outer_of_tunnel(interface).filter(|_| !itf::is_one(router, interface));
    match link {
        Link::Mpls => super::encrypt::NODES[6],
        _ if outer.map_or(link == Link::Ip6, |o| o.src.is_ipv6()) => super::encrypt::NODES[5],
        _ => super::encrypt::NODES[4],
    }
}

/// Encrypts an adjacency's packets, if protected.
fn lead_one(router: &mut Router, index: AdjacencyIndex) {
    let Some(a) = router.adjacencies.at(index) else { return };
    let (interface, next_hop, link) = (a.interface, a.next_hop, a.link);
    let protect = router.own::<Protect>();
    let sealing = protect.of(interface, next_hop).map(|t| t.sa_out);
    let is_bare = itf::is_one(router, interface);
    let sealing = sealing.map(|sa| Sealing { sa, is_bare, hop: None });
    let is_known = router.own::<Protect>().is_sealed(interface);
    router.own_mut::<Protect>().by_adjacency.put(index.0, sealing);
    // Without an SA for its next hop, a packet of a protected tunnel is dropped by that node.
    let node = (is_known || is_bare).then(|| sealing_node(router, interface, link));
    router.lead_adjacency(index, node);
}

fn lead(router: &mut Router, interface: InterfaceIndex) {
    let is_known = router.own::<Protect>().is_sealed(interface);
    router.seal_tunnel(interface, is_known);
    if router.interfaces.at(interface).is_some_and(|i| i.kind == Kind::Ethernet) {
        return frames::lead(router, interface);
    }
    let is_sealed = is_known || itf::is_one(router, interface);
    let node = is_sealed.then(|| sealing_node(router, interface, Link::Ip4));
    router.lead_tunnel(interface, node);
    for index in router.adjacencies.of_interface(interface) {
        lead_one(router, index);
    }
}

/// Handles a new adjacency.
fn welcome(router: &mut Router, index: AdjacencyIndex) {
    let Some(interface) = router.adjacencies.at(index).map(|a| a.interface) else { return };
    let is_known = router.own::<Protect>().is_sealed(interface);
    if is_known || itf::is_one(router, interface) {
        lead_one(router, index);
    }
}

/// Removes the protection of a deleted interface.
fn changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    let mine: Vec<_> =
        all(router).filter(|t| t.interface == interface).map(|t| t.next_hop).collect();
    for next_hop in mine {
        let _ = remove(router, interface, next_hop);
    }
    router.own_mut::<Protect>().held.remove(&interface);
    itf::forget(router, interface);
}

pub(super) fn register(router: &mut Router) -> Result<(), Refused> {
    let protect = router.own::<Protect>();
    let known = [0, 1].map(|at| protect.known[at].reader());
    let [four, six] = known;
    let (ports, counters) = (router.interfaces.ports(), router.interfaces.counters());
    let carried = router.own::<Protect>().carried();
    let reasons =
        |names: [&str; 2]| names.map(|name| router.punt_reason_named(name).unwrap_or(Reason(0)));
    let input4 = TunInput::<false> {
        known: four,
        carried: carried.clone(),
        ports: ports.clone(),
        counters: Arc::clone(&counters),
        reasons: reasons(["ipsec4-no-such-tunnel", "ipsec4-spi-o-udp-0"]),
    };
    let reasons = reasons(["ipsec6-no-such-tunnel", "ipsec6-spi-o-udp-0"]);
    let input6 = TunInput::<true> { known: six, carried, ports, counters, reasons };
    router.engine.add(input4).map_err(refuse)?;
    router.engine.add(input6).map_err(refuse)?;
    router.interfaces.observe(changed);
    router.on_adjacency.push(welcome);
    router.on_peer.push(|router, (interface, addr)| {
        refresh_those(router, |t| (t.interface, t.next_hop) == (interface, addr));
    });
    Ok(())
}
