//! Deterministic NAT of IPv4 (RFC 7422): the outside address and ports of a host follow from its
//! own address, so that the use of ports need not be logged.
//!
//! * Sessions map a host's port to remote ends; one port may be used to several.
//! * A host has at most [`MOST_SESSIONS`] sessions. At the limit, or when all its ports are in use
//!   to a remote end, its packet is dropped and it gets an error.
//! * All sessions of a host are on one thread, which follows from its address; that of packets from
//!   outside follows from address and port.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod map;
mod messages;
mod node;
mod state;

use graph::arc::Beside;
use net::ip::ReversePaths;
use net::prelude::*;
use translation::handoff::{HandOff, Place};
use translation::users::Users;

use node::{Core, In2Out, Out2In};
use state::{Det44, Role, Side};

pub use map::{Map, Maps};
pub use messages::*;

/// Deterministic NAT.
pub const FEATURE: Feature = Feature {
    name: "det44",
    about: "Deterministic NAT (CGN)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "reassembly", "sessions", "nat_log", "translation"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Sessions of a host at most.
pub const MOST_SESSIONS: u32 = 1000;
/// Sessions of a thread at most.
const SESSIONS: usize = 1 << 22;
/// The process that ends what is over.
const PROCESS: &str = "det44-expire-walk";
/// Seconds between its rounds.
const ROUND: Duration = Duration::from_secs(5);

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let (config, sessions) = (Shared::new(state::Config::default()), Shared::new(None));
    let core = Core {
        config: config.reader(),
        sessions: sessions.reader(),
        users: Users::new(router.engine.thread_rows()),
        paths: ReversePaths::new(router),
    };
    router.attach::<Role>().map_err(refuse)?;
    let in2out = In2Out(core.clone(), nat_log::Log::new(router));
    let engine = &mut router.engine;
    engine.add_feature(&IP4_UNICAST, in2out.clone()).map_err(refuse)?;
    engine.add_feature(&IP4_UNICAST, Out2In(core.clone())).map_err(refuse)?;
    engine.add(HandOff(in2out)).map_err(refuse)?;
    engine.add(HandOff(Out2In(core.clone()))).map_err(refuse)?;
    for node in [<In2Out as Place>::HANDOFF, <Out2In as Place>::HANDOFF] {
        let before = Beside::Before(<Out2In as Place>::NODE);
        engine.place_beside(&IP4_UNICAST, node, before).map_err(refuse)?;
    }
    let at = |node, is_on| AttachedAt { arc: &IP4_UNICAST, node, is_on };
    router.attach_at::<Role, _>([
        at(<In2Out as Place>::NODE, |r: &Role| r.side == Side::Inside && !r.hands_off),
        at(<Out2In as Place>::NODE, |r: &Role| r.side == Side::Outside && !r.hands_off),
        at(<In2Out as Place>::HANDOFF, |r: &Role| r.side == Side::Inside && r.hands_off),
        at(<Out2In as Place>::HANDOFF, |r: &Role| r.side == Side::Outside && r.hands_off),
    ]);
    router.restore_before_errors(translation::restore::of_sessions(sessions.reader()));
    router.insert(Det44 { settings: None, config, sessions, core });
    router.interfaces.observe(|router, _, change| {
        if change == net::interface::Change::Deleting {
            state::publish(router);
        }
    });
    router.on_threads.push(state::threads_changed);
    let body = |router: &mut net::Router, _| match state::expire(router) {
        true => Wake::After(Duration::from_millis(1)),
        false => Wake::After(ROUND),
    };
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "det44", |router| {
        let sessions = router.own::<Det44>().sessions.current().clone();
        sessions.and_then(|s| s.usage(router).ok()).unwrap_or_default()
    });
    sessions::list_pages(router, "det44", |router, wanted| {
        match router.own::<Det44>().sessions.current().clone() {
            Some(all) => sessions::page::page(router, &all, wanted, |one| one.data.tcp.name()),
            None => Ok(sessions::page::Page::default()),
        }
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
