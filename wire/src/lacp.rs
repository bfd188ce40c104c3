//! Link aggregation control and its marker protocol (IEEE 802.1AX section 6.4.2 and 6.5.3): what
//! stations at both ends of a link say of their port. Both are slow protocols (IEEE 802.3 annex
//! 57A).

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::MacAddr;

/// Group address of stations next to each other.
pub const SLOW_PROTOCOLS: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x02]);
/// Subtype of link aggregation control.
pub const LACP: u8 = 1;
/// Subtype of the marker protocol.
pub const MARKER: u8 = 2;

/// Bits of [`Party::state`].
pub mod state {
    /// Begins, does not only answer.
    pub const ACTIVITY: u8 = 1;
    /// Wants to hear of the other end every second.
    pub const TIMEOUT: u8 = 1 << 1;
    /// Can be one of several links.
    pub const AGGREGATION: u8 = 1 << 2;
    /// Belongs to the right group.
    pub const SYNCHRONIZATION: u8 = 1 << 3;
    /// Receives.
    pub const COLLECTING: u8 = 1 << 4;
    /// Sends.
    pub const DISTRIBUTING: u8 = 1 << 5;
    /// No PDU received from the partner: the configured default is assumed.
    pub const DEFAULTED: u8 = 1 << 6;
    /// The last PDU of the partner has expired.
    pub const EXPIRED: u8 = 1 << 7;
}

/// Description of a port by a station.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct Party {
    /// Priority of the system's decisions; less is more.
    pub system_priority: U16,
    /// The system.
    pub system: MacAddr,
    /// Aggregation key.
    pub key: U16,
    /// Port priority; the lowest wins.
    pub port_priority: U16,
    /// Port.
    pub port: U16,
    /// Bits of [`state`].
    pub state: u8,
    /// Nothing.
    pub reserved: [u8; 3],
}

impl Party {
    /// Whether a bit of its state is set.
    pub fn has(&self, bit: u8) -> bool {
        self.state & bit == bit
    }
    /// Sets a bit of its state.
    pub fn set(&mut self, bit: u8, on: bool) {
        self.state = if on { self.state | bit } else { self.state & !bit };
    }
    /// The same port of the same system with the same key.
    pub fn is_same(&self, other: &Self) -> bool {
        let of = |party: &Self| {
            let Self { system_priority, system, key, port_priority, port, .. } = *party;
            (system_priority, system, key, port_priority, port)
        };
        of(self) == of(other)
    }
}

/// LACPDU, after the Ethernet header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Pdu {
    /// [`LACP`].
    pub subtype: u8,
    /// Version; what is newer begins as version 1 does.
    pub version: u8,
    /// Type and length of the next field.
    pub actor_element: [u8; 2],
    /// The sender's own port.
    pub actor: Party,
    /// Type and length of the next field.
    pub partner_element: [u8; 2],
    /// The receiver's port, as the sender knows it.
    pub partner: Party,
    /// Type and length of the next field.
    pub collector_element: [u8; 2],
    /// Longest time that the sender keeps frames, in tens of microseconds.
    pub collector_delay: U16,
    /// Nothing, the end, and nothing.
    pub rest: [[u8; 8]; 8],
}

const _: () = assert!(size_of::<Pdu>() == 110);

/// Type and length of its elements.
const ACTOR: [u8; 2] = [1, 20];
const PARTNER: [u8; 2] = [2, 20];
const COLLECTOR: [u8; 2] = [3, 16];

impl Pdu {
    /// Of version 1.
    pub fn new(actor: Party, partner: Party) -> Self {
        Self {
            subtype: LACP,
            version: 1,
            actor_element: ACTOR,
            actor,
            partner_element: PARTNER,
            partner,
            collector_element: COLLECTOR,
            collector_delay: 0.into(),
            rest: [[0; 8]; 8],
        }
    }
    /// Whether the elements are as long as they must be.
    pub fn is_well_formed(&self) -> bool {
        [self.actor_element, self.partner_element, self.collector_element]
            == [ACTOR, PARTNER, COLLECTOR]
    }
}

/// A request of the marker protocol, and the answer to it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Marker {
    /// [`MARKER`].
    pub subtype: u8,
    /// Address family.
    pub version: u8,
    /// 1 in a request, 2 in an answer.
    pub kind: u8,
    /// Bytes of the element: 16.
    pub len: u8,
    /// The port that asks.
    pub port: U16,
    /// The system that asks.
    pub system: MacAddr,
    /// Number of the request.
    pub transaction: U32,
    /// Nothing.
    pub pad: [u8; 2],
    /// The end, and nothing.
    pub rest: [[u8; 23]; 4],
}

const _: () = assert!(size_of::<Marker>() == 110);

impl Marker {
    /// Type of a request.
    pub const REQUEST: u8 = 1;
    /// Type of an answer.
    pub const ANSWER: u8 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let party = |system: u8| Party {
            system_priority: 0x0102.into(),
            system: MacAddr([system; 6]),
            key: 0x0304.into(),
            port_priority: 0x0506.into(),
            port: 0x0708.into(),
            state: 0x3d,
            reserved: [0; 3],
        };
        let pdu = Pdu::new(party(9), party(8));
        let bytes = pdu.as_bytes();
        assert_eq!(bytes[..10], [1, 1, 1, 20, 1, 2, 9, 9, 9, 9]);
        assert_eq!(bytes[10..22], [9, 9, 3, 4, 5, 6, 7, 8, 0x3d, 0, 0, 0]);
        assert_eq!(bytes[22..28], [2, 20, 1, 2, 8, 8]);
        assert_eq!(bytes[42..46], [3, 16, 0, 0]);
        assert!(bytes[46..].iter().all(|b| *b == 0));
        assert!(pdu.is_well_formed() && !Pdu { actor_element: [1, 21], ..pdu }.is_well_formed());
        assert!(party(1).is_same(&Party { state: 0, ..party(1) }) && !party(1).is_same(&party(2)));
    }
}
