//! The settings, as the commands that make them again.

use std::fmt::Write;

use control::configuration::{Lines, Stage};
use net::Router;
use translation::session::Timeouts;
use translation::state::Kind;

use crate::state::{EndpointDependent, Nat, Role};

/// What takes back commands that begin so; others end with `del` then.
const UNDO: &[(&str, &str)] = &[
    ("nat44 forwarding", "nat44 forwarding disable"),
    ("set nat timeout", "=set nat timeout reset"),
    ("nat mss-clamping", "=nat mss-clamping disable"),
    ("set nat44 session limit", "=set nat44 session limit 0 [vrf {vrf}]"),
    ("nat44 vrf table add", "nat44 vrf table del {5}"),
    ("nat44 vrf route add", "nat44 vrf route del {5..}"),
    ("nat44 vrf route del", "nat44 vrf route add {5..}"),
];

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Ok(s) = Nat::settings(router) else { return };
    let mut plugin = "nat44 plugin enable".to_owned();
    let vrfs = [("inside-vrf", s.inside_vrf), ("outside-vrf", s.outside_vrf)];
    let options =
        [("sessions", if s.sessions == EndpointDependent::SESSIONS { 0 } else { s.sessions })];
    for (word, value) in options.into_iter().chain(vrfs).filter(|(_, value)| *value != 0) {
        let _ = write!(plugin, " {word} {value}");
    }
    lines.push_undone(Stage::Settings, &plugin, "nat44 plugin disable");
    let mut say = |command: String| {
        let known = UNDO.iter().find(|(begin, _)| command.starts_with(begin));
        lines.push_undone(Stage::Attachments, &command, known.map_or("{} del", |(_, undo)| undo));
    };
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
    for (vrf, most) in &s.more.limits {
        say(format!("set nat44 session limit {most} vrf {vrf}"));
    }
    for (table, far) in &s.more.vrfs {
        say(format!("nat44 vrf table add {table}"));
        if !far.contains(table) {
            say(format!("nat44 vrf route del table {table} {table}"));
        }
        for vrf in far.iter().filter(|vrf| *vrf != table) {
            say(format!("nat44 vrf route add table {table} {vrf}"));
        }
    }
    for address in &s.pool.addresses {
        let vrf = address.vrf.map_or_else(String::new, |vrf| format!(" tenant-vrf {vrf}"));
        let twice = if address.is_twice { " twice-nat" } else { "" };
        say(format!("nat44 add address {}{vrf}{twice}", address.addr));
    }
    for (interface, is_twice) in &s.pool.interfaces {
        let twice = if *is_twice { " twice-nat" } else { "" };
        let name = router.interfaces.name(interface.0);
        say(format!("nat44 add interface address {name}{twice}"));
    }
    let mappings = s.mappings.iter().flat_map(|m| m.commands(router, "nat44"));
    mappings.for_each(&mut say);
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
