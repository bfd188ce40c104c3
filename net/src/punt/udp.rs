//! `ip4-udp-punt`, `ip6-udp-punt`: UDP packets to ports that are punted.

use std::convert::Infallible;

use graph::{Frame, Node};

use super::counted::Counted;
use crate::ip::{Headers, Version};

/// Gives packets whose current bytes start after their UDP header to punting, from their IP header
/// on.
#[derive(Clone)]
pub struct UdpPunt<V>(pub V);

/// Edges of [`UdpPunt`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Version> {
    /// To the node that receives punted packets.
    #[to(V::NODES.punt)]
    Punt(V),
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
