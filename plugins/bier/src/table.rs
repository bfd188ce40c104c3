//! Tables of bit positions (RFC 8279 section 6): the path of each position, and with which
//! others.
//!
//! Nodes read a table in which every path already knows all positions that take it (the F-BM of
//! section 6.4). Positions with several paths have one for each of [`CHOICES`] values of the
//! entropy, and masks of their own for each (section 6.7).

use net::fib::{Followed, Label, Object, Path, Source};
use net::prelude::*;
use wire::bier;

use super::{Bier, Error};

/// Most tables.
const MOST_TABLES: usize = 1 << 12;
/// Most paths out.
const MOST_WAYS: usize = 1 << 16;
/// Values of the entropy that choose differently.
pub const CHOICES: usize = 16;

/// Identifier of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId {
    /// Set of positions.
    pub set: u8,
    /// Sub-domain.
    pub sub_domain: u8,
    /// Code of the length of bit strings.
    pub length: u8,
}

impl TableId {
    /// Bytes of its bit strings.
    pub fn string_len(self) -> usize {
        bier::string_len(self.length).unwrap_or_default()
    }
    /// Number in the header of packets that no label led here.
    pub fn number(self) -> u32 {
        bier::table_number(self.length, self.sub_domain, self.set)
    }
}

/// A path of a position, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BierPath {
    /// To another router; the last label of the path names the table there.
    Out(Path),
    /// To this router, by this disposition table.
    Disposition(u32),
}

/// The targets of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Onward {
    /// To another router.
    Output(u32),
    /// To this one.
    Disposition(u32),
}

/// A path out, as nodes read it.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Load balance of its packets.
    pub balance: u32,
    /// Label, or number of the table.
    pub label: u32,
    /// Its traffic class; `None` for that of the packet.
    pub exp: Option<u8>,
}

/// A path and all positions that take it.
#[derive(Clone, Debug)]
pub struct Mask {
    /// The path.
    pub to: Onward,
    /// The positions, as a bit string.
    pub bits: Box<[u8]>,
}

/// The paths for one choice.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Number of the mask of each position, plus one; 0 for none.
    by_position: Box<[u16]>,
    masks: Vec<Mask>,
}

impl Choice {
    /// The path of a position, the first of which is 1.
    #[inline(always)]
    pub fn of(&self, position: u32) -> Option<&Mask> {
        let number = *self.by_position.get(position.checked_sub(1)? as usize)?;
        self.masks.get(usize::from(number).checked_sub(1)?)
    }
}

/// A table, as nodes read it.
#[derive(Clone, Debug)]
pub struct Bift {
    /// Code of the length of bit strings.
    pub length: u8,
    choices: Box<[Choice]>,
}

impl Bift {
    /// The paths for an entropy.
    #[inline(always)]
    pub fn choice(&self, entropy: u32) -> Option<&Choice> {
        self.choices.get(entropy as usize % self.choices.len().max(1))
    }
}

/// A table, as control keeps it.
pub struct Table {
    /// The label that leads here.
    pub label: Option<u32>,
    /// Number by which nodes know it.
    pub index: u32,
    /// The paths of each position.
    pub routes: BTreeMap<u32, Vec<(BierPath, Onward)>>,
    /// Headers that are put on for it.
    pub users: u32,
}

/// A path out, as control keeps it.
pub struct Kept {
    /// Number by which nodes know it.
    pub index: u32,
    /// The route that it follows.
    pub followed: Followed,
    users: u32,
}

/// All tables, and the paths out.
pub struct Tables {
    /// All tables.
    pub all: BTreeMap<TableId, Table>,
    /// As nodes read them.
    pub bifts: SharedSlab<Bift>,
    /// By what packets say that no label led here.
    pub numbers: Shared<HashMap<u32, u32>>,
    /// Forwarding masks: the path and, without a label, the number of the table.
    pub fmasks: HashMap<(Path, Option<u32>), Kept>,
    /// As nodes read them.
    pub outputs: SharedSlab<Output>,
}

impl Tables {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            all: BTreeMap::new(),
            bifts: SharedSlab::new(MOST_TABLES)?,
            numbers: Shared::new(HashMap::new()),
            fmasks: HashMap::new(),
            outputs: SharedSlab::new(MOST_WAYS)?,
        })
    }
    fn publish_numbers(&mut self) {
        let numbers = self.all.iter().map(|(id, t)| (id.number(), t.index)).collect();
        self.numbers.publish(numbers);
    }
    /// Publishes a table to nodes.
    fn publish(&mut self, id: TableId) {
        let Some(table) = self.all.get(&id) else { return };
        let is_single = table.routes.values().all(|paths| paths.len() == 1);
        let count = if is_single { 1 } else { CHOICES };
        let choices = (0..count).map(|n| choice(id, &table.routes, n)).collect();
        self.bifts.replace(table.index, Bift { length: id.length, choices });
    }
}

/// The paths of all positions for a choice.
fn choice(id: TableId, routes: &BTreeMap<u32, Vec<(BierPath, Onward)>>, n: usize) -> Choice {
    let len = id.string_len();
    let mut by_position = vec![0; len * 8];
    let (mut masks, mut known) = (Vec::new(), HashMap::new());
    for (position, paths) in routes {
        let Some((_, to)) = paths.get(n % paths.len().max(1)) else { continue };
        let at = *known.entry(*to).or_insert_with(|| {
            masks.push(Mask { to: *to, bits: vec![0; len].into() });
            masks.len()
        });
        bier::set_position(&mut masks[at - 1].bits, *position);
        by_position[*position as usize - 1] = at as u16;
    }
    Choice { by_position: by_position.into(), masks }
}

fn tables(router: &mut Router) -> &mut Tables {
    &mut router.own_mut::<Bier>().tables
}

/// Adds a table; an existing table takes the new label.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, id: TableId, label: Option<u32>) -> Result<(), Error> {
    if bier::string_len(id.length).is_none() {
        return Err(Error::Length);
    }
    let index = match tables(router).all.get(&id) {
        Some(t) => t.index,
        None => {
            let bift = Bift { length: id.length, choices: Box::default() };
            let index = tables(router).bifts.insert(bift).map_err(|_| Error::Full)?;
            let (routes, users) = (BTreeMap::new(), 0);
            tables(router).all.insert(id, Table { label: None, index, routes, users });
            tables(router).publish(id);
            index
        }
    };
    let old = tables(router).all.get(&id).and_then(|t| t.label);
    if let Some(label) = label.filter(|_| label != old) {
        let object = Object { kind: router.own::<Bier>().kinds.table, index };
        let paths = vec![Path::to(Target::Object(object))];
        let (source, of) = (Source::SPECIAL, Link::Mpls);
        let route = mpls::Route { source, of, paths, is_multicast: false, bound: None };
        if let Err(e) = mpls::lead_label(router, 0, (label, true), route) {
            if old.is_none() && tables(router).all[&id].routes.is_empty() {
                tables(router).all.remove(&id);
                tables(router).bifts.remove(index);
            }
            return Err(e.into());
        }
    }
    if let Some(old) = old.filter(|_| label != old) {
        mpls::leave_label(router, 0, (old, true), Source::SPECIAL);
    }
    if let Some(t) = tables(router).all.get_mut(&id) {
        t.label = label;
    }
    tables(router).publish_numbers();
    Ok(())
}

/// Deletes a table with its routes.
///
/// # Errors
/// [`Error::NoTable`]; [`Error::InUse`] while headers are put on for it.
pub fn remove(router: &mut Router, id: TableId) -> Result<(), Error> {
    let table = tables(router).all.get(&id).ok_or(Error::NoTable)?;
    if table.users > 0 {
        return Err(Error::InUse);
    }
    let gone = tables(router).all.remove(&id).ok_or(Error::NoTable)?;
    if let Some(label) = gone.label {
        mpls::leave_label(router, 0, (label, true), Source::SPECIAL);
    }
    tables(router).publish_numbers();
    tables(router).bifts.remove(gone.index);
    gone.routes.into_values().flatten().for_each(|(bier_path, _)| release(router, id, &bier_path));
    Ok(())
}

/// Sets the paths of a position; without any it is deleted.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_route(
    router: &mut Router,
    id: TableId,
    position: u32,
    paths: Vec<BierPath>,
) -> Result<(), Error> {
    if !tables(router).all.contains_key(&id) {
        return Err(Error::NoTable);
    }
    if position == 0 || position as usize > id.string_len() * 8 {
        return Err(Error::Position);
    }
    let mut new = Vec::with_capacity(paths.len());
    for bier_path in paths {
        match hold(router, id, &bier_path) {
            Ok(onward) => new.push((bier_path, onward)),
            Err(e) => {
                new.iter().for_each(|(bier_path, _)| release(router, id, bier_path));
                return Err(e);
            }
        }
    }
    let Some(table) = tables(router).all.get_mut(&id) else { return Err(Error::NoTable) };
    let old = match new.is_empty() {
        true => table.routes.remove(&position),
        false => table.routes.insert(position, new),
    };
    tables(router).publish(id);
    old.into_iter().flatten().for_each(|(bier_path, _)| release(router, id, &bier_path));
    Ok(())
}

/// Adds or deletes paths of a position: all if none is given.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn change_route(
    router: &mut Router,
    id: TableId,
    position: u32,
    changed: Vec<BierPath>,
    is_add: bool,
) -> Result<(), Error> {
    let table = tables(router).all.get(&id).ok_or(Error::NoTable)?;
    let had = table.routes.get(&position).map_or(&[][..], |paths| paths);
    let others = had
        .iter()
        .map(|(bier_path, _)| bier_path)
        .filter(|bier_path| !changed.contains(bier_path))
        .cloned();
    let paths = match is_add {
        false if changed.is_empty() => Vec::new(),
        false => others.collect(),
        true => others.chain(changed.iter().cloned()).collect(),
    };
    set_route(router, id, position, paths)
}

/// Key of a path.
fn key(id: TableId, path: &Path) -> (Path, Option<u32>) {
    let number = path.pushed().next().is_none().then(|| id.number());
    (path.clone(), number)
}

fn hold(router: &mut Router, id: TableId, bier_path: &BierPath) -> Result<Onward, Error> {
    let path = match bier_path {
        BierPath::Disposition(table) => {
            let known = router.own::<Bier>().dispositions.all.get(table);
            return known.map(|t| Onward::Disposition(t.index)).ok_or(Error::NoDisposition);
        }
        BierPath::Out(path) => path,
    };
    let key = key(id, path);
    if let Some(kept) = tables(router).fmasks.get_mut(&key) {
        kept.users += 1;
        return Ok(Onward::Output(kept.index));
    }
    let mut labels: Vec<Label> = path.labels.as_deref().unwrap_or_default().to_vec();
    let own = labels.pop().filter(|l| l.value != Label::IMPLICIT_NULL);
    let is_object = matches!(path.target, Target::Object(_));
    if own.is_none() && !is_object {
        return Err(Error::NoLabel);
    }
    let labels = Some(labels).filter(|l| !l.is_empty()).map(Into::into);
    let followed = router.follow_paths(&[Path { labels, ..path.clone() }], None)?;
    let output = Output {
        balance: followed.load_balance(),
        label: own.map_or_else(|| id.number(), |l| l.value),
        exp: own.filter(|l| !l.is_uniform && l.exp > 0).map(|l| l.exp),
    };
    let Ok(index) = tables(router).outputs.insert(output) else {
        router.unfollow(followed);
        return Err(Error::Full);
    };
    tables(router).fmasks.insert(key, Kept { index, followed, users: 1 });
    Ok(Onward::Output(index))
}

fn release(router: &mut Router, id: TableId, bier_path: &BierPath) {
    let BierPath::Out(path) = bier_path else { return };
    let key = key(id, path);
    let Some(kept) = tables(router).fmasks.get_mut(&key) else { return };
    kept.users -= 1;
    if kept.users == 0
        && let Some(gone) = tables(router).fmasks.remove(&key)
    {
        tables(router).outputs.remove(gone.index);
        router.unfollow(gone.followed);
    }
}
