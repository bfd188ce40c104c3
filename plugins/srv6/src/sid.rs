//! Local SIDs: addresses of this router that do something to packets (RFC 8986 section 4).

use infra::counter::Rows;
use net::fib::{Followed, Object, Path, Source};
use net::prelude::*;

use super::decap::Decap;
use super::{Error, Making, Segments, behavior};

/// Most local SIDs.
const MOST: usize = 1 << 16;
/// Length of an address in bits.
const BITS: u8 = 128;

/// Behavior of a local SID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// On to the next segment.
    End,
    /// On to the next segment, by way of a neighbour.
    X {
        /// Interface of the neighbour.
        interface: InterfaceIndex,
        /// Neighbor.
        next_hop: IpAddr,
    },
    /// On to the next segment, looked up in a table.
    T(u32),
    /// A frame is inside, which leaves by an interface.
    Dx2 {
        /// Interface.
        interface: InterfaceIndex,
        /// The VLAN that messages name.
        vlan: u32,
    },
    /// A packet is inside, for a neighbour.
    Dx {
        /// IPv4 or IPv6.
        link: Link,
        /// Interface of the neighbour.
        interface: InterfaceIndex,
        /// Neighbor.
        next_hop: IpAddr,
    },
    /// A packet is inside, looked up in a table.
    Dt {
        /// IPv4 or IPv6.
        link: Link,
        /// Table.
        table: u32,
    },
    /// The next micro-SID takes the place of this one.
    Micro {
        /// Length of a micro-SID in bits.
        len: u8,
        /// Whether the routing header is looked at when there is no micro-SID left.
        is_flexible: bool,
    },
    /// The same, by way of a neighbour.
    MicroX {
        /// Length of a micro-SID in bits.
        len: u8,
        /// Interface of the neighbour.
        interface: InterfaceIndex,
        /// Neighbor.
        next_hop: IpAddr,
    },
    /// Behavior of another plugin: its word, and the words behind that.
    Other(&'static str, String),
}

/// A local SID, as nodes read it.
#[derive(Clone, Copy, Debug)]
pub struct Sid {
    /// True for penultimate segment pop (PSP).
    pub is_psp: bool,
    /// Next step of the packet.
    pub next: Next,
    /// Bytes of the block that micro-SIDs have in common, and bytes up to the end of this one.
    pub micro: Option<(usize, usize)>,
}

/// Next step of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Looked up where it was before.
    Lookup,
    /// Looked up in a table.
    Table(u16),
    /// Along a load balance.
    Balance(u32),
    /// Decapsulation.
    Decap(Decap),
}

/// A local SID, as control keeps it.
pub struct Kept {
    /// Its behavior.
    pub what: What,
    /// True for penultimate segment pop (PSP).
    pub is_psp: bool,
    /// Its object.
    pub object: Object,
    /// Place of its counters.
    pub index: u32,
    way: Way,
}

/// All local SIDs.
pub struct Sids {
    /// By number of table and prefix.
    pub all: BTreeMap<(u32, Ip6Prefix), Kept>,
    slab: SharedSlab<Sid>,
    counters: Rows<VolumeCounter>,
}

impl Sids {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(threads: usize) -> io::Result<Self> {
        let counters = Rows::new(threads, 2 * MOST)?;
        Ok(Self { all: BTreeMap::new(), slab: SharedSlab::new(MOST)?, counters })
    }
    /// For nodes.
    pub fn reader(&self) -> SlabReader<Sid> {
        self.slab.reader()
    }
    /// Good and bad packets, by twice the number of the SID.
    pub fn counters(&self) -> Rows<VolumeCounter> {
        self.counters.clone()
    }
    /// Good and bad packets of a local SID.
    pub fn counted(&self, index: u32) -> [Volume; 2] {
        [0, 1].map(|bad| self.counters.sum(2 * index as usize + bad))
    }
}

/// The prefix that leads to an address, or to all that begin with so many bits of it.
pub fn prefix(addr: Ipv6Addr, len: u8) -> Ip6Prefix {
    Ip6Prefix::new(addr, len.min(BITS)).expect("the length is at most that of an address")
}

/// Objects that a local SID uses for its packets until it is deleted.
#[derive(Default)]
struct Way {
    /// A route.
    followed: Option<Followed>,
    /// A table.
    held: Option<(Link, TableIndex)>,
    /// A sub-interface that sends frames as they are.
    lent: Option<InterfaceIndex>,
}

/// Next step of packets of a local SID, and what it uses.
struct Forwarding {
    next: Next,
    way: Way,
}

impl Forwarding {
    fn to(next: Next) -> Self {
        Self { next, way: Way::default() }
    }
    fn over(next: Next, followed: Followed) -> Self {
        Self { next, way: Way { followed: Some(followed), ..Way::default() } }
    }
    fn within(next: Next, held: (Link, TableIndex)) -> Self {
        Self { next, way: Way { held: Some(held), ..Way::default() } }
    }
}

fn neighbor(
    router: &mut Router,
    link: Link,
    interface: InterfaceIndex,
    addr: IpAddr,
) -> Result<Followed, Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if Link::of(addr) != link {
        return Err(Error::NextHop);
    }
    Ok(router.follow_paths(&[Path::to(Target::neighbor(link, interface, addr))], None)?)
}

fn table(router: &mut Router, link: Link, id: u32) -> Result<TableIndex, Error> {
    router.table_of(link, id).ok_or(Error::NoTable)?;
    Ok(router.hold_table_of(link, id)?)
}

fn release(router: &mut Router, way: Way) {
    way.followed.into_iter().for_each(|f| router.unfollow(f));
    way.held.into_iter().for_each(|(link, table)| router.use_table_of(link, table, false));
    way.lent.into_iter().for_each(|interface| l2::domain::give_back(router, interface));
}

/// The way of frames to an interface. A sub-interface lets them go as they are, tags and all.
fn frames(router: &mut Router, interface: InterfaceIndex) -> Result<Forwarding, Error> {
    let is_sub = router.interfaces.at(interface).ok_or(Error::NoInterface)?.is_sub();
    if !is_sub {
        return Ok(Forwarding::to(Next::Decap(Decap::Frame(interface.0))));
    }
    l2::domain::lend(router, interface).map_err(|_| Error::NoInterface)?;
    let way = Way { lent: Some(interface), ..Way::default() };
    Ok(Forwarding { next: Next::Decap(Decap::Tagged(interface.0)), way })
}

fn forwarding(router: &mut Router, what: &What) -> Result<Forwarding, Error> {
    Ok(match *what {
        What::End | What::Micro { .. } | What::Other(..) => Forwarding::to(Next::Lookup),
        What::X { interface, next_hop } | What::MicroX { interface, next_hop, .. } => {
            let followed = neighbor(router, Link::Ip6, interface, next_hop)?;
            Forwarding::over(Next::Balance(followed.load_balance()), followed)
        }
        What::T(id) => {
            let table = table(router, Link::Ip6, id)?;
            Forwarding::within(Next::Table(table.0), (Link::Ip6, table))
        }
        What::Dx2 { interface, .. } => frames(router, interface)?,
        What::Dx { link, interface, next_hop } => {
            let followed = neighbor(router, link, interface, next_hop)?;
            let next = Next::Decap(Decap::Neighbor(link, followed.load_balance()));
            Forwarding::over(next, followed)
        }
        What::Dt { link, table: id } => {
            let table = table(router, link, id)?;
            let next = Next::Decap(Decap::Table(link, table.0));
            Forwarding::within(next, (link, table))
        }
    })
}

/// The bytes of a micro-SID: its block, and up to its end.
fn micro(what: &What, prefix: Ip6Prefix) -> Result<Option<(usize, usize)>, Error> {
    let (What::Micro { len, .. } | What::MicroX { len, .. }) = what else { return Ok(None) };
    let is_whole = len.is_multiple_of(8) && prefix.prefix_len().is_multiple_of(8) && *len > 0;
    let block = prefix.prefix_len().checked_sub(*len).filter(|_| is_whole).ok_or(Error::Lengths)?;
    Ok(Some((usize::from(block / 8), usize::from(prefix.prefix_len() / 8))))
}

/// Adds a local SID to table `id`: an address, or all that begin with the prefix.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    id: u32,
    prefix: Ip6Prefix,
    is_psp: bool,
    what: What,
) -> Result<(), Error> {
    let table = router.table_of(Link::Ip6, id).ok_or(Error::NoTable)?;
    let all = &router.own::<Segments>().sids.all;
    if all.contains_key(&(id, prefix)) {
        return Err(Error::SidExists);
    }
    let micro = micro(&what, prefix)?;
    let Forwarding { next, way } = forwarding(router, &what)?;
    let segments = router.own_mut::<Segments>();
    let kinds = segments.kinds;
    let Ok(index) = segments.sids.slab.insert(Sid { is_psp, next, micro }) else {
        release(router, way);
        return Err(Error::Full);
    };
    let made = match &what {
        What::Other(keyword, words) => {
            let making = Making { keyword, prefix, table: id, source: None };
            other(router, &making, words)
        }
        What::Dx2 { .. } | What::Dx { .. } | What::Dt { .. } => {
            Ok(Object { kind: kinds.decap, index })
        }
        What::Micro { is_flexible, .. } => {
            Ok(Object { kind: kinds.micro[usize::from(!is_flexible)], index })
        }
        What::MicroX { .. } => Ok(Object { kind: kinds.micro[0], index }),
        What::End | What::X { .. } | What::T(_) => Ok(Object { kind: kinds.end, index }),
    };
    let installed = made.and_then(|object| {
        let path = Path::to(Target::Object(object));
        router.set_route(table, Prefix::Ip6(prefix), Source::SR, &[path])?;
        Ok(object)
    });
    let object = match installed {
        Ok(object) => object,
        Err(e) => {
            release(router, way);
            router.own_mut::<Segments>().sids.slab.remove(index);
            return Err(e);
        }
    };
    let counters = router.own::<Segments>().sids.counters();
    let places = 2 * index as usize..2 * index as usize + 2;
    // Without them the counters of the one before go on.
    let _ = router.engine.on_threads(move |thread| counters.zero(thread, places.clone()));
    let kept = Kept { what, is_psp, object, index, way };
    router.own_mut::<Segments>().sids.all.insert((id, prefix), kept);
    Ok(())
}

fn other(router: &mut Router, making: &Making, words: &str) -> Result<Object, Error> {
    let behavior = behavior::named(router, making.keyword).ok_or(Error::NoBehavior)?;
    (behavior.make)(router, making, &mut Args::new(words))
}

/// Deletes a local SID.
///
/// # Errors
/// [`Error::NoSid`].
pub fn remove(router: &mut Router, id: u32, prefix: Ip6Prefix) -> Result<(), Error> {
    let gone = router.own_mut::<Segments>().sids.all.remove(&(id, prefix));
    let gone = gone.ok_or(Error::NoSid)?;
    if let Some(table) = router.table_of(Link::Ip6, id) {
        // A table that was emptied has it no more.
        let _ = router.remove_route(table, Prefix::Ip6(prefix), Source::SR, &[]);
    }
    if let What::Other(keyword, _) = gone.what
        && let Some(behavior) = behavior::named(router, keyword)
    {
        (behavior.end)(router, gone.object.index);
    }
    router.own_mut::<Segments>().sids.slab.remove(gone.index);
    release(router, gone.way);
    Ok(())
}

/// Deletes the local SIDs over an interface that is deleted.
pub fn forget(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    let names = |what: &What| match what {
        What::X { interface: i, .. }
        | What::Dx2 { interface: i, .. }
        | What::Dx { interface: i, .. }
        | What::MicroX { interface: i, .. } => *i == interface,
        _ => false,
    };
    let all = router.own::<Segments>().sids.all.iter();
    let gone: Vec<_> = all.filter(|(_, k)| names(&k.what)).map(|(key, _)| *key).collect();
    for (id, prefix) in gone {
        // It was there just now.
        let _ = remove(router, id, prefix);
    }
}
