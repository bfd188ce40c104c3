//! `nat64-in2out-handoff` and `nat64-out2in-handoff`: packets on their way to the thread that has
//! their session.
//!
//! A session is on the thread that its host goes by, and so is a mapping that stays. Other ports
//! outside go by their number: a thread gives hosts only those that come to it. Protocols without
//! ports are all on one thread.

use graph::Buffer;
use infra::rcu::Epoch;
use sessions::Look;
use translation::handoff::Place;
use wire::ip4;

use crate::core::{Core, OUTSIDE, has_ports, host_hash, protocol4};
use crate::in2out::look;

/// Packets of hosts.
#[derive(Clone)]
pub struct In2Out(pub Core);

/// Packets from outside, and those of hosts to others inside.
#[derive(Clone)]
pub struct Out2In(pub Core);

fn seed(core: &Core, epoch: Epoch<'_>) -> u64 {
    core.all.read(epoch).as_ref().map_or(0, |all| all.bindings.seed())
}

impl Place for In2Out {
    const HANDOFF: &'static str = "nat64-in2out-handoff";
    const NODE: &'static str = "nat64-in2out";
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn hash(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<u64> {
        let flow = look(self.0.config.read(epoch), p)?.1?.flow;
        let has_ports = has_ports(protocol4(flow.protocol()));
        Some(if has_ports { host_hash(flow.src, seed(&self.0, epoch)) } else { 0 })
    }
}

impl Place for Out2In {
    const HANDOFF: &'static str = "nat64-out2in-handoff";
    const NODE: &'static str = "nat64-out2in";

    #[inline(always)]
    fn hash(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<u64> {
        let config = self.0.config.read(epoch);
        let dst = p.header::<ip4::Header>()?.dst_addr();
        if !config.is_outside(dst) {
            return None;
        }
        let Some(seen) = <[u8; 4]>::look(p.bytes(), p.ports(), OUTSIDE) else { return Some(0) };
        let flow = seen.flow;
        if !has_ports(flow.protocol()) {
            return Some(0);
        }
        let known = config.of_outside(flow.dst, flow.dst_port, flow.protocol());
        let of_host = |host: [u8; 16]| host_hash(host, seed(&self.0, epoch));
        Some(known.map_or(flow.dst_port.into(), |(s, _)| of_host(s.host.octets())))
    }
}
