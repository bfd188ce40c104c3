//! The shape of a buffer in memory.
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::metadata::Metadata;

/// Packets in a frame at most.
pub const FRAME: usize = 256;
/// Bytes before the data area where headers can be put in front.
pub const HEADROOM: usize = 128;
/// An index that names nothing.
pub const NONE: u32 = 0;
/// Distance of the data area from the start of the buffer in bytes.
pub(super) const DATA: isize = 128 + HEADROOM as isize;

/// The first cache line: what every node touches.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Hot {
    /// Of the current bytes from the data area, in bytes.
    pub offset: i16,
    /// Of the first segment, in bytes.
    pub len: u16,
    pub flags: Flags,
    /// Bytes in the segments after the first; meaningful with [`Flags::CHAINED`].
    pub rest: u32,
    pub rx: u32,
    pub tx: u32,
    /// Buffer with the next segment; meaningful with [`Flags::CHAINED`].
    pub next: u32,
    pub error: u32,
    pub l2: i16,
    pub l3: i16,
    pub l4: i16,
    pub gso_size: u16,
    pub flow_hash: u32,
    pub fib: u16,
    pub trace: u16,
    pub adjacency: u32,
    pub payload: [u8; 16],
}

const _: () = assert!(size_of::<Hot>() == 64);

macro_rules! fields {
    ($($field:ident)*) => { &[$((stringify!($field), std::mem::offset_of!(Hot, $field)),)*] };
}

/// The fields of the first cache line and where they begin, in bytes: what code that is compiled
/// apart relies on. The bytes of a packet begin at `offset` from [`HEADROOM`] bytes after the
/// second line.
pub const FIELDS: &[(&str, usize)] = fields!(
    offset len flags rest rx tx next error l2 l3 l4 gso_size flow_hash fib trace adjacency payload
);

/// A copy of the first line, to see later which fields have changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot(pub(super) Hot);

macro_rules! compare {
    ($old:ident $new:ident: $($field:ident)*) => {
        [$($old.$field != $new.$field,)*]
    };
}

impl Snapshot {
    /// Fields that are others in `after`: a bit for each place in [`FIELDS`].
    pub fn changed(&self, after: &Self) -> u32 {
        let (old, new) = (&self.0, &after.0);
        let changed = compare!(old new:
            offset len flags rest rx tx next error l2 l3 l4 gso_size flow_hash fib trace adjacency
            payload);
        (0..).zip(changed).fold(0, |bits, (bit, is_new)| bits | u32::from(is_new) << bit)
    }
}

/// Bytes of the second cache line: what few nodes need, at places that are
/// [`Metadata`](super::Metadata).
pub(crate) const LINE: usize = 64;

/// Ports of a packet, in host byte order; of ICMP echoes, the number of the run is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Ports {
    /// Of the sender.
    pub src: u16,
    /// Of the receiver.
    pub dst: u16,
}

impl Ports {
    /// Their place in the second line.
    pub(crate) const PLACE: Metadata<Self> = Metadata::new("ports", 0, Flags::PORTS);
}

/// Positions of the headers of a packet in a tunnel: offsets from the start of the data area, in
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Inner {
    /// Its layer 3 header.
    pub l3: i16,
    /// Its layer 4 header.
    pub l4: i16,
}

impl Inner {
    /// Their place in the second line.
    pub(crate) const PLACE: Metadata<Self> = Metadata::new("tunnel", 4, Flags::TUNNEL);
}

impl Hot {
    pub const FRESH: Self = Self {
        offset: 0,
        len: 0,
        flags: Flags(0),
        rest: 0,
        rx: 0,
        tx: u32::MAX,
        next: NONE,
        error: 0,
        l2: 0,
        l3: 0,
        l4: 0,
        gso_size: 0,
        flow_hash: 0,
        fib: 0,
        trace: 0,
        adjacency: 0,
        payload: [0; 16],
    };
}

/// Facts about a packet, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Flags(pub u32);

impl Flags {
    /// More segments follow.
    pub const CHAINED: Self = Self(1);
    /// Its way is recorded.
    pub const TRACED: Self = Self(1 << 1);
    /// To be segmented to `gso_size` before transmit, if the device does not.
    pub const GSO: Self = Self(1 << 2);
    /// The layer 4 checksum (TCP or UDP at `l4_offset`) holds only the pseudo header's sum so far.
    pub const CHECKSUM_TODO: Self = Self(1 << 3);
    /// The layer 4 checksum is known to be good.
    pub const CHECKSUM_OK: Self = Self(1 << 4);
    /// `flow_hash` is set.
    pub const HASH: Self = Self(1 << 5);
    /// Made by this router.
    pub const LOCAL: Self = Self(1 << 6);
    /// `l2_offset` is set.
    pub const L2: Self = Self(1 << 7);
    /// `l3_offset` is set.
    pub const L3: Self = Self(1 << 8);
    /// `l4_offset` is set.
    pub const L4: Self = Self(1 << 9);
    /// `ports` is set.
    pub const PORTS: Self = Self(1 << 10);
    /// Not to leave by an interface other than its receive interface.
    pub const ONE_LINK: Self = Self(1 << 11);
    /// The packet inside the headers of a tunnel was made by this router: those headers always are.
    pub const LOCAL_INSIDE: Self = Self(1 << 12);
    /// The outermost headers are those of a tunnel, put in front by this router.
    pub const ENCLOSED: Self = Self(1 << 13);
    /// Number of times a route had the packet received again: two bits, 0 to 3.
    pub const ENTRIES: Self = Self(3 << 14);
    /// An MPLS label was taken off; the payload has what was in it.
    pub const POPPED: Self = Self(1 << 16);
    /// Flags that the segments and copies of a packet have from it.
    pub(super) const INHERITED: Self = Self(Self::ONE_LINK.0 | Self::INHERITED_OF_FEATURES.0);
    /// The bits of features among these.
    pub(super) const INHERITED_OF_FEATURES: Self = Self(0xff << 24);
    /// Every bit that is a feature's.
    pub(crate) const OF_FEATURES: Self = Self(0x3f << 18 | 0xff << 24);
    /// The bits that are the router's, with what they say.
    pub(crate) const OF_ROUTER: [(&'static str, Self); 17] = [
        ("chained", Self::CHAINED),
        ("traced", Self::TRACED),
        ("gso", Self::GSO),
        ("checksum-todo", Self::CHECKSUM_TODO),
        ("checksum-ok", Self::CHECKSUM_OK),
        ("flow-hash", Self::HASH),
        ("locally-originated", Self::LOCAL),
        ("l2-offset", Self::L2),
        ("l3-offset", Self::L3),
        ("l4-offset", Self::L4),
        ("ports", Self::PORTS),
        ("one-link", Self::ONE_LINK),
        ("locally-originated-inside", Self::LOCAL_INSIDE),
        ("enclosed", Self::ENCLOSED),
        ("entries", Self::ENTRIES),
        ("popped", Self::POPPED),
        ("tunnel", Self::TUNNEL),
    ];

    /// One of the six bits for features (`number` from 0).
    ///
    /// # Panics
    /// When there is none of this number.
    pub const fn feature(number: u32) -> Self {
        assert!(number < 6, "features have six bits");
        Self(1 << (18 + number))
    }
    /// One of the eight bits for features that also the segments and copies of a packet have.
    ///
    /// # Panics
    /// When there is none of this number.
    pub const fn inherited(number: u32) -> Self {
        assert!(number < 8, "features have eight bits that are inherited");
        Self(1 << (24 + number))
    }

    /// The headers of a tunnel are in front of the packet that [`Flags::GSO`] and
    /// [`Flags::CHECKSUM_TODO`] speak of; `l3_offset` is that of the outermost, and the second line
    /// has those of the packet.
    pub const TUNNEL: Self = Self(1 << 17);

    /// With one more of [`Flags::ENTRIES`]; `None` after three.
    #[must_use]
    pub const fn entered(self) -> Option<Self> {
        let is_last = self.0 & Self::ENTRIES.0 == Self::ENTRIES.0;
        if is_last { None } else { Some(Self(self.0 + (1 << 14))) }
    }
    /// Whether any of `other` is set.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// With `other` set.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// With `other` cleared.
    #[inline(always)]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
