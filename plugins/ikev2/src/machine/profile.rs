//! Profiles: the configuration of associations.

use std::net::IpAddr;

use crate::codec::number::id;
use crate::codec::{Id, Selector};
use crate::crypto::certificate::{Certificate, id_of};
use crate::crypto::keys::Hidden;
use crate::crypto::suite::{EspWish, IkeWish};

/// Authentication method and credential.
#[derive(Clone, Debug, PartialEq)]
pub struct Auth {
    /// The method, one of [`crate::codec::number::auth`].
    pub method: u8,
    /// The shared key, or the name of a file with certificates.
    pub data: Hidden,
    /// Whether it was given in hexadecimal.
    pub is_hex: bool,
    /// The certificates in that file: of the peer, or of authorities.
    pub certificates: Vec<Certificate>,
}

/// Peer to initiate an association with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Responder {
    /// Interface towards it.
    pub interface: u32,
    /// Its address or name.
    pub at: At,
}

/// An address or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// An address.
    Addr(IpAddr),
    /// A DNS name.
    Name(String),
}

/// Lifetime of child SAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// Seconds; 0 forever.
    pub seconds: u64,
    /// Random part of it in seconds.
    pub jitter: u32,
    /// Seconds for which a replaced child SA still receives.
    pub handover: u32,
    /// Bytes; 0 for unlimited.
    pub most_bytes: u64,
}

/// A profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Authentication; `None` until it is configured.
    pub auth: Option<Auth>,
    /// Local identity as configured.
    pub local_id: Option<Id>,
    /// Identity of the peer.
    pub remote_id: Option<Id>,
    /// Local traffic selector.
    pub local_ts: Option<Selector>,
    /// Traffic selector of the peer.
    pub remote_ts: Option<Selector>,
    /// The peer, if associations are initiated here.
    pub responder: Option<Responder>,
    /// IKE algorithms.
    pub ike: IkeWish,
    /// ESP algorithms.
    pub esp: EspWish,
    /// Lifetime of child SAs.
    pub lifetime: Lifetime,
    /// Whether ESP is always encapsulated in UDP.
    pub has_udp: bool,
    /// Whether NAT detection is disabled.
    pub is_natt_off: bool,
    /// UDP port for encapsulated ESP, if it is not 4500.
    pub udp_port: Option<u16>,
    /// The protected tunnel; without one, a tunnel is created.
    pub tunnel: Option<u32>,
}

/// The identity as sent in messages, where an address configured as text is binary.
pub fn on_wire(written: &Id) -> Id {
    let addr = || std::str::from_utf8(&written.data).ok()?.parse::<IpAddr>().ok();
    match written.kind {
        id::IP4 | id::IP6 => addr().map_or_else(|| written.clone(), id_of),
        _ => written.clone(),
    }
}

fn fits(written: Option<&Id>, found: &Id) -> bool {
    written.is_none_or(|written| on_wire(written) == *found)
}

impl Profile {
    /// Whether it matches a peer's identity, and the local identity if the peer names one.
    pub fn is_for(&self, remote: &Id, local: Option<&Id>) -> bool {
        fits(self.remote_id.as_ref(), remote)
            && local.is_none_or(|local| fits(self.local_id.as_ref(), local))
    }
    /// How specific the profile is: the number of identities that it names.
    pub fn closeness(&self) -> usize {
        usize::from(self.remote_id.is_some()) * 2 + usize::from(self.local_id.is_some())
    }
    /// The local identity; by default, the given address.
    pub fn own_id(&self, addr: IpAddr) -> Id {
        self.local_id.as_ref().map_or_else(|| id_of(addr), on_wire)
    }
}
