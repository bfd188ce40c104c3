//! Label tables: what a label leads to, the last of its stack or not (RFC 3031 section 3.10).
//!
//! A table is one flat array with the load balance of each label, so a lookup is one access
//! whatever the number of labels. The load balance follows the paths of the best source, and its
//! number stays while they change, so that routes through a label need not. It counts packets for
//! those labels that [`RouteCounting`](net::fib::RouteCounting) gives counters of their own.

use infra::table::numbers::{Numbers32, Numbers32Reader};
use net::fib::{Error, Followed, Path, RouteOf, Source};
use net::prelude::*;
use wire::mpls::LABELS;

use super::Mpls;
use super::replicate::Copies;

/// Labels of a table whose leaves are worth huge pages.
const LARGE: usize = 1 << 16;
/// Most tables.
const MOST: usize = 1 << 16;

/// Mark of a leaf whose packets are not counted for its load balance. Below it is the number of
/// that.
pub const UNCOUNTED: u32 = 1 << 31;

/// A label, and whether it is the last of its stack.
pub type Key = (u32, bool);

/// Name of a table that got none.
pub fn usual_name(id: u32) -> String {
    format!("MPLS-VRF:{id}")
}

/// Place of a label in the array of a table. Those that are the last of their stack, as most are,
/// lie side by side.
#[inline(always)]
pub fn place(label: u32, is_last: bool) -> usize {
    (label | (LABELS * u32::from(!is_last))) as usize
}

/// The route of one source for a label.
#[derive(Clone, Debug)]
pub struct Route {
    /// Source.
    pub source: Source,
    /// Kind of packets without the label.
    pub of: Link,
    /// Paths of the packets.
    pub paths: Vec<Path>,
    /// Whether all paths get them.
    pub is_multicast: bool,
    /// The prefix whose route it is, and its table.
    pub bound: Option<(TableIndex, Prefix)>,
}

/// A label in a table.
pub struct Entry {
    /// Best source first.
    pub routes: Vec<Route>,
    /// The route that the load balance of the label follows.
    pub followed: Followed,
    /// Copies, for a multicast route.
    pub copies: Option<Copies>,
    /// Paths that lead to it.
    pub users: u32,
}

/// A label table.
pub struct Table {
    /// The number that the operator gave it.
    pub id: u32,
    /// Its identifier, as operators give it.
    pub name: String,
    /// All labels.
    pub entries: BTreeMap<Key, Entry>,
    /// Interfaces that look up here.
    pub interfaces: u32,
    leaves: Numbers32,
}

/// All label tables.
pub struct LabelTables {
    all: Vec<Option<Table>>,
    readers: SharedSlab<Numbers32Reader>,
}

impl LabelTables {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        Ok(Self { all: Vec::new(), readers: SharedSlab::new(MOST)? })
    }
    /// For nodes.
    pub fn reader(&self) -> SlabReader<Numbers32Reader> {
        self.readers.reader()
    }
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (TableIndex, &Table)> {
        let numbered = self.all.iter().enumerate();
        numbered.filter_map(|(i, t)| Some((TableIndex(i as u16), t.as_ref()?)))
    }
    /// The table that the operator calls `id`.
    pub fn named(&self, id: u32) -> Option<TableIndex> {
        self.iter().find(|(_, t)| t.id == id).map(|(index, _)| index)
    }
    /// A table.
    pub fn at(&self, index: TableIndex) -> Option<&Table> {
        self.all.get(usize::from(index.0))?.as_ref()
    }
    /// A table.
    pub fn at_mut(&mut self, index: TableIndex) -> Option<&mut Table> {
        self.all.get_mut(usize::from(index.0))?.as_mut()
    }
    fn add(&mut self, id: u32, name: &str) -> Result<TableIndex, Error> {
        let leaves = Numbers32::new(2 * LABELS as usize).map_err(|_| Error::Full)?;
        let index = self.readers.insert(leaves.reader()).map_err(|_| Error::Full)?;
        let name = if name.is_empty() { usual_name(id) } else { name.to_owned() };
        let table = Table { id, name, entries: BTreeMap::new(), interfaces: 0, leaves };
        let at = index as usize;
        self.all.resize_with(self.all.len().max(at + 1), || None);
        self.all[at] = Some(table);
        Ok(TableIndex(index as u16))
    }
}

impl Table {
    fn set_leaf(&mut self, (label, is_last): Key, leaf: u32) {
        self.leaves.set(place(label, is_last), leaf);
    }
}

/// Paths of packets of an entry.
fn targets(entry: &Entry) -> Vec<Path> {
    match (&entry.copies, entry.routes.first()) {
        (Some(copies), _) => vec![Path::to(Target::Object(copies.object))],
        (None, Some(route)) => route.paths.clone(),
        (None, None) => vec![Path::to(Target::Drop)],
    }
}

fn tables(router: &mut Router) -> &mut LabelTables {
    &mut router.own_mut::<Mpls>().tables
}

/// Adds a table, with the reserved labels; an existing table keeps its entries.
///
/// # Errors
/// No room.
pub fn add(router: &mut Router, id: u32, name: &str) -> Result<(), Error> {
    if tables(router).named(id).is_some() {
        return Ok(());
    }
    let table = tables(router).add(id, name)?;
    for (key, of, path) in router.own::<Mpls>().reserved(table) {
        let source = Source::SPECIAL;
        let route = Route { source, of, paths: vec![path], is_multicast: false, bound: None };
        set(router, table, key, route)?;
    }
    router.note(format_args!("MPLS table {id}: added"));
    Ok(())
}

/// Deletes a table with all its labels.
///
/// # Errors
/// [`Error::NoTable`]; [`Error::TableInUse`] while interfaces or routes lead there.
pub fn remove(router: &mut Router, id: u32) -> Result<(), Error> {
    let table = tables(router).named(id).ok_or(Error::NoTable)?;
    let t = tables(router).at_mut(table).ok_or(Error::NoTable)?;
    if t.interfaces > 0 {
        return Err(Error::TableInUse);
    }
    let keys: Vec<Key> = t.entries.keys().copied().collect();
    // Labels through other labels of the table go first.
    for is_used in [false, true] {
        for key in &keys {
            let entry = tables(router).at(table).and_then(|t| t.entries.get(key));
            let Some(entry) = entry.filter(|e| is_used || e.users == 0) else { continue };
            let sources: Vec<Source> = entry.routes.iter().map(|r| r.source).collect();
            sources.into_iter().for_each(|source| {
                // It was there just now.
                let _ = take(router, table, *key, source);
            });
        }
    }
    if tables(router).at(table).is_some_and(|t| !t.entries.is_empty()) {
        return Err(Error::TableInUse);
    }
    let all = tables(router);
    all.all[usize::from(table.0)] = None;
    all.readers.remove(table.0.into());
    router.note(format_args!("MPLS table {id}: deleted"));
    Ok(())
}

/// Gives a label the paths of a source.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, table: TableIndex, key: Key, route: Route) -> Result<u32, Error> {
    let balance = hold_entry(router, table, key)?;
    let t = tables(router).at_mut(table).ok_or(Error::NoTable)?;
    let entry = t.entries.get_mut(&key).expect("it is held");
    let before = entry.routes.clone();
    entry.routes.retain(|r| r.source != route.source);
    entry.routes.push(route);
    entry.routes.order_by_key(|r| r.source);
    let done = lead(router, table, key);
    if done.is_err()
        && let Some(entry) = tables(router).at_mut(table).and_then(|t| t.entries.get_mut(&key))
    {
        entry.routes = before;
    }
    drop_unused(router, table, key);
    done.map(|()| balance)
}

/// Takes the paths of a source away from a label.
///
/// # Errors
/// [`Error::NoRoute`].
pub fn take(
    router: &mut Router,
    table: TableIndex,
    key: Key,
    source: Source,
) -> Result<Route, Error> {
    let entry = tables(router).at_mut(table).and_then(|t| t.entries.get_mut(&key));
    let entry = entry.ok_or(Error::NoRoute)?;
    let at = entry.routes.iter().position(|r| r.source == source).ok_or(Error::NoRoute)?;
    let gone = entry.routes.remove(at);
    lead(router, table, key)?;
    drop_unused(router, table, key);
    Ok(gone)
}

/// Creates the entry of a label, if necessary; returns its load balance.
fn hold_entry(router: &mut Router, table: TableIndex, key: Key) -> Result<u32, Error> {
    let entry = tables(router).at(table).ok_or(Error::NoTable)?.entries.get(&key);
    if let Some(entry) = entry {
        return Ok(entry.followed.load_balance());
    }
    let followed = router.follow_paths(&[Path::to(Target::Drop)], None)?;
    let (balance, counting) = (followed.load_balance(), router.fib.counting);
    let t = tables(router).at_mut(table).ok_or(Error::NoTable)?;
    let mark = if counting.counts(t.entries.len()) { 0 } else { UNCOUNTED };
    if t.entries.len() == LARGE {
        t.leaves.enlarge();
    }
    t.entries.insert(key, Entry { routes: Vec::new(), followed, copies: None, users: 0 });
    t.set_leaf(key, balance | mark);
    Ok(balance)
}

/// Makes the load balance of a label follow its best source.
fn lead(router: &mut Router, table: TableIndex, key: Key) -> Result<(), Error> {
    let t = tables(router).at_mut(table).ok_or(Error::NoTable)?;
    let entry = t.entries.get(&key).ok_or(Error::NoRoute)?;
    let copied = entry.routes.first().filter(|r| r.is_multicast).map(|r| r.paths.clone());
    let copies = copied.map(|paths| super::replicate::make(router, Link::Mpls, &paths));
    let copies = copies.transpose()?;
    let t = tables(router).at_mut(table).ok_or(Error::NoTable)?;
    let entry = t.entries.get_mut(&key).ok_or(Error::NoRoute)?;
    let old = std::mem::replace(&mut entry.copies, copies);
    let paths = targets(entry);
    let balance = entry.followed.load_balance();
    let done = router.refollow(balance, &paths);
    let t = tables(router).at_mut(table).ok_or(Error::NoTable)?;
    let entry = t.entries.get_mut(&key).ok_or(Error::NoRoute)?;
    let gone = if done.is_err() { std::mem::replace(&mut entry.copies, old) } else { old };
    gone.into_iter().for_each(|copies| super::replicate::end(router, copies));
    done
}

/// Removes a label entry with no source and no reference.
fn drop_unused(router: &mut Router, table: TableIndex, key: Key) {
    let Some(t) = tables(router).at_mut(table) else { return };
    let is_unused = t.entries.get(&key).is_some_and(|e| e.routes.is_empty() && e.users == 0);
    if is_unused && let Some(gone) = t.entries.remove(&key) {
        t.set_leaf(key, 0);
        router.unfollow(gone.followed);
    }
}

/// The load balance of a label that is not the last, held once more.
///
/// # Errors
/// A missing table, no room.
pub fn hold(router: &mut Router, id: u32, label: u32) -> Result<u32, Error> {
    let (table, key) = (tables(router).named(id).ok_or(Error::NoTable)?, (label, false));
    let balance = hold_entry(router, table, key)?;
    let entry = tables(router).at_mut(table).and_then(|t| t.entries.get_mut(&key));
    entry.into_iter().for_each(|e| e.users += 1);
    Ok(balance)
}

/// Gives it up.
pub fn release(router: &mut Router, id: u32, label: u32) {
    let Some(table) = tables(router).named(id) else { return };
    let entry = tables(router).at_mut(table).and_then(|t| t.entries.get_mut(&(label, false)));
    entry.into_iter().for_each(|e| e.users -= 1);
    drop_unused(router, table, (label, false));
}

/// Purpose of a route of a label.
pub fn route_of((_, is_last): Key, of: Link) -> RouteOf {
    RouteOf::Label(if is_last { of } else { Link::Mpls })
}
