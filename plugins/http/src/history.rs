//! An hour of history: rates of interfaces, and what the router uses, every five seconds.
//!
//! Control adds a step; the server's thread reads, and makes the JSON. Bounds: [`KEPT`] steps of
//! the router as a whole and of [`MOST`] interfaces, 20 bytes each: 15 MB at most, 29 KB for a
//! router with two interfaces. Interfaces beyond these count in the sum only.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use control::stats::Value;
use net::prelude::*;
use serde_json::{Value as Json, json};

/// Time between two steps.
const STEP: Duration = Duration::from_secs(5);
/// Steps that are kept: an hour.
const KEPT: usize = 720;
/// Interfaces that have a history of their own.
const MOST: usize = 1024;

/// Packets and bytes received, packets and bytes sent, drops; in a second.
type Rates = [f32; 5];
/// Processors in use, shares of the buffers that are, sessions, packets a call of a node.
type Use = [f32; 4];

const RATES: [&str; 5] = ["rx", "rx_bytes", "tx", "tx_bytes", "drops"];
const USES: [&str; 4] = ["cpu", "buffers", "sessions", "vector"];

/// The last steps of something, the newest at the end.
#[derive(Debug)]
struct Ring<const N: usize>(VecDeque<[f32; N]>);

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<const N: usize> Ring<N> {
    fn push(&mut self, step: [f32; N]) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        } else if self.0.len() == self.0.capacity() {
            // Room for ten minutes more: doubling would leave nearly half of it unused.
            self.0.reserve_exact(KEPT / 6);
        }
        self.0.push_back(step);
    }
    fn columns(&self, names: [&str; N]) -> impl Iterator<Item = (String, Json)> {
        names.map(str::to_owned).into_iter().enumerate().map(|(at, name)| {
            let rounded = |step: &[f32; N]| (f64::from(step[at]) * 1000.0).round() / 1000.0;
            (name, self.0.iter().map(rounded).collect())
        })
    }
}

/// Counters of an interface at the last step.
#[derive(Debug)]
struct Last {
    name: String,
    counts: [u64; 5],
    ring: Option<Ring<5>>,
}

/// The steps of everything.
#[derive(Debug, Default)]
struct All {
    /// Seconds on the router's clock and since 1970, and processor time, at the last step.
    time: f64,
    wall: f64,
    processor: f64,
    sum: Ring<5>,
    uses: Ring<4>,
    interfaces: BTreeMap<u32, Last>,
}

/// History, shared by control and the server.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<All>>);

impl History {
    /// The history of an interface, or of the router as a whole, as JSON; `None` when there is
    /// none of this name.
    pub fn json(&self, interface: Option<&str>) -> Option<Json> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = json!({ "step": STEP.as_secs(), "time": all.wall });
        let columns: Vec<_> = match interface {
            None => all.sum.columns(RATES).chain(all.uses.columns(USES)).collect(),
            Some(name) => {
                let of = all.interfaces.values().find(|of| of.name == name)?;
                let none = Ring::default();
                of.ring.as_ref().unwrap_or(&none).columns(RATES).collect()
            }
        };
        drop(all);
        columns.into_iter().for_each(|(name, values)| found[name] = values);
        Some(found)
    }
    /// Adds a step.
    fn step(&self, router: &Router) {
        let (time, processor) = (router.now(), control::wall::processor_time().as_secs_f64());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = time - std::mem::replace(&mut all.time, time);
        let used = processor - std::mem::replace(&mut all.processor, processor);
        all.wall = control::wall::now().as_secs_f64();
        let mut sum = Rates::default();
        let is_first = all.sum.0.is_empty() && all.interfaces.is_empty();
        all.follow(router, seconds, &mut sum);
        if !is_first && seconds > 0.0 {
            let uses = uses(router, (used / seconds) as f32);
            all.sum.push(sum);
            all.uses.push(uses);
        }
    }
}

impl All {
    /// Notes the counters of interfaces, and their rates; `sum` becomes those of all.
    fn follow(&mut self, router: &Router, seconds: f64, sum: &mut Rates) {
        let mut rings = self.interfaces.values().filter(|of| of.ring.is_some()).count();
        let there: HashSet<u32> = router.interfaces.iter().map(|i| i.index.0).collect();
        self.interfaces.retain(|index, _| there.contains(index));
        for i in router.interfaces.iter() {
            let counts = counts(router, i.index);
            let is_same = self.interfaces.get(&i.index.0).is_some_and(|of| of.name == i.name);
            if !is_same {
                let ring = (rings < MOST).then(Ring::default);
                rings += usize::from(ring.is_some());
                let new = Last { name: i.name.clone(), counts, ring };
                self.interfaces.insert(i.index.0, new);
                continue;
            }
            let Some(of) = self.interfaces.get_mut(&i.index.0) else { continue };
            if seconds <= 0.0 {
                continue;
            }
            let before = std::mem::replace(&mut of.counts, counts);
            // Counters that were cleared meanwhile begin at zero.
            let since = |at: usize| counts[at].checked_sub(before[at]).unwrap_or(counts[at]);
            let rates: Rates = std::array::from_fn(|at| (since(at) as f64 / seconds) as f32);
            sum.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
            if let Some(ring) = &mut of.ring {
                ring.push(rates);
            }
        }
    }
}

fn counts(router: &Router, interface: InterfaceIndex) -> [u64; 5] {
    let now = router.interfaces.values(interface);
    [now.rx.packets, now.rx.bytes, now.tx.packets, now.tx.bytes, now.drops]
}

/// Use of the router's means, of which threads are not asked: the numbers are those of the last
/// update of the statistics.
fn uses(router: &Router, processors: f32) -> Use {
    let number = |name: &str| match router.stats.value(name) {
        Some(Value::Gauge(value) | Value::Scalar(value)) => value as f64,
        _ => 0.0,
    };
    let pools = router.engine.pool_usage_with(&[]);
    let used = |name: &str| number(&format!("/buffer-pools/{name}/used"));
    let shares = pools.iter().map(|pool| used(&pool.name) / pool.limit.max(1) as f64);
    let state = router.published.read();
    let sessions = state.families.get("sessions").map_or(&[][..], |of| &of.samples);
    let sessions = sessions.iter().fold(0.0, |sum, of| sum + of.value);
    let vector = number("/sys/vector_rate");
    [processors, shares.fold(0.0, f64::max) as f32, sessions as f32, vector as f32]
}

/// Begins to keep history.
pub fn start(router: &mut Router) -> History {
    let history = History::default();
    let kept = history.clone();
    let body = move |router: &mut Router, _| {
        kept.step(router);
        Wake::After(STEP)
    };
    router.processes.spawn("http-history-process", Box::new(body));
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_keep_an_hour_and_no_more_memory() {
        let mut ring = Ring::default();
        (0..KEPT + 100).for_each(|step| ring.push([step as f32; 5]));
        assert_eq!((ring.0.len(), ring.0.capacity()), (KEPT, KEPT));
        assert_eq!((ring.0[0][0], ring.0[KEPT - 1][4]), (100.0, 819.0));
        assert!(MOST * KEPT * size_of::<Rates>() < 15 << 20);
    }

    #[test]
    fn columns_are_named_and_in_order() {
        let mut ring = Ring::default();
        ring.push([1.0, 2.0, 3.0, 4.0, 5.0]);
        ring.push([0.12345, 0.0, 0.0, 0.0, 0.0]);
        let columns: BTreeMap<_, _> = ring.columns(RATES).collect();
        assert_eq!(columns["rx"], json!([1.0, 0.123]));
        assert_eq!(columns["drops"], json!([5.0, 0.0]));
    }
}
