//! The settings of a kind, as the commands that make them again.

use std::fmt::Write;

use net::Router;

use crate::commands::Commands;
use crate::session::Timeouts;
use crate::state::{Nat, Settings};

/// The command that enables a kind, with those of its options that are not 0.
pub fn plugin<K: Commands>(options: &[(&str, u32)]) -> String {
    let mut line = format!("{} enable", K::WORDS.plugin);
    for (word, value) in options.iter().filter(|(_, value)| *value != 0) {
        let _ = write!(line, " {word} {value}");
    }
    line
}

/// All other commands, with those of what only this kind has in `own`.
pub fn commands<K: Commands>(router: &Router, s: &Settings<K>, own: Vec<String>) -> Vec<String> {
    let words = K::WORDS;
    let mut all = Vec::new();
    if s.is_forwarding {
        all.push(format!("{} enable", words.forwarding));
    }
    let Timeouts { udp, established, transitory, icmp } = s.timeouts;
    if s.timeouts != Timeouts::default() {
        let tcp = format!("tcp-established {established} tcp-transitory {transitory}");
        all.push(format!("{} udp {udp} {tcp} icmp {icmp}", words.timeout));
    }
    all.extend(s.mss.map(|mss| format!("{} {mss}", words.mss)));
    all.extend(own);
    let (kind, sides) = (words.kind, words.sides);
    let twice = |is_twice| if is_twice { " twice-nat" } else { "" };
    for address in &s.pool.addresses {
        let vrf = address.vrf.map_or_else(String::new, |vrf| format!(" tenant-vrf {vrf}"));
        let twice = twice(address.is_twice);
        all.push(format!("{kind} add address {}{vrf}{twice}", address.addr));
    }
    for (interface, is_twice) in &s.pool.interfaces {
        let (name, twice) = (router.interfaces.name(interface.0), twice(*is_twice));
        all.push(format!("{kind} add interface address {name}{twice}"));
    }
    all.extend(s.mappings.iter().flat_map(|m| m.commands(router, kind)));
    for (interface, role) in Nat::<K>::roles(router) {
        let name = router.interfaces.name(interface.0);
        let words = [
            (role.is_inside, "in", ""),
            (role.is_outside, "out", ""),
            (role.is_output, "out", " output-feature"),
        ];
        for (_, word, option) in words.into_iter().filter(|(is, ..)| *is) {
            all.push(format!("{sides} {word} {name}{option}"));
        }
    }
    all
}
