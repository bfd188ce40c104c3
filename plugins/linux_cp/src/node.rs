//! The nodes of interface pairs: packets that the router does not handle go to the host, and
//! packets of the host are sent unchanged.

use graph::arc::Beside;
use net::arp::ARP;
use net::gso;
use net::interface::EdgesReader;
use net::ip::{Balanced, add_with_outputs};
use net::ip4::{IP4_LOCAL, IP4_MULTICAST, IP4_PUNT};
use net::ip6::{IP6_LOCAL, IP6_MULTICAST, IP6_PUNT};
use net::prelude::*;
use wire::arp;

/// The part of an interface in a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// In none.
    #[default]
    None,
    /// The router's own.
    Phy,
    /// It leads to the host.
    Host,
}

/// The setting of an interface that is in a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paired {
    /// Its part.
    pub side: Side,
    /// The other one.
    pub other: u32,
    /// The host gets IP packets without a header of layer 2.
    pub is_tun: bool,
    /// Load balances of the host's IPv4 and IPv6 packets, without headers of layer 2.
    pub balances: [u32; 2],
}

/// Drops of all nodes.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no interface pair.
    #[name("no interface pair")]
    NoPair,
    /// no layer 2 header.
    #[name("no layer 2 header")]
    NoHeader,
}

/// Drops of [`Punt`].
#[derive(Clone, Copy, graph::Reason)]
pub enum PuntError {
    /// no interface pair.
    #[name("no interface pair")]
    NoPair,
    /// no layer 2 header.
    #[name("no layer 2 header")]
    NoHeader,
    /// the host has a copy already.
    #[name("copied to the host before")]
    Copied,
}

/// To the output of the other interface of a pair.
#[derive(Clone, Copy, graph::Next)]
pub enum ToOther {
    /// `<interface>-output`.
    #[dynamic]
    Output(Slot),
}

/// The same for a copy; the packet itself goes on.
#[derive(Clone, Copy, graph::Next)]
pub enum Copied {
    /// `<interface>-output`.
    #[dynamic]
    Output(Slot),
    /// The next feature.
    #[along]
    On,
}

/// A node's knowledge of pairs.
#[derive(Clone)]
pub struct Pairs {
    settings: SlabReader<Paired>,
    edges: EdgesReader,
}

/// Trace of a packet in these nodes.
struct Seen {
    node: &'static str,
    to: u32,
}

impl Record for Seen {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}: to {}", self.node, names.name("interface", self.to))
    }
}

/// Makes a packet that is past its header of layer 2 a frame again, without VLAN tags: those of the
/// interface that it leaves by are put in there.
#[inline(always)]
fn reframe(p: &mut Buffer<'_>) -> Option<()> {
    if !p.flags().has(Flags::L2.with(Flags::L3)) {
        return None;
    }
    let (l2, l3) = (p.l2_offset(), p.l3_offset());
    let addresses = *p.bytes_from(l2).first_chunk::<12>()?;
    let kind = *p.bytes_from(l3.checked_sub(2).filter(|at| at - l2 >= 12)?).first_chunk::<2>()?;
    // A node may have passed over more than the header of layer 2.
    let back = usize::try_from(p.offset() - l3).ok()? + 14;
    let front = p.prepend(back)?;
    front[..12].copy_from_slice(&addresses);
    front[12..14].copy_from_slice(&kind);
    Some(())
}

/// `linux-cp-punt`: IP packets without a handler go to the host.
#[derive(Clone)]
pub struct Punt(Pairs);

impl Node for Punt {
    const NAME: &'static str = "linux-cp-punt";
    const EXPLAINABLE: bool = true;
    type Next = ToOther;
    type Error = PuntError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let edges = self.0.edges.read(epoch);
        frame.each(|p| {
            let pair = self.0.settings.read(p.rx(), epoch).filter(|pair| pair.side == Side::Phy);
            let pair = pair.ok_or(PuntError::NoPair)?;
            if is_copied(p) {
                return Err(PuntError::Copied);
            }
            p.trace(|_| Seen { node: Self::NAME, to: pair.other });
            if !pair.is_tun {
                reframe(p).ok_or(PuntError::NoHeader)?;
            }
            p.set_tx(pair.other);
            edges.to(pair.other).map(ToOther::Output).ok_or(PuntError::NoPair)
        });
    }
}

/// Whether the host has a copy of a packet for the router from [`IcmpPhy`].
fn is_copied(p: &Buffer<'_>) -> bool {
    match p.bytes().first().map(|first| first >> 4) {
        Some(4) => V4::is_for_host(p),
        Some(6) => V6::is_for_host(p),
        _ => false,
    }
}

/// Frames of the host, or of a type that both ends of a pair see: `linux-cp-xc-ip4` and so on.
#[derive(Clone)]
pub struct Cross<const WHICH: usize>(Pairs);

/// Names of [`Cross`].
pub const CROSS: [&str; 4] =
    ["linux-cp-xc-ip4", "linux-cp-xc-ip6", "linux-cp-arp-host", "linux-cp-punt-xc"];

impl<const WHICH: usize> Node for Cross<WHICH> {
    const NAME: &'static str = CROSS[WHICH];
    const EXPLAINABLE: bool = true;
    type Next = ToOther;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let edges = self.0.edges.read(epoch);
        frame.each(|p| {
            let pair = self.0.settings.read(p.rx(), epoch);
            let pair = pair.filter(|pair| pair.side != Side::None && !pair.is_tun);
            let pair = pair.ok_or(Error::NoPair)?;
            p.trace(|_| Seen { node: Self::NAME, to: pair.other });
            reframe(p).ok_or(Error::NoHeader)?;
            p.set_tx(pair.other);
            edges.to(pair.other).map(ToOther::Output).ok_or(Error::NoPair)
        });
    }
}

/// A version whose packets the host sends without a header of layer 2.
pub trait Carried: Version {
    /// Node name.
    const CROSS: &'static str;
    /// Name of the node for copies of ICMP messages.
    const ICMP: &'static str;
    /// Whether both the router and daemons of the host may use a packet: ICMP messages that the
    /// router does not answer for the host, IGMP, VRRP.
    fn is_for_host(p: &Buffer<'_>) -> bool;
}

impl Carried for V4 {
    const CROSS: &'static str = "linux-cp-xc-l3-ip4";
    const ICMP: &'static str = "linux-cp-icmp4-phy";

    fn is_for_host(p: &Buffer<'_>) -> bool {
        let Some(header) = p.header::<ip4::Header>() else { return false };
        let kind = || p.bytes().get(header.header_len());
        match header.protocol {
            Protocol::ICMP => kind().is_some_and(|kind| *kind != icmp4::Type::ECHO_REQUEST.0),
            protocol => protocol == Protocol::IGMP || protocol == Protocol::VRRP,
        }
    }
}

impl Carried for V6 {
    const CROSS: &'static str = "linux-cp-xc-l3-ip6";
    const ICMP: &'static str = "linux-cp-icmp6-phy";

    fn is_for_host(p: &Buffer<'_>) -> bool {
        let upper = p.header::<ip6::Header>().and_then(|_| ip6::upper_layer(p.bytes()));
        let Some(upper) = upper else { return false };
        let answered = [icmp6::Type::ECHO_REQUEST, icmp6::Type::NEIGHBOR_SOLICITATION];
        let kind = || p.bytes().get(upper.offset);
        match upper.protocol {
            Protocol::ICMP6 => kind().is_some_and(|kind| !answered.contains(&icmp6::Type(*kind))),
            protocol => protocol == Protocol::VRRP,
        }
    }
}

/// IP packets of the host without a header of layer 2.
#[derive(Clone)]
pub struct CrossIp<V> {
    version: V,
    settings: SlabReader<Paired>,
}

impl<V: Carried> Node for CrossIp<V> {
    const NAME: &'static str = V::CROSS;
    const EXPLAINABLE: bool = true;
    type Next = Balanced<V>;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let pair = self.settings.read(p.rx(), epoch);
            let pair = pair.filter(|pair| pair.side == Side::Host && pair.is_tun);
            let pair = pair.ok_or(Error::NoPair)?;
            p.trace(|_| Seen { node: Self::NAME, to: pair.other });
            p.set_adjacency(pair.balances[usize::from(V::LINK == Link::Ip6)]);
            // As from here: no hop is taken.
            p.add_flags(Flags::LOCAL);
            Ok(Balanced::Onward(self.version))
        });
    }
}

/// Sends a copy of a packet to the host, as far as there are buffers.
#[inline(never)]
fn copy<N: Node<Next = Copied>>(p: &mut Packet<'_, N>, pair: Paired, edge: Slot) {
    let before = p.offset();
    if !pair.is_tun && reframe(p).is_none() {
        return;
    }
    p.trace(|_| Seen { node: N::NAME, to: pair.other });
    gso::with_bytes(p, |p, bytes| {
        if let Some(mut new) = gso::copy(p, bytes) {
            new.set_tx(pair.other);
            new.send(Copied::Output(edge));
        }
    });
    let back = usize::try_from(before - p.offset()).unwrap_or_default();
    p.advance(back).expect("it was there before");
}

/// `linux-cp-arp-phy`: the host learns who answers ARP requests, which may be its own.
#[derive(Clone)]
pub struct ArpPhy(Pairs);

impl Node for ArpPhy {
    const NAME: &'static str = "linux-cp-arp-phy";
    const EXPLAINABLE: bool = true;
    type Next = Copied;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let edges = self.0.edges.read(epoch);
        frame.each(|p| {
            let arp = p.header::<arp::Header>();
            let is_reply = arp.is_some_and(|arp| arp.operation == arp::Operation::REPLY);
            let pair = self.0.settings.read(p.rx(), epoch);
            let pair = pair.filter(|pair| is_reply && pair.side == Side::Phy && !pair.is_tun);
            if let Some((pair, edge)) = pair.and_then(|pair| Some((pair, edges.to(pair.other)?))) {
                copy(p, *pair, edge);
            }
            Ok(Copied::On)
        });
    }
}

/// Copies of ICMP messages that are no requests: answers and errors may be about packets of the
/// host.
#[derive(Clone)]
pub struct IcmpPhy<V> {
    pairs: Pairs,
    version: PhantomData<V>,
}

impl<V> IcmpPhy<V> {
    fn new(pairs: Pairs) -> Self {
        Self { pairs, version: PhantomData }
    }
}

impl<V: Carried> Node for IcmpPhy<V> {
    const NAME: &'static str = V::ICMP;
    const EXPLAINABLE: bool = true;
    type Next = Copied;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let edges = self.pairs.edges.read(epoch);
        frame.each(|p| {
            let pair = self.pairs.settings.read(p.rx(), epoch);
            let pair = pair.filter(|pair| pair.side == Side::Phy && V::is_for_host(p));
            if let Some((pair, edge)) = pair.and_then(|pair| Some((pair, edges.to(pair.other)?))) {
                copy(p, *pair, edge);
            }
            Ok(Copied::On)
        });
    }
}

/// Adds the nodes, and says where they act.
pub(super) fn add(router: &mut Router) -> Result<(), Refused> {
    let settings = router.attach::<Paired>().map_err(refuse)?;
    let pairs = |edges| Pairs { settings: settings.clone(), edges };
    let engine = &mut router.engine;
    let [ip4, ip6, arp_host, _] = CROSS;
    for (arc, node, before) in [
        (&ARP, ArpPhy::NAME, "arp-reply"),
        (&ARP, arp_host, "arp-reply"),
        (&IP4_UNICAST, ip4, "ip4-lookup"),
        (&IP4_UNICAST, V4::CROSS, "ip4-lookup"),
        (&IP4_MULTICAST, ip4, "ip4-mfib-forward-lookup"),
        (&IP4_MULTICAST, V4::CROSS, "ip4-mfib-forward-lookup"),
        (&IP6_UNICAST, ip6, "ip6-lookup"),
        (&IP6_UNICAST, V6::CROSS, "ip6-lookup"),
        (&IP6_MULTICAST, ip6, "ip6-mfib-forward-lookup"),
        (&IP6_MULTICAST, V6::CROSS, "ip6-mfib-forward-lookup"),
        (&IP4_PUNT, Punt::NAME, "ip4-punt-redirect"),
        (&IP6_PUNT, Punt::NAME, "ip6-punt-redirect"),
        (&IP4_LOCAL, V4::ICMP, "ip4-local-end-of-arc"),
        (&IP6_LOCAL, V6::ICMP, "ip6-local-end-of-arc"),
    ] {
        engine.place_beside(arc, node, Beside::Before(before)).map_err(refuse)?;
    }
    engine.add(CrossIp { version: V4, settings: settings.clone() }).map_err(refuse)?;
    engine.add(CrossIp { version: V6, settings: settings.clone() }).map_err(refuse)?;
    add_with_outputs(router, |edges| Punt(pairs(edges)))?;
    add_with_outputs(router, |edges| Cross::<0>(pairs(edges)))?;
    add_with_outputs(router, |edges| Cross::<1>(pairs(edges)))?;
    add_with_outputs(router, |edges| Cross::<2>(pairs(edges)))?;
    add_with_outputs(router, |edges| Cross::<3>(pairs(edges)))?;
    add_with_outputs(router, |edges| ArpPhy(pairs(edges)))?;
    add_with_outputs(router, |edges| IcmpPhy::<V4>::new(pairs(edges)))?;
    add_with_outputs(router, |edges| IcmpPhy::<V6>::new(pairs(edges)))?;

    let is_phy: fn(&Paired) -> bool = |pair| pair.side == Side::Phy;
    let is_phy_tap: fn(&Paired) -> bool = |pair| pair.side == Side::Phy && !pair.is_tun;
    let is_tap: fn(&Paired) -> bool = |pair| pair.side == Side::Host && !pair.is_tun;
    let is_tun: fn(&Paired) -> bool = |pair| pair.side == Side::Host && pair.is_tun;
    let at = |arc, node, is_on| AttachedAt { arc, node, is_on };
    router.attach_at::<Paired, _>([
        at(&ARP, ArpPhy::NAME, is_phy_tap),
        at(&ARP, arp_host, is_tap),
        at(&IP4_UNICAST, ip4, is_tap),
        at(&IP4_UNICAST, V4::CROSS, is_tun),
        at(&IP4_MULTICAST, ip4, is_tap),
        at(&IP4_MULTICAST, V4::CROSS, is_tun),
        at(&IP6_UNICAST, ip6, is_tap),
        at(&IP6_UNICAST, V6::CROSS, is_tun),
        at(&IP6_MULTICAST, ip6, is_tap),
        at(&IP6_MULTICAST, V6::CROSS, is_tun),
        at(&IP4_PUNT, Punt::NAME, is_phy),
        at(&IP6_PUNT, Punt::NAME, is_phy),
        at(&IP4_LOCAL, V4::ICMP, is_phy),
        at(&IP6_LOCAL, V6::ICMP, is_phy),
    ]);
    Ok(())
}
