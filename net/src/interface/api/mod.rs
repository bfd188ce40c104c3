//! Messages of the module `interface`.

mod dump;
mod events;
mod queues;
mod settings;
mod sub;
pub mod types;

use control::api::{Api, Fields, Module, Retval};

use super::{Interface, InterfaceIndex};
use crate::router::Router;

/// The module that all of them are in.
pub fn module(api: &mut Api<Router>) -> Module<'_, Router> {
    api.core("interface", "3.2.5")
}

/// The fields of a reply with the index of the new interface.
#[derive(Debug, Fields)]
pub struct InterfaceReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn register(api: &mut Api<Router>) {
    dump::register(api);
    settings::register(api);
    queues::register(api);
    sub::register(api);
    events::register(api);
}

pub(super) use events::tell;

/// The interface with this number.
///
/// # Errors
/// -2 when there is none.
pub fn find(router: &Router, index: InterfaceIndex) -> Result<&Interface, Retval> {
    router.interfaces.at(index).ok_or(Retval::INVALID_SW_IF_INDEX)
}

#[cfg(test)]
mod tests;
