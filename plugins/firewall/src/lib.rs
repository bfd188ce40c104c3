//! A firewall of zones: interfaces are in zones, and what goes from one zone to another passes only
//! where a policy permits it, with its answers.
//!
//! * A *zone* is a group of interfaces; `local` is the router itself. Between zones traffic is
//!   dropped by default; within one it passes, unless the zone or a policy says otherwise.
//! * A *policy* is for packets from one zone to another: rules in order, each with sources,
//!   destinations and services, and a default action.
//! * *Objects* give names to addresses and services, and to groups of them.
//! * A permitted packet creates a *session*; replies, further packets, and related ICMP errors
//!   pass. Sessions are re-evaluated when rules change, each with its next packet.
//!
//! All policies are published together: a packet meets the old ones or the new ones. Large ones
//! are made ready in slices meanwhile.
#![forbid(unsafe_code)]

mod api;
mod change;
mod cli;
mod configuration;
mod error;
mod explain;
mod handoff;
pub mod list;
mod log;
mod node;
pub mod object;
mod packet;
mod pass;
mod place;
pub mod policy;
mod publish;
pub mod reset;
mod rule_cli;
pub mod ruleset;
pub mod session;
mod session_cli;
pub mod shadow;
mod show;
mod trace;
pub mod zone;

use control::stats::Columns;
use net::ip4::{IP4_LOCAL, IP4_OUTPUT};
use net::ip6::{IP6_LOCAL, IP6_OUTPUT};
use net::prelude::*;

pub use api::*;
use change::Numbers;
pub use change::*;
pub use error::Error;
pub use log::{Export, export};
use node::Counters;
use policy::{Known, Policy};
use publish::Work;
use ruleset::{Options, Ruleset};
use session::Both;
use zone::{Pair, Zone, Zones};

/// A firewall of zones.
pub const FEATURE: Feature = Feature {
    name: "firewall",
    about: "Policies between zones of interfaces, with sessions",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["acl", "icmp", "ipfix", "sessions", "syslog", "translation"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

/// The process that ends sessions and makes large policies ready.
const PROCESS: &str = "firewall-process";
/// Time between its rounds.
const ROUND: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(1);

/// Columns of counters by rule.
const BY_RULE: Columns =
    Columns::growing("firewall rule", policy::MOST_RULES + policy::MOST_POLICIES);
/// Columns of counters by policy.
const BY_POLICY: Columns = Columns::growing("firewall policy", policy::MOST_POLICIES);

/// The zone of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its zone.
    pub zone: Zone,
    /// Whether any interface is in a zone.
    is_guarded: bool,
}

/// The state.
pub struct Firewall {
    /// Zones.
    pub zones: Zones,
    /// Objects.
    pub known: Known,
    /// Policies by the zones that they are between.
    pub policies: BTreeMap<Pair, Policy>,
    /// Global parameters.
    pub options: Options,
    export: Option<Export>,
    ruleset: Shared<Ruleset>,
    sessions: Both,
    counters: Counters,
    work: Work,
    numbers: Numbers,
}

/// The state.
pub fn state(router: &Router) -> &Firewall {
    router.own::<Firewall>()
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let zones = router.attach::<Member>().map_err(refuse)?;
    let counters = Counters {
        rules: router.stats.combined("/firewall/rules", BY_RULE).map_err(refuse)?,
        policies: router.stats.combined("/firewall/policies", BY_POLICY).map_err(refuse)?,
        sessions: router.stats.simple("/firewall/sessions", BY_POLICY).map_err(refuse)?,
    };
    let options = Options::default();
    let sessions =
        Both::new(router, &options.timeouts, counters.sessions.clone()).map_err(refuse)?;
    let firewall = Firewall {
        zones: Zones::default(),
        known: Known::default(),
        policies: BTreeMap::new(),
        options,
        export: None,
        ruleset: Shared::new(Ruleset::new(options)),
        sessions,
        counters,
        work: Work::default(),
        numbers: Numbers::default(),
    };
    node::add(router, &firewall, &zones).map_err(refuse)?;
    router.insert(firewall);
    let at = |arc, node, is_on: fn(&Member) -> bool| AttachedAt { arc, node, is_on };
    router.attach_at::<Member, _>([
        at(&IP4_OUTPUT, place::name::<V4>(place::OUTPUT), |m| m.is_guarded),
        at(&IP6_OUTPUT, place::name::<V6>(place::OUTPUT), |m| m.is_guarded),
        at(&IP4_LOCAL, place::name::<V4>(place::LOCAL), |m| m.zone != Zone::NONE),
        at(&IP6_LOCAL, place::name::<V6>(place::LOCAL), |m| m.zone != Zone::NONE),
    ]);
    router.interfaces.observe(|router, interface, change| match change {
        Change::Added => change::guard_new(router, interface),
        Change::Deleting => change::forget(router, interface),
        _ => {}
    });
    router.events.handle(log::log);
    router.on_threads.push(session::threads_changed);
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| process(router)));
    sessions::list(router, "firewall", session_cli::usage);
    sessions::list_pages(router, "firewall-ip4", |router, wanted| {
        let all = state(router).sessions.v4.clone();
        sessions::page::page(router, &all, wanted, |one| one.data.tcp.name())
    });
    sessions::list_pages(router, "firewall-ip6", |router, wanted| {
        let all = state(router).sessions.v6.clone();
        sessions::page::page(router, &all, wanted, |one| one.data.tcp.name())
    });
    cli::register(&mut parts.cli);
    rule_cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    session_cli::register(&mut parts.cli);
    explain::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

/// A round of the process.
fn process(router: &mut Router) -> Wake {
    let has_more = publish::go_on(router);
    let is_used = session_cli::expire(router);
    Wake::AfterOrEvent(if has_more || is_used { SOON } else { ROUND })
}
