//! `soft-rss`.

use graph::Cpu;
use net::interface::Tagged;
use net::prelude::*;
use wire::flow::{ip4_flow_key, ip6_flow_key};

use super::{Fields, Ready, SoftRss};

pub const NAME: &str = "soft-rss";

/// Hands packets to threads by the hash of their flow.
#[derive(Clone)]
pub struct Spread {
    pub settings: SlabReader<SoftRss>,
}

/// Drops.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Handoff queue full.
    #[name("handoff_queue_full")]
    Full,
}

/// Counters.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Not enabled on the interface.
    #[name("not_enabled")]
    NotEnabled,
}

impl Ready {
    /// Hash of the flow of a frame; `None` for one that stays where it is.
    #[inline(always)]
    pub fn hash(&self, frame: &[u8]) -> Option<u32> {
        let frame = frame.get(self.plan.offset..)?;
        let tagged = Tagged::read(frame)?;
        let packet = frame.get(tagged.header_len()..)?;
        let [four, six] = self.plan.fields;
        match tagged.ethertype {
            EtherType::IP4 if four != Fields::Disabled => {
                let key = ip4_flow_key(packet)?;
                self.of(four, &key.src, &key.dst, key.ports.src, key.ports.dst)
            }
            EtherType::IP6 if six != Fields::Disabled => {
                let key = ip6_flow_key(packet)?;
                self.of(six, &key.src, &key.dst, key.ports.src, key.ports.dst)
            }
            _ => None,
        }
    }
    #[inline(always)]
    fn of(&self, fields: Fields, src: &[u8], dst: &[u8], sport: u16, dport: u16) -> Option<u32> {
        let hash = |parts: &[&[u8]]| self.toeplitz.hash(parts);
        match fields {
            Fields::Disabled => None,
            Fields::Src => Some(hash(&[src])),
            Fields::Dst => Some(hash(&[dst])),
            Fields::Addresses => Some(hash(&[src, dst])),
            Fields::AddressesAndPorts => {
                Some(hash(&[src, dst, &sport.to_be_bytes(), &dport.to_be_bytes()]))
            }
        }
    }
}

impl Node for Spread {
    const NAME: &'static str = NAME;
    type Next = Continue;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        // Threads have consecutive numbers, and are chosen by remainders: their count is where they
        // wrap around.
        let first = frame.thread_of(0);
        let count = (1..).find(|n| frame.thread_of(*n) == first).unwrap_or(1);
        let mut off = 0;
        frame.hand_off(
            Error::Full,
            #[inline(always)]
            |p| {
                let setting = self.settings.read(p.rx(), epoch);
                let Some(ready) = setting.and_then(|s| s.ready.as_ref().filter(|_| s.is_on)) else {
                    off += 1;
                    return Ok((thread, Continue));
                };
                let Some(hash) = ready.hash(p.bytes()) else { return Ok((thread, Continue)) };
                let threads = &ready.plan.threads;
                let to = match threads.len() {
                    0 => first + (u64::from(hash) % count) as usize,
                    len => threads[hash as usize % len] as usize,
                };
                p.trace(|_| Hashed { hash, thread: to });
                Ok((to, Continue))
            },
        );
        frame.count(Count::NotEnabled, off);
    }
}

/// The trace record.
struct Hashed {
    hash: u32,
    thread: usize,
}

impl Record for Hashed {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  hash 0x{:08x} thread {}", self.hash, self.thread)
    }
}
