//! NAT between IPv6 hosts and IPv4 servers, with sessions (RFC 6146): addresses of IPv4 stand
//! within a prefix (RFC 6052), packets are translated as RFC 7915 has it.
//!
//! * A *binding* gives an inside end of a host (address and port) an outside end, for all remote
//!   ends. It exists as long as one of its sessions does, and packets to it from anywhere reach the
//!   host (endpoint-independent mapping and filtering, RFC 6146 section 3). Static mappings are
//!   bindings that stay.
//! * A *session* is a flow inside and one outside ([`sessions`]), and has the timeout of its kind.
//! * A packet of a host to another one's outside end is translated twice (hairpinning).
//! * Sessions and bindings of a host are on one thread, with ports outside that lead there.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod config;
mod core;
mod handoff;
mod health;
mod in2out;
mod log;
mod messages;
mod out2in;
mod places;
mod requests;
mod show;
mod state;
mod tables;
mod translate;

use control::stats::Columns;
use nat_log::Log;
use net::interface::COLUMNS;
use net::ip::{ReversePaths, WayMtus};
use net::prelude::*;
use translation::handoff::HandOff;

use crate::config::Config;
use crate::core::{All, Core, Counters};
use crate::state::{Nat, Role};

pub use crate::messages::*;
pub use crate::state::Error;

/// NAT64.
pub const FEATURE: Feature = Feature {
    name: "nat64",
    about: "NAT64",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "reassembly", "sessions", "nat_log", "translation"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The process that ends what is over.
const PROCESS: &str = "nat64-expire-walk";
/// Time between its rounds.
const ROUND: Duration = Duration::from_secs(5);

fn core(
    router: &mut Router,
    config: &Shared<Config>,
    all: &Shared<Option<All>>,
) -> io::Result<Core> {
    let mut rows = |name: &str, columns: Columns| {
        router.stats.simple(&format!("/nat64/{name}"), columns).map_err(io::Error::other)
    };
    let mut counters_of = |direction: &str| -> io::Result<Counters> {
        let mut of = |kind: &str| rows(&format!("{direction}/{kind}"), COLUMNS);
        Ok([of("tcp")?, of("udp")?, of("icmp")?, of("other")?, of("drops")?])
    };
    let counters = [counters_of("in2out")?, counters_of("out2in")?];
    let one = Columns::fixed(1);
    let totals = [rows("total-bibs", one)?, rows("total-sessions", one)?];
    Ok(Core {
        all: all.reader(),
        config: config.reader(),
        paths: ReversePaths::new(router),
        outside: WayMtus::new(router),
        inside: WayMtus::new(router),
        counters,
        totals,
    })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let (config, all) = (Shared::new(Config::default()), Shared::new(None));
    let core = core(router, &config, &all).map_err(refuse)?;
    router.attach::<Role>().map_err(refuse)?;
    let log = Log::new(router);
    let engine = &mut router.engine;
    engine.add_feature(&IP6_UNICAST, in2out::In2Out(core.clone())).map_err(refuse)?;
    engine.add(in2out::Slow::new(&core, log.clone())).map_err(refuse)?;
    engine.add_feature(&IP6_UNICAST, HandOff(handoff::In2Out(core.clone()))).map_err(refuse)?;
    engine.add_feature(&IP4_UNICAST, out2in::Out2In(core.clone(), log)).map_err(refuse)?;
    engine.add_feature(&IP4_UNICAST, HandOff(handoff::Out2In(core.clone()))).map_err(refuse)?;
    let at = |arc, node, is_on| AttachedAt { arc, node, is_on };
    router.attach_at::<Role, _>([
        at(&IP6_UNICAST, "nat64-in2out", |r: &Role| r.is_inside && !r.hands_off),
        at(&IP6_UNICAST, "nat64-in2out-handoff", |r: &Role| r.is_inside && r.hands_off),
        at(&IP4_UNICAST, "nat64-out2in", |r: &Role| r.is_outside && !r.hands_off),
        at(&IP4_UNICAST, "nat64-out2in-handoff", |r: &Role| r.is_outside && r.hands_off),
    ]);
    let (tables, routes) = (BTreeMap::new(), BTreeMap::new());
    router.insert(Nat { settings: None, tables, routes, config, all, core });
    router.interfaces.observe(|router, interface, change| {
        if router.state::<Nat>().is_some() {
            state::interface_changed(router, interface, change);
        }
    });
    router.addresses.observe(|router, _, _| state::addresses_changed(router));
    router.on_threads.push(state::threads_changed);
    let body = |router: &mut Router, _| match state::expire(router) {
        true => Wake::After(Duration::from_millis(1)),
        false => Wake::After(ROUND),
    };
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "nat64", |router| {
        let all = router.own::<Nat>().all.current().clone();
        all.and_then(|all| all.sessions.usage(router).ok()).unwrap_or_default()
    });
    sessions::list_pages(router, "nat64", |router, wanted| {
        match router.own::<Nat>().all.current().clone() {
            Some(all) => {
                sessions::page::page(router, &all.sessions, wanted, |one| one.data.tcp.name())
            }
            None => Ok(sessions::page::Page::default()),
        }
    });
    health::register(router);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
