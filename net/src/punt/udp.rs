//! `ip4-udp-punt`, `ip6-udp-punt`: UDP packets to ports that are punted.

use std::convert::Infallible;

use graph::arc::Along;
use graph::{Buffer, Edge, Frame, Node};

use super::counted::Counted;
use crate::ip::{Headers, Version};

/// Gives packets whose current bytes start behind their UDP header to punting, from their IP header
/// on.
#[derive(Clone)]
pub struct UdpPunt<V>(pub V);

/// Edges of [`UdpPunt`].
#[derive(Clone, Copy)]
pub enum Next<V> {
    /// To who gets what is punted.
    Punt(V),
}

impl<V: Version> graph::Next for Next<V> {
    const EDGES: &'static [Edge] = &[Edge { to: V::NODES.punt, payload: "" }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        let Self::Punt(_) = self;
        0
    }
}

impl<V: Version> Node for UdpPunt<V> {
    const NAME: &'static str = V::NODES.udp_punt;
    const EXPLAINABLE: bool = true;
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            let back =
                usize::try_from(p.offset() - p.l3_offset()).map_err(|_| Counted::Descriptor)?;
            p.prepend(back).ok_or(Counted::Descriptor)?; // what was passed over is still there
            p.trace(Headers::<V>::of);
            p.error(Counted::Port);
            Ok(Next::Punt(self.0))
        });
    }
}
