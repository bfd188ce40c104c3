//! `p2p-ethernet-input`: whose frame is it?

use net::interface::Counters;
use net::prelude::*;

use super::hosts::Hosts;

/// Gives frames to the sub-interfaces of their senders.
#[derive(Clone)]
pub struct Input {
    pub(super) hosts: Reader<Hosts>,
    pub(super) counters: Arc<Counters>,
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// P2P ethernet incoming packets processed.
    #[name("P2P ethernet incoming packets processed")]
    Processed,
}

impl Node for Input {
    const NAME: &'static str = "p2p-ethernet-input";
    const STARTS_TRACES: bool = true;
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = std::convert::Infallible;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let (hosts, mut processed) = (self.hosts.read(epoch), 0);
        frame.each(
            #[inline(always)]
            |p| {
                p.start_trace(epoch);
                let Some(header) = p.header::<ethernet::Header>() else { return Ok(Continue) };
                let (port, sender) = (p.rx(), header.src);
                let sub = hosts.find((port, sender));
                p.trace(|_| LookupTrace { port, sender, sub });
                if let Some(sub) = sub {
                    let bytes = p.total_len() as u64;
                    self.counters.rx.row(thread)[sub as usize].add(1, bytes);
                    p.set_rx(sub);
                    processed += 1;
                }
                Ok(Continue)
            },
        );
        frame.count(Count::Processed, processed);
    }
}

struct LookupTrace {
    port: u32,
    sender: MacAddr,
    sub: Option<u32>,
}

impl Record for LookupTrace {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |index| names.name("interface", index);
        write!(f, "  {} from {}: ", name(self.port), self.sender)?;
        match self.sub {
            Some(sub) => write!(f, "{}", name(sub)),
            None => write!(f, "no sub-interface"),
        }
    }
}
