//! Filters: one for each routing table that a namespace uses, shared by all its namespaces, and one
//! for each namespace. The rules of a routing table are deleted with its last namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use infra::rcu::SharedSlab;
use net::fib::{Family, Ip4, Ip6, TableIndex};
use wire::{IpVersion, Prefix};

use super::error::Error;
use super::namespaces::MOST_NAMESPACES;
use super::published::{Filter, Transport};
use super::rules::{Match, Rule, RuleTable};
use super::sdl::{DenyList, SdlRule};

/// Limit of routing tables per IP version.
const TABLES: usize = 1 << 16;

/// Number of rules in a table up to which each change is published at once.
const AT_ONCE: usize = 256;

/// A filter of a routing table.
#[derive(Default)]
pub(super) struct Global {
    /// Namespaces that use it.
    pub(super) namespaces: BTreeSet<u32>,
    pub(super) rules: RuleTable,
    pub(super) deny: Option<DenyList>,
}

/// All filters.
pub(super) struct Tables {
    pub(super) global: BTreeMap<(IpVersion, TableIndex), Global>,
    /// Rules of namespaces, by number.
    pub(super) local: BTreeMap<u32, RuleTable>,
    /// Tables whose changed rules are not yet published.
    late: BTreeSet<(Place, Transport, IpVersion)>,
    pub(super) published: Published,
}

/// Filters published to the nodes.
pub(super) struct Published {
    pub(super) global: [SharedSlab<Filter>; 2],
    pub(super) local: SharedSlab<Filter>,
    pub(super) deny4: SharedSlab<<Ip4 as Family>::LpmReader>,
    pub(super) deny6: SharedSlab<<Ip6 as Family>::LpmReader>,
}

impl Published {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            global: [SharedSlab::new(TABLES)?, SharedSlab::new(TABLES)?],
            local: SharedSlab::new(MOST_NAMESPACES)?,
            deny4: SharedSlab::new(TABLES)?,
            deny6: SharedSlab::new(TABLES)?,
        })
    }
    /// Publishes the deny list of a table, or its removal.
    fn put_deny(&mut self, (version, table): (IpVersion, TableIndex), list: Option<&DenyList>) {
        let slot = u32::from(table.0);
        match (version, list) {
            (_, Some(DenyList::V4(sources))) => self.deny4.put(slot, Some(sources.reader())),
            (_, Some(DenyList::V6(sources))) => self.deny6.put(slot, Some(sources.reader())),
            (IpVersion::V4, None) => self.deny4.put(slot, None),
            (IpVersion::V6, None) => self.deny6.put(slot, None),
        }
    }
}

/// Publishes the rules of a transport and IP version of a table.
fn publish(
    slab: &mut SharedSlab<Filter>,
    slot: u32,
    (rules, of): (&RuleTable, (Transport, IpVersion)),
) {
    let mut filter = slab.at(slot).cloned().unwrap_or_default();
    rules.compile(of.0, of.1, &mut filter);
    slab.put(slot, (rules.count() > 0).then_some(filter));
}

impl Tables {
    pub(super) fn new() -> io::Result<Self> {
        let published = Published::new()?;
        let (global, local) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { global, local, late: BTreeSet::new(), published })
    }

    /// Adds a namespace to the tables that it uses, and removes it from others.
    pub(super) fn enter(&mut self, namespace: u32, tables: [Option<TableIndex>; 2]) {
        self.local.entry(namespace).or_default();
        let new: Vec<_> = IpVersion::ALL.into_iter().zip(tables).collect();
        for (version, table) in &new {
            if let Some(table) = table {
                let global = self.global.entry((*version, *table)).or_default();
                global.namespaces.insert(namespace);
            }
        }
        self.leave_unless(namespace, |(version, table)| new.contains(&(version, Some(table))));
    }

    /// Removes a namespace and its own rules.
    pub(super) fn leave(&mut self, namespace: u32) {
        self.local.remove(&namespace);
        self.published.local.put(namespace, None);
        self.leave_unless(namespace, |_| false);
    }

    fn leave_unless(&mut self, namespace: u32, stays: impl Fn((IpVersion, TableIndex)) -> bool) {
        let published = &mut self.published;
        self.global.retain(|key, global| {
            if stays(*key) || !global.namespaces.remove(&namespace) {
                return true;
            }
            if global.namespaces.is_empty() {
                published.global[key.0 as usize].put(u32::from(key.1.0), None);
                published.put_deny(*key, None);
            }
            !global.namespaces.is_empty()
        });
    }

    /// The rules of a table.
    pub(super) fn rules(&self, at: Place) -> Option<&RuleTable> {
        match at {
            Place::Global(version, table) => Some(&self.global.get(&(version, table))?.rules),
            Place::Local(namespace) => self.local.get(&namespace),
        }
    }

    /// Adds a rule to a table, or removes it. Changes of large tables are published later, several
    /// at once: if this returns true, call [`Self::catch_up`] soon.
    pub(super) fn change_rule(&mut self, at: Place, found: Match, rule: Option<Rule>) -> bool {
        let rules = match at {
            Place::Global(version, table) => {
                self.global.get_mut(&(version, table)).map(|global| &mut global.rules)
            }
            Place::Local(namespace) => self.local.get_mut(&namespace),
        };
        let Some(rules) = rules else { return false };
        match rule {
            Some(rule) => rules.add(found, rule),
            None => rules.remove(&found),
        }
        let is_late = rules.count() > AT_ONCE;
        self.late.insert((at, found.transport, found.version()));
        if !is_late {
            self.catch_up();
        }
        is_late
    }

    /// Takes rules with an action out of all tables; true as [`Self::change_rule`].
    pub(super) fn forget_app(&mut self, app: u32) -> bool {
        let own = |place: Place, rules: &RuleTable| {
            let own = rules.iter().filter(|(_, rule)| rule.action == app);
            own.map(|(found, _)| (place, *found)).collect::<Vec<_>>()
        };
        let global = self.global.iter().map(|(at, of)| own(Place::Global(at.0, at.1), &of.rules));
        let local = self.local.iter().map(|(of, rules)| own(Place::Local(*of), rules));
        let all: Vec<_> = global.chain(local).flatten().collect();
        all.into_iter()
            .fold(false, |is_late, (at, found)| self.change_rule(at, found, None) | is_late)
    }

    /// Publishes changed rules.
    pub(super) fn catch_up(&mut self) {
        for (at, transport, version) in std::mem::take(&mut self.late) {
            let (rules, slab, slot) = match at {
                Place::Global(version, table) => {
                    let Some(global) = self.global.get(&(version, table)) else { continue };
                    let slab = &mut self.published.global[version as usize];
                    (&global.rules, slab, u32::from(table.0))
                }
                Place::Local(namespace) => {
                    let Some(rules) = self.local.get(&namespace) else { continue };
                    (rules, &mut self.published.local, namespace)
                }
            };
            publish(slab, slot, (rules, (transport, version)));
        }
    }

    /// The deny list of a table.
    pub(super) fn deny(&self, key: (IpVersion, TableIndex)) -> Option<&DenyList> {
        self.global.get(&key)?.deny.as_ref()
    }

    /// Adds or replaces a deny rule.
    ///
    /// # Errors
    /// [`Error::TooManySdl`], [`Error::Data`].
    pub(super) fn add_deny(
        &mut self,
        key: (IpVersion, TableIndex),
        prefix: &Prefix,
        rule: SdlRule,
    ) -> Result<(), Error> {
        let Some(global) = self.global.get_mut(&key) else { return Ok(()) };
        let (list, is_new) = match &mut global.deny {
            Some(list) => (list, false),
            none => (none.insert(DenyList::new(key.0)?), true),
        };
        if list.add(prefix, rule)? || is_new {
            self.published.put_deny(key, Some(list));
        }
        Ok(())
    }

    /// Removes a deny rule; returns whether it existed. An empty list is deleted.
    pub(super) fn remove_deny(&mut self, key: (IpVersion, TableIndex), prefix: &Prefix) -> bool {
        let Some(global) = self.global.get_mut(&key) else { return false };
        let Some(list) = &mut global.deny else { return false };
        let was_there = list.remove(prefix);
        if list.len() == 0 {
            global.deny = None;
            self.published.put_deny(key, None);
        }
        was_there
    }
}

/// A rule table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Rules of a routing table.
    Global(IpVersion, TableIndex),
    /// Rules of a namespace.
    Local(u32),
}
