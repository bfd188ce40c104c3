//! Messages of the module `lacp`.

use control::api::{Api, Message, Text};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::{Ports, Speaking};

/// List members of bonds in mode lacp.
#[derive(Message)]
#[details(SwInterfaceLacpDetails)]
pub struct SwInterfaceLacpDump {}

/// A member of a bond in mode lacp.
#[derive(Debug, Message)]
pub struct SwInterfaceLacpDetails {
    /// the member
    pub sw_if_index: InterfaceIndex,
    /// its name
    pub interface_name: Text<64>,
    /// receive machine: initialize, port disabled, expired, disabled, defaulted, current
    pub rx_state: u32,
    /// transmission machine
    pub tx_state: u32,
    /// mux machine: detached, waiting, attached, collecting and distributing
    pub mux_state: u32,
    /// periodic transmission machine: none, fast, slow, now
    pub ptx_state: u32,
    /// the bond
    pub bond_interface_name: Text<64>,
    /// priority of the member's system; less is more
    pub actor_system_priority: u16,
    /// the system of the member
    pub actor_system: MacAddr,
    /// ports of one key can be one link
    pub actor_key: u16,
    /// preference of the port; less is more
    pub actor_port_priority: u16,
    /// the port
    pub actor_port_number: u16,
    /// bits of its state
    pub actor_state: u8,
    /// priority of the other end's system; less is more
    pub partner_system_priority: u16,
    /// the system of the other end
    pub partner_system: MacAddr,
    /// ports of one key can be one link
    pub partner_key: u16,
    /// preference of the port; less is more
    pub partner_port_priority: u16,
    /// the port
    pub partner_port_number: u16,
    /// bits of its state
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
        ptx_state: of.port.periodic as u32,
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
