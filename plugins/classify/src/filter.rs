//! Filters of traces and captures: chains of tables, in which a packet must have a session.
#![forbid(unsafe_code)]

use graph::PacketContext;
use net::prelude::*;
use net::trace;

use super::key::VECTOR;
use super::table::{Match, Moment, NONE, Table, walk};
use super::tables::{self, NewSession, NewTable};
use super::{Error, From};

/// The owner of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterOwner {
    /// Traces.
    Trace,
    /// Captures, where the interface has no filter of its own.
    Captures,
    /// Captures on an interface.
    Interface(InterfaceIndex),
}

/// The first tables of the chains.
#[derive(Clone, Default)]
struct FirstTables(BTreeMap<FilterOwner, u32>);

/// All filters.
pub struct Filters(Shared<FirstTables>);

impl Default for Filters {
    fn default() -> Self {
        Self(Shared::new(FirstTables::default()))
    }
}

impl Filters {
    /// The first table of a filter.
    pub fn first(&self, of: FilterOwner) -> Option<u32> {
        self.0.current().0.get(&of).copied()
    }
    /// The filters there are, with their first tables.
    pub fn iter(&self) -> impl Iterator<Item = (FilterOwner, u32)> {
        self.0.current().0.iter().map(|(of, first)| (*of, *first))
    }
    /// Whether a filter begins with a table.
    pub(super) fn uses(&self, table: u32) -> bool {
        self.iter().any(|(_, first)| first == table)
    }
}

/// Chooses packets for traces, or for captures.
struct Chooser {
    tables: SlabReader<Table>,
    firsts: Reader<FirstTables>,
    is_trace: bool,
}

impl graph::Filter for Chooser {
    fn chooses(&self, interface: u32, bytes: &[u8], context: PacketContext<'_>) -> bool {
        let firsts = &self.firsts.read(context.epoch).0;
        let first = if self.is_trace {
            firsts.get(&FilterOwner::Trace)
        } else {
            let own = firsts.get(&FilterOwner::Interface(InterfaceIndex(interface)));
            own.or_else(|| firsts.get(&FilterOwner::Captures))
        };
        let Some(first) = first else { return false };
        let at = Moment { thread: context.thread, now: context.now, epoch: context.epoch };
        let from = |table: &Table| bytes.get(table.skip * VECTOR..).unwrap_or_default();
        matches!(walk(&self.tables, *first, &at, from), Match::Hit(..))
    }
}

/// Lets a filter begin with a table, or be none.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_first(router: &mut Router, of: FilterOwner, first: Option<u32>) -> Result<(), Error> {
    if let FilterOwner::Interface(interface) = of
        && router.interfaces.at(interface).is_none()
    {
        return Err(Error::NoInterface);
    }
    let all = tables::of(router);
    if first.is_some_and(|table| all.table(table).is_none()) {
        return Err(Error::NoTable);
    }
    let mut firsts = all.filters.0.current().clone();
    match first {
        Some(table) => firsts.0.insert(of, table),
        None => firsts.0.remove(&of),
    };
    let has_trace = firsts.0.contains_key(&FilterOwner::Trace);
    let has_captures = firsts.0.len() > usize::from(has_trace);
    let chooser = |is_trace| -> Arc<dyn graph::Filter> {
        Arc::new(Chooser { tables: all.reader(), firsts: all.filters.0.reader(), is_trace })
    };
    let traces = has_trace.then(|| chooser(true));
    let captures = has_captures.then(|| chooser(false));
    all.filters.0.publish(firsts);
    router.provide_filter(trace::USUAL, trace::Use::Traces, traces);
    router.provide_filter(trace::USUAL, trace::Use::Captures, captures);
    Ok(())
}

/// The table of a chain that has this mask.
pub fn lookup(router: &Router, first: Option<u32>, skip: u32, mask: &[u8]) -> Option<u32> {
    let all = router.own::<super::Classifier>();
    all.chain(first?).into_iter().find(|number| {
        let same =
            |t: super::Info<'_>| t.table.skip == skip as usize && t.table.mask.bytes() == mask;
        all.table(*number).is_some_and(same)
    })
}

/// Puts the tables of a chain in order, those that say most first; returns the first one.
pub fn sort(router: &mut Router, first: u32) -> u32 {
    let all = tables::of(router);
    let chain = all.chain(first);
    let behind = chain.last().and_then(|last| Some(all.table(*last)?.table.next));
    let says = |n: &u32| all.table(*n).map_or(0, |t| t.table.mask.count_ones());
    let mut sorted = chain;
    sorted.order_by_key(|n| std::cmp::Reverse(says(n)));
    let nexts = sorted.iter().skip(1).copied().chain(behind);
    for (number, next) in sorted.clone().into_iter().zip(nexts) {
        all.link(number, next);
    }
    sorted.first().copied().unwrap_or(first)
}

/// Adds matching packets to a filter.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    of: FilterOwner,
    new: &NewTable,
    matched: Vec<u8>,
) -> Result<(), Error> {
    if let FilterOwner::Interface(interface) = of
        && router.interfaces.at(interface).is_none()
    {
        return Err(Error::NoInterface);
    }
    let first = tables::of(router).filters.first(of);
    let known = lookup(router, first, new.skip, &new.mask);
    let next = first.unwrap_or(NONE);
    let table = match known {
        Some(table) => table,
        None => {
            tables::add_table(router, &NewTable { next, from: From::Current(0), ..new.clone() })?
        }
    };
    let session = NewSession {
        matched,
        hit_next: 0,
        opaque: NONE,
        advance: 0,
        action: tables::SessionAction::None,
    };
    if let Err(refused) = tables::add_session(router, table, &session) {
        if known.is_none() {
            tables::drop_tables(router, &[table]);
        }
        return Err(refused);
    }
    if known.is_none() {
        let first = sort(router, table);
        set_first(router, of, Some(first))?;
    }
    Ok(())
}

/// Ends a filter, or takes the table with a mask out of it.
///
/// # Errors
/// [`Error::NoFilter`], [`Error::InUse`]; nothing has changed then.
pub fn remove(
    router: &mut Router,
    of: FilterOwner,
    mask: Option<(u32, Vec<u8>)>,
) -> Result<(), Error> {
    let all = tables::of(router);
    let first = all.filters.first(of).ok_or(Error::NoFilter)?;
    let chain = all.chain(first);
    let gone = match mask {
        None => chain.clone(),
        Some((skip, mask)) => {
            vec![lookup(router, Some(first), skip, &mask).ok_or(Error::NoFilter)?]
        }
    };
    let all = tables::of(router);
    let others = || all.filters.iter().filter(|(other, _)| *other != of);
    if others().any(|(_, first)| all.chain(first).iter().any(|n| gone.contains(n)))
        || gone.iter().any(|n| super::uses::is_used(router, *n))
    {
        return Err(Error::InUse);
    }
    let left: Vec<u32> = chain.into_iter().filter(|n| !gone.contains(n)).collect();
    let all = tables::of(router);
    let nexts = left.iter().skip(1).copied().chain([NONE]);
    left.iter().zip(nexts).for_each(|(number, next)| all.link(*number, next));
    set_first(router, of, left.first().copied())?;
    tables::drop_tables(router, &gone);
    Ok(())
}

/// Ends the filter of an interface that goes.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let of = FilterOwner::Interface(interface);
    if change == Change::Deleting && tables::of(router).filters.first(of).is_some() {
        set_first(router, of, None).expect("an interface that is being deleted is still there");
    }
}
