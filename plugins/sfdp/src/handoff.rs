//! `sfdp-handoff`: packets go on at the thread that has their session.

use net::prelude::*;

use super::packet::{PLACE, leave};

/// Node.
pub const HANDOFF: &str = "sfdp-handoff";

/// Edges to the nodes that look packets up, by kind of session.
pub type Lookups = [u32; 3];

/// Hands packets over.
#[derive(Clone)]
pub struct HandOff {
    lookups: Reader<Lookups>,
}

/// Edges of [`HandOff`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The node that looks it up, on that thread.
    #[dynamic]
    To(Slot),
}

/// Drops of [`HandOff`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// handoff queue full.
    #[name("sess_drop")]
    Full,
}

impl Node for HandOff {
    const NAME: &'static str = HANDOFF;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let lookups = *self.lookups.read(frame.epoch());
        frame.hand_off(Error::Full, |p| {
            let passing = p.metadata(&PLACE).ok_or(Error::Full)?;
            let to = passing.handed().ok_or(Error::Full).inspect_err(|_| leave(p))?;
            let kind = usize::from(passing.found().kind).min(2);
            Ok((to, Next::To(Slot(lookups[kind]))))
        });
    }
}

/// Adds the node.
pub(super) fn add(router: &mut Router, lookups: Reader<Lookups>) -> Result<(), BuildError> {
    router.engine.add(HandOff { lookups })?;
    Ok(())
}
