//! Records of flows that pass interfaces, for collectors of IPFIX (RFC 7011, RFC 7012).
//!
//! Nodes count packets of flows in tables of their threads (`sessions`); flows that are due go to
//! control as events, or are taken by the process that looks every second, and control exports them
//! through [`ipfix`]. Without timers nothing is remembered: each packet is an event.
#![forbid(unsafe_code)]

mod api;
mod change;
mod cli;
mod flow;
mod node;
mod packet;
mod record;
mod show;
mod timer;

use net::interface::{DEVICE_INPUT, INTERFACE_OUTPUT};
use net::ip4::{IP4_MULTICAST, IP4_OUTPUT};
use net::ip6::{IP6_MULTICAST, IP6_OUTPUT};
use net::prelude::*;
use sessions::{Class, Sessions};

use crate::change::{Flowprobe, Probed};
use crate::flow::Params;
use crate::node::{Core, NODES, Probe, RX, TX};

pub use crate::api::*;
pub use crate::change::Error;

/// Records of flows.
pub const FEATURE: Feature = Feature {
    name: "flowprobe",
    about: "Flow per Packet",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "ipfix", "sessions"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The process that exports flows that are due.
const PROCESS: &str = "flowprobe-timer-process";
/// How often it looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// The same while more is due.
const SOON: Duration = Duration::from_millis(1);
/// Flows on each thread at most.
const MOST_FLOWS: usize = 1 << 18;

fn add_nodes(router: &mut Router, core: &Core) -> Result<(), graph::BuildError> {
    let engine = &mut router.engine;
    engine.add_feature(&IP4_UNICAST, Probe::<{ flow::IP4 }, RX>::new(core))?;
    engine.add_feature(&IP6_UNICAST, Probe::<{ flow::IP6 }, RX>::new(core))?;
    engine.place(&IP4_MULTICAST, NODES[flow::IP4][RX])?;
    engine.place(&IP6_MULTICAST, NODES[flow::IP6][RX])?;
    engine.add_feature(&DEVICE_INPUT, Probe::<{ flow::L2 }, RX>::new(core))?;
    engine.add_feature(&IP4_OUTPUT, Probe::<{ flow::IP4 }, TX>::new(core))?;
    engine.add_feature(&IP6_OUTPUT, Probe::<{ flow::IP6 }, TX>::new(core))?;
    engine.add_feature(&INTERFACE_OUTPUT, Probe::<{ flow::L2 }, TX>::new(core))?;
    Ok(())
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.attach::<Probed>().map_err(refuse)?;
    let params = Shared::new(Params::default());
    let class =
        Class { timeout: Params::default().silence(), may_be_evicted: true, goes_first: false };
    let flows = Sessions::new(router, MOST_FLOWS, &[class]).map_err(refuse)?;
    let exported = router.events.sender();
    let core = Core { params: params.reader(), flows: flows.clone(), exported };
    add_nodes(router, &core).map_err(refuse)?;
    let at =
        |arc, which: usize, way: usize, is_on| AttachedAt { arc, node: NODES[which][way], is_on };
    router.attach_at::<Probed, _>([
        at(&IP4_UNICAST, flow::IP4, RX, |on: &Probed| on.is_on(flow::IP4, RX)),
        at(&IP4_MULTICAST, flow::IP4, RX, |on: &Probed| on.is_on(flow::IP4, RX)),
        at(&IP6_UNICAST, flow::IP6, RX, |on: &Probed| on.is_on(flow::IP6, RX)),
        at(&IP6_MULTICAST, flow::IP6, RX, |on: &Probed| on.is_on(flow::IP6, RX)),
        at(&DEVICE_INPUT, flow::L2, RX, |on: &Probed| on.is_on(flow::L2, RX)),
        at(&IP4_OUTPUT, flow::IP4, TX, |on: &Probed| on.is_on(flow::IP4, TX)),
        at(&IP6_OUTPUT, flow::IP6, TX, |on: &Probed| on.is_on(flow::IP6, TX)),
        at(&INTERFACE_OUTPUT, flow::L2, TX, |on: &Probed| on.is_on(flow::L2, TX)),
    ]);
    router.insert(Flowprobe::new(params, flows));
    router.on_threads.push(timer::threads_changed);
    router.events.handle(record::export);
    router.interfaces.observe(|router, interface, change| {
        if change == Change::Deleting {
            change::interface_goes(router, interface);
        }
    });
    router.processes.spawn(
        PROCESS,
        Box::new(|router: &mut Router, _| {
            let is_more = timer::export_due(router);
            Wake::After(if is_more { SOON } else { INTERVAL })
        }),
    );
    sessions::list(router, "flowprobe", |router| {
        let flows = router.own::<Flowprobe>().flows.clone();
        flows.usage(router).unwrap_or_default()
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
