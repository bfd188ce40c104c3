//! `set syslog sender`, `set syslog filter` and what shows them.

use std::fmt;
use std::net::Ipv4Addr;

use control::cli::{Cli, Command, Output, Print};
use control::configuration::Lines;
use net::Router;
use serde::Serialize;

use super::{LONGEST, PORT, Sender, Severity};

/// Set where messages go.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set syslog sender")]
#[stage(Attachments)]
struct SetSender {
    /// address of the collector
    collector: Ipv4Addr,
    /// its port
    port: Option<u16>,
    /// source address
    src: Ipv4Addr,
    /// routing table
    vrf_id: Option<u32>,
    /// longest message in bytes
    max_msg_size: Option<u32>,
}

/// Set the least severity of events that are sent.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set syslog filter")]
#[stage(Settings)]
struct SetFilter {
    /// the severity
    severity: Severity,
}

/// Show where messages go.
#[derive(Command)]
#[command("show syslog sender")]
struct ShowSender;

/// Show the least severity of events that are sent.
#[derive(Command)]
#[command("show syslog filter")]
struct ShowFilter;

#[derive(Serialize)]
struct Shown {
    collector: Ipv4Addr,
    port: u16,
    src: Ipv4Addr,
    vrf_id: Option<u32>,
    max_msg_size: u32,
}

#[derive(Serialize)]
struct ShownSender {
    sender: Option<Shown>,
}

impl fmt::Display for ShownSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Shown { collector, port, src, vrf_id, max_msg_size }) = &self.sender else {
            return f.write_str("syslog sender not configured\n");
        };
        write!(f, "collector {collector}:{port}, src address {src}, ")?;
        match vrf_id {
            Some(id) => write!(f, "VRF ID {id}")?,
            None => f.write_str("VRF ID NONE")?,
        }
        writeln!(f, ", max-msg-size {max_msg_size}")
    }
}

#[derive(Serialize)]
struct ShownFilter {
    severity: String,
}

impl fmt::Display for ShownFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "severity-filter: {}", self.severity)
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(Sender { collector, port, src, vrf, longest }) = super::sender(router) {
        lines.push(&SetSender {
            collector,
            port: Some(port).filter(|port| *port != PORT),
            src,
            vrf_id: vrf,
            max_msg_size: Some(longest).filter(|longest| *longest != LONGEST),
        });
    }
    let severity = super::filter(router);
    if severity != Severity::default() {
        lines.push(&SetFilter { severity });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetSender| {
        let sender = Sender {
            collector: c.collector,
            port: c.port.unwrap_or(PORT),
            src: c.src,
            vrf: c.vrf_id,
            longest: c.max_msg_size.unwrap_or(LONGEST),
        };
        Ok(super::set_sender(router, sender)?)
    });
    cli.command(|router: &mut Router, c: SetFilter| {
        super::set_filter(router, c.severity);
        Ok(())
    });
    cli.command(|router: &mut Router, _: ShowSender| {
        let sender = super::sender(router).map(|s| Shown {
            collector: s.collector,
            port: s.port,
            src: s.src,
            vrf_id: s.vrf,
            max_msg_size: s.longest,
        });
        Ok(Output::of(ShownSender { sender }))
    });
    cli.command(|router: &mut Router, _: ShowFilter| {
        Ok(Output::of(ShownFilter { severity: super::filter(router).to_string() }))
    });
}
