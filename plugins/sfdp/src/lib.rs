//! Sessions of packets, and services that they pass, by tenant: the infrastructure of the original
//! for stateful services.
//!
//! * Packets of an interface are those of a *tenant*. It says in which *context*, a space of
//!   addresses and ports, their session is looked up, and what a new one is like.
//! * A *session* has two directions. Each has a chain of *services*, nodes that its packets pass
//!   one after the other; the last one has them forwarded, dropped or sent.
//! * A session belongs to the thread that its first packet came to; others hand its packets over.
//! * Timeouts are a tenant's. Services choose among them.
#![forbid(unsafe_code)]

pub mod acl;
mod api;
mod cli;
mod configuration;
mod drop;
mod error;
mod expire;
mod handoff;
mod input;
mod lifecycle;
mod lookup;
mod messages;
pub mod nat;
mod nat_node;
mod packet;
mod rows;
pub mod sample;
mod service;
mod session;
mod show;
mod tcp;
mod tcp_check;
pub mod tenant;
mod threads;
mod user;

use control::feature::Registered;
use control::stats::Columns;
use infra::table::exact::Exact;
use net::prelude::*;

pub use error::Error;
pub use input::{Inputs, set_tenant};
pub use messages::*;
use session::{Core, Counters};
use tenant::Tenant;

/// Sessions and services.
pub const FEATURE: Feature = Feature {
    name: "sfdp_services",
    about: "SFDP Services Plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "reassembly", "sessions", "translation"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

/// The process that ends what is over.
const PROCESS: &str = "sfdp-expire";

/// Columns of counters by tenant.
const BY_TENANT: Columns = Columns::growing("sfdp tenant", 1 << MOST_LOG2_TENANTS);

/// Logarithms of the numbers of sessions and tenants there may be.
const MOST_LOG2_SESSIONS: u32 = 22;
const MOST_LOG2_TENANTS: u32 = 16;

/// Limits of the startup configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Sessions of a kind on each thread.
    pub sessions: usize,
    /// Tenants.
    pub tenants: usize,
    /// Sessions for which there is to be room: others are evicted.
    pub margin: usize,
    /// Seconds between the rounds of what ends sessions.
    pub interval: f64,
}

impl Limits {
    /// As in the startup configuration.
    fn of(parts: &Parts) -> Result<Self, Refused> {
        let log2 = |word: &str, default: u32, most: u32| {
            let log2 = parts.startup("sfdp", word)?.unwrap_or(default);
            match log2 {
                1.. if log2 <= most => Ok(1usize << log2),
                _ => Err(Refused(format!("sfdp: {word} must be 1 to {most}, not {log2}"))),
            }
        };
        let sessions = log2("sessions-log2", 19, MOST_LOG2_SESSIONS)?;
        let tenants = log2("tenants-log2", 15, MOST_LOG2_TENANTS)?;
        let margin: usize = parts.startup("sfdp", "eviction-sessions-margin")?.unwrap_or(1 << 16);
        let interval = parts.startup("sfdp", "timer-interval")?.unwrap_or(1.0);
        if !(0.001..=3600.0).contains(&interval) {
            return Err(Refused(format!(
                "sfdp: timer-interval must be 0.001 to 3600, not \
                {interval}"
            )));
        }
        Ok(Self { sessions, tenants, margin: margin.min(sessions / 2), interval })
    }
}

/// Control's state.
struct Sfdp {
    limits: Limits,
    /// The margin that the startup configuration says.
    first_margin: usize,
    registry: service::Registry,
    edges: Shared<service::ServiceEdges>,
    lookups: Shared<handoff::Lookups>,
    tenants: SharedSlab<Tenant>,
    by_id: BTreeMap<u32, u32>,
    timeouts: Registered<(usize, &'static str, u32)>,
    /// Timeouts of the classes of sessions; the first is that of sessions that end at once.
    classes: Vec<f64>,
    /// Those that are timeouts of sessions without an answer for some tenant.
    embryonic: BTreeSet<u32>,
    core: Core,
    owners: Exact,
    translator: nat::Translator,
    pools: Shared<nat::Pools>,
    non_syn: Shared<tcp::NonSyn>,
}

fn state(router: &mut Router, limits: Limits) -> io::Result<Sfdp> {
    let mut simple = |path: &str| {
        let path = format!("/sfdp/per_tenant_counters/{path}");
        router.stats.simple(&path, BY_TENANT).map_err(io::Error::other)
    };
    let (created, removed) = (simple("created")?, simple("removed")?);
    let mut combined = |path: &str| {
        let path = format!("/sfdp/per_tenant_counters/{path}");
        router.stats.combined(&path, BY_TENANT).map_err(io::Error::other)
    };
    let (incoming, outgoing) = (combined("incoming")?, combined("outgoing")?);
    let counters = Counters { created, removed, incoming, outgoing };
    let (tenants, edges) = (SharedSlab::new(limits.tenants)?, Shared::new(<_>::default()));
    let classes = vec![0.0];
    let (core, owners) = Core::new(
        router,
        limits.sessions,
        &tenant::classes(&classes, &BTreeSet::new()),
        (tenants.reader(), edges.reader()),
        counters,
    )?;
    let pools = Shared::new(nat::Pools::new());
    Ok(Sfdp {
        limits,
        first_margin: limits.margin,
        registry: service::Registry::default(),
        edges,
        lookups: Shared::new([0; 3]),
        tenants,
        by_id: BTreeMap::new(),
        timeouts: Registered::default(),
        classes,
        embryonic: BTreeSet::new(),
        core,
        owners,
        translator: nat::Translator::new(pools.reader()),
        pools,
        non_syn: Shared::new(tcp::NonSyn::default()),
    })
}

/// Makes a node look up packets of a kind that are handed over.
fn connect_handoff(router: &mut Router, kind: usize, lookup: &str) -> Result<(), BuildError> {
    let slot = router.engine.connect(handoff::HANDOFF, lookup)?;
    let lookups = &mut router.own_mut::<Sfdp>().lookups;
    let mut new = *lookups.current();
    new[kind] = slot.0;
    lookups.publish(new);
    Ok(())
}

fn add_nodes(router: &mut Router) -> Result<(), BuildError> {
    let sfdp = router.own::<Sfdp>();
    let (core, translator) = (sfdp.core.clone(), sfdp.translator.clone());
    let (lookups, non_syn) = (sfdp.lookups.reader(), sfdp.non_syn.reader());
    handoff::add(router, lookups)?;
    lookup::add_nodes(router, &core, &translator)?;
    router.engine.add(drop::Drop)?;
    lifecycle::add(router, &core, non_syn.clone())?;
    tcp_check::add(router, &core, non_syn)?;
    nat_node::add(router, &core)?;
    for (kind, lookup) in lookup::NODES.into_iter().enumerate() {
        connect_handoff(router, kind, lookup)?;
    }
    service::add_built_in(router)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let limits = Limits::of(parts)?;
    let router = &mut *parts.router;
    router.engine.claim(packet::PLACE.claim()).map_err(refuse)?;
    let inputs = router.attach::<Inputs>().map_err(refuse)?;
    let state = state(router, limits).map_err(refuse)?;
    router.insert(state);
    add_nodes(router).map_err(refuse)?;
    input::add(router, &inputs).map_err(refuse)?;
    for (name, seconds) in tenant::TIMEOUTS {
        tenant::add_timeout(router, name, seconds).map_err(refuse)?;
    }
    router.on_threads.push(threads::changed);
    let interval = Duration::from_secs_f64(limits.interval);
    let body = move |router: &mut Router, _| expire::round(router, interval);
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "sfdp", expire::usage);
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
