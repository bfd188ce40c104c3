//! Tunnels that carry Ethernet frames in UDP: VXLAN (RFC 7348).
#![forbid(unsafe_code)]

mod api;
mod cli;

use net::prelude::*;
use net::tunnel::bypass::Bypass;
use net::tunnel::{
    Behind, By, Carrier, CountsAsMost, Decapsulate, FAR, InputCount, Kind, L3_MAC, Opened, made_mac,
};

pub use api::*;

/// The port of the protocol.
pub const PORT: u16 = 4789;
/// Flag of a header with a number of its network.
const VALID: u8 = 0x08;
/// Bytes of the header.
const HEADER: usize = 8;
/// Nodes that send frames.
const OUTPUT: [&str; 2] = ["vxlan4-encap", "vxlan6-encap"];

/// The kind of tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vxlan {
    /// The network, 24 bits.
    pub vni: u32,
    /// Own UDP port.
    pub src_port: u16,
    /// The far end's.
    pub dst_port: u16,
    /// Next node of frames; that of frames of the interface when `None`.
    pub next: Option<Slot>,
    /// True for layer 3: the interface has the MAC address common to such interfaces.
    pub is_l3: bool,
}

impl Kind for Vxlan {
    const PREFIX: &'static str = "vxlan_tunnel";
    const HARDWARE: &'static str = "VXLAN";
    const INPUT: [&'static str; 2] = ["vxlan4-input", "vxlan6-input"];
    const HOP_LIMITS: [u8; 2] = FAR;
    const STARTS_UP: bool = true;

    fn carrier(&self) -> Carrier {
        Carrier::Port(self.src_port)
    }
    fn key(&self) -> u64 {
        u64::from(self.src_port) << 32 | u64::from(self.vni)
    }
    fn mac(&self, instance: u32) -> Option<MacAddr> {
        Some(if self.is_l3 { L3_MAC } else { made_mac::<Self>(instance) })
    }
    fn output(&self, outer: Link) -> Option<&'static str> {
        Some(OUTPUT[usize::from(outer == Link::Ip6)])
    }
    fn behind(&self, carried: Link) -> Option<Behind> {
        let [_, vni @ ..] = self.vni.to_be_bytes();
        let header = [&[VALID, 0, 0, 0][..], &vni, &[0]].concat();
        (carried == Link::Ethernet).then(|| Behind::udp(self.dst_port, &header))
    }
    fn next(&self) -> Option<Slot> {
        self.next
    }
}

/// Drops of the nodes.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no such tunnel packets.
    #[name("no such tunnel packets")]
    NoTunnel,
    /// packets with bad flags field in vxlan header.
    #[name("packets with bad flags field in vxlan header")]
    BadFlags,
}

impl Decapsulate for Vxlan {
    type Error = Error;
    type Count = InputCount;
    const NO_TUNNEL: Error = Error::NoTunnel;
    const DECAPSULATED: InputCount = InputCount::Decapsulated;

    #[inline(always)]
    fn open(bytes: &[u8], by: By) -> Result<Opened, Error> {
        let [flags, _, _, _, vni @ .., _] =
            *bytes.first_chunk::<HEADER>().ok_or(Error::BadFlags)?;
        if flags & VALID == 0 {
            return Err(Error::BadFlags);
        }
        let [a, b, c] = vni;
        let vni = u32::from_be_bytes([0, a, b, c]);
        let key = u64::from(by.port) << 32 | u64::from(vni);
        Ok(Opened { key, len: HEADER, carried: Link::Ethernet })
    }
}

impl CountsAsMost for Vxlan {}

/// Reason why a device does not find the tunnel of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum OffloadError {
    /// no such device
    #[retval(INVALID_SW_IF_INDEX)]
    NoDevice,
    /// not a VXLAN tunnel
    #[retval(INVALID_SW_IF_INDEX_2)]
    NoTunnel,
    /// the device has no flow rules
    #[retval(UNSUPPORTED)]
    Unsupported,
}

/// Enables or disables hardware offload of a tunnel's receive path. No driver has such devices.
///
/// # Errors
/// [`OffloadError`]; switching it off where it is not on is none.
pub fn offload(
    router: &Router,
    device: InterfaceIndex,
    tunnel: InterfaceIndex,
    is_on: bool,
) -> Result<(), OffloadError> {
    let device = router.interfaces.at(device).ok_or(OffloadError::NoDevice)?;
    if device.is_sub() {
        return Err(OffloadError::NoDevice);
    }
    router.tunnels::<Vxlan>().at(tunnel).ok_or(OffloadError::NoTunnel)?;
    if is_on { Err(OffloadError::Unsupported) } else { Ok(()) }
}

impl Bypass for Vxlan {
    const NODES: [&'static str; 2] = ["ip4-vxlan-bypass", "ip6-vxlan-bypass"];
    const COMMANDS: [&'static str; 2] =
        ["set interface ip vxlan-bypass", "set interface ip6 vxlan-bypass"];
}

/// VXLAN tunnels.
pub const FEATURE: Feature = Feature {
    name: "vxlan",
    about: "VXLAN Tunnels",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["tunnel", "ethernet"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.add_tunnel_kind::<Vxlan>().map_err(refuse)?;
    parts.router.add_tunnel_outputs::<Vxlan>(&OUTPUT).map_err(refuse)?;
    parts.router.add_tunnel_bypass::<Vxlan>()?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
