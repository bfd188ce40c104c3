//! Namespaces limit applications to a part of the stack: an interface with its tables and
//! addresses, or one table per IP version. They can be protected by a secret.
//!
//! Namespace `default` exists while the layer is enabled. A namespace of an interface follows it to
//! other tables; if the interface is deleted, the namespace keeps the tables.

use std::collections::BTreeMap;

use control::Secret;
use control::cli::is_word;
use net::fib::TableIndex;
use net::interface::Change as InterfaceChange;
use net::{InterfaceIndex, Router};
use wire::IpVersion;

use super::error::Error;
use super::published;
use super::{Control, Hook, check_enabled};

/// Limit of namespaces.
pub const MOST_NAMESPACES: usize = 4096;
/// The default namespace.
pub const DEFAULT: &str = "default";
/// Longest ID in bytes.
const LONGEST_ID: usize = 63;
/// Longest socket name in bytes.
const LONGEST_SOCKET: usize = 107;

/// The binding of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// An interface.
    Interface(InterfaceIndex),
    /// IDs of the IPv4 and the IPv6 table.
    Tables([Option<u32>; 2]),
}

/// Parameters of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNamespace {
    /// ID.
    pub id: String,
    /// Secret that applications need; 0 for none.
    pub secret: Secret<u64>,
    /// Binding.
    pub binding: Binding,
    /// Name of its socket; empty for the default one.
    pub socket: String,
}

/// A namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Its parameters.
    pub of: NewNamespace,
    /// Its tables.
    pub tables: [Option<TableIndex>; 2],
}

/// Changes of namespaces, for callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The namespace was added.
    Added,
    /// Its tables or its interface changed.
    Moved,
    /// About to be deleted.
    Deleting,
}

/// All namespaces by number.
#[derive(Debug, Default)]
pub struct Namespaces {
    all: BTreeMap<u32, Namespace>,
    by_id: BTreeMap<String, u32>,
}

impl Namespaces {
    /// A namespace.
    pub fn at(&self, index: u32) -> Option<&Namespace> {
        self.all.get(&index)
    }
    /// The number of a namespace.
    pub fn named(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Namespace)> {
        self.all.iter().map(|(index, namespace)| (*index, namespace))
    }
    fn free_index(&self) -> u32 {
        let used = self.all.keys().zip(0..).take_while(|(used, index)| *used == index);
        used.count() as u32
    }
}

/// The namespace with this ID, if the secret is right.
///
/// # Errors
/// [`Error::NoNamespace`], [`Error::WrongSecret`].
pub fn admitted(router: &Router, id: &str, secret: u64) -> Result<u32, Error> {
    check_enabled(router)?;
    let id = if id.is_empty() { DEFAULT } else { id };
    let index = index_of(router, id)?;
    let of = router.own::<Control>().namespaces.at(index).expect("it was found");
    // Both are 8 bytes; comparing them as one number takes constant time.
    let is_right = *of.of.secret == secret;
    if is_right { Ok(index) } else { Err(Error::WrongSecret(id.to_owned())) }
}

/// The number of a namespace.
///
/// # Errors
/// [`Error::NoNamespace`].
pub fn index_of(router: &Router, id: &str) -> Result<u32, Error> {
    let namespaces = &router.own::<Control>().namespaces;
    namespaces.named(id).ok_or_else(|| Error::NoNamespace(id.to_owned()))
}

/// All namespaces by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Namespace)> {
    router.own::<Control>().namespaces.iter()
}

/// A namespace.
///
/// # Errors
/// [`Error::NoNamespaceIndex`].
pub fn at(router: &Router, index: u32) -> Result<&Namespace, Error> {
    router.own::<Control>().namespaces.at(index).ok_or(Error::NoNamespaceIndex(index))
}

/// Adds a namespace, or changes an existing one, and returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, new: NewNamespace) -> Result<u32, Error> {
    check_enabled(router)?;
    let is_id = is_word(&new.id) && new.id.is_ascii() && new.id.len() <= LONGEST_ID;
    if !is_id {
        return Err(Error::BadId);
    }
    if new.id == DEFAULT {
        return Err(Error::IsDefault);
    }
    let is_socket = is_word(&new.socket) && new.socket.len() <= LONGEST_SOCKET;
    if !(new.socket.is_empty() || is_socket) {
        return Err(Error::BadSocketName);
    }
    put(router, new)
}

/// Adds namespace `default`, with the first tables and without a secret.
pub(super) fn add_default(router: &mut Router) -> Result<(), Error> {
    let binding = Binding::Tables([Some(0); 2]);
    let (id, secret) = (DEFAULT.to_owned(), Secret(0));
    put(router, NewNamespace { id, secret, binding, socket: String::new() }).map(drop)
}

fn put(router: &mut Router, new: NewNamespace) -> Result<u32, Error> {
    let tables = tables_of(router, new.binding)?;
    let namespaces = &router.own::<Control>().namespaces;
    let (index, is_new) = match namespaces.named(&new.id) {
        Some(index) => (index, false),
        None if namespaces.all.len() >= MOST_NAMESPACES => return Err(Error::TooManyNamespaces),
        None => (namespaces.free_index(), true),
    };
    use_tables(router, new.binding, tables, true);
    let control = router.own_mut::<Control>();
    control.namespaces.by_id.insert(new.id.clone(), index);
    let old = control.namespaces.all.insert(index, Namespace { of: new, tables });
    if let Some(old) = old {
        use_tables(router, old.of.binding, old.tables, false);
    }
    enter(router, index);
    tell(router, index, if is_new { Change::Added } else { Change::Moved });
    Ok(index)
}

/// Deletes a namespace. Its applications are detached.
///
/// # Errors
/// [`Error::NoNamespace`], [`Error::IsDefault`].
pub fn remove(router: &mut Router, id: &str) -> Result<u32, Error> {
    check_enabled(router)?;
    let index = index_of(router, id)?;
    if id == DEFAULT {
        return Err(Error::IsDefault);
    }
    take_out(router, index);
    Ok(index)
}

/// Deletes all namespaces.
pub(super) fn remove_all(router: &mut Router) {
    let all: Vec<u32> = router.own::<Control>().namespaces.all.keys().copied().collect();
    all.into_iter().for_each(|index| take_out(router, index));
}

fn take_out(router: &mut Router, index: u32) {
    tell(router, index, Change::Deleting);
    let control = router.own_mut::<Control>();
    let Some(old) = control.namespaces.all.remove(&index) else { return };
    control.namespaces.by_id.remove(&old.of.id);
    control.published.namespaces.put(index, None);
    control.tables.leave(index);
    use_tables(router, old.of.binding, old.tables, false);
}

/// The tables of a binding.
fn tables_of(router: &Router, binding: Binding) -> Result<[Option<TableIndex>; 2], Error> {
    match binding {
        Binding::Interface(interface) => {
            router.interfaces.at(interface).ok_or(Error::NoInterface)?;
            let on = router.addresses.of(interface);
            Ok([Some(on.table4), Some(on.table6)])
        }
        Binding::Tables([None, None]) => Err(Error::NoTables),
        Binding::Tables(ids) => {
            let mut tables = [None; 2];
            for (version, (table, id)) in IpVersion::ALL.into_iter().zip(tables.iter_mut().zip(ids))
            {
                let find = |id| {
                    let found = router.fib.table_for(version, id);
                    found.ok_or(Error::NoTable(version.name(), id))
                };
                *table = id.map(find).transpose()?;
            }
            Ok(tables)
        }
    }
}

/// Adds or removes references to the tables of a namespace that is bound to tables.
fn use_tables(router: &mut Router, binding: Binding, tables: [Option<TableIndex>; 2], uses: bool) {
    if matches!(binding, Binding::Interface(_)) {
        return;
    }
    for (version, table) in IpVersion::ALL.into_iter().zip(tables) {
        if let Some(table) = table {
            router.use_table_of(version, table, uses);
        }
    }
}

/// Publishes a namespace, and adds it to the filters of its tables.
fn enter(router: &mut Router, index: u32) {
    let control = router.own_mut::<Control>();
    let Some(namespace) = control.namespaces.all.get(&index) else { return };
    let interface = match namespace.of.binding {
        Binding::Interface(interface) => Some(interface),
        Binding::Tables(_) => None,
    };
    let tables = namespace.tables;
    control.published.namespaces.put(index, Some(published::Namespace { tables, interface }));
    control.tables.enter(index, tables);
}

fn tell(router: &mut Router, index: u32, change: Change) {
    let hooks: Vec<Hook> = router.own::<Control>().hooks.iter().copied().collect();
    for hook in hooks {
        (hook.namespace)(router, index, change);
    }
}

/// Moves the namespaces of an interface to its new tables.
pub(super) fn follow_tables(router: &mut Router, interface: InterfaceIndex) {
    let on = router.addresses.of(interface);
    let tables = [Some(on.table4), Some(on.table6)];
    let namespaces = &mut router.own_mut::<Control>().namespaces;
    let mut moved = Vec::new();
    for (index, namespace) in &mut namespaces.all {
        let is_bound = namespace.of.binding == Binding::Interface(interface);
        if is_bound && namespace.tables != tables {
            namespace.tables = tables;
            moved.push(*index);
        }
    }
    for index in moved {
        enter(router, index);
        tell(router, index, Change::Moved);
    }
}

/// Binds the namespaces of an interface that is deleted to its tables.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, change: InterfaceChange) {
    if change != InterfaceChange::Deleting {
        return;
    }
    let bound = router.own::<Control>().namespaces.iter();
    let bound = bound.filter(|(_, n)| n.of.binding == Binding::Interface(interface));
    let bound: Vec<_> = bound.map(|(index, n)| (index, n.tables)).collect();
    for (index, tables) in bound {
        let ids = [0, 1]
            .map(|v| tables[v].and_then(|table| router.fib.table_id_for(IpVersion::ALL[v], table)));
        let binding = Binding::Tables(ids);
        use_tables(router, binding, tables, true);
        let all = &mut router.own_mut::<Control>().namespaces.all;
        all.get_mut(&index).expect("it was found").of.binding = binding;
        enter(router, index);
        tell(router, index, Change::Moved);
    }
}
