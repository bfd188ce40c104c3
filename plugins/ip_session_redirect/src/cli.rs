//! `ip session redirect`, `show ip session redirect`.

use classify::{Classifier, MatchWords, VECTOR};
use control::cli::hex;
use net::fib::{Path, RouteOf, path_words, paths_of};
use net::prelude::*;

use super::{LINKS, NewRedirect, all};

/// `ip session redirect [add|del] [punt] [ip4|ip6] table N match … [opaque-index N] via …`.
#[derive(Debug, PartialEq)]
struct Set {
    is_del: bool,
    is_punt: bool,
    /// The version of the packets, unless it is that of the next hops.
    version: Option<usize>,
    table: u32,
    matched: MatchWords,
    /// Number that clients know it by.
    opaque: Option<u32>,
    paths: String,
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["ip session redirect"];
    const ABOUT: &'static str =
        "Redirect packets that match a classifier session to paths, or stop";
    const USAGE: &'static str = concat!(
        "[add] [punt] [ip4|ip6] table <index> match {hex <match> | [l2|l3|l4] [none] ",
        "[src|dst|proto|tag1|tag2|ignore-tag1|ignore-tag2|cos1|cos2|ip4|ip6|src_port|dst_port ",
        "<value>]...} [opaque-index <n>] {via ",
        net::path_usage!(),
        "}... | del table <index> match <match>"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut is_del = false;
        let (mut is_punt, mut version, mut table, mut matched) = (false, None, None, None);
        let mut opaque = None;
        loop {
            if args.keyword("add") {
                is_del = false;
            } else if args.keyword("del") {
                is_del = true;
            } else if args.keyword("punt") {
                is_punt = true;
            } else if args.keyword("ip4") {
                version = Some(0);
            } else if args.keyword("ip6") {
                version = Some(1);
            } else if args.keyword("table") {
                table = Some(args.value("table")?);
            } else if args.keyword("match") {
                matched = Some(args.value("match")?);
            } else if args.keyword("opaque-index") {
                opaque = Some(args.value("opaque-index")?);
            } else {
                break;
            }
        }
        let table = table.ok_or_else(|| args.error("expected table"))?;
        let matched = matched.ok_or_else(|| args.error("expected match"))?;
        if args.is_empty() && !is_del {
            return Err(args.error("expected via"));
        }
        if is_del && !args.is_empty() {
            return Err(args.error("unknown input"));
        }
        let paths = args.rest().to_owned();
        Ok(Self { is_del, is_punt, version, table, matched, opaque, paths })
    }
}

impl Print for Set {
    const UNDO: &'static str = "ip session redirect del table {table} match hex {hex}";
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" }).flag("punt", self.is_punt);
        if let Some(version) = self.version {
            line.word(["ip4", "ip6"][version]);
        }
        line.keyword("table", &self.table).keyword("match", &self.matched);
        line.option("opaque-index", self.opaque.as_ref());
        line.flag(&self.paths, true);
    }
}

impl Set {
    fn carry_out(self, router: &mut Router) -> Result<(), Error> {
        let Self { is_del, is_punt, version, table, opaque, paths, .. } = self;
        let MatchWords(mut matched) = self.matched;
        // What is not named behind the match is zero.
        if let Some(info) = router.own::<Classifier>().table(table) {
            let len = (info.table.skip + info.table.mask.vectors()) * VECTOR;
            matched.resize(matched.len().max(len), 0);
        }
        if is_del {
            return Ok(super::remove(router, table, &matched)?);
        }
        let version = version.unwrap_or_else(|| version_of(&paths));
        let paths = paths_of(router, RouteOf::Link(LINKS[version]), 0, &paths)?;
        let opaque = opaque.unwrap_or(u32::MAX);
        let new = NewRedirect { table, matched, opaque, is_punt, version, paths };
        Ok(super::add(router, new)?)
    }
}

/// Whether a session's match begins with these bytes; zeros behind its end count for nothing.
fn is_match(matched: &[u8], wanted: &[u8]) -> bool {
    let len = matched.len().min(wanted.len());
    matched[..len] == wanted[..len] && wanted[len..].iter().all(|byte| *byte == 0)
}

/// The version of the next hops in these words.
fn version_of(paths: &str) -> usize {
    let is_ip6 = |word: &str| word.parse::<std::net::Ipv6Addr>().is_ok();
    paths.split_whitespace().any(is_ip6).into()
}

fn words(router: &Router, version: usize, paths: &[Path]) -> Option<String> {
    let path = |path| match version {
        1 => path_words::<Ip6>(router, path),
        _ => path_words::<Ip4>(router, path),
    };
    Some(paths.iter().map(path).collect::<Option<Vec<_>>>()?.join(" "))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for r in all(router, None) {
        let Some(paths) = words(router, r.version, &r.paths) else { continue };
        lines.push(&Set {
            is_del: false,
            is_punt: r.is_punt,
            version: (version_of(&paths) != r.version).then_some(r.version),
            table: r.table,
            matched: MatchWords(r.matched.clone()),
            opaque: Some(r.opaque).filter(|opaque| *opaque != u32::MAX),
            paths,
        });
    }
}

/// Show redirected sessions.
#[derive(Command)]
#[command("show ip session redirect")]
struct Show {
    /// all tables; the default
    all: bool,
    /// only this table
    table: Option<u32>,
    /// only punted packets
    punt: bool,
    /// only received packets
    acl: bool,
    /// only IPv4 packets
    ip4: bool,
    /// only IPv6 packets
    ip6: bool,
    /// only those whose match begins so: `hex` and digits, or `l2`, `l3` or `l4` and fields with
    /// values: `src`, `dst`, `proto`, `tag1`, `tag2`, `ignore-tag1`, `ignore-tag2`, `cos1`, `cos2`,
    /// `ip4`, `ip6`, `src_port`, `dst_port`, or `none`
    #[keyword("match")]
    matched: Option<MatchWords>,
    /// at most so many
    max: Option<usize>,
}

#[derive(Serialize)]
struct Row {
    table: u32,
    of: &'static str,
    version: &'static str,
    #[serde(rename = "match")]
    matched: String,
    opaque: i64,
    paths: Option<String>,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Row { table, of, version, matched, opaque, paths }| {
        writeln!(f, "table {table} {of} {version} match {matched} opaque_index {opaque}")?;
        writeln!(f, "  {}", paths.as_deref().unwrap_or_default())
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| c.carry_out(router));
    cli.command(|router: &mut Router, c: Show| {
        let rows = all(router, c.table.filter(|_| !c.all))
            .filter(|r| !(c.punt && !r.is_punt || c.acl && r.is_punt))
            .filter(|r| !(c.ip4 && r.version != 0 || c.ip6 && r.version != 1))
            .filter(|r| c.matched.as_ref().is_none_or(|MatchWords(m)| is_match(&r.matched, m)))
            .take(c.max.unwrap_or(usize::MAX))
            .map(|r| Row {
                table: r.table,
                of: if r.is_punt { "punt" } else { "acl" },
                version: LINKS[r.version].name(),
                matched: hex(&r.matched),
                opaque: if r.opaque == u32::MAX { -1 } else { r.opaque.into() },
                paths: words(router, r.version, &r.paths),
            });
        Ok(Output::rows(rows, write_rows))
    });
}
