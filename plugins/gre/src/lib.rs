//! Tunnels of generic routing encapsulation (RFC 2784), with keys (RFC 2890): of IP packets,
//! Ethernet frames ("transparent Ethernet bridging", TEB) and mirrored frames (ERSPAN type II).
//!
//! A key is sent when it is not 0; tunnels between the same addresses differ by it. Sequence
//! numbers and checksums are skipped when they come, and not sent but for ERSPAN's.
#![forbid(unsafe_code)]

mod api;
mod cli;

use net::prelude::*;
use net::tunnel::{Behind, By, Carrier, Decapsulate, Encapsulate, FAR, Kind, Opened, made_mac};

pub use api::*;

/// Node that sends Ethernet frames.
const TEB_OUTPUT: &str = "gre-teb-encap";
/// Node that sends mirrored ones.
const ERSPAN_OUTPUT: &str = "gre-erspan-encap";
/// Flags in the first byte of a header: more fields follow.
const CHECKSUM: u8 = 0x80;
const KEY: u8 = 0x20;
const SEQUENCE: u8 = 0x10;
/// Fields that are known to have no other use.
const KNOWN: u8 = CHECKSUM | KEY | SEQUENCE;
/// Bits of the second byte that tell the version.
const VERSION: u8 = 7;
/// Type of Ethernet frames.
const TEB: u16 = EtherType::TRANSPARENT_BRIDGING.get();
/// Type of ERSPAN type II.
const ERSPAN: u16 = 0x88be;
/// Bytes of the header of ERSPAN.
const ERSPAN_HEADER: usize = 8;
/// Its version, in the first byte.
const ERSPAN_VERSION: u16 = 0x1000;
/// Tags of the mirrored frame are still in it.
const TAGS_KEPT: u16 = 3 << 11;
/// Bits of its session.
const SESSION: u16 = 0x3ff;

/// The payload of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// IP packets.
    Packets,
    /// Ethernet frames.
    Frames,
    /// Mirrored Ethernet frames of a session.
    Mirrored(u16),
}

/// The kind of tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gre {
    /// The payload of a tunnel.
    pub what: What,
    /// Key; 0 for none.
    pub key: u32,
}

/// Tunnels of one key that carry something else are others.
fn tuple_key(what: u64, session: u16, key: u32) -> u64 {
    what << 48 | u64::from(session) << 32 | u64::from(key)
}

impl Kind for Gre {
    const PREFIX: &'static str = "gre";
    const HARDWARE: &'static str = "GRE";
    const INPUT: [&'static str; 2] = ["gre4-input", "gre6-input"];
    const HOP_LIMITS: [u8; 2] = FAR;

    fn carrier(&self) -> Carrier {
        Carrier::Protocols(&[Protocol::GRE])
    }
    fn key(&self) -> u64 {
        match self.what {
            What::Packets => tuple_key(0, 0, self.key),
            What::Frames => tuple_key(1, 0, self.key),
            What::Mirrored(session) => tuple_key(2, session, self.key),
        }
    }
    fn mac(&self, instance: u32) -> Option<MacAddr> {
        (self.what != What::Packets).then(|| made_mac::<Self>(instance))
    }
    fn output(&self, _: Link) -> Option<&'static str> {
        match self.what {
            What::Packets => None,
            What::Frames => Some(TEB_OUTPUT),
            What::Mirrored(_) => Some(ERSPAN_OUTPUT),
        }
    }
    fn behind(&self, carried: Link) -> Option<Behind> {
        let kind = match (self.what, carried) {
            (What::Packets, Link::Ip4) => EtherType::IP4.get(),
            (What::Packets, Link::Ip6) => EtherType::IP6.get(),
            (What::Packets, Link::Mpls) => EtherType::MPLS.get(),
            (What::Frames, Link::Ethernet) => TEB,
            (What::Mirrored(_), Link::Ethernet) => ERSPAN,
            _ => return None,
        };
        let mut flags = if self.key > 0 { KEY } else { 0 };
        let (mut fields, mut sequence) = (Vec::new(), None);
        if self.key > 0 {
            fields.extend(self.key.to_be_bytes());
        }
        if let What::Mirrored(session) = self.what {
            flags |= SEQUENCE;
            sequence = Some(4 + fields.len() as u8);
            fields.extend([0; 4]);
            fields.extend(ERSPAN_VERSION.to_be_bytes());
            fields.extend((session & SESSION | TAGS_KEPT).to_be_bytes());
            fields.extend([0; 4]);
        }
        let bytes = [&[flags, 0], &kind.to_be_bytes()[..], &fields].concat();
        Some(Behind { bytes, sequence, ..Behind::nothing(Protocol::GRE) })
    }
}

/// Drops of the nodes.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no error.
    #[name("no error")]
    None,
    /// unknown protocol.
    #[name("unknown protocol")]
    UnknownProtocol,
    /// unsupported version.
    #[name("unsupported version")]
    UnsupportedVersion,
    /// GRE input packets dropped due to missing tunnel.
    #[name("GRE input packets dropped due to missing tunnel")]
    NoTunnel,
}

/// Counters of the nodes.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// GRE input packets decapsulated.
    #[name("GRE input packets decapsulated")]
    Decapsulated,
    /// GRE output packets encapsulated.
    #[name("GRE output packets encapsulated")]
    Encapsulated,
}

impl Decapsulate for Gre {
    type Error = Error;
    type Count = Count;
    const NO_TUNNEL: Error = Error::NoTunnel;
    const DECAPSULATED: Count = Count::Decapsulated;

    #[inline(always)]
    fn open(bytes: &[u8], _: By) -> Result<Opened, Error> {
        let [flags, version, kind @ ..] =
            *bytes.first_chunk::<4>().ok_or(Error::UnknownProtocol)?;
        if version & VERSION != 0 || flags & !KNOWN != 0 {
            return Err(Error::UnsupportedVersion);
        }
        let word = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|b| u32::from_be_bytes(*b));
        let mut len = 4 + 4 * usize::from(flags & CHECKSUM > 0);
        let mut key = 0;
        if flags & KEY > 0 {
            key = word(len).ok_or(Error::UnknownProtocol)?;
            len += 4;
        }
        len += 4 * usize::from(flags & SEQUENCE > 0);
        let (what, session, carried) = match u16::from_be_bytes(kind) {
            TEB => (1, 0, Link::Ethernet),
            ERSPAN => {
                let session = word(len).ok_or(Error::UnknownProtocol)? as u16 & SESSION;
                len += ERSPAN_HEADER;
                (2, session, Link::Ethernet)
            }
            kind if kind == EtherType::IP4.get() => (0, 0, Link::Ip4),
            kind if kind == EtherType::IP6.get() => (0, 0, Link::Ip6),
            kind if kind == EtherType::MPLS.get() => (0, 0, Link::Mpls),
            _ => return Err(Error::UnknownProtocol),
        };
        Ok(Opened { key: tuple_key(what, session, key), len, carried })
    }
}

impl Encapsulate for Gre {
    type Error = Error;
    type Count = Count;
    const NO_TUNNEL: Error = Error::NoTunnel;
    const ENCAPSULATED: Count = Count::Encapsulated;
}

/// GRE tunnels.
pub const FEATURE: Feature = Feature {
    name: "gre",
    about: "Tunnels of generic routing encapsulation",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["tunnel", "teib"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.add_tunnel_kind::<Gre>().map_err(refuse)?;
    parts.router.add_tunnel_outputs::<Gre>(&[TEB_OUTPUT, ERSPAN_OUTPUT]).map_err(refuse)?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
