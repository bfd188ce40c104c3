//! Messages of the module `svs`.

use control::api::types::{AddressFamily, Prefix as PrefixField};
use control::api::{Api, Message};
use net::{InterfaceIndex, Router};

/// Ask for the version of the messages.
#[derive(Message)]
#[reply(SvsPluginGetVersionReply)]
pub struct SvsPluginGetVersion {}

/// The version of the messages.
#[derive(Message)]
#[head(details)]
pub struct SvsPluginGetVersionReply {
    /// first number
    pub major: u32,
    /// second number
    pub minor: u32,
}

/// Make a table of sources, or delete it.
#[derive(Message)]
pub struct SvsTableAddDel {
    /// or deleted
    pub is_add: bool,
    /// version of the sources
    pub af: AddressFamily,
    /// number of the table
    pub table_id: u32,
}

/// Have packets from sources looked up in a routing table, or no longer.
#[derive(Message)]
pub struct SvsRouteAddDel {
    /// or no longer
    pub is_add: bool,
    /// the sources
    pub prefix: PrefixField,
    /// number of the table of sources
    pub table_id: u32,
    /// number of the routing table
    pub source_table_id: u32,
}

/// Have an interface choose by a table of sources, or no longer.
#[derive(Message)]
pub struct SvsEnableDisable {
    /// or no longer
    pub is_enable: bool,
    /// version of the sources
    pub af: AddressFamily,
    /// number of the table of sources
    pub table_id: u32,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that choose.
#[derive(Message)]
#[details(SvsDetails)]
pub struct SvsDump {}

/// An interface that chooses.
#[derive(Message)]
pub struct SvsDetails {
    /// number of the table of sources
    pub table_id: u32,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// version of the sources
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
