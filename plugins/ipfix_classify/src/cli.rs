//! `set ipfix classify stream`, `ipfix classify table`.

use control::cli::{Cli, Command, Error, Print, Words};
use control::configuration::Lines;
use net::Router;
use wire::IpVersion;

use crate::{Exports, Stream};

/// Set observation domain and source port of records of classifier tables.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ipfix classify stream")]
#[undo("=set ipfix classify stream")]
#[stage(Attachments)]
struct SetStream {
    /// observation domain; default 1
    domain: Option<u32>,
    /// source port; default 4739
    src_port: Option<u16>,
}

/// Protocol with ports.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// Export or its end.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    /// Export.
    Add,
    /// Do not export.
    Del,
}

/// Export the sessions of a classifier table.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ipfix classify table")]
#[stage(Attachments)]
struct SetTable {
    /// add or del
    #[positional]
    #[words]
    verb: Verb,
    /// number of the table
    #[positional]
    table: u32,
    /// IP version of its packets; default ip4
    #[positional]
    #[words]
    version: Option<IpVersion>,
    /// protocol of its packets, for records with ports
    #[positional]
    #[words]
    transport: Option<Transport>,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Stream { domain, src_port } = router.own::<Exports>().stream;
    if router.own::<Exports>().stream != Stream::default() {
        lines.push(&SetStream { domain: Some(domain), src_port: Some(src_port) });
    }
    for (table, exported) in crate::all(router) {
        let transport = match exported.protocol {
            6 => Some(Transport::Tcp),
            17 => Some(Transport::Udp),
            _ => None,
        };
        let (verb, version) = (Verb::Add, Some(exported.version));
        lines.push(&SetTable { verb, table, version, transport });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetStream| {
        let Stream { domain, src_port } = Stream::default();
        let (domain, src_port) = (c.domain.unwrap_or(domain), c.src_port.unwrap_or(src_port));
        crate::set_stream(router, Stream { domain, src_port });
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetTable| -> Result<(), Error> {
        if c.verb == Verb::Del {
            return Ok(crate::remove(router, c.table)?);
        }
        let protocol = match c.transport {
            Some(Transport::Tcp) => 6,
            Some(Transport::Udp) => 17,
            None => u8::MAX,
        };
        Ok(crate::add(router, c.table, c.version.unwrap_or(IpVersion::V4), protocol)?)
    });
}
