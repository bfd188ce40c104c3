//! Address translation for services of a cluster, as Kubernetes has them.
//!
//! * A *translation* gives an address and port (the service) to backends: a packet that begins a
//!   connection with it goes to one of them, chosen by a hash, and so do all others of the
//!   connection. Answers come from the service.
//! * *Source translation* gives packets that leave a cluster the address of its node, as a policy
//!   says.
//! * A *session* is a connection and one of these; a packet may have two (`session`).
//!
//! Packets of all interfaces are looked at while a translation is for all, so that answers are
//! found whatever way they come; a translation may be for some interfaces only. Routes lead packets
//! for services here, and what comes for sources that packets got, also from this router itself.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod config;
mod interfaces;
mod log;
mod node;
mod packet;
mod service;
mod session;
mod show;
mod sources;
mod state;
mod version;
mod walk;
mod wanted;

use control::stats::Columns;
use net::fib::{NewKind, ObjectKind};
use net::prelude::*;

use crate::config::{Config, OnInterface, Startup};
use crate::log::{Log, Logged, Logging, Noted};
use crate::node::{Core, INPUT, LOOKUP, RETURN, SNAT, SNAT_RETURN, TX, Translate};
use crate::service::Services;
use crate::session::Both;
use crate::state::Cnat;
use crate::version::Translated;
use crate::walk::Total;

pub use crate::api::*;
pub use crate::wanted::Error;

/// Address translation for services of a cluster.
pub const FEATURE: Feature = Feature {
    name: "cnat",
    about: "Address translation for services of a cluster",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "reassembly", "sessions", "translation"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The process that ends what is over.
const PROCESS: &str = "cnat-scanner-process";
/// The source of routes to services and to sources that packets got: an interface's own address
/// counts more, what else leads there less.
const ROUTES: (&str, u8) = ("cnat", 0x30);

fn add<V: Translated>(
    router: &mut Router,
    core: &Core,
    logging: &Shared<Logging>,
) -> Result<(), BuildError> {
    let log = Log::new(router, logging.reader());
    router.restore_before_errors(node::restore::<V>(&core.sessions));
    let engine = &mut router.engine;
    engine.add_feature(V::ARC, Translate::<V, LOOKUP>::new(core, &log))?;
    engine.add_feature(V::ARC, Translate::<V, INPUT>::new(core, &log))?;
    engine.add_feature(V::ARC, Translate::<V, SNAT_RETURN>::new(core, &log))?;
    engine.add_feature(V::ARC, Translate::<V, SNAT>::new(core, &log))?;
    engine.add(Translate::<V, TX>::new(core, &log))?;
    engine.add(Translate::<V, RETURN>::new(core, &log))?;
    Ok(())
}

fn kind(router: &mut Router, at: usize) -> Result<ObjectKind, BuildError> {
    let nodes = [(Link::Ip4, V4::NAMES[at]), (Link::Ip6, V6::NAMES[at])];
    let nodes = nodes.map(|(link, node)| (link, node.to_owned())).to_vec();
    let describe = match at {
        TX => |_: &Router, _| "cnat-service".to_owned(),
        _ => |_: &Router, _| "cnat-return".to_owned(),
    };
    router.add_object_kind(NewKind { nodes, describe })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let startup = Startup::read(parts)?;
    let router = &mut *parts.router;
    let (config, services) = (Shared::new(Config::default()), Services::new().map_err(refuse)?);
    let sessions = Both::new(router, &startup).map_err(refuse)?;
    let total = router.stats.simple("/cnat/sessions/total", Columns::fixed(1));
    let total = total.map_err(io::Error::other).map_err(refuse)?;
    let core = Core {
        sessions: sessions.clone(),
        services: services.reader(),
        config: config.reader(),
        interfaces: router.attach::<OnInterface>().map_err(refuse)?,
        limits: [startup.most_sessions, startup.most_of_vrf],
        total: total.clone(),
    };
    let logging = Shared::new(Logging::default());
    add::<V4>(router, &core, &logging).map_err(refuse)?;
    add::<V6>(router, &core, &logging).map_err(refuse)?;
    router.insert(Logged(logging));
    router.events.handle(|router, session: Noted| router.note(session));
    let kinds = [kind(router, TX).map_err(refuse)?, kind(router, RETURN).map_err(refuse)?];
    let (name, priority) = ROUTES;
    let source = router.fib.sources.add_own(name, priority);
    let source = source.ok_or_else(|| refuse("there is no number for one more source"))?;
    for (arc, names) in [(&IP4_UNICAST, V4::NAMES), (&IP6_UNICAST, V6::NAMES)] {
        let at = |at: usize| AttachedAt { arc, node: names[at], is_on: OnInterface::is_on };
        router.attach_at::<OnInterface, _>([at(LOOKUP), at(INPUT)]);
    }
    let round = Duration::from_secs_f64(startup.round);
    router.insert(Total(total));
    router.insert(Cnat::new(startup, (services, config, sessions), (kinds, source)));
    router.interfaces.observe(state::interface_changed);
    router.addresses.observe(|router, interface, _| state::addresses_changed(router, interface));
    router.on_threads.push(walk::threads_changed);
    let body = move |router: &mut Router, _| match walk::expire(router) {
        true => Wake::After(Duration::from_millis(1)),
        false => Wake::After(round),
    };
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "cnat", |router| {
        let all = router.own::<Cnat>().sessions.clone();
        all.usage(router)
    });
    sessions::list_pages(router, "cnat-ip4", |router, wanted| {
        let all = router.own::<Cnat>().sessions.v4.clone();
        sessions::page::page(router, &all, wanted, |one| one.data.tcp.name())
    });
    sessions::list_pages(router, "cnat-ip6", |router, wanted| {
        let all = router.own::<Cnat>().sessions.v6.clone();
        sessions::page::page(router, &all, wanted, |one| one.data.tcp.name())
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
