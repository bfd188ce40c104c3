//! The daemon from outside.
#![forbid(unsafe_code)]

mod af_xdp;
mod agents;
mod bfd;
mod bindings;
mod bonding;
mod bridges;
mod captures;
mod cli_over_http;
mod clients;
mod configuration;
mod conformance;
mod console;
mod devices;
mod diagnosis;
mod dpdk;
mod eight_workers;
mod every_message;
mod fates;
mod files;
mod fleet;
mod flows;
mod fragments;
mod goldens;
mod guests;
mod hops;
mod http;
mod idle;
mod ikev2;
mod layouts;
mod leases;
mod linux;
mod linux_daemons;
mod lldpd;
mod load;
mod mapping;
mod memif;
mod messages;
mod multicast;
mod names;
mod neighbors;
mod open_vswitch;
mod pages;
mod peers;
mod privileges;
mod punt;
mod restart;
mod routing;
mod secrets;
mod security;
mod sessions;
mod sockets;
mod startups;
mod statistics;
mod storms;
mod streams;
mod supervisor;
mod survival;
mod taps;
mod terminals;
mod thousands;
mod translation;
mod tunnels;
mod turns;
mod two_hosts;
mod vhost_user;
mod web;
mod workers;
mod wrong_input;

use control::log::Log;
use graph::Settings;
use net::{Assembly, Router};

/// A router between two packet-generator interfaces, with a neighbour on both sides.
const GENERATORS: &[&str] = &[
    "create packet-generator interface pg0",
    "create packet-generator interface pg1",
    "set interface mac address pg0 02:00:00:00:00:aa",
    "set interface mac address pg1 02:00:00:00:00:ab",
    "set interface state pg0 up",
    "set interface state pg1 up",
    "set interface ip address pg0 10.0.0.1/24",
    "set interface ip address pg1 10.0.1.1/24",
    "set interface ip address pg0 2001:db8::1/64",
    "set interface ip address pg1 2001:db8:1::1/64",
    "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static",
    "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static",
    "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static",
    "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static",
    "ip route add 16.0.0.0/8 via 10.0.1.2 pg1",
    "ip route add 2001:db8:ff::/48 via 2001:db8:1::2 pg1",
];

/// All that the daemon is made of, with the graph built, inside the test.
fn parts() -> Assembly {
    parts_with(Settings { buffers: 1024, ..Settings::default() })
}

fn parts_with(settings: Settings) -> Assembly {
    let router = Router::new(settings, Log::new()).unwrap();
    let mut parts = Assembly::new(router);
    for feature in plugins::features().filter(|f| f.default_enabled) {
        parts.add(feature).unwrap();
    }
    parts.router.engine.build().unwrap();
    parts
}
