//! `ip mroute`.

use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error, Line, Print, Word};
use control::configuration::{Lines, Stage};

use super::routes::prefix;
use super::{EntryFlags, ItfFlags, MPath, MPrefix, Multicast};
use super::{objects, show};
use crate::fib::{Family, Ip4, Ip6, Source, parse_paths, path_words};
use crate::router::Router;

/// `ip mroute [add|del] [SOURCE] GROUP[/LEN] [table ID] [source NAME] [rpf-id N] [FLAG...]`
/// `[via …]`, with a path after each `via`.
#[derive(Debug, PartialEq)]
struct Mroute {
    is_del: bool,
    prefix: MPrefix,
    table: u32,
    /// The operator if `None`.
    source: Option<Word>,
    rpf_id: u32,
    flags: EntryFlags,
    /// `via` and what follows it, up to the next one.
    paths: Vec<String>,
}

impl Command for Mroute {
    const PATHS: &'static [&'static str] = &["ip mroute", "ip6 mroute"];
    const ABOUT: &'static str = "Add or delete multicast routes";
    const USAGE: &'static str = "[add|del] [<source>] <group>[/<len>] [table <table-id>] \
        [source <name>] [rpf-id <id>] [Signal|Drop|Connected|Accept-all-itf] \
        [via {[<next-hop>] <interface> | local} [Accept|Forward|Negate-Signal]...]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut table, mut rpf_id) = (false, 0, 0);
        let (mut addrs, mut len, mut flags) = (Vec::<IpAddr>::new(), None, EntryFlags::default());
        let (mut paths, mut source) = (Vec::<String>::new(), None);
        while let Some(word) = args.peek() {
            let at = *args;
            args.word();
            let (addr, bits) = word.split_once('/').map_or((word, None), |(a, l)| (a, Some(l)));
            match (word, addr.parse()) {
                ("via", _) => paths.push(String::new()),
                _ if !paths.is_empty() => {
                    let last = paths.len() - 1;
                    paths[last].push(' ');
                    paths[last] += word;
                }
                ("add", _) => is_del = false,
                ("del", _) => is_del = true,
                ("table", _) => table = args.value("table id")?,
                ("source", _) => source = Some(args.value("source")?),
                ("rpf-id", _) => rpf_id = args.value("rpf-id")?,
                (_, Ok(addr)) if addrs.len() < 2 => {
                    addrs.push(addr);
                    len = bits.map(|l| l.parse::<u8>().map_err(|_| at.unknown())).transpose()?;
                }
                _ => flags = flags.with(EntryFlags::named(word).ok_or_else(|| at.unknown())?),
            }
        }
        let group = addrs.pop().ok_or_else(|| Error::new("missing group"))?;
        let len = len.unwrap_or(if group.is_ipv4() { 32 } else { 128 });
        let prefix = MPrefix { group, len, source: addrs.pop() };
        Ok(Self { is_del, prefix, table, source, rpf_id, flags, paths })
    }
}

impl Print for Mroute {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        let MPrefix { group, len, source } = self.prefix;
        line.word(if self.is_del { "del" } else { "add" });
        line.values(&source).word(format_args!("{group}/{len}"));
        line.option("table", Some(&self.table).filter(|table| **table != 0));
        line.option("source", self.source.as_ref());
        line.option("rpf-id", Some(&self.rpf_id).filter(|id| **id != 0));
        for (flag, word) in EntryFlags::NAMES {
            line.flag(word, self.flags.has(*flag));
        }
        // A path begins with its blank.
        for path in &self.paths {
            line.word(format_args!("via{path}"));
        }
    }
}

impl Mroute {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let id = self.table;
        let table = router
            .fib
            .table_for(self.prefix.group, id)
            .ok_or_else(|| Error::new(format!("Nonexistent table id {id}")))?;
        let paths = self.paths.iter().map(|text| match self.prefix.group {
            IpAddr::V4(_) => path::<Ip4>(router, text),
            IpAddr::V6(_) => path::<Ip6>(router, text),
        });
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        let source = self.source.as_ref().map_or(Ok(Source::CLI), |name| {
            let found = router.fib.sources.named(name).filter(|source| source.is_client());
            found.ok_or_else(|| name.unknown("source"))
        })?;
        let prefix = self.prefix;
        let failed = |e: super::Error| Error::new(format!("{prefix}: {e}"));
        if self.is_del {
            return router.remove_mroute(table, prefix, source, &paths).map_err(failed);
        }
        if self.flags != EntryFlags::default() || self.rpf_id != 0 || paths.is_empty() {
            let set = router.set_mroute(table, prefix, source, self.flags, self.rpf_id);
            set.map_err(failed)?;
        }
        if !paths.is_empty() {
            router.add_mroute_paths(table, prefix, source, &paths).map_err(failed)?;
        }
        Ok(())
    }
}

/// One path as unicast routes have them, with flags in it.
fn path<F: Family>(router: &Router, text: &str) -> Result<MPath, Error> {
    let mut flags = ItfFlags::default();
    let mut words = String::from("via");
    let is_any = |word: &str| word.parse().is_ok_and(|a: IpAddr| a.is_unspecified());
    for word in text.split_whitespace().filter(|word| !is_any(word)) {
        match ItfFlags::named(word).filter(|_| router.interfaces.named(word).is_none()) {
            Some(flag) => flags = flags.with(flag),
            None => words.extend([" ", word]),
        }
    }
    let wrong = || Error::new(format!("parse error `via{text}'"));
    // Unknown words are shown with their flags.
    let paths = parse_paths::<F>(router, &words)
        .map_err(|e| if e.to_string().starts_with("parse error") { wrong() } else { e })?;
    let [path] = paths.try_into().map_err(|_| wrong())?;
    Ok(MPath { path, flags })
}

/// The routes that the operator and clients want.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    routes::<Ip4>(router, lines);
    routes::<Ip6>(router, lines);
}

fn routes<F: Multicast>(router: &Router, lines: &mut Lines<'_>) {
    for (index, t) in F::mtables(&router.mfib).iter() {
        let Some(table) = router.fib.table_id::<F>(index) else { continue };
        let each = t.entries.iter().flat_map(|(key, e)| e.sources.iter().map(move |w| (*key, w)));
        for (key, (source, route)) in each.filter(|(_, (source, _))| source.is_client()) {
            let path = |p: &MPath| {
                let flags = ItfFlags::NAMES.iter().filter(|(flag, _)| p.flags.has(*flag));
                let flags = flags.map(|(_, word)| format!(" {word}")).collect::<String>();
                let words = path_words::<F>(router, &p.path)?;
                Some(format!("{}{flags}", words.strip_prefix("via")?))
            };
            let name = router.fib.sources.name(*source);
            lines.push(&Mroute {
                is_del: false,
                prefix: prefix::<F>(key),
                table,
                source: (*source != Source::CLI).then(|| name.into()),
                rpf_id: route.rpf_id,
                flags: route.flags,
                paths: route.paths.iter().filter_map(path).collect(),
            });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Mroute| c.carry_out(router));
    show::register(cli);
    objects::register(cli);
}
