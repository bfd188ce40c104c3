//! The policer of a packet and what it says, shared by the nodes.
//!
//! A policer belongs to one thread, its owner: that which has the first packet for it, or the one
//! it is bound to. Packets elsewhere are handed over. Where the owner has ended, or the thread
//! asking is about to, packets are judged on the spot.

use std::ops::Range;

use classify::Moment;
use graph::{Buffer, Flags, Frame, HandOff, HandsOff};
use infra::counter::{Rows, VolumeCounter};
use infra::meter::Color;
use infra::rcu::{Epoch, Reader, SlabReader};
use wire::ethernet::EtherType;
use wire::{Dscp, ip4, ip6};

use super::{Action, Applied, Policer};

/// Length of an Ethernet header without tags.
const ETHERNET: usize = 14;

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

impl Judge {
    /// Action on a packet, as a policer says; `None` when another thread decides. The packet keeps
    /// its colour, for policers further on that are aware of it.
    #[inline(always)]
    pub fn judge(
        &self,
        policer: Option<u32>,
        p: &mut Buffer<'_>,
        at: &Moment<'_>,
    ) -> Option<Action> {
        let found =
            policer.and_then(|policer| Some((policer, self.policers.read(policer, at.epoch)?)));
        let Some((policer, found)) = found else { return Some(Action::Transmit) };
        if self.owner(found, at) != at.thread {
            return None;
        }
        let bytes = p.total_len();
        let color = found.config.color(&found.meter, at.now, bytes, color_of(p));
        set_color(p, color);
        if let Some(counter) = self.counters[color as usize].row(at.thread).get(policer as usize) {
            counter.add(1, bytes as u64);
        }
        Some(found.actions[color as usize])
    }
    /// The thread that decides about packets of a policer.
    #[inline(always)]
    fn owner(&self, policer: &Policer, at: &Moment<'_>) -> usize {
        let threads = self.threads.read(at.epoch);
        if !threads.contains(&at.thread) {
            return at.thread;
        }
        policer.owner.claim(at.thread, |owner| threads.contains(&owner))
    }
}

/// An action in a trace; `None` is that of another thread.
pub fn shown(action: Option<Action>) -> String {
    action.map_or_else(|| "handoff".to_owned(), |action| action.to_string())
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

/// A node that polices.
pub trait Polices: Clone + Send + 'static {
    /// Its name, and that of the node that hands packets to the thread of their policer.
    const NAMES: [&'static str; 2];
    /// As [`graph::Node::DROP`].
    const DROP: &'static str = "error-drop";
    /// The policer of a packet.
    fn policer(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> Option<u32>;
    /// The state of policers.
    fn judge(&self) -> &Judge;
}

/// Hands packets to the thread of their policer.
#[derive(Clone)]
pub struct ToOwner<S>(pub S);

impl<S: Polices> HandsOff for ToOwner<S> {
    const NAME: &'static str = S::NAMES[1];
    const TO: &'static str = S::NAMES[0];
    const DROP: &'static str = S::DROP;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, S, On> {
        let (at, judge) = (Moment::of(frame), self.0.judge());
        move |p| {
            let policer = self.0.policer(p, at.epoch);
            let found = policer.and_then(|policer| judge.policers.read(policer, at.epoch));
            found.map_or(at.thread, |found| judge.owner(found, &at))
        }
    }
}
