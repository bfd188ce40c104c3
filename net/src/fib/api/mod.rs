//! Messages about routes, tables, sources and flow hashes.

mod hashes;
mod routes;
mod sources;
mod tables;
#[cfg(test)]
mod tests;
pub mod types;

use control::api::{Api, Retval};

use super::Error;
use crate::adjacency;
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

impl From<Error> for Retval {
    fn from(e: Error) -> Self {
        match e {
            Error::NoTable => Self::NO_SUCH_FIB,
            Error::NoRoute => Self::NO_SUCH_ENTRY,
            Error::Full => Self::TABLE_TOO_BIG,
            Error::TableExists => Self::ENTRY_ALREADY_EXISTS,
            Error::TableInUse => Self::IN_USE,
            Error::Adjacency(adjacency::Error::NoInterface) => Self::INVALID_SW_IF_INDEX,
            Error::Adjacency(adjacency::Error::Full(_)) => Self::LIMIT_EXCEEDED,
            Error::Adjacency(_) => Self::UNSPECIFIED,
        }
    }
}
