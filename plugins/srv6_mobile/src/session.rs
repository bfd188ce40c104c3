//! Translations: control's record of them, and the tables that nodes read.

use net::fib::{Object, ObjectKind};
use net::prelude::*;
use srv6::{Error, Making};
use wire::srh;

use super::words::{Inside, Kind, Words, named};

/// Most translations.
const MOST: usize = 1 << 14;
/// Bits of an address.
const BITS: u8 = 128;
/// Bits of a tunnel in a SID (RFC 9433 section 6.1): flow, marks, identifier.
pub const SESSION_BITS: u8 = 40;
/// Bits of an IPv4 address.
pub const IP4_BITS: u8 = 32;
/// Bits of the prefix of a SID that is a whole address.
const USUAL_BITS: u8 = 32;

/// Source address of the headers that are put in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// An IPv4 address at this bit of the IPv6 address, and a port behind it.
    Bit(u8),
    /// An IPv4 address.
    Ip4(Ipv4Addr),
    /// This prefix, the IPv4 address and the port.
    Prefix(u128, u8),
    /// An IPv6 address.
    Ip6(u128),
}

/// Headers in front of a packet.
#[derive(Clone, Debug)]
pub struct Headers {
    /// IPv6, and a routing header if there are several segments.
    pub bytes: Box<[u8]>,
    /// Places of the SID of the tunnel.
    pub sid_at: Vec<usize>,
    /// Place of the destination the packet had, where that stays.
    pub last_at: Option<usize>,
}

/// A translation, as nodes read it.
#[derive(Clone, Debug)]
pub struct Translation {
    /// Prefix of the SID that the tunnel travels in.
    pub sid: u128,
    /// Its length in bits.
    pub len: u8,
    /// Source of new headers.
    pub from: From,
    /// Inner packet type.
    pub inside: Inside,
    /// Headers for packets that get segments, each as often as its share says.
    pub headers: Vec<Headers>,
    /// Tables of lookups, of IPv4 and IPv6.
    pub tables: [u16; 2],
    /// Tables of packets that are for the link only.
    pub local: [u16; 2],
}

/// A translation, as control keeps it.
struct Kept {
    kind: Kind,
    words: Words,
    /// Source address of headers.
    source: Ipv6Addr,
    held: Vec<(Link, TableIndex)>,
}

/// All translations.
pub struct Sessions {
    all: BTreeMap<u32, Kept>,
    slab: SharedSlab<Translation>,
    /// Kinds of objects, in the order of [`Kind::ALL`].
    pub kinds: Vec<ObjectKind>,
}

impl Sessions {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        Ok(Self { all: BTreeMap::new(), slab: SharedSlab::new(MOST)?, kinds: Vec::new() })
    }
    /// For nodes.
    pub fn reader(&self) -> SlabReader<Translation> {
        self.slab.reader()
    }
}

/// Headers for the path over `segments` to the SID of the tunnel, and from there to the destination
/// the packet had.
fn headers(source: Ipv6Addr, segments: &[Ipv6Addr], has_last: bool) -> Headers {
    const IP: usize = size_of::<ip6::Header>();
    const DST: usize = std::mem::offset_of!(ip6::Header, dst);
    let none = Ipv6Addr::UNSPECIFIED;
    let mut path = segments.to_vec();
    path.push(none);
    path.extend(has_last.then_some(none));
    let first = path.first().copied().unwrap_or(none);
    let mut sid_at = Vec::new();
    sid_at.extend(segments.is_empty().then_some(DST));
    if path.len() == 1 {
        let header = ip6::Header::new(source, first, Protocol::IP6, 0);
        return Headers { bytes: header.as_bytes().into(), sid_at, last_at: None };
    }
    let header = ip6::Header::new(source, first, Protocol::ROUTING, 0);
    let bytes = [header.as_bytes(), &srh::build(Protocol::IP6, &path)].concat().into();
    let at = IP + size_of::<srh::Header>();
    sid_at.push(at + if has_last { srh::SEGMENT } else { 0 });
    Headers { bytes, sid_at, last_at: has_last.then_some(at) }
}

/// All headers of a translation to segments.
fn all_headers(router: &Router, kept: &Kept) -> Vec<Headers> {
    let Some(prefix) = kept.words.prefix else { return Vec::new() };
    let has_last = match kept.kind {
        Kind::Gtp6Di => true,
        // An IPv4 destination travels in the SID in any case.
        Kind::Gtp6D => kept.words.is_drop_in,
        _ => false,
    };
    let lists = srv6::segment_lists(router, prefix.addr());
    match lists.as_slice() {
        [] => vec![headers(kept.source, &[], has_last)],
        lists => lists.iter().map(|list| headers(kept.source, list, has_last)).collect(),
    }
}

/// Fails when what travels in an address has no room behind a prefix.
fn check(len: u8, bits: u8, what: &str) -> Result<(), Error> {
    if u16::from(len) + u16::from(bits) <= u16::from(BITS) {
        return Ok(());
    }
    let why = format!("{what} has {bits} bits, but only {} are left", BITS - len);
    Err(Error::Other(why))
}

/// Keeps a reference to an existing table.
fn hold(
    router: &mut Router,
    link: Link,
    id: u32,
    held: &mut Vec<(Link, TableIndex)>,
) -> Result<u16, Error> {
    router.table_of(link, id).ok_or(Error::NoTable)?;
    let table = router.hold_table_of(link, id)?;
    held.push((link, table));
    Ok(table.0)
}

fn release(router: &mut Router, held: Vec<(Link, TableIndex)>) {
    for (link, table) in held {
        router.use_table_of(link, table, false);
    }
}

/// The tables of a translation: of packets, and of those for the link only. Where one version has a
/// table of that number, the other need not.
fn tables(
    router: &mut Router,
    kind: Kind,
    words: &Words,
    making: &Making,
    held: &mut Vec<(Link, TableIndex)>,
) -> Result<[[u16; 2]; 2], Error> {
    const LINKS: [Link; 2] = [Link::Ip4, Link::Ip6];
    let none = u16::MAX;
    let wanted = match kind {
        Kind::Gtp4E => {
            return Ok([[hold(router, Link::Ip4, making.table, held)?, none], [none; 2]]);
        }
        Kind::Gtp4D => {
            return Ok([[none, hold(router, Link::Ip6, making.table, held)?], [none; 2]]);
        }
        Kind::Gtp6E | Kind::Gtp6D | Kind::Gtp6Di => return Ok([[none; 2]; 2]),
        // `.dt4` and `.dt6` look at packets of one version.
        _ if making.keyword.ends_with("dt4") => [true, false],
        _ if making.keyword.ends_with("dt6") => [false, true],
        _ => [true, true],
    };
    let id = words.table.unwrap_or_default();
    let ids = [id, words.local.unwrap_or(id)];
    let mut found = [[none; 2]; 2];
    for (of, id) in found.iter_mut().zip(ids) {
        for ((place, link), is_wanted) in of.iter_mut().zip(LINKS).zip(wanted) {
            if is_wanted && router.table_of(link, id).is_some() {
                *place = hold(router, link, id, held)?;
            }
        }
        if *of == [none; 2] {
            return Err(Error::NoTable);
        }
    }
    Ok(found)
}

/// Prefix of the SID, its length and the source of headers.
fn addresses(
    kind: Kind,
    words: &Words,
    making: &Making,
    source: Ipv6Addr,
) -> Result<(u128, u8, From), Error> {
    let prefix = words.prefix.unwrap_or(making.prefix);
    let mut len = prefix.prefix_len();
    let source = From::Ip6(source.into());
    let from = match kind {
        Kind::Gtp4E => {
            if len == BITS {
                len = USUAL_BITS;
            }
            check(len, IP4_BITS + SESSION_BITS, "an IPv4 address with a tunnel")?;
            if let Some(bit) = words.position {
                check(bit.min(BITS), IP4_BITS, "an IPv4 address")?;
            }
            words.addr.map_or(From::Bit(words.position.unwrap_or_default()), From::Ip4)
        }
        Kind::Gtp4D => {
            check(len, IP4_BITS + SESSION_BITS, "an IPv4 address with a tunnel")?;
            match words.source {
                Some(prefix) => {
                    check(prefix.prefix_len(), IP4_BITS + 16, "an IPv4 address with a port")?;
                    From::Prefix(prefix.addr().into(), prefix.prefix_len())
                }
                None => source,
            }
        }
        Kind::Gtp6E | Kind::Gtp6D | Kind::Gtp6Di => {
            check(len, SESSION_BITS, "a tunnel")?;
            source
        }
        Kind::Gtp6Dt | Kind::Gtp4Dt => source,
    };
    Ok((prefix.network().addr().into(), len, from))
}

/// Makes a translation of the words of a local SID or policy.
pub fn make(router: &mut Router, making: &Making, args: &mut Args<'_>) -> Result<Object, Error> {
    let (_, kind) = named(making.keyword).ok_or(Error::NoBehavior)?;
    let words = Words::read(kind, args).map_err(|e| Error::Other(e.to_string()))?;
    let source = making.source.unwrap_or_else(|| srv6::source(router));
    let (sid, len, from) = addresses(kind, &words, making, source)?;
    let mut held = Vec::new();
    let [tables, local] = match tables(router, kind, &words, making, &mut held) {
        Ok(tables) => tables,
        Err(e) => {
            release(router, held);
            return Err(e);
        }
    };
    let kept = Kept { kind, words, source, held };
    let (headers, inside) = (all_headers(router, &kept), kept.words.inside);
    let new = Translation { sid, len, from, inside, headers, tables, local };
    let sessions = router.own_mut::<Sessions>();
    let Ok(index) = sessions.slab.insert(new) else {
        release(router, kept.held);
        return Err(Error::Full);
    };
    let object = Object { kind: sessions.kinds[kind as usize], index };
    sessions.all.insert(index, kept);
    Ok(object)
}

/// The words of a translation.
pub fn words(router: &Router, index: u32) -> String {
    let kept = router.own::<Sessions>().all.get(&index);
    kept.map(|kept| kept.words.text()).unwrap_or_default()
}

/// A translation in words.
pub fn describe(router: &Router, index: u32) -> String {
    format!("SRv6 mobile {}", words(router, index))
}

/// Gives a translation up.
pub fn end(router: &mut Router, index: u32) {
    let sessions = router.own_mut::<Sessions>();
    let Some(gone) = sessions.all.remove(&index) else { return };
    sessions.slab.remove(index);
    release(router, gone.held);
}

/// Makes translations follow the current path of a policy.
pub fn follow(router: &mut Router, bsid: Ipv6Addr) {
    let all = router.own::<Sessions>().all.iter();
    let those = all.filter(|(_, kept)| kept.words.prefix.is_some_and(|p| p.addr() == bsid));
    let new: Vec<_> = those.map(|(index, kept)| (*index, all_headers(router, kept))).collect();
    for (index, headers) in new {
        let slab = &mut router.own_mut::<Sessions>().slab;
        if let Some(old) = slab.at(index).cloned() {
            slab.replace(index, Translation { headers, ..old });
        }
    }
}
