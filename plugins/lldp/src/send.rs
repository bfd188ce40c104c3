//! The LLDPDU that an interface sends.

use net::{InterfaceIndex, Router, neighbor};
use wire::ethernet::{EtherType, Header};
use wire::lldp::{self, append, kind};
use zerocopy::IntoBytes;

use super::{Described, Discovery};

/// Subtype of a station's identifier: a MAC address.
const BY_MAC: u8 = 4;
/// Subtype of a port's identifier: the name of an interface.
const BY_NAME: u8 = 5;
/// Subtype of a number: that of an interface.
const BY_NUMBER: u8 = 2;
/// Families of addresses, in IANA's numbers.
const IP4: u8 = 1;
const IP6: u8 = 2;

/// Sends what an interface has to say.
pub fn hello(router: &mut Router, interface: InterfaceIndex) {
    let all = router.own::<Discovery>();
    let Some(port) = all.ports.get(&interface) else { return };
    let (described, name) = (port.described.clone(), all.config.system_name.clone());
    let more = elements(&described, &name, interface);
    speak(router, interface, all.config.ttl(), &more);
}

/// Says that an interface has nothing more to say (section 9.2.7.1).
pub fn goodbye(router: &mut Router, interface: InterfaceIndex) {
    speak(router, interface, 0, &[]);
}

fn elements(described: &Described, name: &str, InterfaceIndex(number): InterfaceIndex) -> Vec<u8> {
    let Described { port_desc, mgmt_ip4, mgmt_ip6, mgmt_oid } = described;
    let mut more = Vec::new();
    if !port_desc.is_empty() {
        append(&mut more, kind::PORT_DESCRIPTION, &[port_desc.as_bytes()]);
    }
    if !name.is_empty() {
        append(&mut more, kind::SYSTEM_NAME, &[name.as_bytes()]);
    }
    let ip4 = mgmt_ip4.map(|addr| (IP4, addr.octets().to_vec()));
    let ip6 = mgmt_ip6.map(|addr| (IP6, addr.octets().to_vec()));
    for (family, address) in ip4.into_iter().chain(ip6) {
        let head = [address.len() as u8 + 1, family];
        let (number, oid_len) = (number.to_be_bytes(), [mgmt_oid.len() as u8]);
        let value: [&[u8]; 6] = [&head, &address, &[BY_NUMBER], &number, &oid_len, mgmt_oid];
        append(&mut more, kind::MANAGEMENT_ADDRESS, &value);
    }
    more
}

fn speak(router: &mut Router, interface: InterfaceIndex, ttl: u16, more: &[u8]) {
    let Some(of) = router.interfaces.at(interface) else { return };
    let header = Header::new(lldp::NEAREST_BRIDGE, of.mac, EtherType::LLDP);
    let mut frame = header.as_bytes().to_vec();
    append(&mut frame, kind::CHASSIS_ID, &[&[BY_MAC], &of.mac.0]);
    append(&mut frame, kind::PORT_ID, &[&[BY_NAME], of.name.as_bytes()]);
    append(&mut frame, kind::TIME_TO_LIVE, &[&ttl.to_be_bytes()]);
    frame.extend(more);
    append(&mut frame, kind::END, &[]);
    neighbor::send(router, interface, frame);
}
