//! The two halves of a longest-prefix match: what data-plane threads look up in, and what changes
//! it.

use std::fmt;
use std::io;

use graph::BLOCK;
use infra::cpu::{Baseline, Cpu};
use infra::rcu::Epoch;
pub use infra::table::Full;

/// The reading half. A clone reads the same table.
pub trait LpmReader: Clone + fmt::Debug + Send + Sync + 'static {
    /// An address as a number.
    type Bits: Copy;
    /// Asks for what [`LpmReader::start`] reads first, where that may be far away.
    fn fetch(&self, _: &[Self::Bits]) {}
    /// Progress of a key after [`LpmReader::start`].
    type Step<'e>: Copy + Default
    where
        Self: 'e;
    /// The first step of finding leaves, for at most [`BLOCK`] keys: what it puts into `steps` is
    /// for [`LpmReader::finish`] in the same epoch. Asks for what that reads first, so other things
    /// are best done in between.
    fn start<'e, On: Cpu>(
        &'e self,
        cpu: On,
        keys: &[Self::Bits],
        steps: &mut [Self::Step<'e>; BLOCK],
        epoch: Epoch<'e>,
    );
    /// Puts the leaf of the longest prefix that covers each key into `leaves`: all at once, so that
    /// memory is waited for only once for all of them.
    fn finish<On: Cpu>(
        &self,
        cpu: On,
        keys: &[Self::Bits],
        steps: &[Self::Step<'_>; BLOCK],
        leaves: &mut [u32; BLOCK],
        epoch: Epoch<'_>,
    );
    /// The leaf of the longest prefix that covers `key`.
    fn lookup(&self, key: Self::Bits, epoch: Epoch<'_>) -> u32 {
        let (cpu, mut steps, mut leaves) =
            (Baseline::everywhere(), [Self::Step::default(); BLOCK], [0; BLOCK]);
        self.start(cpu, &[key], &mut steps, epoch);
        self.finish(cpu, &[key], &steps, &mut leaves, epoch);
        leaves[0]
    }
}

/// The writing half.
pub trait LpmWriter: Sized {
    /// An address as a number.
    type Bits: Copy;
    /// The reading end of the table.
    type LpmReader;
    /// Most prefixes that there may be.
    const MAX_PREFIXES: usize;
    /// An empty table, all of whose keys have leaf 0.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    fn new() -> io::Result<Self>;
    /// The half for readers; to be handed out again after [`LpmWriter::grow`].
    fn reader(&self) -> Self::LpmReader;
    /// Asks for what a change of prefixes of `key` reads first, where that may be far away.
    fn fetch(&self, _: Self::Bits) {}
    /// Sets the leaf of a prefix, not 0. A prefix that already exists needs no room.
    ///
    /// # Errors
    /// [`Full`], and nothing has changed.
    fn insert(&mut self, key: Self::Bits, len: u8, leaf: u32) -> Result<(), Full>;
    /// Takes a prefix out; `cover` is the length and leaf of the longest other prefix around it.
    fn remove(&mut self, key: Self::Bits, len: u8, cover: Option<(u8, u32)>);
    /// Whether a shape for larger tables would serve better.
    fn is_outgrown(&self) -> bool {
        false
    }
    /// Takes the larger shape, filled with `all` prefixes and their leaves.
    ///
    /// # Errors
    /// [`Full`] when there is no larger shape or no room for it, and nothing has changed.
    fn grow(&mut self, all: impl Iterator<Item = (Self::Bits, u8, u32)>) -> Result<(), Full> {
        let _ = all;
        Err(Full)
    }
    /// Bytes of memory in use.
    fn memory(&self) -> usize;
    /// Its shape in words, for the operator.
    fn shape(&self) -> String;
}
