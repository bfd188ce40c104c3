//! `l2-output`: output processing of every frame; `l2-input-vtr` and `l2-efp-filter`.

use net::ethernet::{L2_OUTPUT, Tagged};
use net::interface::{EdgesReader, Port};
use net::prelude::*;

use super::packet::{FrameTrace, Layer2};
use super::rewrite::Edit;
use super::state::{PortSeen, Tables};

/// Sends frames to the output of their interface.
#[derive(Clone)]
pub struct Output {
    pub(super) tables: Tables,
    /// Edges to the output of each interface.
    pub(super) edges: EdgesReader,
}

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// `<interface>-output`, or a feature.
    #[dynamic]
    To(Slot),
}

/// Drops of [`Output`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// L2 output drops.
    #[name("L2 output drops")]
    Drop,
    /// L2 split horizon drops.
    #[name("L2 split horizon drops")]
    SplitHorizon,
    /// L2 Output interface not valid.
    #[name("L2 Output interface not valid")]
    NotValid,
    /// L2 output tag rewrite drops.
    #[name("L2 output tag rewrite drops")]
    Rewrite,
    /// L2 EFP filter pre-rewrite drops.
    #[name("L2 EFP filter pre-rewrite drops")]
    Filter,
}

/// Counters of [`Output`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// L2 output packets.
    #[name("L2 output packets")]
    Packets,
}

/// Whether a frame of a group goes back to it.
#[inline(always)]
fn goes_back(group: u8, port: &PortSeen) -> bool {
    group != 0 && group == port.group
}

/// Whether a port sends a frame of a domain and a group as it is; without a port it is only
/// connected to, and has no part in layer 2 itself.
#[inline(always)]
pub fn is_usual(port: Option<&PortSeen>, domain: u16, group: u8) -> bool {
    match port {
        Some(port) => port.is_plain && !goes_back(group, port),
        None => domain == 0,
    }
}

fn edit(p: &mut Buffer<'_>, edits: &[Edit]) -> Option<()> {
    edits.iter().try_for_each(|edit| edit.apply(p))
}

impl Node for Output {
    const NAME: &'static str = "l2-output";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, arc) = (frame.epoch(), frame.start(&L2_OUTPUT));
        let count = frame.len() as u64;
        let (ports, edges) = (&self.tables.ports, self.edges.read(epoch));
        let (mut known, mut port, mut edge) = (u32::MAX, None, None);
        let first = |tx: u32| {
            let feature = if arc.is_used() { arc.first(tx) } else { None };
            feature.or_else(|| edges.to(tx)).map(Next::To)
        };
        frame.passes(|packets| {
            packets.usual(packets.all(), |_, p| {
                let tx = p.tx();
                if tx != known {
                    (known, port, edge) = (tx, ports.read(tx, epoch), first(tx));
                }
                let of = p.payload::<Layer2>();
                if is_usual(port, of.domain, of.group) { edge } else { None }
            });
            packets.others(packets.all(), |_, p| {
                let tx = p.tx();
                p.trace(|p| FrameTrace::of("l2-output", tx, p));
                let Some(port) = ports.read(tx, epoch) else {
                    let is_connected = p.payload::<Layer2>().domain == 0;
                    let edge = first(tx).filter(|_| is_connected);
                    return edge.ok_or(Error::NotValid);
                };
                if port.is_blocked {
                    return Err(Error::Drop);
                }
                if goes_back(p.payload::<Layer2>().group, port) {
                    return Err(Error::SplitHorizon);
                }
                let is_undone = |e: &Edit| e.is_undone_by(p);
                if port.is_filtered && !port.input.iter().all(is_undone) {
                    return Err(Error::Filter);
                }
                edit(p, &port.output).ok_or(Error::Rewrite)?;
                first(tx).ok_or(Error::NotValid)
            });
        });
        frame.count(Count::Packets, count);
    }
}

/// `l2-input-vtr`: rewrites the tags of received frames.
#[derive(Clone)]
pub struct InputRewrite {
    pub(super) tables: Tables,
}

/// Drops of [`InputRewrite`].
#[derive(Clone, Copy, graph::Reason)]
pub enum RewriteError {
    /// L2 input tag rewrite drops.
    #[name("L2 input tag rewrite drops")]
    Drop,
}

/// Counters of [`InputRewrite`].
#[derive(Clone, Copy, graph::Count)]
pub enum RewriteCount {
    /// L2 inverter packets.
    #[name("L2 inverter packets")]
    Packets,
}

impl Node for InputRewrite {
    const NAME: &'static str = "l2-input-vtr";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Continue;
    type Error = RewriteError;
    type Count = RewriteCount;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, count) = (frame.epoch(), frame.len() as u64);
        frame.each(|p| {
            let rx = p.rx();
            let port = self.tables.ports.read(rx, epoch).ok_or(RewriteError::Drop)?;
            edit(p, &port.input).ok_or(RewriteError::Drop)?;
            p.trace(|p| FrameTrace::of("l2-input-vtr", rx, p));
            Ok(Continue)
        });
        frame.count(RewriteCount::Packets, count);
    }
}

/// `l2-efp-filter`: lets out only frames with tags that their interface takes in.
#[derive(Clone)]
pub struct Filter {
    pub(super) interfaces: SlabReader<Port>,
}

/// Drops of [`Filter`].
#[derive(Clone, Copy, graph::Reason)]
pub enum FilterError {
    /// L2 EFP filter post-rewrite drops.
    #[name("L2 EFP filter post-rewrite drops")]
    Drop,
}

/// Counters of [`Filter`].
#[derive(Clone, Copy, graph::Count)]
pub enum FilterCount {
    /// L2 EFP filter packets.
    #[name("L2 EFP filter packets")]
    Packets,
}

impl Node for Filter {
    const NAME: &'static str = "l2-efp-filter";
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = FilterError;
    type Count = FilterCount;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, count) = (frame.epoch(), frame.len() as u64);
        frame.each(|p| {
            let tx = p.tx();
            let sup = self.interfaces.read(tx, epoch).map_or(tx, |port| port.sup.0);
            let subs = self.interfaces.read(sup, epoch).and_then(|port| port.subs.as_ref());
            let tagged = Tagged::read(p.bytes()).ok_or(FilterError::Drop)?;
            let taken = subs.and_then(|subs| subs.find(&tagged)).unwrap_or(sup);
            if taken == tx { Ok(Continue) } else { Err(FilterError::Drop) }
        });
        frame.count(FilterCount::Packets, count);
    }
}

/// `l2-patch`: all frames of an interface leave by another one, untouched, before anything else.
#[derive(Clone)]
pub struct Patch {
    pub(super) peers: SlabReader<Patched>,
    pub(super) edges: EdgesReader,
}

/// The other end of a patched interface; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patched(pub Option<net::InterfaceIndex>);

/// Drops of [`Patch`].
#[derive(Clone, Copy, graph::Reason)]
pub enum PatchError {
    /// L2 patch misconfigured drops.
    #[name("L2 patch misconfigured drops")]
    Misconfigured,
}

/// Counters of [`Patch`].
#[derive(Clone, Copy, graph::Count)]
pub enum PatchCount {
    /// L2 patch packets.
    #[name("L2 patch packets")]
    Packets,
}

impl Node for Patch {
    const NAME: &'static str = "l2-patch";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = PatchError;
    type Count = PatchCount;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, count) = (frame.epoch(), frame.len() as u64);
        let edges = self.edges.read(epoch);
        frame.each(|p| {
            let peer = self.peers.read(p.rx(), epoch).and_then(|peer| peer.0);
            let to = peer.ok_or(PatchError::Misconfigured)?.0;
            p.set_tx(to);
            edges.to(to).map(Next::To).ok_or(PatchError::Misconfigured)
        });
        frame.count(PatchCount::Packets, count);
    }
}
