//! `pgN-tx`: the end of packets sent on a generator's interface, and where they are captured.

use std::convert::Infallible;
use std::sync::Arc;

use graph::{Frame, Node};

use super::capture::Capture;
use crate::snapshot::Sent;

/// Counts what is sent and gives the buffers back.
#[derive(Clone)]
pub struct PgTx {
    /// What sees the packets before they go.
    pub capture: Option<Arc<Capture>>,
    is_ethernet: bool,
}

/// Counters of [`PgTx`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Packets not captured: the file cannot be written.
    NotCaptured,
}

impl PgTx {
    /// Of an interface that sends Ethernet frames, or IP packets.
    pub fn new(is_ethernet: bool) -> Self {
        Self { capture: None, is_ethernet }
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
}
