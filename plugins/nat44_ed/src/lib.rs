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

use graph::arc::{Beside, FeatureArc};
use infra::table::tally::Tally;
use net::interface::COLUMNS;
use net::ip::ReversePaths;
use net::ip4::IP4_OUTPUT;
use net::prelude::*;
use translation::received::Received;
use translation::role;
use translation::session::{NatSessions, counters_of};
use translation::state::Kind;
use translation::workers::Workers;

use crate::core::{ByFib, Core};
use config::Config;
use handoff::{HandOff, HandsOff};
use place::{Either, In2Out, Out2In, Output, Place};
use state::{EndpointDependent, Nat, Role};

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
fn core(
    router: &mut Router,
    config: &Shared<Config>,
    sessions: &Shared<Option<NatSessions>>,
) -> io::Result<Core> {
    let counters = counters_of(router, "/nat44-ed")?;
    let one = control::stats::Columns::fixed(1);
    let stats = &mut router.stats;
    let total = stats.simple("/nat44-ed/total-sessions", one).map_err(io::Error::other)?;
    let hairpinning = stats.simple("/nat44-ed/hairpinning", COLUMNS).map_err(io::Error::other)?;
    Ok(Core {
        sessions: sessions.reader(),
        config: config.reader(),
        paths: ReversePaths::new(router),
        ports: router.interfaces.ports(),
        by_fib: ByFib::new(Tally::new(TABLES)?),
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
    let log = nat_log::Log::of(router, nat_log::Translator::Nat44Ed);
    let (fast, slow) = node::of(router, place, core, log);
    router.engine.add_feature(arc, fast).map_err(refuse)?;
    router.engine.add_feature(arc, HandOff::new(place, core)).map_err(refuse)?;
    if let Some(last) = slow_behind {
        router.engine.add(slow).map_err(refuse)?;
        let beside = Beside::After(last);
        router.engine.place_beside(arc, P::SLOW, beside).map_err(refuse)?;
    }
    Ok(())
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
    let fast = [In2Out::FAST, Out2In::FAST, Either::FAST, Output::FAST];
    let over = [In2Out::HANDOFF, Out2In::HANDOFF, Either::HANDOFF, Output::HANDOFF];
    role::attach::<Nat>(router, fast, over);
    router.restore_before_errors(translation::restore::of_sessions(sessions.reader()));
    let workers = Workers::default();
    Nat {
        settings: None,
        config,
        sessions,
        core,
        workers,
        received: Received::new(),
        frame_queue: 0,
    }
    .start(router, PROCESS);
    router.on_threads.push(EndpointDependent::go_over);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
