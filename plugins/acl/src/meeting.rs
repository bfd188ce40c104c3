//! Packets and the sessions that they meet, one by one or a block together.

use graph::{BLOCK, Passes};
use net::prelude::*;
use sessions::Flow;
use zerocopy::FromZeros;

use super::Options;
use super::node::{Access, Block, Checks, Found, Pass};
use super::rule::Action;
use super::session::{self, Begun, Here, Moment, Reflected, Threads};

/// Result of looking a packet up among the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// None, and it begins none.
    Nothing,
    /// Its session.
    Existing,
    /// It begins one.
    New,
    /// There is no room for one.
    Full,
    /// Its session would be on another thread.
    Elsewhere,
}

/// The sessions that a frame's packets meet.
pub(super) struct Meeting<'t, A: sessions::Address> {
    table: Option<Here<'t, A>>,
    seed: u64,
    thread: usize,
    at: Moment,
    /// The state of all lists.
    now: u32,
}

impl<V: Reflected, const BRIDGED: bool, const DIRECTION: usize> Checks<V, BRIDGED, DIRECTION> {
    /// The sessions of this thread.
    pub(super) fn meeting(
        &self,
        thread: usize,
        now: f64,
        options: &Options,
    ) -> Meeting<'_, V::Address> {
        let sessions = V::of(&self.sessions);
        let generation = options.reclassifies.then_some(options.generation);
        let (table, seed) = (sessions.lend(thread), sessions.seed());
        Meeting { table, seed, thread, at: Moment { now, generation }, now: options.generation }
    }
    /// Result of looking a packet up among the sessions.
    #[inline(never)]
    pub(super) fn meet(
        &self,
        p: &Buffer<'_>,
        found: &Found,
        meeting: &mut Meeting<'_, V::Address>,
        (epoch, threads): (Epoch<'_>, &Threads),
    ) -> Met {
        let Some(seen) = Self::seen(&self.adjacencies, p, epoch) else { return Met::Nothing };
        if threads.at(seen.flow.meeting(meeting.seed)) != meeting.thread {
            return Met::Elsewhere;
        }
        let Some(table) = meeting.table.as_deref_mut() else { return Met::Nothing };
        let moment = (p.total_len(), meeting.at.now);
        if let Some(session) = session::find(table, &seen, &meeting.at) {
            session::passed(table, session, &seen, moment);
            return Met::Existing;
        }
        if found.action != Action::Reflect {
            return Met::Nothing;
        }
        match session::begin(table, &seen, (found.list, found.rule, meeting.now), moment) {
            Begun::Session => Met::New,
            Begun::Alone => Met::Nothing,
            Begun::Full => Met::Full,
        }
    }
    /// Looks the packets of a block up among the sessions, all together. What is of none, is
    /// traced or in several segments is left to [`Checks::judge`].
    #[inline(never)]
    pub(super) fn meet_block(
        &self,
        packets: &mut Passes<'_, Access<V, BRIDGED, DIRECTION>>,
        places: Range<usize>,
        block: &mut Block<V::Tuple>,
        pass: &mut Pass<'_, V::Address>,
    ) {
        let Some(meeting) = pass.meeting.as_mut() else { return };
        let Some(table) = meeting.table.as_deref_mut() else { return };
        let (first, epoch, is_alone) = (places.start, pass.epoch, pass.threads.are_one());
        let mut seen = [None; BLOCK];
        let mut keys = [Flow::new_zeroed(); BLOCK];
        let mut bytes = [0; BLOCK];
        packets.look(
            places.clone(),
            #[inline(always)]
            |place, p| {
                let at = place - first;
                let is_usual =
                    block.is_stateful(place) && !p.flags().has(Flags::TRACED.with(Flags::CHAINED));
                let looked = Self::seen(&self.adjacencies, p, epoch).filter(|seen| {
                    let is_own =
                        || pass.threads.at(seen.flow.meeting(meeting.seed)) == meeting.thread;
                    is_usual && (is_alone || is_own())
                });
                if let Some(seen) = &looked {
                    keys[at] = seen.flow;
                }
                (seen[at], bytes[at]) = (looked, p.total_len());
            },
        );
        let mut found = [None; BLOCK];
        let count = places.len();
        table.find_all(&keys[..count], &mut found[..count]);
        for (at, (seen, found)) in seen.iter().zip(&found).enumerate().take(count) {
            if let (Some(seen), Some(session)) = (seen, found)
                && session::goes_that_way(seen, session.1)
                && session::is_current(table, session.0, &meeting.at)
            {
                session::passed(table, *session, seen, (bytes[at], meeting.at.now));
                block.met |= 1 << at;
            }
        }
        pass.tally.existing += u64::from(block.met.count_ones());
    }
}
