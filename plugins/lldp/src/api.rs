//! Messages of the module `lldp`.

use net::prelude::*;

use super::{Config, Described, Discovery, Port};

control::numbers! {
    /// Port ID subtype.
    pub enum PortIdSubtype: u32 = "port_id_subtype" in "" {
        RESERVED = 0 => "PORT_ID_SUBTYPE_RESERVED",
        INTF_ALIAS = 1 => "PORT_ID_SUBTYPE_INTF_ALIAS",
        PORT_COMP = 2 => "PORT_ID_SUBTYPE_PORT_COMP",
        MAC_ADDR = 3 => "PORT_ID_SUBTYPE_MAC_ADDR",
        NET_ADDR = 4 => "PORT_ID_SUBTYPE_NET_ADDR",
        INTF_NAME = 5 => "PORT_ID_SUBTYPE_INTF_NAME",
        AGENT_CIRCUIT_ID = 6 => "PORT_ID_SUBTYPE_AGENT_CIRCUIT_ID",
        LOCAL = 7 => "PORT_ID_SUBTYPE_LOCAL",
    }
    /// Chassis ID subtype.
    pub enum ChassisIdSubtype: u32 = "chassis_id_subtype" in "" {
        RESERVED = 0 => "CHASSIS_ID_SUBTYPE_RESERVED",
        CHASSIS_COMP = 1 => "CHASSIS_ID_SUBTYPE_CHASSIS_COMP",
        INTF_ALIAS = 2 => "CHASSIS_ID_SUBTYPE_INTF_ALIAS",
        PORT_COMP = 3 => "CHASSIS_ID_SUBTYPE_PORT_COMP",
        MAC_ADDR = 4 => "CHASSIS_ID_SUBTYPE_MAC_ADDR",
        NET_ADDR = 5 => "CHASSIS_ID_SUBTYPE_NET_ADDR",
        INTF_NAME = 6 => "CHASSIS_ID_SUBTYPE_INTF_NAME",
        LOCAL = 7 => "CHASSIS_ID_SUBTYPE_LOCAL",
    }
}

/// Set the global LLDP parameters.
#[derive(Message)]
pub struct LldpConfig {
    /// transmit hold multiplier; 0 to leave unchanged
    pub tx_hold: u32,
    /// transmit interval in seconds; 0 to leave unchanged
    pub tx_interval: u32,
    /// system name; empty to leave unchanged
    pub system_name: String,
}

/// Enable or disable LLDP on an interface.
#[derive(Message)]
pub struct SwInterfaceSetLldp {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// IPv4 management address; 0.0.0.0 for none
    pub mgmt_ip4: Ipv4Addr,
    /// IPv6 management address; :: for none
    pub mgmt_ip6: Ipv6Addr,
    /// management OID, up to the first zero
    pub mgmt_oid: [u8; 128],
    #[preset("true")]
    /// true to enable, false to disable
    pub enable: bool,
    /// port description
    pub port_desc: String,
}

/// List LLDP interfaces.
#[derive(Message)]
#[stream(LldpDetails, LldpDumpReply)]
pub struct LldpDump {
    /// cursor from the previous reply; 0 at first
    pub cursor: u32,
}

/// End of the list.
#[derive(Message)]
pub struct LldpDumpReply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// An interface with the protocol enabled.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct LldpDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// time of the last message received, in seconds; 0 for never
    pub last_heard: f64,
    /// time of the last message sent, in seconds; 0 for never
    pub last_sent: f64,
    /// seconds since the last message received
    pub last_heard_age: f64,
    /// seconds since the last message sent
    pub last_sent_age: f64,
    /// true if the neighbor has not expired
    pub active: bool,
    /// chassis ID
    pub chassis_id: [u8; 255],
    /// bytes
    pub chassis_id_len: u8,
    /// port ID
    pub port_id: [u8; 255],
    /// bytes
    pub port_id_len: u8,
    /// hold time in seconds
    pub ttl: u16,
    /// subtype
    pub port_id_subtype: PortIdSubtype,
    /// subtype
    pub chassis_id_subtype: ChassisIdSubtype,
    /// system name
    pub system_name: [u8; 256],
    /// transmit hold multiplier
    pub tx_hold: u32,
    /// transmit interval in seconds
    pub tx_interval: u32,
    /// management address
    pub mgmt_ip4: Ipv4Addr,
    /// management address
    pub mgmt_ip6: Ipv6Addr,
    /// management OID
    pub mgmt_oid: [u8; 128],
    /// port description
    pub port_desc: [u8; 256],
}

/// Bytes with zeros behind them.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    let len = bytes.len().min(N);
    all[..len].copy_from_slice(&bytes[..len]);
    all
}

fn details(interface: InterfaceIndex, config: &Config, port: &Port, now: f64) -> LldpDetails {
    let heard = port.heard.as_ref().map(|(heard, _)| heard);
    let at = port.heard.as_ref().map(|(_, at)| *at);
    let Described { port_desc, mgmt_ip4, mgmt_ip6, mgmt_oid } = &port.described;
    LldpDetails {
        sw_if_index: interface,
        last_heard: at.unwrap_or_default(),
        last_sent: port.sent.unwrap_or_default(),
        last_heard_age: at.map_or(0.0, |at| now - at),
        last_sent_age: port.sent.map_or(0.0, |at| now - at),
        active: port.is_active(now),
        chassis_id: heard.map_or([0; 255], |h| h.chassis.bytes),
        chassis_id_len: heard.map_or(0, |h| h.chassis.len),
        port_id: heard.map_or([0; 255], |h| h.port.bytes),
        port_id_len: heard.map_or(0, |h| h.port.len),
        ttl: heard.map_or(0, |h| h.ttl),
        port_id_subtype: PortIdSubtype(heard.map_or(0, |h| h.port.subtype.into())),
        chassis_id_subtype: ChassisIdSubtype(heard.map_or(0, |h| h.chassis.subtype.into())),
        system_name: padded(config.system_name.as_bytes()),
        tx_hold: config.tx_hold,
        tx_interval: config.tx_interval,
        mgmt_ip4: mgmt_ip4.unwrap_or(Ipv4Addr::UNSPECIFIED),
        mgmt_ip6: mgmt_ip6.unwrap_or(Ipv6Addr::UNSPECIFIED),
        mgmt_oid: padded(mgmt_oid),
        port_desc: padded(port_desc.as_bytes()),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("lldp", "2.0.0")
        .call(|router: &mut Router, m: LldpConfig| {
            let now = router.own::<Discovery>().config.clone();
            let or = |new: u32, old: u32| if new == 0 { old } else { new };
            let is_named = !m.system_name.is_empty();
            let config = Config {
                system_name: if is_named { m.system_name } else { now.system_name },
                tx_hold: or(m.tx_hold, now.tx_hold),
                tx_interval: or(m.tx_interval, now.tx_interval),
            };
            Ok(super::configure(router, config)?)
        })
        .call(|router, m: SwInterfaceSetLldp| {
            let end = m.mgmt_oid.iter().position(|byte| *byte == 0);
            let described = Described {
                port_desc: m.port_desc,
                mgmt_ip4: Some(m.mgmt_ip4).filter(|addr| !addr.is_unspecified()),
                mgmt_ip6: Some(m.mgmt_ip6).filter(|addr| !addr.is_unspecified()),
                mgmt_oid: m.mgmt_oid[..end.unwrap_or(m.mgmt_oid.len())].to_vec(),
            };
            Ok(super::set(router, m.sw_if_index, m.enable.then_some(described))?)
        })
        .stream_rows(
            |m: &LldpDump| m.cursor,
            |router, _, piece| {
                let now = router.now();
                let all = router.own::<Discovery>();
                all.ports
                    .iter()
                    .all(|(i, port)| piece.offer(i.0, || details(*i, &all.config, port, now)));
                Ok(())
            },
            |cursor| LldpDumpReply { cursor },
        );
}
