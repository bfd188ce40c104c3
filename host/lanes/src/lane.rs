//! A lane: two regions, a ring in each direction, and the rules for wakeups (bells).
//!
//! A ring contains *which* lines have changed, not how: the reader looks at the line. A line has at
//! most one entry in a ring, so a ring with as many entries as lines never overflows. The reader
//! marks an entry as taken before it reads the line; the writer changes the line before it checks
//! whether the last entry was taken. With a full fence between the two steps on each side, no
//! change is missed.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{Ordering::SeqCst, fence};

use super::Broken;
use super::region::{ASLEEP, Access, CHUNKS, LINES, Region, TAKEN, WRITTEN, Word};

/// State bits of a line. D and A tell which side sets them: router and program.
pub mod state {
    /// D: the session was accepted by a listener.
    pub const ACCEPTED: u16 = 1;
    /// D: the requested session is connected.
    pub const CONNECTED: u16 = 1 << 1;
    /// D: the line is for the datagrams of a listener.
    pub const DATAGRAMS: u16 = 1 << 2;
    /// D: the session has ended or failed, with an error.
    pub const DEAD: u16 = 1 << 3;
    /// D: the peer has finished sending.
    pub const FINISHED: u16 = 1 << 4;
    /// Both: the side has more to write than fits.
    pub const WANTS_ROOM: u16 = 1 << 5;
    /// A: the program has finished writing.
    pub const SHUT: u16 = 1 << 6;
    /// A: the program has closed the session; written data is still to be sent.
    pub const CLOSE: u16 = 1 << 7;
    /// A: the program resets the session.
    pub const RESET: u16 = 1 << 8;
}

/// The fields of [`Word::State`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Uses of the line.
    pub generation: u32,
    /// Error number (errno).
    pub error: u16,
    /// [`state`].
    pub bits: u16,
}

impl State {
    /// Unpacks a word.
    pub fn of(word: u64) -> Self {
        Self { generation: (word >> 32) as u32, error: (word >> 16) as u16, bits: word as u16 }
    }
    /// Packs the fields into a word.
    pub fn word(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.error) << 16 | u64::from(self.bits)
    }
    /// Whether any of these bits is set.
    pub fn has(self, bits: u16) -> bool {
        self.bits & bits != 0
    }
}

/// One side's end of a lane.
#[derive(Debug)]
pub struct Lane {
    /// The region written by this side.
    pub own: Region,
    /// The region written by the other side.
    pub other: Region,
    /// First chunk of the own region that was never used.
    fresh: u32,
    free: Vec<u32>,
    written: u64,
    taken: u64,
    /// By line: number of ring entries up to the last one for the line.
    posted: Vec<u64>,
    /// Number of taken entries of the own ring, as last read.
    seen: u64,
    naps: u64,
    /// The sleep for which the other side's bell was last rung.
    rung: u64,
}

impl Lane {
    fn of(own: Region, other: Region) -> Self {
        let lane = Self {
            own,
            other,
            fresh: 0,
            free: Vec::new(),
            written: 0,
            taken: 0,
            posted: vec![0; LINES as usize],
            seen: 0,
            naps: 1,
            rung: 0,
        };
        lane.own.store(ASLEEP, 1);
        lane
    }
    /// Creates the router's end, and returns the files of D and A for the program.
    ///
    /// # Errors
    /// The kernel's.
    pub fn create() -> io::Result<(Self, [OwnedFd; 2])> {
        let (d, d_file) = Region::new("session-d", Access::Own)?;
        let (a, a_file) = Region::new("session-a", Access::Other)?;
        Ok((Self::of(d, a), [d_file, a_file]))
    }
    /// Opens the program's end.
    ///
    /// # Errors
    /// The kernel's; `InvalidData` if the files are not regions of a lane.
    pub fn open(d: impl AsFd, a: impl AsFd) -> io::Result<Self> {
        Ok(Self::of(Region::open(a, Access::Own)?, Region::open(d, Access::Other)?))
    }

    /// Announces a change of a line.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn post(&mut self, line: u32) -> Result<(), Broken> {
        fence(SeqCst);
        let seen = self.other.load(TAKEN);
        if seen < self.seen || seen > self.written {
            return Err(Broken);
        }
        self.seen = seen;
        let posted = &mut self.posted[line as usize];
        if *posted > seen {
            return Ok(());
        }
        if self.written - seen >= u64::from(LINES) {
            // Each line has at most one entry.
            return Err(Broken);
        }
        self.own.store(Region::entry(self.written), u64::from(line));
        self.written += 1;
        *posted = self.written;
        self.own.store(WRITTEN, self.written);
        Ok(())
    }
    /// The next line that has changed.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn take(&mut self) -> Result<Option<u32>, Broken> {
        let waiting = self.other.load(WRITTEN).checked_sub(self.taken).ok_or(Broken)?;
        if waiting == 0 {
            return Ok(None);
        }
        let line = self.other.load(Region::entry(self.taken));
        if waiting > u64::from(LINES) || line >= u64::from(LINES) {
            return Err(Broken);
        }
        self.taken += 1;
        self.own.store(TAKEN, self.taken);
        fence(SeqCst);
        Ok(Some(line as u32))
    }

    /// Announces that this side waits for its bell; false if there is something to do already.
    pub fn sleep(&mut self) -> bool {
        self.naps = (self.naps + 1) | 1;
        self.own.store(ASLEEP, self.naps);
        fence(SeqCst);
        let is_empty = self.other.load(WRITTEN) == self.taken;
        if !is_empty {
            self.wake();
        }
        is_empty
    }
    /// Announces that this side is awake.
    pub fn wake(&mut self) {
        self.naps = (self.naps + 1) & !1;
        self.own.store(ASLEEP, self.naps);
    }
    /// Whether the other side waits for its bell and has not been rung yet. Call it after posting.
    pub fn must_ring(&mut self) -> bool {
        fence(SeqCst);
        let nap = self.other.load(ASLEEP);
        let must = nap % 2 == 1 && nap != self.rung;
        if must {
            self.rung = nap;
        }
        must
    }

    /// The other side's state of a line.
    pub fn state(&self, line: u32) -> State {
        State::of(self.other.get(line, Word::State))
    }
    /// Sets this side's state of a line.
    pub fn set_state(&self, line: u32, state: State) {
        self.own.set(line, Word::State, state.word());
    }
    /// Allocates a chunk of the own region.
    pub(crate) fn take_chunk(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let fresh = self.fresh;
            self.fresh = (fresh + 1).min(CHUNKS);
            (fresh < CHUNKS).then_some(fresh)
        })
    }
    /// Frees a chunk.
    pub(crate) fn put_chunk(&mut self, chunk: u32) {
        self.free.push(chunk);
    }
    /// Number of chunks in use.
    pub fn used(&self) -> usize {
        self.fresh as usize - self.free.len()
    }
}
