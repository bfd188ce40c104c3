//! `ip route`: adding and deleting routes, one or many.
//!
//! Parsed by hand: a file of a million such lines should take a second or two.

use std::fmt;
use std::str::FromStr;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print, Step, Task, Word};
use control::configuration::Stage;
use wire::Prefix;
use wire::prefix::InvalidPrefix;

use super::paths;
use crate::fib::control::deferred;
use crate::fib::control::path::{Path, TableIndex};
use crate::fib::control::routes::{FromPrefix, key};
use crate::fib::control::source::Source;
use crate::fib::control::table::Key;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::router::Router;

/// Routes changed between two looks at the rest of the control plane.
const SLICE: u32 = 1000;

/// `ip route [add|del] [count N] PREFIX [table ID] [source NAME] PATHS`.
#[derive(Debug, PartialEq)]
pub(super) struct Route {
    pub is_del: bool,
    pub count: u32,
    pub prefix: Prefix,
    pub table: u32,
    /// The operator if `None`.
    pub source: Option<Word>,
    pub paths: String,
}

impl Command for Route {
    const PATHS: &'static [&'static str] = &["ip route", "ip6 route"];
    const ABOUT: &'static str = "Add or delete routes";
    const USAGE: &'static str = concat!(
        "[add|del] [count <n>] <prefix> [table <table-id>] [source <name>] {{via ",
        crate::path_usage!(),
        "}... | drop|local|punt|unreachable|prohibit | lookup in table <table-id>}"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut count, mut table, mut prefix) = (false, 1, 0, None);
        let mut source = None;
        while let Some(word) = args.peek() {
            match word {
                "add" => is_del = false,
                "del" => is_del = true,
                "count" | "table" => {
                    args.word();
                    let value = args.peek().and_then(|n| n.parse::<u32>().ok());
                    let value = value.ok_or_else(|| args.error("parse error"))?;
                    *(if word == "count" { &mut count } else { &mut table }) = value;
                }
                "source" => {
                    args.word();
                    source = Some(args.value("source")?);
                    continue;
                }
                _ if prefix.is_some() => break,
                _ => match Prefix::from_str(word) {
                    Ok(p) => prefix = Some(p),
                    Err(e @ InvalidPrefix::Length(_)) => {
                        return Err(Error::bare(e.to_string()).at(word));
                    }
                    Err(InvalidPrefix::Text) => return Err(args.error("parse error")),
                },
            }
            args.word();
        }
        let prefix = prefix.ok_or_else(|| Error::new("missing prefix"))?;
        let paths = args.rest().to_owned();
        if paths.is_empty() && !is_del {
            return Err(Error::new("missing path"));
        }
        // `table` may stand after the paths, too.
        let (paths, table) = match trailing_table(&paths) {
            Some((paths, table)) => (paths.to_owned(), table),
            None => (paths, table),
        };
        Ok(Self { is_del, count, prefix, table, source, paths })
    }
}

impl Print for Route {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" });
        line.option("count", Some(&self.count).filter(|count| **count != 1));
        line.value(&self.prefix);
        line.option("table", Some(&self.table).filter(|table| **table != 0));
        line.option("source", self.source.as_ref()).flag(&self.paths, !self.paths.is_empty());
    }
}

/// `PATHS table ID`, unless the table is a path's own.
fn trailing_table(paths: &str) -> Option<(&str, u32)> {
    // Nearly no route ends in a number, which is seen at once.
    paths.bytes().next_back().filter(u8::is_ascii_digit)?;
    let last = paths.rsplit(' ').next().filter(|last| last.bytes().all(|b| b.is_ascii_digit()))?;
    let before = paths.strip_suffix(last)?.trim_end().strip_suffix(" table")?;
    let is_lookup = before.trim_end().ends_with("in");
    Some((before, last.parse().ok()?)).filter(|_| !is_lookup)
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, route: Route| match route.prefix {
        Prefix::Ip4(_) => begin::<Ip4>(router, &route),
        Prefix::Ip6(_) => begin::<Ip6>(router, &route),
    });
}

fn begin<F: Family>(router: &mut Router, route: &Route) -> Result<Box<dyn Task<Router>>, Error>
where
    Key<F>: FromPrefix,
{
    let table = paths::named::<F>(router, route.table)?;
    let source = route.source.as_ref().map_or(Ok(Source::CLI), |name| {
        let found = router.fib.sources.named(name).filter(|source| source.is_client());
        found.ok_or_else(|| name.unknown("source"))
    })?;
    let first = key::<F>(route.prefix);
    // What the route changes comes from memory while its paths are read.
    router.fib.fetch::<F>(table, first);
    let paths = paths::parse::<F>(router, &route.paths)?;
    let mut many = RouteBatch::<F> {
        table,
        first,
        source,
        count: route.count,
        paths,
        is_del: route.is_del,
        done: 0,
        kept: Vec::new(),
    };
    if route.count == 0 || F::later(first.0, first.1, route.count - 1).is_none() {
        return Err(Error::new(format!("count {} exceeds the address space", route.count)));
    }
    if route.count == 1 {
        many.one(router, 0)?;
        return Ok(Box::new(Done));
    }
    Ok(Box::new(many))
}

/// The task of a command that is over.
struct Done;

impl Task<Router> for Done {
    fn step(&mut self, _: &mut Router, _: &mut Output) -> Step {
        Step::Done(Ok(()))
    }
}

/// Many routes, one after the other.
struct RouteBatch<F: Family> {
    table: TableIndex,
    first: Key<F>,
    source: Source,
    count: u32,
    paths: Vec<Path>,
    is_del: bool,
    done: u32,
    /// Interfaces that were as they should be before: they stay when the rest is undone.
    kept: Vec<u32>,
}

impl<F: Family> RouteBatch<F> {
    fn key(&self, i: u32) -> Key<F> {
        let bits = F::later(self.first.0, self.first.1, i).unwrap_or(self.first.0);
        (bits, self.first.1)
    }
    fn one(&mut self, router: &mut Router, i: u32) -> Result<(), Error> {
        let key = self.key(i);
        let failed = |e| Error::new(RouteError(F::prefix(key), e).to_string());
        if self.is_del {
            let done = router.remove_paths::<F>(self.table, key, self.source, &self.paths);
            return done.map_err(failed);
        }
        let done = router.add_paths::<F>(self.table, key, self.source, &self.paths);
        if !done.map_err(failed)? && self.count > 1 {
            self.kept.push(i);
        }
        Ok(())
    }
    fn undo(&mut self, router: &mut Router) {
        if self.is_del {
            return;
        }
        let (table, first, kept) = (self.table, self.first, std::mem::take(&mut self.kept));
        let (paths, source, mut left) = (self.paths.clone(), self.source, self.done);
        router.in_slices::<F>(table, None, move |router| {
            for _ in 0..deferred::SLICE {
                let Some(i) = left.checked_sub(1) else { return true };
                left = i;
                if kept.binary_search(&i).is_err()
                    && let Some(bits) = F::later(first.0, first.1, i)
                {
                    // It was added a moment ago.
                    let _ = router.remove_paths::<F>(table, (bits, first.1), source, &paths);
                }
            }
            false
        });
    }
}

impl<F: Family> Task<Router> for RouteBatch<F> {
    fn step(&mut self, router: &mut Router, _: &mut Output) -> Step {
        for _ in 0..SLICE {
            if self.done == self.count {
                return Step::Done(Ok(()));
            }
            if let Err(e) = self.one(router, self.done) {
                self.undo(router);
                return Step::Done(Err(e));
            }
            self.done += 1;
        }
        Step::Again
    }
    fn cancel(&mut self, router: &mut Router, _: &mut Output) {
        self.undo(router);
    }
}

/// The route that could not be changed, and the reason.
struct RouteError(Prefix, crate::fib::Error);

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0, self.1)
    }
}
