//! The two halves of a longest-prefix match: what data-plane threads look up in, and what changes
//! it.

use std::fmt;
use std::io;

use infra::cpu::{Baseline, Cpu};
use infra::rcu::Epoch;

/// The reading half. A clone reads the same table.
pub trait Finder: Clone + fmt::Debug + Send + Sync + 'static {
    /// An address as a number.
    type Bits: Copy;
    /// Puts the leaf of the longest prefix that covers each key into `leaves`, which are as many:
    /// all at once, so that memory is waited for only once for all of them.
    fn find<On: Cpu>(&self, cpu: On, keys: &[Self::Bits], leaves: &mut [u32], epoch: Epoch<'_>);
    /// The leaf of the longest prefix that covers `key`.
    fn lookup(&self, key: Self::Bits, epoch: Epoch<'_>) -> u32 {
        let mut leaf = [0];
        self.find(Baseline::everywhere(), &[key], &mut leaf, epoch);
        leaf[0]
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

impl From<infra::table::spans::Full> for Full {
    fn from(_: infra::table::spans::Full) -> Self {
        Self
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table is full")
    }
}
