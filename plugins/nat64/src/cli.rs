//! `nat64 …`, `set interface nat64`.

use control::cli::Error as CliError;
use net::interface;
use net::prelude::*;
use translation::session::Timeouts;
use translation::words::{AddressRange, NewTimeouts, protocol};

use crate::config::Static;
use crate::requests;
use crate::state::{self, BINDING_BUCKETS, Role, SESSION_BUCKETS, settings};

/// `nat64 plugin`: the buckets, or disable it.
#[derive(Debug, PartialEq)]
struct SetPlugin(Option<[u32; 2]>);

impl Command for SetPlugin {
    const PATHS: &'static [&'static str] = &["nat64 plugin"];
    const ABOUT: &'static str = "Enable or disable NAT64; disabling deletes its settings and \
        sessions";
    const USAGE: &'static str = "enable|disable [bib-buckets <count>] [bib-memory <size>] \
        [st-buckets <count>] [st-memory <size>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut buckets, mut is_on) = ([0, 0], None);
        while !args.is_empty() {
            if args.keyword("enable") {
                is_on = Some(true);
            } else if args.keyword("disable") {
                is_on = Some(false);
            } else if args.keyword("bib-buckets") {
                buckets[0] = args.value("bib-buckets")?;
            } else if args.keyword("st-buckets") {
                buckets[1] = args.value("st-buckets")?;
            } else if args.keyword("bib-memory") || args.keyword("st-memory") {
                // Tables take memory as they need it.
                let _: String = args.value("size")?;
            } else {
                return Err(args.unknown());
            }
        }
        let is_on = is_on.ok_or_else(|| CliError::from("expected enable or disable"))?;
        Ok(Self(is_on.then_some(buckets)))
    }
}

impl Print for SetPlugin {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=nat64 plugin disable";
    fn print(&self, line: &mut Line<'_>) {
        let Some([bindings, sessions]) = self.0 else {
            line.word("disable");
            return;
        };
        line.word("enable");
        line.option("bib-buckets", Some(&bindings).filter(|n| **n != 0));
        line.option("st-buckets", Some(&sessions).filter(|n| **n != 0));
    }
}

/// Add or delete pool addresses
#[derive(Command, Print, Debug, PartialEq)]
#[command("nat64 add pool address")]
#[stage(Attachments)]
struct SetPool {
    /// first address, or first and last with - between them
    #[positional]
    addresses: AddressRange,
    /// table of the inside hosts that use them
    #[values("table-id")]
    tenant_vrf: Option<u32>,
    /// delete
    del: bool,
}

/// Use an interface's address as the pool, or stop
#[derive(Command, Print, Debug, PartialEq)]
#[command("nat64 add interface address")]
#[stage(Attachments)]
struct SetInterfaceAddress {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// delete
    del: bool,
}

/// Set or delete the NAT64 prefix of a table
#[derive(Command, Print, Debug, PartialEq)]
#[command("nat64 add prefix")]
#[stage(Attachments)]
struct SetPrefix {
    /// prefix: length 32, 40, 48, 56, 64 or 96
    #[positional]
    prefix: Ip6Prefix,
    /// table ID
    tenant_vrf: Option<u32>,
    /// inside interface on which packets to the prefix appear as received
    interface: Option<InterfaceIndex>,
    /// delete
    del: bool,
}

/// `nat64 add static bib`.
#[derive(Debug, PartialEq)]
struct SetStatic {
    ends: Static,
    del: bool,
}

impl Command for SetStatic {
    const PATHS: &'static [&'static str] = &["nat64 add static bib"];
    const ABOUT: &'static str = "Add or delete a static binding";
    const USAGE: &'static str =
        "<ip6-addr> <port> <ip4-addr> <port> tcp|udp|icmp|<number> [vrf <table>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut host, mut outside, mut of) = (None, None, None);
        let (mut vrf, mut del) = (0, false);
        while !args.is_empty() {
            // The usage line that operators know spells it the second way.
            if args.keyword("vrf") || args.keyword("vfr") {
                vrf = args.value("table")?;
            } else if args.keyword("del") {
                del = true;
            } else if let Some(found) = protocol(args) {
                of = Some(found);
            } else if let Some(addr) = args.optional::<Ipv6Addr>() {
                host = Some((addr, args.value("port")?));
            } else if let Some(addr) = args.optional::<Ipv4Addr>() {
                outside = Some((addr, args.value("port")?));
            } else {
                of = Some(Protocol(args.optional().ok_or_else(|| args.unknown())?));
            }
        }
        let missing = |what: &str| CliError::from(format!("expected {what}"));
        let (host, port) = host.ok_or_else(|| missing("an IPv6 address and a port"))?;
        let outside = outside.ok_or_else(|| missing("an IPv4 address and a port"))?;
        let protocol = of.ok_or_else(|| missing("a protocol"))?;
        let (outside, outside_port) = outside;
        Ok(Self { ends: Static { host, port, outside, outside_port, protocol, vrf }, del })
    }
}

impl Print for SetStatic {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        let Static { host, port, outside, outside_port, protocol, vrf } = &self.ends;
        line.value(host).value(port).value(outside).value(outside_port);
        match *protocol {
            Protocol::TCP => line.word("tcp"),
            Protocol::UDP => line.word("udp"),
            Protocol::ICMP => line.word("icmp"),
            Protocol(number) => line.value(&number),
        };
        line.option("vrf", Some(vrf).filter(|vrf| **vrf != 0)).flag("del", self.del);
    }
}

/// Set the inside and outside interfaces
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface nat64")]
#[stage(Attachments)]
struct SetSides {
    #[flatten]
    sides: interface::Sides,
    /// delete
    del: bool,
}

/// Set session timeouts
#[derive(Command, Print, Debug, PartialEq)]
#[command("set nat64 timeout")]
#[undo("=set nat64 timeout reset")]
#[stage(Attachments)]
struct SetTimeouts {
    #[flatten]
    timeouts: NewTimeouts,
}

/// Delete all sessions
#[derive(Command)]
#[command("clear nat64 sessions")]
struct ClearSessions {}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Ok(s) = settings(router) else { return };
    let unless = |n: u32, usual| if n == usual { 0 } else { n };
    let [bindings, sessions] = s.buckets;
    let buckets = [unless(bindings, BINDING_BUCKETS), unless(sessions, SESSION_BUCKETS)];
    lines.push(&SetPlugin(Some(buckets)));
    if s.timeouts != Timeouts::default() {
        lines.push(&SetTimeouts { timeouts: NewTimeouts::of(&s.timeouts) });
    }
    for (vrf, prefix) in &s.prefixes {
        let tenant_vrf = Some(*vrf).filter(|vrf| *vrf != 0);
        let interface = s.received.get(vrf).copied();
        lines.push(&SetPrefix { prefix: *prefix, tenant_vrf, interface, del: false });
    }
    for (addr, vrf) in &s.pool {
        let addresses = AddressRange([*addr; 2]);
        lines.push(&SetPool { addresses, tenant_vrf: *vrf, del: false });
    }
    for interface in &s.interfaces {
        lines.push(&SetInterfaceAddress { interface: *interface, del: false });
    }
    for ends in &s.statics {
        lines.push(&SetStatic { ends: *ends, del: false });
    }
    for (interface, role) in router.settings::<Role>() {
        let sides = [(true, role.is_inside), (false, role.is_outside)];
        for (is_inside, _) in sides.into_iter().filter(|(_, is)| *is) {
            lines.push(&SetSides {
                sides: interface::Sides(vec![(interface, is_inside)]),
                del: false,
            });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, SetPlugin(set)| {
        let done = match set {
            Some([bindings, sessions]) => state::enable(router, bindings, sessions),
            None => state::disable(router),
        };
        Ok(done?)
    });
    cli.command(|router: &mut Router, set: SetPool| {
        Ok(requests::set_addresses(router, set.addresses.0, set.tenant_vrf, !set.del)?)
    });
    cli.command(|router: &mut Router, set: SetInterfaceAddress| {
        Ok(requests::set_interface_address(router, set.interface, !set.del)?)
    });
    cli.command(|router: &mut Router, set: SetPrefix| {
        let vrf = set.tenant_vrf.unwrap_or(0);
        Ok(requests::set_prefix(router, set.prefix, (vrf, set.interface), !set.del)?)
    });
    cli.command(|router: &mut Router, set: SetStatic| {
        Ok(requests::set_static(router, set.ends, !set.del)?)
    });
    cli.command(|router: &mut Router, set: SetSides| {
        Ok(set.sides.apply(router, !set.del, requests::set_side)?)
    });
    cli.command(|router: &mut Router, set: SetTimeouts| {
        let new = set.timeouts.after(settings(router)?.timeouts);
        Ok(requests::set_timeouts(router, new)?)
    });
    cli.command(|router: &mut Router, ClearSessions {}| Ok(requests::clear(router)?));
    crate::show::register(cli);
}
