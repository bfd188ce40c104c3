//! Tunnels of the user plane of mobile networks: GTP-U (3GPP TS 29.281).
//!
//! A tunnel takes packets with its own endpoint identifier (TEID) and sends with that of the far
//! end. Optional fields and extension headers are skipped; a tunnel with a QoS flow sends the PDU
//! session container (TS 38.415).
//!
//! Packets to the port without a tunnel may be received whole on an interface of their own
//! ([`Forward`]), for another consumer.
#![forbid(unsafe_code)]

mod api;
mod cli;

use net::prelude::*;
use net::tunnel::bypass::Bypass;
use net::tunnel::{
    Behind, By, Carrier, CountsAsMost, Decapsulate, FAR, Guard, InputCount, Kind, Opened, Outer,
    made_mac,
};

pub use api::*;

/// The port of the protocol.
pub const PORT: u16 = 2152;
/// Version 1, protocol GTP.
const FLAGS: u8 = 0x30;
/// Bits of the flags that tell the version and the protocol.
const VERSION: u8 = 0xe0;
const PROTOCOL: u8 = 0x10;
/// Flags: an extension header follows; any of these and four more bytes do.
const EXTENSION: u8 = 0x04;
const OPTIONAL: u8 = 0x07;
/// Type of messages with a packet.
const PACKET: u8 = 255;
/// Extension header: PDU session container, and the flow in its second byte.
const CONTAINER: u8 = 0x85;
const FLOW: u8 = 0x3f;
/// Bytes of the header, and of the fields behind it.
const HEADER: usize = 8;
const FIELDS: usize = 4;
/// Extension headers at most.
const EXTENSIONS: usize = 8;
/// Place of the header behind that of UDP.
const AT: u8 = 8;
/// Nodes that send frames.
const OUTPUT: [&str; 2] = ["gtpu4-encap", "gtpu6-encap"];

/// The kind of tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gtpu {
    /// Local TEID.
    pub teid: u32,
    /// Remote TEID.
    pub tteid: u32,
    /// QoS flow of what is sent.
    pub qfi: Option<u8>,
    /// Whether Ethernet frames are carried, else IP packets.
    pub is_l2: bool,
    /// Next node of received packets; that of their kind when `None`.
    pub next: Option<Slot>,
    /// Packets that it takes although they are no tunnel's, as they came: it is no tunnel then.
    pub forward: Option<Forward>,
}

/// Packets that are no tunnel's.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
#[number(GtpuForwardingType)]
pub enum Forward {
    /// Without a header of GTP-U.
    BadHeader,
    /// Of no tunnel that is known.
    UnknownTeid,
    /// Packets of another message type.
    UnknownType,
}

/// Bit of the keys of what is no tunnel.
const FORWARD: u64 = 1 << 32;

impl Forward {
    fn key(self) -> u64 {
        FORWARD | self as u64
    }
}

impl Kind for Gtpu {
    const PREFIX: &'static str = "gtpu_tunnel";
    const HARDWARE: &'static str = "GTPU";
    const INPUT: [&'static str; 2] = ["gtpu4-input", "gtpu6-input"];
    const HOP_LIMITS: [u8; 2] = FAR;
    const STARTS_UP: bool = true;

    fn carrier(&self) -> Carrier {
        Carrier::Port(PORT)
    }
    fn key(&self) -> u64 {
        self.forward.map_or(self.teid.into(), Forward::key)
    }
    fn mac(&self, instance: u32) -> Option<MacAddr> {
        self.is_l2.then(|| made_mac::<Self>(instance))
    }
    fn carries(&self) -> Option<Link> {
        self.is_l2.then_some(Link::Ethernet)
    }
    fn output(&self, outer: Link) -> Option<&'static str> {
        self.forward.is_none().then_some(OUTPUT[usize::from(outer == Link::Ip6)])
    }
    fn guard(&self) -> Option<Guard> {
        self.forward.map(|_| Guard { check: |_, _, _| true, number: 0 })
    }
    fn behind(&self, carried: Link) -> Option<Behind> {
        if self.forward.is_some() {
            return None;
        }
        let flags = FLAGS | if self.qfi.is_some() { EXTENSION } else { 0 };
        let mut header = vec![flags, PACKET, 0, 0];
        header.extend(self.tteid.to_be_bytes());
        if let Some(flow) = self.qfi {
            header.extend([0, 0, 0, CONTAINER, 1, 0, flow & FLOW, 0]);
        }
        let length = Some((AT + 2, AT + HEADER as u8));
        let is_carried = if self.is_l2 { carried == Link::Ethernet } else { carried != Link::Mpls };
        is_carried.then(|| Behind { length, ..Behind::udp(PORT, &header) })
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
    /// packets with bad version in gtpu header.
    #[name("packets with bad version in gtpu header")]
    BadVersion,
    /// packets with bad flags field in gtpu header.
    #[name("packets with bad flags field in gtpu header")]
    BadFlags,
    /// packets with message type < 255 in gtpu header.
    #[name("packets with message type < 255 in gtpu header")]
    BadType,
    /// packet too small to fit a gtpu header.
    #[name("packet too small to fit a gtpu header")]
    TooSmall,
}

/// Bytes of a header that has more than the fields which are always there.
#[inline(never)]
fn longer(bytes: &[u8], has_extension: bool) -> Option<usize> {
    let mut at = HEADER + FIELDS;
    let mut kind = *bytes.get(at - 1)?;
    for _ in 0..EXTENSIONS {
        if kind == 0 || !has_extension {
            return Some(at);
        }
        at += 4 * usize::from(*bytes.get(at).filter(|words| **words > 0)?);
        kind = *bytes.get(at - 1)?;
    }
    None
}

impl Decapsulate for Gtpu {
    type Error = Error;
    type Count = InputCount;
    const NO_TUNNEL: Error = Error::NoTunnel;
    const DECAPSULATED: InputCount = InputCount::Decapsulated;

    #[inline(always)]
    fn open(bytes: &[u8], _: By) -> Result<Opened, Error> {
        let [flags, kind, _, _, teid @ ..] =
            *bytes.first_chunk::<HEADER>().ok_or(Error::TooSmall)?;
        if flags & VERSION != FLAGS & VERSION {
            return Err(Error::BadVersion);
        }
        if flags & PROTOCOL == 0 {
            return Err(Error::BadFlags);
        }
        if kind != PACKET {
            return Err(Error::BadType);
        }
        let mut len = HEADER;
        if flags & OPTIONAL != 0 {
            len = longer(bytes, flags & EXTENSION != 0).ok_or(Error::TooSmall)?;
        }
        let carried = match bytes.get(len).map(|byte| byte >> 4) {
            Some(6) => Link::Ip6,
            _ => Link::Ip4,
        };
        Ok(Opened { key: u32::from_be_bytes(teid).into(), len, carried })
    }
    fn forwarded(why: &Error) -> Option<u64> {
        let forward = match why {
            Error::NoTunnel => Forward::UnknownTeid,
            Error::BadVersion | Error::BadFlags | Error::TooSmall => Forward::BadHeader,
            Error::BadType => Forward::UnknownType,
        };
        Some(forward.key())
    }
}

impl CountsAsMost for Gtpu {}

impl Bypass for Gtpu {
    const NODES: [&'static str; 2] = ["ip4-gtpu-bypass", "ip6-gtpu-bypass"];
    const COMMANDS: [&'static str; 2] =
        ["set interface ip gtpu-bypass", "set interface ip6 gtpu-bypass"];
}

/// Reason why a device does not find the tunnel of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum OffloadError {
    /// no such device
    #[retval(INVALID_SW_IF_INDEX)]
    NoDevice,
    /// not a GTP-U tunnel
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
    let known = router.tunnels::<Gtpu>().at(tunnel);
    known.filter(|t| t.kind.forward.is_none()).ok_or(OffloadError::NoTunnel)?;
    if is_on { Err(OffloadError::Unsupported) } else { Ok(()) }
}

/// Adds or deletes an interface for packets without a tunnel to a local address in table `id`.
/// `with` describes their treatment.
///
/// # Errors
/// [`net::tunnel::Error`]; nothing has changed then.
pub fn set_forward(
    router: &mut Router,
    is_add: bool,
    instance: Option<u32>,
    (own, id): (IpAddr, u32),
    forward: Forward,
    with: impl Fn(Gtpu) -> Gtpu,
) -> Result<InterfaceIndex, net::tunnel::Error> {
    let outer = Outer::new(own, Link::of(own).unspecified(), router.tunnel_table(own, id)?);
    let forward = Some(forward);
    let plain = Gtpu { teid: 0, tteid: 0, qfi: None, is_l2: true, next: None, forward };
    router.add_or_remove_tunnel(is_add, instance, outer, with(plain))
}

/// GTP-U tunnels.
pub const FEATURE: Feature = Feature {
    name: "gtpu",
    about: "GPRS Tunnelling Protocol, User Data (GTPv1-U)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["tunnel", "ethernet"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.add_tunnel_kind::<Gtpu>().map_err(refuse)?;
    parts.router.add_tunnel_outputs::<Gtpu>(&OUTPUT).map_err(refuse)?;
    parts.router.add_tunnel_bypass::<Gtpu>()?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
