//! API messages of the modules `session` and `tcp`.

mod apps;
mod layer;
mod namespaces;
mod rules;
mod sdl;
mod sources;

use control::api::Api;
use net::Router;

pub use apps::*;
pub use layer::*;
pub use namespaces::*;
pub use rules::*;
pub use sdl::*;
pub use sources::*;

pub(super) fn register(api: &mut Api<Router>) {
    layer::register(api);
    namespaces::register(api);
    rules::register(api);
    sdl::register(api);
    apps::register(api);
    sources::register(api);
}

/// Version of the module `session`.
const VERSION: &str = "4.0.3";
