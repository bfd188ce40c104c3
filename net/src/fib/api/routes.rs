//! Routes: added, deleted, looked up, listed.

use control::api::types::Prefix;
use control::api::{Api, Message, Record, Retval};

use super::{IP_VERSION, IpTable};
use crate::fib::api::types::FibPath;
use crate::fib::control::path::TableIndex;
use crate::fib::control::routes::{FromPrefix, key};
use crate::fib::control::source::Source;
use crate::fib::control::table::{Entry, Key};
use crate::fib::family::{Family, Ip4, Ip6};
use crate::router::Router;

/// Most paths of a route in a message.
const MOST_PATHS: usize = 255;

/// A route.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub(super) struct IpRoute {
    /// table
    pub table_id: u32,
    /// index of its counters in `/net/route`
    pub stats_index: u32,
    /// prefix
    pub prefix: Prefix,
    /// paths
    #[counted(n_paths: u8)]
    pub paths: Vec<FibPath>,
}

/// A route, with its source.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub(super) struct IpRouteV2 {
    /// table
    pub table_id: u32,
    /// index of its counters in `/net/route`
    pub stats_index: u32,
    /// prefix
    pub prefix: Prefix,
    /// source ID; 0 for the default
    pub src: u8,
    /// paths
    #[counted(n_paths: u8, before = src)]
    pub paths: Vec<FibPath>,
}

/// Add or delete a route, or some of its paths.
#[derive(Message)]
#[reply(IpRouteAddDelReply)]
pub(super) struct IpRouteAddDel {
    #[preset(true)]
    pub is_add: bool,
    /// true to add or delete paths of an existing route
    pub is_multipath: bool,
    pub route: IpRoute,
}

/// The resulting route.
#[derive(Message)]
pub(super) struct IpRouteAddDelReply {
    /// index of its counters in `/net/route`
    pub stats_index: u32,
}

/// Add or delete a source's route, or some of its paths.
#[derive(Message)]
#[reply(IpRouteAddDelV2Reply)]
#[option("in_progress")]
pub(super) struct IpRouteAddDelV2 {
    #[preset(true)]
    pub is_add: bool,
    /// true to add or delete paths of an existing route
    pub is_multipath: bool,
    pub route: IpRouteV2,
}

/// The resulting route.
#[derive(Message)]
#[option("in_progress")]
pub(super) struct IpRouteAddDelV2Reply {
    /// index of its counters in `/net/route`
    pub stats_index: u32,
}

/// List the routes of a table.
#[derive(Message)]
#[details(IpRouteDetails)]
pub(super) struct IpRouteDump {
    pub table: IpTable,
}

/// A route.
#[derive(Message)]
pub(super) struct IpRouteDetails {
    pub route: IpRoute,
}

/// List the routes of a table from a source.
#[derive(Message)]
#[details(IpRouteV2Details)]
#[option("in_progress")]
pub(super) struct IpRouteV2Dump {
    /// source ID; 0 for all
    pub src: u8,
    pub table: IpTable,
}

/// A route.
#[derive(Message)]
#[option("in_progress")]
pub(super) struct IpRouteV2Details {
    pub route: IpRouteV2,
}

/// Look up a route.
#[derive(Message)]
#[reply(IpRouteLookupReply)]
pub(super) struct IpRouteLookup {
    pub table_id: u32,
    /// 0 for the longest matching prefix
    pub exact: u8,
    pub prefix: Prefix,
}

/// The matching route.
#[derive(Message)]
pub(super) struct IpRouteLookupReply {
    pub route: IpRoute,
}

/// Look up a route.
#[derive(Message)]
#[reply(IpRouteLookupV2Reply)]
#[option("in_progress")]
pub(super) struct IpRouteLookupV2 {
    pub table_id: u32,
    /// 0 for the longest matching prefix
    pub exact: u8,
    pub prefix: Prefix,
}

/// The matching route.
#[derive(Message)]
#[option("in_progress")]
pub(super) struct IpRouteLookupV2Reply {
    pub route: IpRouteV2,
}

impl From<IpRouteV2> for IpRoute {
    fn from(r: IpRouteV2) -> Self {
        let IpRouteV2 { table_id, stats_index, prefix, paths, .. } = r;
        Self { table_id, stats_index, prefix, paths }
    }
}

impl From<IpRoute> for IpRouteV2 {
    fn from(r: IpRoute) -> Self {
        let IpRoute { table_id, stats_index, prefix, paths } = r;
        Self { table_id, stats_index, prefix, src: 0, paths }
    }
}

impl IpRouteV2 {
    fn of<F: Family>(router: &Router, table_id: u32, key: Key<F>, e: &Entry) -> Self {
        let paths = router.fib.lists.at(e.list).paths.iter().take(MOST_PATHS);
        Self {
            table_id,
            stats_index: e.balance,
            prefix: F::prefix(key).into(),
            src: e.source.id(),
            paths: paths.map(|p| FibPath::of::<F>(router, p)).collect(),
        }
    }
    /// Adds or deletes it; returns the place of its counters.
    fn add_del<F: Family>(
        &self,
        router: &mut Router,
        is_add: bool,
        is_multipath: bool,
    ) -> Result<u32, Retval>
    where
        Key<F>: FromPrefix,
    {
        let table = router.fib.table::<F>(self.table_id).ok_or(Retval::NO_SUCH_FIB)?;
        let source = match self.src {
            0 => Source::API,
            id => router.fib.sources.numbered(id).ok_or(Retval::INVALID_VALUE)?,
        };
        let key = key::<F>(self.prefix.native()?);
        router.fib.fetch::<F>(table, key);
        let paths = self.paths.iter().map(|p| p.native::<F>(router));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        match (is_add, is_multipath) {
            (true, _) if paths.is_empty() => return Err(Retval::NO_PATHS_IN_ROUTE),
            (true, true) => drop(router.add_paths::<F>(table, key, source, &paths)?),
            (true, false) => drop(router.set_paths::<F>(table, key, source, &paths)?),
            // A missing one is deleted already.
            (false, true) if !paths.is_empty() => {
                let gone = router.remove_paths::<F>(table, key, source, &paths);
                gone.or_else(|e| if e == crate::fib::Error::NoRoute { Ok(()) } else { Err(e) })?;
            }
            (false, _) => {
                router.finish_deferred::<F>(table);
                router.take_source::<F>(table, key, source);
            }
        }
        let entry = F::tables(&router.fib).at(table).and_then(|t| t.entries.get(&key));
        Ok(entry.map_or(0, |e| e.balance))
    }
    fn change(&self, router: &mut Router, is_add: bool, is_many: bool) -> Result<u32, Retval> {
        match self.prefix.native()? {
            wire::Prefix::Ip4(_) => self.add_del::<Ip4>(router, is_add, is_many),
            wire::Prefix::Ip6(_) => self.add_del::<Ip6>(router, is_add, is_many),
        }
    }
}

fn look_up(
    router: &mut Router,
    table_id: u32,
    is_exact: bool,
    prefix: Prefix,
) -> Result<IpRouteV2, Retval> {
    fn of<F: Family>(router: &Router, id: u32, is_exact: bool, key: Key<F>) -> Option<IpRouteV2> {
        let table = F::tables(&router.fib).at(router.fib.table::<F>(id)?)?;
        let (key, e) =
            if is_exact { (key, table.entries.get(&key)?) } else { table.longest(key.0, key.1)? };
        Some(IpRouteV2::of::<F>(router, id, key, e))
    }
    router.finish_deferred_of(table_id);
    let prefix = prefix.native()?;
    router.fib.table_for(prefix.addr(), table_id).ok_or(Retval::NO_SUCH_TABLE)?;
    let found = match prefix {
        wire::Prefix::Ip4(_) => of::<Ip4>(router, table_id, is_exact, key::<Ip4>(prefix)),
        wire::Prefix::Ip6(_) => of::<Ip6>(router, table_id, is_exact, key::<Ip6>(prefix)),
    };
    found.ok_or(Retval::NO_SUCH_ENTRY)
}

/// A walk through a table, one route at a time; it goes on where it stopped whatever changes
/// meanwhile.
struct Walk<F: Family> {
    table: Option<TableIndex>,
    id: u32,
    only: u8,
    last: Option<Key<F>>,
}

impl<F: Family> Walk<F> {
    fn of(router: &Router, id: u32, only: u8) -> Self {
        Self { table: router.fib.table::<F>(id), id, only, last: None }
    }
    fn next(&mut self, router: &Router) -> Option<IpRouteV2> {
        let t = F::tables(&router.fib).at(self.table?)?;
        let mut rest = t.entries.after(self.last);
        let is_it = |e: &Entry| self.only == 0 || e.source.id() == self.only;
        let (key, entry) = rest.find(|(_, e)| is_it(e))?;
        self.last = Some(*key);
        Some(IpRouteV2::of::<F>(router, self.id, *key, entry))
    }
}

/// Walk over the routes of a table, one by one.
fn walk(
    router: &mut Router,
    table: &IpTable,
    only: u8,
) -> impl FnMut(&mut Router) -> Option<IpRouteV2> + use<> {
    router.finish_deferred_of(table.table_id);
    let mut four = Walk::<Ip4>::of(router, table.table_id, only);
    let mut six = Walk::<Ip6>::of(router, table.table_id, only);
    let is_ip6 = table.is_ip6;
    move |router| if is_ip6 { six.next(router) } else { four.next(router) }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", IP_VERSION)
        .call(|router, m: IpRouteAddDel| {
            let route = IpRouteV2::from(m.route);
            let stats_index = route.change(router, m.is_add, m.is_multipath)?;
            Ok(IpRouteAddDelReply { stats_index })
        })
        .call(|router, m: IpRouteAddDelV2| {
            let stats_index = m.route.change(router, m.is_add, m.is_multipath)?;
            Ok(IpRouteAddDelV2Reply { stats_index })
        })
        .dump_each(|router, m: IpRouteDump| {
            let mut next = walk(router, &m.table, 0);
            move |router: &mut Router| Some(IpRouteDetails { route: next(router)?.into() })
        })
        .dump_each(|router, m: IpRouteV2Dump| {
            let mut next = walk(router, &m.table, m.src);
            move |router: &mut Router| Some(IpRouteV2Details { route: next(router)? })
        })
        .call(|router, m: IpRouteLookup| {
            let route = look_up(router, m.table_id, m.exact != 0, m.prefix)?.into();
            Ok(IpRouteLookupReply { route })
        })
        .call(|router, m: IpRouteLookupV2| {
            let route = look_up(router, m.table_id, m.exact != 0, m.prefix)?;
            Ok(IpRouteLookupV2Reply { route })
        });
}
