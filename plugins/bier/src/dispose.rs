//! Packets that are for this router: `bier-disp-lookup` finds the entry of their source,
//! `bier-disp-dispatch` takes the header off and sends what is behind it on.

use net::fib::{Followed, Path, Popped};
use net::prelude::*;
use wire::bier::{self, Header, Payload};

use super::{Bier, Error};

/// Most tables.
const MOST_TABLES: usize = 1 << 10;
/// Most entries.
const MOST_ENTRIES: usize = 1 << 16;

/// The entry of sources without one of their own.
pub const ANY: u16 = 0;

/// Paths of the payloads of a source.
pub struct Entry {
    index: u32,
    /// By payload.
    pub payloads: BTreeMap<u8, (Vec<Path>, Followed)>,
}

/// A table.
pub struct Table {
    /// Number by which nodes know it.
    pub index: u32,
    /// By source.
    pub entries: BTreeMap<u16, Entry>,
}

/// All tables.
pub struct Dispositions {
    /// By the number that the operator gave them.
    pub all: BTreeMap<u32, Table>,
    tables: SharedSlab<HashMap<u16, u32>>,
    entries: SharedSlab<[u32; Payload::COUNT]>,
}

impl Dispositions {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        let (tables, entries) = (SharedSlab::new(MOST_TABLES)?, SharedSlab::new(MOST_ENTRIES)?);
        Ok(Self { all: BTreeMap::new(), tables, entries })
    }
    /// For [`Lookup`].
    pub fn lookup(&self) -> Lookup {
        Lookup(self.tables.reader())
    }
    /// For [`Dispatch`].
    pub fn dispatch(&self) -> Dispatch {
        Dispatch(self.entries.reader())
    }
}

/// Kind of a payload.
pub fn link_of(payload: u8) -> Option<Link> {
    Some(match Payload(payload) {
        Payload::MPLS_DOWN | Payload::MPLS_UP => Link::Mpls,
        Payload::ETHERNET => Link::Ethernet,
        Payload::IP4 => Link::Ip4,
        Payload::IP6 => Link::Ip6,
        _ => return None,
    })
}

fn dispositions(router: &mut Router) -> &mut Dispositions {
    &mut router.own_mut::<Bier>().dispositions
}

/// Adds a table, unless it exists.
///
/// # Errors
/// No room.
pub fn add(router: &mut Router, id: u32) -> Result<(), Error> {
    let all = dispositions(router);
    if !all.all.contains_key(&id) {
        let index = all.tables.insert(HashMap::new()).map_err(|_| Error::Full)?;
        all.all.insert(id, Table { index, entries: BTreeMap::new() });
    }
    Ok(())
}

/// Deletes a table with its entries.
///
/// # Errors
/// [`Error::NoDisposition`]; [`Error::InUse`] while positions lead there.
pub fn remove(router: &mut Router, id: u32) -> Result<(), Error> {
    if !dispositions(router).all.contains_key(&id) {
        return Err(Error::NoDisposition);
    }
    let leads = |path: &super::BierPath| *path == super::BierPath::Disposition(id);
    let mut routes = router.own::<Bier>().tables.all.values().flat_map(|t| t.routes.values());
    if routes.any(|paths| paths.iter().any(|(path, _)| leads(path))) {
        return Err(Error::InUse);
    }
    let Some(gone) = dispositions(router).all.remove(&id) else { return Ok(()) };
    dispositions(router).tables.remove(gone.index);
    for entry in gone.entries.into_values() {
        dispositions(router).entries.remove(entry.index);
        entry.payloads.into_values().for_each(|(_, followed)| router.unfollow(followed));
    }
    Ok(())
}

/// Sets the paths for payloads of a source; without any they are dropped.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    id: u32,
    source: u16,
    payload: u8,
    paths: Vec<Path>,
) -> Result<(), Error> {
    let table = dispositions(router).all.get(&id).ok_or(Error::NoDisposition)?;
    let index = table.entries.get(&source).map(|e| e.index);
    let new = match paths.is_empty() {
        true if index.is_none() => return Err(Error::NoEntry),
        true => None,
        false => Some(router.follow_paths(&paths, None)?),
    };
    let all = dispositions(router);
    let index = match index {
        Some(index) => index,
        None => match all.entries.insert([0; Payload::COUNT]) {
            Ok(index) => index,
            Err(_) => {
                new.into_iter().for_each(|followed| router.unfollow(followed));
                return Err(Error::Full);
            }
        },
    };
    let Some(table) = all.all.get_mut(&id) else { return Err(Error::NoDisposition) };
    let entry = table.entries.entry(source);
    let entry = entry.or_insert_with(|| Entry { index, payloads: BTreeMap::new() });
    let old = match new {
        Some(followed) => entry.payloads.insert(payload, (paths, followed)),
        None => entry.payloads.remove(&payload),
    };
    let mut balances = [0; Payload::COUNT];
    for (payload, (_, followed)) in &entry.payloads {
        balances[usize::from(*payload)] = followed.load_balance();
    }
    if entry.payloads.is_empty() {
        table.entries.remove(&source);
    }
    let by_source = table.entries.iter().map(|(source, e)| (*source, e.index)).collect();
    all.tables.replace(table.index, by_source);
    if balances == [0; Payload::COUNT] {
        all.entries.remove(index);
    } else {
        all.entries.replace(index, balances);
    }
    old.into_iter().for_each(|(_, followed)| router.unfollow(followed));
    Ok(())
}

/// Adds or deletes paths for payloads of a source: all if none is given.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn change(
    router: &mut Router,
    id: u32,
    source: u16,
    payload: u8,
    changed: &[Path],
    is_add: bool,
) -> Result<(), Error> {
    let table = dispositions(router).all.get(&id).ok_or(Error::NoDisposition)?;
    let had = table.entries.get(&source).and_then(|e| e.payloads.get(&payload));
    let had = had.map_or(&[][..], |(paths, _)| paths);
    let others = had.iter().filter(|p| changed.iter().all(|n| n.target != p.target)).cloned();
    let paths = match is_add {
        false if changed.is_empty() => Vec::new(),
        false => others.collect(),
        true => others.chain(changed.iter().cloned()).collect(),
    };
    set(router, id, source, payload, paths)
}

/// Finds the entry of a packet's source.
#[derive(Clone)]
pub struct Lookup(SlabReader<HashMap<u16, u32>>);

/// Edges of [`Lookup`].
#[derive(Clone, Copy, graph::Next)]
pub enum Found {
    /// Packets of this source are unwanted.
    #[to("bier-drop")]
    Drop,
    /// There is an entry.
    #[to("bier-disp-dispatch")]
    Dispatch,
}

impl Node for Lookup {
    const NAME: &'static str = "bier-disp-lookup";
    const EXPLAINABLE: bool = true;
    type Next = Found;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let source = p.header::<Header>().map_or(ANY, |h| h.source.get());
            let table = self.0.read(p.adjacency(), epoch);
            let entry = table.and_then(|t| t.get(&source).or_else(|| t.get(&ANY)));
            p.trace(|_| Shown { source, entry: entry.copied() });
            let Some(entry) = entry else { return Ok(Found::Drop) };
            p.set_adjacency(*entry);
            Ok(Found::Dispatch)
        });
    }
}

struct Shown {
    source: u16,
    entry: Option<u32>,
}

impl Record for Shown {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = self.entry.map_or_else(|| "none".to_owned(), |entry| entry.to_string());
        write!(f, "  src {} entry {entry}", self.source)
    }
}

/// Takes headers off.
#[derive(Clone)]
pub struct Dispatch(SlabReader<[u32; Payload::COUNT]>);

/// Edges of [`Dispatch`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Such a payload is unwanted.
    #[to("bier-drop")]
    Drop,
    /// As what was below a label.
    #[to("mpls-load-balance")]
    LoadBalance,
}

impl Node for Dispatch {
    const NAME: &'static str = "bier-disp-dispatch";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let Some((header, string, _)) = bier::parse(p.bytes()) else { return Ok(Next::Drop) };
            let len = size_of::<Header>() + string.len();
            let entry = self.0.read(p.adjacency(), epoch);
            let balance = entry.and_then(|e| e.get(usize::from(header.payload().0)));
            let Some(balance) = balance.filter(|balance| **balance != 0) else {
                return Ok(Next::Drop);
            };
            if p.advance(len).is_none() || Popped::of(p).is_none() {
                return Ok(Next::Drop);
            }
            p.set_adjacency(*balance);
            p.add_flags(super::LEFT);
            Ok(Next::LoadBalance)
        });
    }
}
