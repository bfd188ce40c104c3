//! `pgN-tx`: the end of packets sent on a generator's interface, and where they are captured.

use std::convert::Infallible;
use std::sync::Arc;

use crate::gro::{Coalescer, Shape};
use graph::{Flags, Frame, Node, Packet};

use super::capture::Capture;
use crate::snapshot::Sent;

/// Counts what is sent and gives the buffers back.
#[derive(Clone)]
pub struct PgTx {
    /// Capture of the packets before they go.
    pub capture: Option<Arc<Capture>>,
    /// Coalescer in front of it.
    pub coalescer: Coalescer,
}

/// Counters of [`PgTx`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Packets not captured: the file cannot be written.
    NotCaptured,
    /// gso disabled on itf  -- gso packet .
    #[name("gso_packet_drop")]
    #[severity("error")]
    Whole,
}

impl PgTx {
    /// Of an interface whose packets look like this, and are joined or not.
    pub fn new(shape: Shape, coalesces: bool) -> Self {
        Self { capture: None, coalescer: Coalescer::for_tests(shape, coalesces) }
    }
    /// Enables or disables coalescing of packets.
    pub fn coalesce(&mut self, frame: &mut Frame<'_, Self>, on: bool) {
        self.coalescer.switch(on);
        if self.coalescer.is_on() {
            self.send_joined(frame);
        }
    }
    #[cold]
    #[inline(never)]
    fn send_joined<On>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, shape) = (frame.now(), self.coalescer.shape());
        let mut file = self.capture.as_ref().map(|capture| capture.lock());
        let (mut sent, mut whole) = (0, 0);
        self.coalescer.run(frame, |p| {
            look(p, shape, &mut whole);
            if let Some(file) = &mut file {
                file.add(p, now);
            }
            sent += 1;
            Ok(())
        });
        let lost = file.map_or(0, |mut file| file.write_out());
        frame.count(Count::NotCaptured, lost);
        frame.count(Count::Whole, whole);
        frame.count_out(sent);
    }
}

/// Traces a packet, and counts one that the interface should have got in segments.
#[inline(always)]
fn look(p: &mut Packet<'_, PgTx>, shape: Shape, whole: &mut u64) {
    if p.flags().has(Flags::TRACED.with(Flags::GSO)) {
        *whole += u64::from(p.flags().has(Flags::GSO) && !shape.is_gso);
        p.trace(|p| Sent::of(p, shape.is_ethernet));
    }
}

impl Node for PgTx {
    const NAME: &'static str = "pg-tx";
    const HOT: bool = true;
    type Next = Infallible;
    type Error = Infallible;
    type Count = Count;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        if self.coalescer.is_on() {
            return self.send_joined(frame);
        }
        frame.count_out(frame.len() as u64);
        let (shape, mut whole) = (self.coalescer.shape(), 0);
        let Some(capture) = &self.capture else {
            frame.consume(|p| {
                look(p, shape, &mut whole);
                Ok(())
            });
            return frame.count(Count::Whole, whole);
        };
        let now = frame.now();
        let mut file = capture.lock();
        frame.consume(|p| {
            look(p, shape, &mut whole);
            file.add(p, now);
            Ok(())
        });
        let lost = file.write_out();
        frame.count(Count::NotCaptured, lost);
        frame.count(Count::Whole, whole);
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.coalesce(frame, false);
    }
}
