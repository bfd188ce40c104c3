//! The nodes that packets for control end in: `error-punt` and `punt`.

use std::convert::Infallible;
use std::sync::Arc;

use graph::{Frame, Node};

use super::nodes::{Reason, Received};
use crate::interface::{Counters, Interfaces};

/// `error-punt`: counts a packet for control on its receive interface.
#[derive(Clone)]
pub struct ErrorPunt {
    counters: Arc<Counters>,
}

/// Edges of [`ErrorPunt`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The end.
    #[to("punt")]
    Punt,
}

impl ErrorPunt {
    pub(super) fn new(interfaces: &Interfaces) -> Self {
        Self { counters: interfaces.counters() }
    }
}

impl Node for ErrorPunt {
    const NAME: &'static str = "error-punt";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let punts = self.counters.punt.row(frame.thread());
        frame.each(|p| {
            let rx = p.rx();
            p.trace(|_| Received(rx));
            if let Some(counter) = punts.get(rx as usize) {
                counter.add(1);
            }
            Ok(Next::Punt)
        });
    }
}

/// `punt`: the end of packets without a handler in control.
#[derive(Clone)]
pub struct Punt;

impl Node for Punt {
    const NAME: &'static str = "punt";
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|p| {
            let error = graph::Buffer::error(p);
            if error != 0 {
                p.trace(|_| Reason(error));
            }
            Ok(())
        });
        frame.count_punted(frame.len() as u64);
    }
}
