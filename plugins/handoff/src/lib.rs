//! Interface handoff: what an interface receives goes on at workers that are chosen by flow,
//! however few queues its device has. `set interface handoff`, node `worker-handoff`; with a hash
//! like that of network cards, [`soft_rss`].
#![forbid(unsafe_code)]

mod cli;
mod node;
pub mod soft_rss;

use net::interface::DEVICE_INPUT;
use net::prelude::*;

/// Interface handoff.
pub const FEATURE: Feature = Feature {
    name: "handoff",
    about: "Handoff of received packets to workers by flow",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["interface", "ethernet"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The setting of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handoff {
    /// Workers that have its packets; none where they stay on the thread that received them.
    pub workers: Vec<u32>,
    /// Both directions of a flow have one worker.
    pub is_symmetric: bool,
    /// Ports count.
    pub has_ports: bool,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no worker {0}
    #[retval(INVALID_WORKER)]
    NoWorker(u32),
    /// no thread {0} receives packets
    #[retval(INVALID_WORKER)]
    NoThread(u32),
    /// no workers to distribute packets to
    #[retval(INVALID_WORKER)]
    NoWorkers,
}

/// Distributes an interface's received packets over workers, by flow; with none of them packets
/// stay on the receiving thread.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, interface: InterfaceIndex, handoff: Handoff) -> Result<(), Error> {
    let there = router.engine.workers() as u32;
    if let Some(worker) = handoff.workers.iter().find(|worker| **worker >= there) {
        return Err(Error::NoWorker(*worker));
    }
    Ok(router.put(interface, handoff)?)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let handoffs = router.attach::<Handoff>().map_err(refuse)?;
    router.engine.add_feature(&DEVICE_INPUT, node::HandOff { handoffs }).map_err(refuse)?;
    router.attach_at::<Handoff, _>([AttachedAt {
        arc: &DEVICE_INPUT,
        node: node::NAME,
        is_on: |handoff| !handoff.workers.is_empty(),
    }]);
    cli::register(&mut parts.cli);
    Ok(())
}
