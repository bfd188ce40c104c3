//! `l2-learn`: notes on which interface of its domain the source of a frame is.

use graph::BLOCK;
use infra::table::exact::{Change, Missed, View};
use net::prelude::*;

use super::fib::{self, Entry};
use super::packet::{self, FrameTrace, Layer2};
use super::state::Tables;

/// MAC learning enabled.
#[derive(Clone)]
pub struct Learn {
    pub(super) tables: Tables,
    pub(super) crowded: EventSender<TableFilling>,
    /// Keys of the block under way and of the next one.
    pub(super) keys: [[u64; BLOCK]; 2],
}

/// The table is more than half full.
#[derive(Clone, Copy)]
pub struct TableFilling;

impl Event for TableFilling {
    const ROOM: usize = 4;
}

/// Drops of [`Learn`], and what is no drop.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// L2 mac move violations.
    #[name("L2 mac move violations")]
    Violation,
    /// L2 filter mac drops.
    #[name("L2 filter mac drops")]
    Filter,
}

/// Counters of [`Learn`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// L2 learn packets.
    #[name("L2 learn packets")]
    Packets,
    /// L2 learn misses.
    #[name("L2 learn misses")]
    Misses,
    /// L2 mac moves.
    #[name("L2 mac moves")]
    Moves,
    /// L2 not learned due to limit.
    #[name("L2 not learned due to limit")]
    Limit,
    /// L2 learn hit updates.
    #[name("L2 learn hit updates")]
    Updates,
}

/// Numbers of what happened in a frame, in the order of [`Count`] from the second on.
#[derive(Default)]
struct Done {
    misses: u64,
    moves: u64,
    limit: u64,
    updates: u64,
    is_crowded: bool,
}

#[inline(always)]
fn key(p: &Buffer<'_>) -> u64 {
    fib::key(p.payload::<Layer2>().domain, packet::source(p.bytes()))
}

/// Entry of a source that has not moved and was heard this minute.
#[inline(always)]
fn expected(p: &Buffer<'_>, minute: u8) -> Entry {
    Entry::learned(p.rx(), p.payload::<Layer2>().sequence, minute)
}

/// Whether nothing is to be learned of the source of a frame, whose entry is known.
#[inline(always)]
pub fn is_known(entry: Entry, expected: Entry) -> bool {
    entry.told() == expected || entry.is_set_on(expected.interface())
}

impl Node for Learn {
    const NAME: &'static str = "l2-learn";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Continue;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, count) = (frame.epoch(), frame.len() as u64);
        let minute = fib::minute(frame.now());
        let view = self.tables.fib.read(epoch);
        let (tables, keys) = (&self.tables, &mut self.keys);
        let mut done = Done::default();
        frame.passes(|packets| {
            let end = packets.all().end;
            // Where the first and the last packet are of one host, most of them are.
            let mut ends = [(0, Entry(0)); 2];
            let Some(last) = end.checked_sub(1) else { return };
            for (place, found) in [0, last].into_iter().zip(&mut ends) {
                packets.look(place..place + 1, |_, p| *found = (key(p), expected(p, minute)));
            }
            let [(host, here), last] = ends;
            if last == ends[0] && is_known(Entry(view.find(host)), here) {
                packets.usual(packets.all(), |_, p| {
                    (key(p) == host && expected(p, minute) == here).then_some(Continue)
                });
                if !packets.are_left(packets.all()) {
                    return;
                }
            } else {
                packets.leave(packets.all());
            }
            fib::look(packets, key, 0..end.min(BLOCK), view, &mut keys[0]);
            for (block, start) in (0..end).step_by(BLOCK).enumerate() {
                let (here, next) = (start..end.min(start + BLOCK), start + BLOCK);
                if next < end {
                    fib::look(
                        packets,
                        key,
                        next..end.min(next + BLOCK),
                        view,
                        &mut keys[(block + 1) % 2],
                    );
                }
                let keys = &keys[block % 2];
                packets.rest(here.clone(), |place, p| {
                    let entry = Entry(view.find(keys[place % BLOCK]));
                    is_known(entry, expected(p, minute)).then_some(Continue)
                });
                packets.others(here, |_, p| {
                    let rx = p.rx();
                    p.trace(|p| FrameTrace::of("l2-learn", rx, p));
                    update(tables, p, (view, epoch), minute, &mut done).map(|()| Continue)
                });
            }
        });
        if done.is_crowded {
            self.crowded.send(TableFilling);
        }
        frame.count(Count::Packets, count);
        frame.count(Count::Misses, done.misses);
        frame.count(Count::Moves, done.moves);
        frame.count(Count::Limit, done.limit);
        frame.count(Count::Updates, done.updates);
    }
}

/// Says of an explained frame what would be learned from it.
fn say(p: &mut Packet<'_, Learn>, old: Entry, is_here: bool, is_refused: bool) {
    let rx = p.rx();
    p.say(|p| {
        let source = packet::address(packet::source(p.bytes()));
        move |names| {
            let (here, there) = (names.name("interface", rx), old.interface());
            match old.0 {
                0 if is_refused => format!("{source} is not learned: the limit is reached"),
                0 => format!("would learn {source} on {here}"),
                _ if is_here => format!("{source} is known on {here}"),
                _ => {
                    format!("would move {source} from {} to {here}", names.name("interface", there))
                }
            }
        }
    });
}

/// Says of an explained frame what would be learned from it, and counts that.
fn foretell(
    p: &mut Packet<'_, Learn>,
    (old, new): (Entry, Entry),
    is_refused: bool,
    done: &mut Done,
) {
    let is_here = old.interface() == new.interface() && old.sequence() == new.sequence();
    say(p, old, is_here, is_refused);
    let is_new = old.0 == 0 || old.sequence() >> 8 != new.sequence() >> 8;
    let is_moved = !is_new && old.interface() != new.interface();
    let told = old.0 & (fib::NEW | fib::MOVED);
    done.updates += u64::from(is_here && old.0 != new.0 | told);
    done.moves += u64::from(!is_here && is_moved);
    done.misses += u64::from(!is_here && !is_moved && !is_refused);
    done.limit += u64::from(is_refused);
}

/// Update for a source that is new, was heard before this minute, has moved, or is set.
#[inline(never)]
fn update(
    tables: &Tables,
    p: &mut Packet<'_, Learn>,
    (view, epoch): (View<'_>, Epoch<'_>),
    minute: u8,
    done: &mut Done,
) -> Result<(), Error> {
    let (key, new) = (key(p), expected(p, minute));
    let old = Entry(view.find(key));
    if old.has(fib::STATIC) {
        return match old {
            _ if old.has(fib::FILTER) => Err(Error::Filter),
            _ if old.interface() == p.rx() => Ok(()),
            _ => Err(Error::Violation),
        };
    }
    let is_here = old.interface() == new.interface() && old.sequence() == new.sequence();
    let domain = p.payload::<Layer2>().domain;
    let limits = tables.domains.read(domain.into(), epoch).map_or([0; 2], |d| d.limits);
    let learned = &tables.learned;
    let is_full = || learned.at(0) >= limits[0] || learned.at(domain.into()) >= limits[1];
    if p.is_explained() {
        foretell(p, (old, new), old.0 == 0 && is_full(), done);
        return Ok(());
    }
    if old.0 != 0 && is_here {
        let new = new.0 | old.0 & (fib::NEW | fib::MOVED);
        // A packet of the same block may have taught it just now.
        done.updates += u64::from(old.0 != new && view.refresh(key, old.0, new));
        return Ok(());
    }
    let changed = view.try_change(key, |now| {
        let now = Entry(now);
        if now.0 == 0 {
            if is_full() {
                done.limit += 1;
                return Change::Nothing;
            }
            learned.add(0, 1);
            learned.add(domain.into(), 1);
            done.misses += 1;
            return Change::Set(new.0 | fib::NEW);
        }
        if now.has(fib::STATIC) {
            return Change::Nothing;
        }
        // Flushed addresses are learned again, wherever they were.
        let is_new = now.sequence() >> 8 != new.sequence() >> 8;
        let is_moved = !is_new && now.interface() != new.interface();
        done.moves += u64::from(is_moved);
        done.misses += u64::from(!is_moved);
        Change::Set(new.0 | if is_moved { fib::MOVED } else { fib::NEW })
    });
    match changed {
        Ok(()) => done.is_crowded |= view.len() * 2 > view.room(),
        // The next frame from there teaches it.
        Err(Missed::Busy) => {}
        Err(Missed::Full) => {
            learned.add(0, -1);
            learned.add(domain.into(), -1);
            (done.misses, done.limit) = (done.misses - 1, done.limit + 1);
            done.is_crowded = true;
        }
    }
    Ok(())
}
