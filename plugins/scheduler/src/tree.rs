//! The queues of a port and the order in which they are served.
//!
//! A class of a subport is served while a class before it has nothing that may go: strict priority.
//! Subports, and the pipes of one, take turns in a class by bytes (deficit round robin). The queues
//! of a pipe's class share by weight: the one that got least for its weight is next. Whatever has
//! no tokens leaves the turns and comes back at the time at which it has some.
//!
//! All memory is taken when a port is made. Lists are links in tables, and the heap of those that
//! wait has room for all.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use graph::Held;
use infra::random::Random;

use super::bucket::Bucket;
use super::list::{List, NONE};
use super::plan::{CLASSES, Level, Place, Plan, QUEUES, QUEUES_OF_PIPE, Shape};
use super::red::Average;

/// Subports of a port at most.
pub const MOST_SUBPORTS: usize = 64;
/// Bytes that a subport or a pipe may send in its turn.
const QUANTUM: f64 = 1538.0;
/// Bytes of a small packet on the wire: what random early detection counts idle time in.
const SMALL: f64 = 84.0;

/// A packet that waits.
struct Entry {
    held: Option<Held>,
    len: u32,
    is_gone: bool,
}

/// A queue.
#[derive(Clone, Copy, Default)]
struct Queue {
    list: List,
    length: u32,
    /// Bytes it sent, for its weight.
    served: f64,
    average: Average,
}

/// The state of a subport or a pipe.
#[derive(Clone, Copy)]
struct Shaped {
    all: Bucket,
    classes: [Bucket; CLASSES],
    deficits: [f64; CLASSES],
    /// Classes that take turns or wait for tokens.
    listed: [bool; CLASSES],
}

impl Shaped {
    fn new(now: f64) -> Self {
        let open = Bucket::new(f64::INFINITY, 0.0, now);
        let (deficits, listed) = ([0.0; CLASSES], [false; CLASSES]);
        Self { all: open, classes: [open; CLASSES], deficits, listed }
    }
    fn start(level: &Level, now: f64) -> Self {
        let bucket = |shape: Shape| {
            let (rate, burst) = shape.in_bytes();
            Bucket::new(rate, burst, now)
        };
        let classes = level.classes.map(|rate| bucket(Shape { rate, burst: 0 }));
        Self { all: bucket(level.shape), classes, ..Self::new(now) }
    }
    fn change(&mut self, level: &Level, now: f64) {
        let (rate, burst) = level.shape.in_bytes();
        self.all.change(rate, burst, now);
        for (bucket, rate) in self.classes.iter_mut().zip(level.classes) {
            let (rate, burst) = Shape { rate, burst: 0 }.in_bytes();
            bucket.change(rate, burst, now);
        }
        (self.deficits, self.listed) = ([0.0; CLASSES], [false; CLASSES]);
    }
    #[inline(always)]
    fn wait(&mut self, class: usize, now: f64) -> f64 {
        self.all.wait(now).max(self.classes[class].wait(now))
    }
    /// Whether it has had its turn in a class; its next one is ready then.
    #[inline(always)]
    fn has_had_turn(&mut self, class: usize) -> bool {
        let is_over = self.deficits[class] < 0.0;
        if is_over {
            self.deficits[class] += QUANTUM;
        }
        is_over
    }
    #[inline(always)]
    fn take(&mut self, class: usize, bytes: f64) {
        self.all.take(bytes);
        self.classes[class].take(bytes);
        self.deficits[class] -= bytes;
    }
}

#[derive(Clone, Copy)]
struct Subport {
    shaped: Shaped,
    /// Pipes that take turns.
    ready: [List; CLASSES],
}

#[derive(Clone, Copy)]
struct Pipe {
    serial: u64,
    subport: u32,
    shaped: Shaped,
    queues: [Queue; QUEUES_OF_PIPE],
    weights: [[f64; QUEUES]; CLASSES],
    /// The share that is served, by class.
    virtual_time: [f64; CLASSES],
}

impl Pipe {
    #[inline(always)]
    fn is_empty(&self, class: usize) -> bool {
        self.queues[class * QUEUES..][..QUEUES].iter().all(|q| q.length == 0)
    }
    /// The queue of a class that is next.
    #[inline(always)]
    fn next_queue(&self, class: usize) -> Option<usize> {
        let of_class = class * QUEUES..(class + 1) * QUEUES;
        let waiting = of_class.filter(|q| self.queues[*q].length > 0);
        waiting.min_by(|a, b| self.queues[*a].served.total_cmp(&self.queues[*b].served))
    }
}

/// A class of a subport or a pipe that waits for tokens; the first to have some is the greatest.
struct Sleeper {
    at: f64,
    class: u8,
    is_pipe: bool,
    number: u32,
}

impl Ord for Sleeper {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.class.cmp(&self.class))
    }
}

impl PartialOrd for Sleeper {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sleeper {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Sleeper {}

/// Reasons why a packet is not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// Its queue.
    Queue,
    /// All queues of the port together.
    Port,
    /// Random early detection.
    Early,
    /// No such pipe.
    NoPipe,
}

/// The queues of a port.
pub(super) struct Tree {
    generation: u64,
    /// Packets that wait.
    pub used: u32,
    entries: Vec<Entry>,
    entry_links: Vec<u32>,
    free: List,
    port: Bucket,
    subports: Vec<Subport>,
    /// Subports that take turns, by class.
    ready: [List; CLASSES],
    subport_links: [Vec<u32>; CLASSES],
    pipes: Vec<Pipe>,
    pipe_links: [Vec<u32>; CLASSES],
    sleeping: BinaryHeap<Sleeper>,
    random: Random,
}

impl Tree {
    /// Empty queues of a port.
    pub fn new(packets: u32, pipes: u32, now: f64) -> Self {
        let subport = Subport { shaped: Shaped::new(now), ready: [List::default(); CLASSES] };
        let pipe = Pipe {
            serial: 0,
            subport: 0,
            shaped: Shaped::new(now),
            queues: [Queue::default(); QUEUES_OF_PIPE],
            weights: [[1.0; QUEUES]; CLASSES],
            virtual_time: [0.0; CLASSES],
        };
        let mut entry_links = vec![NONE; packets as usize];
        let mut free = List::default();
        (0..packets).for_each(|at| free.push(&mut entry_links, at));
        let entry = |_| Entry { held: None, len: 0, is_gone: false };
        let links = |n: usize| [(); CLASSES].map(|()| vec![NONE; n]);
        Self {
            generation: 0,
            used: 0,
            entries: (0..packets).map(entry).collect(),
            entry_links,
            free,
            port: Bucket::new(f64::INFINITY, 0.0, now),
            subports: vec![subport; MOST_SUBPORTS],
            ready: [List::default(); CLASSES],
            subport_links: links(MOST_SUBPORTS),
            pipes: vec![pipe; pipes as usize],
            pipe_links: links(pipes as usize),
            sleeping: BinaryHeap::with_capacity((MOST_SUBPORTS + pipes as usize) * CLASSES),
            random: Random::new(),
        }
    }
    /// Bytes that the queues of a port take, without the packets.
    pub fn memory(packets: u32, pipes: u32) -> usize {
        let links = size_of::<u32>();
        let of_class = CLASSES * (links + size_of::<Sleeper>());
        packets as usize * (size_of::<Entry>() + links)
            + pipes as usize * (size_of::<Pipe>() + of_class)
            + MOST_SUBPORTS * (size_of::<Subport>() + of_class)
    }
    /// The place of a queue in a port's counters.
    #[inline(always)]
    pub fn column((slot, place): (u32, Place)) -> usize {
        slot as usize * QUEUES_OF_PIPE + place.index()
    }
    /// Follows changed settings. What waits in pipes that are gone goes to `gone`.
    pub fn adopt(&mut self, plan: &Plan, now: f64, mut gone: impl FnMut(Held, usize, u32)) {
        if self.generation == plan.generation {
            return;
        }
        let (rate, burst) = plan.shape.in_bytes();
        if self.generation == 0 {
            self.port = Bucket::new(rate, burst, now);
        } else {
            self.port.change(rate, burst, now);
        }
        self.generation = plan.generation;
        self.sleeping.clear();
        self.ready = [List::default(); CLASSES];
        for (at, subport) in self.subports.iter_mut().enumerate() {
            subport.ready = [List::default(); CLASSES];
            if let Some(level) = plan.subports.get(at) {
                subport.shaped.change(level, now);
            }
        }
        for slot in 0..self.pipes.len() {
            let new = plan.pipes.get(slot).and_then(Option::as_ref);
            let pipe = &mut self.pipes[slot];
            if new.is_none_or(|new| new.serial != pipe.serial) {
                self.flush_pipe(slot, &mut gone);
            }
            let Some(new) = new else { continue };
            let pipe = &mut self.pipes[slot];
            if new.serial == pipe.serial {
                pipe.shaped.change(&new.profile.level, now);
            } else {
                pipe.shaped = Shaped::start(&new.profile.level, now);
                pipe.serial = new.serial;
            }
            pipe.subport = new.subport;
            pipe.weights = new.profile.weights.map(|w| w.map(|w| f64::from(w.max(1))));
            for class in 0..CLASSES {
                if !self.pipes[slot].is_empty(class) {
                    self.list_pipe(slot as u32, class);
                }
            }
        }
    }
    /// Takes all packets out of a pipe.
    fn flush_pipe(&mut self, slot: usize, gone: &mut impl FnMut(Held, usize, u32)) {
        for queue in 0..QUEUES_OF_PIPE {
            while let Some((held, len, _)) = self.pop(slot, queue) {
                gone(held, slot * QUEUES_OF_PIPE + queue, len);
            }
            self.pipes[slot].queues[queue] = Queue::default();
        }
    }
    /// Takes all packets out.
    pub fn flush(&mut self, mut gone: impl FnMut(Held, usize, u32)) {
        (0..self.pipes.len()).for_each(|slot| self.flush_pipe(slot, &mut gone));
        // Everything is listed again when settings are read the next time.
        self.generation = u64::MAX;
    }
    /// Marks what waits for an interface that is gone.
    pub fn forget(&mut self, interface: u32) {
        for entry in &mut self.entries {
            let is_its = entry.held.as_mut().is_some_and(|h| h.buffer().tx() == interface);
            entry.is_gone |= is_its;
        }
    }
    /// Takes the first packet of a queue, its length, and whether its interface is gone.
    #[inline(always)]
    fn pop(&mut self, slot: usize, queue: usize) -> Option<(Held, u32, bool)> {
        let queue = &mut self.pipes[slot].queues[queue];
        let at = queue.list.pop(&self.entry_links)?;
        queue.length -= 1;
        self.free.push(&mut self.entry_links, at);
        self.used -= 1;
        let entry = &mut self.entries[at as usize];
        Some((entry.held.take()?, entry.len, entry.is_gone))
    }
    /// Whether a packet of a colour has room in a queue.
    ///
    /// # Errors
    /// Why it has not.
    #[inline(always)]
    pub fn admit(
        &mut self,
        plan: &Plan,
        (slot, place): (u32, Place),
        color: usize,
        now: f64,
    ) -> Result<(), Full> {
        let (class, queue) = (usize::from(place.class), place.index());
        if plan.pipes.get(slot as usize).is_none_or(Option::is_none) {
            return Err(Full::NoPipe);
        }
        let length = self.pipes[slot as usize].queues[queue].length;
        if let Some(red) = &plan.red[class][color] {
            let random = self.random.fraction();
            let small = (now, SMALL / plan.shape.in_bytes().0.min(1.25e10));
            let average = &mut self.pipes[slot as usize].queues[queue].average;
            if average.drops(red, length, small, random) {
                return Err(Full::Early);
            }
        }
        if length >= plan.queue_length {
            return Err(Full::Queue);
        }
        if self.free.first().is_none() { Err(Full::Port) } else { Ok(()) }
    }
    /// Queues a packet that was admitted, of so many bytes.
    #[inline(always)]
    pub fn push(&mut self, (slot, place): (u32, Place), held: Held, len: u32) {
        let Some(at) = self.free.pop(&self.entry_links) else { return };
        self.entries[at as usize] = Entry { held: Some(held), len, is_gone: false };
        self.used += 1;
        let (class, queue) = (usize::from(place.class), place.index());
        let pipe = &mut self.pipes[slot as usize];
        let now = pipe.virtual_time[class];
        let queue = &mut pipe.queues[queue];
        if queue.length == 0 {
            queue.served = queue.served.max(now);
        }
        queue.list.push(&mut self.entry_links, at);
        queue.length += 1;
        if !pipe.shaped.listed[class] {
            self.list_pipe(slot, class);
        }
    }
    /// Gives a pipe turns in a class, and its subport.
    fn list_pipe(&mut self, slot: u32, class: usize) {
        let pipe = &mut self.pipes[slot as usize];
        pipe.shaped.listed[class] = true;
        let number = pipe.subport;
        let subport = &mut self.subports[number as usize];
        subport.ready[class].push(&mut self.pipe_links[class], slot);
        if !subport.shaped.listed[class] {
            subport.shaped.listed[class] = true;
            self.ready[class].push(&mut self.subport_links[class], number);
        }
    }
    /// Lets classes that have tokens again take turns.
    fn wake(&mut self, now: f64) {
        while self.sleeping.peek().is_some_and(|s| s.at <= now) {
            let Some(Sleeper { class, is_pipe, number, .. }) = self.sleeping.pop() else { return };
            let class = usize::from(class);
            if is_pipe {
                self.list_pipe(number, class);
            } else {
                self.ready[class].push(&mut self.subport_links[class], number);
            }
        }
    }
    /// Passes what may go to `out`, with its queue, its length and whether its interface is gone;
    /// at most `most` packets. Seconds until more may go; `None` when nothing waits.
    pub fn serve(
        &mut self,
        plan: &Plan,
        now: f64,
        most: usize,
        mut out: impl FnMut(Held, usize, u32, bool),
    ) -> Option<f64> {
        self.wake(now);
        for _ in 0..most {
            let wait = self.port.wait(now);
            if wait > 0.0 {
                return (self.used > 0).then_some(wait);
            }
            let Some((slot, class)) =
                (0..CLASSES).find_map(|class| Some((self.next_pipe(class, now)?, class)))
            else {
                return self.sleeping.peek().map(|s| (s.at - now).max(0.0));
            };
            let Some(queue) = self.pipes[slot as usize].next_queue(class) else { continue };
            let Some((held, len, is_gone)) = self.pop(slot as usize, queue) else { continue };
            if !is_gone {
                self.charge((slot as usize, class, queue), f64::from(len) + plan.overhead);
            }
            let pipe = &mut self.pipes[slot as usize];
            if pipe.queues[queue].length == 0 {
                pipe.queues[queue].average.empties(now);
            }
            if pipe.is_empty(class) {
                pipe.shaped.listed[class] = false;
                pipe.shaped.deficits[class] = 0.0;
                let ready = &mut self.subports[pipe.subport as usize].ready[class];
                ready.pop(&self.pipe_links[class]);
            }
            out(held, slot as usize * QUEUES_OF_PIPE + queue, len, is_gone);
        }
        (self.used > 0).then_some(0.0)
    }
    /// A packet of a queue takes its tokens.
    #[inline(always)]
    fn charge(&mut self, (slot, class, queue): (usize, usize, usize), bytes: f64) {
        self.port.take(bytes);
        let pipe = &mut self.pipes[slot];
        pipe.shaped.take(class, bytes);
        self.subports[pipe.subport as usize].shaped.take(class, bytes);
        let share = &mut pipe.queues[queue].served;
        pipe.virtual_time[class] = *share;
        *share += bytes / pipe.weights[class][queue % QUEUES];
    }
    /// The pipe whose turn it is in a class; it is the first of its subport.
    #[inline(always)]
    fn next_pipe(&mut self, class: usize, now: f64) -> Option<u32> {
        while let Some(number) = self.ready[class].first() {
            let subport = &mut self.subports[number as usize];
            let links = &mut self.subport_links[class];
            if subport.ready[class].first().is_none() {
                self.ready[class].pop(links);
                subport.shaped.listed[class] = false;
                subport.shaped.deficits[class] = 0.0;
                continue;
            }
            let wait = subport.shaped.wait(class, now);
            if wait > 0.0 {
                self.ready[class].pop(links);
                let (at, class) = (now + wait, class as u8);
                self.sleeping.push(Sleeper { at, class, is_pipe: false, number });
                continue;
            }
            if subport.shaped.has_had_turn(class) {
                self.ready[class].pop(links);
                self.ready[class].push(links, number);
                continue;
            }
            if let Some(pipe) = self.next_of_subport(number, class, now) {
                return Some(pipe);
            }
        }
        None
    }
    /// The pipe of a subport whose turn it is; `None` when none of them may send.
    #[inline(always)]
    fn next_of_subport(&mut self, number: u32, class: usize, now: f64) -> Option<u32> {
        let ready = &mut self.subports[number as usize].ready[class];
        let links = &mut self.pipe_links[class];
        while let Some(slot) = ready.first() {
            let shaped = &mut self.pipes[slot as usize].shaped;
            let wait = shaped.wait(class, now);
            if wait > 0.0 {
                ready.pop(links);
                let (at, class) = (now + wait, class as u8);
                self.sleeping.push(Sleeper { at, class, is_pipe: true, number: slot });
            } else if shaped.has_had_turn(class) {
                ready.pop(links);
                ready.push(links, slot);
            } else {
                return Some(slot);
            }
        }
        None
    }
}
