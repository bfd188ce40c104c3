//! `ip mroute`.

use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error};

use super::{EntryFlags, ItfFlags, MPath, MPrefix};
use super::{objects, show};
use crate::adjacency::Link;
use crate::fib::{Ip4, Ip6, Path, Source, Target};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// `ip mroute [add|del] [SOURCE] GROUP[/LEN] [table ID] [rpf-id N] [FLAG...] [via ...]`.
struct Mroute {
    is_del: bool,
    prefix: MPrefix,
    table: u32,
    rpf_id: u32,
    flags: EntryFlags,
    /// `via` and what follows it, up to the next one.
    paths: Vec<String>,
}

impl Command for Mroute {
    const PATHS: &'static [&'static str] = &["ip mroute", "ip6 mroute"];
    const ABOUT: &'static str = "Add or delete multicast routes";
    const USAGE: &'static str = "[add|del] [<source>] <group>[/<len>] [table <table-id>] \
        [rpf-id <id>] [Signal|Drop|Connected|Accept-all-itf] \
        [via {[<next-hop>] <interface> | local} [Accept|Forward|Negate-Signal]...]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut table, mut rpf_id) = (false, 0, 0);
        let (mut addrs, mut len, mut flags) = (Vec::<IpAddr>::new(), None, EntryFlags::default());
        let mut paths: Vec<String> = Vec::new();
        while let Some(word) = args.peek() {
            let at = *args;
            args.word();
            let (addr, bits) = word.split_once('/').map_or((word, None), |(a, l)| (a, Some(l)));
            match (word, addr.parse()) {
                ("via", _) => paths.push(String::new()),
                _ if !paths.is_empty() => {
                    let last = paths.len() - 1;
                    paths[last] += word;
                    paths[last].push(' ');
                }
                ("add", _) => is_del = false,
                ("del", _) => is_del = true,
                ("table", _) => table = args.value("table id")?,
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
        Ok(Self { is_del, prefix, table, rpf_id, flags, paths })
    }
}

impl Mroute {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let table = match self.prefix.group {
            IpAddr::V4(_) => router.fib.table::<Ip4>(self.table),
            IpAddr::V6(_) => router.fib.table::<Ip6>(self.table),
        };
        let id = self.table;
        let table = table.ok_or_else(|| Error::new(format!("Nonexistent table id {id}")))?;
        let paths = self.paths.iter().map(|text| self.path(router, text));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        let (prefix, source) = (self.prefix, Source::CLI);
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
    /// One path: an interface, an address and an interface, or `local`, with flags.
    fn path(&self, router: &Router, text: &str) -> Result<MPath, Error> {
        let (mut addr, mut interface, mut is_local) =
            (None::<IpAddr>, None::<InterfaceIndex>, false);
        let mut flags = ItfFlags::default();
        let wrong = || Error::new(format!("parse error `via {}'", text.trim_end()));
        for word in text.split_whitespace() {
            match (word.parse(), router.interfaces.named(word)) {
                _ if word == "local" => is_local = true,
                (Ok(a), _) => addr = Some(a),
                (_, Some(i)) => interface = Some(i.index),
                _ => flags = flags.with(ItfFlags::named(word).ok_or_else(wrong)?),
            }
        }
        let own = Link::of(self.prefix.group).unspecified();
        let target = match (is_local, addr.filter(|a| !a.is_unspecified()), interface) {
            (true, None, interface) => Target::Receive { interface, addr: None },
            (false, None, Some(interface)) => Target::Attached { interface, own },
            (false, Some(addr), Some(interface)) => Target::Neighbor { interface, addr },
            _ => return Err(wrong()),
        };
        Ok(MPath { path: Path::to(target), flags })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Mroute| c.carry_out(router));
    show::register(cli);
    objects::register(cli);
}
