//! The two halves of a longest-prefix match: what data-plane threads look up in, and what changes
//! it.

use std::fmt;
use std::io;

use infra::rcu::Epoch;

/// The reading half. A clone reads the same table.
///
/// A lookup is two steps, between which other packets' lookups run: the first starts to fetch what
/// the second reads.
pub trait Finder: Clone + fmt::Debug + Send + Sync + 'static {
    /// An address as a number.
    type Bits: Copy;
    /// What the first step found.
    type Hint: Copy + Default;
    /// The first step.
    fn start(&self, key: Self::Bits, epoch: Epoch<'_>) -> Self::Hint;
    /// The leaf of the longest prefix that covers `key`.
    fn finish(&self, key: Self::Bits, hint: Self::Hint, epoch: Epoch<'_>) -> u32;
    /// Both steps.
    #[inline(always)]
    fn lookup(&self, key: Self::Bits, epoch: Epoch<'_>) -> u32 {
        self.finish(key, self.start(key, epoch), epoch)
    }
}

/// The writing half.
pub trait Keeper: Sized {
    /// An address as a number.
    type Bits: Copy;
    /// What readers get.
    type Finder;
    /// Most prefixes that there may be.
    const MAX_PREFIXES: usize;
    /// An empty table, all of whose keys have leaf 0.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    fn new() -> io::Result<Self>;
    /// The half for readers; to be handed out anew after [`Keeper::grow`].
    fn finder(&self) -> Self::Finder;
    /// Sets the leaf of a prefix, not 0. A prefix that is there already needs no room.
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
}

/// The table has used up its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table is full")
    }
}
