//! `show drops`: which packets are dropped, where, why and how fast, with some of them.
//!
//! What a node counts as a reason may be more than what reaches the drop node: a driver loses
//! packets before they have a buffer, and those that an ICMP error answers are not dropped. Both
//! are shown, apart.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use control::cli::{Cli, Command, Error, Output, hex};
use graph::{CounterText, NodeIndex};
use infra::order::Order;
use serde::Serialize;

use super::nodes::Drop;
use super::tally::{OTHERS, Pair, Sample};
use crate::router::{Parts, Router};

/// Samples of a reason that are kept.
const KEPT: usize = 4;
/// Least time that rates are reckoned over. Seconds.
const SHORTEST: f64 = 1.0;

/// Show dropped packets by node and reason; rates are since the last display.
#[derive(Command)]
#[command("show drops")]
struct ShowDrops {
    /// include the last packets of each reason
    verbose: bool,
}

/// Reset drop counters and discard samples.
#[derive(Command)]
#[command("clear drops")]
struct ClearDrops;

/// State of control.
#[derive(Default)]
pub(super) struct State {
    /// Of each reason, the newest last.
    pub samples: HashMap<u32, VecDeque<Sample>>,
    /// Values of counters when they were cleared.
    base: HashMap<u32, u64>,
    cleared: f64,
    /// Counts at the last looks, the oldest first.
    looks: VecDeque<Look>,
}

/// Counts at a time.
#[derive(Clone, Default)]
struct Look {
    at: f64,
    /// By reason and interface; `None` for what no drop node has seen.
    packets: HashMap<(u32, Option<u32>), u64>,
}

/// Dropped packets.
#[derive(Clone, Debug, Serialize)]
pub struct Dropped {
    /// Seconds that packets are counted.
    pub seconds: f64,
    /// Seconds that rates are of.
    pub interval: f64,
    /// The fastest first.
    pub reasons: Vec<Reason>,
    #[serde(skip)]
    is_verbose: bool,
}

/// Packets that a node drops for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// The node that counts them.
    pub node: String,
    /// Name of the counter.
    pub name: &'static str,
    /// Its text.
    pub reason: &'static str,
    /// Packets, all together.
    pub packets: u64,
    /// Packets a second.
    pub rate: f64,
    /// Packets dropped, by receive interface.
    pub interfaces: Vec<OnInterface>,
    /// Further ones of the counter: lost before they had a buffer or while they were sent,
    /// or answered with an ICMP error instead.
    pub elsewhere: u64,
    /// The last ones.
    pub samples: Vec<Shown>,
}

/// Packets received on an interface.
#[derive(Clone, Debug, Serialize)]
pub struct OnInterface {
    /// Its name; empty for those of interfaces that were too many to count apart.
    pub interface: String,
    /// Packets.
    pub packets: u64,
    /// Packets a second.
    pub rate: f64,
}

/// A dropped packet.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Seconds ago.
    pub ago: f64,
    /// Receive interface.
    pub interface: String,
    /// Bytes it had.
    pub length: usize,
    /// Its headers.
    pub headers: Vec<String>,
    /// First bytes.
    pub hex: String,
}

impl Look {
    fn rate(&self, key: (u32, Option<u32>), packets: u64, seconds: f64) -> f64 {
        let before = self.packets.get(&key).copied().unwrap_or(0);
        packets.saturating_sub(before) as f64 / seconds.max(f64::EPSILON)
    }
}

impl State {
    /// The look that rates are reckoned from: the newest that is old enough.
    fn since(&self, now: f64) -> Look {
        let old = self.looks.iter().rev().find(|look| now - look.at >= SHORTEST);
        old.cloned().unwrap_or_else(|| Look { at: self.cleared, ..Look::default() })
    }
    fn note(&mut self, look: Look) {
        // The last one stays while it is too new to reckon from, and so does one before it.
        self.looks.push_back(look);
        let newest = self.looks.back().map_or(0.0, |look| look.at);
        while self.looks.get(1).is_some_and(|next| newest - next.at >= SHORTEST) {
            self.looks.pop_front();
        }
    }
}

/// Whether packets that end for this reason have done what they came for.
fn is_consumed(reason: &CounterText) -> bool {
    reason.severity == "info" && reason.text.ends_with(" received")
}

impl Router {
    /// Packets dropped since the start or [`Router::clear_drops`].
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn dropped(&mut self) -> Result<Dropped, graph::NoAnswer> {
        let now = self.now();
        let counts = self.drop_counts(now)?;
        let state = self.own_mut::<State>();
        let then = state.since(now);
        let (cleared, interval) = (state.cleared, now - then.at);
        let mut found: HashMap<u32, Reason> = HashMap::new();
        for ((error, rx), packets) in &counts.packets {
            let Some((node, text)) = self.engine.counter_text(*error) else { continue };
            if is_consumed(&text) {
                continue;
            }
            let rate = then.rate((*error, *rx), *packets, interval);
            let reason = found.entry(*error).or_insert_with(|| Reason {
                node: node.to_owned(),
                name: text.name,
                reason: text.text,
                packets: 0,
                rate: 0.0,
                interfaces: Vec::new(),
                elsewhere: 0,
                samples: self.samples_of(*error, now),
            });
            reason.packets += packets;
            reason.rate += rate;
            match rx {
                None => reason.elsewhere = *packets,
                Some(rx) => {
                    let interface = self.interfaces.name(*rx).to_owned();
                    let interface = if *rx == OTHERS { String::new() } else { interface };
                    reason.interfaces.push(OnInterface { interface, packets: *packets, rate });
                }
            }
        }
        let mut reasons: Vec<_> = found.into_values().collect();
        for reason in &mut reasons {
            reason.interfaces.order_by(|a, b| {
                b.packets.cmp(&a.packets).then_with(|| a.interface.cmp(&b.interface))
            });
        }
        reasons.order_by(|a, b| {
            let fastest = b.rate.total_cmp(&a.rate).then(b.packets.cmp(&a.packets));
            fastest.then_with(|| (&a.node, a.name).cmp(&(&b.node, b.name)))
        });
        self.own_mut::<State>().note(counts);
        Ok(Dropped { seconds: now - cleared, interval, reasons, is_verbose: false })
    }
    /// Resets drop counters, and discards samples.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn clear_drops(&mut self) -> Result<(), graph::NoAnswer> {
        self.on_drop_nodes(|drop| drop.tally.clear())?;
        let base = self.engine.counters().filter(|c| c.3 > 0).map(|c| (c.0, c.3)).collect();
        let cleared = self.now();
        *self.own_mut::<State>() = State { base, cleared, ..State::default() };
        Ok(())
    }
    fn on_drop_nodes<R: Send + 'static>(
        &mut self,
        work: impl Fn(&mut Drop) -> R + Clone + Send + 'static,
    ) -> Result<Vec<R>, graph::NoAnswer> {
        let node = self.engine.index_of("drop").unwrap_or(NodeIndex(u32::MAX));
        let threads = self.engine.data_threads();
        threads.map(|thread| self.engine.with_node(thread, node, work.clone())).collect()
    }
    fn drop_counts(&mut self, at: f64) -> Result<Look, graph::NoAnswer> {
        let mut packets: HashMap<(u32, Option<u32>), u64> = HashMap::new();
        let mut seen: HashMap<u32, u64> = HashMap::new();
        for pair in self.on_drop_nodes(|drop| drop.tally.pairs())?.into_iter().flatten() {
            let Pair { error, rx, packets: count } = pair;
            *packets.entry((error, Some(rx))).or_default() += count;
            *seen.entry(error).or_default() += count;
        }
        let base = &self.own::<State>().base;
        for (index, _, text, value) in self.engine.counters() {
            // Cleared since, it restarted.
            let before = base.get(&index).copied().filter(|before| *before <= value);
            let value = value - before.unwrap_or(0);
            let elsewhere = value.saturating_sub(seen.get(&index).copied().unwrap_or(0));
            if text.severity == "error" && elsewhere > 0 {
                packets.insert((index, None), elsewhere);
            }
        }
        Ok(Look { at, packets })
    }
    fn samples_of(&self, error: u32, now: f64) -> Vec<Shown> {
        let kept = self.own::<State>().samples.get(&error).into_iter().flatten();
        let shown = kept.map(|sample| Shown {
            ago: (now - sample.at).max(0.0),
            interface: self.interfaces.name(sample.rx).to_owned(),
            length: sample.len,
            headers: sample.to_string().lines().map(|line| line.trim().to_owned()).collect(),
            hex: hex(sample.bytes()),
        });
        shown.collect()
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, interval, reasons, is_verbose } = self;
        if reasons.is_empty() {
            return writeln!(f, "no packets were dropped in {seconds:.0} s");
        }
        writeln!(f, "in {seconds:.0} s; rates are of the last {interval:.1} s")?;
        writeln!(f, "{:>12} {:>12}  {:<24} Reason", "Packets", "per s", "Node")?;
        for r in reasons {
            writeln!(f, "{:>12} {:>12.1}  {:<24} {}", r.packets, r.rate, r.node, r.reason)?;
            let on = r.interfaces.iter().map(|on| {
                let name = if on.interface.is_empty() { "others" } else { &on.interface };
                format!("{} on {name} ({:.1}/s)", on.packets, on.rate)
            });
            let rest = (r.elsewhere > 0).then(|| format!("{} not by a drop node", r.elsewhere));
            let parts: Vec<_> = on.chain(rest).collect();
            writeln!(f, "{:27}{}", "", parts.join(", "))?;
            for sample in r.samples.iter().filter(|_| *is_verbose) {
                let Shown { ago, interface, length, headers, .. } = sample;
                writeln!(f, "{:27}{ago:.1} s ago on {interface}, {length} bytes:", "")?;
                headers.iter().try_for_each(|line| writeln!(f, "{:29}{line}", ""))?;
            }
        }
        Ok(())
    }
}

pub(super) fn register(parts: &mut Parts) {
    parts.router.insert(State::default());
    parts.router.events.handle(|router: &mut Router, sample: Sample| {
        let samples = &mut router.own_mut::<State>().samples;
        let of = samples.entry(sample.error).or_default();
        of.push_back(sample);
        while of.len() > KEPT {
            of.pop_front();
        }
    });
    commands(&mut parts.cli);
}

fn commands(cli: &mut Cli<Router>) {
    let refused = |e: graph::NoAnswer| Error::new(e.to_string());
    cli.command(move |router: &mut Router, show: ShowDrops| {
        let dropped = router.dropped().map_err(refused)?;
        Ok(Output::of(Dropped { is_verbose: show.verbose, ..dropped }))
    });
    cli.command(move |router: &mut Router, _: ClearDrops| router.clear_drops().map_err(refused));
}
