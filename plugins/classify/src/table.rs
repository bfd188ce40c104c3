//! A table as threads see it: which bytes it compares, and the sessions they may be equal to.
//!
//! Sessions are found by the hash of their key: its place is a number that names the session, with
//! a part of the hash; what is taken by another is in the next place. Control adds and takes out
//! with one store each, so readers need no lock. A session that was taken out stays readable for
//! those who were on their way to it.
#![forbid(unsafe_code)]

use infra::counter::{Cell, Counter, Rows};
use infra::cpu::prefetch_ptr;
use infra::table::numbers::{Numbers, NumbersReader};
use net::prelude::*;
use zerocopy::FromZeros;

use super::key::{Key, Mask, VECTOR};
use super::tables::SessionAction;

/// No table, no next node, no number.
pub const NONE: u32 = u32::MAX;
/// A chain has at most as many tables.
pub const MOST_CHAINED: usize = 64;

/// A place that was never taken.
const EMPTY: u64 = 0;
/// A place whose session was taken out: what is sought may be further on.
const GONE: u64 = 1 << 32;

/// The start of the bytes that a table compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// At the layer 2 header.
    Layer2,
    /// Distance from the header that the packet is at, which may be behind it.
    Current(i16),
}

/// The action on a packet besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    #[default]
    None,
    /// Look it up in this table.
    Table {
        /// Number of the table as operators know it.
        id: u32,
        /// Version.
        version: IpVersion,
        /// Table ID.
        fib: u16,
    },
    /// It carries this number.
    Metadata(u32),
    /// Its flow is marked with this number where the layer below can.
    Mark(u32),
    /// It leaves by this load balance.
    Redirect(u32),
}

impl Action {
    /// Action that the operator of the table asked for; none where packets are redirected.
    pub fn wanted(self) -> SessionAction {
        match self {
            Self::None | Self::Redirect(_) => SessionAction::None,
            Self::Table { id, version: IpVersion::V4, .. } => SessionAction::Table4(id),
            Self::Table { id, .. } => SessionAction::Table6(id),
            Self::Metadata(number) => SessionAction::Metadata(number),
            Self::Mark(number) => SessionAction::Mark(number),
        }
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub(super) key: Key,
    /// Next node of a packet that is equal; whose number it is depends on the table's user.
    pub hit_next: u32,
    /// A number for the table's user.
    pub opaque: u32,
    /// Bytes to advance the packet, may be negative.
    pub advance: i32,
    /// Action on the packet.
    pub action: Action,
    /// Value of its counter when it was made.
    pub(super) before: u64,
}

impl Session {
    /// The bytes that a packet is equal to under a mask.
    pub fn bytes(&self, mask: &Mask) -> Vec<u8> {
        self.key.bytes(mask)
    }
}

/// Hits of a session on one thread.
#[derive(Debug, FromZeros)]
#[repr(C)]
pub struct SessionHits {
    hits: Counter,
    /// Bits of the time of the last one, in seconds.
    heard: Counter,
}

impl Cell for SessionHits {
    fn zero(&self) {
        self.hits.zero();
        self.heard.zero();
    }
}

/// The thread and time of a lookup.
#[derive(Clone, Copy)]
pub struct Moment<'e> {
    /// Number of the thread.
    pub thread: usize,
    /// Seconds on the router's clock.
    pub now: f64,
    /// The right to read.
    pub epoch: Epoch<'e>,
}

impl<'e> Moment<'e> {
    /// Those of a frame.
    #[inline(always)]
    pub fn of<N: Node, On>(frame: &Frame<'e, N, On>) -> Self {
        Self { thread: frame.thread(), now: frame.now(), epoch: frame.epoch() }
    }
}

/// A packet's headers, as offsets in its buffer.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    /// Of layer 2.
    pub l2: i16,
    /// The one that the packet is at.
    pub current: i16,
}

/// A table.
#[derive(Clone)]
pub struct Table {
    /// Mask.
    pub mask: Mask,
    /// Vectors left out before the first one that counts.
    pub skip: usize,
    /// Start of the bytes.
    pub from: From,
    /// The table that is asked for what is not found here, or [`NONE`].
    pub next: u32,
    /// Next node of packets that are not found.
    pub miss_next: u32,
    places: NumbersReader,
    /// Of the number of places.
    bits: usize,
    sessions: SlabReader<Session>,
    seen: Rows<SessionHits>,
}

/// A table, as control keeps it.
pub struct Sessions {
    places: Numbers,
    slab: SharedSlab<Session>,
    seen: Rows<SessionHits>,
    bits: usize,
    most: usize,
}

impl Sessions {
    /// None yet, `most` at most.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(threads: usize, most: usize) -> io::Result<Self> {
        // A quarter of the places is taken at most, so that what is sought is near.
        let places = (most * 4).next_power_of_two();
        Ok(Self {
            places: Numbers::new(places)?,
            // What was taken out keeps its number for a while.
            slab: SharedSlab::new(most * 2)?,
            seen: Rows::new(threads, most * 2)?,
            bits: places - 1,
            most,
        })
    }
    /// A table with these sessions.
    pub fn table(&self, mask: Mask, skip: usize, from: From, next: u32, miss_next: u32) -> Table {
        let (places, sessions) = (self.places.reader(), self.slab.reader());
        let (bits, seen) = (self.bits, self.seen.clone());
        Table { mask, skip, from, next, miss_next, places, bits, sessions, seen }
    }
    /// Their number.
    pub fn count(&self) -> usize {
        self.slab.len()
    }
    /// Most sessions.
    pub fn most(&self) -> usize {
        self.most
    }
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Session)> {
        self.slab.iter()
    }
    /// The first one from a number on.
    pub fn from(&self, number: u32) -> Option<(u32, &Session)> {
        self.slab.iter_from(number).next()
    }
    /// Hits of a session, and the time of the last one in seconds.
    pub fn seen(&self, number: u32, session: &Session) -> (u64, f64) {
        let column = || self.seen.column(number as usize);
        let hits: u64 = column().map(|seen| seen.hits.value()).sum();
        let hits = hits.saturating_sub(session.before);
        let heard = column().map(|seen| f64::from_bits(seen.heard.value())).fold(0.0, f64::max);
        (hits, if hits > 0 { heard } else { 0.0 })
    }
    /// The place and the number of the session with a key.
    fn find(&self, mask: &Mask, key: &Key) -> Option<(usize, u32)> {
        let hash = key.hash(mask);
        probe(self.bits, hash).find_map(|place| match self.places.at(place) {
            EMPTY => Some(None),
            found if found >> 32 == tag(hash) => {
                let number = number(found);
                let is_it = self.slab.at(number).is_some_and(|s| s.key == *key);
                is_it.then_some(Some((place, number)))
            }
            _ => None,
        })?
    }
    /// The session with a key.
    pub fn get(&self, mask: &Mask, key: &Key) -> Option<&Session> {
        self.find(mask, key).and_then(|(_, number)| self.slab.at(number))
    }
    /// Adds a session, or puts it in the place of the one with its key; `None` without room.
    pub fn put(&mut self, mask: &Mask, mut session: Session) -> Option<()> {
        if let Some((_, number)) = self.find(mask, &session.key) {
            session.before = self.slab.at(number).map_or(0, |old| old.before);
            self.slab.replace(number, session);
            return Some(());
        }
        let hash = session.key.hash(mask);
        let is_free = |place: &usize| [EMPTY, GONE].contains(&self.places.at(*place));
        let place = probe(self.bits, hash).find(is_free)?;
        let number = self.slab.insert(session).ok()?;
        let before = self.seen.column(number as usize).map(|seen| seen.hits.value()).sum();
        if before > 0
            && let Some(mut session) = self.slab.at(number).cloned()
        {
            session.before = before;
            self.slab.replace(number, session);
        }
        self.places.set(place, (tag(hash) << 32) | (u64::from(number) + 1));
        Some(())
    }
    /// Takes out the session with a key.
    pub fn remove(&mut self, mask: &Mask, key: &Key) -> Option<Session> {
        let (place, number) = self.find(mask, key)?;
        let session = self.slab.at(number)?.clone();
        // What lies between here and an empty place is not sought further on.
        let is_last = self.places.at((place + 1) & self.bits) == EMPTY;
        self.places.set(place, if is_last { EMPTY } else { GONE });
        if is_last {
            let before = (0..self.bits).map(|n| place.wrapping_sub(1 + n) & self.bits);
            let gone: Vec<_> = before.take_while(|p| self.places.at(*p) == GONE).collect();
            // The nearest first: a reader on its way finds either a place that is gone or the end.
            gone.into_iter().for_each(|place| _ = self.places.set(place, EMPTY));
        }
        self.slab.remove(number);
        Some(session)
    }
}

/// The part of a hash that stands beside a session's number: never that of [`GONE`].
#[inline(always)]
fn tag(hash: u64) -> u64 {
    (hash >> 32) | 2
}

/// The session that a place names.
#[inline(always)]
fn number(found: u64) -> u32 {
    (found as u32).wrapping_sub(1)
}

/// Places in the order in which they are tried.
#[inline(always)]
fn probe(bits: usize, hash: u64) -> impl Iterator<Item = usize> {
    let first = hash as usize;
    (0..=bits).map(move |n| first.wrapping_add(n) & bits)
}

impl Table {
    /// The bytes that it compares of a packet.
    #[inline(always)]
    pub fn bytes<'p>(&self, p: &'p Buffer<'_>, at: Headers) -> &'p [u8] {
        let from = match self.from {
            From::Layer2 => at.l2,
            From::Current(offset) => at.current.saturating_add(offset),
        };
        p.bytes_from(from.saturating_add((self.skip * VECTOR) as i16))
    }
    /// Asks for the place of a key.
    #[inline(always)]
    pub fn fetch_place(&self, hash: u64) {
        self.places.view().fetch(hash as usize & self.bits);
    }
    /// Asks for the session that is probably meant.
    #[inline(always)]
    pub fn fetch_session(&self, hash: u64, epoch: Epoch<'_>) {
        let found = self.places.view().at(hash as usize & self.bits);
        if found > GONE
            && let Some(session) = self.sessions.read(number(found), epoch)
        {
            let line = std::ptr::from_ref(session).cast::<u8>();
            prefetch_ptr(line);
            prefetch_ptr(line.wrapping_add(64));
        }
    }
    /// The session with a key, which counts a hit.
    #[inline(always)]
    pub fn find<'e>(
        &'e self,
        key: &Key,
        hash: u64,
        epoch: Epoch<'e>,
    ) -> Option<(u32, &'e Session)> {
        let places = self.places.view();
        for place in probe(self.bits, hash) {
            let found = places.at(place);
            if found == EMPTY {
                return None;
            }
            if found >> 32 == tag(hash)
                && let Some(session) = self.sessions.read(number(found), epoch)
                && session.key == *key
            {
                return Some((number(found), session));
            }
        }
        None
    }
    /// Counts a hit of a session.
    #[inline(always)]
    pub fn count(&self, session: u32, at: &Moment<'_>) {
        if let Some(seen) = self.seen.row(at.thread).get(session as usize) {
            seen.hits.add(1);
            seen.heard.set(at.now.to_bits());
        }
    }
}

/// A session that a packet has.
pub struct Hit<'e> {
    /// Session.
    pub session: &'e Session,
    /// The table it was found in.
    pub table: u32,
    /// Whether that was not the first one.
    pub is_walked: bool,
    number: u32,
    of: &'e Table,
}

impl Hit<'_> {
    /// Counts it.
    #[inline(always)]
    pub fn count(&self, at: &Moment<'_>) {
        self.of.count(self.number, at);
    }
}

/// The result of a chain of tables.
pub enum Match<'e> {
    /// A session.
    Hit(Hit<'e>),
    /// None, the last table tried, and the fate of the packet.
    Miss(u32, u32),
    /// There is no table.
    Nothing,
}

/// Asks a table and those behind it for the session of a packet, whose `bytes` from where a table
/// looks are asked for; a hit is counted.
#[inline(always)]
pub fn walk<'e, 'p>(
    tables: &'e SlabReader<Table>,
    first: u32,
    at: &Moment<'e>,
    bytes: impl Fn(&Table) -> &'p [u8],
) -> Match<'e> {
    let found = seek(tables, first, at.epoch, bytes);
    if let Match::Hit(hit) = &found {
        hit.count(at);
    }
    found
}

/// As [`walk`], without counting.
#[inline(always)]
pub fn seek<'e, 'p>(
    tables: &'e SlabReader<Table>,
    first: u32,
    epoch: Epoch<'e>,
    bytes: impl Fn(&Table) -> &'p [u8],
) -> Match<'e> {
    let mut index = first;
    let mut found = Match::Nothing;
    for asked in 0..MOST_CHAINED {
        let Some(table) = tables.read(index, epoch) else { return found };
        let key = table.mask.key(bytes(table));
        if let Some((number, session)) = table.find(&key, key.hash(&table.mask), epoch) {
            let is_walked = asked > 0;
            return Match::Hit(Hit { session, table: index, is_walked, number, of: table });
        }
        found = Match::Miss(index, table.miss_next);
        index = table.next;
    }
    found
}
