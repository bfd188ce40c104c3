//! Tunnels that carry IP packets or Ethernet frames in UDP: VXLAN with its generic protocol
//! extension (draft-ietf-nvo3-vxlan-gpe).
#![forbid(unsafe_code)]

mod api;
mod cli;

use net::prelude::*;
use net::tunnel::bypass::Bypass;
use net::tunnel::{
    Behind, By, Carrier, CountsAsMost, Decapsulate, FAR, InputCount, Kind, Opened, Outer, made_mac,
};

pub use api::*;

/// The port of the protocol.
pub const PORT: u16 = 4790;
/// Flags of a header: with a network, with a protocol.
const VALID: u8 = 0x08;
const TYPED: u8 = 0x04;
/// Bytes of the header.
const HEADER: usize = 8;
/// Protocols, as headers number them.
const IP4: u8 = 1;
const IP6: u8 = 2;
const ETHERNET: u8 = 3;
/// Node that sends frames.
const OUTPUT: &str = "vxlan-gpe-encap";

/// The kind of tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VxlanGpe {
    /// The network, 24 bits.
    pub vni: u32,
    /// Own UDP port.
    pub local_port: u16,
    /// The far end's.
    pub remote_port: u16,
    /// Payload: a tunnel for IPv4 or IPv6 packets carries those of both.
    pub carried: Link,
    /// Number of the table that carried packets are looked up in.
    pub decap_vrf: u32,
}

impl Kind for VxlanGpe {
    const PREFIX: &'static str = "vxlan_gpe_tunnel";
    const HARDWARE: &'static str = "VXLAN_GPE";
    const INPUT: [&'static str; 2] = ["vxlan4-gpe-input", "vxlan6-gpe-input"];
    const HOP_LIMITS: [u8; 2] = FAR;
    const STARTS_UP: bool = true;

    fn carrier(&self) -> Carrier {
        Carrier::Port(self.local_port)
    }
    fn key(&self) -> u64 {
        u64::from(self.local_port) << 32 | u64::from(self.vni)
    }
    fn mac(&self, instance: u32) -> Option<MacAddr> {
        (self.carried == Link::Ethernet).then(|| made_mac::<Self>(instance))
    }
    fn output(&self, _: Link) -> Option<&'static str> {
        Some(OUTPUT)
    }
    fn behind(&self, carried: Link) -> Option<Behind> {
        let protocol = match carried {
            Link::Ip4 => IP4,
            Link::Ip6 => IP6,
            Link::Ethernet => ETHERNET,
            Link::Mpls => return None,
        };
        let [_, vni @ ..] = self.vni.to_be_bytes();
        let header = [&[VALID | TYPED, 0, 0, protocol][..], &vni, &[0]].concat();
        Some(Behind::udp(self.remote_port, &header))
    }
}

/// Drops of the input nodes.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no such tunnel packets.
    #[name("no such tunnel packets")]
    NoTunnel,
}

impl Decapsulate for VxlanGpe {
    type Error = Error;
    type Count = InputCount;
    const NO_TUNNEL: Error = Error::NoTunnel;
    const DECAPSULATED: InputCount = InputCount::Decapsulated;

    #[inline(always)]
    fn open(bytes: &[u8], by: By) -> Result<Opened, Error> {
        let [flags, _, _, protocol, a, b, c, _] =
            *bytes.first_chunk::<HEADER>().ok_or(Error::NoTunnel)?;
        if flags & VALID == 0 {
            return Err(Error::NoTunnel);
        }
        let carried = match protocol {
            _ if flags & TYPED == 0 => Link::Ethernet,
            IP4 => Link::Ip4,
            IP6 => Link::Ip6,
            ETHERNET => Link::Ethernet,
            _ => return Err(Error::NoTunnel),
        };
        let vni = u32::from_be_bytes([0, a, b, c]);
        Ok(Opened { key: u64::from(by.port) << 32 | u64::from(vni), len: HEADER, carried })
    }
}

impl CountsAsMost for VxlanGpe {}

impl Bypass for VxlanGpe {
    const NODES: [&'static str; 2] = ["ip4-vxlan-gpe-bypass", "ip6-vxlan-gpe-bypass"];
    const COMMANDS: [&'static str; 2] =
        ["set interface ip vxlan-gpe-bypass", "set interface ip6 vxlan-gpe-bypass"];
}

/// Makes a tunnel or deletes it. What one for packets carries is looked up in its table.
///
/// # Errors
/// [`net::tunnel::Error`]; nothing has changed then.
pub fn add_del(
    router: &mut Router,
    is_add: bool,
    instance: Option<u32>,
    outer: Outer,
    gpe: VxlanGpe,
) -> Result<InterfaceIndex, net::tunnel::Error> {
    let tables = [Link::Ip4, Link::Ip6].map(|link| router.fib.table_for(link, gpe.decap_vrf));
    let is_l3 = gpe.carried != Link::Ethernet;
    if is_add && is_l3 && tables == [None; 2] {
        return Err(net::tunnel::Error::NoTable(gpe.decap_vrf));
    }
    let interface = router.add_or_remove_tunnel(is_add, instance, outer, gpe)?;
    if is_add && is_l3 {
        // The interface is new: nothing holds it in another table.
        if let Some(table) = tables[0] {
            let _ = router.set_interface_table4(interface, table);
            let _ = router.enable_ip4(interface, true);
        }
        if let Some(table) = tables[1] {
            let _ = router.set_interface_table6(interface, table);
            let _ = router.enable_ip6(interface, true);
        }
        router.start_with_ip(interface);
    }
    Ok(interface)
}

/// VXLAN-GPE tunnels.
pub const FEATURE: Feature = Feature {
    name: "vxlan-gpe",
    about: "VXLAN GPE Tunnels",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["tunnel", "ethernet", "address"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.add_tunnel_kind::<VxlanGpe>().map_err(refuse)?;
    parts.router.add_tunnel_outputs::<VxlanGpe>(&[OUTPUT]).map_err(refuse)?;
    parts.router.add_tunnel_bypass::<VxlanGpe>()?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
