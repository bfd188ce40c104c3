//! An API over HTTP, and the console: the router for programs and people that have a browser.
//!
//! Connections, TLS and everything hostile are on a thread of their own with its own event loop
//! ([`server`]). It requests one of two things from control ([`work`]): to run a command, in slices
//! as for any other session, or a sample of the statistics. Endpoints are a table ([`routes`]),
//! from which the OpenAPI document follows.
#![forbid(unsafe_code)]

mod assets;
mod body;
mod comparison;
mod guard;
mod history;
mod live;
mod openapi;
mod outcome;
mod request;
mod routes;
mod sample;
mod server;
mod settings;
mod show;
mod socket;
mod texts;
mod tokens;
mod work;

use std::path::Path;

use control::cli::io_text;
use control::stats::prometheus;
use net::prelude::*;

pub use openapi::document;
pub use server::Ready;
use settings::Settings;
use work::Counts;

/// The API over HTTP.
pub const FEATURE: Feature = Feature {
    name: "http",
    about: "API and console over HTTP",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("it is in the startup configuration only"),
};

/// State of the feature: what is served, once it is.
struct Http {
    settings: Settings,
    /// Addresses being served; empty until [`start`].
    served: Vec<String>,
    counts: Arc<Counts>,
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let settings = Settings::read(&parts.router.stanzas).map_err(refuse)?;
    // A mistake in one of the files is known before anything starts.
    settings.load().map_err(refuse)?;
    parts.router.insert(Http { settings, served: Vec::new(), counts: Arc::default() });
    show::register(&mut parts.cli);
    work::register(parts);
    Ok(())
}

/// Listens on the addresses of the startup configuration; [`serve`] begins to serve them. Without a
/// file of tokens one is made up, for those who may read `http.token` in the folder of the sockets.
/// Paths of sockets that were made go to `made`.
///
/// # Errors
/// The message: what cannot be read or served.
pub fn bind(
    router: &mut Router,
    folder: &Path,
    made: impl Fn(&Path) -> Result<(), String>,
) -> Result<Option<Ready>, String> {
    let Some(http) = router.state::<Http>() else { return Ok(None) };
    if http.settings.listen.is_empty() {
        return Ok(None);
    }
    let loaded = http.settings.load()?;
    let (listen, counts) = (http.settings.listen.clone(), Arc::clone(&http.counts));
    let link = work::link(router);
    let segment = router
        .stats
        .readable()
        .and_then(|segment| prometheus::Source::new(segment, router.published.clone()));
    let statistics = segment.map_err(|e| format!("http: statistics: {}", io_text(&e)))?;
    let known = server::Known { link, statistics, history: history::start(router), counts };
    let ready = server::bind(listen, loaded, known, folder)?;
    for path in ready.served.iter().filter_map(|address| address.strip_prefix("unix:")) {
        made(Path::new(path))?;
    }
    Ok(Some(ready))
}

/// Begins to serve what was bound, on a thread that has the privileges of the one that asks.
///
/// # Errors
/// The message.
pub fn serve(router: &mut Router, ready: Option<Ready>) -> Result<(), String> {
    let Some(ready) = ready else { return Ok(()) };
    let served = ready.start()?;
    let log = router.log.class("http", "server");
    served.iter().for_each(|address| log.notice(format_args!("serving {address}")));
    router.own_mut::<Http>().served = served;
    Ok(())
}
