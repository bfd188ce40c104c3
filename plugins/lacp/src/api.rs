//! Messages of the module `lacp`.

use net::prelude::*;

use super::{Ports, Speaking};

/// List LACP members.
#[derive(Message)]
#[details(SwInterfaceLacpDetails)]
pub struct SwInterfaceLacpDump {}

/// An LACP member.
#[derive(Debug, Message)]
pub struct SwInterfaceLacpDetails {
    /// member interface
    pub sw_if_index: InterfaceIndex,
    /// name
    pub interface_name: Text<64>,
    /// receive machine: initialize, port disabled, expired, disabled, defaulted, current
    pub rx_state: u32,
    /// transmit machine
    pub tx_state: u32,
    /// mux machine: detached, waiting, attached, collecting and distributing
    pub mux_state: u32,
    /// periodic transmission machine: none, fast, slow, now
    pub ptx_state: u32,
    /// bond interface
    pub bond_interface_name: Text<64>,
    /// actor system priority; the lowest wins
    pub actor_system_priority: u16,
    /// actor system
    pub actor_system: MacAddr,
    /// aggregation key
    pub actor_key: u16,
    /// port priority; the lowest wins
    pub actor_port_priority: u16,
    /// port
    pub actor_port_number: u16,
    /// state bits
    pub actor_state: u8,
    /// partner system priority; the lowest wins
    pub partner_system_priority: u16,
    /// partner system
    pub partner_system: MacAddr,
    /// aggregation key
    pub partner_key: u16,
    /// port priority; the lowest wins
    pub partner_port_priority: u16,
    /// port
    pub partner_port_number: u16,
    /// state bits
    pub partner_state: u8,
}

fn row(router: &Router, index: InterfaceIndex, of: &Speaking) -> SwInterfaceLacpDetails {
    let name = |index: InterfaceIndex| Text::from(router.interfaces.name(index.0).to_owned());
    let (actor, partner) = (&of.port.actor, &of.port.partner);
    SwInterfaceLacpDetails {
        sw_if_index: index,
        interface_name: name(index),
        rx_state: of.port.rx as u32,
        tx_state: 0,
        mux_state: of.port.mux as u32,
        ptx_state: of.port.transmission() as u32,
        bond_interface_name: name(of.bond),
        actor_system_priority: actor.system_priority.get(),
        actor_system: actor.system,
        actor_key: actor.key.get(),
        actor_port_priority: actor.port_priority.get(),
        actor_port_number: actor.port.get(),
        actor_state: actor.state,
        partner_system_priority: partner.system_priority.get(),
        partner_system: partner.system,
        partner_key: partner.key.get(),
        partner_port_priority: partner.port_priority.get(),
        partner_port_number: partner.port.get(),
        partner_state: partner.state,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("lacp", "2.0.0").dump(|router: &mut Router, _: SwInterfaceLacpDump| {
        router.own::<Ports>().0.iter().map(|(i, of)| row(router, *i, of)).collect()
    });
}
