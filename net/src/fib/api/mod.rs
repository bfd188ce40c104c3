//! Messages about routes, tables, sources and flow hashes.

mod hashes;
mod routes;
mod sources;
mod tables;
#[cfg(test)]
mod tests;
pub mod types;

use control::api::Api;

use crate::router::Router;

pub(crate) use tables::IpTable;

/// Version of the module `ip`.
pub(crate) const IP_VERSION: &str = "3.2.0";

pub(super) fn register(api: &mut Api<Router>) {
    tables::register(api);
    routes::register(api);
    hashes::register(api);
    sources::register(api);
}
