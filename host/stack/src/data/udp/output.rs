//! `udp4-output`, `udp6-output`: pass the router's own datagrams to the lookup.

use std::convert::Infallible;

use graph::{Frame, Node};
use net::ip::Headers;

use super::super::version::HostVersion;
use super::Counted;

/// Sends datagrams to the lookup.
#[derive(Clone)]
pub struct Output<V>(pub V);

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: HostVersion> {
    /// The lookup.
    #[to(V::NODES.lookup)]
    Lookup(V),
}

impl<V: HostVersion> Node for Output<V> {
    const NAME: &'static str = ["udp4-output", "udp6-output"][V::INDEX];
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let sent = frame.len() as u64;
        frame.each(|p| {
            p.trace(Headers::<V>::of);
            Ok(Next::Lookup(self.0))
        });
        frame.count_as(Counted::PktsSent, sent);
    }
}
