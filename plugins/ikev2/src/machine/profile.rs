//! Profiles: what an operator says of an association.

use std::net::IpAddr;

use crate::codec::number::id;
use crate::codec::{Id, Selector};
use crate::crypto::certificate::{Certificate, id_of};
use crate::crypto::keys::Hidden;
use crate::crypto::suite::{EspWish, IkeWish};

/// How ends prove their identities.
#[derive(Clone, Debug, PartialEq)]
pub struct Auth {
    /// The method, as messages name it: [`crate::codec::number::auth`].
    pub method: u8,
    /// The shared key, or the name of a file with certificates.
    pub data: Hidden,
    /// It was written in base 16.
    pub is_hex: bool,
    /// The certificates in that file: the peer's, or those of authorities.
    pub certificates: Vec<Certificate>,
}

/// The other end of an association that begins here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Responder {
    /// The interface on the way to it.
    pub interface: u32,
    /// Its address, or its name.
    pub at: At,
}

/// An address or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// An address.
    Addr(IpAddr),
    /// A name of the DNS.
    Name(String),
}

/// How long children are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// Seconds; 0 for ever.
    pub seconds: u64,
    /// Seconds of that left to chance.
    pub jitter: u32,
    /// Seconds for which the one before still receives.
    pub handover: u32,
    /// Bytes; 0 for any number.
    pub most_bytes: u64,
}

/// A profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Proofs of identity.
    pub auth: Option<Auth>,
    /// Own identity, as it was written.
    pub local_id: Option<Id>,
    /// The other end's.
    pub remote_id: Option<Id>,
    /// Own traffic.
    pub local_ts: Option<Selector>,
    /// The other end's.
    pub remote_ts: Option<Selector>,
    /// The other end.
    pub responder: Option<Responder>,
    /// Algorithms of IKE.
    pub ike: IkeWish,
    /// Algorithms of ESP.
    pub esp: EspWish,
    /// How long children are used.
    pub lifetime: Lifetime,
    /// ESP is over UDP in any case.
    pub has_udp: bool,
    /// NAT detection is disabled.
    pub is_natt_off: bool,
    /// The port of ESP over UDP, if it is not 4500.
    pub udp_port: Option<u16>,
    /// The tunnel that is protected; one is made where there is none.
    pub tunnel: Option<u32>,
}

/// The identity in messages: an address may have been written as text.
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
    /// Whether it is for an end with an identity that wants to speak with another one.
    pub fn is_for(&self, remote: &Id, local: Option<&Id>) -> bool {
        fits(self.remote_id.as_ref(), remote)
            && local.is_none_or(|local| fits(self.local_id.as_ref(), local))
    }
    /// How well it is for them: the more it names, the better.
    pub fn closeness(&self) -> usize {
        usize::from(self.remote_id.is_some()) * 2 + usize::from(self.local_id.is_some())
    }
    /// Own identity; the address where none is named.
    pub fn own_id(&self, addr: IpAddr) -> Id {
        self.local_id.as_ref().map_or_else(|| id_of(addr), on_wire)
    }
}
