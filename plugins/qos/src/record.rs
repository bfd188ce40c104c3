//! `ip4-qos-record`, `vlan-ip4-qos-record`, `mpls-qos-record`, `l2-ip-qos-record` and the others:
//! remember the mark of a received packet; `ip4-qos-store`, `ip6-qos-store`: give it one.

use graph::Edge;
use graph::arc::{Along, FeatureArc};
use mpls::MPLS_INPUT;
use net::ethernet::L2_INPUT;
use net::interface::{MARK, PacketMark};
use net::ip4::IP4_MULTICAST;
use net::ip6::IP6_MULTICAST;
use net::prelude::*;
use wire::ip;

use super::packet::{frame, of_mpls, of_vlan};
use super::{Source, Stored};

/// A version of IP, whose received packets are on one of two arcs.
pub trait Received: Version {
    /// The arcs of unicast and of multicast.
    const ARCS: [&'static FeatureArc; 2];
    /// Names of the nodes that record marks of IP, of VLAN tags, and that store marks.
    const NODES_OF_MARKS: [&'static str; 3];
    /// Whether a packet is to a group.
    fn is_multicast(packet: &[u8]) -> bool;
}

impl Received for V4 {
    const ARCS: [&'static FeatureArc; 2] = [&IP4_UNICAST, &IP4_MULTICAST];
    const NODES_OF_MARKS: [&'static str; 3] =
        ["ip4-qos-record", "vlan-ip4-qos-record", "ip4-qos-store"];
    #[inline(always)]
    fn is_multicast(packet: &[u8]) -> bool {
        packet.get(16).is_some_and(|b| b >> 4 == 0xe)
    }
}

impl Received for V6 {
    const ARCS: [&'static FeatureArc; 2] = [&IP6_UNICAST, &IP6_MULTICAST];
    const NODES_OF_MARKS: [&'static str; 3] =
        ["ip6-qos-record", "vlan-ip6-qos-record", "ip6-qos-store"];
    #[inline(always)]
    fn is_multicast(packet: &[u8]) -> bool {
        packet.get(24) == Some(&0xff)
    }
}

/// The edge along the arc that a packet of IP is on.
#[derive(Clone, Copy)]
pub struct On<V> {
    is_multicast: bool,
    version: PhantomData<V>,
}

impl<V: Received> On<V> {
    #[inline(always)]
    fn of(p: &Buffer<'_>) -> Self {
        Self { is_multicast: V::is_multicast(p.bytes()), version: PhantomData }
    }
}

impl<V: Received> graph::Next for On<V> {
    const EDGES: &'static [Edge] = &[];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        along.next_on(V::ARCS[usize::from(self.is_multicast)], p)
    }
}

/// Records marks of IP (`SOURCE` 0) or of VLAN tags (1) of packets of IP, or gives them one (2).
#[derive(Clone)]
pub struct RecordIp<V, const SOURCE: usize> {
    stored: SlabReader<Stored>,
    version: PhantomData<V>,
}

impl<V: Received, const SOURCE: usize> Node for RecordIp<V, SOURCE> {
    const NAME: &'static str = V::NODES_OF_MARKS[SOURCE];
    const EXPLAINABLE: bool = true;
    type Next = On<V>;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On2: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On2>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let found = match SOURCE {
                0 => ip::traffic_class(p.bytes()).map(|mark| (Source::Ip, mark)),
                1 => of_vlan(self::frame(p)).map(|mark| (Source::Vlan, mark)),
                _ => {
                    let stored = self.stored.read(p.rx(), epoch);
                    stored.and_then(|s| s.0).map(|mark| (Source::Ip, mark))
                }
            };
            remember(p, found);
            p.trace(|_| MarkTrace(found));
            Ok(On::of(p))
        });
    }
}

/// Records traffic classes of labels, or priorities of tags (`VLAN`) of labelled packets.
#[derive(Clone)]
pub struct RecordMpls<const VLAN: bool>;

/// Names of [`RecordMpls`].
const MPLS: [&str; 2] = ["mpls-qos-record", "vlan-mpls-qos-record"];

impl<const VLAN: bool> Node for RecordMpls<VLAN> {
    const NAME: &'static str = MPLS[VLAN as usize];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            let found = match VLAN {
                true => of_vlan(self::frame(p)).map(|mark| (Source::Vlan, mark)),
                false => of_mpls(p.bytes()).map(|mark| (Source::Mpls, mark)),
            };
            remember(p, found);
            p.trace(|_| MarkTrace(found));
            Ok(Continue)
        });
    }
}

/// Records marks of IP in bridged and cross-connected frames.
#[derive(Clone)]
pub struct RecordLayer2;

impl Node for RecordLayer2 {
    const NAME: &'static str = "l2-ip-qos-record";
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            let is_ip = l2::packet::ethertype(p).is_some_and(|kind| {
                [wire::ethernet::EtherType::IP4, wire::ethernet::EtherType::IP6].contains(&kind)
            });
            let packet = p.bytes().get(l2::packet::header_len(p)..).filter(|_| is_ip);
            let found = packet.and_then(ip::traffic_class).map(|mark| (Source::Ip, mark));
            remember(p, found);
            p.trace(|_| MarkTrace(found));
            Ok(Continue)
        });
    }
}

/// Notes a mark, if there is one; else what was noted before stays.
#[inline(always)]
fn remember(p: &mut Buffer<'_>, found: Option<(Source, u8)>) {
    if let Some((source, mark)) = found {
        p.set_metadata(&MARK, PacketMark { source: source as u8, mark });
    }
}

/// The trace record of the nodes.
struct MarkTrace(Option<(Source, u8)>);

impl Record for MarkTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((source, mark)) => write!(f, "  qos: source {source} bits {mark}"),
            None => f.write_str("  qos: no mark"),
        }
    }
}

/// Arcs, nodes and the source whose marks they record.
pub(super) fn places() -> impl Iterator<Item = (&'static FeatureArc, &'static str, Source)> {
    let ip = [
        V4::ARCS.map(|arc| (arc, V4::NODES_OF_MARKS)),
        V6::ARCS.map(|arc| (arc, V6::NODES_OF_MARKS)),
    ];
    let ip = ip.into_iter().flatten();
    let ip = ip.flat_map(|(arc, [ip, vlan, _])| [(arc, ip, Source::Ip), (arc, vlan, Source::Vlan)]);
    ip.chain([
        (&MPLS_INPUT, MPLS[0], Source::Mpls),
        (&MPLS_INPUT, MPLS[1], Source::Vlan),
        (&L2_INPUT, RecordLayer2::NAME, Source::Ip),
    ])
}

/// Arcs and nodes that store marks.
pub(super) fn stores() -> impl Iterator<Item = (&'static FeatureArc, &'static str)> {
    let ip = [
        V4::ARCS.map(|arc| (arc, V4::NODES_OF_MARKS)),
        V6::ARCS.map(|arc| (arc, V6::NODES_OF_MARKS)),
    ];
    ip.into_iter().flatten().map(|(arc, [_, _, store])| (arc, store))
}

fn add_ip<V: Received>(router: &mut Router, stored: &SlabReader<Stored>) -> Result<(), BuildError> {
    let [unicast, multicast] = V::ARCS;
    let (stored, version) = (stored.clone(), PhantomData::<V>);
    let engine = &mut router.engine;
    engine.add_feature(unicast, RecordIp::<V, 0> { stored: stored.clone(), version })?;
    engine.add_feature(unicast, RecordIp::<V, 1> { stored: stored.clone(), version })?;
    engine.add_feature(unicast, RecordIp::<V, 2> { stored, version })?;
    V::NODES_OF_MARKS.into_iter().try_for_each(|node| engine.place(multicast, node))
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, stored: &SlabReader<Stored>) -> Result<(), BuildError> {
    add_ip::<V4>(router, stored)?;
    add_ip::<V6>(router, stored)?;
    router.engine.add_feature(&MPLS_INPUT, RecordMpls::<false>)?;
    router.engine.add_feature(&MPLS_INPUT, RecordMpls::<true>)?;
    router.engine.add_feature(&L2_INPUT, RecordLayer2)?;
    Ok(())
}
