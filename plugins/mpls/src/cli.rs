//! Commands that set what labels lead to.

use control::cli::{Args, Cli, Command, Error, Word};
use net::adjacency::Link;
use net::fib::{Path, Source, paths_of};
use net::{InterfaceIndex, Router};
use wire::Prefix;
use wire::mpls::LABELS;

use super::table::{self, Route};
use super::tunnel::{self, NewTunnel};
use super::{Mpls, bind};

/// Let labelled packets in on an interface, or no longer.
#[derive(Command)]
#[command("set interface mpls")]
struct SetInterface {
    /// the interface
    #[positional]
    interface: InterfaceIndex,
    /// let in
    #[keyword("enable")]
    _enable: bool,
    /// no longer
    disable: bool,
}

/// `mpls table [add|del] ID`.
struct SetTable {
    is_del: bool,
    id: u32,
}

impl Command for SetTable {
    const PATHS: &'static [&'static str] = &["mpls table"];
    const ABOUT: &'static str = "Add or delete a label table";
    const USAGE: &'static str = "[add|del] <table-id>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_del = args.keyword("del");
        if !is_del {
            args.keyword("add");
        }
        Ok(Self { is_del, id: args.value("table id")? })
    }
}

/// `mpls local-label [add|del] [table ID] LABEL [eos|non-eos] {PREFIX | PATHS}`.
struct LocalLabel {
    is_del: bool,
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
    const ABOUT: &'static str = "Say what a label leads to";
    const USAGE: &'static str = "[add|del] [table <table-id>] <label> [eos|non-eos] \
        [ip4|ip6|ethernet] {<prefix> [ip-table <table-id>] | via [<next-hop>] [<interface>] \
        [next-hop-table <table-id>] [weight <n:0-255>] [preference <n:0-255>] \
        [resolve-via-host] [resolve-via-attached] [via-label <label>] \
        [ip4-lookup-in-table <table-id>] [ip6-lookup-in-table <table-id>] \
        [mpls-lookup-in-table <table-id>] [rx-ip4|rx-ip6 <interface>] [out-labels <label>...]}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut table, mut label, mut only) = (false, 0, None, None);
        let (mut bound, mut ip_table, mut of) = (None, 0, None);
        while let Some(word) = args.peek().filter(|w| *w != "via") {
            args.word();
            match word {
                "add" => is_del = false,
                "del" => is_del = true,
                "eos" => only = Some(true),
                "non-eos" => only = Some(false),
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
        let of = of.unwrap_or(if is_ip6 { Link::Ip6 } else { Link::Ip4 });
        if !is_del && paths.is_empty() && bound.is_none() {
            return Err(Error::new("missing path"));
        }
        let bound = bound.map(|prefix| (ip_table, prefix));
        Ok(Self { is_del, table, label, only, bound, of, paths })
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
        let source = Source::CLI;
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
            let route = Route { source, of: self.of, paths, is_multicast: false, bound: None };
            table::set(router, at, key, route).map_err(super::Error::Fib)?;
        }
        Ok(())
    }
}

/// `mpls tunnel [multicast] [l2-only] [tag TEXT] PATHS` or `mpls tunnel del INTERFACE`.
struct SetTunnel {
    is_del: bool,
    is_multicast: bool,
    is_l2: bool,
    tag: String,
    interface: Option<Word>,
    paths: String,
}

impl Command for SetTunnel {
    const PATHS: &'static [&'static str] = &["mpls tunnel"];
    const ABOUT: &'static str = "Make or delete a tunnel of labels";
    const USAGE: &'static str = "{del <interface> | [add] [multicast] [l2-only] [tag <text>] \
        via [<next-hop>] [<interface>] [next-hop-table <table-id>] [weight <n:0-255>] \
        [preference <n:0-255>] [resolve-via-host] [resolve-via-connected] \
        [via-label <label>] [out-labels <label>...]}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut set = Self {
            is_del: false,
            is_multicast: false,
            is_l2: false,
            tag: String::new(),
            interface: None,
            paths: String::new(),
        };
        while let Some(word) = args.peek().filter(|w| *w != "via") {
            if set.is_del {
                set.interface = Some(args.value("interface")?);
                continue;
            }
            args.word();
            match word {
                "add" => (),
                "del" => set.is_del = true,
                "multicast" => set.is_multicast = true,
                "l2-only" => set.is_l2 = true,
                "tag" => set.tag = args.value("tag")?,
                _ => return Err(args.error("expected via")),
            }
        }
        set.paths = args.rest().to_owned();
        match (&set.interface, set.is_del) {
            (None, true) => Err(Error::new("missing interface")),
            (None, false) if set.paths.is_empty() => Err(Error::new("missing path")),
            _ => Ok(set),
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetInterface| {
        Ok(super::enable(router, c.interface, !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetTable| {
        let done =
            if c.is_del { table::remove(router, c.id) } else { table::add(router, c.id, "") };
        done.map_err(|e| Error::new(format!("{}: {e}", c.id)))
    });
    cli.command(|router: &mut Router, c: LocalLabel| c.carry_out(router));
    cli.command(|router: &mut Router, c: SetTunnel| {
        if let Some(name) = &c.interface {
            let found = router.interfaces.named(name).map(|i| i.index);
            let index = found.ok_or_else(|| name.unknown("interface"))?;
            return Ok(tunnel::remove(router, index).map(|()| String::new())?);
        }
        let paths = paths_of(router, tunnel::route_of(c.is_l2), 0, &c.paths)?;
        let (tag, is_multicast, is_l2) = (c.tag, c.is_multicast, c.is_l2);
        let (made, _) = tunnel::add(router, NewTunnel { tag, paths, is_multicast, is_l2 })?;
        Ok::<_, Error>(router.interfaces.name(made.0).to_owned())
    });
}
