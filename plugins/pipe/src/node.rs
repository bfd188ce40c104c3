//! `pipeN.M-tx` and `pipe-rx`: what one end sends the other one receives.

use std::sync::OnceLock;

use net::interface::{Counters, DEVICE_INPUT};
use net::prelude::*;

/// Gives packets to the other end.
#[derive(Clone)]
pub struct Transmit {
    /// The other end, known as soon as it is made; never, of the pipe itself.
    to: Arc<OnceLock<InterfaceIndex>>,
}

/// Edges of [`Transmit`].
#[derive(Clone, Copy, graph::Next)]
pub enum Sent {
    /// To the other end.
    #[to("pipe-rx")]
    Receive,
}

/// Drops of [`Transmit`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Unsent {
    /// pipe has ends that carry packets, itself it carries none.
    #[name("no end of a pipe")]
    NoEnd,
}

impl Transmit {
    pub(super) fn new(to: Arc<OnceLock<InterfaceIndex>>) -> Self {
        Self { to }
    }
}

impl Node for Transmit {
    const NAME: &'static str = "pipe-tx";
    const EXPLAINABLE: bool = true;
    type Next = Sent;
    type Error = Unsent;
    type Count = Infallible;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (to, mut sent) = (self.to.get().map(|to| to.0), 0);
        frame.each(
            #[inline(always)]
            |p| {
                drivers::loopback::turn_around(p, to.ok_or(Unsent::NoEnd)?);
                sent += 1;
                Ok(Sent::Receive)
            },
        );
        frame.count_out(sent);
    }
}

/// Receives packets at the other end, as a device does.
#[derive(Clone)]
pub struct Receive {
    pub(super) counters: Arc<Counters>,
}

/// Edges of [`Receive`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// As all frames.
    #[to("ethernet-input")]
    Ethernet,
    /// A feature.
    #[dynamic]
    Feature(Slot),
}

impl Node for Receive {
    const NAME: &'static str = "pipe-rx";
    const STARTS_TRACES: bool = true;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, arc) = (frame.epoch(), frame.start(&DEVICE_INPUT));
        let received = self.counters.rx.row(frame.thread());
        frame.each(
            #[inline(always)]
            |p| {
                p.start_trace(epoch);
                let rx = p.rx();
                if let Some(counter) = received.get(rx as usize) {
                    counter.add(1, p.total_len() as u64);
                }
                p.trace(|_| Received(rx));
                let first = if arc.is_used() { arc.first(rx) } else { None };
                Ok(first.map_or(Next::Ethernet, Next::Feature))
            },
        );
    }
}

struct Received(u32);

impl Record for Received {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", names.name("interface", self.0))
    }
}
