//! A route as `show ip fib` prints it.

use std::fmt::{self, Write};

use control::cli::Output;
use infra::counter::Volume;
use serde::Serialize;

use crate::adjacency::{self, Link};
use crate::fib::Followed;
use crate::fib::control::path::{Gateway, Label, Path, TableIndex, Target};
use crate::fib::control::source::Source;
use crate::fib::control::table::{Entry, Key};
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::forwarding::load_balance::Via;
use crate::router::Router;

/// Most load balances in a row that are followed.
const DEPTH: usize = 8;

/// Level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// The target of packets.
    Short,
    /// And why.
    Long,
}

/// One route, as text and as values.
#[derive(Serialize)]
struct Route {
    #[serde(skip)]
    text: String,
    table_id: u32,
    prefix: String,
    sources: Vec<Source>,
    load_balance: u32,
    packets: u64,
    bytes: u64,
    buckets: Vec<String>,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The next `count` prefixes of a table.
pub(super) fn after<F: Family>(
    router: &Router,
    table: TableIndex,
    last: Option<Key<F>>,
    count: usize,
) -> Vec<Key<F>> {
    let Some(t) = F::tables(&router.fib).at(table) else { return Vec::new() };
    t.entries.after(last).map(|(key, _)| *key).take(count).collect()
}

/// One route of a table.
pub(super) fn route<F: Family>(
    router: &Router,
    table: TableIndex,
    key: Key<F>,
    detail: Detail,
) -> Output {
    let Some(t) = F::tables(&router.fib).at(table) else { return Output::none() };
    let Some(entry) = t.entries.get(&key) else { return Output::none() };
    let prefix = F::prefix(key).to_string();
    let mut page = Page::<F> { router, text: String::new(), of: std::marker::PhantomData };
    // Writing to a string does not fail.
    let _ = match detail {
        Detail::Short => page.short(&prefix, entry),
        Detail::Long => page.long(&prefix, table, key, entry),
    };
    let balance = router.fib.balances.at(entry.balance);
    let (to, _) = router.fib.balances.counted(entry.balance);
    let buckets = balance.buckets().iter().map(|via| page.via(entry.balance, *via)).collect();
    Output::of(Route {
        text: page.text,
        table_id: t.id,
        prefix,
        sources: entry.sources().map(|s| s.0).collect(),
        load_balance: entry.balance,
        packets: to.packets,
        bytes: to.bytes,
        buckets,
    })
}

impl Router {
    /// Description of a followed route, as `show ip fib` prints a prefix: paths, then forwarding
    /// under the name of the chain.
    pub fn describe_followed(&self, followed: &Followed, chain: &str) -> String {
        let paths = self.describe_paths(followed);
        if paths.is_empty() {
            return paths;
        }
        let balance = |page: &mut Page<'_, Ip4>| page.balance(followed.load_balance(), 4, DEPTH);
        let balance = Page::<Ip4>::text(self, balance);
        format!("{paths}\n forwarding:   {chain}\n  [@0]: {balance}")
    }
    /// Description of the paths of a followed route.
    pub fn describe_paths(&self, followed: &Followed) -> String {
        let Some(list) = self.fib.balances.list_of(followed.load_balance()) else {
            return String::new();
        };
        match self.fib.lists.at(list).link() {
            Link::Ip6 => Page::<Ip6>::text(self, |page| page.list(list)),
            _ => Page::<Ip4>::text(self, |page| page.list(list)),
        }
    }
    /// The target of the first bucket of a followed route, in a line.
    pub fn describe_first(&self, followed: &Followed) -> String {
        let buckets = self.fib.balances.at(followed.load_balance());
        buckets.buckets().first().map(|via| self.describe_via(*via)).unwrap_or_default()
    }
    /// The target of a bucket, in a line.
    pub fn describe_via(&self, via: Via) -> String {
        Page::<Ip4> { router: self, text: String::new(), of: std::marker::PhantomData }.via(0, via)
    }
}

/// A path list; nothing, when there is none with this number.
pub(super) fn path_list(router: &Router, index: u32) -> Output {
    of_list(router, index, |page, i| page.list(i), |page, i| page.list(i))
}

/// The paths of a path list.
pub(super) fn paths(router: &Router, index: u32) -> Output {
    of_list(router, index, |page, i| page.paths(i), |page, i| page.paths(i))
}

/// Description of a path list, with the families that it may be of.
fn of_list(
    router: &Router,
    index: u32,
    four: fn(&mut Page<'_, Ip4>, u32) -> fmt::Result,
    six: fn(&mut Page<'_, Ip6>, u32) -> fmt::Result,
) -> Output {
    let Some(list) = router.fib.lists.find(index) else { return Output::none() };
    let text = match list.link() {
        Link::Ip6 => Page::<Ip6>::text(router, |page| six(page, index)),
        _ => Page::<Ip4>::text(router, |page| four(page, index)),
    };
    let lines: Vec<_> =
        text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    let value = PathListValue {
        path_list: index,
        users: list.users,
        paths: list.paths.iter().map(|p| format!("{:?}", p.target)).collect(),
        usable: &list.usable,
    };
    Output::both(lines.join("\n") + "\n", value)
}

#[derive(Serialize)]
struct PathListValue<'l> {
    path_list: u32,
    users: u32,
    paths: Vec<String>,
    usable: &'l [bool],
}

/// A load balance; nothing, when there is none with this number.
pub(super) fn load_balance(router: &Router, index: u32) -> Output {
    let balances = &router.fib.balances;
    let Some(list) = balances.list_of(index) else { return Output::none() };
    let text = match router.fib.lists.at(list).link() {
        Link::Ip6 => Page::<Ip6>::text(router, |page| page.balance(index, 2, DEPTH)),
        _ => Page::<Ip4>::text(router, |page| page.balance(index, 2, DEPTH)),
    };
    let buckets = balances.at(index).buckets().len();
    let (to, via) = balances.counted(index);
    let (packets, via) = (to.packets, via.packets);
    Output::both(
        text,
        LoadBalanceValue { load_balance: index, path_list: list, buckets, packets, via },
    )
}

#[derive(Serialize)]
struct LoadBalanceValue {
    load_balance: u32,
    path_list: u32,
    buckets: usize,
    packets: u64,
    via: u64,
}

struct Page<'r, F> {
    router: &'r Router,
    text: String,
    of: std::marker::PhantomData<F>,
}

impl<F: Family> Page<'_, F> {
    /// Text that `write` puts on a page of its own.
    fn text(router: &Router, write: impl FnOnce(&mut Page<'_, F>) -> fmt::Result) -> String {
        let mut page = Page { router, text: String::new(), of: std::marker::PhantomData };
        // Writing to a string does not fail.
        let _ = write(&mut page);
        page.text
    }
    fn short(&mut self, prefix: &str, entry: &Entry) -> fmt::Result {
        writeln!(self.text, "{prefix}")?;
        self.chain(entry.balance)
    }
    fn long(&mut self, prefix: &str, table: TableIndex, key: Key<F>, e: &Entry) -> fmt::Result {
        let to = Gateway::of(table, F::addr(key.0));
        let is_via = key.1 == F::BITS && !self.router.fib.lists_behind(to).is_empty();
        let locks = 1 + e.sources().count() + usize::from(is_via);
        writeln!(self.text, "{prefix} fib:{} index:{} locks:{locks}", table.0, e.number)?;
        for (i, (source, list)) in e.sources().enumerate() {
            self.source(source, list, i == 0)?;
            if source == Source::RECURSIVE
                && let Some(t) = F::tables(&self.router.fib).at(table)
                && let Some((_, cover)) = t.cover(key)
            {
                write!(self.text, " cover:{}", cover.number)?;
            }
            writeln!(self.text)?;
            self.list(list)?;
        }
        write!(self.text, "\n forwarding: ")?;
        self.chain(e.balance)?;
        let others = Link::ALL.into_iter().filter(|link| *link != to.link && is_via);
        for (i, link) in others.enumerate() {
            let Some((balance, _)) = self.router.fib.host(to.with_link(link)) else { continue };
            if i == 0 {
                writeln!(self.text, " Delegates:")?;
            }
            self.text += &match link {
                Link::Ip6 => Page::<Ip6>::text(self.router, |page| page.chain(balance)),
                _ => Page::<Ip4>::text(self.router, |page| page.chain(balance)),
            };
        }
        Ok(())
    }
    fn source(&mut self, source: Source, list: u32, is_best: bool) -> fmt::Result {
        write!(self.text, "  {} refs:1 ", self.router.fib.sources.name(source))?;
        let paths = &self.router.fib.lists.at(list).paths;
        let flags = match paths.first().map(|p| p.target) {
            Some(Target::Drop) => "entry-flags:drop, ",
            Some(Target::Receive { .. }) => "entry-flags:connected,local, ",
            Some(Target::Attached { .. }) => "entry-flags:connected,attached, ",
            Some(Target::Neighbor { .. }) if source == Source::ADJACENCY => {
                "entry-flags:attached, "
            }
            _ => "",
        };
        let state = if is_best { "added,contributing,active," } else { "added," };
        write!(self.text, "{flags}src-flags:{state}")
    }
    fn list(&mut self, list: u32) -> fmt::Result {
        let l = self.router.fib.lists.at(list);
        let is_drop = l.paths.iter().all(|p| p.target == Target::Drop);
        let flags = if is_drop { "drop" } else { "shared" };
        let interfaces = l.outputs();
        write!(self.text, "    path-list:[{list}] locks:{} flags:{flags}, ", l.users + 1)?;
        write!(self.text, "uPRF-list:{list} len:{} itfs:[", interfaces.len())?;
        interfaces.iter().try_for_each(|i| write!(self.text, "{i}, "))?;
        writeln!(self.text, "]")?;
        self.paths(list)?;
        self.extensions(list)
    }
    fn paths(&mut self, list: u32) -> fmt::Result {
        let l = self.router.fib.lists.at(list);
        for (i, path) in l.paths.iter().enumerate() {
            let number = l.first_path.wrapping_add(i as u32);
            write!(self.text, "      path:[{number}] pl-index:{list} {} ", F::NAME)?;
            write!(self.text, "weight={} pref={} ", path.weight, path.preference)?;
            let oper = match l.usable[i] {
                true => "oper-flags:resolved,",
                false if self.router.is_loop(list, path) => "oper-flags:recursive-loop,",
                false => "oper-flags:",
            };
            self.path(path, oper, l.adjacencies[i])?;
        }
        Ok(())
    }
    fn path(
        &mut self,
        path: &Path,
        oper: &str,
        adjacency: adjacency::AdjacencyIndex,
    ) -> fmt::Result {
        let router = self.router;
        let name = |i: crate::InterfaceIndex| router.interfaces.name(i.0);
        match path.target {
            Target::Neighbor { interface, addr }
            | Target::ForeignNeighbor { interface, addr, .. } => {
                writeln!(self.text, "attached-nexthop:  {oper}")?;
                writeln!(self.text, "        {addr} {}", name(interface))?;
                writeln!(self.text, "      [@0]: {}", adjacency::describe(router, adjacency))
            }
            Target::Attached { interface, .. } => {
                writeln!(self.text, "attached:  {oper}")?;
                writeln!(self.text, "        {}", name(interface))?;
                writeln!(self.text, "      [@0]: {}", adjacency::describe(router, adjacency))
            }
            Target::Recursive { to, .. } => {
                writeln!(self.text, "recursive:  {oper}")?;
                let (balance, _) = router.fib.host(to).unwrap_or_default();
                let number = router.fib.entry_of(to).map_or(0, |e| e.number);
                let (addr, table) = (to.addr, to.table.0);
                write!(self.text, "        via {addr} in fib:{table} via-fib:{number} ")?;
                writeln!(self.text, "via-dpo:[dpo-load-balance:{balance}]")
            }
            Target::Receive { .. } => {
                writeln!(self.text, "receive:  {oper} cfg-flags:local,")?;
                writeln!(self.text, "        [@0]: {}", self.target(&path.target))
            }
            Target::Lookup { .. } | Target::SourceLookup { .. } => {
                writeln!(self.text, "deag:  {oper}")?;
                writeln!(self.text, "        [@0]: {}", self.target(&path.target))
            }
            Target::InterfaceRx { .. } => {
                writeln!(self.text, "intf-rx:  {oper}")?;
                writeln!(self.text, "        [@0]: {}", self.target(&path.target))
            }
            Target::Drop | Target::Exempt => {
                writeln!(self.text, "special:  cfg-flags:drop,")?;
                writeln!(self.text, "        [@0]: {}", self.target(&path.target))
            }
            _ => {
                writeln!(self.text, "special:  {oper}")?;
                writeln!(self.text, "        [@0]: {}", self.target(&path.target))
            }
        }
    }
    /// The labels of paths that have some.
    fn extensions(&mut self, list: u32) -> fmt::Result {
        let l = self.router.fib.lists.at(list);
        if l.paths.iter().any(|path| path.labels.is_some()) {
            writeln!(self.text, "    Extensions:")?;
        }
        for (i, path) in l.paths.iter().enumerate() {
            let Some(labels) = &path.labels else { continue };
            write!(self.text, "     path:{}  labels:[", l.first_path.wrapping_add(i as u32))?;
            for Label { value, ttl, exp, is_uniform } in labels.iter() {
                let mode = if *is_uniform { "uniform" } else { "pipe" };
                write!(self.text, "[{value} {mode} ttl:{ttl} exp:{exp}]")?;
            }
            writeln!(self.text, "]")?;
        }
        Ok(())
    }
    fn chain(&mut self, balance: u32) -> fmt::Result {
        write!(self.text, "  unicast-{}-chain\n  [@0]: ", F::NAME)?;
        self.balance(balance, 4, DEPTH)
    }
    /// A load balance from its name on, its buckets on lines of their own.
    fn balance(&mut self, index: u32, indent: usize, depth: usize) -> fmt::Result {
        let balances = &self.router.fib.balances;
        let balance = balances.at(index);
        let buckets = balance.buckets();
        let (to, via) = balances.counted(index);
        write!(self.text, "dpo-load-balance: [proto:{} index:{index} ", F::NAME)?;
        let list = balances.list_of(index).unwrap_or_default();
        write!(self.text, "buckets:{} uRPF:{list} ", buckets.len())?;
        write!(self.text, "to:[{}:{}]", to.packets, to.bytes)?;
        if via != Volume::default() {
            write!(self.text, " via:[{}:{}]", via.packets, via.bytes)?;
        }
        writeln!(self.text, "]")?;
        let mut first = 0;
        for run in buckets.chunk_by(|a, b| a == b) {
            let last = first + run.len() - 1;
            let range = if first == last { first.to_string() } else { format!("{first}-{last}") };
            first = last + 1;
            write!(self.text, "{:indent$}[{range}] ", "")?;
            match run[0] {
                Via::LoadBalance(next) if depth > 0 => {
                    write!(self.text, "[@13]: ")?;
                    self.balance(next, indent + 6, depth - 1)?;
                }
                via => writeln!(self.text, "{}", self.via(index, via))?,
            }
        }
        Ok(())
    }
    /// The target of one bucket of a load balance.
    fn via(&self, balance: u32, via: Via) -> String {
        let (number, text) = match via {
            Via::Adjacency(a) => {
                let is_complete = self.router.adjacencies.at(a).is_some_and(|a| a.complete);
                (if is_complete { 5 } else { 3 }, adjacency::describe(self.router, a))
            }
            Via::Midchain(a) => (6, adjacency::describe(self.router, a)),
            Via::Glean(a) => (4, adjacency::describe(self.router, a)),
            Via::LoadBalance(index) => (13, format!("dpo-load-balance: [index:{index}]")),
            Via::Receive(_) => {
                let list = self.router.fib.balances.list_of(balance);
                let paths = list.map_or(&[][..], |list| &self.router.fib.lists.at(list).paths);
                let receive = paths.iter().find(|p| matches!(p.target, Target::Receive { .. }));
                (12, receive.map_or_else(|| "dpo-receive".to_owned(), |p| self.target(&p.target)))
            }
            Via::Lookup(table) => {
                let target = Target::Lookup { link: F::LINK, table: TableIndex(table) };
                (14, self.target(&target))
            }
            Via::SourceLookup(table) => {
                let table = TableIndex(table);
                (14, self.target(&Target::SourceLookup { link: F::LINK, table }))
            }
            Via::InterfaceRx(interface) => {
                let interface = crate::InterfaceIndex(interface);
                (19, self.target(&Target::InterfaceRx { interface }))
            }
            Via::Drop | Via::Exempt => (0, self.target(&Target::Drop)),
            Via::Punt => (1, self.target(&Target::Punt)),
            Via::Unreachable => (2, self.target(&Target::Unreachable)),
            Via::Prohibit => (2, self.target(&Target::Prohibit)),
            Via::Object(object) => (20, self.router.describe_object(object)),
            Via::LinkLocal => (9, self.target(&Target::LinkLocal)),
        };
        format!("[@{number}]: {text}")
    }
    fn table_name(&self, table: TableIndex) -> &str {
        F::tables(&self.router.fib).at(table).map_or("deleted", |t| &t.name)
    }
    /// A target that is no adjacency.
    fn target(&self, target: &Target) -> String {
        let name = F::NAME;
        match target {
            Target::Receive { interface, addr } => {
                let addr = addr.unwrap_or_else(|| F::LINK.unspecified());
                let interface = interface.map_or("local0", |i| self.router.interfaces.name(i.0));
                format!("dpo-receive: {addr} on {interface}")
            }
            Target::Lookup { table, .. } => {
                format!("dst-address,unicast lookup in {}", self.table_name(*table))
            }
            Target::SourceLookup { table, .. } => {
                format!("src-address,unicast lookup in {}", self.table_name(*table))
            }
            Target::InterfaceRx { interface } => {
                format!("interface-rx-dpo: {}", self.router.interfaces.name(interface.0))
            }
            Target::Punt => format!("dpo-punt {name}"),
            Target::Unreachable => format!("{name}-null: unreachable"),
            Target::Prohibit => format!("{name}-null: prohibit"),
            Target::LinkLocal => format!("{name}-link-local"),
            _ => format!("dpo-drop {name}"),
        }
    }
}
