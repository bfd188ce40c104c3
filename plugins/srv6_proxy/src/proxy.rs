//! Proxies as control keeps them, and what nodes read of them.

use control::cli::Word;
use net::fib::{Followed, NewKind, Object, ObjectKind, Path};
use net::prelude::*;
use srv6::{Error, Making};
use wire::srh;

use super::{flow, masquerade, node};

/// Most proxies of a style.
const MOST: usize = 1 << 12;
/// Longest headers that are put back on, in bytes.
pub const LONGEST: usize = 320;
/// Most segments of a static proxy.
const MOST_SEGMENTS: usize = 16;

/// The styles of proxies.
pub struct Style;

impl Style {
    /// Headers come off, and those that came last are put back on.
    pub const DYNAMIC: u8 = 0;
    /// Headers come off, and those of the operator are put on.
    pub const STATIC: u8 = 1;
    /// Headers stay.
    pub const MASQUERADING: u8 = 2;
    /// Headers come off, and those that came last with the same flow are put back on.
    pub const FLOW: u8 = 3;
}

/// Packets for a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Frames, by an interface, and whether that is a sub-interface.
    Frames(u32, bool),
    /// Packets, along a load balance.
    Packets(Link, u32),
}

/// A proxy, as nodes read it.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Packets that the service gets.
    pub to: To,
    /// Headers for packets that it returns; empty until they are known.
    pub headers: Box<[u8]>,
    /// The table that the segments are looked up in.
    pub table: u16,
}

/// The proxy whose service returns packets by an interface, and what they are: 4, 6 or 0 for
/// frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Back<const STYLE: u8>(pub Option<(u32, u8)>);

impl<const STYLE: u8> Back<STYLE> {
    /// Whether they are of this version.
    pub fn is_of(&self, version: u8) -> bool {
        self.0.is_some_and(|(_, of)| of == version)
    }
}

/// A proxy, as control keeps it.
struct Kept {
    next_hop: Option<IpAddr>,
    out: InterfaceIndex,
    back: InterfaceIndex,
    source: Option<Ipv6Addr>,
    segments: Vec<Ipv6Addr>,
    followed: Option<Followed>,
    /// Sub-interfaces whose frames go to the service and return.
    lent: Vec<InterfaceIndex>,
}

/// All proxies of a style.
pub struct Proxies<const STYLE: u8> {
    all: BTreeMap<u32, Kept>,
    slab: SharedSlab<Proxy>,
    kind: Option<ObjectKind>,
}

impl<const STYLE: u8> Proxies<STYLE> {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        Ok(Self { all: BTreeMap::new(), slab: SharedSlab::new(MOST)?, kind: None })
    }
    /// For nodes.
    pub fn reader(&self) -> SlabReader<Proxy> {
        self.slab.reader()
    }
    /// Routes to the node, which is in the graph already.
    pub fn add_kind(&mut self, router: &mut Router) -> Result<(), BuildError> {
        let name = match STYLE {
            Style::MASQUERADING => masquerade::NAME,
            Style::FLOW => flow::NAME,
            style => node::name(style),
        };
        let describe =
            |router: &Router, index: u32| format!("SRv6 proxy {}", words::<STYLE>(router, index));
        let nodes = vec![(Link::Ip6, name.to_owned())];
        self.kind = Some(router.add_object_kind(NewKind { nodes, describe })?);
        Ok(())
    }
}

/// The headers of a packet, without what is inside.
#[derive(Clone, Copy)]
pub struct Learned<const STYLE: u8> {
    /// The proxy.
    pub index: u32,
    /// The table that it was looked up in.
    pub table: u16,
    /// Bytes that count.
    pub len: u16,
    /// The headers.
    pub bytes: [u8; LONGEST],
}

impl<const STYLE: u8> Event for Learned<STYLE> {
    const ROOM: usize = 16;
}

/// Makes a proxy prepend the latest headers.
pub fn learn<const STYLE: u8>(router: &mut Router, learned: Learned<STYLE>) {
    let proxies = router.own_mut::<Proxies<STYLE>>();
    let Some(proxy) = proxies.slab.at(learned.index) else { return };
    let headers = learned.bytes[..usize::from(learned.len).min(LONGEST)].into();
    let new = Proxy { headers, table: learned.table, ..proxy.clone() };
    proxies.slab.replace(learned.index, new);
}

/// Words of a proxy.
struct Words {
    next_hop: Option<IpAddr>,
    out: InterfaceIndex,
    back: InterfaceIndex,
    source: Option<Ipv6Addr>,
    segments: Vec<Ipv6Addr>,
}

fn read(router: &Router, args: &mut Args<'_>) -> Result<Words, control::cli::Error> {
    let interface = |args: &mut Args<'_>| {
        let name: Word = args.value("interface")?;
        let found = router.interfaces.named(&name).map(|i| i.index);
        found.ok_or_else(|| name.unknown("interface"))
    };
    let (mut next_hop, mut out, mut back) = (None, None, None);
    let (mut source, mut segments) = (None, Vec::new());
    while let Some(word) = args.word() {
        match word {
            "nh" => next_hop = Some(args.value("next hop")?),
            "oif" => out = Some(interface(args)?),
            "iif" => back = Some(interface(args)?),
            "src" => source = Some(args.value("address")?),
            "next" => segments.push(args.value("segment")?),
            _ => return Err(args.error("expected nh, oif, iif, src or next before")),
        }
    }
    let missing = |what| control::cli::Error::new(format!("missing {what}"));
    let (out, back) = (out.ok_or_else(|| missing("oif"))?, back.ok_or_else(|| missing("iif"))?);
    Ok(Words { next_hop, out, back, source, segments })
}

/// The headers of a static proxy.
fn headers(source: Ipv6Addr, segments: &[Ipv6Addr], inside: Protocol) -> Box<[u8]> {
    let first = segments.first().copied().unwrap_or(Ipv6Addr::UNSPECIFIED);
    if segments.len() < 2 {
        return ip6::Header::new(source, first, inside, 0).as_bytes().into();
    }
    let header = ip6::Header::new(source, first, Protocol::ROUTING, 0);
    [header.as_bytes(), &srh::build(inside, segments)].concat().into()
}

/// Makes a proxy of the words of a local SID.
pub fn make<const STYLE: u8>(
    router: &mut Router,
    _: &Making,
    args: &mut Args<'_>,
) -> Result<Object, Error> {
    let words = read(router, args).map_err(|e| Error::Other(e.to_string()))?;
    let Words { next_hop, out, back, source, segments } = words;
    let other = |why: &str| Error::Other(why.to_owned());
    let is_static = STYLE == Style::STATIC;
    match (STYLE, next_hop, source) {
        (Style::MASQUERADING, None | Some(IpAddr::V4(_)), _) => {
            return Err(other("the service of a masquerading proxy has an IPv6 address"));
        }
        (Style::FLOW, None, _) => {
            return Err(other("missing nh: flows are of packets, not frames"));
        }
        (Style::STATIC, _, None) => return Err(other("missing src")),
        _ if is_static != (1..=MOST_SEGMENTS).contains(&segments.len()) => {
            return Err(other("a static proxy has 1 to 16 segments, others have none"));
        }
        _ => (),
    }
    if router.setting::<Back<STYLE>>(back).0.is_some() {
        return Err(other("another proxy gets what returns there"));
    }
    let (mut followed, mut to, mut version) = (None, To::Frames(out.0, is_sub(router, out)), 0);
    let mut inside = srv6::ETHERNET;
    if let Some(addr) = next_hop {
        let link = Link::of(addr);
        let path = Path::to(Target::neighbor(link, out, addr));
        let new = router.follow_paths(&[path], None)?;
        to = To::Packets(link, new.load_balance());
        followed = Some(new);
        (version, inside) = match link {
            Link::Ip4 => (4, Protocol::IP4),
            _ => (6, Protocol::IP6),
        };
    }
    let headers = source.map(|source| headers(source, &segments, inside)).unwrap_or_default();
    let proxies = router.own_mut::<Proxies<STYLE>>();
    let kind = proxies.kind.ok_or(Error::NoBehavior)?;
    let Ok(index) = proxies.slab.insert(Proxy { to, headers, table: 0 }) else {
        followed.into_iter().for_each(|f| router.unfollow(f));
        return Err(Error::Full);
    };
    let lent = Vec::new();
    proxies.all.insert(index, Kept { next_hop, out, back, source, segments, followed, lent });
    if version == 0 {
        lend::<STYLE>(router, index, [out, back]);
    }
    router.put(back, Back::<STYLE>(Some((index, version))))?;
    Ok(Object { kind, index })
}

fn is_sub(router: &Router, interface: InterfaceIndex) -> bool {
    router.interfaces.at(interface).is_some_and(|i| i.is_sub())
}

/// Gives frames of sub-interfaces to the proxy.
fn lend<const STYLE: u8>(router: &mut Router, index: u32, interfaces: [InterfaceIndex; 2]) {
    let subs = interfaces.into_iter().filter(|interface| is_sub(router, *interface));
    let mut lent: Vec<_> = subs.collect();
    lent.retain(|interface| l2::domain::lend(router, *interface).is_ok());
    if let Some(kept) = router.own_mut::<Proxies<STYLE>>().all.get_mut(&index) {
        kept.lent = lent;
    }
}

/// The words of a proxy.
pub fn words<const STYLE: u8>(router: &Router, index: u32) -> String {
    let Some(kept) = router.own::<Proxies<STYLE>>().all.get(&index) else { return String::new() };
    let mut words = Vec::new();
    words.extend(kept.next_hop.map(|addr| format!("nh {addr}")));
    words.push(format!("oif {}", router.interfaces.name(kept.out.0)));
    words.push(format!("iif {}", router.interfaces.name(kept.back.0)));
    words.extend(kept.source.map(|source| format!("src {source}")));
    words.extend(kept.segments.iter().map(|segment| format!("next {segment}")));
    words.join(" ")
}

/// Gives a proxy up.
pub fn end<const STYLE: u8>(router: &mut Router, index: u32) {
    let proxies = router.own_mut::<Proxies<STYLE>>();
    let Some(gone) = proxies.all.remove(&index) else { return };
    proxies.slab.remove(index);
    // The interface may be gone already.
    let _ = router.put(gone.back, Back::<STYLE>::default());
    gone.followed.into_iter().for_each(|f| router.unfollow(f));
    gone.lent.into_iter().for_each(|interface| l2::domain::give_back(router, interface));
}

/// Makes the proxies of an interface drop its frames from now on.
pub fn forget<const STYLE: u8>(router: &mut Router, interface: InterfaceIndex) {
    let proxies = router.own_mut::<Proxies<STYLE>>();
    let gone = proxies.all.iter().filter(|(_, kept)| kept.out == interface);
    let gone: Vec<u32> = gone.map(|(index, _)| *index).collect();
    for index in gone {
        if let Some(proxy) = proxies.slab.at(index).cloned()
            && matches!(proxy.to, To::Frames(..))
        {
            proxies.slab.replace(index, Proxy { to: To::Frames(u32::MAX, false), ..proxy });
        }
    }
}
