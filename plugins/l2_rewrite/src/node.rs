//! `l2-rw`: rewrites bytes of bridged frames.

use classify::{Headers, Match, Moment, NONE, Table};

use net::prelude::*;

use super::{Entry, Rewritten};

/// Rewrites frames.
#[derive(Clone)]
pub struct Rewrite {
    pub(super) entries: SlabReader<Entry>,
    pub(super) interfaces: SlabReader<Rewritten>,
    pub(super) tables: SlabReader<Table>,
}

/// Drops of [`Rewrite`]: it has none.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Unknown error.
    #[name("Unknown error")]
    Unknown,
}

impl Node for Rewrite {
    const NAME: &'static str = super::NODE;
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        frame.each(
            #[inline(always)]
            |p| {
                let (interface, entry) = (p.rx(), self.entry(p, &at));
                p.trace(|_| Written { interface, entry });
                self.write(p, entry, epoch);
                Ok(Continue)
            },
        );
    }
}

impl Rewrite {
    /// The entry of a frame, or [`NONE`].
    #[inline(always)]
    fn entry(&self, p: &Buffer<'_>, at: &Moment<'_>) -> u32 {
        let Some(set) = self.interfaces.read(p.rx(), at.epoch) else { return NONE };
        let headers = Headers { l2: p.offset(), current: p.offset() };
        match classify::walk(&self.tables, set.table, at, |table| table.bytes(p, headers)) {
            Match::Hit(hit) => hit.session.opaque,
            _ => set.miss,
        }
    }
    #[inline(always)]
    fn write(&self, p: &mut Buffer<'_>, entry: u32, epoch: Epoch<'_>) {
        let Some(entry) = self.entries.read(entry, epoch) else { return };
        let Some(bytes) = p.bytes_mut().get_mut(entry.skip..) else { return };
        for (byte, (mask, value)) in bytes.iter_mut().zip(entry.mask.iter().zip(&entry.value)) {
            *byte = *byte & !mask | value & mask;
        }
    }
}

/// The trace record of the node.
struct Written {
    interface: u32,
    entry: u32,
}

impl Record for Written {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, entry } = self;
        write!(f, "  l2-rw: sw_if_index {interface} ")?;
        if *entry == NONE { f.write_str("no entry") } else { write!(f, "entry {entry}") }
    }
}
