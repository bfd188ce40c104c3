//! Usual packets of the fast path: whole ones of UDP and TCP, of sessions there are, that change no
//! state of a connection. A block of them is read, their sessions are looked up together, then each
//! is translated in one go.

use graph::{BLOCK, Passes};
use net::fast_path::Routable;
use net::prelude::*;
use sessions::{Direction, Flow4, KEYS, SessionIndex, Sought};
use translation::session::{ANY_FAR_END, BYPASS, ESTABLISHED, HAIRPIN, TRANSITORY};
use translation::usual::{flow_of, rewrite};
use translation::{ARRIVED, TRANSLATED};

use crate::core::{Traffic, usual_key};
use crate::node::{Fast, Work, fib_of, place_of, traffic_of};
use crate::place::Place;

const _: () = assert!(BLOCK <= KEYS);

/// Usual packets of one interface, counted by direction and protocol (TCP, UDP).
pub struct Tally {
    interface: u32,
    counts: [[u64; 2]; 2],
}

impl Tally {
    /// None yet.
    pub const NONE: Self = Self { interface: u32::MAX, counts: [[0; 2]; 2] };
}

/// Packets of a block: their flows, and a bit for each that may be usual.
struct Block {
    keys: [Flow4; BLOCK],
    usual: u64,
}

impl Work<'_> {
    /// Translates the usual packets of a block; others are left.
    #[inline(always)]
    pub fn translate_usual<P: Place>(
        &mut self,
        packets: &mut Passes<'_, Fast<P>>,
        places: Range<usize>,
        routable: &mut Routable<'_, V4>,
    ) {
        let first = places.start;
        let mut block = Block { keys: [Flow4::default(); BLOCK], usual: 0 };
        let mut sought = Sought::new();
        packets.look(
            places.clone(),
            #[inline(always)]
            |place, p| {
                let l3 = place_of::<P>(self.core, p, self.epoch).0;
                let flow = p.bytes().get(l3..).and_then(flow_of);
                let fib = fib_of::<P>(self.core, p, self.epoch);
                let key = usual_key(&flow.unwrap_or_default(), fib, P::TRAFFIC);
                self.table.ask(&mut sought, place - first, &key);
                block.keys[place - first] = key;
                block.usual |= u64::from(flow.is_some()) << (place - first);
            },
        );
        self.table.seek(&mut sought, places.len());
        self.table.fetch_counts(&sought, places.len());
        packets.usual_along(
            places,
            #[inline(always)]
            |place, p| {
                let at = place - first;
                if block.usual >> at & 1 == 0 {
                    return None;
                }
                let key = &block.keys[at];
                let found = self.table.sought(&sought, at, key)?;
                let (fib, destination) = self.translate_one::<P>(p, key, found)?;
                if P::TRAFFIC != Traffic::Output {
                    routable.note(place, fib, destination);
                }
                Some(())
            },
        );
    }
    /// Translates a packet of a session, if the session is usual too: its new table and
    /// destination.
    #[inline(always)]
    fn translate_one<P: Place>(
        &mut self,
        p: &mut Buffer<'_>,
        old: &Flow4,
        (at, direction): (SessionIndex, Direction),
    ) -> Option<(u16, u32)> {
        let (l3, interface) = place_of::<P>(self.core, p, self.epoch);
        let is_done = P::TRAFFIC == Traffic::Output && p.flags().has(TRANSLATED.with(Flags::LOCAL));
        if is_done || p.flags().has(Flags::CHECKSUM_TODO) {
            return None;
        }
        let session = self.table.living(at, self.now)?;
        let is_tcp = old.protocol() == Protocol::TCP;
        let class = if session.data.tcp.is_established() { ESTABLISHED } else { TRANSITORY };
        let is_other = session.data.is(BYPASS | HAIRPIN | ANY_FAR_END);
        if is_other || is_tcp && session.class() != class {
            return None;
        }
        let (new, fib) = match direction {
            Direction::Forward => (session.reverse.reversed(), session.data.out_fib),
            Direction::Reverse => (session.forward.reversed(), session.data.in_fib),
        };
        let len = p.len();
        rewrite(p.bytes_mut().get_mut(l3..)?, old, &new)?;
        self.table.passed(at, len - l3, self.now);
        p.set_fib(fib);
        let mut flags = p.flags();
        if new.in_scope(0) != old.in_scope(0) {
            flags = flags.with(TRANSLATED);
        }
        if P::TRAFFIC == Traffic::Either {
            flags = flags.without(ARRIVED);
        }
        p.set_flags(flags);
        if interface != self.tally.interface {
            self.settle::<P>(interface);
        }
        self.tally.counts[direction as usize][usize::from(!is_tcp)] += 1;
        Some((fib, u32::from_be_bytes(new.dst)))
    }
    /// Counts what the tally has, which goes on with another interface.
    #[inline(never)]
    pub fn settle<P: Place>(&mut self, interface: u32) {
        let old = std::mem::replace(&mut self.tally, Tally { interface, ..Tally::NONE });
        for (direction, counts) in [Direction::Forward, Direction::Reverse].iter().zip(old.counts) {
            let traffic = traffic_of::<P>(*direction);
            for (what, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                self.core.count(traffic, false, (what, count), self.thread, old.interface);
            }
        }
    }
}
