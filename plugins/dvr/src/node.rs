//! `ip4-dvr-dpo`, `ip6-dvr-dpo`: bring a packet's layer 2 header back and send it to an interface.
//! `ip4-dvr-reinject`, `ip6-dvr-reinject`: give such packets to layer 2 behind the features of
//! routed ones.

use l2::packet::Layer2;

use net::prelude::*;

use super::{Adjacencies, place};

/// A version whose packets leave as the frames they came as.
pub trait Bridged: Version {
    /// The node that paths lead to.
    const TO_INTERFACE: &'static str;
    /// The feature that gives packets to layer 2.
    const REINJECT: &'static str;
}

impl Bridged for V4 {
    const TO_INTERFACE: &'static str = "ip4-dvr-dpo";
    const REINJECT: &'static str = "ip4-dvr-reinject";
}

impl Bridged for V6 {
    const TO_INTERFACE: &'static str = "ip6-dvr-dpo";
    const REINJECT: &'static str = "ip6-dvr-reinject";
}

/// Sends packets to the interface that they have the number of.
#[derive(Clone)]
pub struct ToInterface<V> {
    version: V,
    led: SlabReader<Adjacencies>,
}

/// Edges of [`ToInterface`] and [`Reinject`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To layer 2.
    #[to("l2-output")]
    Layer2,
    /// To a feature of routed packets.
    #[dynamic]
    Feature(Slot),
    /// On among those.
    #[along]
    Continue,
}

/// Turns a packet back into a frame; `None` if it was not received as one.
#[inline(always)]
fn unroute(p: &mut Buffer<'_>) -> Option<()> {
    if !p.flags().has(Flags::L2) {
        return None;
    }
    let header_len = p.offset().checked_sub(p.l2_offset()).filter(|len| *len > 0)?;
    p.set_l3_offset(p.offset());
    p.add_flags(Flags::L3);
    p.prepend(header_len as usize).map(|_| ())
}

impl<V: Bridged> Node for ToInterface<V> {
    const NAME: &'static str = V::TO_INTERFACE;
    const COUNTED_AT: &'static str = V::NODES.input;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = V::Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, arc) = (frame.epoch(), frame.start(V::OUTPUT_ARC));
        let (mut known, mut led) = (u32::MAX, None);
        let _ = self.version;
        frame.each(|p| {
            let tx = p.adjacency();
            p.trace(|_| Seen { node: V::TO_INTERFACE, tx });
            if tx != known {
                (known, led) = (tx, self.led.read(tx, epoch));
            }
            let adjacencies = led.ok_or(V::DROPPED)?;
            unroute(p).ok_or(V::DROPPED)?;
            p.set_tx(tx);
            p.set_adjacency(adjacencies[place(V::LINK)]);
            Ok(Next::Feature(arc.first(tx).ok_or(V::DROPPED)?))
        });
    }
}

/// Gives packets of [`ToInterface`] to layer 2.
#[derive(Clone)]
pub struct Reinject<V> {
    version: V,
    led: SlabReader<Adjacencies>,
}

impl<V: Bridged> Node for Reinject<V> {
    const NAME: &'static str = V::REINJECT;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let _ = self.version;
        frame.each(|p| {
            let tx = p.tx();
            // Routed packets never have the adjacency of a whole network here.
            let led = self.led.read(tx, epoch).map(|all| all[place(V::LINK)]);
            if led != Some(p.adjacency()) {
                return Ok(Next::Continue);
            }
            p.trace(|_| Seen { node: V::REINJECT, tx });
            p.set_payload(Layer2::default());
            Ok(Next::Layer2)
        });
    }
}

/// Trace of a packet in these nodes.
struct Seen {
    node: &'static str,
    tx: u32,
}

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}: sw_if_index {}", self.node, self.tx)
    }
}

pub(super) fn add<V: Bridged>(
    router: &mut Router,
    led: &SlabReader<Adjacencies>,
) -> Result<(), BuildError> {
    let version = V::SELF;
    router.engine.add_feature(V::OUTPUT_ARC, Reinject { version, led: led.clone() })?;
    router.engine.add(ToInterface { version, led: led.clone() })?;
    Ok(())
}
