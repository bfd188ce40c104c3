//! Policies: lists of segments behind a SID of their own, the binding SID (RFC 8986 sections 4.13
//! and 5).

use net::fib::{Object, ObjectKind, Path, Source};
use net::prelude::*;
use wire::srh;

use super::{Error, Making, Segments, behavior, sid, steer};

/// Most segment lists.
const MOST: usize = 1 << 16;
/// Most segments of a list.
pub const MOST_SEGMENTS: usize = 16;

/// Type of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A flow takes one of them.
    Default,
    /// All of them get a copy.
    Spray,
}

/// A policy as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPolicy {
    /// The binding SID.
    pub bsid: Ipv6Addr,
    /// Use of its lists.
    pub kind: Kind,
    /// True to encapsulate, false to insert a routing header.
    pub is_encap: bool,
    /// Number of the table of the binding SID, in which packets are looked up as well.
    pub table: u32,
    /// Source address of headers that are put in front; `None` for that of the router.
    pub source: Option<Ipv6Addr>,
    /// Behavior of another plugin: its word, and the words behind that.
    pub behavior: Option<(&'static str, String)>,
}

/// A segment list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Index.
    pub index: u32,
    /// Weight.
    pub weight: u32,
    /// Segments, first to last.
    pub segments: Vec<Ipv6Addr>,
}

/// Headers that are put on a packet.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// The headers of a policy that puts them in front, or the routing header that is put in, with
    /// room for the packet's destination.
    pub steered: Box<[u8]>,
    /// The same for packets to the binding SID, whose own routing header has the destination.
    pub bound: Box<[u8]>,
    /// The first segment.
    pub first: Ipv6Addr,
    /// Table of the lookup.
    pub table: u16,
}

/// A policy, as control keeps it.
pub struct Policy {
    /// Parameters it was made from.
    pub new: NewPolicy,
    /// The source address that counts.
    pub source: Ipv6Addr,
    /// Segment lists.
    pub lists: Vec<List>,
    table: TableIndex,
    hop_limit: u8,
    /// Object of all lists for nodes, when all get a copy.
    spray: Option<u32>,
    /// Object of another plugin's behavior, and what packets it takes.
    pub other: Option<(Object, Link)>,
}

/// All policies.
pub struct Policies {
    /// By number.
    pub all: BTreeMap<u32, Policy>,
    /// Headers for packets, by number of the list.
    pub rewrites: SharedSlab<Box<[Rewrite]>>,
}

impl Policies {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        Ok(Self { all: BTreeMap::new(), rewrites: SharedSlab::new(MOST)? })
    }
    /// The number of the policy with a binding SID.
    pub fn of_bsid(&self, bsid: Ipv6Addr) -> Option<u32> {
        self.all.iter().find(|(_, p)| p.new.bsid == bsid).map(|(index, _)| *index)
    }
}

impl Policy {
    /// Headers of its packets on the way over a list.
    fn rewrite(&self, list: &List) -> Rewrite {
        let segments = &list.segments;
        let first = segments.first().copied().unwrap_or(Ipv6Addr::UNSPECIFIED);
        let table = self.table.0;
        if !self.new.is_encap {
            let with_own: Vec<Ipv6Addr> =
                segments.iter().copied().chain([Ipv6Addr::UNSPECIFIED]).collect();
            let steered = srh::build(Protocol(0), &with_own).into();
            let bound = srh::build(Protocol(0), segments).into();
            return Rewrite { steered, bound, first, table };
        }
        // A path of one segment needs no routing header (RFC 8986 section 5.1).
        let has_header = segments.len() > 1;
        let next = if has_header { Protocol::ROUTING } else { Protocol(0) };
        let mut header = ip6::Header::new(self.source, first, next, 0);
        header.hop_limit = self.hop_limit;
        let mut bytes = header.as_bytes().to_vec();
        if has_header {
            bytes.extend(srh::build(Protocol(0), segments));
        }
        Rewrite { steered: bytes.clone().into(), bound: bytes.into(), first, table }
    }
    /// Paths of packets of the policy at objects of a kind.
    fn paths(&self, kind: ObjectKind) -> Vec<Path> {
        if let Some((object, _)) = self.other {
            return vec![Path::to(Target::Object(object))];
        }
        let path = |index, weight: u32| {
            let weight = weight.clamp(1, u16::MAX.into()) as u16;
            Path { weight, ..Path::to(Target::Object(Object { kind, index })) }
        };
        match self.spray {
            Some(index) => vec![path(index, 1)],
            None => self.lists.iter().map(|l| path(l.index, l.weight)).collect(),
        }
    }
    /// Numbers of what its packets get, each as often as its share says.
    pub fn shares(&self) -> Vec<u32> {
        if let Some(index) = self.spray {
            return vec![index];
        }
        let all = self.lists.iter();
        all.flat_map(|l| std::iter::repeat_n(l.index, share(l.weight))).collect()
    }
}

/// Paths of packets that are steered into a policy.
pub fn steered_paths(router: &Router, index: u32, of: Link) -> Result<Vec<Path>, Error> {
    let segments = router.own::<Segments>();
    let policy = segments.policies.all.get(&index).ok_or(Error::NoPolicy)?;
    if policy.other.is_some_and(|(_, carries)| carries != of) {
        return Err(Error::NotCarried);
    }
    if !policy.new.is_encap && of != Link::Ip6 {
        return Err(Error::Insert);
    }
    Ok(policy.paths(segments.kinds.steered[usize::from(!policy.new.is_encap)]))
}

fn bsid(policy: &Policy) -> Prefix {
    Prefix::Ip6(Ip6Prefix::host(policy.new.bsid))
}

/// Updates nodes and routes of a policy.
fn install(router: &mut Router, index: u32) -> Result<(), Error> {
    let Segments { policies: Policies { all, rewrites }, kinds, .. } = router.own_mut::<Segments>();
    let policy = all.get(&index).ok_or(Error::NoPolicy)?;
    let mut together = Vec::new();
    for list in &policy.lists {
        let rewrite = policy.rewrite(list);
        together.push(rewrite.clone());
        rewrites.replace(list.index, [rewrite].into());
    }
    if let Some(spray) = policy.spray {
        rewrites.replace(spray, together.into());
    }
    let paths = policy.paths(kinds.bound[usize::from(!policy.new.is_encap)]);
    let (table, bsid) = (policy.table, bsid(policy));
    router.set_route(table, bsid, Source::SR, &paths)?;
    steer::again(router, index);
    changed(router, bsid.addr());
    Ok(())
}

/// Tells those who follow policies.
fn changed(router: &mut Router, bsid: IpAddr) {
    let IpAddr::V6(bsid) = bsid else { return };
    let all: Vec<_> = router.own::<Segments>().on_policies.iter().copied().collect();
    all.into_iter().for_each(|call| call(router, bsid));
}

/// Calls a function with the binding SID of each policy that is created, changed or deleted.
pub fn on_change(router: &mut Router, call: fn(&mut Router, Ipv6Addr)) {
    router.own_mut::<Segments>().on_policies.push(call);
}

/// The segment lists of the policy with a binding SID, each as often as its share says, 64 times at
/// most; none when there is no such policy.
pub fn segment_lists(router: &Router, bsid: Ipv6Addr) -> Vec<Vec<Ipv6Addr>> {
    let policies = &router.own::<Segments>().policies;
    let policy = policies.of_bsid(bsid).and_then(|index| policies.all.get(&index));
    let lists = policy.map(|p| p.lists.as_slice()).unwrap_or_default().iter();
    lists.flat_map(|l| std::iter::repeat_n(l.segments.clone(), share(l.weight))).collect()
}

/// A share of the load as a number of places in a table.
fn share(weight: u32) -> usize {
    weight.clamp(1, 64) as usize
}

fn check(segments: &[Ipv6Addr]) -> Result<(), Error> {
    let is_fit = (1..=MOST_SEGMENTS).contains(&segments.len());
    if is_fit { Ok(()) } else { Err(Error::Segments) }
}

/// Room for what one more list puts on packets.
fn hold(router: &mut Router) -> Result<u32, Error> {
    let rewrites = &mut router.own_mut::<Segments>().policies.rewrites;
    rewrites.insert(Box::default()).map_err(|_| Error::Full)
}

/// The object of a policy of another plugin.
fn other(router: &mut Router, new: &NewPolicy) -> Result<Option<(Object, Link)>, Error> {
    let Some((keyword, words)) = &new.behavior else { return Ok(None) };
    let known = behavior::of_policies(router, keyword).ok_or(Error::NoBehavior)?;
    let making = Making { keyword, prefix: host(new.bsid), table: new.table, source: new.source };
    let object = (known.common.make)(router, &making, &mut Args::new(words))?;
    Ok(Some((object, known.carries)))
}

/// Adds a policy with one list, or with a behavior of another plugin and none; its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    new: NewPolicy,
    weight: u32,
    segments: Vec<Ipv6Addr>,
) -> Result<u32, Error> {
    let has_lists = new.behavior.is_none();
    if has_lists {
        check(&segments)?;
    } else if !segments.is_empty() {
        return Err(Error::NoLists);
    }
    router.table_of(Link::Ip6, new.table).ok_or(Error::NoTable)?;
    let own = router.own::<Segments>();
    if own.policies.of_bsid(new.bsid).is_some() {
        return Err(Error::PolicyExists);
    }
    let (source, hop_limit) = (new.source.unwrap_or(own.source), own.hop_limit);
    let index = (0..).find(|i| !own.policies.all.contains_key(i)).unwrap_or_default();
    let table = router.hold_table::<Ip6>(new.table)?;
    let other = match other(router, &new) {
        Ok(other) => other,
        Err(e) => {
            router.release_table::<Ip6>(table);
            return Err(e);
        }
    };
    let (mut lists, mut spray) = (Vec::new(), None);
    if has_lists {
        lists.push(List { index: hold(router)?, weight: weight.max(1), segments });
        spray = if new.kind == Kind::Spray { Some(hold(router)?) } else { None };
    }
    let policy = Policy { new, source, lists, table, hop_limit, spray, other };
    router.own_mut::<Segments>().policies.all.insert(index, policy);
    if let Err(e) = install(router, index) {
        // It exists: it is deleted whole.
        let _ = remove(router, index);
        return Err(e);
    }
    Ok(index)
}

/// A change of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more list: its share and segments.
    Add(u32, Vec<Ipv6Addr>),
    /// A list goes.
    Remove(u32),
    /// A list gets another share.
    Weigh(u32, u32),
}

/// Changes a policy.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn modify(router: &mut Router, index: u32, change: Change) -> Result<(), Error> {
    let policy = router.own::<Segments>().policies.all.get(&index).ok_or(Error::NoPolicy)?;
    if policy.other.is_some() {
        return Err(Error::NoLists);
    }
    let (mut gone, mut new) = (None, None);
    if let Change::Add(weight, segments) = &change {
        check(segments)?;
        let (weight, segments) = ((*weight).max(1), segments.clone());
        new = Some(List { index: hold(router)?, weight, segments });
    }
    let policies = &mut router.own_mut::<Segments>().policies;
    let policy = policies.all.get_mut(&index).ok_or(Error::NoPolicy)?;
    match change {
        Change::Add(..) => policy.lists.extend(new),
        Change::Remove(list) => {
            let at = policy.lists.iter().position(|l| l.index == list).ok_or(Error::NoList)?;
            if policy.lists.len() == 1 {
                return Err(Error::LastList);
            }
            gone = Some(policy.lists.remove(at).index);
        }
        Change::Weigh(list, weight) => {
            let list = policy.lists.iter_mut().find(|l| l.index == list).ok_or(Error::NoList)?;
            list.weight = weight.max(1);
        }
    }
    install(router, index)?;
    if let Some(gone) = gone {
        router.own_mut::<Segments>().policies.rewrites.remove(gone);
    }
    Ok(())
}

/// Sets the source address of the headers of a policy.
///
/// # Errors
/// [`Error::NoPolicy`].
pub fn set_source(router: &mut Router, index: u32, source: Ipv6Addr) -> Result<(), Error> {
    let policies = &mut router.own_mut::<Segments>().policies;
    let policy = policies.all.get_mut(&index).ok_or(Error::NoPolicy)?;
    (policy.source, policy.new.source) = (source, Some(source));
    install(router, index)
}

/// Deletes a policy. What is steered into it is dropped from then on.
///
/// # Errors
/// [`Error::NoPolicy`].
pub fn remove(router: &mut Router, index: u32) -> Result<(), Error> {
    let policies = &mut router.own_mut::<Segments>().policies;
    let gone = policies.all.remove(&index).ok_or(Error::NoPolicy)?;
    // A table that was emptied has the route no more.
    let _ = router.remove_route(gone.table, bsid(&gone), Source::SR, &[]);
    steer::again(router, index);
    let rewrites = &mut router.own_mut::<Segments>().policies.rewrites;
    let lists: BTreeSet<u32> = gone.lists.iter().map(|l| l.index).chain(gone.spray).collect();
    lists.into_iter().for_each(|list| rewrites.remove(list));
    if let (Some((object, _)), Some((keyword, _))) = (gone.other, &gone.new.behavior)
        && let Some(known) = behavior::of_policies(router, keyword)
    {
        (known.common.end)(router, object.index);
    }
    router.release_table::<Ip6>(gone.table);
    changed(router, gone.new.bsid.into());
    Ok(())
}

/// The prefix of a SID, for messages that name single addresses.
pub fn host(addr: Ipv6Addr) -> Ip6Prefix {
    sid::prefix(addr, 128)
}
