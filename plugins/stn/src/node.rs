//! `stn-ip4-punt`, `stn-ip6-punt`: send punted packets for an address with a rule out of the rule's
//! interface.

use graph::arc::FeatureArc;
use net::prelude::*;

/// A version whose packets are handed on.
pub trait Handing: Version {
    /// Node name.
    const NODE: &'static str;
    /// Feature arc.
    const ARC: &'static FeatureArc = Self::PUNT_ARC;
    /// The destination address of a packet.
    fn dst(p: &Buffer<'_>) -> Option<IpAddr>;
}

impl Handing for V4 {
    const NODE: &'static str = "stn-ip4-punt";
    fn dst(p: &Buffer<'_>) -> Option<IpAddr> {
        p.header::<ip4::Header>().map(|ip| ip.dst_addr().into())
    }
}

impl Handing for V6 {
    const NODE: &'static str = "stn-ip6-punt";
    fn dst(p: &Buffer<'_>) -> Option<IpAddr> {
        p.header::<ip6::Header>().map(|ip| ip.dst_addr().into())
    }
}

/// Hands packets to interfaces.
#[derive(Clone)]
pub struct ToInterface<V> {
    rules: Reader<HashMap<IpAddr, u32>>,
    version: PhantomData<V>,
}

impl<V> ToInterface<V> {
    pub(super) fn new(rules: Reader<HashMap<IpAddr, u32>>) -> Self {
        Self { rules, version: PhantomData }
    }
}

/// Edges of [`ToInterface`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Out of the interface.
    #[to("interface-output")]
    Output,
    /// No rule.
    #[along]
    Along,
}

/// Drops of [`ToInterface`]: none.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no error.
    #[name("no error")]
    None,
}

impl<V: Handing> Node for ToInterface<V> {
    const NAME: &'static str = V::NODE;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let rules = self.rules.read(frame.epoch());
        frame.each(|p| {
            let rule = V::dst(p).and_then(|dst| rules.get(&dst).copied());
            p.trace(|_| RuleTrace(rule));
            Ok(match rule.filter(|_| give_back(p)) {
                Some(interface) => {
                    p.set_tx(interface);
                    Next::Output
                }
                None => Next::Along,
            })
        });
    }
}

/// Addresses of the frames: of the host, which is to have it, and of the router. As in VPP.
const ADDRESSES: [u8; 12] = [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1];

/// Puts the layer 2 header back that a packet came with, with other addresses; false when it came
/// with none.
fn give_back(p: &mut Buffer<'_>) -> bool {
    let back = usize::try_from(p.offset() - p.l2_offset()).ok();
    let back = back.filter(|_| p.flags().has(Flags::L2)).and_then(|n| p.prepend(n));
    let addresses = back.and_then(|header| header.first_chunk_mut());
    addresses.map(|addresses| *addresses = ADDRESSES).is_some()
}

/// The trace record of the node.
struct RuleTrace(Option<u32>);

impl Record for RuleTrace {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(interface) => write!(f, "  rule to {}", names.name("interface", interface)),
            None => f.write_str("  no rule"),
        }
    }
}
