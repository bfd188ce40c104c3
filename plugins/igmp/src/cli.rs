//! `igmp`, `igmp listen`, `igmp proxy-dev`, `clear igmp` and the settings.

use net::prelude::*;
use wire::prefix::Ip4Prefix;

use super::{Igmp, Mode, Range, Timers, Wanted};

/// Enable or disable IGMP on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("igmp")]
#[stage(Attachments)]
struct Enable {
    /// enable or disable
    #[positional]
    #[words]
    switch: Switch,
    /// host or router
    #[positional]
    #[words]
    mode: Mode,
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// On or off.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Switch {
    /// Enable.
    Enable,
    /// Off.
    Disable,
}

/// `igmp listen [enable|disable] int INTERFACE [exclude] [saddr ADDRESS] gaddr ADDRESS`.
#[derive(Debug, PartialEq)]
struct Listen {
    is_off: bool,
    interface: InterfaceIndex,
    is_exclude: bool,
    source: Option<Ipv4Addr>,
    group: Ipv4Addr,
}

impl Command for Listen {
    const PATHS: &'static [&'static str] = &["igmp listen"];
    const ABOUT: &'static str =
        "Join or leave a group on a host interface: from one source, all but one, or any";
    const USAGE: &'static str = "[enable|disable] int <interface> [exclude] \
        [saddr <ip4-address>] gaddr <ip4-address>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut interface, mut source, mut group) = (None, None, None);
        let (mut is_off, mut is_exclude) = (false, false);
        while !args.is_empty() {
            if args.keyword("disable") {
                is_off = true;
            } else if args.keyword("enable") {
                is_off = false;
            } else if args.keyword("int") {
                interface = Some(args.value("interface")?);
            } else if args.keyword("saddr") {
                source = Some(args.value("saddr")?);
            } else if args.keyword("gaddr") {
                group = Some(args.value("gaddr")?);
            } else if args.keyword("exclude") {
                is_exclude = true;
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected int <interface>"))?;
        let group = group.ok_or_else(|| args.error("expected gaddr <ip4-address>"))?;
        Ok(Self { is_off, interface, is_exclude, source, group })
    }
}

impl Print for Listen {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.flag("disable", self.is_off).keyword("int", &self.interface);
        line.flag("exclude", self.is_exclude && self.source.is_some());
        line.option("saddr", self.source.as_ref()).keyword("gaddr", &self.group);
    }
}

impl Listen {
    /// The wanted sources of the group after this command.
    fn applied(&self, now: Wanted) -> Wanted {
        let Some(source) = self.source else {
            return Wanted { is_exclude: !self.is_off, ..Wanted::default() };
        };
        let mut then = match now.is_exclude == self.is_exclude {
            true => now,
            false if self.is_off => return now,
            false => Wanted { is_exclude: self.is_exclude, ..Wanted::default() },
        };
        match self.is_off {
            true => then.sources.remove(&source),
            false => then.sources.insert(source),
        };
        // All but nothing is the group of any source, which has a command of its own.
        then.is_exclude &= !(self.is_off && then.sources.is_empty());
        then
    }
}

/// `igmp proxy-dev [itf] add|del vrf-id N INTERFACE`.
#[derive(Debug, PartialEq)]
struct SetProxy<const IS_INTERFACE: bool> {
    is_del: bool,
    table: u32,
    interface: InterfaceIndex,
}

impl<const IS_INTERFACE: bool> Command for SetProxy<IS_INTERFACE> {
    const PATHS: &'static [&'static str] =
        if IS_INTERFACE { &["igmp proxy-dev itf"] } else { &["igmp proxy-dev"] };
    const ABOUT: &'static str = if IS_INTERFACE {
        "Add or remove a downstream interface of an IGMP proxy"
    } else {
        "Add or delete an IGMP proxy with this upstream interface for its table"
    };
    const USAGE: &'static str = "<add|del> vrf-id <table-id> <interface>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut table, mut interface) = (None, None, None);
        while !args.is_empty() {
            if args.keyword("add") {
                is_del = Some(false);
            } else if args.keyword("del") {
                is_del = Some(true);
            } else if args.keyword("vrf-id") {
                table = Some(args.value("vrf-id")?);
            } else {
                interface = Some(args.value("interface")?);
            }
        }
        let is_del = is_del.ok_or_else(|| args.error("expected add or del"))?;
        let table = table.ok_or_else(|| args.error("expected vrf-id"))?;
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        Ok(Self { is_del, table, interface })
    }
}

impl<const IS_INTERFACE: bool> Print for SetProxy<IS_INTERFACE> {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" });
        line.keyword("vrf-id", &self.table).value(&self.interface);
    }
}

/// Set the IGMP router timers.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set igmp timers", "test igmp timers")]
#[undo("=set igmp timers query 125 src 260 leave 2")]
#[stage(Settings)]
struct SetTimers {
    /// seconds between general queries
    query: Option<u32>,
    /// seconds until a source without reports is removed
    src: Option<u32>,
    /// seconds until a source is removed after a leave
    leave: Option<u32>,
}

/// Set whether groups of a prefix are any-source or source-specific.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set igmp group-prefix")]
#[undo("=set igmp group-prefix {1} default")]
#[stage(Settings)]
struct SetRange {
    /// groups
    #[positional]
    prefix: Ip4Prefix,
    /// any-source, source-specific, or the default
    #[positional]
    #[words]
    range: Sources,
}

/// Sources that may be asked for in a range of groups.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Sources {
    #[word("asm")]
    Any,
    #[word("ssm")]
    Specific,
    Default,
}

impl From<Range> for Sources {
    fn from(range: Range) -> Self {
        match range {
            Range::Any => Self::Any,
            Range::Specific => Self::Specific,
        }
    }
}

/// Disable IGMP on an interface and delete its groups.
#[derive(Command)]
#[command("clear igmp")]
struct Clear {
    /// interface index
    int: InterfaceIndex,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let igmp = router.own::<Igmp>();
    if igmp.timers != Timers::default() {
        let Timers { query, source, leave } = igmp.timers;
        lines.push(&SetTimers { query: Some(query), src: Some(source), leave: Some(leave) });
    }
    for (prefix, range) in &igmp.ranges {
        if (prefix.to_string().as_str(), *range) != (super::SPECIFIC, Range::Specific) {
            lines.push(&SetRange { prefix: *prefix, range: (*range).into() });
        }
    }
    for (interface, on) in &igmp.ports {
        lines.push(&Enable { switch: Switch::Enable, mode: on.mode, interface: *interface });
    }
    for (interface, on) in &igmp.ports {
        let by_proxy = super::proxy::joined(igmp, *interface);
        for (group, wanted) in on.in_order().filter(|(group, _)| !by_proxy.contains(group)) {
            let is_exclude = wanted.is_exclude;
            let line = |source: Option<Ipv4Addr>| Listen {
                is_off: false,
                interface: *interface,
                is_exclude: is_exclude && source.is_some(),
                source,
                group,
            };
            if is_exclude && wanted.sources.is_empty() {
                lines.push(&line(None));
            }
            wanted.sources.iter().for_each(|source| lines.push(&line(Some(*source))));
        }
    }
    for (table, proxy) in &igmp.proxies {
        let (is_del, table) = (false, *table);
        lines.push(&SetProxy::<false> { is_del, table, interface: proxy.upstream });
        for interface in &proxy.downstream {
            lines.push(&SetProxy::<true> { is_del, table, interface: *interface });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Enable| {
        let set = match c.switch {
            Switch::Enable => super::enable,
            Switch::Disable => super::disable,
        };
        Ok(set(router, c.interface, c.mode)?)
    });
    cli.command(|router: &mut Router, c: Listen| {
        let port = router.own::<Igmp>().ports.get(&c.interface);
        let now = port.and_then(|on| on.wanted.get(&c.group)).cloned().unwrap_or_default();
        Ok(super::listen(router, c.interface, c.group, c.applied(now))?)
    });
    cli.command(|router: &mut Router, c: SetProxy<false>| {
        Ok(super::set_proxy(router, c.table, c.interface, !c.is_del)?)
    });
    cli.command(|router: &mut Router, c: SetProxy<true>| {
        Ok(super::set_proxy_interface(router, c.table, c.interface, !c.is_del)?)
    });
    cli.command(|router: &mut Router, c: SetTimers| {
        let now = router.own::<Igmp>().timers;
        let timers = Timers {
            query: c.query.unwrap_or(now.query),
            source: c.src.unwrap_or(now.source),
            leave: c.leave.unwrap_or(now.leave),
        };
        Ok(super::set_timers(router, timers)?)
    });
    cli.command(|router: &mut Router, c: SetRange| match c.range {
        Sources::Any => Ok(super::set_range(router, c.prefix, Range::Any)?),
        Sources::Specific => Ok(super::set_range(router, c.prefix, Range::Specific)?),
        Sources::Default => Ok(super::reset_range(router, c.prefix)?),
    });
    cli.command(|router: &mut Router, c: Clear| Ok(super::clear(router, c.int)?));
}
