//! The settings, as the commands that make them again.

use std::fmt::Write;

use control::configuration::{Lines, Stage};
use net::Router;
use translation::session::Timeouts;
use translation::words::word;

use crate::config::{Mapping, Twice};
use crate::state::{Role, SESSIONS, settings};

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Ok(s) = settings(router) else { return };
    let mut plugin = "nat44 plugin enable".to_owned();
    let vrfs = [("inside-vrf", s.inside_vrf), ("outside-vrf", s.outside_vrf)];
    let options = [("sessions", if s.sessions == SESSIONS { 0 } else { s.sessions })];
    for (word, value) in options.into_iter().chain(vrfs).filter(|(_, value)| *value != 0) {
        let _ = write!(plugin, " {word} {value}");
    }
    lines.push_text(Stage::Settings, &plugin);
    let mut say = |command: String| lines.push_text(Stage::Attachments, &command);
    if s.is_forwarding {
        say("nat44 forwarding enable".to_owned());
    }
    let Timeouts { udp, established, transitory, icmp } = s.timeouts;
    if s.timeouts != Timeouts::default() {
        let tcp = format!("tcp-established {established} tcp-transitory {transitory}");
        say(format!("set nat timeout udp {udp} {tcp} icmp {icmp}"));
    }
    if let Some(mss) = s.mss {
        say(format!("nat mss-clamping {mss}"));
    }
    for (vrf, most) in &s.limits {
        say(format!("set nat44 session limit {most} vrf {vrf}"));
    }
    for (table, far) in &s.vrfs {
        say(format!("nat44 vrf table add {table}"));
        if !far.contains(table) {
            say(format!("nat44 vrf route del table {table} {table}"));
        }
        for vrf in far.iter().filter(|vrf| *vrf != table) {
            say(format!("nat44 vrf route add table {table} {vrf}"));
        }
    }
    for address in &s.pool {
        let vrf = address.vrf.map_or_else(String::new, |vrf| format!(" tenant-vrf {vrf}"));
        let twice = if address.is_twice { " twice-nat" } else { "" };
        say(format!("nat44 add address {}{vrf}{twice}", address.addr));
    }
    for (interface, is_twice) in &s.interfaces {
        let twice = if *is_twice { " twice-nat" } else { "" };
        let name = router.interfaces.name(interface.0);
        say(format!("nat44 add interface address {name}{twice}"));
    }
    s.mappings.iter().flat_map(|m| mapping(router, m)).for_each(&mut say);
    for (interface, role) in router.settings::<Role>() {
        let name = router.interfaces.name(interface.0);
        let words = [
            (role.is_inside, "in", ""),
            (role.is_outside, "out", ""),
            (role.is_output, "out", " output-feature"),
        ];
        for (_, word, option) in words.into_iter().filter(|(is, ..)| *is) {
            say(format!("set interface nat44 {word} {name}{option}"));
        }
    }
}

/// The commands that make a mapping: one for each table with identities of several.
fn mapping(router: &Router, m: &Mapping) -> Vec<String> {
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
        return each.map(|l| format!("nat44 add identity mapping {what}{}", vrf(l.vrf))).collect();
    }
    if m.is_balanced {
        let mut command = format!(
            "nat44 add load-balancing static mapping protocol {protocol} external {external}:{}",
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
    vec![format!("nat44 add static mapping {local} external {external}{outside}{end}")]
}
