//! The nodes that count dropped packets and give their buffers back.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use graph::{Frame, Names, Node, Record, Slot};

use super::ERROR_DROP;
use super::tally::{Sample, Sampler, Tally};
use crate::events::EventSender;
use crate::interface::{Counters, Interfaces};

/// `error-drop`: counts a dropped packet on its receive interface.
#[derive(Clone)]
pub struct ErrorDrop {
    counters: Arc<Counters>,
}

/// Edges of [`ErrorDrop`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The end.
    #[to("drop")]
    Drop,
    /// A feature.
    #[dynamic]
    Feature(Slot),
}

impl ErrorDrop {
    pub(super) fn new(interfaces: &Interfaces) -> Self {
        Self { counters: interfaces.counters() }
    }
}

impl Node for ErrorDrop {
    const NAME: &'static str = "error-drop";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(&ERROR_DROP);
        let drops = self.counters.drops.row(frame.thread());
        frame.each(|p| {
            let rx = p.rx();
            p.trace(|_| Received(rx));
            if let Some(counter) = drops.get(rx as usize) {
                counter.add(1);
            }
            Ok(arc.first(rx).map_or(Next::Drop, Next::Feature))
        });
    }
}

pub(super) struct Received(pub(super) u32);

impl Record for Received {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  rx:{}", names.name("interface", self.0))
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

/// `drop`: the end. A packet without a reason was discarded by a route, on purpose.
#[derive(Clone)]
pub struct Drop {
    pub(super) tally: Tally,
    sampler: Sampler,
    samples: EventSender<Sample>,
}

impl Drop {
    pub(super) fn new(samples: EventSender<Sample>) -> Self {
        Self { tally: Tally::default(), sampler: Sampler::default(), samples }
    }
}

impl Node for Drop {
    const NAME: &'static str = "drop";
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (mut without_reason, now) = (0, frame.now());
        let Self { tally, sampler, samples } = self;
        frame.consume(|p| {
            let error = graph::Buffer::error(p);
            tally.count(error, p.rx());
            if sampler.wants(error, now) {
                // Where many reasons have one at a time, those that find no room are left out.
                samples.send(Sample::of(p, now));
            }
            without_reason += u64::from(error == 0);
            p.trace(|_| Reason(error));
            Ok(())
        });
        frame.count_dropped(frame.len() as u64);
        frame.count_global(0, without_reason);
    }
}

pub(super) struct Reason(pub(super) u32);

impl Record for Reason {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", names.name("error", self.0))
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
