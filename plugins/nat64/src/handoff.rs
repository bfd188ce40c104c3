//! `nat64-in2out-handoff` and `nat64-out2in-handoff`: packets on their way to the thread that has
//! their session.
//!
//! A session is on the thread that its host goes by, and so is a mapping that stays. Other ends
//! outside go by themselves: a thread gives hosts only those that come to it. Protocols without
//! ports are all on one thread.

use net::prelude::*;
use sessions::{Affinity, Look, Strays};
use translation::handoff::Place;

use crate::core::{Core, OUTSIDE, affinity_of_end, affinity_of_host, protocol4};
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

fn strays<'e>(core: &'e Core, epoch: Epoch<'e>) -> Option<&'e Strays> {
    core.all.read(epoch).as_ref().map(|all| all.bindings.strays(epoch))
}

impl Place for In2Out {
    const HANDOFF: &'static str = "nat64-in2out-handoff";
    const NODE: &'static str = "nat64-in2out";
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn affinity(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<Affinity> {
        let flow = look(self.0.config.read(epoch), p)?.1?.flow;
        Some(affinity_of_host(flow.src, protocol4(flow.protocol()), seed(&self.0, epoch)))
    }
    fn strays<'e>(&'e self, epoch: Epoch<'e>) -> Option<&'e Strays> {
        strays(&self.0, epoch)
    }
}

impl Place for Out2In {
    const HANDOFF: &'static str = "nat64-out2in-handoff";
    const NODE: &'static str = "nat64-out2in";

    #[inline(always)]
    fn affinity(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<Affinity> {
        let config = self.0.config.read(epoch);
        let dst = p.header::<ip4::Header>()?.dst_addr();
        if !config.is_outside(dst) {
            return None;
        }
        let seen = <[u8; 4]>::look(p.bytes(), p.ports(), OUTSIDE);
        Some(seen.map_or(Affinity::of(0), |seen| {
            affinity_of_end(config, &seen.flow, seed(&self.0, epoch))
        }))
    }
    fn strays<'e>(&'e self, epoch: Epoch<'e>) -> Option<&'e Strays> {
        strays(&self.0, epoch)
    }
}
