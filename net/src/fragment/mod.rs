//! `ip4-frag`, `ip6-frag`: packets that are too big for the link, cut (RFC 791 section 3.2, RFC
//! 8200 section 4.5).
//!
//! A node that finds a packet too big puts a [`Limit`] on it and sends it here; the fragments go on
//! to the rewrite over the adjacency that the packet has. IPv4 packets are cut unless their sender
//! forbids it, IPv6 packets only when this router made them. A fragment is at most as long as a
//! buffer, whatever the MTU.

mod cut;
mod v4;
mod v6;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;

use control::feature::Refused;
use graph::{Flags, Frame, Names, Node, Packet, Payload, Record};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::adjacency::chain::ENCLOSED;
use crate::gso;
use crate::ip::{V4, V6, Version};
use crate::router::{Configuration, Feature, Origin, Parts, refuse};

pub use cut::cut;

/// Bytes of headers that are repeated in each fragment, at most.
const MOST_HEADER: usize = 256;
/// Flags that say who made a packet.
const MAKER: Flags = ENCLOSED.with(Flags::LOCAL_INSIDE);
/// Longest packet in bytes.
const LONGEST: usize = 40 + 65535;

/// Fragmentation.
pub const FEATURE: Feature = Feature {
    name: "fragment",
    about: "Fragmentation",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::None("nothing can be set"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let engine = &mut parts.router.engine;
    engine.add(Fragment::<V4>::new()).map_err(refuse)?;
    engine.add(Fragment::<V6>::new()).map_err(refuse)?;
    Ok(())
}

/// The length limit of fragments, on the way of a packet to the node that cuts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Limit {
    /// Bytes, IP header included.
    pub mtu: u16,
}

impl Payload for Limit {
    const NAME: &'static str = "fragment-limit";
}

/// A version whose packets are cut.
pub trait Cut: Version {
    /// Version in traces.
    const TITLE: &'static str;

    /// Start of the part of a packet that is divided among fragments, in bytes, and the length of
    /// the first fragment's header.
    ///
    /// # Errors
    /// Why it cannot be cut.
    fn split(whole: &[u8]) -> Result<(usize, usize), Error>;
    /// The finished header of one fragment of `whole`, whose body begins at `body`.
    ///
    /// # Errors
    /// When it is too long.
    fn header(whole: &[u8], body: usize, piece: Piece) -> Result<Header, Error>;
}

/// One fragment.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its start in the body, in bytes.
    offset: usize,
    /// Bytes of the body in it.
    len: usize,
    /// Whether the body ends with it.
    is_last: bool,
    /// Identification, for a packet that has none.
    id: u32,
    /// Whether this router made the packet.
    is_own: bool,
}

/// The header of a fragment.
pub struct Header {
    bytes: [u8; MOST_HEADER],
    len: usize,
}

impl Header {
    fn new(bytes: &[u8]) -> Result<Self, Error> {
        let mut header = Self { bytes: [0; MOST_HEADER], len: 0 };
        header.push(bytes)?;
        Ok(header)
    }
    fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let room = self.bytes.get_mut(self.len..self.len + bytes.len());
        room.ok_or(Error::CantFragmentHeader)?.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }
    /// Bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

/// The fragments of a packet.
pub struct Pieces {
    /// Start of the part that is divided among them.
    body: usize,
    /// Bytes of it in each but the last.
    room: usize,
    /// Length of the packet.
    len: usize,
    id: u32,
    is_own: bool,
}

impl Pieces {
    /// Fragments of at most `mtu` bytes; `id` is the identification of a packet that has none.
    ///
    /// # Errors
    /// Why it cannot be cut.
    pub fn of<V: Cut>(whole: &[u8], mtu: usize, id: u32) -> Result<Self, Error> {
        let (body, header_len) = V::split(whole)?;
        let room = mtu.min(graph::data_size()).saturating_sub(header_len) & !7;
        if room == 0 {
            return Err(Error::CantFragmentHeader);
        }
        Ok(Self { body, room, len: whole.len(), id, is_own: false })
    }
    /// Fragments of a packet that this router made, or did not.
    #[must_use]
    pub fn own(self, is_own: bool) -> Self {
        Self { is_own, ..self }
    }
    /// Their number.
    pub fn count(&self) -> usize {
        self.len.saturating_sub(self.body).div_ceil(self.room)
    }
    /// The bytes of the packet that are behind the header of one.
    pub fn range(&self, i: usize) -> Range<usize> {
        let start = self.body + i * self.room;
        start..self.len.min(start + self.room)
    }
    /// The finished header of one.
    ///
    /// # Errors
    /// When it is too long.
    pub fn header<V: Cut>(&self, whole: &[u8], i: usize) -> Result<Header, Error> {
        let (offset, len) = (i * self.room, self.range(i).len());
        let is_last = i + 1 == self.count();
        V::header(
            whole,
            self.body,
            Piece { offset, len, is_last, id: self.id, is_own: self.is_own },
        )
    }
}

/// Cuts packets.
pub struct Fragment<V> {
    version: V,
    /// The packet at hand, in one piece.
    whole: Vec<u8>,
    /// State of the sequence that identifications are taken from.
    sequence: u64,
}

/// Edges of [`Fragment`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Version> {
    /// On over the adjacency.
    #[to(V::NODES.rewrite)]
    Rewrite(V),
}

/// Drops of [`Fragment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// packet fragmented.
    #[severity("info")]
    None,
    /// packet smaller than MTU.
    SmallPacket,
    /// can't fragment header.
    CantFragmentHeader,
    /// can't fragment this packet.
    DontFragmentSet,
    /// malformed packet.
    Malformed,
    /// could not allocate buffer.
    Memory,
    /// number of sent fragments.
    #[severity("info")]
    FragmentSent,
    /// unknown error.
    Unknown,
}

/// Each thread has a buffer and a sequence of its own.
impl<V: Cut> Clone for Fragment<V> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<V: Cut> Node for Fragment<V> {
    const NAME: &'static str = V::NODES.fragment;
    const EXPLAINABLE: bool = true;
    type Next = Next<V>;
    type Error = Error;
    type Count = Infallible;
    const INPUT: &'static str = Limit::NAME;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut sent = 0;
        frame.each(|p| {
            let mtu = p.payload::<Limit>().mtu;
            let made = self.cut(p, mtu.into());
            p.trace(|_| FragmentTrace::<V>::of(mtu, made));
            sent += made?;
            Ok(Next::Rewrite(self.version))
        });
        frame.count_as(Error::FragmentSent, sent);
    }
}

impl<V: Cut> Fragment<V> {
    fn new() -> Self {
        let sequence = infra::cpu::time_stamp().unwrap_or_default();
        Self { version: V::SELF, whole: Vec::with_capacity(LONGEST), sequence }
    }
    /// Makes a packet its first fragment, followed by the others; says how many there are.
    fn cut(&mut self, p: &mut Packet<'_, Self>, mtu: usize) -> Result<u64, Error> {
        if p.flags().has(Flags::CHECKSUM_TODO) {
            gso::complete(p).map_err(|_| Error::Malformed)?;
        }
        if p.total_len() > LONGEST {
            return Err(Error::Malformed);
        }
        if p.total_len() <= mtu {
            return Err(Error::SmallPacket);
        }
        self.whole.clear();
        p.segments().for_each(|s| self.whole.extend_from_slice(s));
        let whole = &self.whole[..];
        let pieces = Pieces::of::<V>(whole, mtu, identification(&mut self.sequence))?;
        let pieces = pieces.own(p.flags().has(Flags::LOCAL));
        let (flags, hash) = (p.flags(), p.flow_hash());
        for i in 1..pieces.count() {
            let header = pieces.header::<V>(whole, i)?;
            let mut new = p.fresh().ok_or(Error::Memory)?;
            new.append(header.bytes()).ok_or(Error::Memory)?;
            new.extend(&whole[pieces.range(i)]).ok_or(Error::Memory)?;
            new.add_flags(Flags(flags.0 & MAKER.0));
            if flags.has(Flags::HASH) {
                new.add_flags(Flags::HASH);
                new.set_flow_hash(hash);
            }
            new.follow().ok_or(Error::Memory)?;
        }
        let (header, first) = (pieces.header::<V>(whole, 0)?, pieces.range(0));
        p.clear_flags(Flags::GSO.with(Flags::TUNNEL));
        p.truncate_chain(first.end);
        p.advance(first.start).ok_or(Error::CantFragmentHeader)?;
        let front = p.prepend(header.len).ok_or(Error::CantFragmentHeader)?;
        front.copy_from_slice(header.bytes());
        Ok(pieces.count() as u64)
    }
}

/// The next of a sequence that others cannot guess easily (RFC 7739 section 5): a counter, its bits
/// mixed.
pub fn identification(sequence: &mut u64) -> u32 {
    *sequence = sequence.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *sequence;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) as u32
}

/// The trace record of the node.
struct FragmentTrace<V> {
    mtu: u16,
    count: u64,
    version: std::marker::PhantomData<V>,
}

impl<V> FragmentTrace<V> {
    #[cold]
    fn of(mtu: u16, made: Result<u64, Error>) -> Self {
        Self { mtu, count: made.unwrap_or(0), version: std::marker::PhantomData }
    }
}

impl<V: Cut> Record for FragmentTrace<V> {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} mtu: {} fragments: {}", V::TITLE, self.mtu, self.count)
    }
}
