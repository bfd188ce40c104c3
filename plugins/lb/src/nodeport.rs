//! `lb4-nodeport`, `lb6-nodeport`: packets to a port of any of the router's addresses go to a
//! server of the VIP that is met there.

use net::prelude::*;

use crate::core::Core;
use crate::node::{Count, Error, Next, Visit};
use crate::packet::{Spreadable, look};
use crate::vip::NAT;

/// Names of the nodes, by version.
pub const NODES: [&str; 2] = ["lb4-nodeport", "lb6-nodeport"];

/// Translates packets to a port of the router.
#[derive(Clone)]
pub struct NodePort<V> {
    version: PhantomData<V>,
    core: Core,
}

impl<V: Spreadable> NodePort<V> {
    /// Node.
    pub fn new(core: &Core) -> Self {
        Self { version: PhantomData, core: core.clone() }
    }
}

impl<V: Spreadable> Node for NodePort<V> {
    const NAME: &'static str = NODES[V::INDEX];
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, now) = (frame.epoch(), frame.thread(), frame.now());
        let core = &self.core;
        let ports = &core.node_ports.read(epoch).0;
        let mut lent = core.flows.read(epoch).lend(thread);
        let mut visit = Visit::new(core, lent.as_deref_mut(), (thread, now), epoch);
        let mut sent = 0;
        frame.each(
            #[inline(always)]
            |p| {
                // Packets come here behind their UDP header.
                let headers = usize::try_from(p.offset() - p.l3_offset());
                headers.ok().and_then(|len| p.prepend(len)).ok_or(Error::Protocol)?;
                let seen = look::<V>(p).ok_or(Error::Protocol)?;
                let key = (V::INDEX != 0, seen.flow.dst_port);
                let at = ports.binary_search_by_key(&key, |(key, _)| *key);
                let (_, number) = ports[at.map_err(|_| Error::Protocol)?];
                let vip = visit.vip(number).ok_or(Error::NoServer)?;
                let chosen = visit.choose(number, vip, &seen.flow);
                p.trace(|_| chosen.traced());
                let next = visit.send::<V, NAT>(p, chosen, vip, &seen)?;
                sent += 1;
                Ok(next)
            },
        );
        frame.count(Count::Spread, sent);
    }
}
