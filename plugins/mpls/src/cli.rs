//! Commands that set what labels lead to.

use control::cli::{PrintValue, Rest, Text, Word, is_printable};
use net::fib::{Path, Source, paths_of, words_of_path};
use net::prelude::*;
use wire::mpls::LABELS;

use super::table::{self, Entry, Key, Route, usual_name};
use super::tunnel::{self, NewTunnel};
use super::{Enabled, Mpls, bind};

/// Enable or disable MPLS on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface mpls")]
#[stage(Attachments)]
struct SetInterface {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// enable
    #[keyword("enable")]
    _enable: bool,
    /// disable
    disable: bool,
}

/// Add or delete a label table.
#[derive(Command, Print, Debug, PartialEq)]
#[command("mpls table")]
#[undo("mpls table {?del} add {2}|mpls table del {2}")]
#[stage(Objects)]
struct SetTable {
    /// add
    #[keyword("add")]
    _add: bool,
    /// delete
    del: bool,
    /// table ID
    #[positional]
    #[values("table-id")]
    table_id: u32,
    /// name
    name: Option<Rest>,
}

/// `mpls local-label [add|del] [source NAME] [multicast] [table ID] LABEL [eos|non-eos] {PREFIX |
/// PATHS}`.
#[derive(Debug, PartialEq)]
struct LocalLabel {
    is_del: bool,
    source: Option<Word>,
    is_multicast: bool,
    table: u32,
    label: u32,
    /// Only that which is the last of its stack, or not.
    only: Option<bool>,
    /// The prefix that it is bound to, and its table.
    bound: Option<(u32, Prefix)>,
    of: Link,
    paths: String,
}

impl Command for LocalLabel {
    const PATHS: &'static [&'static str] = &["mpls local-label"];
    const ABOUT: &'static str = "Add or delete a label entry";
    const USAGE: &'static str = "[add|del] [source <source>] [multicast] [table <table-id>] \
        <label> [eos|non-eos] [ip4|ip6|mpls|ethernet] {<prefix> [ip-table <table-id>] | \
        via [<next-hop>] [<interface>] \
        [next-hop-table <table-id>] [weight <n:0-255>] [preference <n:0-255>] \
        [resolve-via-host] [resolve-via-attached] [via-label <label>] \
        [ip4-lookup-in-table <table-id>] [ip6-lookup-in-table <table-id>] \
        [mpls-lookup-in-table <table-id>] [lookup in table <table-id>] \
        [rx-ip4|rx-ip6|l2-input-on <interface>] [udp-encap <id>] [drop|local] \
        [out-labels <label>...] \
        [control-word|pop-pw-cw] [rpf-id <n>] [src-lookup]}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut table, mut label, mut only) = (false, 0, None, None);
        let (mut bound, mut ip_table, mut of) = (None, 0, None);
        let (mut source, mut is_multicast) = (None, false);
        while let Some(word) = args.peek().filter(|w| *w != "via") {
            args.word();
            match word {
                "add" => is_del = false,
                "del" => is_del = true,
                "eos" => only = Some(true),
                "non-eos" => only = Some(false),
                "source" => source = Some(args.value("source")?),
                "multicast" => is_multicast = true,
                "mpls" => of = Some(Link::Mpls),
                "table" => table = args.value("table id")?,
                "ip-table" => ip_table = args.value("table id")?,
                "ip4" => of = Some(Link::Ip4),
                "ip6" => of = Some(Link::Ip6),
                "ethernet" => of = Some(Link::Ethernet),
                word if label.is_none() => {
                    let number = word.parse().ok().filter(|label| *label < LABELS);
                    label = Some(number.ok_or_else(|| args.error("a label is below 1048576"))?);
                }
                word => {
                    let prefix: Option<Prefix> = word.parse().ok();
                    bound = Some(prefix.ok_or_else(|| args.error("expected a prefix or via"))?);
                }
            }
        }
        let label = label.ok_or_else(|| args.error("expected a label"))?;
        let paths = args.rest().to_owned();
        let is_ip6 = paths.split(' ').any(|w| w.contains(':') || w.contains("ip6"));
        let is_of_frames = paths.split_ascii_whitespace().any(|w| w == "l2-input-on");
        let of = of.unwrap_or(match (is_of_frames, is_ip6) {
            (true, _) => Link::Ethernet,
            (false, true) => Link::Ip6,
            (false, false) => Link::Ip4,
        });
        if !is_del && paths.is_empty() && bound.is_none() {
            return Err(Error::new("missing path"));
        }
        let bound = bound.map(|prefix| (ip_table, prefix));
        Ok(Self { is_del, source, is_multicast, table, label, only, bound, of, paths })
    }
}

impl LocalLabel {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        if let Some(bound) = self.bound {
            let label = (self.table, self.label);
            let done = match self.is_del {
                true => bind::unbind(router, label),
                false => bind::bind(router, label, bound),
            };
            return Ok(done?);
        }
        let at = router.own::<Mpls>().tables.named(self.table);
        let at = at.ok_or(super::Error::NoTable(self.table))?;
        let meant = [true, false].into_iter().filter(|is| self.only.is_none_or(|o| o == *is));
        let mut wanted = Vec::new();
        for is_last in meant {
            let key = (self.label, is_last);
            let of = table::route_of(key, self.of);
            let paths = paths_of(router, of, 0, &self.paths)?;
            wanted.push((key, paths));
        }
        let source = match &self.source {
            None => Source::CLI,
            Some(name) => router.fib.sources.named(name).ok_or_else(|| name.unknown("source"))?,
        };
        for (key, new) in wanted {
            let entry = router.own::<Mpls>().tables.at(at).and_then(|t| t.entries.get(&key));
            let had = entry.and_then(|e| e.routes.iter().find(|r| r.source == source));
            let mut paths: Vec<Path> = had.map_or_else(Vec::new, |r| r.paths.clone());
            paths.retain(|p| new.iter().all(|n| n.target != p.target));
            if self.is_del && (new.is_empty() || paths.is_empty()) {
                table::take(router, at, key, source).map_err(|_| super::Error::NoLabel)?;
                continue;
            }
            if !self.is_del {
                paths.extend(new);
            }
            let is_multicast = self.is_multicast;
            let route = Route { source, of: self.of, paths, is_multicast, bound: None };
            table::set(router, at, key, route).map_err(super::Error::Fib)?;
        }
        Ok(())
    }
}

impl Print for LocalLabel {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word("add").option("source", self.source.as_ref());
        line.flag("multicast", self.is_multicast);
        line.keyword("table", &self.table).word(self.label);
        if let Some(is_last) = self.only {
            line.word(if is_last { "eos" } else { "non-eos" });
        }
        line.word(self.of.word());
        match &self.bound {
            Some((table, prefix)) => line.word(prefix).keyword("ip-table", table),
            None => line.word(&self.paths),
        };
    }
}

/// `mpls tunnel [multicast] [l2-only] [tag TEXT] [instance N] PATHS`, `mpls tunnel add INTERFACE
/// PATHS` or `mpls tunnel del INTERFACE`.
#[derive(Debug, PartialEq)]
struct SetTunnel {
    is_del: bool,
    is_multicast: bool,
    is_l2: bool,
    tag: String,
    instance: Option<u32>,
    interface: Option<InterfaceIndex>,
    paths: String,
}

impl SetTunnel {
    const NOTHING: Self = Self {
        is_del: false,
        is_multicast: false,
        is_l2: false,
        tag: String::new(),
        instance: None,
        interface: None,
        paths: String::new(),
    };
}

impl Command for SetTunnel {
    const PATHS: &'static [&'static str] = &["mpls tunnel"];
    const ABOUT: &'static str = "Add, change or delete an MPLS tunnel";
    const USAGE: &'static str = "{del <interface> | [add] {<interface> | [multicast] [l2-only] \
        [tag <text>] [instance <n>]} via [<next-hop>] [<interface>] [next-hop-table <table-id>] \
        [weight <n:0-255>] [preference <n:0-255>] [resolve-via-host] \
        [resolve-via-connected|resolve-via-attached] [udp-encap <id>] [drop|local] \
        [lookup in table <table-id>] [ip4-lookup-in-table <table-id>] \
        [rx-ip4 <interface>] [rx-ip6 <interface>] \
        [via-label <label>] [out-labels <label>...] [control-word|pop-pw-cw]}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut set = Self::NOTHING;
        while let Some(word) = args.peek().filter(|w| *w != "via") {
            match word {
                "add" => (),
                "del" => set.is_del = true,
                "multicast" => set.is_multicast = true,
                "l2-only" => set.is_l2 = true,
                "tag" | "instance" => (),
                _ => {
                    set.interface = Some(args.value("interface")?);
                    continue;
                }
            }
            args.word();
            match word {
                "tag" => set.tag = args.value::<Text>("tag")?.0,
                "instance" => set.instance = Some(args.value("instance")?),
                _ => (),
            }
        }
        set.paths = args.rest().to_owned();
        match (&set.interface, set.is_del) {
            (None, true) => Err(Error::new("missing interface")),
            (None, false) if set.paths.is_empty() && set.instance.is_none() => {
                Err(Error::new("missing path"))
            }
            (Some(_), false) if set.paths.is_empty() => Err(Error::new("missing path")),
            _ => Ok(set),
        }
    }
}

impl Print for SetTunnel {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word("add");
        if let Some(interface) = &self.interface {
            interface.print(line);
        }
        line.flag("multicast", self.is_multicast).flag("l2-only", self.is_l2);
        if let Some(tag) = Text::printed(&self.tag) {
            line.keyword("tag", &tag);
        }
        line.option("instance", self.instance.as_ref());
        line.flag(&self.paths, !self.paths.is_empty());
    }
}

impl SetTunnel {
    fn carry_out(self, router: &mut Router) -> Result<String, Error> {
        if let Some(interface) = self.interface {
            match self.is_del {
                true => tunnel::remove(router, interface)?,
                false => {
                    let is_l2 = tunnel::is_l2(router, interface)?;
                    let new = paths_of(router, tunnel::route_of(is_l2), 0, &self.paths)?;
                    tunnel::add_paths(router, interface, new)?;
                }
            }
            return Ok(String::new());
        }
        let Self { is_multicast, is_l2, tag, instance, .. } = self;
        let paths = paths_of(router, tunnel::route_of(is_l2), 0, &self.paths)?;
        let new = NewTunnel { tag, paths, is_multicast, is_l2, instance };
        let (made, _) = tunnel::add(router, new)?;
        Ok(router.interfaces.name(made.0).to_owned())
    }
}

/// Paths as they are written; `None` when what they name is on its way out.
fn words(router: &Router, link: Link, paths: &[Path]) -> Option<String> {
    let words = paths.iter().map(|path| words_of_path(router, link, path));
    Some(words.collect::<Option<Vec<_>>>()?.join(" "))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let mpls = router.own::<Mpls>();
    for (_, t) in mpls.tables.iter() {
        let is_own = t.name != usual_name(t.id) && is_printable(&t.name);
        let name = is_own.then(|| Rest(t.name.clone()));
        lines.push(&SetTable { _add: true, del: false, table_id: t.id, name });
        t.entries.iter().for_each(|(key, entry)| label(router, t.id, *key, entry, lines));
    }
    for (interface, t) in &mpls.tunnels.all {
        let Some(i) = router.interfaces.at(*interface) else { continue };
        let make = SetTunnel {
            is_multicast: t.is_multicast,
            is_l2: t.is_l2,
            tag: Text::printed(&t.tag).unwrap_or_default().0,
            instance: Some(t.instance),
            ..SetTunnel::NOTHING
        };
        lines.push_interface(i.stage(), &make);
        let paths = words(router, tunnel::route_of(t.is_l2).link(), &t.paths);
        if let Some(paths) = paths.filter(|paths| !paths.is_empty()) {
            lines.push(&SetTunnel { interface: Some(*interface), paths, ..SetTunnel::NOTHING });
        }
    }
    for (interface, enabled) in router.settings::<Enabled>() {
        if enabled.0.is_some() {
            lines.push(&SetInterface { interface, _enable: true, disable: false });
        }
    }
}

/// Commands for the route of a label.
fn label(router: &Router, table: u32, key: Key, entry: &Entry, lines: &mut Lines<'_>) {
    let (label, is_last) = key;
    for route in entry.routes.iter().filter(|route| route.source.is_client()) {
        let mut set = LocalLabel {
            is_del: false,
            source: None,
            is_multicast: route.is_multicast,
            table,
            label,
            only: None,
            bound: None,
            of: route.of,
            paths: String::new(),
        };
        if let Some((ip, prefix)) = route.bound {
            let id = router.table_id_of(Link::of(prefix.addr()), ip);
            set.bound = id.map(|id| (id, prefix)).filter(|_| is_last);
        } else {
            let link = table::route_of(key, route.of).link();
            let Some(paths) = words(router, link, &route.paths) else { continue };
            let name = Word::from(router.fib.sources.name(route.source));
            set.source = (route.source != Source::CLI).then_some(name);
            (set.only, set.paths) = (Some(is_last), paths);
        }
        if set.bound.is_some() || set.only.is_some() {
            lines.push(&set);
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetInterface| {
        Ok(super::enable(router, c.interface, !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetTable| {
        let name = c.name.as_ref().map_or("", |name| name.0.as_str());
        let (id, is_del) = (c.table_id, c.del);
        let done = if is_del { table::remove(router, id) } else { table::add(router, id, name) };
        done.map_err(|e| Error::new(format!("{id}: {e}")))
    });
    cli.command(|router: &mut Router, c: LocalLabel| c.carry_out(router));
    cli.command(|router: &mut Router, c: SetTunnel| c.carry_out(router));
}
