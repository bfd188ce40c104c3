//! Messages of the module `ipfix_export`.

use control::api::Fields;
use control::api::types::Address;
use net::prelude::*;

use super::Exporter;

/// An exporter. Where it is set, the highest number is what a field is by default.
#[derive(Clone, Copy, Fields)]
pub struct IpfixExporter {
    /// collector address; 0.0.0.0 for none
    pub collector_address: Address,
    /// collector port; 65535 for 4739
    pub collector_port: u16,
    /// source address
    pub src_address: Address,
    /// table; 4294967295 for the default one
    pub vrf_id: u32,
    /// maximum packet length; 4294967295 for 512
    pub path_mtu: u32,
    /// seconds between templates; 4294967295 for 20
    pub template_interval: u32,
    /// include a UDP checksum
    pub udp_checksum: bool,
}

/// Set the first exporter.
#[derive(Message)]
pub struct SetIpfixExporter {
    /// the exporter
    #[flatten]
    pub exporter: IpfixExporter,
}

/// Get the first exporter.
#[derive(Message)]
#[details(IpfixExporterDetails)]
pub struct IpfixExporterDump {}

/// The first exporter.
#[derive(Message)]
pub struct IpfixExporterDetails {
    /// the exporter
    #[flatten]
    pub exporter: IpfixExporter,
}

/// Add, change or delete an exporter.
#[derive(Message)]
#[reply(IpfixExporterCreateDeleteReply)]
pub struct IpfixExporterCreateDelete {
    /// true to add, false to delete
    pub is_create: bool,
    /// the exporter
    #[flatten]
    pub exporter: IpfixExporter,
}

/// Reply.
#[derive(Message)]
pub struct IpfixExporterCreateDeleteReply {
    /// exporter index
    pub stat_index: u32,
}

/// List all exporters.
#[derive(Message)]
#[stream(IpfixAllExporterDetails, IpfixAllExporterGetReply)]
pub struct IpfixAllExporterGet {
    /// cursor; 0 at first
    pub cursor: u32,
}

/// End of the list.
#[derive(Message)]
pub struct IpfixAllExporterGetReply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// An exporter.
#[derive(Message)]
pub struct IpfixAllExporterDetails {
    /// the exporter
    #[flatten]
    pub exporter: IpfixExporter,
}

/// Send pending records.
#[derive(Message)]
pub struct IpfixFlush {}

/// An address of IPv4.
fn ip4(field: Address) -> Result<Ipv4Addr, Retval> {
    match field.native()? {
        IpAddr::V4(addr) => Ok(addr),
        IpAddr::V6(_) => Err(Retval::UNIMPLEMENTED),
    }
}

impl IpfixExporter {
    /// The exporter; what has the highest number is as by default.
    fn native(&self) -> Result<Exporter, Retval> {
        let by_default = Exporter::default();
        let or = |value: u32, default| if value == u32::MAX { default } else { value };
        let is_set = self.collector_port != u16::MAX;
        Ok(Exporter {
            collector: ip4(self.collector_address)?,
            port: if is_set { self.collector_port } else { by_default.port },
            src: ip4(self.src_address)?,
            vrf: Some(self.vrf_id).filter(|id| *id != u32::MAX),
            path_mtu: or(self.path_mtu, by_default.path_mtu),
            template_interval: or(self.template_interval, by_default.template_interval),
            udp_checksum: self.udp_checksum,
        })
    }
}

impl From<&Exporter> for IpfixExporter {
    fn from(e: &Exporter) -> Self {
        Self {
            collector_address: IpAddr::V4(e.collector).into(),
            collector_port: e.port,
            src_address: IpAddr::V4(e.src).into(),
            vrf_id: e.vrf.unwrap_or(u32::MAX),
            path_mtu: e.path_mtu,
            template_interval: e.template_interval,
            udp_checksum: e.udp_checksum,
        }
    }
}

fn create_delete(
    router: &mut Router,
    m: &IpfixExporterCreateDelete,
) -> Result<IpfixExporterCreateDeleteReply, Retval> {
    if !m.is_create {
        let collector = ip4(m.exporter.collector_address)?;
        let number = super::all(router).find(|(_, e)| e.collector == collector).map(|(n, _)| n);
        super::remove(router, collector)?;
        return Ok(IpfixExporterCreateDeleteReply { stat_index: number.unwrap_or(u32::MAX) });
    }
    let stat_index = super::add(router, m.exporter.native()?)?;
    Ok(IpfixExporterCreateDeleteReply { stat_index })
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ipfix_export", "2.0.3")
        .call(|router: &mut Router, m: SetIpfixExporter| {
            Ok(super::set_first(router, m.exporter.native()?)?)
        })
        .dump(|router: &mut Router, _: IpfixExporterDump| {
            let first = super::all(router).take(1);
            first.map(|(_, e)| IpfixExporterDetails { exporter: e.into() }).collect()
        })
        .call(|router: &mut Router, m: IpfixExporterCreateDelete| create_delete(router, &m))
        .stream_rows(
            |m: &IpfixAllExporterGet| m.cursor,
            |router, _, piece| {
                super::all(router).all(|(number, e)| {
                    piece.offer(number, || IpfixAllExporterDetails { exporter: e.into() })
                });
                Ok(())
            },
            |cursor| IpfixAllExporterGetReply { cursor },
        )
        .call(|router: &mut Router, _: IpfixFlush| {
            super::flush(router);
            Ok(())
        });
}
