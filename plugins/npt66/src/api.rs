//! Messages of the module `npt66`.

use control::api::types::Ip6Prefix as PrefixField;
use net::prelude::*;
use wire::prefix::Ip6Prefix;

/// Add or delete a prefix translation on an interface.
#[derive(Message)]
pub struct Npt66BindingAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// outside interface
    pub sw_if_index: InterfaceIndex,
    /// inside prefix
    pub internal: PrefixField,
    /// outside prefix
    pub external: PrefixField,
}

fn prefix(field: PrefixField) -> Result<Ip6Prefix, Retval> {
    Ip6Prefix::new(field.address, field.len).map_err(|_| Retval::INVALID_VALUE)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("npt66", "0.0.1").call(|router: &mut Router, m: Npt66BindingAddDel| {
        let (internal, external) = (prefix(m.internal)?, prefix(m.external)?);
        match m.is_add {
            true => Ok(super::add(router, m.sw_if_index, internal, external)?),
            false => Ok(super::remove(router, m.sw_if_index, internal, external)?),
        }
    });
}
