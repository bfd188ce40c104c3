//! Mappings in commands, in lists and in the configuration.

use std::fmt::Write;

use control::cli::Error as CliError;
use net::prelude::*;

use crate::error::Error;
use crate::mapping::{Local, Mapping, Twice};
use crate::words::{below, end, protocol, word};

/// Form of a command about mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `static mapping`.
    Static,
    /// `identity mapping`.
    Identity,
    /// `load-balancing`.
    Balanced,
}

/// A mapping and whether it is added, from words in any order; those about far ends only if
/// `has_far_end`.
///
/// # Errors
/// The word that is wrong, or missing.
pub fn mapping(
    args: &mut Args<'_>,
    form: Form,
    has_far_end: bool,
) -> Result<(Mapping, bool), CliError> {
    let mut new = Mapping {
        is_identity: form == Form::Identity,
        is_balanced: form == Form::Balanced,
        ..Mapping::default()
    };
    if form == Form::Balanced {
        new.locals.clear();
    }
    let (mut vrf, mut is_add, mut has_local, mut has_external) = (None, true, false, false);
    while !args.is_empty() {
        if args.keyword("vrf") {
            vrf = Some(args.value("vrf")?);
        } else if args.keyword("del") {
            is_add = false;
        } else if form != Form::Identity && args.keyword("local") {
            has_local = true;
            local(args, &mut new)?;
        } else if args.keyword("external") {
            has_external = true;
            external(args, &mut new)?;
        } else if let Some(of) = protocol_of(args, form)? {
            new.protocol = Some(of);
            if form == Form::Identity {
                new.port = args.optional().unwrap_or(new.port);
            }
        } else if !(has_far_end && option(args, form, &mut new)?) {
            if form != Form::Identity {
                return Err(args.unknown());
            }
            has_external = true;
            new.external = args.optional().ok_or_else(|| args.unknown())?;
        }
    }
    if form == Form::Identity {
        (new.locals[0].addr, new.locals[0].port) = (new.external, new.port);
        has_local = true;
    }
    for local in new.locals.iter_mut() {
        local.vrf = vrf.unwrap_or(local.vrf);
    }
    check(&new, (has_local, has_external))?;
    Ok((new, is_add))
}

/// A protocol, after its keyword where there may be one.
fn protocol_of(args: &mut Args<'_>, form: Form) -> Result<Option<Protocol>, CliError> {
    let is_said = form != Form::Identity && args.keyword("protocol");
    match protocol(args) {
        None if is_said => Err(args.unknown()),
        found => Ok(found),
    }
}

/// Behind `local`: the host, with its part of the load if there are several.
fn local(args: &mut Args<'_>, new: &mut Mapping) -> Result<(), CliError> {
    if !new.is_balanced {
        new.locals[0].addr = args.value("local")?;
        new.locals[0].port = args.optional().unwrap_or(0);
        return Ok(());
    }
    let (addr, port) = end(args, "local")?;
    let (mut vrf, mut probability) = (0, 0);
    loop {
        if args.keyword("vrf") {
            vrf = args.value("vrf")?;
        } else if args.keyword("probability") {
            probability = args.value("probability")?;
        } else {
            break;
        }
    }
    new.locals.push(Local { addr, port, probability, vrf });
    Ok(())
}

/// Behind `external`.
fn external(args: &mut Args<'_>, new: &mut Mapping) -> Result<(), CliError> {
    if new.is_balanced {
        (new.external, new.port) = end(args, "external")?;
        return Ok(());
    }
    let addr = if new.is_identity { None } else { args.optional::<Ipv4Addr>() };
    match addr {
        Some(addr) => new.external = addr,
        None => new.interface = Some(args.value::<InterfaceIndex>("external")?.0),
    }
    if !new.is_identity {
        new.port = args.optional().unwrap_or(0);
    }
    Ok(())
}

/// A word about far ends; whether it is one.
fn option(args: &mut Args<'_>, form: Form, new: &mut Mapping) -> Result<bool, CliError> {
    let mut twice = None;
    if form == Form::Identity {
        return Ok(false);
    } else if args.keyword("twice-nat") {
        twice = Some(Twice::Always);
    } else if args.keyword("self-twice-nat") {
        twice = Some(Twice::ToItself);
    } else if args.keyword("out2in-only") {
        new.is_out2in_only = true;
    } else if form == Form::Static && args.keyword("exact") {
        new.pool = Some(args.value("exact")?);
    } else if form == Form::Balanced && args.keyword("affinity") {
        new.affinity = args.value("affinity")?;
    } else {
        return Ok(false);
    }
    if let Some(twice) = twice {
        if new.twice != Twice::No && new.twice != twice {
            return Err(Error::BothTwice.to_string().into());
        }
        new.twice = twice;
    }
    Ok(true)
}

fn check(new: &Mapping, (has_local, has_external): (bool, bool)) -> Result<(), CliError> {
    let has_port = |port: &u16| *port != 0;
    let mut ports: Vec<u16> = new.locals.iter().map(|local| local.port).collect();
    ports.push(new.port);
    let fault = match (has_local, has_external) {
        (false, _) => "expected local and the host",
        (_, false) if new.is_identity => "expected an address, or external and an interface",
        (_, false) => "expected external and an address or interface",
        _ if new.protocol.is_some() && !ports.iter().all(has_port) => match new.is_identity {
            true => "a mapping of a protocol needs a port",
            false => "a mapping with a protocol needs both ports",
        },
        _ if new.protocol.is_none() && ports.iter().any(has_port) => {
            "a mapping of ports needs a protocol: tcp, udp or icmp"
        }
        _ => return Ok(()),
    };
    Err(fault.into())
}

impl Mapping {
    /// The commands that make it again, which begin with a `prefix`: one for each table with
    /// identities of several.
    pub fn commands(&self, router: &Router, prefix: &str) -> Vec<String> {
        commands(self, router, prefix)
    }
    /// Lines of a list, with protocols spelled by `spell`.
    pub fn lines(&self, router: &Router, spell: fn(Protocol) -> String) -> Vec<String> {
        lines(self, router, spell)
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

fn lines(m: &Mapping, router: &Router, spell: fn(Protocol) -> String) -> Vec<String> {
    let protocol = m.protocol.map_or_else(String::new, |p| format!("{} ", spell(p)));
    let port = |port: u16| if m.is_of_address() { String::new() } else { format!(":{port}") };
    let external = match m.interface {
        Some(interface) => router.interfaces.name(interface).to_owned(),
        None => m.external.to_string(),
    };
    let external = format!("{external}{}", port(m.port));
    let twice = match m.twice {
        Twice::No => "",
        Twice::Always => " twice-nat",
        Twice::ToItself => " self-twice-nat",
    };
    let only = if m.is_out2in_only { " out2in-only" } else { "" };
    let each = |l: &Local| match m.is_identity {
        true => format!(" identity mapping {protocol}{external} vrf {}", l.vrf),
        false => {
            let from = port(l.port);
            let end = format!("vrf {}{twice}{only}", l.vrf);
            format!(" {protocol}local {}{from} external {external} {end}", l.addr)
        }
    };
    if !m.is_balanced {
        return m.locals.iter().map(each).collect();
    }
    let each = |l: &Local| {
        let (addr, from, vrf, part) = (l.addr, port(l.port), l.vrf, l.probability);
        format!("  local {addr}{from} vrf {vrf} probability {part}")
    };
    let head = format!(" {protocol}external {external}{twice}{only}");
    below(&head, m.locals.iter().map(each))
}
