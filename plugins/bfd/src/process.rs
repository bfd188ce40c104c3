//! `bfd-process`: packets of sessions on their way out. Those with an adjacency go over it, others
//! are routed. It is a node so that they can be traced.

use net::prelude::*;

/// Leads packets out.
#[derive(Clone)]
pub struct Process;

/// Edges of [`Process`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To a neighbour, over IPv4.
    #[to(V4::NODES.rewrite)]
    Rewrite4,
    /// To a neighbour, over IPv6.
    #[to(V6::NODES.rewrite)]
    Rewrite6,
    /// By the routes of IPv4.
    #[to("ip4-lookup")]
    Lookup4,
    /// By the routes of IPv6.
    #[to("ip6-lookup")]
    Lookup6,
}

impl Node for Process {
    const NAME: &'static str = "bfd-process";
    const STARTS_TRACES: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            p.start_trace(epoch);
            let is_ip6 = p.bytes().first().is_some_and(|first| first >> 4 == 6);
            let next = match (p.adjacency() != 0, is_ip6) {
                (true, false) => Next::Rewrite4,
                (true, true) => Next::Rewrite6,
                (false, false) => Next::Lookup4,
                (false, true) => Next::Lookup6,
            };
            p.trace(|p| Sent { len: p.total_len(), adjacency: p.adjacency() });
            Ok(next)
        });
    }
}

/// Trace of a packet.
struct Sent {
    len: usize,
    adjacency: u32,
}

impl Record for Sent {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} bytes", self.len)?;
        match self.adjacency {
            0 => f.write_str(" by routes"),
            adjacency => write!(f, " over adjacency {adjacency}"),
        }
    }
}
