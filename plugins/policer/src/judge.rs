//! The policer of a packet and what it says, shared by the nodes.
//!
//! A policer belongs to one thread, its owner: that which has the first packet for it, or the one
//! it is bound to. Packets elsewhere are handed over. Where the owner has ended, or the thread
//! asking is about to, packets are judged on the spot.

use classify::{Moment, Table, Tables};
use infra::counter::Rows;
use infra::meter::Color;
use net::adjacency::Adjacency;
use net::interface::Port;
use net::prelude::*;

use super::{Action, Applied, Policer};

/// The state that the nodes read.
#[derive(Clone)]
pub struct Judge {
    pub(super) applied: SlabReader<Applied>,
    pub(super) punts: Reader<[Option<u32>; 2]>,
    pub(super) policers: SlabReader<Policer>,
    pub(super) counters: [Rows<VolumeCounter>; 3],
    /// The data-plane threads that stay.
    pub(super) threads: Reader<Range<usize>>,
    pub(super) adjacencies: SlabReader<Adjacency>,
    pub(super) ports: SlabReader<Port>,
    /// The classifier's tables, and which of them an interface has.
    pub(super) tables: SlabReader<Table>,
    pub(super) sorted: SlabReader<Tables>,
}

impl Judge {
    /// Action on a packet that counts for so many bytes, as a policer says; `None` when another
    /// thread decides. The packet keeps its colour, for policers further on that are aware of it.
    /// One that is only explained takes nothing out of the buckets.
    #[inline(always)]
    pub fn judge(
        &self,
        policer: Option<u32>,
        (p, bytes): (&mut Buffer<'_>, usize),
        at: &Moment<'_>,
        is_explained: bool,
    ) -> Option<Action> {
        let found =
            policer.and_then(|policer| Some((policer, self.policers.read(policer, at.epoch)?)));
        let Some((policer, found)) = found else { return Some(Action::Transmit) };
        if !is_explained && self.owner(found, at) != at.thread {
            return None;
        }
        let copy = is_explained.then(|| found.meter.clone());
        let meter = copy.as_ref().unwrap_or(&found.meter);
        let color = found.config.color(meter, at.now, bytes, color_of(p));
        set_color(p, color);
        if let Some(counter) = self.counters[color as usize].row(at.thread).get(policer as usize) {
            counter.add(1, bytes as u64);
        }
        Some(found.actions[color as usize])
    }
    /// The thread that decides about packets of a policer.
    #[inline(always)]
    pub fn owner(&self, policer: &Policer, at: &Moment<'_>) -> usize {
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
