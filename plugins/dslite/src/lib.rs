//! Dual-Stack Lite (RFC 6333): IPv4 packets of customers travel in IPv6 and share addresses.
//!
//! * At the provider (AFTR) routes lead packets for its IPv6 address to `dslite-in2out`, and those
//!   for addresses of the pool to `dslite-out2in`. A session gives a host's port behind a
//!   customer's element (B4) a port outside, whatever the far end; all sessions of a B4 are on one
//!   thread, with ports outside that lead there.
//! * At the customer's edge (B4) a default route leads IPv4 packets into the tunnel, and one for
//!   its IPv6 address leads to what takes them out of it.
#![forbid(unsafe_code)]

mod api;
mod ce;
mod cli;
mod core;
mod in2out;
mod out2in;
mod state;
mod tunnel;

use control::stats::Columns;
use net::fib::NewKind;
use net::prelude::*;

use crate::core::{Config, Core};
use crate::state::{DsLite, Kinds};

pub use crate::api::*;
pub use crate::state::Error;

/// Dual-Stack Lite.
pub const FEATURE: Feature = Feature {
    name: "dslite",
    about: "Dual-Stack Lite",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "sessions", "nat_log", "translation"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The process that ends what is over.
const PROCESS: &str = "dslite-expire";
/// Time between its rounds.
const ROUND: Duration = Duration::from_secs(5);

fn kinds(router: &mut Router) -> Result<Kinds, Refused> {
    let mut kind = |link: Link, name: &str| {
        let nodes = vec![(link, name.to_owned())];
        let describe = |_: &Router, _| "DS-Lite".to_owned();
        router.add_object_kind(NewKind { nodes, describe }).map_err(refuse)
    };
    Ok(Kinds {
        in2out: kind(Link::Ip6, "dslite-in2out")?,
        out2in: kind(Link::Ip4, "dslite-out2in")?,
        encap: kind(Link::Ip4, "dslite-ce-encap")?,
        decap: kind(Link::Ip6, "dslite-ce-decap")?,
    })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let mut is_ce = false;
    for stanza in parts.router.stanzas.iter().filter(|s| s.word == "dslite") {
        is_ce |= stanza.has("ce").map_err(refuse)?;
    }
    let router = &mut *parts.router;
    let all = state::start(router).map_err(refuse)?;
    let (config, all) = (Shared::new(Config::default()), Shared::new(all));
    let one = Columns::fixed(1);
    let mut total = |name| router.stats.simple(name, one).map_err(io::Error::other);
    let totals = [
        total("/dslite/total-b4s").map_err(refuse)?,
        total("/dslite/total-sessions").map_err(refuse)?,
    ];
    let core = Core { all: all.reader(), config: config.reader(), totals };
    let log = nat_log::Log::new(router);
    let engine = &mut router.engine;
    engine.add(in2out::In2Out(core.clone())).map_err(refuse)?;
    engine.add(in2out::Slow::new(&core, log)).map_err(refuse)?;
    engine.add(out2in::Out2In(core.clone())).map_err(refuse)?;
    engine.add(ce::Encap(core.clone())).map_err(refuse)?;
    engine.add(ce::Decap(core.clone())).map_err(refuse)?;
    let kinds = kinds(router)?;
    router.insert(DsLite::new(is_ce, kinds, config, all, core));
    router.on_threads.push(state::threads_changed);
    let body = |router: &mut Router, _| match state::expire(router) {
        true => Wake::After(Duration::from_millis(1)),
        false => Wake::After(ROUND),
    };
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "dslite", |router| {
        let all = router.own::<DsLite>().all.current().clone();
        all.sessions.usage(router).unwrap_or_default()
    });
    sessions::list_pages(router, "dslite", |router, wanted| {
        let all = router.own::<DsLite>().all.current().clone();
        sessions::page::page(router, &all.sessions, wanted, |one| one.data.tcp.name())
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
