//! Headers that are put on packets of multicast routes (RFC 8279 section 3): `bier-imp-ip4`,
//! `bier-imp-ip6`.

use net::fib::{Popped, flow};
use net::gso;
use net::prelude::*;
use wire::bier::{Header, Payload};

use super::table::{Bift, TableId};
use super::{Bier, Error, MOST_IMPOSITIONS};

/// Offloads that are completed before the header is in front.
const UNDONE: Flags = Flags::CHECKSUM_TODO.with(Flags::GSO);
/// Time to live of what begins its way here.
const TTL: u8 = 64;

/// A header that is put on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imposition {
    /// Table to look packets up in.
    pub table: TableId,
    /// Its number for nodes.
    pub index: u32,
    /// Number of this router as a source.
    pub source: u16,
    /// The target of packets.
    pub string: Box<[u8]>,
}

/// Adds a header, with this number or the lowest that is free; its number.
///
/// # Errors
/// [`Error`].
pub fn add(
    router: &mut Router,
    index: Option<u32>,
    table: TableId,
    source: u16,
    string: &[u8],
) -> Result<u32, Error> {
    let bier = router.own_mut::<Bier>();
    let free = || (0..).zip(&bier.imposed).find(|(n, used)| n != *used).map(|(n, _)| n);
    let index = index.or_else(free).unwrap_or(bier.imposed.len() as u32);
    if bier.imposed.contains(&index) {
        return Err(Error::Taken(index));
    }
    if index as usize >= MOST_IMPOSITIONS {
        return Err(Error::Full);
    }
    let t = bier.tables.all.get_mut(&table).ok_or(Error::NoTable)?;
    if string.len() != table.string_len() {
        return Err(Error::Length);
    }
    let new = Imposition { table, index: t.index, source, string: string.into() };
    bier.impositions.put(index, Some(new));
    t.users += 1;
    bier.imposed.insert(index);
    Ok(index)
}

/// Deletes one.
///
/// # Errors
/// [`Error::NoImposition`].
pub fn remove(router: &mut Router, index: u32) -> Result<(), Error> {
    let bier = router.own_mut::<Bier>();
    if !bier.imposed.remove(&index) {
        return Err(Error::NoImposition);
    }
    let table = bier.impositions.at(index).map(|i| i.table);
    if let Some(t) = table.and_then(|id| bier.tables.all.get_mut(&id)) {
        t.users -= 1;
    }
    bier.impositions.put(index, None);
    Ok(())
}

/// Packets that the header is put on.
pub trait Inner: Copy + Send + 'static {
    /// Node.
    const NAME: &'static str;
    /// Type of the payload in the header.
    const PAYLOAD: Payload;
}

impl Inner for V4 {
    const NAME: &'static str = "bier-imp-ip4";
    const PAYLOAD: Payload = Payload::IP4;
}
impl Inner for V6 {
    const NAME: &'static str = "bier-imp-ip6";
    const PAYLOAD: Payload = Payload::IP6;
}

/// Puts headers on.
#[derive(Clone)]
struct Impose<V> {
    impositions: SlabReader<Imposition>,
    bifts: SlabReader<Bift>,
    of: PhantomData<V>,
}

/// Edges of [`Impose`].
#[derive(Clone, Copy, graph::Next)]
enum Next<V: Inner> {
    /// To the table.
    #[to("bier-lookup")]
    Lookup(PhantomData<V>),
    /// Nowhere: it came from there.
    #[to("bier-drop")]
    Drop,
    /// Was cut into segments, which come one by one, or follows such a packet.
    #[to(V::NAME)]
    Again,
}

impl<V: Inner> Node for Impose<V> {
    const NAME: &'static str = V::NAME;
    const EXPLAINABLE: bool = true;
    type Next = Next<V>;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        // What comes behind a packet that was cut stays behind its segments.
        let mut is_behind = false;
        frame.each(|p| {
            let index = p.adjacency();
            let Some(imposition) = self.impositions.read(index, epoch) else {
                return Ok(Next::Drop);
            };
            let Some(bift) = self.bifts.read(imposition.index, epoch) else {
                return Ok(Next::Drop);
            };
            if p.flags().has(super::LEFT) {
                return Ok(Next::Drop);
            }
            if p.flags().has(UNDONE) {
                if gso::apply(UNDONE, p).is_err() {
                    return Ok(Next::Drop);
                }
                is_behind = true;
            }
            if is_behind {
                return Ok(Next::Again);
            }
            let entropy = flow(p.bytes());
            let header = Header::new(bift.length, entropy, V::PAYLOAD, imposition.source);
            let (header, string) = (header.as_bytes(), &imposition.string);
            let Some(room) = p.make_room(header.len() + string.len()) else {
                return Ok(Next::Drop);
            };
            let (first, rest) = room.split_at_mut(header.len());
            first.copy_from_slice(header);
            rest.copy_from_slice(string);
            p.set_adjacency(imposition.index);
            p.set_payload(Popped { ttl: TTL, is_last: 1, ..Popped::default() });
            p.add_flags(Flags::POPPED);
            p.clear_flags(Flags::L3.with(Flags::L4));
            p.trace(|_| Put(index));
            Ok(Next::Lookup(PhantomData))
        });
    }
}

struct Put(u32);

impl Record for Put {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  imp-index {}", self.0)
    }
}

/// Adds the node of a version.
pub(super) fn add_node<V: Inner>(router: &mut Router, bier: &Bier) -> Result<(), BuildError> {
    let (impositions, bifts) = (bier.impositions.reader(), bier.tables.bifts.reader());
    router.engine.add(Impose::<V> { impositions, bifts, of: PhantomData })?;
    Ok(())
}
