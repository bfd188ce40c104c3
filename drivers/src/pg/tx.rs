//! `pgN-tx`: the end of packets sent on a generator's interface, and where they are captured.

use std::convert::Infallible;
use std::sync::Arc;

use graph::{Frame, Node};
use net::gro::{Coalescer, Shape};

use super::capture::Capture;
use crate::snapshot::Sent;

/// Counts what is sent and gives the buffers back.
#[derive(Clone)]
pub struct PgTx {
    /// What sees the packets before they go.
    pub capture: Option<Arc<Capture>>,
    /// What joins them before that.
    pub coalescer: Coalescer,
    is_ethernet: bool,
}

/// Counters of [`PgTx`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Packets not captured: the file cannot be written.
    NotCaptured,
}

impl PgTx {
    /// Of an interface whose packets look like this, and are joined or not.
    pub fn new(shape: Shape, coalesces: bool) -> Self {
        let coalescer = Coalescer::new(shape, coalesces);
        Self { capture: None, coalescer, is_ethernet: shape.is_ethernet }
    }
    /// Has packets joined, or no longer.
    pub fn coalesce(&mut self, frame: &mut Frame<'_, Self>, on: bool) {
        self.coalescer.switch(on);
        if self.coalescer.is_on() {
            self.send_joined(frame);
        }
    }
    #[cold]
    #[inline(never)]
    fn send_joined<On>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, is_ethernet) = (frame.now(), self.is_ethernet);
        let mut file = self.capture.as_ref().map(|capture| capture.lock());
        let mut sent = 0;
        self.coalescer.run(frame, |p| {
            p.trace(|p| Sent::of(p, is_ethernet));
            if let Some(file) = &mut file {
                file.add(p, now);
            }
            sent += 1;
            Ok(())
        });
        let lost = file.map_or(0, |mut file| file.write_out());
        frame.count(Count::NotCaptured, lost);
        frame.count_out(sent);
    }
}

impl Node for PgTx {
    const NAME: &'static str = "pg-tx";
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
        let is_ethernet = self.is_ethernet;
        let Some(capture) = &self.capture else {
            return frame.consume(|p| {
                p.trace(|p| Sent::of(p, is_ethernet));
                Ok(())
            });
        };
        let now = frame.now();
        let mut file = capture.lock();
        frame.consume(|p| {
            p.trace(|p| Sent::of(p, is_ethernet));
            file.add(p, now);
            Ok(())
        });
        let lost = file.write_out();
        frame.count(Count::NotCaptured, lost);
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.coalesce(frame, false);
    }
}
