//! Messages of the module `svs`.

use control::api::types::{AddressFamily, Prefix as PrefixField};
use net::prelude::*;

/// Get the version of the API.
#[derive(Message)]
#[reply(SvsPluginGetVersionReply)]
pub struct SvsPluginGetVersion {}

/// Version of the API.
#[derive(Message)]
#[head(details)]
pub struct SvsPluginGetVersionReply {
    /// major version
    pub major: u32,
    /// minor version
    pub minor: u32,
}

/// Add or delete a source table.
#[derive(Message)]
pub struct SvsTableAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// address family of the sources
    pub af: AddressFamily,
    /// table ID
    pub table_id: u32,
}

/// Add or delete a source route: the table for packets from a prefix.
#[derive(Message)]
pub struct SvsRouteAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// sources
    pub prefix: PrefixField,
    /// source table ID
    pub table_id: u32,
    /// FIB table ID
    pub source_table_id: u32,
}

/// Enable or disable source table selection on an interface.
#[derive(Message)]
pub struct SvsEnableDisable {
    /// true to enable, false to disable
    pub is_enable: bool,
    /// address family of the sources
    pub af: AddressFamily,
    /// source table ID
    pub table_id: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List interfaces with source table selection.
#[derive(Message)]
#[details(SvsDetails)]
pub struct SvsDump {}

/// An interface with source table selection.
#[derive(Message)]
pub struct SvsDetails {
    /// source table ID
    pub table_id: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// address family of the sources
    pub af: AddressFamily,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("svs", "1.0.0")
        .call(|_: &mut Router, _: SvsPluginGetVersion| {
            Ok(SvsPluginGetVersionReply { major: 1, minor: 0 })
        })
        .call(|router: &mut Router, m: SvsTableAddDel| {
            let change = if m.is_add { super::add_table } else { super::remove_table };
            Ok(change(router, m.af.try_into()?, m.table_id)?)
        })
        .call(|router: &mut Router, m: SvsRouteAddDel| {
            let prefix = m.prefix.native()?;
            match m.is_add {
                true => Ok(super::add_route(router, m.table_id, prefix, m.source_table_id)?),
                false => Ok(super::remove_route(router, m.table_id, prefix)?),
            }
        })
        .call(|router: &mut Router, m: SvsEnableDisable| {
            let change = if m.is_enable { super::enable } else { super::disable };
            Ok(change(router, m.sw_if_index, m.af.try_into()?, m.table_id)?)
        })
        .dump(|router: &mut Router, _: SvsDump| {
            let row = |(sw_if_index, version, table_id)| SvsDetails {
                table_id,
                sw_if_index,
                af: AddressFamily::from(version),
            };
            super::enabled(router).map(row).collect()
        });
}
