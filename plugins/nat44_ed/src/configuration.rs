//! The settings, as the commands that make them again.

use nat_log::{Level, Translator};
use net::prelude::*;
use translation::configuration::{commands, plugin};
use translation::state::Kind;
use translation::workers::WorkerList;

use crate::cli::{SetLevel, SetWorkers};
use crate::state::{EndpointDependent, Nat};

/// Commands that undo those with this beginning; others end with `del` then.
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
    let workers = Nat::workers(router);
    if workers != WorkerList::default() {
        lines.push(&SetWorkers { workers });
    }
    let level = Translator::Nat44Ed.level(router);
    if level != Level::NONE {
        lines.push(&SetLevel { level });
    }
    let Ok(s) = Nat::settings(router) else { return };
    let sessions = if s.sessions == EndpointDependent::SESSIONS { 0 } else { s.sessions };
    let vrfs = [("inside-vrf", s.inside_vrf), ("outside-vrf", s.outside_vrf)];
    let plugin = plugin::<EndpointDependent>(&[("sessions", sessions), vrfs[0], vrfs[1]]);
    lines.push_undone(Stage::Settings, &plugin, "nat44 plugin disable");
    let limits = s.more.limits.iter();
    let limits = limits.map(|(vrf, most)| format!("set nat44 session limit {most} vrf {vrf}"));
    let mut own: Vec<_> = limits.collect();
    for (table, far) in &s.more.vrfs {
        own.push(format!("nat44 vrf table add {table}"));
        if !far.contains(table) {
            own.push(format!("nat44 vrf route del table {table} {table}"));
        }
        for vrf in far.iter().filter(|vrf| *vrf != table) {
            own.push(format!("nat44 vrf route add table {table} {vrf}"));
        }
    }
    for command in commands(router, s, own) {
        let known = UNDO.iter().find(|(begin, _)| command.starts_with(begin));
        lines.push_undone(Stage::Attachments, &command, known.map_or("{} del", |(_, undo)| undo));
    }
}
