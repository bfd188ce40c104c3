//! `span-input`, `span-output`, `span-l2-input`, `span-l2-output`: copies of frames to mirrors.

use l2::packet::Layer2;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::gso;
use net::interface::{DEVICE_INPUT, EdgesReader, INTERFACE_OUTPUT};
use net::ip::add_with_outputs;
use net::prelude::*;

use super::Mirrors;

/// A copy made for a mirror, of which no mirror makes another one.
pub const MIRRORED: Flags = Flags::feature(0);
/// The nodes: at devices and on layer 2, of what is received and sent.
pub const NAMES: [&str; 4] = ["span-input", "span-output", "span-l2-input", "span-l2-output"];

/// Copies frames on receive (`OUT` is false) or transmit.
#[derive(Clone)]
pub struct Mirror<const OUT: bool> {
    mirrors: SlabReader<Mirrors>,
    edges: EdgesReader,
}

/// As [`Mirror`], of bridged and cross-connected frames.
#[derive(Clone)]
pub struct MirrorLayer2<const OUT: bool> {
    mirrors: SlabReader<Mirrors>,
}

/// Edges of [`Mirror`].
#[derive(Clone, Copy, graph::Next)]
pub enum To {
    /// `<interface>-output` of the mirror.
    #[dynamic]
    Output(Slot),
    /// The frame itself.
    #[along]
    On,
}

/// Edges of [`MirrorLayer2`].
#[derive(Clone, Copy, graph::Next)]
pub enum ToLayer2 {
    /// The mirror, with its rewriting of tags.
    #[to("l2-output")]
    Output,
    /// The frame itself.
    #[along]
    On,
}

/// Counters of both nodes.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// SPAN incoming packets processed.
    #[name("SPAN incoming packets processed")]
    Processed,
}

impl<const OUT: bool> Node for Mirror<OUT> {
    const NAME: &'static str = NAMES[OUT as usize];
    const EXPLAINABLE: bool = true;
    type Next = To;
    type Error = Infallible;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, count) = (frame.epoch(), frame.len() as u64);
        let edges = self.edges.read(epoch);
        frame.each(|p| {
            let from = if OUT { p.tx() } else { p.rx() };
            let mirrors = self.mirrors.read(from, epoch);
            if let Some(Mirrors([lists, _])) = mirrors {
                copies(p, &lists[usize::from(OUT)], |to| edges.to(to).map(To::Output));
            }
            Ok(To::On)
        });
        frame.count(Count::Processed, count);
    }
}

impl<const OUT: bool> Node for MirrorLayer2<OUT> {
    const NAME: &'static str = NAMES[2 + OUT as usize];
    const EXPLAINABLE: bool = true;
    type Next = ToLayer2;
    type Error = Infallible;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, count) = (frame.epoch(), frame.len() as u64);
        frame.each(|p| {
            let from = if OUT { p.tx() } else { p.rx() };
            let mirrors = self.mirrors.read(from, epoch);
            if let Some(Mirrors([_, lists])) = mirrors {
                copies(p, &lists[usize::from(OUT)], |_| Some(ToLayer2::Output));
            }
            Ok(ToLayer2::On)
        });
        frame.count(Count::Processed, count);
    }
}

/// Sends a copy of a frame to each mirror, as far as there are buffers.
#[inline(never)]
fn copies<N: Node>(p: &mut Packet<'_, N>, mirrors: &[u32], edge: impl Fn(u32) -> Option<N::Next>) {
    if mirrors.is_empty() || p.flags().has(MIRRORED) {
        return;
    }
    gso::with_bytes(p, |p, bytes| {
        for to in mirrors {
            if let Some(edge) = edge(*to) {
                // Without buffers there is no copy; the frame itself goes on.
                let _ = copy(p, bytes, *to, edge);
            }
        }
    });
}

fn copy<N: Node>(p: &mut Packet<'_, N>, bytes: &[u8], to: u32, edge: N::Next) -> Option<()> {
    let mut payload = p.payload::<Layer2>();
    // No split horizon keeps a mirror from its copy.
    payload.group = 0;
    let header = [p.l2_offset(), p.l3_offset()].map(|at| at - p.offset());
    let is_known = p.flags().has(Flags::L2);
    p.trace(|_| Mirrored(to));
    let mut new = gso::copy(p, bytes)?;
    let here = new.offset();
    if is_known {
        new.set_l2_offset(here + header[0]);
        new.set_l3_offset(here + header[1]);
        new.add_flags(Flags::L2.with(Flags::L3));
    }
    new.set_payload(payload);
    new.add_flags(MIRRORED);
    new.set_tx(to);
    new.send(edge);
    Some(())
}

/// Trace of a frame in this node.
struct Mirrored(u32);

impl Record for Mirrored {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  SPAN: mirrored to {}", names.name("interface", self.0))
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, mirrors: &SlabReader<Mirrors>) -> Result<(), Refused> {
    let of = || mirrors.clone();
    router.engine.place(&DEVICE_INPUT, NAMES[0]).map_err(refuse)?;
    add_with_outputs(router, |edges| Mirror::<false> { mirrors: of(), edges })?;
    router.engine.place(&INTERFACE_OUTPUT, NAMES[1]).map_err(refuse)?;
    add_with_outputs(router, |edges| Mirror::<true> { mirrors: of(), edges })?;
    let received = MirrorLayer2::<false> { mirrors: of() };
    router.engine.add_feature(&L2_INPUT, received).map_err(refuse)?;
    router
        .engine
        .add_feature(&L2_OUTPUT, MirrorLayer2::<true> { mirrors: of() })
        .map_err(refuse)?;
    Ok(())
}
