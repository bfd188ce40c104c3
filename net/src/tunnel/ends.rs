//! The far ends of all tunnels: which one a received packet belongs to, by one lookup of its outer
//! addresses, table and key.

use std::hash::BuildHasher;
use std::net::IpAddr;

use graph::Slot;
use hashbrown::{DefaultHashBuilder, HashMap};
use infra::rcu::{Epoch, Reader, Shared};

use super::Guard;
use crate::adjacency::Link;
use crate::interface::InterfaceIndex;

/// Parts of the table. A change copies the part that it is in.
const PARTS: usize = 1 << 10;

/// The key of a received packet's tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// The input node's kind of tunnel.
    pub kind: u8,
    /// Table that the outer destination was found in.
    pub table: u16,
    /// The key that tells tunnels of a kind apart.
    pub key: u64,
    /// Outer source; 0 for any.
    pub remote: u128,
    /// Outer destination.
    pub local: u128,
}

impl Tuple {
    /// An address as part of a tuple.
    pub fn bits(addr: IpAddr) -> u128 {
        match addr {
            IpAddr::V4(a) => a.to_bits().into(),
            IpAddr::V6(a) => a.to_bits(),
        }
    }
    /// Whether the kind of tunnel is over IPv6.
    fn is_6(&self) -> bool {
        self.kind % 2 == 1
    }
    /// Tuple of the packets of a tunnel as they are received: those to a group come from anybody.
    #[must_use]
    pub(super) fn received(self) -> Self {
        let is_to_group = is_group(self.is_6(), self.remote);
        if is_to_group { Self { remote: 0, local: self.remote, ..self } } else { self }
    }
}

/// The tunnel of a received packet.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Tunnel interface.
    pub interface: InterfaceIndex,
    /// Whether congestion marks go on with what is carried.
    pub copies_ecn: bool,
    /// Next node, if not that of the carried packet's kind.
    pub next: Option<Slot>,
    /// Kind of carried packets, where headers do not say.
    pub carried: Option<Link>,
    /// The next node of labelled packets, where there is MPLS.
    pub mpls: Option<Slot>,
    /// Further checks on packets.
    pub guard: Option<Guard>,
    /// The tunnel's own address.
    pub local: u128,
    /// Packets that nothing protected are dropped.
    pub is_sealed: bool,
}

#[inline(always)]
fn is_group(is_6: bool, addr: u128) -> bool {
    if is_6 { addr >> 120 == 0xff } else { addr >> 28 == 0xe }
}

type Part = HashMap<Tuple, End>;

/// The table, as control writes it.
pub struct Ends {
    parts: Box<[Shared<Part>]>,
    hash: DefaultHashBuilder,
    readers: EndsReader,
}

/// The table, for nodes.
#[derive(Clone)]
pub struct EndsReader {
    parts: Vec<Reader<Part>>,
    hash: DefaultHashBuilder,
}

impl Ends {
    pub(super) fn new() -> Self {
        let hash = DefaultHashBuilder::default();
        let parts: Box<[_]> = (0..PARTS).map(|_| Shared::new(Part::default())).collect();
        let readers =
            EndsReader { parts: parts.iter().map(Shared::reader).collect(), hash: hash.clone() };
        Self { parts, hash, readers }
    }
    /// For nodes.
    pub fn reader(&self) -> EndsReader {
        self.readers.clone()
    }
    /// The tunnel of a tuple's packets.
    pub fn at(&self, tuple: &Tuple) -> Option<&End> {
        self.parts[part_of(&self.hash, tuple)].current().get(tuple)
    }
    /// Says where packets of a tuple belong, or that they belong nowhere.
    pub fn put(&mut self, tuple: Tuple, end: Option<End>) {
        let part = &mut self.parts[part_of(&self.hash, &tuple)];
        let mut new = part.current().clone();
        match end {
            Some(end) => new.insert(tuple, end),
            None => new.remove(&tuple),
        };
        part.publish(new);
    }
    /// All, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&Tuple, &End)> {
        self.parts.iter().flat_map(|part| part.current())
    }
}

impl EndsReader {
    /// The tunnel of a tuple's packets.
    #[inline(always)]
    pub fn find(&self, tuple: &Tuple, epoch: Epoch<'_>) -> Option<End> {
        self.exactly(tuple, epoch).or_else(|| self.in_group(tuple, epoch))
    }
    /// As [`EndsReader::find`], for tunnels that take packets from any far end.
    #[inline(never)]
    pub fn find_any(&self, tuple: &Tuple, epoch: Epoch<'_>) -> Option<End> {
        self.exactly(&Tuple { remote: 0, ..*tuple }, epoch).filter(|end| end.guard.is_some())
    }
    #[inline(always)]
    fn exactly(&self, tuple: &Tuple, epoch: Epoch<'_>) -> Option<End> {
        self.parts.get(part_of(&self.hash, tuple))?.read(epoch).get(tuple).copied()
    }
    /// A packet to a group that a tunnel listens to belongs to the tunnel with its sender; without
    /// one it matches none.
    #[inline(never)]
    fn in_group(&self, tuple: &Tuple, epoch: Epoch<'_>) -> Option<End> {
        if !is_group(tuple.is_6(), tuple.local) {
            return None;
        }
        let group = self.exactly(&Tuple { remote: 0, ..*tuple }, epoch)?;
        self.exactly(&Tuple { local: group.local, ..*tuple }, epoch)
    }
}

#[inline(always)]
fn part_of(hash: &DefaultHashBuilder, tuple: &Tuple) -> usize {
    (hash.hash_one(tuple) >> 32) as usize % PARTS
}
