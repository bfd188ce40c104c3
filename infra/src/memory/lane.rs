//! Bytes between two processes that share memory and need not trust each other.
//!
//! A lane is a [`Region`] with two rings of words, one for each direction; a ring has three words
//! of its own, in cache lines of their own: the number of words ever *written*, the number ever
//! *taken*, and whether its writer is *asleep*. All are native `u64`s. Bytes travel in pieces: a
//! word with their number, then the bytes in words. Impossible numbers are [`Broken`]: the other
//! side may write anything at any time, so everything is checked before use, and checked values are
//! kept here. The file is sealed: it cannot be truncated.
//!
//! An idle side declares it ([`Lane::sleep`]) and waits for a bell, which is not this module's
//! concern; an active side asks whether to ring it ([`Lane::must_ring`]).

#![forbid(unsafe_code)]

#[cfg(all(loom, test))]
mod models;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{
    Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

use super::shared::{Region, WORD};
use crate::sync::{AtomicU64, fence};

/// Words in front of each ring.
const CONTROL: usize = 64;
/// Positions of a ring's own words in front of it: 128 bytes apart.
const WRITTEN: usize = 0;
const TAKEN: usize = 16;
const ASLEEP: usize = 32;
/// Words of a piece at most, so that the reader gets work early.
const PIECE: usize = 1 << 13;
/// Fewest and most bytes of a ring.
const SIZES: (usize, usize) = (4 << 10, 64 << 20);

/// One side's end.
#[derive(Debug)]
pub struct Lane {
    region: Arc<Region>,
    /// Words of a ring, a power of two.
    capacity: usize,
    /// The ring that this side writes, 0 or 1.
    own: usize,
    written: u64,
    taken: u64,
}

/// The other side has written what cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other side violated the shared memory protocol")
    }
}

impl std::error::Error for Broken {}

impl From<Broken> for io::Error {
    fn from(broken: Broken) -> Self {
        Self::new(io::ErrorKind::InvalidData, broken)
    }
}

impl Lane {
    /// A lane with room for at least `bytes` each way (4 KB to 64 MB, rounded up to a power of
    /// two), and the file to [`open`](Self::open) its other end with.
    ///
    /// # Errors
    /// The kernel's.
    pub fn create(bytes: usize) -> io::Result<(Self, OwnedFd)> {
        let capacity = bytes.clamp(SIZES.0, SIZES.1).next_power_of_two() / 8;
        let region = Region::new("lane", 2 * WORD * (CONTROL + capacity))?;
        let file = region.writable()?;
        Ok((Self { region, capacity, own: 0, written: 0, taken: 0 }, file))
    }

    /// The other end of a lane.
    ///
    /// # Errors
    /// The kernel's; `InvalidData` when the file is none that [`create`](Self::create) made.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        let region = Region::open(file)?;
        // The two rings are the largest powers of two that fit.
        let half = (region.size() / (2 * WORD)).saturating_sub(CONTROL);
        let capacity = if half == 0 { 0 } else { 1 << half.ilog2() };
        if capacity < SIZES.0 / 8 || capacity > SIZES.1 / 8 {
            return Err(Broken.into());
        }
        Ok(Self { region, capacity, own: 1, written: 0, taken: 0 })
    }

    /// Bytes that have room each way, roughly: pieces have heads.
    pub fn capacity(&self) -> usize {
        8 * self.capacity
    }

    /// Sends as many of `bytes` as there is room for; how many that are.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut sent = 0;
        while sent < bytes.len() {
            let room = self.room()?.min(PIECE);
            if room < 2 {
                break;
            }
            let piece = &bytes[sent..bytes.len().min(sent + 8 * (room - 1))];
            let ring = self.ring(self.own);
            put(ring, self.written, piece.len() as u64);
            for (at, word) in (self.written + 1..).zip(piece.chunks(8)) {
                let mut whole = [0; 8];
                whole[..word.len()].copy_from_slice(word);
                put(ring, at, u64::from_ne_bytes(whole));
            }
            sent += piece.len();
            self.written += 1 + piece.len().div_ceil(8) as u64;
            self.word(self.own, WRITTEN).store(self.written, Release);
        }
        Ok(sent)
    }

    /// Appends what has come, until there are at least `limit` bytes more or nothing is left; how
    /// many that are.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn receive(&mut self, into: &mut Vec<u8>, limit: usize) -> Result<usize, Broken> {
        let before = into.len();
        let other = 1 - self.own;
        let mut left = self.waiting()?;
        while left > 0 && into.len() - before < limit {
            let ring = self.ring(other);
            let len = take(ring, self.taken);
            let words = usize::try_from(len).map_err(|_| Broken)?.div_ceil(8);
            if words >= left {
                return Err(Broken);
            }
            let start = into.len();
            into.resize(start + 8 * words, 0);
            for (at, word) in (self.taken + 1..).zip(into[start..].chunks_exact_mut(8)) {
                word.copy_from_slice(&take(ring, at).to_ne_bytes());
            }
            into.truncate(start + len as usize);
            left -= 1 + words;
            self.taken += 1 + words as u64;
            self.word(other, TAKEN).store(self.taken, Release);
        }
        Ok(into.len() - before)
    }

    /// Says that this side waits for a bell from now on: until bytes come or, if it wants to send,
    /// room. False when there are some already.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn sleep(&mut self, wants_room: bool) -> Result<bool, Broken> {
        self.word(self.own, ASLEEP).store(1, Relaxed);
        // Either we see what the other side did, or it sees that we sleep.
        fence(SeqCst);
        let has_work = self.waiting()? > 0 || (wants_room && self.room()? >= 2);
        if has_work {
            self.wake();
        }
        Ok(!has_work)
    }

    /// Says that this side is awake.
    pub fn wake(&mut self) {
        self.word(self.own, ASLEEP).store(0, Relaxed);
    }

    /// Whether the other side waits for a bell; it is then said to have been rung. To be asked when
    /// something was sent or received.
    pub fn must_ring(&mut self) -> bool {
        fence(SeqCst);
        let asleep = self.word(1 - self.own, ASLEEP);
        asleep.load(Relaxed) != 0 && asleep.swap(0, Relaxed) != 0
    }

    /// Words that may be sent.
    fn room(&self) -> Result<usize, Broken> {
        let used = self.written.wrapping_sub(self.word(self.own, TAKEN).load(Acquire));
        (self.capacity as u64).checked_sub(used).map(|room| room as usize).ok_or(Broken)
    }

    /// Words that have come.
    fn waiting(&self) -> Result<usize, Broken> {
        let waiting = self.word(1 - self.own, WRITTEN).load(Acquire).wrapping_sub(self.taken);
        if waiting > self.capacity as u64 { Err(Broken) } else { Ok(waiting as usize) }
    }

    fn word(&self, ring: usize, which: usize) -> &AtomicU64 {
        &self.region.words()[ring * (CONTROL + self.capacity) + which]
    }

    fn ring(&self, ring: usize) -> &[AtomicU64] {
        let start = ring * (CONTROL + self.capacity) + CONTROL;
        &self.region.words()[start..start + self.capacity]
    }
}

/// Positions run on forever; the length of a ring is a power of two.
fn put(ring: &[AtomicU64], at: u64, word: u64) {
    ring[at as usize & (ring.len() - 1)].store(word, Relaxed);
}

fn take(ring: &[AtomicU64], at: u64) -> u64 {
    ring[at as usize & (ring.len() - 1)].load(Relaxed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(bytes: usize) -> (Lane, Lane) {
        let (ours, file) = Lane::create(bytes).unwrap();
        (ours, Lane::open(file).unwrap())
    }

    #[test]
    fn bytes_come_as_they_were_sent_while_both_run() {
        let (mut ours, mut theirs) = pair(0);
        let data: Vec<u8> = (0..1_000_000_u32).map(|n| (n ^ (n >> 8)) as u8).collect();
        let sent = data.clone();
        let sending = std::thread::spawn(move || {
            let mut rest = &sent[..];
            while !rest.is_empty() {
                rest = &rest[ours.send(rest).unwrap().min(rest.len())..];
                std::thread::yield_now();
            }
        });
        let mut got = Vec::new();
        while got.len() < data.len() {
            if theirs.receive(&mut got, 1000).unwrap() == 0 {
                std::thread::yield_now();
            }
        }
        sending.join().unwrap();
        assert!(got == data);
    }

    #[test]
    fn who_sleeps_is_rung_once() {
        let (mut ours, mut theirs) = pair(0);
        assert!(!ours.must_ring(), "nobody sleeps");
        assert_eq!(theirs.sleep(false), Ok(true));
        ours.send(b"x").unwrap();
        assert!(ours.must_ring() && !ours.must_ring());
        assert_eq!(theirs.sleep(false), Ok(false), "there is something");
        let full = vec![7; 1 << 20];
        let fit = ours.send(&full).unwrap();
        assert!(fit < 5000 && ours.send(&full) == Ok(0));
        theirs.receive(&mut Vec::new(), 1).unwrap();
        assert_eq!((ours.sleep(false), ours.sleep(true)), (Ok(true), Ok(false)), "one has room");
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let (mut ours, theirs) = pair(0);
        let [written, taken] = [WRITTEN, TAKEN].map(|word| theirs.word(1, word));
        written.store(u64::MAX, Relaxed);
        assert_eq!(ours.receive(&mut Vec::new(), 1), Err(Broken));
        written.store(2, Relaxed);
        for len in [u64::MAX, 1 << 40, 9] {
            put(theirs.ring(1), 0, len);
            assert_eq!(ours.receive(&mut Vec::new(), 1), Err(Broken));
        }
        taken.store(5, Relaxed);
        theirs.word(0, TAKEN).store(5, Relaxed);
        assert_eq!(ours.send(b"abc"), Err(Broken), "more was taken than written");
        let file = std::fs::File::from(ours.region.writable().unwrap());
        assert!(file.set_len(0).is_err(), "it cannot be cut short");
        let other = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::empty()).unwrap();
        assert!(Lane::open(other).is_err());
    }

    proptest! {
        #[test]
        fn any_words_are_bytes_or_refused(words: Vec<(usize, u64)>, sizes: Vec<u8>) {
            let (mut ours, theirs) = pair(0);
            let all = theirs.region.words();
            for (at, word) in words {
                all[at % all.len()].store(word % 2000, Relaxed);
                for size in &sizes {
                    let mut got = Vec::new();
                    if let Ok(len) = ours.receive(&mut got, (*size).into()) {
                        prop_assert_eq!(len, got.len());
                    }
                    let _ = (ours.send(&got), ours.sleep(true), ours.must_ring());
                }
            }
        }
    }
}
