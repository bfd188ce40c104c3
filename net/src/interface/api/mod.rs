//! Messages of the module `interface`.

mod dump;
mod events;
mod queues;
mod settings;
mod sub;
pub mod types;

use control::api::{Api, Module, Retval};

use super::{Error, Interface, InterfaceIndex};
use crate::router::Router;

/// The module that all of them are in.
pub fn module(api: &mut Api<Router>) -> Module<'_, Router> {
    api.core("interface", "3.2.5")
}

pub(super) fn register(api: &mut Api<Router>) {
    dump::register(api);
    settings::register(api);
    queues::register(api);
    sub::register(api);
    events::register(api);
}

pub(super) use events::tell;

impl From<Error> for Retval {
    fn from(e: Error) -> Self {
        match e {
            Error::Unknown => Self::INVALID_SW_IF_INDEX,
            Error::NameInUse(_) => Self::VALUE_EXIST,
            Error::Full | Error::Statistics(_) => Self::LIMIT_EXCEEDED,
            Error::Unfit => Self::INVALID_INTERFACE,
            Error::SubExists(_) => Self::SUBIF_ALREADY_EXISTS,
            Error::VlanExists => Self::VLAN_ALREADY_EXISTS,
            Error::InvalidVlan => Self::INVALID_VLAN,
            Error::FixedSpeed => Self::UNSUPPORTED,
            Error::Invalid(_) => Self::INVALID_VALUE,
            Error::Graph(_) => Self::UNSPECIFIED,
        }
    }
}

/// The interface with this number.
///
/// # Errors
/// -2 when there is none.
pub fn find(router: &Router, index: InterfaceIndex) -> Result<&Interface, Retval> {
    router.interfaces.at(index).ok_or(Retval::INVALID_SW_IF_INDEX)
}

#[cfg(test)]
mod tests;
