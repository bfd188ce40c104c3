//! Path lists: every distinct set of paths once, shared by all prefixes that have it.

use std::collections::{BTreeSet, HashMap};

use super::load_balance_map::fill_buckets;
use super::path::{Gateway, Path, Target};
use super::tracking::Following;
use crate::adjacency::{AdjacencyIndex, Link};
use crate::fib::forwarding::load_balance::{Via, Word};
use crate::fib::forwarding::objects::Object;
use crate::interface::InterfaceIndex;

/// A set of paths, in the order they were given.
pub(in crate::fib) struct PathList {
    pub paths: Box<[Path]>,
    /// The adjacency of each path, 0 where it has none.
    pub adjacencies: Box<[AdjacencyIndex]>,
    /// Usable paths.
    pub usable: Box<[bool]>,
    /// Whether some path leads on to a neighbour, so that routes may resolve through it.
    pub leads_on: bool,
    /// Path of each bucket while all paths are usable.
    pub layout: Box<[u16]>,
    pub word: Word,
    pub group: Option<u32>,
    /// The load balance of prefixes that have none of their own.
    pub shared: Option<u32>,
    /// Whether load balances may follow it.
    pub is_followed: bool,
    /// Sources of entries, and routes that resolve through one of those.
    pub users: u32,
    /// Number of its first path, as `show ip fib` prints it.
    pub first_path: u32,
    /// Addresses whose route it is and that other lists lead to.
    pub hosts: Vec<Gateway>,
    /// Mid-chain adjacencies stacked on it.
    pub chains: Vec<AdjacencyIndex>,
    /// Objects in front of the paths, held for the list.
    pub wraps: Vec<Via>,
    /// The load balance that each path leads to by its label, or by an object that lies on one; 0
    /// for others.
    pub balances: Box<[u32]>,
    /// Load balances of features that follow it.
    pub followed: Vec<Following>,
}

impl PathList {
    /// The targets of its paths.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        self.paths.iter().map(|p| p.target)
    }
    /// The targets of its recursive paths.
    pub fn recursions(&self) -> impl Iterator<Item = Gateway> {
        self.targets().filter_map(|target| match target {
            Target::Recursive { to, .. } => Some(to),
            _ => None,
        })
    }
    /// Kind of packets that its paths are for; IPv4 when they do not say.
    pub fn link(&self) -> Link {
        let of = |p: &Path| match p.target {
            Target::Neighbor { addr, .. } => Some(Link::of(addr)),
            Target::Recursive { to, .. } => Some(to.link),
            Target::ForeignNeighbor { link, .. } => Some(link),
            Target::Attached { own, .. } => Some(Link::of(own)),
            Target::Receive { addr, .. } => addr.map(Link::of),
            Target::Lookup { link, .. } | Target::SourceLookup { link, .. } => Some(link),
            Target::LinkLocal => Some(Link::Ip6),
            Target::Label { .. } => Some(Link::Mpls),
            _ => None,
        };
        self.paths.iter().find_map(of).unwrap_or(Link::Ip4)
    }
    /// The interfaces that its paths lead to, by number.
    pub fn outputs(&self) -> Vec<u32> {
        let outputs = self.paths.iter().filter_map(|p| p.target.interface());
        let mut outputs: Vec<u32> = outputs.map(|i| i.0).collect();
        outputs.dedup();
        outputs
    }
    /// Whether it has paths over an interface, or to one of its addresses.
    pub fn is_over(&self, interface: InterfaceIndex) -> bool {
        self.paths.iter().any(|p| p.target.names(interface))
    }
    /// The interfaces that its paths name.
    fn interfaces(&self) -> impl Iterator<Item = InterfaceIndex> {
        self.paths.iter().filter_map(|p| match p.target {
            Target::Receive { interface, .. } => interface,
            target => target.interface(),
        })
    }
    /// Weights of the paths that share the load now: usable, of the best preference.
    pub fn weights(&self) -> Vec<u32> {
        let usable = || self.paths.iter().zip(&self.usable).filter(|(_, usable)| **usable);
        let best = usable().map(|(p, _)| p.preference).min();
        let weight = |(p, usable): (&Path, &bool)| {
            if *usable && Some(p.preference) == best { u32::from(p.weight) } else { 0 }
        };
        self.paths.iter().zip(&self.usable).map(weight).collect()
    }
}

/// All path lists.
#[derive(Default)]
pub(in crate::fib) struct PathLists {
    all: Vec<Option<PathList>>,
    by_paths: HashMap<Box<[Path]>, u32>,
    /// Lists with paths over an interface.
    by_interface: HashMap<InterfaceIndex, BTreeSet<u32>>,
    free: Vec<u32>,
    /// The list used last: routes with the same paths often come one after the other.
    recent: u32,
    next_path: u32,
}

impl PathLists {
    /// The list with these paths, used once more.
    pub fn share(&mut self, paths: &[Path]) -> Option<u32> {
        let is_recent = |l: &PathList| *l.paths == *paths;
        if !self.all.get(self.recent as usize).and_then(Option::as_ref).is_some_and(is_recent) {
            self.recent = *self.by_paths.get(paths)?;
        }
        self.at_mut(self.recent).users += 1;
        Some(self.recent)
    }
    /// A new list, used once and not resolved. Flows keep to the paths they had in the list `like`.
    pub fn add(
        &mut self,
        paths: &[Path],
        adjacencies: Vec<AdjacencyIndex>,
        balances: Box<[u32]>,
        like: Option<u32>,
    ) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() as u32 - 1
        });
        let mut list = PathList {
            paths: paths.into(),
            adjacencies: adjacencies.into(),
            usable: paths.iter().map(|p| p.target != Target::Drop).collect(),
            leads_on: false,
            layout: Box::default(),
            word: Word::DROP,
            group: None,
            shared: None,
            is_followed: false,
            users: 1,
            first_path: self.next_path,
            hosts: Vec::new(),
            chains: Vec::new(),
            wraps: Vec::new(),
            balances,
            followed: Vec::new(),
        };
        let previous = like.map_or_else(Vec::new, |like| self.places(like, paths));
        list.layout = fill_buckets(&list.weights(), &previous).into();
        list.usable.fill(false);
        self.next_path = self.next_path.wrapping_add(paths.len() as u32);
        self.by_paths.insert(paths.into(), index);
        for interface in list.interfaces() {
            self.by_interface.entry(interface).or_default().insert(index);
        }
        self.all[index as usize] = Some(list);
        index
    }
    /// Places in `paths` of the owners of another list's buckets; a number out of range for buckets
    /// without an owner there.
    fn places(&self, like: u32, paths: &[Path]) -> Vec<u16> {
        let old = self.at(like);
        let place = |i: &u16| {
            let target = old.paths.get(usize::from(*i)).map(|p| p.target);
            paths.iter().position(|p| Some(p.target) == target).map_or(u16::MAX, |i| i as u16)
        };
        old.layout.iter().map(place).collect()
    }
    /// Deletes an unused list.
    pub fn remove(&mut self, index: u32) -> Option<PathList> {
        let gone = self.all[index as usize].take()?;
        self.by_paths.remove(&gone.paths);
        for interface in gone.interfaces() {
            if let Some(lists) = self.by_interface.get_mut(&interface) {
                lists.remove(&index);
            }
        }
        self.free.push(index);
        Some(gone)
    }
    /// The objects that paths lead to.
    pub fn objects(&self) -> impl Iterator<Item = Object> {
        let paths = self.all.iter().flatten().flat_map(|list| &list.paths);
        paths.filter_map(|path| match path.target {
            Target::Object(object) => Some(object),
            _ => None,
        })
    }
    /// A list in use.
    pub fn at(&self, index: u32) -> &PathList {
        self.all[index as usize].as_ref().expect("entries hold the lists they name")
    }
    /// A list in use.
    pub fn at_mut(&mut self, index: u32) -> &mut PathList {
        self.all[index as usize].as_mut().expect("entries hold the lists they name")
    }
    /// Lists with paths over an interface, or to one of its addresses.
    pub fn over(&self, interface: InterfaceIndex) -> Vec<u32> {
        self.by_interface.get(&interface).into_iter().flatten().copied().collect()
    }
    /// A list, if there is one with this number.
    pub fn find(&self, index: u32) -> Option<&PathList> {
        self.all.get(index as usize)?.as_ref()
    }
    /// Above all numbers of lists.
    pub fn end(&self) -> u32 {
        self.all.len() as u32
    }
    /// All lists.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &PathList)> {
        self.all.iter().enumerate().filter_map(|(i, list)| Some((i as u32, list.as_ref()?)))
    }
}
