//! `bier-input`: packets whose label led to a table; `bier-bift-input`: those over UDP, which name
//! it themselves; `bier-drop`: what ends.

use net::fib::Popped;
use net::prelude::*;
use wire::bier;
use wire::mpls::Entry;

use super::table::Bift;

/// Drops of [`Input`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no error.
    #[name("no error")]
    None,
    /// invalid header, or no hop left.
    #[name("invalid header")]
    Invalid,
    /// table not found.
    #[name("table not found")]
    NoTable,
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// BIER input packets.
    #[name("BIER input packets")]
    Packets,
}

/// The edge of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To the table.
    #[to("bier-lookup")]
    Lookup,
}

/// Checks headers; those that are behind a word that names the table (`NAMED`), or where a label
/// led to it.
#[derive(Clone)]
pub(super) struct Input<const NAMED: bool> {
    pub bifts: SlabReader<Bift>,
    pub numbers: Reader<HashMap<u32, u32>>,
}

impl<const NAMED: bool> Input<NAMED> {
    /// The table of a packet, and what was in the word in front.
    fn open(
        &self,
        p: &mut Packet<'_, Self>,
        numbers: &HashMap<u32, u32>,
    ) -> Result<(u32, Popped), Error> {
        if !NAMED {
            return Ok((p.adjacency(), Popped::of(p).ok_or(Error::Invalid)?));
        }
        let word = *p.header::<Entry>().ok_or(Error::Invalid)?;
        p.advance(size_of::<Entry>()).ok_or(Error::Invalid)?;
        let (ttl, exp) = (word.ttl(), word.exp());
        let index = *numbers.get(&word.label()).ok_or(Error::NoTable)?;
        Ok((index, Popped { ttl, exp, is_last: 1, ..Popped::default() }))
    }
    fn check(
        &self,
        p: &mut Packet<'_, Self>,
        numbers: &HashMap<u32, u32>,
        epoch: Epoch<'_>,
    ) -> Result<u32, Error> {
        let (index, popped) = self.open(p, numbers)?;
        let table = self.bifts.read(index, epoch).ok_or(Error::NoTable)?;
        let (header, _, _) = bier::parse(p.bytes()).ok_or(Error::Invalid)?;
        let ttl = popped.ttl.checked_sub(1).filter(|left| *left > 0);
        let ttl = ttl.filter(|_| header.length() == table.length).ok_or(Error::Invalid)?;
        p.set_adjacency(index);
        p.set_payload(Popped { ttl, ..popped });
        p.add_flags(Flags::POPPED);
        p.clear_flags(Flags::L3.with(Flags::L4));
        Ok(index)
    }
}

impl<const NAMED: bool> Node for Input<NAMED> {
    const NAME: &'static str = if NAMED { "bier-bift-input" } else { "bier-input" };
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "bier-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let numbers = self.numbers.read(epoch);
        let mut count = 0;
        frame.each(|p| {
            count += 1;
            let index = self.check(p, numbers, epoch)?;
            p.trace(|p| Shown { index, header: bier::parse(p.bytes()).map(|h| h.0) });
            Ok(Next::Lookup)
        });
        frame.count(Count::Packets, count);
    }
}

struct Shown {
    index: u32,
    header: Option<bier::Header>,
}

impl Record for Shown {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  bier-table {}", self.index)?;
        let Some(h) = self.header else { return Ok(()) };
        let (source, payload) = (h.source.get(), h.payload().0);
        write!(f, " length {} entropy {} src {source} proto {payload}", h.length(), h.entropy())
    }
}

/// Ends dropped packets.
#[derive(Clone)]
pub(super) struct Drop;

/// The edge of [`Drop`].
#[derive(Clone, Copy, graph::Next)]
pub(super) enum Ends {
    /// Nowhere.
    #[to("error-drop")]
    Drop,
}

impl Node for Drop {
    const NAME: &'static str = "bier-drop";
    const EXPLAINABLE: bool = true;
    type Next = Ends;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Ok(Ends::Drop));
    }
}
