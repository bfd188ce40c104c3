//! Places where packets are policed.

use classify::{Headers, Match, NONE, Use};
use graph::arc::FeatureArc;
use graph::{Count, Reason};
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;

use super::judge::Judge;

/// A place where packets are policed.
pub trait Station: Copy + Send + Sync + 'static {
    /// The node that polices, and the one that hands packets to the policer's thread.
    const NAMES: [&'static str; 2];
    /// The arcs of IPv4 and IPv6; twice the same where there is one.
    const ARCS: [&'static FeatureArc; 2];
    /// The drop node.
    const DROP: &'static str = "error-drop";
    /// The header in front of that of IP.
    const FRONT: Front = Front::Nothing;
    /// Whether packets are sent ones.
    const IS_OUTPUT: bool = false;
    /// Drops.
    type Error: Reason;
    /// Counters besides drops.
    type Count: Count;
    /// Beyond the rate.
    const DROPPED: Self::Error;
    /// Counters of packets that pass, misses, hits, and hits behind the first table.
    const COUNTS: [Option<Self::Count>; 4] = [const { None }; 4];
    /// The policer of a packet.
    fn find<'e>(judge: &'e Judge, p: &Buffer<'_>, epoch: Epoch<'e>) -> Found<'e>;
}

/// The header in front of a packet's IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// None.
    Nothing,
    /// None any more; that of the received frame counts.
    Received,
    /// That of the packet's adjacency.
    Adjacency,
    /// That of a frame.
    Frame,
}

/// The policer of a packet.
pub enum Found<'e> {
    /// That of the station, if it has one.
    Here(Option<u32>),
    /// That of a session.
    Session(Match<'e>),
}

/// Interfaces: received and sent packets, received and sent frames.
#[derive(Clone, Copy)]
pub struct OfInterface<const PLACE: usize>;

/// Drops of stations of interfaces.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Packets Dropped.
    #[name("Packets Dropped")]
    Dropped,
}

/// Counters of stations of interfaces besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Passed {
    /// Packets Transmitted.
    #[name("Packets Transmitted")]
    Transmitted,
}

impl<const PLACE: usize> Station for OfInterface<PLACE> {
    const NAMES: [&'static str; 2] = [
        ["policer-input", "policer-input-handoff"],
        ["policer-output", "policer-output-handoff"],
        ["l2-policer-input", "l2-policer-input-handoff"],
        ["l2-policer-output", "l2-policer-output-handoff"],
    ][PLACE];
    const ARCS: [&'static FeatureArc; 2] =
        [[&IP4_UNICAST, &IP6_UNICAST], [&IP4_OUTPUT, &IP6_OUTPUT], [&L2_INPUT; 2], [&L2_OUTPUT; 2]]
            [PLACE];
    const FRONT: Front = [Front::Received, Front::Adjacency, Front::Frame, Front::Frame][PLACE];
    const IS_OUTPUT: bool = PLACE % 2 == 1;
    type Error = Error;
    type Count = Passed;
    const DROPPED: Error = Error::Dropped;
    const COUNTS: [Option<Passed>; 4] = [Some(Passed::Transmitted), None, None, None];
    #[inline(always)]
    fn find<'e>(judge: &'e Judge, p: &Buffer<'_>, epoch: Epoch<'e>) -> Found<'e> {
        let interface = if Self::IS_OUTPUT { p.tx() } else { p.rx() };
        let applied = judge.applied.read(interface, epoch);
        Found::Here(applied.and_then(|applied| applied.0[usize::from(Self::IS_OUTPUT)]))
    }
}

/// Punted packets of a version.
#[derive(Clone, Copy)]
pub struct Punted<V>(PhantomData<V>);

/// Drops of [`Punted`].
#[derive(Clone, Copy, graph::Reason)]
pub enum PuntError {
    /// ip punt policer drop.
    #[name("ip punt policer drop")]
    Dropped,
}

/// The arcs and nodes for punted packets of IPv4 and IPv6.
pub const PUNTS: [(&FeatureArc, &str); 2] =
    [(V4::PUNT_ARC, "ip4-punt-policer"), (V6::PUNT_ARC, "ip6-punt-policer")];

impl<V: Version> Station for Punted<V> {
    const NAMES: [&'static str; 2] =
        [PUNTS[V::INDEX].1, ["ip4-punt-policer-handoff", "ip6-punt-policer-handoff"][V::INDEX]];
    const ARCS: [&'static FeatureArc; 2] = [V::PUNT_ARC; 2];
    const DROP: &'static str = V::NODES.drop;
    type Error = PuntError;
    type Count = Infallible;
    const DROPPED: PuntError = PuntError::Dropped;
    #[inline(always)]
    fn find<'e>(judge: &'e Judge, _: &Buffer<'_>, epoch: Epoch<'e>) -> Found<'e> {
        Found::Here(judge.punts.read(epoch)[V::INDEX])
    }
}

/// Received packets that have a session of the classifier: of IPv4, of IPv6, frames.
#[derive(Clone, Copy)]
pub struct Sorted<const KIND: usize>;

/// The use of the tables.
pub const POLICE: usize = Use::Police as usize;
/// The kind that is no version of IP.
const LAYER2: usize = 2;

/// Drops of [`Sorted`].
#[derive(Clone, Copy, graph::Reason)]
pub enum SortedError {
    /// Policer classify action drop.
    #[name("Policer classify action drop")]
    Dropped,
}

/// Counters of [`Sorted`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum SortedCount {
    /// Policer classify misses.
    #[name("Policer classify misses")]
    Misses,
    /// Policer classify hits.
    #[name("Policer classify hits")]
    Hits,
    /// Policer classify hits after chain walk.
    #[name("Policer classify hits after chain walk")]
    Walked,
}

impl<const KIND: usize> Station for Sorted<KIND> {
    const NAMES: [&'static str; 2] = [
        classify::NAMES[POLICE][KIND],
        [
            "ip4-policer-classify-handoff",
            "ip6-policer-classify-handoff",
            "l2-policer-classify-handoff",
        ][KIND],
    ];
    const ARCS: [&'static FeatureArc; 2] = [[&IP4_UNICAST, &IP6_UNICAST, &L2_INPUT][KIND]; 2];
    const FRONT: Front = if KIND == LAYER2 { Front::Frame } else { Front::Nothing };
    type Error = SortedError;
    type Count = SortedCount;
    const DROPPED: SortedError = SortedError::Dropped;
    const COUNTS: [Option<SortedCount>; 4] =
        [None, Some(SortedCount::Misses), Some(SortedCount::Hits), Some(SortedCount::Walked)];
    #[inline(always)]
    fn find<'e>(judge: &'e Judge, p: &Buffer<'_>, epoch: Epoch<'e>) -> Found<'e> {
        let first = judge.sorted.read(p.rx(), epoch);
        let first = first.map_or(NONE, |tables| tables.0[POLICE][KIND]);
        let current = p.offset();
        let is_framed = KIND != LAYER2 && p.flags().has(Flags::L2);
        let headers = Headers { l2: if is_framed { p.l2_offset() } else { current }, current };
        Found::Session(classify::seek(&judge.tables, first, epoch, |table| table.bytes(p, headers)))
    }
}
