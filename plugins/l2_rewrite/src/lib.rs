//! Rewriting bytes of bridged frames: entries of mask and value, which sessions of the classifier
//! name.
#![forbid(unsafe_code)]

mod cli;
mod node;

use net::ethernet::L2_INPUT;
use net::prelude::*;

pub use classify::NONE;
pub use node::Rewrite;

/// Entries at most.
const MOST: usize = 1 << 16;
/// Bytes at most that an entry covers, with those left out: of a packet's first segment.
const MOST_BYTES: usize = 1024;
/// The node's name.
const NODE: &str = "l2-rw";

/// Rewriting of bridged frames.
pub const FEATURE: Feature = Feature {
    name: "l2_rewrite",
    about: "Rewriting bytes of bridged frames",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["l2", "classify"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Bits that become others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Bytes to skip.
    pub skip: usize,
    /// Bits to rewrite.
    pub mask: Vec<u8>,
    /// New value.
    pub value: Vec<u8>,
}

/// The setting of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The table of the classifier whose sessions name entries.
    pub table: u32,
    /// The entry for frames without a session.
    pub miss: u32,
}

impl Default for Rewritten {
    fn default() -> Self {
        Self { table: NONE, miss: NONE }
    }
}

/// Reasons why a request about rewriting is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such table
    #[retval(NO_SUCH_TABLE)]
    NoTable,
    /// no such entry
    #[retval(NO_SUCH_ENTRY)]
    NoEntry,
    /// the entry is in use
    #[retval(IN_USE)]
    InUse,
    /// mask and value must have the same length
    #[retval(INVALID_VALUE)]
    Length,
    /// at most 1024 bytes
    #[retval(INVALID_VALUE)]
    Long,
    /// at most 65536 entries
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

/// All entries.
struct Entries(SharedSlab<Entry>);

/// All entries, by number.
pub fn entries(router: &Router) -> impl Iterator<Item = (u32, &Entry)> {
    router.own::<Entries>().0.iter()
}

/// Makes an entry, or changes the one with a number; returns the number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_entry(router: &mut Router, index: Option<u32>, entry: Entry) -> Result<u32, Error> {
    if entry.mask.len() != entry.value.len() {
        return Err(Error::Length);
    }
    if entry.skip.saturating_add(entry.mask.len()) > MOST_BYTES {
        return Err(Error::Long);
    }
    let all = &mut router.own_mut::<Entries>().0;
    match index {
        None => all.insert(entry).map_err(|_| Error::Full),
        Some(index) if index as usize >= MOST => Err(Error::Full),
        Some(index) => {
            all.put(index, Some(entry));
            Ok(index)
        }
    }
}

/// Deletes an entry.
///
/// # Errors
/// [`Error::NoEntry`], [`Error::InUse`]; nothing has changed then.
pub fn remove_entry(router: &mut Router, index: u32) -> Result<(), Error> {
    router.own::<Entries>().0.at(index).ok_or(Error::NoEntry)?;
    if router.settings::<Rewritten>().any(|(_, set)| set.miss == index) {
        return Err(Error::InUse);
    }
    router.own_mut::<Entries>().0.remove(index);
    Ok(())
}

/// Sets how the frames of an interface are rewritten.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, interface: InterfaceIndex, new: Rewritten) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let tables = router.own::<classify::Classifier>();
    if new.table != NONE && tables.table(new.table).is_none() {
        return Err(Error::NoTable);
    }
    if new.miss != NONE && router.own::<Entries>().0.at(new.miss).is_none() {
        return Err(Error::NoEntry);
    }
    Ok(router.put(interface, new)?)
}

fn uses(router: &Router, table: u32) -> bool {
    router.settings::<Rewritten>().any(|(_, set)| set.table == table)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let entries = SharedSlab::new(MOST).map_err(refuse)?;
    let reader: SlabReader<Entry> = entries.reader();
    let interfaces = router.attach::<Rewritten>().map_err(refuse)?;
    let node = Rewrite { entries: reader, interfaces, tables: classify::reader(router) };
    router.engine.add_feature(&L2_INPUT, node).map_err(refuse)?;
    let is_on = |set: &Rewritten| *set != Rewritten::default();
    router.attach_at::<Rewritten, 1>([AttachedAt { arc: &L2_INPUT, node: NODE, is_on }]);
    router.insert(Entries(entries));
    classify::add_user(router, uses);
    cli::register(&mut parts.cli);
    Ok(())
}
