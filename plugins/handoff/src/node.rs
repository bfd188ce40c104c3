//! `worker-handoff`.

use graph::{Congestion, Cpu};
use net::fib::{FlowHash, flow_of, next};
use net::interface::Tagged;
use net::prelude::*;

use super::Handoff;

pub const NAME: &str = "worker-handoff";

/// Hands packets to workers by flow.
#[derive(Clone)]
pub struct HandOff {
    pub handoffs: SlabReader<Handoff>,
}

impl Handoff {
    /// Hash of the flow of a frame: by IP, or else by its MAC addresses.
    #[inline(always)]
    pub fn hash(&self, frame: &[u8]) -> u32 {
        let ports = if self.has_ports {
            FlowHash::SPORT.0 | FlowHash::DPORT.0 | FlowHash::PROTO.0
        } else {
            0
        };
        let order = if self.is_symmetric { FlowHash::SYMMETRIC.0 } else { 0 };
        let what = FlowHash(FlowHash::SRC.0 | FlowHash::DST.0 | ports | order);
        let Some(tagged) = Tagged::read(frame) else { return 0 };
        if matches!(tagged.ethertype, EtherType::IP4 | EtherType::IP6) {
            return flow_of(frame.get(tagged.header_len()..).unwrap_or_default(), what);
        }
        let word = |at: usize| {
            let bytes = frame.get(at..at + 6).unwrap_or(&[0; 6]);
            bytes.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte))
        };
        let (dst, src) = (word(0), word(6));
        let (first, second) =
            if self.is_symmetric { (dst.min(src), dst.max(src)) } else { (dst, src) };
        let fold = |n: u64| (n >> 24) as u32 ^ n as u32;
        next(next(fold(first)) ^ fold(second))
    }
}

impl Node for HandOff {
    const NAME: &'static str = NAME;
    type Next = Continue;
    type Error = Congestion;
    type Count = std::convert::Infallible;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        frame.hand_off(
            Congestion::Drop,
            #[inline(always)]
            |p| {
                let handoff = self.handoffs.read(p.rx(), epoch);
                let Some(handoff) = handoff.filter(|handoff| !handoff.workers.is_empty()) else {
                    return Ok((thread, Continue));
                };
                let hash = handoff.hash(p.bytes());
                let at = (u64::from(hash) * handoff.workers.len() as u64) >> 32;
                let worker = handoff.workers[at as usize];
                p.trace(|_| Handed { worker });
                Ok((worker as usize + 1, Continue))
            },
        );
    }
}

/// The trace record.
struct Handed {
    worker: u32,
}

impl Record for Handed {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  worker {}", self.worker)
    }
}
