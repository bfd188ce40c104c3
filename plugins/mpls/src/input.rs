//! `mpls-input`, `mpls-not-enabled`: received packets; `mpls-drop`, `mpls-punt`: the ends.

use graph::arc::{FeatureArc, Side};
use net::interface::Counters;
use net::prelude::*;
use wire::mpls::{Entry, stack};

use super::Enabled;
use super::error::Error;
use super::fast_path::SwapPath;

/// Features on received labelled packets.
pub static MPLS_INPUT: FeatureArc = FeatureArc {
    name: "mpls-input",
    starts: &["mpls-input"],
    order: &["vlan-mpls-qos-record", "mpls-qos-record", "mpls-not-enabled"],
    end: "mpls-lookup",
    side: Side::Receive,
};

/// Checks labelled packets.
#[derive(Clone)]
pub struct Input {
    /// The table of each interface.
    pub(super) enabled: SlabReader<Enabled>,
    /// Packets by interface.
    pub(super) counters: Arc<Counters>,
    pub(super) swap: SwapPath,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To the lookup.
    #[to("mpls-lookup")]
    Lookup,
    /// The interface takes no labelled packets.
    #[to("mpls-not-enabled")]
    NotEnabled,
    /// A feature.
    #[dynamic]
    Feature(Slot),
}

impl Node for Input {
    const NAME: &'static str = "mpls-input";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let arc = frame.start(&MPLS_INPUT);
        let counters = self.counters.mpls.row(thread);
        frame.passes(
            #[inline(always)]
            |packets| {
                let (mut known, mut table) = (u32::MAX, None);
                packets.look(0..packets.all().end.min(1), |_, p| {
                    known = p.rx();
                    table = self.enabled.read(known, epoch).and_then(|e| e.0);
                });
                let is_tried = match table {
                    Some(fib) => self.swap.take(packets, (known, fib), (epoch, thread)),
                    None => false,
                };
                if !is_tried {
                    packets.leave(packets.all());
                }
                packets.others(packets.all(), |_, p| {
                    let rx = p.rx();
                    if rx != known {
                        (known, table) = (rx, self.enabled.read(rx, epoch).and_then(|e| e.0));
                    }
                    if let Some(counter) = counters.get(rx as usize) {
                        counter.add(1);
                    }
                    p.trace(Shown::of);
                    let entry = p.header::<Entry>().ok_or(Error::NoLabel)?;
                    if entry.ttl() == 0 {
                        return Err(Error::TtlExpired);
                    }
                    let Some(table) = table else { return Ok(Next::NotEnabled) };
                    p.set_fib(table);
                    Ok(arc.first(rx).map_or(Next::Lookup, Next::Feature))
                });
            },
        );
    }
}

/// Drops received packets where MPLS is not enabled.
#[derive(Clone)]
pub struct NotEnabled;

impl Node for NotEnabled {
    const NAME: &'static str = "mpls-not-enabled";
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = net::ip::NotEnabledError;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(Shown::of);
            Err(net::ip::NotEnabledError::NotEnabled)
        });
    }
}

/// Ends dropped packets, or gives those to control that are for it (`PUNT`).
#[derive(Clone)]
pub struct End<const PUNT: bool>;

/// Edges of [`End`].
#[derive(Clone, Copy)]
pub struct Ends<const PUNT: bool>;

impl<const PUNT: bool> graph::Next for Ends<PUNT> {
    const EDGES: &'static [graph::Edge] =
        &[graph::Edge { to: if PUNT { "error-punt" } else { "error-drop" }, payload: "" }];
    #[inline(always)]
    fn slot(self, _: &graph::arc::Along<'_>, _: &mut Buffer<'_>) -> u32 {
        0
    }
}

impl<const PUNT: bool> Node for End<PUNT> {
    const NAME: &'static str = if PUNT { "mpls-punt" } else { "mpls-drop" };
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Ends<PUNT>;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(Shown::of);
            Ok(Ends)
        });
    }
}

/// The label stack of a traced packet.
pub(super) struct Shown(Vec<Entry>);

impl Shown {
    #[cold]
    pub fn of(p: &Buffer<'_>) -> Self {
        Self(stack(p.bytes()).take(16).collect())
    }
}

impl Record for Shown {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("  MPLS:")?;
        self.0.iter().try_for_each(|e| {
            let (label, exp, eos, ttl) = (e.label(), e.exp(), u8::from(e.is_last()), e.ttl());
            write!(f, " label {label} exp {exp} eos {eos} ttl {ttl}")
        })
    }
}
