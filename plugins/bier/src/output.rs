//! `bier-output`: the label that names the table at the next router.

use net::fib::{Forwarding4, Popped, Via};
use net::prelude::*;
use wire::mpls::Entry;

use super::table::Output as Fmask;

/// Drops of [`Output`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no error.
    #[name("no error")]
    None,
    /// fmask unresolved.
    #[name("fmask unresolved")]
    Unresolved,
}

/// The edge of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// As any packet with a label.
    #[to("mpls-load-balance")]
    LoadBalance,
}

/// Puts the label on.
#[derive(Clone)]
pub(super) struct Output {
    pub fmasks: SlabReader<Fmask>,
    pub balances: Forwarding4,
}

impl Node for Output {
    const NAME: &'static str = "bier-output";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "bier-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let index = p.adjacency();
            let fmask = self.fmasks.read(index, epoch).ok_or(Error::Unresolved)?;
            if self.balances.load_balance(fmask.balance, epoch).single() == Some(Via::Drop) {
                return Err(Error::Unresolved);
            }
            let popped = Popped::of(p).ok_or(Error::None)?;
            let exp = fmask.exp.unwrap_or(popped.exp);
            let entry = Entry::new(fmask.label, exp, true, popped.ttl);
            p.prepend_header(&entry).ok_or(Error::None)?;
            p.clear_flags(Flags::POPPED);
            p.set_adjacency(fmask.balance);
            p.trace(|_| Sent { index, entry });
            Ok(Next::LoadBalance)
        });
    }
}

struct Sent {
    index: u32,
    entry: Entry,
}

impl Record for Sent {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, ttl) = (self.entry.label(), self.entry.ttl());
        write!(f, "  fmask {} label {label} ttl {ttl}", self.index)
    }
}
