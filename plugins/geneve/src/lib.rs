//! Tunnels that carry Ethernet frames in UDP: GENEVE (RFC 8926).
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
pub const PORT: u16 = 6081;
/// Bits of the first byte that tell the version, and the length of options in words.
const VERSION: u8 = 0xc0;
const OPTIONS: u8 = 0x3f;
/// Flag in the second byte: options that must be understood follow.
const CRITICAL: u8 = 0x40;
/// Bit of an option's type: it must be understood.
const CRITICAL_OPTION: u8 = 0x80;
/// Length of an option's data in words.
const OPTION_LEN: u8 = 0x1f;
/// Bytes of the header without options.
const HEADER: usize = 8;
/// Nodes that send frames.
const OUTPUT: [&str; 2] = ["geneve4-encap", "geneve6-encap"];

/// The kind of tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geneve {
    /// The network, 24 bits.
    pub vni: u32,
    /// Next node of frames; that of frames of the interface when `None`.
    pub next: Option<Slot>,
    /// True for layer 3: the interface has the MAC address common to such interfaces.
    pub is_l3: bool,
}

impl Kind for Geneve {
    const PREFIX: &'static str = "geneve_tunnel";
    const HARDWARE: &'static str = "GENEVE";
    const INPUT: [&'static str; 2] = ["geneve4-input", "geneve6-input"];
    const HOP_LIMITS: [u8; 2] = FAR;
    const STARTS_UP: bool = true;

    fn carrier(&self) -> Carrier {
        Carrier::Port(PORT)
    }
    fn key(&self) -> u64 {
        self.vni.into()
    }
    fn mac(&self, instance: u32) -> Option<MacAddr> {
        Some(if self.is_l3 { L3_MAC } else { made_mac::<Self>(instance) })
    }
    fn output(&self, outer: Link) -> Option<&'static str> {
        Some(OUTPUT[usize::from(outer == Link::Ip6)])
    }
    fn behind(&self, carried: Link) -> Option<Behind> {
        let [_, vni @ ..] = self.vni.to_be_bytes();
        let kind = EtherType::TRANSPARENT_BRIDGING.get().to_be_bytes();
        let header = [&[0, 0][..], &kind, &vni, &[0]].concat();
        (carried == Link::Ethernet).then(|| Behind::udp(PORT, &header))
    }
    fn next(&self) -> Option<Slot> {
        self.next
    }
}

/// Drops of the input nodes.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no such tunnel packets.
    #[name("no such tunnel packets")]
    NoTunnel,
    /// packets with bad flags field in geneve header.
    #[name("packets with bad flags field in geneve header")]
    BadFlags,
    /// packets with invalid options length.
    #[name("packets with invalid options length")]
    BadOptions,
}

impl Decapsulate for Geneve {
    type Error = Error;
    type Count = InputCount;
    const NO_TUNNEL: Error = Error::NoTunnel;
    const DECAPSULATED: InputCount = InputCount::Decapsulated;

    #[inline(always)]
    fn open(bytes: &[u8], _: By) -> Result<Opened, Error> {
        let [first, flags, kind @ .., a, b, c, _] =
            *bytes.first_chunk::<HEADER>().ok_or(Error::BadFlags)?;
        if first & VERSION != 0 {
            return Err(Error::BadFlags);
        }
        let len = HEADER + 4 * usize::from(first & OPTIONS);
        let options = bytes.get(HEADER..len).ok_or(Error::BadOptions)?;
        if flags & CRITICAL != 0 && has_critical(options)? {
            return Err(Error::BadFlags);
        }
        let carried = match EtherType::new(u16::from_be_bytes(kind)) {
            EtherType::TRANSPARENT_BRIDGING => Link::Ethernet,
            EtherType::IP4 => Link::Ip4,
            EtherType::IP6 => Link::Ip6,
            _ => return Err(Error::BadFlags),
        };
        Ok(Opened { key: u32::from_be_bytes([0, a, b, c]).into(), len, carried })
    }
}

/// Whether any option must be understood, as none is here.
fn has_critical(mut options: &[u8]) -> Result<bool, Error> {
    while let [_, _, kind, len, rest @ ..] = options {
        if kind & CRITICAL_OPTION != 0 {
            return Ok(true);
        }
        options = rest.get(4 * usize::from(len & OPTION_LEN)..).ok_or(Error::BadOptions)?;
    }
    Ok(false)
}

impl CountsAsMost for Geneve {}

impl Bypass for Geneve {
    const NODES: [&'static str; 2] = ["ip4-geneve-bypass", "ip6-geneve-bypass"];
    const COMMANDS: [&'static str; 2] =
        ["set interface ip geneve-bypass", "set interface ip6 geneve-bypass"];
}

/// GENEVE tunnels.
pub const FEATURE: Feature = Feature {
    name: "geneve",
    about: "GENEVE Tunnels",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["tunnel", "ethernet"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.add_tunnel_kind::<Geneve>().map_err(refuse)?;
    parts.router.add_tunnel_outputs::<Geneve>(&OUTPUT).map_err(refuse)?;
    parts.router.add_tunnel_bypass::<Geneve>()?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
