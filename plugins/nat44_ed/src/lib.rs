//! NAT of IPv4 by sessions with both ends (endpoint-dependent): hosts inside share addresses
//! outside, and are reached from there by mappings (RFC 3022, RFC 4787, RFC 5382, RFC 5508).
//!
//! * A session has two flows ([`sessions`]): that of packets from inside, in the host's table, and
//!   that of packets from outside. The translation of either is the other one reversed; nothing
//!   else is remembered.
//! * A port may be used to several far ends at once: a flow outside is free if no session has it.
//!   All sessions that could have it are on the thread that asks, so two never get the same, and
//!   when all ports of all addresses are in use to a far end, that is counted and the packet
//!   dropped.
//! * A packet is translated where it is received; with an output feature, where it is sent.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod config;
mod configuration;
mod core;
mod handoff;
mod log;
mod mapping_cli;
mod messages;
mod node;
mod place;
mod requests;
mod session_messages;
mod show;
mod slow;
mod state;
mod usual;

use std::io;
use std::time::Duration;

use control::feature::Refused;
use control::process::Wake;
use graph::arc::{Beside, FeatureArc};
use infra::rcu::Shared;
use infra::table::tally::Tally;
use net::interface::{AttachedAt, COLUMNS};
use net::ip::ReversePaths;
use net::ip4::{IP4_OUTPUT, IP4_UNICAST};
use net::{Configuration, Feature, Origin, Parts, Router, refuse};
use translation::session::{NatSessions, counters};

use crate::core::Core;
use config::Config;
use handoff::{HandOff, HandsOff};
use place::{Either, In2Out, Out2In, Output, Place};
use state::{Nat, Role};

pub use messages::*;
pub use session_messages::*;

/// NAT.
pub const FEATURE: Feature = Feature {
    name: "nat",
    about: "Network Address Translation (NAT)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "reassembly", "sessions", "nat_log", "translation"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

/// Tables there can be.
const TABLES: usize = 1 << 16;
/// The process that ends what is over.
const PROCESS: &str = "nat44-ed-expire";
/// Seconds between its rounds.
const ROUND: Duration = Duration::from_secs(5);

fn core(
    router: &mut Router,
    config: &Shared<Config>,
    sessions: &Shared<Option<NatSessions>>,
) -> io::Result<Core> {
    let mut both = |direction: &str| {
        let mut path = |path: &str| counters(router, &format!("/nat44-ed/{direction}/{path}"));
        Ok::<_, io::Error>([path("fastpath")?, path("slowpath")?])
    };
    let counters = [both("in2out")?, both("out2in")?];
    let one = control::stats::Columns::fixed(1);
    let stats = &mut router.stats;
    let total = stats.simple("/nat44-ed/total-sessions", one).map_err(io::Error::other)?;
    let hairpinning = stats.simple("/nat44-ed/hairpinning", COLUMNS).map_err(io::Error::other)?;
    Ok(Core {
        sessions: sessions.reader(),
        config: config.reader(),
        paths: ReversePaths::new(router),
        by_fib: Tally::new(TABLES)?,
        counters,
        total,
        hairpinning,
    })
}

/// Adds the nodes of a place; its slow path is behind the last of the others.
fn add<P: HandsOff>(
    router: &mut Router,
    place: P,
    arc: &'static FeatureArc,
    core: &Core,
    slow_behind: Option<&'static str>,
) -> Result<(), Refused> {
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), P::FAST);
    let log = nat_log::Log::new(router);
    let (fast, slow) = node::of(router, place, core, (seed, log));
    router.engine.add_feature(arc, fast).map_err(refuse)?;
    router.engine.add_feature(arc, HandOff::new(place, core)).map_err(refuse)?;
    if let Some(last) = slow_behind {
        router.engine.add(slow).map_err(refuse)?;
        let beside = Beside::After(last);
        router.engine.place_beside(arc, P::SLOW, beside).map_err(refuse)?;
    }
    Ok(())
}

fn attach(router: &mut Router) {
    let at = |arc, node, is_on| AttachedAt { arc, node, is_on };
    let (unicast, output) = (&IP4_UNICAST, &IP4_OUTPUT);
    router.attach_at::<Role, _>([
        at(unicast, In2Out::FAST, |r: &Role| !r.hands_off && r.is_inside && !r.receives_outside()),
        at(unicast, Out2In::FAST, |r: &Role| !r.hands_off && !r.is_inside && r.receives_outside()),
        at(unicast, Either::FAST, |r: &Role| !r.hands_off && r.is_inside && r.receives_outside()),
        at(output, Output::FAST, |r: &Role| !r.hands_off && r.is_output),
        at(unicast, In2Out::HANDOFF, |r| r.hands_off && r.is_inside && !r.receives_outside()),
        at(unicast, Out2In::HANDOFF, |r| r.hands_off && !r.is_inside && r.receives_outside()),
        at(unicast, Either::HANDOFF, |r| r.hands_off && r.is_inside && r.receives_outside()),
        at(output, Output::HANDOFF, |r| r.hands_off && r.is_output),
    ]);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let (config, sessions) = (Shared::new(Config::default()), Shared::new(None));
    let core = core(router, &config, &sessions).map_err(refuse)?;
    router.attach::<Role>().map_err(refuse)?;
    add(router, In2Out, &IP4_UNICAST, &core, Some(Either::FAST))?;
    add(router, Out2In, &IP4_UNICAST, &core, Some(Either::FAST))?;
    add(router, Either, &IP4_UNICAST, &core, None)?;
    add(router, Output, &IP4_OUTPUT, &core, Some(Output::HANDOFF))?;
    attach(router);
    router.insert(Nat { settings: None, config, sessions, core });
    router.interfaces.observe(Nat::interface_changed);
    router.addresses.observe(|router, _, _| Nat::addresses_changed(router));
    router.on_threads.push(state::threads_changed);
    let body = |router: &mut Router, _| match Nat::expire(router) {
        true => Wake::After(Duration::from_millis(1)),
        false => Wake::After(ROUND),
    };
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "nat44-ed", |router| {
        let sessions = router.own::<Nat>().sessions.current().clone();
        sessions.and_then(|s| s.usage(router).ok()).unwrap_or_default()
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
