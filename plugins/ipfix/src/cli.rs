//! `set ipfix exporter`, `ipfix exporter`, `ipfix flush`.

use net::prelude::*;

use super::Exporter;

/// The fields of an exporter.
#[derive(Arguments, Debug, PartialEq)]
struct Fields {
    /// source address
    src: Option<Ipv4Addr>,
    /// collector port
    port: Option<u16>,
    /// table
    fib_id: Option<u32>,
    /// maximum packet length
    path_mtu: Option<u32>,
    /// seconds between templates
    template_interval: Option<u32>,
    /// include a UDP checksum
    udp_checksum: bool,
}

/// Set the first IPFIX exporter.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ipfix exporter")]
#[undo("=set ipfix exporter collector 0.0.0.0")]
#[stage(Attachments)]
struct SetFirst {
    /// address of the collector; there is none without it, or with 0.0.0.0
    collector: Option<Ipv4Addr>,
    #[flatten]
    fields: Fields,
}

/// Add, change or delete an IPFIX exporter.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ipfix exporter")]
#[stage(Attachments)]
struct SetMore {
    /// collector address
    collector: Ipv4Addr,
    #[flatten]
    fields: Fields,
    /// delete
    del: bool,
}

/// Send pending records.
#[derive(Command)]
#[command("ipfix flush")]
struct Flush;

impl Fields {
    fn exporter(&self, collector: Ipv4Addr) -> Exporter {
        let by_default = Exporter::default();
        Exporter {
            collector,
            port: self.port.unwrap_or(by_default.port),
            src: self.src.unwrap_or(by_default.src),
            vrf: self.fib_id,
            path_mtu: self.path_mtu.unwrap_or(by_default.path_mtu),
            template_interval: self.template_interval.unwrap_or(by_default.template_interval),
            udp_checksum: self.udp_checksum,
        }
    }
    fn of(e: &Exporter) -> Self {
        let by_default = Exporter::default();
        Self {
            src: Some(e.src).filter(|src| *src != by_default.src),
            port: Some(e.port).filter(|port| *port != by_default.port),
            fib_id: e.vrf,
            path_mtu: Some(e.path_mtu).filter(|mtu| *mtu != by_default.path_mtu),
            template_interval: Some(e.template_interval)
                .filter(|interval| *interval != by_default.template_interval),
            udp_checksum: e.udp_checksum,
        }
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (number, e) in super::all(router) {
        let (collector, fields) = (e.collector, Fields::of(e));
        match number {
            0 if *e == Exporter::default() => (),
            0 => lines.push(&SetFirst { collector: Some(collector), fields }),
            _ => lines.push(&SetMore { collector, fields, del: false }),
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetFirst| -> Result<Output, Error> {
        let collector = c.collector.unwrap_or(Ipv4Addr::UNSPECIFIED);
        super::set_first(router, c.fields.exporter(collector))?;
        let is_off = collector.is_unspecified();
        Ok(Output::text(if is_off { "IPFIX Collector is disabled\n" } else { "" }))
    });
    cli.command(|router: &mut Router, c: SetMore| -> Result<(), Error> {
        if c.del {
            return Ok(super::remove(router, c.collector)?);
        }
        super::add(router, c.fields.exporter(c.collector))?;
        Ok(())
    });
    cli.command(|router: &mut Router, _: Flush| {
        super::flush(router);
        Ok(())
    });
}
