//! The settings, as the commands that make them again.

use std::fmt::Write;

use nat_log::{Level, Translator};
use net::prelude::*;
use translation::configuration::{commands, plugin};
use translation::ports::PortSet;
use translation::state::Kind;
use translation::workers::WorkerList;

use crate::cli::{SetLevel, SetWorkers};
use crate::state::{EndpointIndependent, Nat, USERS};

/// Commands that undo those with this beginning; others end with `del` then.
const UNDO: &[(&str, &str)] = &[
    ("nat44 ei forwarding", "nat44 ei forwarding disable"),
    ("set nat44 ei timeout", "=set nat44 ei timeout reset"),
    ("nat44 ei mss-clamping", "=nat44 ei mss-clamping disable"),
    ("nat44 ei addr-port-assignment-alg", "=nat44 ei addr-port-assignment-alg default"),
];

/// The words for a set of ports.
fn words(ports: PortSet) -> String {
    match ports {
        PortSet::All => "default".to_owned(),
        PortSet::Psid { offset, len, psid } => {
            format!("map-e psid {psid} psid-offset {offset} psid-len {len}")
        }
        PortSet::Range { first, last } => format!("port-range {first} - {last}"),
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let workers = Nat::workers(router);
    if workers != WorkerList::default() {
        lines.push(&SetWorkers { workers });
    }
    let level = Translator::Nat44Ei.level(router);
    if level != Level::NONE {
        lines.push(&SetLevel { level });
    }
    let Ok(s) = Nat::settings(router) else { return };
    let usual = |number: u32, usual: u32| if number == usual { 0 } else { number };
    let options = [
        ("sessions", usual(s.sessions, EndpointIndependent::SESSIONS)),
        ("users", usual(s.more.users, USERS)),
        ("inside-vrf", s.inside_vrf),
        ("outside-vrf", s.outside_vrf),
        ("user-sessions", usual(s.more.user_sessions, s.sessions)),
    ];
    let mut plugin = plugin::<EndpointIndependent>(&options);
    let words_of_mode =
        [(s.more.is_static_only, "static-mapping-only"), (s.more.tracks, "connection-tracking")];
    for (_, word) in words_of_mode.into_iter().filter(|(is, _)| *is) {
        let _ = write!(plugin, " {word}");
    }
    lines.push_undone(Stage::Settings, &plugin, "nat44 ei plugin disable");
    crate::ha::configuration(router, lines);
    let ports = s.more.ports;
    let own = (ports != PortSet::All)
        .then(|| format!("nat44 ei addr-port-assignment-alg {}", words(ports)));
    for command in commands(router, s, own.into_iter().collect()) {
        let known = UNDO.iter().find(|(begin, _)| command.starts_with(begin));
        lines.push_undone(Stage::Attachments, &command, known.map_or("{} del", |(_, undo)| undo));
    }
}
