//! `nat44-in2out-worker-handoff` and the like: packets on their way to the thread that has their
//! session.
//!
//! A session is on the thread that its flow outside goes by; ports are chosen so that the flow
//! inside goes by it too. Where a mapping chooses the port, the flow outside is known without a
//! session. Protocols without ports go by their far end; where a mapping leads back inside, that is
//! its host, in both directions.

use graph::Congestion;
use net::prelude::*;
use sessions::{Affinity as Path, Flow4, Look};
use translation::handoff::{Count, Threads};
use translation::session::NatSession;
use translation::{ARRIVED, TRANSLATED};

use crate::config::Config;
use crate::core::{Core, Traffic};
use crate::node::fib_of;
use crate::place::{Either, In2Out, Out2In, Output, Place};
use crate::slow::to_near;

/// A place where packets are handed over.
pub trait HandsOff: Place {
    /// Node.
    const HANDOFF: &'static str;
}

impl HandsOff for In2Out {
    const HANDOFF: &'static str = "nat44-in2out-worker-handoff";
}
impl HandsOff for Out2In {
    const HANDOFF: &'static str = "nat44-out2in-worker-handoff";
}
impl HandsOff for Output {
    const HANDOFF: &'static str = "nat44-in2out-output-worker-handoff";
}
impl HandsOff for Either {
    const HANDOFF: &'static str = "nat44-handoff-classify";
}

/// Hands packets over.
#[derive(Clone)]
pub struct HandOff<P> {
    place: P,
    core: Core,
}

/// Edges of [`HandOff`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<P: HandsOff> {
    /// On its thread now.
    #[to(P::FAST)]
    Fast(P),
    /// It has been translated, behind this node.
    #[along]
    On(P),
}

impl<P> HandOff<P> {
    /// For a place.
    pub fn new(place: P, core: &Core) -> Self {
        Self { place, core: core.clone() }
    }
}

impl<P: HandsOff> Node for HandOff<P> {
    const NAME: &'static str = P::HANDOFF;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<P>;
    type Error = Congestion;
    type Count = Count;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let sessions = self.core.sessions.read(epoch).as_ref();
        let (seed, strays) = (sessions.map_or(0, |s| s.seed()), sessions.map(|s| s.strays(epoch)));
        let config = self.core.config.read(epoch);
        let threads = Threads::among(frame, &config.workers);
        let place = self.place;
        let mut counts = [0, 0];
        frame.hand_off(Congestion::Drop, |p| {
            if p.flags().has(ARRIVED) || p.flags().has(TRANSLATED) && P::TRAFFIC == Traffic::Output
            {
                p.clear_flags(ARRIVED);
                return Ok((thread, Next::On(place)));
            }
            p.add_flags(ARRIVED);
            let to = threads.to(path_of::<P>(&self.core, config, p, seed, epoch), strays);
            counts[usize::from(to != thread)] += 1;
            Ok((to, Next::Fast(place)))
        });
        frame.count(Count::Same, counts[0]);
        frame.count(Count::Other, counts[1]);
    }
}

/// The path of a packet to its thread.
fn path_of<P: Place>(
    core: &Core,
    config: &Config,
    p: &Buffer<'_>,
    seed: u64,
    epoch: Epoch<'_>,
) -> Path {
    let l3 = if P::TRAFFIC == Traffic::Output { core.paths.front(p, epoch) } else { 0 };
    let (fib, ports) = (fib_of::<P>(core, p, epoch), p.ports());
    let seen = p.bytes().get(l3..).and_then(|b| <[u8; 4]>::look(b, ports, fib.into()));
    seen.map_or(Path::of(0), |seen| path(config, P::TRAFFIC, &seen.flow, fib, seed))
}

/// The path of packets of a flow to their thread.
fn path(config: &Config, traffic: Traffic, flow: &Flow4, fib: u16, seed: u64) -> Path {
    let (meeting, protocol) = (flow.meeting(seed), flow.protocol());
    let leads_in = || config.mappings.to_external(flow.dst, flow.dst_port, protocol).is_some();
    let is_inward = matches!(traffic, Traffic::Out2In | Traffic::Either) && leads_in();
    if !matches!(protocol, Protocol::TCP | Protocol::UDP | Protocol::ICMP) {
        let is_back = traffic != Traffic::Output && config.is_pooled(flow.dst);
        let far = if is_inward || is_back || traffic == Traffic::Out2In {
            flow.src
        } else {
            config.hairpin(flow, traffic).map_or(flow.dst, |((host, _), _)| host)
        };
        return Path::new(meeting, Flow4::new((far, 0), (far, 0), protocol, 0).meeting(seed));
    }
    if is_inward || config.is_pooled(flow.dst) {
        return Path::of(meeting);
    }
    // A host that a mapping leads to may be outside as well: its answers go where its sessions are.
    let mapping = config.mappings.of_local(flow.src, flow.src_port, protocol, fib);
    match mapping.and_then(|n| config.mappings.at(n)) {
        Some((m, _)) => {
            let port = if m.is_of_address() { flow.src_port } else { m.port };
            let (far, near) = ((flow.dst, flow.dst_port), (m.external.octets(), port));
            Path::new(meeting, to_near(far, near, protocol, 0).meeting(seed))
        }
        None => Path::of(meeting),
    }
}

/// The paths of a session's packets: from outside, and from inside where only hosts are and where
/// far ends are as well.
pub fn paths(config: &Config, session: &NatSession, seed: u64) -> [Path; 3] {
    let (data, forward) = (&session.data, &session.forward);
    [
        path(config, Traffic::Out2In, &session.reverse, data.out_fib, seed),
        path(config, Traffic::In2Out, forward, data.in_fib, seed),
        path(config, Traffic::Either, forward, data.in_fib, seed),
    ]
}
