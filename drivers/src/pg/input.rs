//! `pg-input`: brings in the packets of the streams that run on its thread.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graph::{Arrival, Flags, Input, Intake, Slot};
use infra::counter::Counter;
use net::interface::{Counters, DEVICE_INPUT};

use super::data::template::copy_lines;
use super::offload::Offload;
use super::source::{Source, fits, room};
use super::trace::Origin;

/// Longest sleep between packets in seconds: the router's clock may be moved meanwhile.
const PATIENCE: f64 = 0.1;

/// The progress of a stream, as control sees it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Packets sent so far.
    pub sent: Counter,
    /// Whether the limit is reached.
    pub done: AtomicBool,
}

/// A stream at work on a thread.
#[derive(Clone)]
pub struct Running {
    /// Number of the stream.
    pub id: u32,
    /// Source of its packets.
    pub source: Source,
    /// Receive interface.
    pub rx: u32,
    /// Next node.
    pub next: Slot,
    /// Whether they take the features of their interface before.
    pub meets_features: bool,
    /// Flags of each packet.
    pub flags: Flags,
    /// Offloads left to the other side by the interface.
    pub offload: Option<Offload>,
    /// Transmit interface, if given.
    pub tx: Option<u32>,
    /// Most packets in one call.
    pub max_frame: usize,
    /// Packets still to come.
    pub left: u64,
    /// Rate of the packets; all at once if `None`.
    pub pace: Option<PacketRate>,
    /// For control.
    pub progress: Arc<Progress>,
    /// For the trace.
    pub origin: Arc<Origin>,
    /// For packets that do not fit one buffer, and those of interfaces with offloads.
    pub big: PacketBuffer,
}

/// Packets a second.
#[derive(Clone, Debug)]
pub struct PacketRate {
    rate: f64,
    /// Router time of the first packet.
    start: Option<f64>,
    sent: u64,
}

impl PacketRate {
    /// `rate` packets a second, a positive number.
    pub fn new(rate: f64) -> Self {
        Self { rate, start: None, sent: 0 }
    }
    /// Number of packets due at router time `now`.
    fn due(&mut self, now: f64) -> u64 {
        let start = *self.start.get_or_insert(now);
        // A float becomes the nearest integer there is, so a negative time is none due.
        (((now - start) * self.rate) as u64 + 1).saturating_sub(self.sent)
    }
    /// Seconds until the next is due.
    fn wait(&self, now: f64) -> f64 {
        self.start.map_or(0.0, |s| s + self.sent as f64 / self.rate - now)
    }
}

/// Room for one packet that may need several buffers.
#[derive(Clone, Debug, Default)]
pub struct PacketBuffer {
    /// The longest packet fits in.
    bytes: Vec<u8>,
    /// Length of a packet that found no buffers and waits here; 0 for none.
    waiting: usize,
}

impl PacketBuffer {
    /// For packets of up to `longest` bytes; without room when they need none.
    pub fn new(longest: usize, is_needed: bool) -> Self {
        let len = if is_needed || !fits(longest) { room(longest.max(1)) } else { 0 };
        Self { bytes: vec![0; len], waiting: 0 }
    }
    /// Sends the packet that waits, else the next one.
    fn send(&mut self, source: &mut Source, p: &mut Arrival<'_>) -> Option<usize> {
        if self.waiting == 0 {
            self.waiting = source.next_size();
            source.write(&mut self.bytes, self.waiting);
        }
        p.extend(self.bytes.get(..self.waiting)?)?;
        Some(std::mem::take(&mut self.waiting))
    }
}

/// The streams of one thread.
#[derive(Clone)]
pub struct PgInput {
    /// Running streams; those that still have packets come first.
    streams: Vec<Running>,
    live: usize,
    counters: Arc<Counters>,
}

/// Edges of [`PgInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Any node.
    #[dynamic]
    To(Slot),
}

impl PgInput {
    /// Without streams.
    pub fn new(counters: Arc<Counters>) -> Self {
        Self { streams: Vec::new(), live: 0, counters }
    }
    /// Starts a stream; one with the same number is replaced.
    pub fn start(&mut self, stream: Running) -> Option<Running> {
        let old = self.stop(stream.id);
        self.streams.insert(self.live, stream);
        self.live += 1;
        old
    }
    /// Ends a stream and gives it back.
    pub fn stop(&mut self, id: u32) -> Option<Running> {
        let at = self.streams.iter().position(|s| s.id == id)?;
        self.live -= usize::from(at < self.live);
        Some(self.streams.remove(at))
    }
}

impl Input for PgInput {
    const NAME: &'static str = "pg-input";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        let mut at = 0;
        while at < self.live {
            self.streams[at].poll(intake, &self.counters);
            if self.streams[at].left > 0 {
                at += 1;
                continue;
            }
            // What it holds is freed by control, when it asks.
            self.streams[at].progress.done.store(true, Ordering::Release);
            self.streams[at..self.live].rotate_left(1);
            self.live -= 1;
        }
        if self.live == 0 {
            intake.disable();
        }
    }
}

impl Running {
    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, PgInput, On>, counters: &Counters) {
        let mut most = self.left.min(self.max_frame as u64);
        if let Some(pace) = &mut self.pace {
            let now = intake.now();
            most = most.min(pace.due(now));
            if most == 0 {
                let wait = pace.wait(now).min(PATIENCE);
                return intake.wake_in(wait);
            }
        }
        if intake.is_tracing() {
            let origin = Arc::clone(&self.origin);
            intake.record(move |p| origin.generated(p));
        }
        let (packets, bytes) = self.send(intake, most as usize);
        if let Some(row) = counters.rx.row(intake.thread()).get(self.rx as usize) {
            row.add(packets, bytes);
        }
        self.left -= packets;
        self.progress.sent.add(packets);
        if let Some(pace) = &mut self.pace {
            pace.sent += packets;
            // More may be due already, or there were no buffers: then at once, or soon.
            intake.wake_in(if packets < most { 1e-3 } else { 0.0 });
        }
    }
    /// Sends at most `most`; returns packets and bytes. Loops are as small as can be: the usual
    /// streams have packets of one buffer, without offloads.
    #[inline(always)]
    fn send<On: graph::Cpu>(
        &mut self,
        intake: &mut Intake<'_, PgInput, On>,
        most: usize,
    ) -> (u64, u64) {
        let (next, flags, rx) = (self.next(intake), self.flags, self.rx);
        if !self.big.bytes.is_empty() || self.offload.is_some() || self.tx.is_some() {
            return self.send_any(intake, most);
        }
        let mut bytes = 0;
        let sent = match &mut self.source {
            Source::Template(t) => {
                let size = t.sizes().low;
                if let Some(only) = t.only() {
                    let sent = intake.each(most, rx, |p| {
                        copy_lines(p.append_with(only.len())?, only, size);
                        p.truncate(size);
                        p.set_flags(flags);
                        Some(next)
                    });
                    return (sent as u64, (sent * size) as u64);
                }
                intake.each(most, rx, |p| {
                    let size = t.next_size();
                    t.write(p.append_with(room(size))?, size);
                    p.truncate(size);
                    p.set_flags(flags);
                    bytes += size as u64;
                    Some(next)
                })
            }
            Source::Replay(r) => intake.each(most, rx, |p| {
                let size = r.next_size();
                r.write(p.append_with(room(size))?, size);
                p.truncate(size);
                p.set_flags(flags);
                bytes += size as u64;
                Some(next)
            }),
        };
        (sent as u64, bytes)
    }
    /// Next node of packets now.
    #[inline(always)]
    fn next<On>(&self, intake: &Intake<'_, PgInput, On>) -> Next {
        let arc = intake.start(&DEVICE_INPUT);
        let first = arc.first(self.rx).filter(|_| self.meets_features);
        Next::To(first.unwrap_or(self.next))
    }
    #[inline(never)]
    fn send_any<On: graph::Cpu>(
        &mut self,
        intake: &mut Intake<'_, PgInput, On>,
        most: usize,
    ) -> (u64, u64) {
        let (next, flags, offload) = (self.next(intake), self.flags, self.offload);
        let tx = self.tx;
        let (source, big) = (&mut self.source, &mut self.big);
        let mut bytes = 0;
        let sent = intake.each(most, self.rx, |p| {
            bytes += big.send(source, p)? as u64;
            p.add_flags(flags);
            if let Some(offload) = &offload {
                offload.mark(p);
            }
            if let Some(tx) = tx {
                p.set_tx(tx);
            }
            Some(next)
        });
        (sent as u64, bytes)
    }
}
