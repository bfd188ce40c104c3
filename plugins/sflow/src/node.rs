//! `sflow`, `sflow-egress`: one of so many received or sent packets is sampled; `sflow-drop`:
//! dropped packets are reported.
//!
//! The number of packets from one sample to the next is random, even from 1 to twice the rate less
//! 1, so that what repeats itself is sampled evenly (sFlow version 5, section 3.1).

use graph::Cpu;
use infra::random::Random;
use net::prelude::*;

use super::{HEADER_BYTES, Settings};

pub(super) const RECEIVED: &str = "sflow";
pub(super) const SENT: &str = "sflow-egress";
pub(super) const DROPPED: &str = "sflow-drop";

/// Length of an Ethernet header without tags.
const ETHERNET: usize = 14;
const MOST: usize = *HEADER_BYTES.end() as usize;

/// The start of a packet.
#[derive(Clone, Copy)]
pub struct Start {
    /// Bytes of the whole packet.
    pub len: u32,
    /// Receive interface.
    pub rx: u32,
    /// The interface it leaves by.
    pub tx: u32,
    shown: u16,
    bytes: [u8; MOST],
}

impl Start {
    #[cold]
    fn of(p: &Buffer<'_>, from: &[u8], most: u32) -> Self {
        let in_front = from.len().saturating_sub(p.len());
        let shown = from.len().min(most as usize).min(MOST);
        let mut bytes = [0; MOST];
        bytes[..shown].copy_from_slice(&from[..shown]);
        let len = (p.total_len() + in_front) as u32;
        Self { len, rx: p.rx(), tx: p.tx(), shown: shown as u16, bytes }
    }
    /// First bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.shown)]
    }
}

/// A sampled packet.
#[derive(Clone, Copy)]
pub struct Sample {
    pub start: Start,
    pub is_sent: bool,
    /// One of so many.
    pub rate: u32,
}

impl Event for Sample {}

/// A dropped packet.
#[derive(Clone, Copy)]
pub struct Discard {
    pub start: Start,
    /// Number of the counter of its reason; 0 where a route discarded it.
    pub error: u32,
    /// Whether it has an Ethernet header.
    pub is_framed: bool,
}

impl Event for Discard {
    const ROOM: usize = 128;
}

/// Counters of the nodes, and of what control does with what they send.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// sflow packets processed.
    #[name("sflow packets processed")]
    Processed,
    /// sflow packets sampled.
    #[name("sflow packets sampled")]
    Sampled,
    /// sflow packets dropped: sample queue full.
    #[name("sflow packets dropped")]
    Lost,
    /// sflow PSAMPLE sent.
    #[name("sflow PSAMPLE sent")]
    Sent,
    /// sflow PSAMPLE send failed.
    #[name("sflow PSAMPLE send failed")]
    NotSent,
    /// sflow discards processed.
    #[name("sflow discards processed")]
    Discarded,
    /// sflow discards dropped: report queue full.
    #[name("sflow discards dropped")]
    DiscardLost,
    /// sflow DROPMON sent.
    #[name("sflow DROPMON sent")]
    DiscardSent,
    /// sflow DROPMON send failed.
    #[name("sflow DROPMON send failed")]
    DiscardNotSent,
}

/// Chooses packets and sends them to control.
pub struct Sampler {
    settings: Reader<Settings>,
    samples: EventSender<Sample>,
    /// Packets up to the next sample.
    left: u64,
    /// The rate that this number was drawn for.
    rate: u32,
    random: Random,
}

impl Clone for Sampler {
    /// Of another thread.
    fn clone(&self) -> Self {
        Self::new(self.settings.clone(), self.samples.clone())
    }
}

impl Sampler {
    pub fn new(settings: Reader<Settings>, samples: EventSender<Sample>) -> Self {
        Self { settings, samples, left: 0, rate: 0, random: Random::new() }
    }
    /// Draws how many packets there are up to the next sample; the rate is not 0.
    fn draw(&mut self) {
        self.left = 1 + self.random.number() % (2 * u64::from(self.rate) - 1);
    }
    /// Whether the next packet is sampled.
    #[inline(always)]
    fn takes(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.draw();
        true
    }
    #[inline(always)]
    fn run<N, On>(&mut self, frame: &mut Frame<'_, N, On>, is_sent: bool)
    where
        N: Node<Next = Continue, Error = Infallible, Count = Count>,
    {
        let Settings { rate, header_bytes, .. } = *self.settings.read(frame.epoch());
        let count = frame.len() as u64;
        if rate == 0 {
            frame.count(Count::Processed, count);
            frame.forward_all(Continue);
            return;
        }
        if rate != self.rate {
            self.rate = rate;
            self.draw();
        }
        let (mut sampled, mut lost) = (0, 0);
        frame.each(|p| {
            let is_sampled = self.takes();
            if is_sampled {
                let start = Start::of(p, p.bytes(), header_bytes);
                match self.samples.send(Sample { start, is_sent, rate }) {
                    true => sampled += 1,
                    false => lost += 1,
                }
            }
            p.trace(|p| Seen { interface: if is_sent { p.tx() } else { p.rx() }, is_sampled });
            Ok(Continue)
        });
        frame.count(Count::Processed, count);
        frame.count(Count::Sampled, sampled);
        frame.count(Count::Lost, lost);
    }
}

macro_rules! sampling {
    ($($(#[$about:meta])* $node:ident $name:ident $is_sent:literal;)*) => {$(
        $(#[$about])*
        #[derive(Clone)]
        pub struct $node(pub Sampler);

        impl Node for $node {
            const NAME: &'static str = $name;
            const COUNTED_AT: &'static str = if $is_sent { RECEIVED } else { "" };
            const EXPLAINABLE: bool = true;
            const READS_BYTES: bool = false;
            type Next = Continue;
            type Error = Infallible;
            type Count = Count;

            #[inline(always)]
            fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
                self.0.run(frame, $is_sent);
            }
        }
    )*};
}

sampling! {
    /// Samples received packets.
    Received RECEIVED false;
    /// Samples sent packets.
    Sent SENT true;
}

/// Reports dropped packets.
#[derive(Clone)]
pub struct Discards {
    pub settings: Reader<Settings>,
    pub discards: EventSender<Discard>,
}

/// The frame of a packet, if its Ethernet header is still there.
fn framed<'p>(p: &'p Buffer<'_>) -> Option<&'p [u8]> {
    let has_frame = p.flags().has(Flags::L2) && !p.flags().has(Flags::LOCAL);
    let is_behind = has_frame && p.l2_offset() <= p.offset();
    let bytes = p.bytes_from(p.l2_offset());
    (is_behind && bytes.len() >= ETHERNET).then_some(bytes)
}

impl Node for Discards {
    const NAME: &'static str = DROPPED;
    // As in the original, where all is counted at one node.
    const COUNTED_AT: &'static str = RECEIVED;
    const EXPLAINABLE: bool = true;
    const DROP: &'static str = "drop";
    const READS_BYTES: bool = false;
    type Next = Continue;
    type Error = Infallible;
    type Count = Count;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let header_bytes = self.settings.read(frame.epoch()).header_bytes;
        let (mut seen, mut lost) = (0, 0);
        frame.each(|p| {
            let frame = framed(p);
            let is_framed = frame.is_some();
            let start = Start::of(p, frame.unwrap_or(p.bytes()), header_bytes);
            let discard = Discard { start, error: Buffer::error(p), is_framed };
            seen += 1;
            if !self.discards.send(discard) {
                lost += 1;
            }
            p.trace(|p| Seen { interface: p.rx(), is_sampled: true });
            Ok(Continue)
        });
        frame.count(Count::Discarded, seen);
        frame.count(Count::DiscardLost, lost);
    }
}

/// The trace record of the nodes.
struct Seen {
    interface: u32,
    is_sampled: bool,
}

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_sampled { "sampled" } else { "not sampled" };
        write!(f, "  sflow: sw_if_index {} {what}", self.interface)
    }
}
