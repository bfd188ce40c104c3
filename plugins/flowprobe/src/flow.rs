//! Flows: what their packets have in common, and what is counted of them.

use sessions::{Key, Sessions};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Places of what an interface is probed for: IPv4 packets.
pub const IP4: usize = 0;
/// IPv6 packets.
pub const IP6: usize = 1;
/// Frames.
pub const L2: usize = 2;

/// Groups of fields to record, as bits.
pub const RECORD_L2: u8 = 1;
/// Addresses, protocol and bytes.
pub const RECORD_L3: u8 = 2;
/// Ports and flags of TCP.
pub const RECORD_L4: u8 = 4;

/// Default seconds between two records of a flow.
pub const ACTIVE: u32 = 15;
/// Default idle timeout of flows in seconds.
pub const PASSIVE: u32 = 120;

/// Recorded fields and timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Groups of fields.
    pub record: u8,
    /// Seconds between two records of a flow; 0 to have a record of each packet.
    pub active: u32,
    /// Seconds of silence after which a flow is over; 0 for as many as `active`.
    pub passive: u32,
    /// How records are written.
    pub format: Format,
}

/// How records are written, where collectors differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Times are of milliseconds, no nanoseconds.
    pub has_milliseconds: bool,
    /// Types of Ethernet are in the order of the network. Collectors of the original know them with
    /// their bytes exchanged.
    pub has_network_order: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { record: 0, active: ACTIVE, passive: PASSIVE, format: Format::default() }
    }
}

impl Params {
    /// Inactive timeout in seconds.
    pub fn silence(&self) -> f64 {
        f64::from(self.passive.max(self.active).max(1))
    }
    /// Whether a group of fields is recorded.
    #[inline(always)]
    pub fn has(&self, group: u8) -> bool {
        self.record & group != 0
    }
}

/// Kinds of records, which have templates of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Of IPv4 packets.
    Ip4,
    /// Of IPv6 packets.
    Ip6,
    /// Of frames without IP, or where nothing else is recorded.
    L2,
    /// Of frames with IPv4 packets.
    L2Ip4,
    /// Of frames with IPv6 packets.
    L2Ip6,
}

impl Kind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Ip4, Self::Ip6, Self::L2, Self::L2Ip4, Self::L2Ip6];
    /// Flow type.
    pub fn which(self) -> usize {
        match self {
            Self::Ip4 => IP4,
            Self::Ip6 => IP6,
            _ => L2,
        }
    }
    /// Whether records of it are made where these groups are recorded.
    pub fn is_made(self, record: u8) -> bool {
        match self {
            Self::Ip4 | Self::Ip6 => record != 0,
            Self::L2 => record & RECORD_L2 != 0,
            Self::L2Ip4 | Self::L2Ip6 => record & (RECORD_L3 | RECORD_L4) != 0,
        }
    }
}

/// Common fields of a flow's packets; those not recorded are 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct FlowKey {
    /// The source; IPv4 in its first bytes.
    pub src: [u8; 16],
    /// The destination; IPv4 in its first bytes.
    pub dst: [u8; 16],
    /// Receive interface.
    pub rx: u32,
    /// Where packets leave; 0 for packets that are received.
    pub tx: u32,
    /// The sender's MAC address.
    pub src_mac: [u8; 6],
    /// The receiver's MAC address.
    pub dst_mac: [u8; 6],
    /// Source and destination port.
    pub ports: [u16; 2],
    /// EtherType after tags.
    pub ethertype: u16,
    /// The upper layer's protocol.
    pub protocol: u8,
    /// The kind of records.
    pub kind: u8,
    /// 0 for packets that are received, 1 for packets that are sent.
    pub direction: u8,
    /// Nothing: lengths are multiples of eight.
    pub rest: [u8; 3],
}

const WORDS: usize = size_of::<FlowKey>() / 8;
/// An odd number without a pattern.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl Key for FlowKey {
    #[inline(always)]
    fn hash(&self, seed: u64) -> u64 {
        let words: [u64; WORDS] = zerocopy::transmute!(*self);
        words.iter().fold(seed, |hash, word| {
            let product =
                u128::from(hash ^ word ^ MIX) * u128::from((MIX.rotate_left(32) ^ seed) | 1);
            (product as u64) ^ (product >> 64) as u64
        })
    }
}

/// The answers to a flow, which no packet is found by: a flow has one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct NoAnswers(FlowKey);

impl NoAnswers {
    /// Of a flow.
    pub fn to(key: FlowKey) -> Self {
        Self(key)
    }
}

impl Key for NoAnswers {
    #[inline(always)]
    fn hash(&self, seed: u64) -> u64 {
        !self.0.hash(seed)
    }
}

/// Counts of a flow since its last record.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Counted {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP.
    pub bytes: u64,
    /// When the first one passed, in seconds of the router's time.
    pub from: f64,
    /// When the last one passed.
    pub to: f64,
    /// When the last record was made.
    pub exported: f64,
    /// Flags of TCP that any of them had.
    pub flags: u64,
}

impl Counted {
    /// Nothing, at a time when the last record was made.
    pub fn since(exported: f64) -> Self {
        Self { exported, ..Self::default() }
    }
    /// Counts a packet.
    #[inline(always)]
    pub fn add(&mut self, bytes: u32, flags: u8, now: f64) {
        if self.packets == 0 {
            self.from = now;
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.flags |= u64::from(flags);
        self.to = now;
    }
    /// Whether it is time for a record.
    #[inline(always)]
    pub fn is_due(&self, active: u32, now: f64) -> bool {
        self.packets > 0 && now - self.exported >= f64::from(active)
    }
}

/// The flows of all threads.
pub type Flows = Sessions<FlowKey, NoAnswers, Counted>;
/// A flow with its counts.
pub type OfFlow = sessions::Counted<FlowKey, NoAnswers, Counted>;
/// The flows of a thread.
pub type Here = sessions::Table<FlowKey, NoAnswers, Counted>;
