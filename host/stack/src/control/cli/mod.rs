//! CLI commands for applications, namespaces, rules and settings.

mod apps;
mod layer;
mod namespaces;
mod rules;
mod sdl;
mod sessions;
mod statistics;
mod tls;
mod transports;

use control::cli::Cli;
use control::configuration::Lines;
use net::Router;

/// The configuration of the layer as commands.
pub(crate) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(place) = lines.resumed() {
        return sdl::configuration(router, lines, place);
    }
    layer::configuration(router, lines);
    transports::configuration(router, lines);
    namespaces::configuration(router, lines);
    rules::configuration(router, lines);
    sdl::configuration(router, lines, Default::default());
}

pub(super) fn register(cli: &mut Cli<Router>) {
    layer::register(cli);
    namespaces::register(cli);
    rules::register(cli);
    sdl::register(cli);
    apps::register(cli);
    sessions::register(cli);
    statistics::register(cli);
    tls::register(cli);
    transports::register(cli);
}
