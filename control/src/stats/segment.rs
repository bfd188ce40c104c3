//! The segment as its owner sees it.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use infra::counter::{Counter, Rows, VolumeCounter};
use infra::memory::shared::{Block, Region};
use serde::Serialize;

use super::directory::Directory;
use super::layout::{ENTRY, Kind, VERSION, header};
use super::names::NameVector;
use super::value::{Content, Value};
use super::vector::Vector;
use super::{Columns, Error};
use crate::feature::Owner;
use crate::wall;

/// Address space for the directory, names and what does not depend on the number of threads.
const SHARED: usize = 512 << 20;
/// Address space for the counters of one thread.
const EACH: usize = 256 << 20;
/// Names removed in one go.
const SLICE: usize = 1000;

/// The number that shows that the router lives; it counts updates.
pub const HEARTBEAT: Number = Number(0);
/// Time of the last `clear` of counters, in seconds since 1970; 0 for never.
pub const LAST_CLEAR: Number = Number(1);
/// Time of the router's start, in seconds since 1970.
pub const BOOT_TIME: Number = Number(2);
/// These at their places, where clients look without asking for their names.
const ALWAYS: [(Number, &str); 3] = [
    (HEARTBEAT, "/sys/heartbeat"),
    (LAST_CLEAR, "/sys/last_stats_clear"),
    (BOOT_TIME, "/sys/boottime"),
];

/// A scalar or gauge that [`Segment::set`] sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(u32);

/// Memory of the segment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Maximum bytes.
    pub total: u64,
    /// Bytes that its contents may touch.
    pub used: u64,
}

/// The statistics segment.
#[derive(Debug)]
pub struct Segment {
    pub(super) region: Arc<Region>,
    header: Block,
    pub(super) directory: Directory,
    threads: usize,
    /// Number of them that clients see; all if `None`.
    shown_threads: Option<usize>,
    usage: Usage,
    /// Entries whose columns grow together, and how far they have.
    groups: HashMap<&'static str, Group>,
    /// Changes of the layout that are being made, one within the other.
    depth: u32,
    /// Names of what goes with its owner; symlinks go with what they stand for.
    owned: Vec<(Owner, String)>,
}

#[derive(Debug, Default)]
struct Group {
    len: usize,
    members: Vec<u32>,
}

impl Segment {
    /// A segment with three numbers that are always there, for counters of `threads` threads,
    /// which may use `budget` bytes of memory (any amount if `None`).
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(threads: usize, budget: Option<u64>) -> io::Result<Self> {
        let bytes = SHARED + threads * EACH;
        let bytes = budget.and_then(|b| usize::try_from(b).ok()).map_or(bytes, |b| b.max(bytes));
        let region = Region::new("stats", bytes)?;
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        // The first block begins where the region does.
        let header = region.block(4096).ok_or_else(full)?;
        let directory = Directory::new(&region).ok_or_else(full)?;
        header.store(header::VERSION, VERSION);
        header.store(header::BASE, region.address());
        header.store(header::EPOCH, 1);
        header.store(header::DIRECTORY, directory.pointer());
        let mut this = Self {
            usage: Usage { total: budget.unwrap_or(bytes as u64), used: 8192 },
            region,
            header,
            directory,
            threads,
            shown_threads: None,
            groups: HashMap::new(),
            depth: 0,
            owned: Vec::new(),
        };
        for (number, name) in ALWAYS {
            let at = this.scalar(name).map_err(io::Error::other)?;
            assert_eq!(at, number, "the first entries");
        }
        this.set(BOOT_TIME, wall::now().as_secs());
        Ok(this)
    }
    /// Notes that counters were set to zero now.
    pub fn note_clear(&self) {
        self.set(LAST_CLEAR, wall::now().as_secs());
    }
    /// A descriptor that clients map.
    ///
    /// # Errors
    /// The kernel's.
    pub fn readable(&self) -> io::Result<OwnedFd> {
        self.region.readable()
    }
    /// Number of threads with counters.
    pub fn threads(&self) -> usize {
        self.threads
    }
    /// Shows clients the counters of the first `threads` threads, not of all reserved ones; never
    /// of fewer than before, as counters of ended threads still count.
    pub fn show_threads(&mut self, threads: usize) {
        let shown = self.shown_threads.map_or(threads, |shown| shown.max(threads));
        if self.shown_threads.replace(shown) == Some(shown) {
            return;
        }
        self.change(|this| {
            for content in this.directory.contents_mut() {
                if let Some(vector) = content.vector_mut() {
                    vector.show_threads(shown);
                }
            }
        });
    }
    /// Memory it has and uses.
    pub fn usage(&self) -> Usage {
        self.usage
    }
    /// Number of the layout; each change raises it.
    pub fn epoch(&self) -> u64 {
        self.header.load(header::EPOCH)
    }
    /// Makes several changes that clients see as one.
    pub fn change<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        if self.depth == 0 {
            self.header.store(header::IN_PROGRESS, 1);
        }
        self.depth += 1;
        // Clients would wait forever for the end of an unfinished change.
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        self.depth -= 1;
        if self.depth == 0 {
            self.header.store(header::EPOCH, self.epoch() + 1);
            self.header.store(header::IN_PROGRESS, 0);
        }
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }
    /// A number that is counted or a point in time.
    ///
    /// # Errors
    /// A name that is in use, or no memory.
    pub fn scalar(&mut self, name: &str) -> Result<Number, Error> {
        self.insert(name, Kind::Scalar, 0, Content::Scalar, 0).map(Number)
    }
    /// A gauge.
    ///
    /// # Errors
    /// As for [`Segment::scalar`].
    pub fn gauge(&mut self, name: &str) -> Result<Number, Error> {
        self.insert(name, Kind::Gauge, 0, Content::Gauge, 0).map(Number)
    }
    /// Sets a scalar or gauge; one that was removed is left alone.
    pub fn set(&self, number: Number, value: u64) {
        let content = self.directory.at(number.0).map(|e| &e.content);
        if let Some(Content::Scalar | Content::Gauge) = content {
            self.directory.set(number.0, value);
        }
    }
    /// A vector of counters.
    ///
    /// # Errors
    /// As for [`Segment::scalar`].
    pub fn simple(&mut self, name: &str, by: Columns) -> Result<Rows<Counter>, Error> {
        self.simple_of(self.threads, name, by)
    }
    /// A vector of `columns` counters that are not counted by thread: its only row is set by
    /// control, or each column by one thread.
    ///
    /// # Errors
    /// As for [`Segment::scalar`].
    pub fn row(&mut self, name: &str, columns: usize) -> Result<Rows<Counter>, Error> {
        self.simple_of(1, name, Columns::fixed(columns))
    }
    fn simple_of(
        &mut self,
        threads: usize,
        name: &str,
        by: Columns,
    ) -> Result<Rows<Counter>, Error> {
        self.directory.check(name)?;
        let vector = Vector::new::<Counter>(&self.region, threads, by).ok_or_else(no_room)?;
        let rows = vector.rows();
        let content = Content::Simple(Box::new((vector, rows.clone())));
        self.insert_vector(name, Kind::Simple, content)?;
        Ok(rows)
    }
    /// A vector of counters of packets and bytes.
    ///
    /// # Errors
    /// As for [`Segment::scalar`].
    pub fn combined(&mut self, name: &str, by: Columns) -> Result<Rows<VolumeCounter>, Error> {
        self.directory.check(name)?;
        let vector = Vector::new::<VolumeCounter>(&self.region, self.threads, by);
        let vector = vector.ok_or_else(no_room)?;
        let rows = vector.rows();
        let content = Content::Combined(Box::new((vector, rows.clone())));
        self.insert_vector(name, Kind::Combined, content)?;
        Ok(rows)
    }
    /// Puts in an entry with a vector, which shows as many elements as others by the same thing.
    pub(super) fn insert_vector(
        &mut self,
        name: &str,
        kind: Kind,
        mut content: Content,
    ) -> Result<u32, Error> {
        let vector = content.vector_mut().expect("called for entries with one");
        let by = vector.columns;
        let grown = self.groups.get(by.of).map_or(0, |group| group.len);
        vector.show(if by.of.is_empty() { by.capacity } else { grown });
        if let Some(shown) = self.shown_threads {
            vector.show_threads(shown);
        }
        let cost = vector.fixed_cost() + vector.cost(vector.len());
        let pointer = vector.pointer();
        let index = self.insert(name, kind, pointer, content, cost)?;
        if !by.of.is_empty() {
            self.groups.entry(by.of).or_default().members.push(index);
        }
        Ok(index)
    }
    /// Shows clients at least `len` columns of all vectors indexed by the same thing.
    ///
    /// # Errors
    /// No memory; nothing has grown then.
    pub fn grow(&mut self, by: Columns, len: usize) -> Result<(), Error> {
        let group = self.groups.entry(by.of).or_default();
        if len <= group.len {
            return Ok(());
        }
        let members = group.members.clone();
        let vector = |i: &u32| self.directory.at(*i)?.content.vector();
        let cost = members.iter().filter_map(vector).map(|v| v.cost(len) - v.cost(v.len())).sum();
        self.charge(cost)?;
        self.groups.entry(by.of).or_default().len = len;
        self.change(|this| {
            for index in members {
                let entry = this.directory.at_mut(index);
                if let Some(vector) = entry.and_then(|e| e.content.vector_mut()) {
                    vector.show(len);
                }
            }
        });
        Ok(())
    }
    /// Shows clients at most `len` columns of all vectors indexed by the same thing, as the objects
    /// of others were deleted. [`Segment::give_back`] frees their memory.
    pub fn shrink(&mut self, by: Columns, len: usize) {
        let Some(group) = self.groups.get_mut(by.of).filter(|group| len < group.len) else {
            return;
        };
        group.len = len;
        let members = group.members.clone();
        self.change(|this| {
            for index in members {
                let entry = this.directory.at_mut(index);
                if let Some(vector) = entry.and_then(|e| e.content.vector_mut()) {
                    this.usage.used -= vector.cost(vector.len()) - vector.cost(len);
                    vector.show(len);
                }
            }
        });
    }
    /// Gives back the memory of columns that clients do not see, in one of the vectors by the same
    /// thing; false when there is none with this number.
    pub fn give_back(&self, by: Columns, number: usize) -> bool {
        let member = self.groups.get(by.of).and_then(|group| group.members.get(number));
        let vector = member.map(|index| self.directory.at(*index).map(|entry| &entry.content));
        vector.inspect(|content| {
            content.and_then(Content::vector).into_iter().for_each(Vector::give_back);
        });
        member.is_some()
    }
    /// A vector of at most `capacity` names.
    ///
    /// # Errors
    /// As for [`Segment::scalar`].
    pub fn names(&mut self, name: &str, capacity: usize) -> Result<(), Error> {
        self.directory.check(name)?;
        let vector = NameVector::new(&self.region, capacity).ok_or_else(no_room)?;
        let pointer = vector.pointer();
        self.insert(name, Kind::Names, pointer, Content::Names(Box::new(vector)), 64).map(drop)
    }
    /// Sets a name in a vector of names.
    ///
    /// # Errors
    /// No such vector, or no memory.
    pub fn set_name(&mut self, vector: &str, index: usize, text: &str) -> Result<(), Error> {
        let unknown = || Error::Unknown(vector.to_owned());
        let place = self.directory.find(vector).ok_or_else(unknown)?;
        let Some(Content::Names(names)) = self.directory.at(place).map(|e| &e.content) else {
            return Err(unknown());
        };
        let before = names.at(index).map_or(0, NameVector::cost);
        self.charge(NameVector::cost(text))?;
        let is_set = self.change(|this| {
            let region = &this.region;
            match this.directory.at_mut(place).map(|e| &mut e.content) {
                Some(Content::Names(names)) => names.set(region, index, text),
                _ => false,
            }
        });
        self.usage.used -= if is_set { before } else { NameVector::cost(text) };
        if is_set { Ok(()) } else { Err(no_room()) }
    }
    /// Takes away the names from `len` on in a vector of names, the last ones first and some at a
    /// time; whether there are more.
    pub fn shrink_names(&mut self, vector: &str, len: usize) -> bool {
        let Some(place) = self.directory.find(vector) else { return false };
        self.change(|this| {
            let entry = this.directory.at_mut(place);
            let Some(Content::Names(names)) = entry.map(|e| &mut e.content) else { return false };
            let to = len.max(names.iter().len().saturating_sub(SLICE));
            let gone = names.iter().skip(to).flatten().map(NameVector::cost).sum::<u64>();
            this.usage.used -= gone;
            names.shrink(to);
            to > len
        })
    }
    /// A name for one column of a vector of counters.
    ///
    /// # Errors
    /// As for [`Segment::scalar`], and no vector of counters called `target`.
    pub fn symlink(&mut self, name: &str, target: &str, column: u32) -> Result<(), Error> {
        let unknown = || Error::Unknown(target.to_owned());
        let place = self.directory.find(target).ok_or_else(unknown)?;
        let entry = self.directory.at(place).filter(|e| e.content.vector().is_some());
        entry.ok_or_else(unknown)?;
        let value = u64::from(column) << 32 | u64::from(place);
        let content = Content::Symlink { target: place, column };
        self.insert(name, Kind::Symlink, value, content, 0).map(drop)
    }
    /// Removes an entry, and with a vector the symlinks to it. Who still counts in a vector does no
    /// harm.
    ///
    /// # Errors
    /// No such entry.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        let index = self.directory.find(name).ok_or_else(|| Error::Unknown(name.to_owned()))?;
        self.change(|this| this.remove_at(index));
        Ok(())
    }
    /// Removes all entries of an owner.
    pub fn remove_all_of(&mut self, owner: Owner) {
        let gone: Vec<_> = self.owned.extract_if(.., |(of, _)| *of == owner).collect();
        for (_, name) in gone {
            if let Some(index) = self.directory.find(&name) {
                self.change(|this| this.remove_at(index));
            }
        }
    }
    fn remove_at(&mut self, index: u32) {
        let Some(entry) = self.directory.remove(index) else { return };
        self.usage.used -= 8 * ENTRY as u64;
        if let Some(vector) = entry.content.vector() {
            self.usage.used -= vector.fixed_cost() + vector.cost(vector.len());
            if let Some(group) = self.groups.get_mut(vector.columns.of) {
                group.members.retain(|member| *member != index);
            }
            let is_link =
                |c: &Content| matches!(c, Content::Symlink { target, .. } if *target == index);
            let all = self.directory.iter().filter(|(_, e)| is_link(&e.content));
            for link in all.map(|(i, _)| i).collect::<Vec<_>>() {
                self.remove_at(link);
            }
        }
        match &entry.content {
            Content::Names(names) => {
                self.usage.used -= 64 + names.iter().flatten().map(NameVector::cost).sum::<u64>();
            }
            Content::Ring(ring) => self.usage.used -= ring.cost(),
            _ => {}
        }
    }
    /// Gives an entry another name.
    ///
    /// # Errors
    /// No such entry, or a name that is in use.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), Error> {
        let index = self.directory.find(old).ok_or_else(|| Error::Unknown(old.to_owned()))?;
        if old != new {
            self.directory.check(new)?;
            self.change(|this| this.directory.rename(index, new));
        }
        Ok(())
    }
    /// Value of the entry of this name.
    pub fn value(&self, name: &str) -> Option<Value<'_>> {
        self.value_at(self.directory.find(name)?)
    }
    /// All entries in the order of the directory: name, what it says.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.directory.iter().filter_map(|(i, e)| Some((&*e.name, self.value_at(i)?)))
    }
    /// Names of the vectors whose columns stand for the same.
    pub fn vectors_by(&self, by: Columns) -> impl Iterator<Item = &str> {
        let members = self.groups.get(by.of).map_or(&[][..], |group| &group.members);
        members.iter().filter_map(|index| self.directory.at(*index).map(|entry| &*entry.name))
    }
    /// A scalar or gauge itself, the directory's word of a symlink, and where in the segment
    /// others are.
    pub fn place(&self, name: &str) -> Option<u64> {
        let index = self.directory.find(name)?;
        let (word, base) = (self.directory.value(index), self.region.address());
        Some(match self.directory.at(index)?.content {
            Content::Scalar | Content::Gauge | Content::Symlink { .. } => word,
            _ => word - base,
        })
    }
    fn value_at(&self, index: u32) -> Option<Value<'_>> {
        Some(match &self.directory.at(index)?.content {
            Content::Scalar => Value::Scalar(self.directory.value(index)),
            Content::Gauge => Value::Gauge(self.directory.value(index)),
            Content::Simple(both) => Value::Simple(&both.1, both.0.len()),
            Content::Combined(both) => Value::Combined(&both.1, both.0.len()),
            Content::Histogram(both) => Value::Histogram(&both.1, both.0.len()),
            Content::Names(names) => Value::Names(names.iter().collect()),
            Content::Symlink { target, column } => {
                Value::Symlink(&self.directory.at(*target)?.name, *column)
            }
            Content::Ring(ring) => Value::Ring(ring.entry_size(), ring.ring_size()),
        })
    }
    /// Puts an entry in that takes `cost` bytes beside its place in the directory.
    pub(super) fn insert(
        &mut self,
        name: &str,
        kind: Kind,
        value: u64,
        content: Content,
        cost: u64,
    ) -> Result<u32, Error> {
        self.directory.check(name)?;
        self.charge(cost + 8 * ENTRY as u64)?;
        let owner = Owner::current();
        if owner != Owner::CORE && kind != Kind::Symlink {
            self.owned.push((owner, name.to_owned()));
        }
        Ok(self.change(|this| this.directory.insert(name, kind, value, content)))
    }
    fn charge(&mut self, bytes: u64) -> Result<(), Error> {
        let left = self.usage.total.saturating_sub(self.usage.used);
        if bytes > left {
            return Err(Error::Full(bytes, left));
        }
        self.usage.used += bytes;
        Ok(())
    }
}

/// The address space is used up.
pub(super) fn no_room() -> Error {
    Error::Full(0, 0)
}
