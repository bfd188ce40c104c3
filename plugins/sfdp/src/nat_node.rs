//! `sfdp-nat-early-rewrite`, `sfdp-nat-late-rewrite` and `sfdp-nat-output`: packets of a translated
//! session get the ends that they have in its other context.

use net::prelude::*;
use sessions::Look;
use translation::rewrite::rewrite;

use super::lifecycle::{Error, Next};
use super::lookup::go_on;
use super::packet::{PLACE, leave};
use super::service::sender;
use super::session::Core;

/// The nodes: before other services, and behind them.
const NAMES: [&str; 2] = ["sfdp-nat-early-rewrite", "sfdp-nat-late-rewrite"];

/// Gives packets other ends.
#[derive(Clone)]
pub struct Rewrite<const LATE: usize>(Core);

impl<const LATE: usize> Node for Rewrite<LATE> {
    const NAME: &'static str = NAMES[LATE];
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let core = &self.0;
        let edges = core.edges.read(epoch);
        let tables = core.tables(thread);
        frame.each(|p| {
            let mut passing = p.metadata(&PLACE).ok_or(Error::Drop)?;
            let found = passing.found();
            if let Some((flow, fib)) = tables.translation(&found) {
                let seen = <[u8; 4]>::look(p.bytes(), p.ports(), 0);
                let done = seen.and_then(|seen| rewrite(p, 0, &seen, &flow, found.direction));
                done.ok_or(Error::Drop).inspect_err(|_| leave(p))?;
                p.set_fib(fib);
            }
            let from = const { sender(NAMES[LATE]) };
            Ok(Next::To(go_on(p, core, (edges, from, thread), &mut passing)))
        });
    }
}

/// Routes packets in the table of their session's other context.
#[derive(Clone)]
pub struct Output(Core);

/// The edge of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Out {
    /// Forwarded.
    #[to("ip4-lookup")]
    Lookup,
}

impl Node for Output {
    const NAME: &'static str = "sfdp-nat-output";
    type Next = Out;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let tables = self.0.tables(frame.thread());
        frame.each(|p| {
            let passing = p.metadata(&PLACE).ok_or(Error::Drop)?;
            leave(p);
            // What is not translated has no place outside.
            let (_, fib) = tables.translation(&passing.found()).ok_or(Error::Drop)?;
            p.set_fib(fib);
            Ok(Out::Lookup)
        });
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, core: &Core) -> Result<(), BuildError> {
    router.engine.add(Rewrite::<0>(core.clone()))?;
    router.engine.add(Rewrite::<1>(core.clone()))?;
    router.engine.add(Output(core.clone()))?;
    Ok(())
}
