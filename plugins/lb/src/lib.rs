//! A load balancer: packets for virtual addresses (VIPs) go to application servers, in GRE (RFC
//! 2784), with another destination and a DSCP that names the VIP (L3DSR), or translated.
//!
//! * A *VIP* is a prefix, or a protocol and port of it. A route leads its packets to a node.
//! * Flows that are not known yet go by a Maglev table over the VIP's servers (`maglev`), and then
//!   keep their server on the thread that saw them (`sticky`), and on all when threads change.
//! * Each server that a VIP has is an entry of its own, followed as routes are; flows name it with
//!   its generation, so one store ends all flows of a server.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod core;
mod gc;
mod maglev;
mod messages;
mod nat;
mod node;
mod nodeport;
mod packet;
mod route;
mod servers;
mod show;
mod state;
mod sticky;
mod vip;

use net::prelude::*;

use crate::core::{Core, PORT, WHOLE};
use crate::nat::{Answers, Translating};
use crate::node::Spread;
use crate::nodeport::NodePort;
use crate::state::Lb;
use crate::vip::{GRE4, GRE6, L3DSR, NAT};

pub use crate::messages::*;
pub use crate::vip::Error;

/// The load balancer.
pub const FEATURE: Feature = Feature {
    name: "lb",
    about: "Load balancer (LB)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "sessions", "translation"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The process that forgets servers whose last flow is over.
const PROCESS: &str = "lb-gc-process";

fn add_nodes(router: &mut Router, core: &Core) -> Result<(), graph::BuildError> {
    let engine = &mut router.engine;
    engine.add(Spread::<V4, GRE4, WHOLE>::new(core))?;
    engine.add(Spread::<V4, GRE4, PORT>::new(core))?;
    engine.add(Spread::<V4, GRE6, WHOLE>::new(core))?;
    engine.add(Spread::<V4, GRE6, PORT>::new(core))?;
    engine.add(Spread::<V4, L3DSR, WHOLE>::new(core))?;
    engine.add(Spread::<V4, L3DSR, PORT>::new(core))?;
    engine.add(Spread::<V4, NAT, PORT>::new(core))?;
    engine.add(Spread::<V6, GRE4, WHOLE>::new(core))?;
    engine.add(Spread::<V6, GRE4, PORT>::new(core))?;
    engine.add(Spread::<V6, GRE6, WHOLE>::new(core))?;
    engine.add(Spread::<V6, GRE6, PORT>::new(core))?;
    engine.add(Spread::<V6, NAT, PORT>::new(core))?;
    engine.add(NodePort::<V4>::new(core))?;
    engine.add(NodePort::<V6>::new(core))?;
    engine.add_feature(&IP4_UNICAST, Answers::<V4>::new(core))?;
    engine.add_feature(&IP6_UNICAST, Answers::<V6>::new(core))?;
    Ok(())
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.attach::<Translating>().map_err(refuse)?;
    let (shared, core) = Core::new(router).map_err(refuse)?;
    add_nodes(router, &core).map_err(refuse)?;
    let at = |arc, node, is_on| AttachedAt { arc, node, is_on };
    router.attach_at::<Translating, _>([
        at(&IP4_UNICAST, nat::NODES[0], |on: &Translating| on.0[0]),
        at(&IP6_UNICAST, nat::NODES[1], |on: &Translating| on.0[1]),
    ]);
    let routes = route::Routes::new(router).map_err(refuse)?;
    router.insert(Lb::new(shared, routes));
    router.on_threads.push(gc::threads_changed);
    router.processes.spawn(
        PROCESS,
        Box::new(|router: &mut Router, _| {
            gc::collect(router);
            Wake::After(gc::INTERVAL)
        }),
    );
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
