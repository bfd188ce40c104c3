//! `flowprobe-input-ip4` and the others: count packets of flows.

use graph::arc::Along;
use graph::{Cpu, Edge};
use net::ip4::IP4_MULTICAST;
use net::ip6::IP6_MULTICAST;
use net::prelude::*;
use sessions::New;

use crate::flow::{Counted, Flows, Here, IP4, IP6, NoAnswers, Params};
use crate::packet::{Seen, look};
use crate::record::Exported;

/// Places of the directions: packets that are received.
pub const RX: usize = 0;
/// Packets that are sent.
pub const TX: usize = 1;

/// Names of the nodes, by what they count and direction.
pub const NODES: [[&str; 2]; 3] = [
    ["flowprobe-input-ip4", "flowprobe-output-ip4"],
    ["flowprobe-input-ip6", "flowprobe-output-ip6"],
    ["flowprobe-input-l2", "flowprobe-output-l2"],
];

/// Data shared by the nodes.
#[derive(Clone)]
pub struct Core {
    /// Recorded fields and timers.
    pub params: Reader<Params>,
    /// Flows.
    pub flows: Flows,
    /// The ring to control.
    pub exported: EventSender<Exported>,
}

/// Counts packets of flows.
#[derive(Clone)]
pub struct Probe<const WHICH: usize, const DIRECTION: usize>(Core);

impl<const WHICH: usize, const DIRECTION: usize> Probe<WHICH, DIRECTION> {
    /// Node.
    pub fn new(core: &Core) -> Self {
        Self(core.clone())
    }
}

/// The edge along the arc that a packet is on: received ones of IP are on that of unicast or on
/// that of multicast.
#[derive(Clone, Copy)]
pub struct On<const WHICH: usize, const DIRECTION: usize>;

impl<const WHICH: usize, const DIRECTION: usize> graph::Next for On<WHICH, DIRECTION> {
    const EDGES: &'static [Edge] = &[];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match (WHICH, DIRECTION) {
            (IP4, RX) if p.bytes().get(16).is_some_and(|byte| byte >> 4 == 0xe) => {
                along.next_on(&IP4_MULTICAST, p)
            }
            (IP4, RX) => along.next_on(&IP4_UNICAST, p),
            (IP6, RX) if p.bytes().get(24) == Some(&0xff) => along.next_on(&IP6_MULTICAST, p),
            (IP6, RX) => along.next_on(&IP6_UNICAST, p),
            _ => along.next(p),
        }
    }
}

/// Counters of the nodes.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// flows exported early to make room for others.
    #[name("Hash table collisions")]
    Collisions,
    /// records lost because the queue to control was full.
    #[name("Buffer allocation error")]
    Lost,
    /// records passed to control.
    #[name("Exported packets")]
    Exported,
}

/// Data of a node during a frame.
struct Visit<'a> {
    exported: &'a mut EventSender<Exported>,
    params: Params,
    now: f64,
    /// Flows that made room, records that were lost, records.
    counts: [u64; 3],
}

impl Visit<'_> {
    #[inline(always)]
    fn send(&mut self, record: Exported) {
        if record.counted.packets == 0 {
            return;
        }
        let place = if self.exported.send(record) { 2 } else { 1 };
        self.counts[place] += 1;
    }
    /// Counts a packet.
    #[inline(always)]
    fn count(&mut self, flows: Option<&mut Here>, seen: &Seen) {
        let (key, now) = (seen.key, self.now);
        let alone = || {
            let mut counted = Counted::since(now);
            counted.add(seen.bytes, seen.flags, now);
            Exported { key, counted }
        };
        let Some(flows) = flows.filter(|_| self.params.active > 0) else {
            return self.send(alone());
        };
        let mut at = flows.find(&key);
        if let Some(over) = at.filter(|at| flows.is_over(*at, now)) {
            if let Some(gone) = flows.remove(over) {
                self.send(Exported { key: gone.forward, counted: gone.data });
            }
            at = None;
        }
        if at.is_none() {
            let (reverse, data) = (NoAnswers::to(key), Counted::since(now));
            let new = New { forward: key, reverse, data, class: 0 };
            let made = flows.insert(new, now, |end, gone| {
                self.counts[0] += u64::from(end == sessions::End::Evicted);
                self.send(Exported { key: gone.forward, counted: gone.data });
            });
            at = made.ok();
        }
        let Some((at, counted)) = at.and_then(|at| Some((at, flows.data_mut(at)?))) else {
            return self.send(alone());
        };
        counted.add(seen.bytes, seen.flags, now);
        let due = counted.is_due(self.params.active, now).then_some(*counted);
        if let Some(due) = due {
            *counted = Counted::since(now);
            self.send(Exported { key, counted: due });
        }
        flows.passed(at, seen.bytes as usize, now);
    }
}

impl<const WHICH: usize, const DIRECTION: usize> Node for Probe<WHICH, DIRECTION> {
    const NAME: &'static str = NODES[WHICH][DIRECTION];
    const EXPLAINABLE: bool = true;
    type Next = On<WHICH, DIRECTION>;
    type Error = Infallible;
    type Count = Count;

    #[inline(always)]
    fn process<C: Cpu>(&mut self, frame: &mut Frame<'_, Self, C>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let Core { params, flows, exported } = &mut self.0;
        let params = *params.read(epoch);
        let mut lent = flows.lend(thread);
        let mut visit = Visit { exported, params, now, counts: [0; 3] };
        frame.each(
            #[inline(always)]
            |p| {
                let seen = match DIRECTION {
                    RX => look::<WHICH, false>(p, &params),
                    _ => look::<WHICH, true>(p, &params),
                };
                p.trace(|p| Traced { rx: p.rx(), tx: p.tx(), is_recorded: seen.is_some() });
                if let Some(seen) = &seen {
                    visit.count(lent.as_deref_mut(), seen);
                }
                Ok(On)
            },
        );
        let [collisions, lost, exported] = visit.counts;
        frame.count(Count::Collisions, collisions);
        frame.count(Count::Lost, lost);
        frame.count(Count::Exported, exported);
    }
}

/// The trace record of the nodes.
struct Traced {
    rx: u32,
    tx: u32,
    is_recorded: bool,
}

impl Record for Traced {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_recorded { "recorded" } else { "not recorded" };
        write!(f, "  flowprobe: rx_sw_if_index {}, tx_sw_if_index {}, {what}", self.rx, self.tx)
    }
}
