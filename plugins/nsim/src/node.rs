//! `nsim` and `nsim-output-feature` keep packets until they are due; `nsim-wheel` sends those of
//! cross-connected interfaces.
//!
//! A thread has a queue of its own, in the order in which packets came: a link does not reorder
//! because its delay was changed.

use std::collections::VecDeque;

use graph::arc::Along;
use graph::{Cpu, Edge, Held};
use infra::random::Random;
use net::interface::EdgesReader;
use net::prelude::*;

use super::{Link, MOST, Peer};

pub(super) const CROSS: &str = "nsim";
pub(super) const OUTPUT: &str = "nsim-output-feature";
const WHEEL: &str = "nsim-wheel";

/// Packets that wait.
pub struct Queue {
    link: Reader<Option<Link>>,
    /// By the time when they are due.
    waiting: VecDeque<(f64, Held)>,
    random: Random,
    times: Times,
}

/// Times of a link, since it is as it is.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    link: Link,
    /// Its first packet.
    began: f64,
    /// The end of the last packet on it.
    free: f64,
    /// When the last packet in order is due.
    last: f64,
    /// The end of a burst of losses.
    lost: f64,
}

impl Clone for Queue {
    /// Of another thread, empty.
    fn clone(&self) -> Self {
        Self::new(self.link.clone())
    }
}

impl Queue {
    pub fn new(link: Reader<Option<Link>>) -> Self {
        let times = Times::default();
        Self { link, waiting: VecDeque::new(), random: Random::new(), times }
    }
    /// Whether something happens that has this probability.
    fn happens(&mut self, probability: f64) -> bool {
        self.random.fraction() < probability
    }
    /// Whether the link loses a packet now.
    fn loses(&mut self, link: &Link, now: f64) -> bool {
        if let Some((probability, long)) = link.burst
            && now >= self.times.lost
            && self.happens(probability)
        {
            self.times.lost = now + long;
        }
        let since = now - self.times.began;
        let is_out = |(after, long): (f64, f64)| (after..after + long).contains(&since);
        now < self.times.lost || link.outage.is_some_and(is_out) || self.happens(link.drop_fraction)
    }
    /// When a packet of so many bytes is through; `None` where there is no room for it.
    fn due(&mut self, link: &Link, now: f64, bytes: usize) -> Option<f64> {
        let Times { began, free, last, .. } = &mut self.times;
        let due = match link.buffer {
            None if self.waiting.len() >= link.capacity() => return None,
            None => now + link.delay,
            Some(longest) => {
                let start = free.max(now);
                if start - now > longest || self.waiting.len() >= MOST as usize {
                    return None;
                }
                *free = start + bytes as f64 * 8.0 / link.bandwidth_at(start - *began);
                *free + link.delay
            }
        };
        *last = last.max(due);
        Some(*last)
    }
    /// Sends due packets, classifies the packets of a frame, and asks to be called again.
    #[inline(always)]
    fn run<N: Node<Error = Error, Count = Count>, On>(
        &mut self,
        frame: &mut Frame<'_, N, On>,
        next: impl Fn() -> N::Next,
        prepare: impl Fn(&mut Buffer<'_>) -> Option<u32>,
    ) {
        let (now, epoch) = (frame.now(), frame.epoch());
        while self.waiting.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, held)) = self.waiting.pop_front() {
                frame.send(held, next());
            }
        }
        let link = self.link.read(epoch).unwrap_or_default();
        if link != self.times.link {
            let last = self.times.last;
            self.times = Times { link, began: now, last, ..Times::default() };
        }
        let (mut buffered, mut reordered) = (0, 0);
        for mut held in frame.take() {
            let to = prepare(&mut held.buffer());
            let is_lost = to.is_none() || self.loses(&link, now);
            let is_moved = !is_lost && self.happens(link.reorder_fraction);
            let is_early = is_moved && link.reorder_delay == 0.0;
            let due = match is_early || is_lost {
                true => Some(now),
                false => self.due(&link, now, held.buffer().total_len()),
            };
            let due = due.map(|due| if is_moved { due + link.reorder_delay } else { due });
            let tx = to.filter(|_| !is_lost && due.is_some());
            frame.packet_of(&mut held).trace(|_| Judged { due: due.unwrap_or(now), tx });
            reordered += u64::from(is_moved && due.is_some());
            match due {
                _ if is_lost => frame.discard(held, Error::Lost),
                _ if is_early => frame.send(held, next()),
                None => frame.discard(held, Error::NoRoom),
                Some(due) => {
                    buffered += u64::from(!is_moved);
                    let place = self.waiting.partition_point(|(other, _)| *other <= due);
                    self.waiting.insert(place, (due, held));
                }
            }
        }
        frame.count(Count::Buffered, buffered);
        frame.count(Count::Reordered, reordered);
        if let Some((due, _)) = self.waiting.front() {
            frame.recall_in((due - now).max(0.0));
        }
    }
    fn end<N: Node<Error = Error>, On>(&mut self, frame: &mut Frame<'_, N, On>) {
        self.waiting.drain(..).for_each(|(_, held)| frame.discard(held, Error::NoRoom));
    }
}

/// Drops of packets that wait.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Network loss simulation drop packets.
    #[name("Network loss simulation drop packets")]
    Lost,
    /// Packets dropped due to lack of space.
    #[name("Packets dropped due to lack of space")]
    NoRoom,
}

/// Counters of packets that wait.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Packets buffered.
    #[name("Packets buffered")]
    Buffered,
    /// Packets reordered.
    #[name("Packets reordered")]
    Reordered,
}

/// Delays packets that cross-connected interfaces receive.
#[derive(Clone)]
pub struct Cross {
    pub(super) peers: SlabReader<Peer>,
    pub(super) queue: Queue,
}

/// Edges of [`Cross`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum CrossNext {
    /// Due.
    #[to("nsim-wheel")]
    Wheel,
}

impl Node for Cross {
    const NAME: &'static str = CROSS;
    type Next = CrossNext;
    type Error = Error;
    type Count = Count;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let Self { peers, queue } = self;
        let prepare = |p: &mut Buffer<'_>| {
            let to = peers.read(p.rx(), epoch)?.0?.0;
            p.set_tx(to);
            Some(to)
        };
        queue.run(frame, || CrossNext::Wheel, prepare);
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.queue.end(frame);
    }
}

/// Delays packets that an interface sends.
#[derive(Clone)]
pub struct Output {
    pub(super) queue: Queue,
}

/// Edges of [`Output`].
#[derive(Clone, Copy, Debug)]
pub struct On;

impl graph::Next for On {
    const EDGES: &'static [Edge] = &[];
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        along.next(p)
    }
}

impl Node for Output {
    const NAME: &'static str = OUTPUT;
    type Next = On;
    type Error = Error;
    type Count = Count;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<C: Cpu>(&mut self, frame: &mut Frame<'_, Self, C>) {
        self.queue.run(frame, || On, |p| Some(p.tx()));
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.queue.end(frame);
    }
}

/// Sends due packets.
#[derive(Clone)]
pub struct Wheel {
    pub(super) edges: EdgesReader,
}

/// Edges of [`Wheel`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum Next {
    /// To an interface.
    #[dynamic]
    To(Slot),
}

/// Drops of [`Wheel`].
#[derive(Clone, Copy, graph::Reason)]
pub enum WheelError {
    /// the interface is gone.
    #[name("the interface is gone")]
    Gone,
}

/// Counters of [`Wheel`].
#[derive(Clone, Copy, graph::Count)]
pub enum WheelCount {
    /// Packets transmitted.
    #[name("Packets transmitted")]
    Sent,
}

impl Node for Wheel {
    const NAME: &'static str = WHEEL;
    type Next = Next;
    type Error = WheelError;
    type Count = WheelCount;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<C: Cpu>(&mut self, frame: &mut Frame<'_, Self, C>) {
        let edges = self.edges.read(frame.epoch());
        let mut sent = 0;
        frame.each(|p| {
            let to = edges.to(p.tx()).ok_or(WheelError::Gone)?;
            sent += 1;
            Ok(Next::To(to))
        });
        frame.count(WheelCount::Sent, sent);
    }
}

/// The trace record of packets that wait, or do not.
struct Judged {
    due: f64,
    tx: Option<u32>,
}

impl Record for Judged {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tx {
            Some(tx) => write!(f, "  nsim: due at {:.6} sw_if_index {tx}", self.due),
            None => write!(f, "  nsim: dropped, sw_if_index -1"),
        }
    }
}
