//! `nat44-ei-in2out-worker-handoff` and the like: packets on their way to the thread that has their
//! session.
//!
//! All sessions of a host are on the thread that follows from its address; ports outside are chosen
//! so that they lead there too. Where a mapping chooses the port, it says which host it is.

use graph::Buffer;
use infra::rcu::Epoch;
use sessions::{Affinity as Path, Strays};
use translation::ARRIVED;
use translation::handoff::Place;
use translation::workers::Workers;

use crate::core::Core;
use crate::node::{self, Traffic, is_done, look, place_of};
use crate::slow::{affinity_of_destination, affinity_of_source};

macro_rules! places {
    ($($(#[$doc:meta])* $place:ident $name:literal $node:expr, $traffic:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $place(pub Core);
        impl Place for $place {
            const HANDOFF: &'static str = $name;
            const NODE: &'static str = $node;
            fn affinity(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<Path> {
                path(&self.0, p, $traffic, epoch)
            }
            fn strays<'e>(&'e self, epoch: Epoch<'e>) -> Option<&'e Strays> {
                self.0.sessions.read(epoch).as_ref().map(|s| s.strays(epoch))
            }
            fn workers<'e>(&'e self, epoch: Epoch<'e>) -> &'e Workers {
                &self.0.config.read(epoch).workers
            }
        }
    )*};
}

places! {
    /// Received from inside.
    In2Out "nat44-ei-in2out-worker-handoff" <node::In2Out as node::Place>::NAME,
        Some(Traffic::In2Out);
    /// Received from outside.
    Out2In "nat44-ei-out2in-worker-handoff" <node::Out2In as node::Place>::NAME,
        Some(Traffic::Out2In);
    /// Sent outside.
    Output "nat44-ei-in2out-output-worker-handoff" <node::Output as node::Place>::NAME,
        Some(Traffic::Output);
    /// From inside to an address outside.
    Hairpin "nat44-ei-in2out-hairpinning-handoff-ip4-lookup" <node::Finish as node::Place>::NAME,
        Some(Traffic::Hairpin);
    /// Received where both may be.
    Either "nat44-ei-handoff-classify" "nat44-ei-classify", None;
}

fn path(
    core: &Core,
    p: &mut Buffer<'_>,
    traffic: Option<Traffic>,
    epoch: Epoch<'_>,
) -> Option<Path> {
    if traffic.is_none() && p.flags().has(ARRIVED) {
        p.clear_flags(ARRIVED);
        return None;
    }
    if traffic == Some(Traffic::Output) && is_done(p) {
        return None;
    }
    let seed = core.sessions.read(epoch).as_ref()?.seed();
    let config = core.config.read(epoch);
    let (l3, _) = place_of(traffic.unwrap_or(Traffic::In2Out), core, p, epoch);
    let Some(seen) = look(p, l3) else { return Some(Path::of(0)) };
    if traffic == Some(Traffic::Output) && core.paths.sends_own(p, epoch) {
        return Some(affinity_of_destination(config, &seen.flow.reversed(), seed));
    }
    let is_outward = traffic.map_or_else(|| !config.is_external(&seen.flow), Traffic::is_outward);
    Some(match is_outward {
        true => affinity_of_source(&seen.flow, seed),
        false => affinity_of_destination(config, &seen.flow, seed),
    })
}
