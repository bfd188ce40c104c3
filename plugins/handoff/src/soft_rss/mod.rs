//! Receive-side scaling in software: threads are chosen by Toeplitz's hash, as network cards choose
//! queues. `soft-rss config`, `soft-rss enable`, node `soft-rss`.

mod cli;
mod node;
mod toeplitz;

use net::interface::DEVICE_INPUT;
use net::prelude::*;

use crate::Error;
pub use toeplitz::{KEY, Key, Toeplitz};

/// Receive-side scaling in software.
pub const FEATURE: Feature = Feature {
    name: "soft_rss",
    about: "Receive-side scaling in software",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["interface", "ethernet"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Fields that count for the hash of packets of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fields {
    /// None: they stay on their thread.
    Disabled,
    /// The source address.
    Src,
    /// The destination address.
    Dst,
    /// Both addresses.
    Addresses,
    /// Addresses and ports.
    #[default]
    AddressesAndPorts,
}

/// The configuration of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Fields of IPv4 and IPv6.
    pub fields: [Fields; 2],
    /// Bytes in front of the Ethernet header that counts: behind it is an inner packet.
    pub offset: usize,
    /// Threads that have packets; all workers when empty.
    pub threads: Vec<u32>,
    /// Hash key.
    pub key: Key,
}

impl Default for Plan {
    fn default() -> Self {
        Self { fields: [Fields::default(); 2], offset: 0, threads: Vec::new(), key: KEY }
    }
}

/// The setting of an interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoftRss {
    is_on: bool,
    ready: Option<Arc<Ready>>,
}

/// A configuration, and what follows from it.
#[derive(Debug, PartialEq)]
struct Ready {
    plan: Plan,
    toeplitz: Toeplitz,
}

/// Sets how an interface spreads packets.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn configure(router: &mut Router, interface: InterfaceIndex, plan: Plan) -> Result<(), Error> {
    let workers = router.engine.workers() as u32;
    // A trial has no workers of its own.
    let is_trial = router.is_trial();
    let receives = |thread: u32| is_trial || (workers == 0) == (thread == 0) && thread <= workers;
    if let Some(thread) = plan.threads.iter().find(|thread| !receives(**thread)) {
        return Err(Error::NoThread(*thread));
    }
    let ready = Some(Arc::new(Ready { toeplitz: Toeplitz::new(&plan.key), plan }));
    let is_on = router.setting::<SoftRss>(interface).is_on;
    Ok(router.put(interface, SoftRss { is_on, ready })?)
}

/// Enables or disables packet distribution on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn enable(router: &mut Router, interface: InterfaceIndex, is_on: bool) -> Result<(), Error> {
    if is_on && router.engine.workers() == 0 && !router.is_trial() {
        return Err(Error::NoWorkers);
    }
    let mut setting = router.setting::<SoftRss>(interface);
    setting.is_on = is_on;
    if is_on && setting.ready.is_none() {
        let plan = Plan::default();
        setting.ready = Some(Arc::new(Ready { toeplitz: Toeplitz::new(&plan.key), plan }));
    }
    Ok(router.put(interface, setting)?)
}

/// Forgets how an interface spreads packets, and has it no longer do so.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn clear(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    Ok(router.put(interface, SoftRss::default())?)
}

/// Refuses threads to go that interfaces spread packets over.
fn need_threads(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let missing = router.settings::<SoftRss>().find_map(|(interface, setting)| {
        let needed = setting.ready.as_ref().map_or(&[][..], |ready| &ready.plan.threads);
        let gone = needed.iter().find(|thread| !stay.contains(&(**thread as usize)));
        match gone {
            Some(thread) => Some((interface, format!("to thread {thread}"))),
            None if setting.is_on && stay.start == 0 => Some((interface, "to workers".to_owned())),
            None => None,
        }
    });
    let Some((interface, to)) = missing else { return Ok(()) };
    let name = router.interfaces.name(interface.0);
    Err(format!("soft-rss sends packets of {name} {to}"))
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    router.before_threads.push(need_threads);
    let settings = router.attach::<SoftRss>().map_err(refuse)?;
    router.engine.add_feature(&DEVICE_INPUT, node::Spread { settings }).map_err(refuse)?;
    router.attach_at::<SoftRss, _>([AttachedAt {
        arc: &DEVICE_INPUT,
        node: node::NAME,
        is_on: |setting| setting.is_on,
    }]);
    cli::register(&mut parts.cli);
    Ok(())
}
