//! The messages there are at a time: what is in a module, and which number it has.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::crc;
use super::describe;
use super::field::{Reader, Short};
use super::outgoing::Outgoing;
use super::schema::{Head, MessageInfo};
use super::work::{Caller, Registries, Work};
use crate::feature::Owner;

/// First number of a message that is not of the module `memclnt`.
const FIRST_FREE: u16 = 29;

/// Outcome of a request: answered at once (`None`) or in slices.
pub(super) type Answered<C> = Result<Option<Box<dyn Work<C>>>, Short>;
pub(super) type Answer<C> =
    dyn Fn(&mut C, Registries<'_, C>, Caller, &mut Reader<'_>, &mut Outgoing) -> Answered<C>;

/// All messages as they are now: who answers a request holds on to it.
pub(super) struct Table<C> {
    pub modules: Vec<ModuleEntry>,
    pub entries: Vec<Rc<Entry<C>>>,
    /// Entries by number of the message.
    pub by_id: Vec<Option<usize>>,
    pub by_name: HashMap<&'static str, usize>,
    /// First numbers of modules that went, by what was in them.
    gone: HashMap<Vec<(&'static str, u32)>, u16>,
    /// First number that no message has or had.
    next: u16,
    duplicate: Option<&'static str>,
}

impl<C> Clone for Table<C> {
    fn clone(&self) -> Self {
        Self {
            modules: self.modules.clone(),
            entries: self.entries.clone(),
            by_id: self.by_id.clone(),
            by_name: self.by_name.clone(),
            gone: self.gone.clone(),
            ..*self
        }
    }
}

/// A message and what is done with it.
pub(super) struct Entry<C> {
    pub info: &'static MessageInfo,
    pub crc: u32,
    pub module: usize,
    pub id: u16,
    pub service: Option<Service>,
    pub answer: Option<Rc<Answer<C>>>,
    /// Owner of the message.
    pub owner: Owner,
}

impl<C> Clone for Entry<C> {
    fn clone(&self) -> Self {
        Self { answer: self.answer.clone(), ..*self }
    }
}

/// Kind of answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Name of its reply, or of its rows when nothing comes after them; none for no answer.
    pub reply: Option<&'static str>,
    /// Whether rows come.
    pub is_stream: bool,
    /// Name of its rows when a reply comes after them.
    pub rows: Option<&'static str>,
    /// Events it registers for.
    pub events: &'static [&'static MessageInfo],
}

/// Folder in which clients look for the file of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// `core/`.
    Core,
    /// `plugins/`.
    Plugins,
}

/// A file of declarations.
#[derive(Clone)]
pub(super) struct ModuleEntry {
    pub name: &'static str,
    pub folder: Folder,
    pub version: &'static str,
}

/// Two messages of one name, or more than there are numbers for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unnumbered {
    /// Two messages have this name.
    Duplicate(&'static str),
    /// There is no number left for this one.
    TooMany(&'static str),
}

impl fmt::Display for Unnumbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(name) => write!(f, "duplicate message name {name}"),
            Self::TooMany(name) => write!(f, "no message ID left for {name}"),
        }
    }
}

impl std::error::Error for Unnumbered {}

impl<C: 'static> Table<C> {
    pub fn new() -> Self {
        Self {
            modules: Vec::new(),
            entries: Vec::new(),
            by_id: Vec::new(),
            by_name: HashMap::new(),
            gone: HashMap::new(),
            next: FIRST_FREE,
            duplicate: None,
        }
    }

    /// Number, name and CRC of all messages, by number.
    pub fn messages(&self) -> impl Iterator<Item = (u16, &'static MessageInfo, u32)> + '_ {
        let entries = self.by_id.iter().flatten().map(|at| &self.entries[*at]);
        entries.map(|e| (e.id, e.info, e.crc))
    }

    pub fn ranges(&self) -> Vec<(String, u16, u16)> {
        let modules = self.modules.iter().enumerate();
        let ranges = modules.filter(|(_, m)| m.name != super::memclnt::NAME);
        let ranges = ranges.filter_map(|(at, module)| {
            let ids = || self.entries_of(at).map(|e| e.id);
            let name = format!("{}_{:08x}", module.name, describe::file_crc(self, at));
            Some((name, ids().min()?, ids().max()?))
        });
        ranges.collect()
    }

    pub fn entries_of(&self, module: usize) -> impl Iterator<Item = &Entry<C>> {
        self.entries.iter().map(Rc::as_ref).filter(move |e| e.module == module)
    }

    pub fn modules(&self) -> &[ModuleEntry] {
        &self.modules
    }

    /// Numbers what has none yet, each module's one after the other.
    pub fn number(&mut self) -> Result<(), Unnumbered> {
        if let Some(name) = self.duplicate {
            return Err(Unnumbered::Duplicate(name));
        }
        let mut next = self.next;
        for module in 0..self.modules.len() {
            let is_fixed = self.modules[module].name == super::memclnt::NAME;
            let is_new = |e: &&mut Rc<Entry<C>>| e.module == module && e.id == 0;
            let new: Vec<_> = self.entries.iter_mut().filter(is_new).collect();
            let Some(first) = new.first().map(|e| e.info.name) else { continue };
            let names: Vec<_> = new.iter().map(|e| (e.info.name, e.crc)).collect();
            let known = if is_fixed { Some(1) } else { self.gone.remove(&names) };
            let start = known.unwrap_or(next);
            let end = u16::try_from(usize::from(start) + new.len());
            let end = end.map_err(|_| Unnumbered::TooMany(first))?;
            next = if known.is_some() { next } else { end };
            for (entry, id) in new.into_iter().zip(start..) {
                Rc::make_mut(entry).id = id;
            }
        }
        self.next = next;
        self.index();
        Ok(())
    }

    /// Rebuilds the index of messages.
    fn index(&mut self) {
        self.by_id = vec![None; usize::from(self.next)];
        self.by_name.clear();
        for (at, entry) in self.entries.iter().enumerate() {
            self.by_name.insert(entry.info.name, at);
            if entry.id > 0 {
                self.by_id[usize::from(entry.id)] = Some(at);
            }
        }
    }

    pub fn remove(&mut self, owner: Owner) {
        for module in 0..self.modules.len() {
            let is_his = |e: &&Rc<Entry<C>>| e.module == module && e.owner == owner && e.id > 0;
            let his: Vec<_> = self.entries.iter().filter(is_his).collect();
            if let Some(first) = his.first() {
                let names = his.iter().map(|e| (e.info.name, e.crc)).collect();
                self.gone.insert(names, first.id);
            }
        }
        self.entries.retain(|e| e.owner != owner);
        self.duplicate = None;
        self.index();
    }

    /// The entry of a message, a new one or one that is the same.
    pub fn add(&mut self, module: usize, info: &'static MessageInfo) -> Option<&mut Entry<C>> {
        if let Some(at) = self.by_name.get(info.name) {
            let at = *at;
            // A declaration that several requests name is the same one.
            let is_same = self.entries[at].answer.is_none() && info.head != Head::Request;
            if !is_same {
                self.duplicate.get_or_insert(info.name);
                return None;
            }
            return Some(Rc::make_mut(&mut self.entries[at]));
        }
        let (crc, owner) = (crc::of_message(info), Owner::current());
        self.by_name.insert(info.name, self.entries.len());
        let new = Entry { info, crc, module, id: 0, service: None, answer: None, owner };
        self.entries.push(Rc::new(new));
        self.entries.last_mut().map(Rc::make_mut)
    }
}
