//! `syn-filter-4`: a bucket of tokens for each source, by a secret hash.
//!
//! A thread has buckets of its own. Sources that share a bucket share its tokens: what a flood from
//! many sources costs others is bounded, and so is the table.

use std::hash::{BuildHasher, RandomState};

use net::prelude::*;
use wire::tcp::Flags;

pub(super) const NAME: &str = "syn-filter-4";

/// Connections that a source may begin at once.
pub const BURST: f64 = 16.0;
/// Connections that it may begin a second.
pub const RATE: f64 = 16.0;
/// Buckets of a thread.
const BUCKETS: usize = 1 << 13;
/// Offset of the flags in a header of TCP.
const FLAGS: usize = 13;

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    /// Time of the last look, in seconds on the router's clock.
    at: f64,
}

impl Bucket {
    fn take(&mut self, now: f64) -> bool {
        self.tokens = (self.tokens + (now - self.at).max(0.0) * RATE).min(BURST);
        self.at = now;
        let has_one = self.tokens >= 1.0;
        if has_one {
            self.tokens -= 1.0;
        }
        has_one
    }
}

/// Limits connections of TCP.
#[derive(Clone)]
pub struct Filter {
    buckets: Vec<Bucket>,
    seed: u64,
}

impl Filter {
    pub fn new() -> Self {
        let buckets = vec![Bucket { tokens: BURST, at: 0.0 }; BUCKETS];
        Self { buckets, seed: RandomState::new().hash_one(0) }
    }
    fn bucket(&mut self, src: [u8; 4]) -> Option<&mut Bucket> {
        let mixed = (u64::from(u32::from_be_bytes(src)) ^ self.seed) | 1 << 63;
        let product = u128::from(mixed) * u128::from(self.seed | 1);
        self.buckets.get_mut((product as u64 ^ (product >> 64) as u64) as usize % BUCKETS)
    }
}

/// Counters of [`Filter`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// ok.
    #[name("ok")]
    Ok,
}

/// Drops of [`Filter`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// throttled.
    #[name("throttled")]
    Throttled,
}

/// Whether a packet begins a connection.
#[inline(always)]
fn begins(header: &ip4::Header, packet: &[u8]) -> bool {
    let flags = || packet.get(header.header_len() + FLAGS).map_or(Flags(0), |flags| Flags(*flags));
    header.protocol == Protocol::TCP
        && header.fragment_offset() == 0
        && flags().0 & (Flags::SYN.0 | Flags::ACK.0) == Flags::SYN.0
}

impl Node for Filter {
    const NAME: &'static str = NAME;
    type Next = Continue;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let now = frame.now();
        let mut ok = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let header = p.header::<ip4::Header>();
                let source = header.filter(|h| begins(h, p.bytes())).map(|h| h.src);
                let passes = match source {
                    Some(source) => self.bucket(source).is_none_or(|bucket| bucket.take(now)),
                    None => true,
                };
                p.trace(|_| Judged { is_syn: source.is_some(), passes });
                if !passes {
                    return Err(Error::Throttled);
                }
                ok += 1;
                Ok(Continue)
            },
        );
        frame.count(Count::Ok, ok);
    }
}

/// The trace record of the node.
struct Judged {
    is_syn: bool,
    passes: bool,
}

impl Record for Judged {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_syn, self.passes) {
            (false, _) => "  begins no connection",
            (_, true) => "  begins a connection",
            _ => "  throttled",
        })
    }
}
