//! `show ip fib` and `show ip6 fib`, a slice of prefixes at a time.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use control::cli::{Args, Cli, Command, Error, Output, Step, Task, Word};
use serde::Serialize;
use wire::Prefix;

use super::paths::named;
use super::render::{self, Detail};
use super::summary::Summary;
use crate::fib::control::path::TableIndex;
use crate::fib::control::routes::{FromPrefix, key};
use crate::fib::control::source::Source;
use crate::fib::control::table::Key;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::flow_hash::FlowHash;
use crate::router::Router;

/// Prefixes shown between two looks at the rest of the control plane.
const SLICE: usize = 100;

/// `show ip fib [table ID | index N] [summary] [detail] [memory] [mtrie] [PREFIX | ADDRESS]`.
#[derive(Default)]
struct Show {
    table: Option<u32>,
    index: Option<u16>,
    summary: bool,
    memory: bool,
    mtrie: bool,
    detail: bool,
    prefix: Option<Prefix>,
    after: Option<Prefix>,
    count: Option<usize>,
}

impl Show {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self::default();
        while let Some(word) = args.peek() {
            let at = *args;
            args.word();
            match word {
                "table" => show.table = Some(args.value("table id")?),
                "index" => show.index = Some(args.value("index")?),
                "summary" | "sum" | "brief" => show.summary = true,
                "memory" | "mem" => show.memory = true,
                "mtrie" | "hash" => show.mtrie = true,
                "detail" | "det" | "verbose" => show.detail = true,
                "after" => show.after = Some(args.value("prefix")?),
                "count" => show.count = Some(args.value("count")?),
                _ if word.contains('/') => {
                    let prefix = Prefix::from_str(word);
                    show.prefix = Some(prefix.map_err(|e| Error::bare(e.to_string()))?);
                }
                _ => {
                    let addr = IpAddr::from_str(word).map_err(|_| at.unknown())?;
                    let len = if addr.is_ipv4() { 32 } else { 128 };
                    show.prefix = Prefix::new(addr, len).ok();
                }
            }
        }
        Ok(show)
    }
    fn begin<F: Family>(self, router: &mut Router) -> Result<Box<dyn Task<Router>>, Error>
    where
        Key<F>: FromPrefix,
    {
        let tables: Vec<TableIndex> = match (self.table, self.index) {
            (Some(id), _) => vec![named::<F>(router, id)?],
            (None, Some(index)) => vec![TableIndex(index)],
            (None, None) => F::tables(&router.fib).iter().map(|(index, _)| index).collect(),
        };
        tables.iter().for_each(|table| router.finish_deferred::<F>(*table));
        self.list::<F>(tables)
    }
    fn list<F: Family>(self, mut tables: Vec<TableIndex>) -> Result<Box<dyn Task<Router>>, Error>
    where
        Key<F>: FromPrefix,
    {
        tables.reverse();
        let wrong = |p: &Prefix| matches!(p, Prefix::Ip4(_)) != (F::BITS == 32);
        if let Some(p) = [self.prefix, self.after].into_iter().flatten().find(wrong) {
            return Err(Error::new(format!("{p} is not of {}", F::NAME)));
        }
        let (prefix, after) = (self.prefix.map(key::<F>), self.after.map(key::<F>));
        let left = self.count.unwrap_or(usize::MAX);
        Ok(Box::new(Listing::<F> { show: self, prefix, tables, at: None, after, left }))
    }
}

struct ShowIp4(Show);
struct ShowIp6(Show);

const USAGE: &str = "[table <table-id>] [index <n>] [summary|sum|brief] [detail|det] [memory|mem] \
    [mtrie|hash] [after <prefix>] [count <n>] [<prefix>|<address>]";

impl Command for ShowIp4 {
    const PATHS: &'static [&'static str] = &["show ip fib", "show ip route"];
    const ABOUT: &'static str = "Show IPv4 routes";
    const USAGE: &'static str = USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Show::take(args).map(Self)
    }
}

impl Command for ShowIp6 {
    const PATHS: &'static [&'static str] = &["show ip6 fib", "show ip6 route"];
    const ABOUT: &'static str = "Show IPv6 routes";
    const USAGE: &'static str = USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Show::take(args).map(Self)
    }
}

/// `show ip6-ll [INTERFACE] [summary] [detail] [PREFIX | ADDRESS]`.
struct ShowLinkLocal {
    interface: Option<Word>,
    show: Show,
}

impl Command for ShowLinkLocal {
    const PATHS: &'static [&'static str] = &["show ip6-ll"];
    const ABOUT: &'static str = "Show the link-local routes of interfaces";
    const USAGE: &'static str =
        "[<interface>] [summary|sum|brief] [detail|det] [<prefix>|<address>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let words = ["summary", "sum", "brief", "detail", "det"];
        let is_other = |word: &str| word.contains(':') || words.contains(&word);
        let names_one = args.peek().is_some_and(|word| !is_other(word));
        let interface = names_one.then(|| args.value("interface")).transpose()?;
        Ok(Self { interface, show: Show::take(args)? })
    }
}

fn show_link_local(router: &mut Router, c: ShowLinkLocal) -> Result<Box<dyn Task<Router>>, Error> {
    let find = |name: &Word| {
        let found = router.interfaces.named(name).map(|i| i.index);
        found.ok_or_else(|| name.unknown("interface"))
    };
    let only = c.interface.as_ref().map(find).transpose()?;
    let all = router.interfaces.iter().map(|i| i.index);
    let chosen = all.filter(|on| only.is_none_or(|only| only == *on));
    c.show.list::<Ip6>(chosen.filter_map(|on| router.fib.link_local_of(on)).collect())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, c: ShowIp4| c.0.begin::<Ip4>(router));
    cli.task(|router: &mut Router, c: ShowIp6| c.0.begin::<Ip6>(router));
    cli.task(show_link_local);
}

/// A table and, when its head is out, where in it the list stands.
struct Listing<F: Family> {
    show: Show,
    prefix: Option<Key<F>>,
    /// Tables still to come, the next one last.
    tables: Vec<TableIndex>,
    /// The table being listed, and the last prefix that was.
    at: Option<(TableIndex, Option<Key<F>>)>,
    /// The prefix after which the list begins.
    after: Option<Key<F>>,
    /// Prefixes that are still to be shown.
    left: usize,
}

impl<F: Family> Task<Router> for Listing<F> {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let Some((table, last)) = self.at.take() else {
            let Some(table) = self.tables.pop().filter(|_| self.left > 0) else {
                return Step::Done(Ok(()));
            };
            self.start(router, table, out);
            return Step::Again;
        };
        let routes = render::after::<F>(router, table, last, SLICE.min(self.left));
        self.left -= routes.len();
        for key in &routes {
            let detail = if self.show.detail { Detail::Long } else { Detail::Short };
            out.append(render::route::<F>(router, table, *key, detail));
        }
        // A table that is deleted meanwhile just ends.
        self.at = routes.last().map(|last| (table, Some(*last)));
        Step::Again
    }
}

impl<F: Family> Listing<F> {
    fn start(&mut self, router: &Router, table: TableIndex, out: &mut Output) {
        let Some(head) = Head::of::<F>(router, table) else { return };
        let Some(t) = F::tables(&router.fib).at(table) else { return };
        if self.show.memory {
            let (prefixes, bytes) = (t.entries.len(), t.memory());
            let balances = router.fib.balances.len();
            let written = router.fib.balances.written();
            let line = format!("{} prefixes:{prefixes} bytes:{bytes} ", head.name);
            let line = line + &format!("load-balances of all tables:{balances} ");
            out.append(Output::text(line + &format!("redirected so far:{written}")));
        } else if self.show.mtrie {
            let shape = t.shape();
            let (name, lookup) = (head.name.clone(), shape.clone());
            out.append(Output::both(format!("{head}{shape}\n"), Shape { name, lookup }));
        } else if self.show.summary {
            out.append(Output::of(Summary::of(head, t)));
        } else if let Some((bits, len)) = self.prefix {
            out.append(Output::of(head));
            if let Some((key, _)) = t.longest(bits, len) {
                out.append(render::route::<F>(router, table, key, Detail::Long));
            }
        } else {
            out.append(Output::of(head));
            self.at = Some((table, self.after));
        }
    }
}

/// Structures that a table is looked up in.
#[derive(Serialize)]
struct Shape {
    name: String,
    lookup: String,
}

/// The line above a table.
#[derive(Clone, Serialize)]
pub(super) struct Head {
    name: String,
    fib_index: u16,
    table_id: u32,
    flow_hash: Vec<&'static str>,
    locks: Vec<(&'static str, u32)>,
}

impl Head {
    fn of<F: Family>(router: &Router, index: TableIndex) -> Option<Self> {
        let t = F::tables(&router.fib).at(index)?;
        let name = match t.link_local {
            Some(interface) => {
                format!("{}-link-local:{}", F::LONG_NAME, router.interfaces.name(interface.0))
            }
            None => t.name.clone(),
        };
        let is_default = index == TableIndex::DEFAULT;
        let mut locks = vec![
            ("CLI", u32::from(!is_default)),
            ("interface", t.interfaces),
            ("adjacency", t.count(Source::ADJACENCY)),
            ("attached-export", t.count(Source::ATTACHED_EXPORT)),
            ("recursive-resolution", t.count(Source::RECURSIVE)),
            ("default-route", u32::from(is_default)),
        ];
        locks.retain(|l| l.1 > 0);
        let what = router.fib.flow_hash::<F>(index);
        let flow_hash = FlowHash::NAMES.iter().filter(|(one, _)| what.has(*one));
        let flow_hash = flow_hash.map(|(_, name)| *name).collect();
        Some(Self { name, fib_index: index.0, table_id: t.id, flow_hash, locks })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, fib_index:{}, ", self.name, self.fib_index)?;
        write!(f, "flow hash:[")?;
        self.flow_hash.iter().try_for_each(|name| write!(f, "{name} "))?;
        write!(f, "] epoch:0 flags:none locks:[")?;
        self.locks.iter().try_for_each(|(name, count)| write!(f, "{name}:{count}, "))?;
        writeln!(f, "]")
    }
}
