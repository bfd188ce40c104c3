//! Messages to agents: samples as of `linux/psample.h`, dropped packets as of
//! `linux/net_dropmon.h`, counters as `hsflowd`'s module `vpp` reads them. Numbers are in the byte
//! order of the host.

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED};

/// The family that knows all others.
pub(super) const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_NAME: u16 = 2;
const REQUEST: u16 = 1;

/// `PSAMPLE_CMD_SAMPLE`, `NET_DM_CMD_PACKET_ALERT`.
const SAMPLE: u8 = 0;
const ALERT: u8 = 5;
/// `NET_DM_ALERT_MODE_PACKET`, `NET_DM_ORIGIN_HW`.
const PACKET: u8 = 1;
const HARDWARE: u16 = 1;

/// Types of messages with counters.
const STATUS: u16 = 1;
const COUNTERS: u16 = 2;
/// IANAifType of Ethernet; ifDirection of full duplex.
const ETHERNET: u32 = 6;
const FULL_DUPLEX: u32 = 1;

/// The groups of samples that agents tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Received packets.
    Received = 3,
    /// Sent packets.
    Sent = 4,
}

/// The start of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Header<'p> {
    /// First bytes.
    pub bytes: &'p [u8],
    /// Bytes of the whole packet.
    pub len: u32,
}

/// The attributes of a message.
#[derive(Default)]
struct Attributes(Vec<DefaultNla>);

impl Attributes {
    fn with(mut self, kind: u16, value: impl Into<Vec<u8>>) -> Self {
        self.0.push(DefaultNla::new(kind, value.into()));
        self
    }
    fn u16(self, kind: u16, value: u16) -> Self {
        self.with(kind, value.to_ne_bytes())
    }
    fn u32(self, kind: u16, value: u32) -> Self {
        self.with(kind, value.to_ne_bytes())
    }
    fn u64(self, kind: u16, value: u64) -> Self {
        self.with(kind, value.to_ne_bytes())
    }
    fn text(self, kind: u16, value: &str) -> Self {
        self.with(kind, [value.as_bytes(), &[0]].concat())
    }
    fn bytes(&self) -> Vec<u8> {
        let all = self.0.as_slice();
        let mut bytes = vec![0; all.buffer_len()];
        all.emit(&mut bytes);
        bytes
    }
    /// The message behind its header, and behind that of generic netlink where there is one.
    fn message(&self, kind: u16, flags: u16, sequence: u32, generic: Option<u8>) -> Vec<u8> {
        let mut message = vec![0; 16];
        message.extend(generic.into_iter().flat_map(|command| [command, 1, 0, 0]));
        message.extend(self.bytes());
        let len = message.len() as u32;
        message[..4].copy_from_slice(&len.to_ne_bytes());
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        message[6..8].copy_from_slice(&flags.to_ne_bytes());
        message[8..12].copy_from_slice(&sequence.to_ne_bytes());
        message
    }
}

/// Asks for the number of a family and of its groups.
pub(super) fn family(name: &str) -> Vec<u8> {
    Attributes::default().text(FAMILY_NAME, name).message(CONTROLLER, REQUEST, 0, Some(GET_FAMILY))
}

/// A sample of a packet received on `rx` and, if known, sent by `tx`; one of so many.
pub fn sampled(
    family: u16,
    sequence: u32,
    group: Group,
    (rx, tx): (u32, Option<u32>),
    rate: u32,
    header: Header<'_>,
) -> Vec<u8> {
    let mut attributes = Attributes::default().u16(0, rx as u16);
    if let Some(tx) = tx {
        attributes = attributes.u16(1, tx as u16);
    }
    let attributes = attributes
        .u32(2, header.len)
        .u32(3, group as u32)
        .u32(4, sequence)
        .u32(5, rate)
        .with(6, header.bytes);
    attributes.message(family, 0, sequence, Some(SAMPLE))
}

/// A packet received on `rx` and dropped by a node for a reason; `protocol` is its EtherType.
pub fn dropped(
    family: u16,
    sequence: u32,
    rx: u32,
    (node, reason): (&str, &str),
    protocol: u16,
    header: Header<'_>,
) -> Vec<u8> {
    let port = Attributes::default().u32(0, rx);
    let attributes = Attributes::default()
        .with(1, [PACKET])
        .with(4 | NLA_F_NESTED, port.bytes())
        .u16(6, protocol)
        .with(7, header.bytes)
        .u32(9, header.bytes.len() as u32)
        .u32(10, header.len)
        .u16(14, HARDWARE)
        .text(15, node)
        .text(16, reason);
    attributes.message(family, 0, sequence, Some(ALERT))
}

/// A status message: uptime in seconds, and records lost.
pub fn status(sequence: u32, uptime: u32, lost: u32) -> Vec<u8> {
    let attributes = Attributes::default().u32(20, uptime).u32(22, lost).u32(23, sequence);
    attributes.message(STATUS, 0, sequence, None)
}

/// State and counters of an interface.
#[derive(Clone, Debug, Default)]
pub struct Counters<'n> {
    /// Name.
    pub name: &'n str,
    /// Index.
    pub index: u32,
    /// Bits a second.
    pub speed: u64,
    /// Whether its link is up, and whether it is switched on.
    pub is_up: [bool; 2],
    /// Bytes received and sent.
    pub bytes: [u64; 2],
    /// Packets received and sent.
    pub packets: [u64; 2],
    /// Packets of them that were broadcast.
    pub broadcasts: [u64; 2],
    /// Packets of them that were multicast.
    pub multicasts: [u64; 2],
    /// Packets dropped on receive, and on transmit.
    pub discards: [u64; 2],
    /// Damaged ones.
    pub errors: [u64; 2],
    /// MAC address.
    pub mac: [u8; 6],
    /// Number of the host's device that stands for it.
    pub device: Option<u32>,
}

/// State and counters of an interface, in a message.
pub fn counters(sequence: u32, c: &Counters<'_>) -> Vec<u8> {
    let mut attributes = Attributes::default()
        .with(0, c.name.as_bytes())
        .u32(1, c.index)
        .u32(2, ETHERNET)
        .u64(3, c.speed)
        .u32(4, FULL_DUPLEX)
        .u32(5, c.is_up[0].into())
        .u32(6, c.is_up[1].into());
    let pairs = [&c.bytes, &c.packets, &c.broadcasts, &c.multicasts, &c.discards, &c.errors];
    for (kind, value) in (7..).zip(pairs.into_iter().flatten()) {
        attributes = attributes.u64(kind, *value);
    }
    attributes = attributes.with(19, c.mac);
    if let Some(device) = c.device {
        attributes = attributes.u32(21, device);
    }
    attributes.u32(23, sequence).message(COUNTERS, 0, sequence, None)
}
