//! NAT of IPv4 by sessions without far ends (endpoint-independent): what a host sends from one port
//! has one port outside to whatever far end, and any far end reaches it there (RFC 4787, RFC 5382,
//! RFC 5508).
//!
//! * A session has two flows whose far ends are 0 ([`translation::session::ANY_FAR_END`]).
//! * What hosts inside send to addresses outside is translated twice: its source as for any far
//!   end, then its destination, on the thread that has it.
//! * A host has so many sessions at most; a new one takes the place of its oldest.
#![forbid(unsafe_code)]

mod api;
mod classify;
mod cli;
mod configuration;
mod core;
mod ha;
mod handing;
mod log;
mod messages;
mod node;
mod requests;
mod session_messages;
mod show;
mod slow;
mod state;

use control::stats::Columns;
use graph::arc::Beside;
use net::interface::COLUMNS;
use net::ip::ReversePaths;
use net::ip4::IP4_OUTPUT;
use net::prelude::*;
use translation::handoff::{HandOff, Place as HandOffPlace};
use translation::received::Received;
use translation::role;
use translation::session::{NatSessions, counters_of};
use translation::state::Kind;
use translation::users::Users;
use translation::workers::Workers;

use crate::core::{Config, Core};
use classify::Classify;
use handing::{Either, In2Out, Out2In, Output};
use node::{Place, Translate};
use state::{EndpointIndependent, Nat, Role};

pub use ha::{
    Nat44EiHaFlush, Nat44EiHaGetFailover, Nat44EiHaGetFailoverReply, Nat44EiHaGetListener,
    Nat44EiHaGetListenerReply, Nat44EiHaResync, Nat44EiHaResyncCompletedEvent,
    Nat44EiHaSetFailover, Nat44EiHaSetListener,
};
pub use messages::*;
pub use session_messages::*;

/// Endpoint-independent NAT.
pub const FEATURE: Feature = Feature {
    name: "nat44_ei",
    about: "IPv4 Endpoint-Independent NAT (NAT44 EI)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "reassembly", "sessions", "nat_log", "translation"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

/// The process that ends what is over.
const PROCESS: &str = "nat44-ei-expire";
fn core(
    router: &mut Router,
    config: &Shared<Config>,
    sessions: &Shared<Option<NatSessions>>,
) -> io::Result<Core> {
    let counters = counters_of(router, "/nat44-ei")?;
    let stats = &mut router.stats;
    let mut one = |name: &str| {
        stats.simple(&format!("/nat44-ei/{name}"), Columns::fixed(1)).map_err(io::Error::other)
    };
    let totals = [one("total-sessions")?, one("total-users")?, one("user-limit-reached")?];
    let hairpinning = stats.simple("/nat44-ei/hairpinning", COLUMNS).map_err(io::Error::other)?;
    Ok(Core {
        sessions: sessions.reader(),
        users: Users::new(router.engine.thread_rows()),
        config: config.reader(),
        paths: ReversePaths::new(router),
        ports: router.interfaces.ports(),
        counters,
        totals,
        hairpinning,
    })
}

fn translate<P: Place>(router: &mut Router, core: &Core, place: P) -> Translate<P> {
    let log = log::Log::new(router);
    Translate::new(place, core, log)
}

fn add_nodes(router: &mut Router, core: &Core) -> Result<(), Refused> {
    let (unicast, output) = (&IP4_UNICAST, &IP4_OUTPUT);
    let in2out = translate(router, core, node::In2Out);
    let out2in = translate(router, core, node::Out2In);
    let sent = translate(router, core, node::Output);
    let finish = translate(router, core, node::Finish);
    let in2out_slow = translate(router, core, node::In2OutSlow);
    let sent_slow = translate(router, core, node::OutputSlow);
    let engine = &mut router.engine;
    engine.add_feature(unicast, in2out).map_err(refuse)?;
    engine.add_feature(unicast, out2in).map_err(refuse)?;
    engine.add_feature(unicast, Classify(core.clone())).map_err(refuse)?;
    engine.add_feature(output, sent).map_err(refuse)?;
    engine.add_feature(unicast, HandOff(In2Out(core.clone()))).map_err(refuse)?;
    engine.add_feature(unicast, HandOff(Out2In(core.clone()))).map_err(refuse)?;
    engine.add_feature(unicast, HandOff(Either(core.clone()))).map_err(refuse)?;
    engine.add_feature(output, HandOff(Output(core.clone()))).map_err(refuse)?;
    engine.add(HandOff(handing::Hairpin(core.clone()))).map_err(refuse)?;
    engine.add(finish).map_err(refuse)?;
    engine.add(in2out_slow).map_err(refuse)?;
    engine.add(sent_slow).map_err(refuse)?;
    let slow = [
        (unicast, node::In2OutSlow::NAME, node::In2Out::NAME),
        (output, node::OutputSlow::NAME, node::Output::NAME),
    ];
    for (arc, slow, fast) in slow {
        engine.place_beside(arc, slow, Beside::After(fast)).map_err(refuse)?;
    }
    Ok(())
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let (config, sessions) = (Shared::new(Config::default()), Shared::new(None));
    let core = core(router, &config, &sessions).map_err(refuse)?;
    router.attach::<Role>().map_err(refuse)?;
    ha::insert(router)?;
    add_nodes(router, &core)?;
    let classify = "nat44-ei-classify";
    let alone = [node::In2Out::NAME, node::Out2In::NAME, classify, node::Output::NAME];
    let over = [In2Out::HANDOFF, Out2In::HANDOFF, Either::HANDOFF, Output::HANDOFF];
    role::attach::<Nat>(router, alone, over);
    let workers = Workers::default();
    router.restore_before_errors(translation::restore::of_sessions(sessions.reader()));
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
    router.on_threads.push(EndpointIndependent::go_over);
    ha::register(parts.router, &mut parts.cli, &mut parts.api)?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
