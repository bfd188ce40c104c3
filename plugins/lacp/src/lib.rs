//! Link aggregation control (IEEE 802.1AX section 6): members of bonds in mode `lacp` carry packets
//! when the other end of their link agrees.
//!
//! A bond is an aggregator, a member a port. A bond has one group of ports: those whose partners
//! have one system and key. The first one heard selects it; when no port is left in it another one
//! does. A port without a partner carries nothing.
#![forbid(unsafe_code)]

mod api;
mod machine;
mod node;
mod show;

use bond::{Bonds, Link};
use control::stats::Number;
use net::neighbor;
use net::prelude::*;
use wire::ethernet::Header;
use wire::lacp::{Marker, Party, Pdu, SLOW_PROTOCOLS, state};

pub use api::*;
pub use machine::{Mux, Periodic, Port, Rx};
pub use node::{Heard, Input};

/// Priority of systems and ports.
const SYSTEM_PRIORITY: u16 = 0xffff;
const PORT_PRIORITY: u16 = 0xff;
/// The process that speaks.
const PROCESS: &str = "lacp-process";

/// State of a member for threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The system that it is a port of.
    system: Option<MacAddr>,
    /// Hash of the last message it received.
    last: u64,
}

/// A member that speaks.
struct Speaking {
    port: Port,
    bond: InterfaceIndex,
    /// Gauges of the states of both ends, for clients.
    gauges: [Option<Number>; 2],
    /// Changes are logged.
    is_debugged: bool,
    /// State of its machines when they last ran.
    last: (u8, Rx, Mux),
}

/// Interfaces that speak.
#[derive(Default)]
struct Ports(BTreeMap<InterfaceIndex, Speaking>);

/// Whether the changes of all ports are logged.
#[derive(Default)]
struct DebugsAll(bool);

/// Reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// the interface is not an LACP member
    #[retval(INVALID_INTERFACE)]
    NoPort,
}

/// Names of the numbers where clients see the states of both ends.
fn gauges([bond, member]: [InterfaceIndex; 2]) -> [String; 2] {
    ["state", "partner-state"].map(|what| format!("/if/lacp/{}/{}/{what}", bond.0, member.0))
}

/// A member joined a bond that speaks.
fn joined(router: &mut Router, interface: InterfaceIndex) {
    let Some((member, _)) = router.own::<Bonds>().of(interface) else { return };
    let (at, key) = (member.bond, member.bond.0 as u16);
    let mut bits = state::AGGREGATION;
    bits |= if member.is_passive { 0 } else { state::ACTIVITY };
    bits |= if member.is_long_timeout { 0 } else { state::TIMEOUT };
    let system = router.interfaces.at(at).map_or(MacAddr::ZERO, |bond| bond.mac);
    let actor = Party {
        system_priority: SYSTEM_PRIORITY.into(),
        system,
        key: key.into(),
        port_priority: PORT_PRIORITY.into(),
        port: (interface.0 as u16).into(),
        state: bits,
        reserved: [0; 3],
    };
    let gauges = gauges([at, interface]).map(|name| router.stats.gauge(&name).ok());
    let port = Port::new(actor);
    let last = (port.actor.state, port.rx, port.mux);
    let new = Speaking { port, bond: at, gauges, is_debugged: false, last };
    router.own_mut::<Ports>().0.insert(interface, new);
    let seen = Seen { system: Some(system), last: 0 };
    router.put(interface, seen).expect("members are interfaces");
    follow_link(router, interface);
}

/// A member leaves its bond: a last message says so to the other end.
fn leaves(router: &mut Router, interface: InterfaceIndex) {
    let Some(mut gone) = router.own_mut::<Ports>().0.remove(&interface) else { return };
    let quiet = state::SYNCHRONIZATION | state::COLLECTING | state::DISTRIBUTING;
    gone.port.actor.set(quiet, false);
    if gone.port.periodic != Periodic::NoPeriodic {
        say(router, interface, Pdu::new(gone.port.actor, gone.port.partner).as_bytes());
    }
    for name in gauges([gone.bond, interface]) {
        // One without room does not exist.
        let _ = router.stats.remove(&name);
    }
    router.put(interface, Seen::default()).expect("members are interfaces");
    select(router, gone.bond);
}

/// A port works while its interface is up and has a link.
fn follow_link(router: &mut Router, interface: InterfaceIndex) {
    let now = router.now();
    let i = router.interfaces.at(interface);
    let is_up = i.is_some_and(|i| i.admin_up && i.link_up);
    let Some(of) = router.own_mut::<Ports>().0.get_mut(&interface) else { return };
    of.port.set_enabled(is_up, now);
    let bond = of.bond;
    select(router, bond);
}

/// Section 6.4.14: chooses the group of a bond and the ports that may belong to it, and has all
/// machines follow.
fn select(router: &mut Router, bond: InterfaceIndex) {
    let mut ports: Vec<_> = router.own_mut::<Ports>().0.values_mut().collect();
    ports.retain(|of| of.bond == bond);
    let selected = ports.iter().find(|of| of.port.is_selected);
    let eligible = ports.iter().find(|of| of.port.is_eligible());
    let group = selected.or(eligible).map(|of| of.port.group());
    for of in ports.into_iter().filter(|of| of.port.is_eligible()) {
        of.port.is_selected = Some(of.port.group()) == group;
    }
    run(router, |of| of.bond == bond);
    // A machine that waits for time makes the process check again.
    router.processes.signal(PROCESS, 0);
}

/// Updates machines, sends frames and notifies bonds of changes.
fn run(router: &mut Router, is_meant: impl Fn(&Speaking) -> bool) {
    let now = router.now();
    let (mut done, debugs_all) = (Vec::new(), router.own::<DebugsAll>().0);
    for (interface, of) in router.own_mut::<Ports>().0.iter_mut().filter(|(_, of)| is_meant(of)) {
        let carried = of.port.is_distributing();
        let pdu = of.port.run(now);
        let carries = of.port.is_distributing();
        let (state, rx, mux) = (of.port.actor.state, of.port.rx, of.port.mux);
        let before = std::mem::replace(&mut of.last, (state, rx, mux));
        let states = [of.port.actor.state, of.port.partner.state];
        let is_logged = (of.is_debugged || debugs_all) && before != of.last;
        let moved = (carried != carries).then_some(carries);
        done.push((*interface, pdu, moved, (rx, mux), of.gauges, states, is_logged));
    }
    for (interface, pdu, moved, (rx, mux), gauges, states, is_logged) in done {
        if let Some(pdu) = pdu {
            say(router, interface, pdu.as_bytes());
        }
        for (gauge, state) in gauges.into_iter().zip(states) {
            gauge.into_iter().for_each(|gauge| router.stats.set(gauge, state.into()));
        }
        if is_logged {
            let (log, name) = (router.log.class("lacp", ""), router.interfaces.name(interface.0));
            let (rx, mux, state) = (rx.word(), mux.word(), states[0]);
            log.notice(format_args!("{name}: receive {rx}, mux {mux}, state {state:#04x}"));
        }
        if let Some(carries) = moved {
            bond::set_distributing(router, interface, carries);
        }
    }
}

/// As in the original what a member says comes from the address that it has from its bond.
fn say(router: &mut Router, interface: InterfaceIndex, what: &[u8]) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    say_from(router, interface, mac, what);
}

fn say_from(router: &mut Router, interface: InterfaceIndex, mac: MacAddr, what: &[u8]) {
    let header = Header::new(SLOW_PROTOCOLS, mac, EtherType::SLOW_PROTOCOLS);
    neighbor::send(router, interface, [header.as_bytes(), what].concat());
}

/// The process: runs due actions, and sleeps until the next one.
fn run_due(router: &mut Router) -> Wake {
    let now = router.now();
    let is_due = |of: &Speaking| of.port.next().is_some_and(|at| at <= now);
    let due: Vec<_> =
        router.own::<Ports>().0.values().filter(|of| is_due(of)).map(|of| of.bond).collect();
    run(router, is_due);
    for bond in due {
        // A port that was given up may leave the group to others.
        let all = &router.own::<Ports>().0;
        let is_left = |of: &&Speaking| of.bond == bond && of.port.is_selected;
        let is_open = all.values().all(|of| !is_left(&of));
        if is_open && all.values().any(|of| of.bond == bond && of.port.is_eligible()) {
            select(router, bond);
        }
    }
    let all = router.own::<Ports>().0.values();
    let next = all.filter_map(|of| of.port.next()).min_by(f64::total_cmp);
    next.map_or(Wake::OnEvent, |next| {
        Wake::AfterOrEvent(Duration::from_secs_f64((next - now).max(0.001)))
    })
}

fn heard(router: &mut Router, heard: Heard) {
    let now = router.now();
    match heard {
        Heard::Pdu { interface, pdu, hash } => {
            let Some(of) = router.own_mut::<Ports>().0.get_mut(&interface) else { return };
            of.port.hear(&pdu, now);
            let (bond, system) = (of.bond, Some(of.port.actor.system));
            let _ = router.put(interface, Seen { system, last: hash });
            select(router, bond);
        }
        // Section 6.5.4. As in the original an answer comes from the address of the bond.
        Heard::Marker { interface, marker } => {
            let bond = router.own::<Bonds>().of(interface).map(|(member, _)| member.bond);
            let Some(bond) = bond.and_then(|bond| router.interfaces.at(bond)) else { return };
            let (mac, answer) = (bond.mac, Marker { kind: Marker::ANSWER, ..marker });
            say_from(router, interface, mac, answer.as_bytes());
        }
    }
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::State => follow_link(router, interface),
        Change::Mac => {
            let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
            let all = &mut router.own_mut::<Ports>().0;
            let mut ports = Vec::new();
            for (port, of) in all.iter_mut().filter(|(_, of)| of.bond == interface) {
                of.port.set_system(mac);
                ports.push(*port);
            }
            for port in &ports {
                let _ = router.put(*port, Seen { system: Some(mac), last: 0 });
            }
            if !ports.is_empty() {
                select(router, interface);
            }
        }
        _ => (),
    }
}

/// Enable or disable logging of LACP state changes.
#[derive(Command)]
#[command("debug lacp")]
struct Debug {
    /// member; default all, including later ones
    #[positional]
    interface: Option<InterfaceIndex>,
    /// enable logging
    on: bool,
    /// disable
    off: bool,
}

fn register_debug(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Debug| -> Result<(), control::cli::Error> {
        if c.on == c.off {
            return Err(control::cli::Error::new("expected on or off"));
        }
        let Some(interface) = c.interface else {
            router.own_mut::<DebugsAll>().0 = c.on;
            return Ok(());
        };
        let of = router.own_mut::<Ports>().0.get_mut(&interface);
        of.ok_or(Error::NoPort)?.is_debugged = c.on;
        Ok(())
    });
}

/// Link aggregation control.
pub const FEATURE: Feature = Feature {
    name: "lacp",
    about: "Link Aggregation Control Protocol (LACP)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["bond"],
    register,
    configuration: Configuration::None("member settings are saved with the bonds"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let ports = router.attach::<Seen>().map_err(refuse)?;
    let events = router.events.sender();
    router.engine.add(Input { ports, events }).map_err(refuse)?;
    router.register_ethertype(EtherType::SLOW_PROTOCOLS, node::NAME).map_err(refuse)?;
    router.insert(Ports::default());
    router.insert(DebugsAll::default());
    router.events.handle(heard);
    router.interfaces.observe(follow);
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| run_due(router)));
    bond::set_link(router, Link { joined, leaves });
    register_debug(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
