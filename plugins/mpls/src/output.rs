//! `mpls-output`, `mpls-midchain`: labelled packets to neighbours and into tunnels, if they are not
//! too big; `mpls-adj-incomplete`: those whose neighbour is not known, which is asked for.

use graph::arc::{FeatureArc, Side};
use infra::counter::Rows;
use net::adjacency::Adjacency;
use net::fragment::Limit;
use net::prelude::*;

use super::error::Error;

/// Features on labelled packets that are sent.
pub static MPLS_OUTPUT: FeatureArc = FeatureArc {
    name: "mpls-output",
    starts: &["mpls-output", "mpls-midchain"],
    order: &["mpls-qos-mark", "vlan-mpls-qos-mark"],
    end: "interface-output",
    side: Side::Transmit,
};

/// Sends labelled packets to neighbours, or into tunnels (`CHAIN`).
#[derive(Clone)]
pub struct Output<const CHAIN: bool> {
    pub(super) adjacencies: SlabReader<Adjacency>,
    pub(super) counters: Rows<VolumeCounter>,
}

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The neighbour is not known.
    #[to("mpls-adj-incomplete")]
    Incomplete,
    /// To be cut into fragments, which come back.
    #[to("mpls-frag", payload = Limit)]
    Fragment,
    /// The interface's output, or a feature before it.
    #[dynamic]
    Output(Slot),
}

impl<const CHAIN: bool> Node for Output<CHAIN> {
    const NAME: &'static str = if CHAIN { "mpls-midchain" } else { "mpls-output" };
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let arc = frame.start(&MPLS_OUTPUT);
        let counters = self.counters.row(frame.thread());
        let (mut known, mut adjacency) = (u32::MAX, None);
        frame.each(|p| {
            let index = p.adjacency();
            if index != known {
                (known, adjacency) = (index, self.adjacencies.read(index, epoch));
            }
            let a: &Adjacency = adjacency.ok_or(Error::Drop)?;
            if !a.complete {
                return Ok(Next::Incomplete);
            }
            if p.total_len() > usize::from(a.mtu) {
                p.set_payload(Limit { mtu: a.mtu });
                return Ok(Next::Fragment);
            }
            p.clear_flags(Flags::POPPED);
            if CHAIN {
                let hop = a.hop.as_deref().ok_or(Error::Drop)?;
                p.clear_flags(Flags::L3.with(Flags::L4));
                p.prepend(hop.header.len()).ok_or(Error::Drop)?.copy_from_slice(&hop.header);
                hop.fixup.apply(p);
            } else {
                p.prepend(a.header().len()).ok_or(Error::Drop)?.copy_from_slice(a.header());
                let l2 = p.offset();
                p.set_l2_offset(l2);
            }
            p.set_tx(a.interface.0);
            if a.is_counted
                && let Some(counter) = counters.get(index as usize)
            {
                counter.add(1, p.total_len() as u64);
            }
            p.trace(|p| Sent { index, interface: a.interface.0, bytes: bytes(p) });
            Ok(Next::Output(arc.first(a.interface.0).unwrap_or(a.output)))
        });
    }
}

#[cold]
fn bytes(p: &Buffer<'_>) -> Vec<u8> {
    p.bytes().iter().take(32).copied().collect()
}

struct Sent {
    index: u32,
    interface: u32,
    bytes: Vec<u8>,
}

impl Record for Sent {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interface = names.name("interface", self.interface);
        writeln!(f, "  adj-idx {} : mpls via {interface}", self.index)?;
        write!(f, "{}", wire::print::hex(&self.bytes, 2))
    }
}

/// A neighbour that a labelled packet needs is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnresolvedNeighbor {
    pub interface: InterfaceIndex,
    pub addr: IpAddr,
}

impl Event for UnresolvedNeighbor {}

/// Adjacencies that are remembered; of two in one place the one asked for last is.
const MOST_ASKED: usize = 64;
/// Seconds between two questions for the neighbour of one (RFC 1122 section 2.3.2.1).
const PAUSE: f64 = 1.0;

/// Resolves neighbors; their packets are dropped.
#[derive(Clone)]
pub struct Incomplete {
    /// Adjacencies, and when their neighbours were asked for.
    asked: [(u32, f64); MOST_ASKED],
    pub(super) adjacencies: SlabReader<Adjacency>,
    pub(super) events: EventSender<UnresolvedNeighbor>,
}

impl Node for Incomplete {
    const NAME: &'static str = "mpls-adj-incomplete";
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let now = frame.now();
        frame.each(|p| {
            let index = p.adjacency();
            let asked = &mut self.asked[index as usize % MOST_ASKED];
            let is_lately = asked.0 == index && (0.0..PAUSE).contains(&(now - asked.1));
            if !is_lately && let Some(a) = self.adjacencies.read(index, epoch) {
                *asked = (index, now);
                self.events.send(UnresolvedNeighbor { interface: a.interface, addr: a.next_hop });
            }
            p.trace(super::input::Shown::of);
            Err(Error::Drop)
        });
    }
}

pub(super) fn add(router: &mut Router) -> Result<(), BuildError> {
    let (adjacencies, counters) = (router.adjacencies.reader(), router.adjacencies.counters());
    router
        .engine
        .add(Output::<false> { adjacencies: adjacencies.clone(), counters: counters.clone() })?;
    router.engine.add(Output::<true> { adjacencies: adjacencies.clone(), counters })?;
    let events = router.events.sender();
    router.engine.add(Incomplete { asked: [(u32::MAX, 0.0); MOST_ASKED], adjacencies, events })?;
    router.events.handle(|router, UnresolvedNeighbor { interface, addr }| {
        router.ask_neighbor((interface, addr));
    });
    Ok(())
}
