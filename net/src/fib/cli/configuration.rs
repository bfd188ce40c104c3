//! Tables, sources and routes that the operator and clients want, as commands.

use std::fmt::Write;

use control::cli::{Args, Cli, Command, Error, Print, Word};
use control::configuration::{Lines, Stage};

use wire::Prefix;

use super::paths;
use super::route::Route;
use super::tables::{Ip4Table, Ip6Table, SetHash, SetIp4Hash, SetIp6Hash, SetSeed, Table, Verb};
use crate::adjacency::Link;
use crate::fib::Fib;
use crate::fib::control::path::{Path, TableIndex, Target, Through};
use crate::fib::control::routes::{FromPrefix, key};
use crate::fib::control::source::Source;
use crate::fib::control::table::{Entry, Key};
use crate::fib::family::{Family, Ip4, Ip6};
use crate::flow_hash::FlowHash;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Add or delete a route source.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set fib source")]
#[undo("set fib source {1} priority {priority} del")]
#[stage(Objects)]
pub(super) struct SetSource {
    /// name
    #[positional]
    pub name: String,
    /// priority; the lowest wins
    pub priority: u8,
    /// delete it; it must have no routes
    pub del: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetSource| {
        if c.del {
            let made = router.fib.sources.made().find(|(_, name)| *name == c.name);
            let source = made.map(|(source, _)| source);
            let source = source.ok_or_else(|| format!("no source `{}'", c.name))?;
            if router.fib.count_of(source) > 0 {
                return Err(Error::new(format!("source `{}' has routes", c.name)));
            }
            router.fib.sources.remove(source);
            return Ok(());
        }
        let made = router.fib.sources.add(&c.name, c.priority);
        made.map(drop).ok_or_else(|| Error::new("no room for more sources"))
    });
}

/// The last prefix of a table that was looked at.
struct Place<F: Family> {
    table: TableIndex,
    last: Option<Key<F>>,
}

/// Position of the walk through all tables, between two slices.
enum Cursor {
    Ip4(Place<Ip4>),
    Ip6(Place<Ip6>),
}

impl<F: Family> Place<F> {
    const FIRST: Self = Self { table: TableIndex::DEFAULT, last: None };

    /// Puts routes in until others have their turn; where to go on then.
    fn walk(self, router: &Router, lines: &mut Lines<'_>) -> Option<Self> {
        let left = F::tables(&router.fib).iter().filter(|(index, _)| *index >= self.table);
        for (table, t) in left {
            let last = self.last.filter(|_| table == self.table);
            for (key, entry) in t.entries.after(last) {
                routes::<F>(router, t.id, *key, entry, lines);
                if lines.is_full() {
                    return Some(Self { table, last: Some(*key) });
                }
            }
        }
        None
    }
}

impl Fib {
    /// The prefixes for which a source wants routes, with the numbers of their tables.
    pub fn routes_of(&self, source: Source) -> impl Iterator<Item = (u32, Prefix)> {
        fn of<F: Family>(fib: &Fib, source: Source) -> impl Iterator<Item = (u32, Prefix)> {
            let tables = F::tables(fib).iter().filter(move |(_, t)| t.count(source) > 0);
            tables.flat_map(move |(_, t)| {
                let wanted = t.entries.iter().filter(move |(_, e)| e.list_of(source).is_some());
                wanted.map(|(key, _)| (t.id, F::prefix(*key)))
            })
        }
        of::<Ip4>(self, source).chain(of::<Ip6>(self, source))
    }
    /// Number of the prefixes for which a source wants routes.
    pub fn count_of(&self, source: Source) -> usize {
        fn of<F: Family>(fib: &Fib, source: Source) -> usize {
            F::tables(fib).iter().map(|(_, table)| table.count(source) as usize).sum()
        }
        of::<Ip4>(self, source) + of::<Ip6>(self, source)
    }
    /// Whether a source wants a route to a prefix.
    pub fn has_route_of(&self, source: Source, table: TableIndex, prefix: Prefix) -> bool {
        fn of<F: Family>(fib: &Fib, source: Source, table: TableIndex, key: Key<F>) -> bool {
            let entry = F::tables(fib).at(table).and_then(|table| table.entries.get(&key));
            entry.is_some_and(|entry| entry.list_of(source).is_some())
        }
        match prefix {
            Prefix::Ip4(_) => of::<Ip4>(self, source, table, key::<Ip4>(prefix)),
            Prefix::Ip6(_) => of::<Ip6>(self, source, table, key::<Ip6>(prefix)),
        }
    }
}

pub(in crate::fib) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let cursor = lines.resumed().unwrap_or_else(|| {
        for (source, name) in router.fib.sources.made() {
            lines.push(&SetSource {
                name: name.to_owned(),
                priority: source.priority(),
                del: false,
            });
        }
        if router.fib.hashes4.seed() != 0 {
            lines.push(&SetSeed { number: router.fib.hashes4.seed() });
        }
        tables::<Ip4, _, _>(router, lines, Ip4Table, SetIp4Hash);
        tables::<Ip6, _, _>(router, lines, Ip6Table, SetIp6Hash);
        Cursor::Ip4(Place::FIRST)
    });
    let ip6 = match cursor {
        Cursor::Ip4(place) => match place.walk(router, lines) {
            Some(place) => return lines.pause(Cursor::Ip4(place)),
            None => Place::FIRST,
        },
        Cursor::Ip6(place) => place,
    };
    if let Some(place) = ip6.walk(router, lines) {
        lines.pause(Cursor::Ip6(place));
    }
}

/// The routes to the prefix of an `ip route` command.
pub(in crate::fib) fn find(
    router: &Router,
    command: &str,
    lines: &mut Lines<'_>,
) -> Result<(), Error> {
    let words = command.strip_prefix(Route::PATHS[0]).unwrap_or_default();
    let route = Route::parse(&mut Args::new(words).in_context(router))?;
    if route.is_del || route.count != 1 {
        return Err(Error::new("a line of a configuration adds one route"));
    }
    match route.prefix {
        Prefix::Ip4(_) => find_of::<Ip4>(router, &route, lines),
        Prefix::Ip6(_) => find_of::<Ip6>(router, &route, lines),
    }
}

fn find_of<F: Family>(router: &Router, route: &Route, lines: &mut Lines<'_>) -> Result<(), Error>
where
    Key<F>: FromPrefix,
{
    let table = paths::named::<F>(router, route.table)?;
    paths::parse::<F>(router, &route.paths)?;
    let key = key::<F>(route.prefix);
    if let Some(entry) = F::tables(&router.fib).at(table).and_then(|t| t.entries.get(&key)) {
        routes::<F>(router, route.table, key, entry, lines);
    }
    Ok(())
}

/// The tables of a family. One that stays only for those who look up there is deleted last.
fn tables<F: Family, T: Print, H: Print>(
    router: &Router,
    lines: &mut Lines<'_>,
    table: fn(Table) -> T,
    hash: fn(SetHash) -> H,
) {
    for (index, t) in F::tables(&router.fib).iter() {
        let has_multicast = match F::LINK {
            Link::Ip4 => router.has_mtable::<Ip4>(index),
            _ => router.has_mtable::<Ip6>(index),
        };
        let is_usual = t.name == format!("{}-VRF:{}", F::LONG_NAME, t.id);
        let name = (!is_usual).then(|| t.name.clone());
        // The first table is always there, but may have a name.
        if index != TableIndex::DEFAULT || name.is_some() {
            let verb = if has_multicast { Verb::Add } else { Verb::AddUnicast };
            lines.push(&table(Table { verb, id: Some(t.id), name }));
        }
        if !t.is_wanted {
            let gone = Table { verb: Verb::Release, id: Some(t.id), name: None };
            lines.push_in(Stage::State, 0, &table(gone));
        }
        let what = router.fib.flow_hash::<F>(index);
        if what != FlowHash::DEFAULT {
            lines.push(&hash(SetHash { table: t.id, what }));
        }
    }
}

/// The routes to a prefix that the operator and clients want.
fn routes<F: Family>(
    router: &Router,
    table: u32,
    key: Key<F>,
    entry: &Entry,
    lines: &mut Lines<'_>,
) {
    for (source, list) in entry.sources().filter(|(source, _)| source.is_client()) {
        let paths = router.fib.lists.at(list).paths.iter().map(|path| words::<F>(router, path));
        // Routes over a deleted interface are on their way out.
        let Some(paths) = paths.collect::<Option<Vec<_>>>() else { continue };
        let name = Word::from(router.fib.sources.name(source));
        let source = (source != Source::CLI).then_some(name);
        let (prefix, paths) = (F::prefix(key), paths.join(" "));
        lines.push(&Route { is_del: false, count: 1, prefix, table, source, paths });
    }
}

/// A path in command syntax; `None` if an object that it names is missing.
pub fn words<F: Family>(router: &Router, path: &Path) -> Option<String> {
    words_of(router, F::LINK, path)
}

/// A path of a route of packets of a link, as [`paths_of`](super::paths::parse_of) reads it; `None`
/// if an object that it names is missing.
pub fn words_of(router: &Router, link: Link, path: &Path) -> Option<String> {
    let name = |i: InterfaceIndex| router.interfaces.at(i).map(|i| i.name.as_str());
    let mut text = String::from("via ");
    let mut write = |words: std::fmt::Arguments<'_>| text.write_fmt(words).ok();
    match path.target {
        Target::Neighbor { interface, addr } | Target::ForeignNeighbor { interface, addr, .. } => {
            write(format_args!("{addr} {}", name(interface)?))
        }
        Target::Attached { interface, .. } => write(format_args!("{}", name(interface)?)),
        Target::Recursive { to, through } => {
            let table = id(router, Link::of(to.addr), to.table)?;
            let through = match through {
                Through::Any => "",
                Through::Host => " resolve-via-host",
                Through::Attached => " resolve-via-connected",
            };
            write(format_args!("{} next-hop-table {table}{through}", to.addr))
        }
        Target::Receive { interface, addr } => {
            let interface =
                interface.map_or(Some(String::new()), |i| Some(format!(" {}", name(i)?)));
            let addr = addr.map_or(String::new(), |addr| format!(" address {addr}"));
            write(format_args!("local{}{addr}", interface?))
        }
        Target::Lookup { link, table } => {
            write(format_args!("lookup in table {}", id(router, link, table)?))
        }
        Target::SourceLookup { link, table } => {
            write(format_args!("source-lookup-in-table {}", id(router, link, table)?))
        }
        Target::InterfaceRx { interface } => {
            write(format_args!("rx-{} {}", link.word(), name(interface)?))
        }
        Target::Unreachable => write(format_args!("unreachable")),
        Target::Prohibit => write(format_args!("prohibit")),
        Target::Punt => write(format_args!("punt")),
        Target::Drop | Target::Exempt | Target::LinkLocal => write(format_args!("drop")),
        Target::Label { table, label } => {
            write(format_args!("via-label {label} next-hop-table {table}"))
        }
        // An object without words of its own: what makes it makes the route.
        Target::Object(object) => {
            let words = router.print_object(object)?;
            write(format_args!("{words}"))
        }
    }?;
    if path.weight != 1 {
        write!(text, " weight {}", path.weight).ok()?;
    }
    if path.preference != 0 {
        write!(text, " preference {}", path.preference).ok()?;
    }
    for (n, label) in path.labels.iter().flat_map(|labels| labels.iter()).enumerate() {
        write!(text, "{} {label}", if n == 0 { " out-labels" } else { "" }).ok()?;
    }
    if path.pop.is_some_and(|pop| pop.has_control_word) {
        text += " control-word";
    }
    if let Some(pop) = path.pop.filter(|pop| pop.rpf_id != 0) {
        write!(text, " rpf-id {}", pop.rpf_id).ok()?;
    }
    Some(text)
}

fn id(router: &Router, link: Link, table: TableIndex) -> Option<u32> {
    router.table_id_of(link, table)
}
