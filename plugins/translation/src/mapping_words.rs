//! Mappings in commands, in lists and in the configuration.

use std::fmt::Write;
use std::net::Ipv4Addr;

use control::cli::{Args, Error as CliError};
use net::{InterfaceIndex, Router};

use crate::mapping::{Mapping, Twice};
use crate::words::{protocol, word};

/// `[tcp|udp|icmp] local ADDRESS [PORT] external ADDRESS-OR-INTERFACE [PORT]`.
///
/// # Errors
/// What is missing, or something else.
pub fn static_mapping(args: &mut Args<'_>) -> Result<Mapping, CliError> {
    let mut new = Mapping { protocol: protocol(args), ..Mapping::default() };
    if !args.keyword("local") {
        return Err(args.unknown());
    }
    new.locals[0].addr = args.value("local")?;
    new.locals[0].port = args.optional().unwrap_or(0);
    if !args.keyword("external") {
        return Err(args.unknown());
    }
    match args.optional::<Ipv4Addr>() {
        Some(addr) => new.external = addr,
        None => new.interface = Some(args.value::<InterfaceIndex>("external")?.0),
    }
    new.port = args.optional().unwrap_or(0);
    if new.protocol.is_some() && (new.port == 0 || new.locals[0].port == 0) {
        return Err(args.error("a mapping of a protocol needs both ports"));
    }
    if new.protocol.is_none() && (new.port != 0 || new.locals[0].port != 0) {
        return Err(args.error("a mapping of ports needs a protocol: tcp, udp or icmp"));
    }
    Ok(new)
}

/// `external INTERFACE`, or an address, and `[tcp|udp|icmp PORT]`.
///
/// # Errors
/// What is missing, or something else.
pub fn identity_mapping(args: &mut Args<'_>) -> Result<Mapping, CliError> {
    let mut new = Mapping { is_identity: true, ..Mapping::default() };
    if args.keyword("external") {
        new.interface = Some(args.value::<InterfaceIndex>("external")?.0);
    } else {
        new.external = args.value("address")?;
    }
    new.protocol = protocol(args);
    if new.protocol.is_some() {
        new.port = args.value("port")?;
    }
    new.locals[0].addr = new.external;
    new.locals[0].port = new.port;
    Ok(new)
}

impl Mapping {
    /// The commands that make it again, which begin with a `prefix`: one for each table with
    /// identities of several.
    pub fn commands(&self, router: &Router, prefix: &str) -> Vec<String> {
        commands(self, router, prefix)
    }
    /// A line of a list.
    pub fn text(&self, router: &Router) -> String {
        text(self, router)
    }
}

/// The commands that make a mapping: one for each table with identities of several.
fn commands(m: &Mapping, router: &Router, prefix: &str) -> Vec<String> {
    let interface = m.interface.map(|i| router.interfaces.name(i).to_owned());
    let external = interface.clone().unwrap_or_else(|| m.external.to_string());
    let twice = match m.twice {
        Twice::No => "",
        Twice::Always => " twice-nat",
        Twice::ToItself => " self-twice-nat",
    };
    let only = if m.is_out2in_only { " out2in-only" } else { "" };
    let options = format!("{twice}{only}");
    let vrf = |vrf: u32| if vrf == 0 { String::new() } else { format!(" vrf {vrf}") };
    let port = |port: u16| if m.is_of_address() { String::new() } else { format!(" {port}") };
    let protocol = m.protocol.map_or("", word);
    if m.is_identity {
        let what = interface.map_or_else(|| external, |name| format!("external {name}"));
        let space = if m.is_of_address() { "" } else { " " };
        let what = format!("{what}{space}{protocol}{}", port(m.port));
        let each = m.locals.iter();
        return each
            .map(|l| format!("{prefix} add identity mapping {what}{}", vrf(l.vrf)))
            .collect();
    }
    if m.is_balanced {
        let mut command = format!(
            "{prefix} add load-balancing static mapping protocol {protocol} external {external}:{}",
            m.port
        );
        for l in &m.locals {
            let of = vrf(l.vrf);
            let _ =
                write!(command, " local {}:{}{of} probability {}", l.addr, l.port, l.probability);
        }
        command.push_str(&options);
        if m.affinity != 0 {
            let _ = write!(command, " affinity {}", m.affinity);
        }
        return vec![command];
    }
    let Some(l) = m.locals.first() else { return Vec::new() };
    let space = if m.is_of_address() { "" } else { " " };
    let exact = m.pool.map_or_else(String::new, |addr| format!(" exact {addr}"));
    let (local, outside) = (port(l.port), port(m.port));
    let local = format!("{protocol}{space}local {}{local}", l.addr);
    let end = format!("{}{options}{exact}", vrf(l.vrf));
    vec![format!("{prefix} add static mapping {local} external {external}{outside}{end}")]
}

fn text(m: &Mapping, router: &Router) -> String {
    let protocol = m.protocol.map_or("", word);
    let port = |port: u16| if m.is_of_address() { String::new() } else { format!(":{port}") };
    let external = match m.interface {
        Some(interface) => router.interfaces.name(interface).to_owned(),
        None => m.external.to_string(),
    };
    let twice = match m.twice {
        Twice::No => "",
        Twice::Always => " twice-nat",
        Twice::ToItself => " self-twice-nat",
    };
    let only = if m.is_out2in_only { " out2in-only" } else { "" };
    let locals = m.locals.iter().map(|l| {
        let part = match m.is_balanced {
            true => format!(" probability {}", l.probability),
            false => String::new(),
        };
        format!("local {}{} vrf {}{part}", l.addr, port(l.port), l.vrf)
    });
    let locals: Vec<_> = locals.collect();
    let kind = if m.is_identity { "identity mapping " } else { "" };
    let external = format!("external {external}{}", port(m.port));
    format!(" {kind}{protocol} {external} {}{twice}{only}", locals.join(" "))
}
