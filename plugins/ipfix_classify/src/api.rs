//! Messages of the module `ipfix_export` about classifier tables.

use control::api::types::{AddressFamily, IpProto};
use control::api::{Api, Message, Retval};
use net::Router;

use crate::{Exports, Stream};

/// Set observation domain and source port of records of classifier tables.
#[derive(Message)]
pub struct SetIpfixClassifyStream {
    /// observation domain
    pub domain_id: u32,
    /// source port
    pub src_port: u16,
}

/// Get observation domain and source port of records of classifier tables.
#[derive(Message)]
#[details(IpfixClassifyStreamDetails)]
pub struct IpfixClassifyStreamDump {}

/// Observation domain and source port of records of classifier tables.
#[derive(Message)]
pub struct IpfixClassifyStreamDetails {
    /// observation domain
    pub domain_id: u32,
    /// source port
    pub src_port: u16,
}

/// Export the sessions of a classifier table, or stop.
#[derive(Message)]
pub struct IpfixClassifyTableAddDel {
    /// number of the table
    pub table_id: u32,
    /// IP version of its packets
    pub ip_version: AddressFamily,
    /// protocol of its packets: TCP or UDP for records with ports
    pub transport_protocol: IpProto,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List the classifier tables that are exported.
#[derive(Message)]
#[details(IpfixClassifyTableDetails)]
pub struct IpfixClassifyTableDump {}

/// A classifier table that is exported.
#[derive(Message)]
pub struct IpfixClassifyTableDetails {
    /// number of the table
    pub table_id: u32,
    /// IP version of its packets
    pub ip_version: AddressFamily,
    /// protocol of its packets
    pub transport_protocol: IpProto,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ipfix_export", "2.0.3")
        .call(|router: &mut Router, m: SetIpfixClassifyStream| {
            let SetIpfixClassifyStream { domain_id: domain, src_port } = m;
            crate::set_stream(router, Stream { domain, src_port });
            Ok(())
        })
        .dump(|router: &mut Router, _: IpfixClassifyStreamDump| {
            let Stream { domain, src_port } = router.own::<Exports>().stream;
            vec![IpfixClassifyStreamDetails { domain_id: domain, src_port }]
        })
        .call(|router: &mut Router, m: IpfixClassifyTableAddDel| -> Result<(), Retval> {
            if !m.is_add {
                return Ok(crate::remove(router, m.table_id)?);
            }
            let version = m.ip_version.try_into()?;
            Ok(crate::add(router, m.table_id, version, m.transport_protocol.0)?)
        })
        .dump(|router: &mut Router, _: IpfixClassifyTableDump| {
            let details = |(table_id, table): (u32, &crate::Table)| IpfixClassifyTableDetails {
                table_id,
                ip_version: table.version.into(),
                transport_protocol: IpProto(table.protocol),
            };
            crate::all(router).map(details).collect()
        });
}
