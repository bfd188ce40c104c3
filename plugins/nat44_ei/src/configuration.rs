//! The settings, as the commands that make them again.

use std::fmt::Write;

use control::configuration::{Lines, Stage};
use net::Router;
use translation::ports::PortSet;
use translation::session::Timeouts;
use translation::state::Kind;

use crate::state::{EndpointIndependent, Nat, Role, USER_SESSIONS, USERS};

/// The words for a set of ports.
pub fn words(ports: PortSet) -> String {
    match ports {
        PortSet::All => "default".to_owned(),
        PortSet::Psid { offset, len, psid } => {
            format!("map-e psid {psid} psid-offset {offset} psid-len {len}")
        }
        PortSet::Range { first, last } => format!("port-range {first} - {last}"),
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Ok(s) = Nat::settings(router) else { return };
    let mut plugin = "nat44 ei plugin enable".to_owned();
    let usual = |number: u32, usual: u32| if number == usual { 0 } else { number };
    let options = [
        ("sessions", usual(s.sessions, EndpointIndependent::SESSIONS)),
        ("users", usual(s.more.users, USERS)),
        ("inside-vrf", s.inside_vrf),
        ("outside-vrf", s.outside_vrf),
        ("user-sessions", usual(s.more.user_sessions, USER_SESSIONS)),
    ];
    for (word, value) in options.into_iter().filter(|(_, value)| *value != 0) {
        let _ = write!(plugin, " {word} {value}");
    }
    let words_of_mode =
        [(s.more.is_static_only, "static-mapping-only"), (s.more.tracks, "connection-tracking")];
    for (_, word) in words_of_mode.into_iter().filter(|(is, _)| *is) {
        let _ = write!(plugin, " {word}");
    }
    lines.push_text(Stage::Settings, &plugin);
    crate::ha::configuration(router, lines);
    let mut say = |command: String| lines.push_text(Stage::Attachments, &command);
    if s.is_forwarding {
        say("nat44 ei forwarding enable".to_owned());
    }
    let Timeouts { udp, established, transitory, icmp } = s.timeouts;
    if s.timeouts != Timeouts::default() {
        let tcp = format!("tcp-established {established} tcp-transitory {transitory}");
        say(format!("set nat44 ei timeout udp {udp} {tcp} icmp {icmp}"));
    }
    if let Some(mss) = s.mss {
        say(format!("nat44 ei mss-clamping {mss}"));
    }
    if s.more.ports != PortSet::All {
        say(format!("nat44 ei addr-port-assignment-alg {}", words(s.more.ports)));
    }
    for address in &s.pool.addresses {
        let vrf = address.vrf.map_or_else(String::new, |vrf| format!(" tenant-vrf {vrf}"));
        say(format!("nat44 ei add address {}{vrf}", address.addr));
    }
    for (interface, _) in &s.pool.interfaces {
        say(format!("nat44 ei add interface address {}", router.interfaces.name(interface.0)));
    }
    let mappings = s.mappings.iter().flat_map(|m| m.commands(router, "nat44 ei"));
    mappings.for_each(&mut say);
    for (interface, role) in router.settings::<Role>() {
        let name = router.interfaces.name(interface.0);
        let words = [
            (role.is_inside, "in", ""),
            (role.is_outside, "out", ""),
            (role.is_output, "out", " output-feature"),
        ];
        for (_, word, option) in words.into_iter().filter(|(is, ..)| *is) {
            say(format!("set interface nat44 ei {word} {name}{option}"));
        }
    }
}
