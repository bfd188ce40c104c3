//! `l3xc-input-ip4`, `l3xc-input-ip6`: send packets to the load balance of their interface.

use net::ip::Balanced;
use net::prelude::*;

use super::Balances;

/// A version whose packets are cross-connected.
pub trait Crossed: Version {
    /// Node name.
    const NODE: &'static str;
}

impl Crossed for V4 {
    const NODE: &'static str = "l3xc-input-ip4";
}

impl Crossed for V6 {
    const NODE: &'static str = "l3xc-input-ip6";
}

/// Sends packets where their interface is connected to.
#[derive(Clone)]
pub struct Input<V> {
    version: V,
    balances: SlabReader<Balances>,
}

impl<V: Crossed> Input<V> {
    pub(super) fn new(balances: &SlabReader<Balances>) -> Self {
        Self { version: V::SELF, balances: balances.clone() }
    }
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets forwarded.
    #[name("matched")]
    Matched,
    /// packets of an interface without a cross-connect.
    #[name("no match")]
    NoMatch,
}

impl<V: Crossed> Node for Input<V> {
    const NAME: &'static str = V::NODE;
    const EXPLAINABLE: bool = true;
    type Next = Balanced<V>;
    type Error = Infallible;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, version, count) = (frame.epoch(), self.version, frame.len() as u64);
        let (mut known, mut to, mut unmatched) = (u32::MAX, None, 0);
        frame.each(|p| {
            let rx = p.rx();
            if rx != known {
                let balances = self.balances.read(rx, epoch);
                (known, to) = (rx, balances.and_then(|b| b.0[V::INDEX]));
            }
            p.trace(|_| Seen { node: V::NODE, to });
            let Some(balance) = to else {
                unmatched += 1;
                return Ok(Balanced::Continue);
            };
            p.set_adjacency(balance);
            Ok(Balanced::Onward(version))
        });
        frame.count(Count::Matched, count - unmatched);
        frame.count(Count::NoMatch, unmatched);
    }
}

/// Trace of a packet in this node.
struct Seen {
    node: &'static str,
    to: Option<u32>,
}

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, to } = self;
        match to {
            Some(balance) => write!(f, "  {node}: lb-index {balance}"),
            None => write!(f, "  {node}: not connected"),
        }
    }
}
