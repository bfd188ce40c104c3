//! `scheduler-output` queues what an interface sends and sends what may go; `scheduler-handoff`
//! hands packets to the thread that a port belongs to.

use std::sync::MutexGuard;

use classify::{Headers, Match, Table};
use graph::arc::Beside;
use graph::{Cpu, HandOff, HandsOff, Held};
use infra::counter::Rows;
use net::ethernet::Tagged;
use net::interface::INTERFACE_OUTPUT;
use net::prelude::*;

use super::plan::{Place, Plan};
use super::tree::{Full, Tree};
use super::{MOST_PORTS, Scheduled};

pub(super) const OUTPUT: &str = "scheduler-output";
const HANDOFF: &str = "scheduler-handoff";
/// Packets of a port that go in one call of the node.
const MOST_AT_ONCE: usize = 1024;

/// The state that the nodes read.
#[derive(Clone)]
pub(super) struct Readers {
    pub scheduled: SlabReader<Scheduled>,
    pub plans: SlabReader<Plan>,
    pub tables: SlabReader<Table>,
    pub threads: Reader<Range<usize>>,
    pub counters: Counters,
}

/// Packets and bytes by queue.
#[derive(Clone)]
pub(super) struct Counters {
    /// Queued ones.
    pub queued: Rows<VolumeCounter>,
    /// Sent ones.
    pub sent: Rows<VolumeCounter>,
    /// Packets dropped because the queue was full.
    pub dropped: Rows<VolumeCounter>,
    /// Packets dropped by random early detection.
    pub early: Rows<VolumeCounter>,
    /// Packets that were queued, and dropped because a pipe, interface or thread went.
    pub flushed: Rows<VolumeCounter>,
}

/// Counts a packet of a queue.
#[inline(always)]
fn count(rows: &Rows<VolumeCounter>, thread: usize, column: usize, bytes: u32) {
    if let Some(counter) = rows.row(thread).get(column) {
        counter.add(1, bytes.into());
    }
}

impl Readers {
    /// The port of a packet, if what its interface sends is scheduled.
    #[inline(always)]
    fn port<'e>(
        &'e self,
        p: &Buffer<'_>,
        epoch: Epoch<'e>,
    ) -> Option<(u32, &'e Plan, Option<u32>)> {
        let scheduled = self.scheduled.read(p.tx(), epoch)?;
        let slot = scheduled.port?;
        Some((slot, self.plans.read(slot, epoch)?, scheduled.pipe_slot))
    }
    /// The thread that queues a packet.
    #[inline(always)]
    fn thread_for(&self, plan: &Plan, thread: usize, epoch: Epoch<'_>) -> usize {
        plan.core.thread_for(thread, self.threads.read(epoch))
    }
    /// Pipe, class and queue of a packet: as the classifier says, or its sub-interface, or its
    /// VLAN, and by its mark.
    #[inline(always)]
    fn place(
        &self,
        plan: &Plan,
        pipe: Option<u32>,
        p: &Buffer<'_>,
        epoch: Epoch<'_>,
    ) -> (u32, Place) {
        let by_mark = || match qos::mark_of(p) {
            Some((source, mark)) => {
                let row = plan.map.get(source as usize);
                row.map_or_else(Place::default, |row| row[usize::from(mark)])
            }
            None => Place::default(),
        };
        if let Some(first) = plan.table
            && let Some((slot, place)) = self.target(plan, first, p, epoch)
        {
            return (slot, place.unwrap_or_else(by_mark));
        }
        let by_vlan = || match Tagged::read(p.bytes()).and_then(|tagged| tagged.outer()) {
            Some(vlan) => plan.of_vlan(vlan),
            None => plan.usual,
        };
        (pipe.unwrap_or_else(by_vlan), by_mark())
    }
    /// The place that a session of the classifier names.
    #[inline(never)]
    fn target(
        &self,
        plan: &Plan,
        first: u32,
        p: &Buffer<'_>,
        epoch: Epoch<'_>,
    ) -> Option<(u32, Option<Place>)> {
        let current = p.offset();
        let bytes = |table: &Table| table.bytes(p, Headers { l2: current, current });
        match classify::seek(&self.tables, first, epoch, bytes) {
            Match::Hit(hit) => plan.target(hit.session.opaque),
            _ => None,
        }
    }
}

/// Queues packets, and sends what may go.
pub(super) struct Output {
    readers: Readers,
    /// Ports with packets on this thread.
    active: Vec<u32>,
}

impl Clone for Output {
    /// Of another thread: it has no packets.
    fn clone(&self) -> Self {
        Self::new(self.readers.clone())
    }
}

/// Edges of [`Output`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub(super) enum Next {
    /// Another thread queues it.
    #[to(HANDOFF)]
    HandOff,
    /// On along the features.
    #[along]
    On,
}

/// Drops of [`Output`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum Error {
    /// Queue full.
    #[name("queue is full")]
    Queue,
    /// Port buffer full.
    #[name("port is full")]
    Port,
    /// Random early detection.
    #[name("random early detection")]
    Early,
    /// No such pipe.
    #[name("no such pipe")]
    NoPipe,
    /// Queues are moving between threads.
    #[name("queues change threads")]
    Busy,
    /// Queued for a deleted pipe or interface.
    #[name("pipe or interface is deleted")]
    Gone,
    /// Queued on a terminated thread.
    #[name("thread ended")]
    Ended,
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::Queue => Self::Queue,
            Full::Port => Self::Port,
            Full::Early => Self::Early,
            Full::NoPipe => Self::NoPipe,
        }
    }
}

/// The port that packets of a frame are queued at.
struct Current<'e> {
    slot: u32,
    plan: &'e Plan,
    tree: MutexGuard<'e, Tree>,
}

impl Output {
    pub fn new(readers: Readers) -> Self {
        Self { readers, active: Vec::with_capacity(MOST_PORTS) }
    }
    /// Queues a packet.
    #[inline(always)]
    fn queue<On>(
        readers: &Readers,
        frame: &mut Frame<'_, Self, On>,
        current: &mut Current<'_>,
        (mut held, pipe): (Held, Option<u32>),
    ) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let plan = current.plan;
        let p = held.buffer();
        let (at, color) = (readers.place(plan, pipe, &p, epoch), policer::color_of(&p) as usize);
        let len = p.total_len() as u32;
        let column = plan.column + Tree::column(at);
        let admitted = current.tree.admit(plan, at, color, now);
        let (slot, place) = at;
        frame.packet_of(&mut held).trace(|_| Judged { slot, place, refused: admitted.err() });
        let counters = &readers.counters;
        match admitted {
            Ok(()) => {
                count(&counters.queued, thread, column, len);
                current.tree.push(at, held, len);
            }
            Err(why) => {
                let rows = if why == Full::Early { &counters.early } else { &counters.dropped };
                count(rows, thread, column, len);
                frame.discard(held, why.into());
            }
        }
    }
    /// Sends what may go of all ports of this thread, and asks to be called for what waits.
    fn serve<On>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let Self { readers, active } = self;
        let counters = &readers.counters;
        let mut soonest = f64::INFINITY;
        active.retain(|slot| {
            let Some(plan) = readers.plans.read(*slot, epoch) else { return false };
            if plan.core.owner.thread() != Some(thread) {
                return false;
            }
            // Another thread has it no longer than a frame takes.
            let Some(mut tree) = plan.core.lend() else {
                soonest = 0.0;
                return true;
            };
            tree.adopt(plan, now, |held, queue, len| {
                count(&counters.flushed, thread, plan.column + queue, len);
                frame.discard(held, Error::Gone);
            });
            let wait = tree.serve(plan, now, MOST_AT_ONCE, |held, queue, len, is_gone| {
                let rows = if is_gone { &counters.flushed } else { &counters.sent };
                count(rows, thread, plan.column + queue, len);
                if is_gone {
                    frame.discard(held, Error::Gone);
                } else {
                    frame.send(held, Next::On);
                }
            });
            soonest = soonest.min(wait.unwrap_or(f64::INFINITY));
            wait.is_some()
        });
        if soonest.is_finite() {
            frame.recall_in(soonest);
        }
    }
    /// Drops all that waits at a port that is deleted.
    pub fn flush(frame: &mut Frame<'_, Self>, tree: &mut Tree, counted: &dyn Fn(usize, u32)) {
        tree.flush(|held, queue, len| {
            counted(queue, len);
            frame.discard(held, Error::Gone);
        });
    }
}

impl Node for Output {
    const NAME: &'static str = OUTPUT;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = std::convert::Infallible;

    #[inline(always)]
    fn process<C: Cpu>(&mut self, frame: &mut Frame<'_, Self, C>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let readers = &self.readers;
        if frame.is_explained() {
            return frame.each(|p| {
                if let Some((_, plan, pipe)) = readers.port(p, epoch) {
                    let (slot, place) = readers.place(plan, pipe, p, epoch);
                    p.trace(|_| Judged { slot, place, refused: None });
                }
                Ok(Next::On)
            });
        }
        let mut current: Option<Current<'_>> = None;
        for mut held in frame.take() {
            let found = readers.port(&held.buffer(), epoch);
            let Some((slot, plan, pipe)) = found else {
                frame.send(held, Next::On);
                continue;
            };
            if readers.thread_for(plan, thread, epoch) != thread {
                frame.send(held, Next::HandOff);
                continue;
            }
            if current.as_ref().is_none_or(|current| current.slot != slot) {
                let Some(mut tree) = plan.core.lend() else {
                    frame.discard(held, Error::Busy);
                    continue;
                };
                tree.adopt(plan, now, |held, queue, len| {
                    count(&readers.counters.flushed, thread, plan.column + queue, len);
                    frame.discard(held, Error::Gone);
                });
                current = Some(Current { slot, plan, tree });
                if !self.active.contains(&slot) && self.active.len() < MOST_PORTS {
                    self.active.push(slot);
                }
            }
            if let Some(current) = &mut current {
                Self::queue(readers, frame, current, (held, pipe));
            }
        }
        drop(current);
        self.serve(frame);
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        for slot in self.active.drain(..) {
            let Some(plan) = self.readers.plans.read(slot, epoch) else { continue };
            if plan.core.owner.thread() != Some(thread) {
                continue;
            }
            let Some(mut tree) = plan.core.lend() else { continue };
            tree.flush(|held, queue, len| {
                count(&self.readers.counters.flushed, thread, plan.column + queue, len);
                frame.discard(held, Error::Ended);
            });
        }
    }
}

/// Hands packets to the thread of their port.
#[derive(Clone)]
struct ByPort(Readers);

impl HandsOff for ByPort {
    const NAME: &'static str = HANDOFF;
    const TO: &'static str = "scheduler-output";
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn threads<'a, On: Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, On> {
        let (epoch, thread, Self(readers)) = (frame.epoch(), frame.thread(), self);
        move |p| {
            let port = readers.port(p, epoch);
            port.map_or(thread, |(_, plan, _)| readers.thread_for(plan, thread, epoch))
        }
    }
}

/// The trace record of [`Output`].
struct Judged {
    slot: u32,
    place: Place,
    refused: Option<Full>,
}

impl Record for Judged {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slot, place: Place { class, queue }, refused } = self;
        write!(f, "  scheduler: pipe at {slot} class {class} queue {queue}")?;
        match refused {
            None => f.write_str(", queued"),
            Some(Full::Queue) => f.write_str(", the queue is full"),
            Some(Full::Port) => f.write_str(", the port is full"),
            Some(Full::Early) => f.write_str(", random early detection"),
            Some(Full::NoPipe) => f.write_str(", no such pipe"),
        }
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, readers: &Readers) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    engine.add(HandOff(ByPort(readers.clone())))?;
    engine.add(Output::new(readers.clone()))?;
    engine.place_beside(&INTERFACE_OUTPUT, OUTPUT, Beside::After("span-output"))
}
