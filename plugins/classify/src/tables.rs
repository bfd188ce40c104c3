//! Making, changing and deleting tables and their sessions.
#![forbid(unsafe_code)]

use net::prelude::*;

use super::filter::Filters;
use super::key::{Mask, VECTOR};
use super::table::{Action, From, MOST_CHAINED, NONE, Session, Sessions, Table};
use super::uses::Tables;
use super::{Error, uses};

/// Tables at most.
const MOST_TABLES: usize = 1 << 16;
/// Vectors that may be left out at most: as many as fit into a packet's first segment.
const MOST_SKIPPED: usize = 127;
/// Bytes that a session counts for in a table's memory, besides its key.
const SESSION: u64 = 48;
/// Sessions of a table at most, however much memory it may have.
const MOST_SESSIONS: u64 = 1 << 24;

/// All tables.
pub struct Classifier {
    tables: SharedSlab<Table>,
    owned: HashMap<u32, Owned>,
    pub(super) filters: Filters,
    /// Finds a policer by its name.
    pub(super) policer: Option<FindPolicer>,
    /// Say whether they use a table.
    pub(super) users: Vec<UsesTable>,
}

/// Whether something uses a table.
pub type UsesTable = fn(&Router, u32) -> bool;

/// The number of a policer, by name.
pub type FindPolicer = fn(&Router, &str) -> Option<u32>;

/// A table, as control keeps it.
struct Owned {
    sessions: Sessions,
    buckets: u32,
    memory: u64,
}

/// A table to be made.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// The bits that count, in whole vectors.
    pub mask: Vec<u8>,
    /// Vectors left out before them.
    pub skip: u32,
    /// Buckets, which clients are shown; sessions are found without.
    pub buckets: u32,
    /// Memory in bytes; limits the number of sessions.
    pub memory: u64,
    /// The table that is asked next, or [`NONE`].
    pub next: u32,
    /// Next node of packets that are not found.
    pub miss_next: u32,
    /// Start of the bytes.
    pub from: From,
    /// Its number; the first that is free unless given.
    pub index: Option<u32>,
}

impl Default for NewTable {
    fn default() -> Self {
        let (buckets, memory, next, miss_next) = (2, 2 << 20, NONE, NONE);
        let (mask, from, index) = (Vec::new(), From::Layer2, None);
        Self { mask, skip: 0, buckets, memory, next, miss_next, from, index }
    }
}

/// A session to be made.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Bytes of a packet, from where the table looks: vectors that are left out, then those that
    /// are compared.
    pub matched: Vec<u8>,
    /// Next node of a packet that is equal.
    pub hit_next: u32,
    /// A number for the table's user.
    pub opaque: u32,
    /// Bytes to advance the packet, may be negative.
    pub advance: i32,
    /// Action on it.
    pub action: SessionAction,
}

/// The action of a session.
#[derive(Words, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAction {
    /// Nothing.
    #[default]
    None,
    /// Look them up in this table of IPv4, which is created if necessary.
    #[word("set-ip4-fib-id")]
    Table4(u32),
    /// As [`SessionAction::Table4`], of IPv6.
    #[word("set-ip6-fib-id")]
    Table6(u32),
    /// Give them this number.
    #[word("set-metadata")]
    Metadata(u32),
    /// Mark their flows.
    #[word("mark-flow")]
    Mark(u32),
}

/// A table as it is shown.
pub struct Info<'c> {
    /// The table as threads see it.
    pub table: &'c Table,
    /// Its sessions.
    pub sessions: &'c Sessions,
    /// Buckets.
    pub buckets: u32,
    /// Bytes.
    pub memory: u64,
}

impl Classifier {
    pub(super) fn new() -> io::Result<Self> {
        let tables = SharedSlab::new(MOST_TABLES)?;
        let (owned, filters) = (HashMap::new(), Filters::default());
        Ok(Self { tables, owned, filters, policer: None, users: Vec::new() })
    }
    pub(super) fn reader(&self) -> SlabReader<Table> {
        self.tables.reader()
    }
    /// Indexes of all tables.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.tables.iter().map(|(number, _)| number)
    }
    /// A table.
    pub fn table(&self, number: u32) -> Option<Info<'_>> {
        let owned = self.owned.get(&number)?;
        let Owned { sessions, buckets, memory } = owned;
        let (buckets, memory) = (*buckets, *memory);
        Some(Info { table: self.tables.at(number)?, sessions, buckets, memory })
    }
    /// The tables of a chain, in the order in which they are asked.
    pub fn chain(&self, first: u32) -> Vec<u32> {
        let next = |number: &u32| self.tables.at(*number).map(|table| table.next);
        let is_table = |number: &u32| self.tables.at(*number).is_some();
        let all = std::iter::successors(Some(first).filter(is_table), |n| next(n).filter(is_table));
        all.take(MOST_CHAINED).collect()
    }
    /// Sets the next table of a table.
    pub(super) fn link(&mut self, number: u32, next: u32) {
        if let Some(mut table) = self.tables.at(number).cloned() {
            table.next = next;
            self.tables.replace(number, table);
        }
    }
}

/// The classifier.
pub(super) fn of(router: &mut Router) -> &mut Classifier {
    router.own_mut()
}

/// All tables, for nodes of other plugins.
pub fn reader(router: &Router) -> SlabReader<Table> {
    router.own::<Classifier>().reader()
}

/// The tables of interfaces, for nodes of other plugins.
pub fn interfaces(router: &Router) -> SlabReader<Tables> {
    router.own::<OfInterfaces>().0.clone()
}

/// Reads the tables of interfaces.
pub(super) struct OfInterfaces(pub SlabReader<Tables>);

/// Protects a table while a feature uses it.
pub fn add_user(router: &mut Router, uses: UsesTable) {
    of(router).users.push(uses);
}

/// Lets sessions name policers, applied by nodes of that plugin.
pub fn name_policers(router: &mut Router, find: FindPolicer) {
    of(router).policer = Some(find);
}

/// Makes a table; returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_table(router: &mut Router, new: &NewTable) -> Result<u32, Error> {
    if new.memory == 0 {
        return Err(Error::NoMemory);
    }
    if new.buckets == 0 {
        return Err(Error::NoBuckets);
    }
    let mask = Mask::new(&new.mask).ok_or(Error::Mask)?;
    let skip = new.skip as usize;
    if skip > MOST_SKIPPED {
        return Err(Error::Skip);
    }
    let threads = router.engine.thread_rows();
    let all = of(router);
    let is_known = new.next == NONE || all.tables.at(new.next).is_some();
    if !is_known {
        return Err(Error::NoTable);
    }
    if all.chain(new.next).len() >= MOST_CHAINED {
        return Err(Error::Chain);
    }
    let most = new.memory / (SESSION + new.mask.len() as u64);
    let most = most.clamp(1, MOST_SESSIONS) as usize;
    let sessions = Sessions::new(threads, most).map_err(|_| Error::Room)?;
    let table = sessions.table(mask, skip, new.from, new.next, new.miss_next);
    let number = match new.index {
        Some(index) if index as usize >= MOST_TABLES => return Err(Error::Tables),
        Some(index) if all.tables.at(index).is_some() => return Err(Error::Exists(index)),
        Some(index) => {
            all.tables.put(index, Some(table));
            index
        }
        None => all.tables.insert(table).map_err(|_| Error::Tables)?,
    };
    let buckets = new.buckets.checked_next_power_of_two().unwrap_or(1 << 31);
    all.owned.insert(number, Owned { sessions, buckets, memory: new.memory });
    Ok(number)
}

/// Sets the next table on a miss, or none.
///
/// # Errors
/// [`Error::NoTable`], [`Error::Chain`]; nothing has changed then.
pub fn set_next(router: &mut Router, number: u32, next: u32) -> Result<(), Error> {
    let all = of(router);
    let is_known = |n: u32| all.tables.at(n).is_some();
    if !is_known(number) || next != NONE && !is_known(next) {
        return Err(Error::NoTable);
    }
    let behind = all.chain(next);
    if behind.contains(&number) || behind.len() >= MOST_CHAINED {
        return Err(Error::Chain);
    }
    all.link(number, next);
    Ok(())
}

/// Deletes a table, or the whole chain that begins with it.
///
/// # Errors
/// [`Error::NoTable`], [`Error::InUse`]; nothing has changed then.
pub fn remove_table(router: &mut Router, number: u32, is_chain: bool) -> Result<(), Error> {
    let all = of(router);
    all.tables.at(number).ok_or(Error::NoTable)?;
    let gone = if is_chain { all.chain(number) } else { vec![number] };
    let asks = |(n, table): (u32, &Table)| !gone.contains(&n) && gone.contains(&table.next);
    let is_asked = all.tables.iter().any(asks);
    let is_filter = gone.iter().any(|n| all.filters.uses(*n));
    if is_asked || is_filter || gone.iter().any(|n| uses::is_used(router, *n)) {
        return Err(Error::InUse);
    }
    drop_tables(router, &gone);
    Ok(())
}

/// Deletes tables that nothing uses.
pub(super) fn drop_tables(router: &mut Router, gone: &[u32]) {
    for number in gone {
        let all = of(router);
        all.tables.remove(*number);
        let Some(owned) = all.owned.remove(number) else { continue };
        let actions: Vec<_> = owned.sessions.iter().map(|(_, s)| s.action).collect();
        actions.into_iter().for_each(|action| release(router, action));
    }
}

/// Adds a session to a table, or changes the one for the same packets.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_session(router: &mut Router, number: u32, new: &NewSession) -> Result<(), Error> {
    let (mask, key) = key(router, number, &new.matched)?;
    let old = action_of(router, number, &mask, &key)?;
    if matches!(old, Some(Action::Redirect(_))) {
        return Err(Error::Redirects);
    }
    let action = hold(router, new.action)?;
    let NewSession { hit_next, opaque, advance, .. } = *new;
    let session = Session { key, hit_next, opaque, advance, action, before: 0 };
    let owned = of(router).owned.get_mut(&number).ok_or(Error::NoTable)?;
    if owned.sessions.put(&mask, session).is_none() {
        release(router, action);
        return Err(Error::Sessions);
    }
    release(router, old.unwrap_or_default());
    Ok(())
}

/// The action of the session with a key; an error where there is neither that nor room for it.
fn action_of(
    router: &mut Router,
    number: u32,
    mask: &Mask,
    key: &super::Key,
) -> Result<Option<Action>, Error> {
    let sessions = &of(router).owned.get(&number).ok_or(Error::NoTable)?.sessions;
    let old = sessions.get(mask, key).map(|session| session.action);
    if old.is_none() && sessions.count() >= sessions.most() {
        return Err(Error::Sessions);
    }
    Ok(old)
}

/// Makes packets that match a table of the ACLs of received or punted packets leave by a load
/// balance, which its owner keeps until [`end_redirect`]. Returns the previous one.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn redirect(
    router: &mut Router,
    number: u32,
    matched: &[u8],
    opaque: u32,
    balance: u32,
) -> Result<Option<u32>, Error> {
    let (mask, key) = key(router, number, matched)?;
    let before = match action_of(router, number, &mask, &key)? {
        None => None,
        Some(Action::Redirect(balance)) => Some(balance),
        Some(_) => return Err(Error::HasSession),
    };
    let action = Action::Redirect(balance);
    let session = Session { key, hit_next: NONE, opaque, advance: 0, action, before: 0 };
    let owned = of(router).owned.get_mut(&number).ok_or(Error::NoTable)?;
    owned.sessions.put(&mask, session).ok_or(Error::Sessions)?;
    Ok(before)
}

/// Takes a session of [`redirect`] out of a table, and returns its load balance.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn end_redirect(router: &mut Router, number: u32, matched: &[u8]) -> Result<u32, Error> {
    let (mask, key) = key(router, number, matched)?;
    let owned = of(router).owned.get_mut(&number).ok_or(Error::NoTable)?;
    let Some(Action::Redirect(balance)) = owned.sessions.get(&mask, &key).map(|s| s.action) else {
        return Err(Error::NoSession);
    };
    owned.sessions.remove(&mask, &key);
    Ok(balance)
}

/// Takes a session out of a table.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_session(router: &mut Router, number: u32, matched: &[u8]) -> Result<(), Error> {
    let (mask, key) = key(router, number, matched)?;
    let owned = of(router).owned.get_mut(&number).ok_or(Error::NoTable)?;
    if matches!(owned.sessions.get(&mask, &key), Some(s) if matches!(s.action, Action::Redirect(_)))
    {
        return Err(Error::Redirects);
    }
    let gone = owned.sessions.remove(&mask, &key).ok_or(Error::NoSession)?;
    release(router, gone.action);
    Ok(())
}

fn key(router: &mut Router, number: u32, matched: &[u8]) -> Result<(Mask, super::Key), Error> {
    let table = of(router).tables.at(number).ok_or(Error::NoTable)?;
    let skipped = table.skip * VECTOR;
    if matched.len() < skipped + table.mask.vectors() * VECTOR {
        return Err(Error::Match);
    }
    Ok((table.mask, table.mask.key(&matched[skipped..])))
}

/// Action of a session, the routing table it needs being held.
fn hold(router: &mut Router, doing: SessionAction) -> Result<Action, Error> {
    let (version, id) = match doing {
        SessionAction::None => return Ok(Action::None),
        SessionAction::Metadata(number) => return Ok(Action::Metadata(number)),
        SessionAction::Mark(number) => return Ok(Action::Mark(number)),
        SessionAction::Table4(id) => (IpVersion::V4, id),
        SessionAction::Table6(id) => (IpVersion::V6, id),
    };
    let TableIndex(fib) = router.hold_table_of(version, id).map_err(|_| Error::NoFib(id))?;
    Ok(Action::Table { id, version, fib })
}

fn release(router: &mut Router, action: Action) {
    if let Action::Table { version, fib, .. } = action {
        router.use_table_of(version, TableIndex(fib), false);
    }
}
