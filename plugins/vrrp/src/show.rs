//! `show vrrp vr`.

use net::prelude::*;

use super::machine::{self, State};
use super::virtual_router::VirtualRouter;
use super::virtual_routers;

/// Show virtual routers.
#[derive(Command)]
#[command("show vrrp vr")]
struct Show {
    /// only this interface
    #[positional]
    interface: Option<InterfaceIndex>,
    /// only of the interface with this index
    #[keyword("sw_if_index")]
    number: Option<u32>,
}

#[derive(Serialize)]
struct Row {
    number: u32,
    interface: String,
    sw_if_index: u32,
    id: u8,
    version: &'static str,
    state: &'static str,
    /// As it is set, and as it is while interfaces are down.
    priority: u8,
    effective_priority: u8,
    preempt: bool,
    accept: bool,
    unicast: bool,
    /// Hundredths of a second.
    interval: u16,
    master_interval: u16,
    skew: u32,
    master_down: u32,
    mac: String,
    addresses: Vec<IpAddr>,
    peers: Vec<IpAddr>,
    tracked: Vec<TrackedRow>,
}

#[derive(Serialize)]
struct TrackedRow {
    interface: String,
    priority: u8,
    is_useful: bool,
}

fn word(is_on: bool) -> &'static str {
    if is_on { "yes" } else { "no" }
}

fn list(addrs: &[IpAddr]) -> String {
    addrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "[{}] sw_if_index {} VR ID {} {}\n   state {} flags: preempt {} accept {} unicast {}",
            self.number,
            self.sw_if_index,
            self.id,
            self.version,
            self.state,
            word(self.preempt),
            word(self.accept),
            word(self.unicast)
        )?;
        let [priority, adjusted] = [self.priority, self.effective_priority];
        writeln!(f, "   priority: configured {priority} adjusted {adjusted}")?;
        writeln!(
            f,
            "   timers: adv interval {} master adv {} skew {} master down {}",
            self.interval, self.master_interval, self.skew, self.master_down
        )?;
        writeln!(f, "   virtual MAC {}\n   addresses {}", self.mac, list(&self.addresses))?;
        writeln!(f, "   peer addresses {}\n   tracked interfaces", list(&self.peers))?;
        self.tracked.iter().try_for_each(|of| {
            let state = if of.is_useful { "up" } else { "down" };
            writeln!(f, "     {} priority {} {state}", of.interface, of.priority)
        })
    }
}

fn row(router: &Router, (number, of): (u32, &VirtualRouter)) -> Row {
    let name = |on: InterfaceIndex| router.interfaces.name(on.0).to_owned();
    let priority = machine::priority(router, of.key);
    let tracked = |(on, priority): (&InterfaceIndex, &u8)| TrackedRow {
        interface: name(*on),
        priority: *priority,
        is_useful: machine::is_useful(router, *on, of.key.version),
    };
    Row {
        number,
        interface: name(of.key.on),
        sw_if_index: of.key.on.0,
        id: of.key.id,
        version: ["IPv4", "IPv6"][of.key.version as usize],
        state: match of.state {
            State::Init => "Initialize",
            State::Backup => "Backup",
            State::Master => "Master",
            State::InterfaceDown => "Interface Down",
        },
        priority: of.settings.priority,
        effective_priority: priority,
        preempt: of.settings.preempt,
        accept: of.settings.accept,
        unicast: of.settings.unicast,
        interval: of.settings.interval,
        master_interval: of.master_interval,
        skew: of.skew(priority),
        master_down: of.master_down(priority),
        mac: of.key.mac().to_string(),
        addresses: of.settings.addrs.to_vec(),
        peers: of.peers.clone(),
        tracked: of.tracked.iter().map(tracked).collect(),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| {
        let only = c.interface.or(c.number.map(InterfaceIndex));
        let all = virtual_routers(router).filter(|(_, of)| only.is_none_or(|on| of.key.on == on));
        Ok(Output::list(all.map(|of| row(router, of))))
    });
}
