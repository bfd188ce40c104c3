//! Routing: tables, routes and what they lead to.
//!
//! Control keeps tables of entries; an entry has a path list from each source that wants the route,
//! and the best source counts. Equal path lists are one object. Data-plane threads see three flat
//! things: a table that turns an address into the number of a load balance ([`LpmReader`]), the
//! load balances (one word each) and the adjacencies. A change of a route is one store in a table
//! or one in a load balance; a change of a neighbour is none at all.

pub(crate) mod api;
mod cli;
mod control;
mod family;
mod forwarding;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;

use crate::adjacency::{self, Link};
use crate::flow_hash::Hashes;
use crate::interface::{Change, InterfaceIndex};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use crate::flow_hash::{FlowHash, flow, flow_from, flow_of, next};
pub use api::types;
pub(crate) use cli::{ShowNumbered, parse_paths};
pub use cli::{path_words, paths_of, words_of_path};
pub use control::labels::{LabelSwitching, Popped, RouteOf};
pub use control::path::{Gateway, Label, Path, Pop, TableIndex, Target, Through};
pub use control::routes::{OWN_BALANCES, RouteCounting};
pub use control::source::{Source, Sources};
pub use control::table::Tables;
pub(crate) use control::table::longest;
pub use control::tracking::{Followed, Follower, GivenPaths, forget_paths};
pub use family::{Family, Ip4, Ip6};
pub use forwarding::load_balance::{
    Brief, LoadBalance, MAX_BALANCES, MOST_BRIEFS, RouteCounters, Swap, Via,
};
pub use forwarding::lookup::Headers;
pub(crate) use forwarding::lookup::{Steps, are_alike, count, in_blocks};
pub use forwarding::lpm::{LpmReader, LpmWriter};
pub use forwarding::objects::{
    NewKind, Object, ObjectEdges, ObjectKind, PathType, PathWord, StackOf, WatchObject,
};
pub use forwarding::{Forwarding, Forwarding4, Forwarding6};

use ::control::feature::Refusal;
use ::control::stats::Segment;
use infra::rcu::Shared;
use infra::table::numbers::NumbersReader;

use control::attached_export;
use control::deferred::Deferred;
use control::failed::Failed;
use control::foreign::Foreign;
use control::path_list::PathLists;
use control::table::{self, Entry};
use forwarding::load_balance::LoadBalances;
use forwarding::objects::Objects;
use forwarding::{lookup, lookup_dpo};

/// Everything about routing that control owns.
pub struct Fib {
    ip4: Tables<Ip4>,
    ip6: Tables<Ip6>,
    lists: PathLists,
    balances: LoadBalances,
    /// Groups of buckets that no list uses any more, while load balances still name them.
    unused_groups: Vec<u32>,
    /// Kinds of forwarding objects.
    objects: Objects,
    /// Pushes and pops labels, if loaded.
    switching: Option<Rc<dyn LabelSwitching>>,
    /// Unused wraps of paths, while load balances still name them.
    unused_wraps: Vec<Via>,
    /// Path lists with paths that lead to a load balance that is followed.
    behind: HashMap<u32, Vec<u32>>,
    /// Followers of changed load balances, until they are called.
    to_call: Vec<Follower>,
    /// Load balances for packets of another kind that follow routes to these addresses.
    foreign: HashMap<Gateway, Foreign>,
    hashes4: Hashes,
    hashes6: Hashes,
    /// The rule by which later prefixes get counters of their own.
    pub counting: RouteCounting,
    /// Sources of routes.
    pub sources: Sources,
    /// Deferred work on tables.
    deferred: Deferred,
    /// The interface that was deleted last, unless there is one of its number again: no path leads
    /// there.
    leaving: Option<InterfaceIndex>,
    /// Next hops that are known to be out of reach.
    failed: Failed,
    /// Operators' routes to networks on interfaces.
    attached: attached_export::Attached,
    /// Link-local table of each interface; 0 for none.
    link_local: Shared<Vec<u16>>,
    /// Objects of other modules, for `show dpo memory`.
    pub(crate) more_objects: Vec<fn(&Router) -> ObjectSize>,
    /// Tables of other modules, for `show bihash`.
    pub(crate) more_tables: Vec<fn(&Router) -> Vec<TableSize>>,
}

/// Name of a kind of objects, bytes of one, count.
pub(crate) type ObjectSize = (&'static str, usize, usize);
/// Name, shape, elements and bytes of a table that packets are looked up in.
pub(crate) type TableSize = (String, String, usize, usize);

/// Reasons why routing refuses a change.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such table
    #[retval(NO_SUCH_FIB)]
    NoTable,
    /// no such route
    #[retval(NO_SUCH_ENTRY)]
    NoRoute,
    /// table is full
    #[retval(TABLE_TOO_BIG)]
    Full,
    /// the table exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    TableExists,
    /// the table is in use
    #[retval(IN_USE)]
    TableInUse,
    /// {0}
    #[from]
    Adjacency(adjacency::Error),
}

impl Fib {
    /// [Briefs](Brief) of labels to put on, by number of the object, for nodes.
    pub fn briefs(&self) -> NumbersReader {
        self.balances.briefs.reader()
    }
    /// Says what labels to put on are in brief, where they can be, before paths lead to the object.
    pub fn set_brief(&mut self, index: u32, brief: Option<Brief>) {
        self.balances.briefs.set(index as usize, brief.map_or(0, Brief::number));
    }
    pub(crate) fn new(stats: &mut Segment) -> io::Result<Self> {
        Ok(Self {
            ip4: Tables::new()?,
            ip6: Tables::new()?,
            lists: PathLists::default(),
            balances: LoadBalances::new(stats)?,
            unused_groups: Vec::new(),
            objects: Objects::new(),
            switching: None,
            unused_wraps: Vec::new(),
            behind: HashMap::new(),
            to_call: Vec::new(),
            foreign: HashMap::new(),
            attached: attached_export::Attached::new(),
            hashes4: Hashes::new(),
            hashes6: Hashes::new(),
            counting: RouteCounting::default(),
            sources: Sources::default(),
            deferred: Deferred::default(),
            leaving: None,
            failed: Failed::default(),
            link_local: Shared::new(Vec::new()),
            more_objects: Vec::new(),
            more_tables: Vec::new(),
        })
    }
    /// For nodes: the tables of a family.
    pub fn forwarding<F: Family>(&self) -> Forwarding<F> {
        Forwarding {
            tables: F::tables(self).lpm.reader(),
            balances: self.balances.reader(),
            link_local: self.link_local.reader(),
            hashes: if F::BITS == 32 { self.hashes4.reader() } else { self.hashes6.reader() },
            objects: self.objects.none(),
        }
    }
    fn hashes<F: Family>(&mut self) -> &mut Hashes {
        if F::BITS == 32 { &mut self.hashes4 } else { &mut self.hashes6 }
    }
    /// Fields of a packet that the flow hashes of a table are made of.
    pub fn flow_hash<F: Family>(&self, table: TableIndex) -> FlowHash {
        let all = if F::BITS == 32 { &self.hashes4 } else { &self.hashes6 };
        all.of(table.0)
    }
    /// The table that the operator calls `id`.
    pub fn table<F: Family>(&self, id: u32) -> Option<TableIndex> {
        F::tables(self).named(id)
    }
    /// The table of a family that the operator calls `id`.
    pub fn table_for(&self, link: impl Into<Link>, id: u32) -> Option<TableIndex> {
        match link.into() {
            Link::Ip4 => self.ip4.named(id),
            Link::Ip6 => self.ip6.named(id),
            Link::Mpls | Link::Ethernet => None,
        }
    }
    /// The identifier of a table.
    pub fn table_id<F: Family>(&self, table: TableIndex) -> Option<u32> {
        F::tables(self).at(table).map(|t| t.id)
    }
    /// The identifier of a table of a family.
    pub fn table_id_for(&self, link: impl Into<Link>, table: TableIndex) -> Option<u32> {
        match link.into() {
            Link::Ip4 => self.table_id::<Ip4>(table),
            Link::Ip6 => self.table_id::<Ip6>(table),
            Link::Mpls | Link::Ethernet => None,
        }
    }
    /// Asks for what changes with a prefix: worth while where there is more to do before.
    fn fetch<F: Family>(&self, table: TableIndex, key: table::Key<F>) {
        F::tables(self).at(table).into_iter().for_each(|t| t.fetch(key));
    }
    /// Number of prefixes of a table.
    pub fn len<F: Family>(&self, table: TableIndex) -> usize {
        F::tables(self).at(table).map_or(0, |t| t.entries.len())
    }
    /// The entry of an address that paths lead to.
    fn entry_of(&self, to: Gateway) -> Option<&Entry> {
        match to.addr {
            IpAddr::V4(a) => self.ip4.at(to.table)?.entries.get(&(a.to_bits(), Ip4::BITS)),
            IpAddr::V6(a) => self.ip6.at(to.table)?.entries.get(&(a.to_bits(), Ip6::BITS)),
        }
    }
    /// Load balance and path list for packets to an address that paths lead to.
    fn host(&self, to: Gateway) -> Option<(u32, u32)> {
        if to.is_foreign() {
            return self.foreign.get(&to).map(|f| (f.balance, f.list));
        }
        self.entry_of(to).map(|e| (e.balance, e.list))
    }
    /// Whether an address has a route of its own, not only paths that lead there.
    fn has_own_route(&self, to: Gateway) -> bool {
        self.entry_of(to).is_some_and(|e| !e.is_only(Source::RECURSIVE))
    }
    /// Path lists with paths that lead to an address, for packets of either family.
    fn lists_behind(&self, to: Gateway) -> &[u32] {
        let lists = match to.addr {
            IpAddr::V4(a) => self.ip4.at(to.table).and_then(|t| t.vias.get(&a.to_bits())),
            IpAddr::V6(a) => self.ip6.at(to.table).and_then(|t| t.vias.get(&a.to_bits())),
        };
        lists.map_or(&[], |lists| lists)
    }
    /// Notes which path list the route of an address is now.
    fn move_host(&mut self, to: Gateway, before: Option<u32>, after: Option<u32>) {
        if let Some(before) = before {
            self.lists.at_mut(before).hosts.retain(|h| *h != to);
        }
        if let Some(after) = after {
            self.lists.at_mut(after).hosts.push(to);
        }
    }
}

/// Routing: lookup nodes, route and table commands.
pub const FEATURE: Feature = Feature {
    name: "fib",
    about: "IPv4 and IPv6 routing tables",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), ::control::feature::Refused> {
    let counting = parts.startup("ip", "route-counters")?;
    let router = &mut *parts.router;
    router.fib.counting = counting.unwrap_or(router.fib.counting);
    router.add_table::<Ip4>(0).map_err(refuse)?;
    router.add_table::<Ip6>(0).map_err(refuse)?;
    router.interfaces.observe(follow);
    control::gauges::register(router);
    control::health::register(router);
    lookup::register(router).map_err(refuse)?;
    lookup_dpo::register(router).map_err(refuse)?;
    cli::register(&mut parts.cli);
    parts.router.finders.push(("ip route", cli::find));
    api::register(&mut parts.api);
    adjacency::register(&mut parts.cli);
    Ok(())
}

/// Follows changes of interfaces.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::State => router.resolve_interface(interface),
        Change::Deleting => router.forget_interface(interface),
        Change::Added => router.welcome_interface(interface),
        Change::Mac | Change::Mtu | Change::Name | Change::Segments => (),
    }
}
