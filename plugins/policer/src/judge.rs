//! The policer of a packet and its verdict, shared by the nodes.
//!
//! A policer belongs to one thread, its owner: that which has the first packet for it, or the one
//! it is bound to. Packets elsewhere are handed over. Where the owner has ended, or the thread
//! asking is about to, packets are judged on the spot.

use std::ops::Range;

use graph::arc::FeatureArc;
use graph::{Buffer, Count, Edge, Flags, Frame, Node, Reason};
use infra::counter::{Rows, VolumeCounter};
use infra::meter::Color;
use infra::rcu::{Epoch, Reader, SlabReader};
use wire::ethernet::EtherType;
use wire::{Dscp, ip4, ip6};

use super::{Action, Applied, Policer};

/// Length of an Ethernet header without tags.
const ETHERNET: usize = 14;

/// A place where packets are policed.
pub trait Station: Copy + Send + Sync + 'static {
    /// The node that polices, and the one that hands packets to the policer's thread.
    const NAMES: [&'static str; 2];
    /// The arcs of IPv4 and IPv6; twice the same where there is one.
    const ARCS: [&'static FeatureArc; 2];
    /// The drop node.
    const DROP: &'static str;
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
    /// Within the rate.
    const PASSED: Option<Self::Count>;
    /// The policer of a packet.
    fn policer(judge: &Judge, p: &Buffer<'_>, epoch: Epoch<'_>) -> Option<u32>;
}

/// The header in front of a packet's IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// None.
    Nothing,
    /// The policer of the packet's adjacency.
    Adjacency,
    /// The policer of a frame as it was received.
    Frame,
}

/// The state that the nodes read.
#[derive(Clone)]
pub struct Judge {
    pub(super) applied: SlabReader<Applied>,
    pub(super) punts: Reader<[Option<u32>; 2]>,
    pub(super) policers: SlabReader<Policer>,
    pub(super) counters: [Rows<VolumeCounter>; 3],
    /// The data-plane threads that stay.
    pub(super) threads: Reader<Range<usize>>,
}

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on, marked if it says so.
    Pass(Option<Dscp>),
    /// It is beyond its rate.
    Drop,
    /// Another thread decides.
    Elsewhere,
}

impl From<Action> for Verdict {
    fn from(action: Action) -> Self {
        match action {
            Action::Drop => Self::Drop,
            Action::Transmit => Self::Pass(None),
            Action::Mark(dscp) => Self::Pass(Some(dscp)),
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pass(None) => f.write_str("transmit"),
            Self::Pass(Some(dscp)) => write!(f, "mark-and-transmit {dscp}"),
            Self::Drop => f.write_str("drop"),
            Self::Elsewhere => f.write_str("handoff"),
        }
    }
}

/// A thread and a time.
#[derive(Clone, Copy)]
pub struct Moment<'e> {
    thread: usize,
    now: f64,
    epoch: Epoch<'e>,
}

impl<'e> Moment<'e> {
    /// Policers of a frame.
    #[inline(always)]
    pub fn of<N: Node, On>(frame: &Frame<'e, N, On>) -> Self {
        Self { thread: frame.thread(), now: frame.now(), epoch: frame.epoch() }
    }
}

impl Judge {
    /// Action on a packet, as a policer says. The packet keeps the colour it was found to
    /// have, for policers further on that are aware of it.
    #[inline(always)]
    pub fn judge(&self, policer: Option<u32>, p: &mut Buffer<'_>, at: &Moment<'_>) -> Verdict {
        let Some(policer) = policer else { return Verdict::Pass(None) };
        let Some(found) = self.policers.read(policer, at.epoch) else { return Verdict::Pass(None) };
        if self.thread_for(found, at) != at.thread {
            return Verdict::Elsewhere;
        }
        let bytes = p.total_len();
        let color = found.config.color(&found.meter, at.now, bytes, color_of(p));
        set_color(p, color);
        if let Some(counter) = self.counters[color as usize].row(at.thread).get(policer as usize) {
            counter.add(1, bytes as u64);
        }
        found.verdicts[color as usize]
    }
    /// The thread that decides about packets of a policer; this one where there is none.
    #[inline(always)]
    pub fn thread(&self, policer: Option<u32>, at: &Moment<'_>) -> usize {
        let found = policer.and_then(|policer| self.policers.read(policer, at.epoch));
        found.map_or(at.thread, |found| self.thread_for(found, at))
    }
    /// The thread that decides about packets of a policer.
    #[inline(always)]
    fn thread_for(&self, policer: &Policer, at: &Moment<'_>) -> usize {
        let threads = self.threads.read(at.epoch);
        if !threads.contains(&at.thread) {
            return at.thread;
        }
        policer.owner.claim(at.thread, |owner| threads.contains(&owner))
    }
}

/// A policer found it beyond its committed rate.
pub const YELLOW: Flags = Flags::inherited(0);
/// A policer found it beyond all that is allowed.
pub const RED: Flags = Flags::inherited(1);

/// Colour that an earlier policer gave a packet; green if there was none.
#[inline(always)]
pub fn color_of(p: &Buffer<'_>) -> Color {
    match p.flags() {
        flags if flags.has(RED) => Color::Red,
        flags if flags.has(YELLOW) => Color::Yellow,
        _ => Color::Green,
    }
}

/// Notes the colour of a packet, for policers further on.
#[inline(always)]
pub fn set_color(p: &mut Buffer<'_>, color: Color) {
    let flag = match color {
        Color::Green => Flags::default(),
        Color::Yellow => YELLOW,
        Color::Red => RED,
    };
    p.set_flags(p.flags().without(YELLOW.with(RED)).with(flag));
}

/// Writes a DSCP into the IP header that is `l3` bytes from a packet's start.
#[inline(never)]
pub fn mark(p: &mut Buffer<'_>, l3: usize, dscp: Dscp) {
    use zerocopy::FromBytes;
    let Some(bytes) = p.bytes_mut().get_mut(l3..) else { return };
    match bytes.first().map(|b| b >> 4) {
        Some(4) => {
            if let Ok((header, _)) = ip4::Header::mut_from_prefix(bytes) {
                header.set_dscp(dscp);
            }
        }
        Some(6) => {
            if let Ok((header, _)) = ip6::Header::mut_from_prefix(bytes) {
                header.set_traffic_class(dscp.get() << 2 | header.traffic_class() & 3);
            }
        }
        _ => (),
    }
}

/// Offset of the IP header in a frame; `None` where there is none.
pub fn behind_ethernet(p: &Buffer<'_>) -> Option<usize> {
    let len = i32::from(p.l3_offset()) - i32::from(p.offset());
    let len = usize::try_from(len).ok().filter(|len| *len >= ETHERNET)?;
    let kind = p.bytes().get(len - 2..len)?.first_chunk()?;
    let kind = EtherType::new(u16::from_be_bytes(*kind));
    (kind == EtherType::IP4 || kind == EtherType::IP6).then_some(len)
}

/// Hands packets to the thread that their policer belongs to.
#[derive(Clone)]
pub struct HandOff<S> {
    pub(super) station: S,
    pub(super) judge: Judge,
}

/// Edges of [`HandOff`].
#[derive(Clone, Copy)]
pub enum Next<S> {
    /// The node that polices.
    Police(S),
}

/// Drops of [`HandOff`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// congestion drop.
    #[name("congestion drop")]
    Congestion,
}

impl<S: Station> graph::Next for Next<S> {
    const EDGES: &'static [Edge] = &[Edge { to: S::NAMES[0], payload: "" }];
    #[inline(always)]
    fn slot(self, _: &graph::arc::Along<'_>, _: &mut Buffer<'_>) -> u32 {
        let Self::Police(_) = self;
        0
    }
}

impl<S: Station> Node for HandOff<S> {
    const NAME: &'static str = S::NAMES[1];
    type Next = Next<S>;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = S::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let at = Moment::of(frame);
        frame.hand_off(Error::Congestion, |p| {
            let policer = S::policer(&self.judge, p, at.epoch);
            Ok((self.judge.thread(policer, &at), Next::Police(self.station)))
        });
    }
}
