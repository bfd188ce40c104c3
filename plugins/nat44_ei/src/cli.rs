//! Commands of NAT.

use std::net::Ipv4Addr;

use control::cli::{Args, Cli, Command, Error as CliError};
use net::fib::TableIndex;
use net::{InterfaceIndex, Router};
use translation::mapping::Mapping;
use translation::mapping_words::{identity_mapping, static_mapping};
use translation::ports::PortSet;
use translation::requests::SessionName;
use translation::words::{AddressRange, NewTimeouts, Sides, end, protocol};

use crate::requests;
use crate::state::{Nat, Settings};

/// The port that records come from.
const IPFIX_PORT: u16 = 4739;

/// `nat44 ei plugin`.
enum Plugin {
    Enable(Box<Settings>),
    Disable,
}

impl Command for Plugin {
    const PATHS: &'static [&'static str] = &["nat44 ei plugin"];
    const ABOUT: &'static str = "Enable NAT44, or disable it: all settings and sessions go then";
    const USAGE: &'static str = concat!(
        "enable|disable [sessions <count:0-4294967295>] [users <count:0-4294967295>] ",
        "[static-mapping-only] [connection-tracking] [inside-vrf <table>] [outside-vrf <table>] ",
        "[user-sessions <count:0-4294967295>]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        if args.keyword("disable") {
            return Ok(Self::Disable);
        }
        if !args.keyword("enable") {
            return Err(args.unknown());
        }
        let mut new = Settings::default();
        while !args.is_empty() {
            if args.keyword("sessions") {
                new.sessions = args.value("sessions")?;
            } else if args.keyword("users") {
                new.more.users = args.value("users")?;
            } else if args.keyword("user-sessions") {
                new.more.user_sessions = args.value("user-sessions")?;
            } else if args.keyword("inside-vrf") {
                new.inside_vrf = args.value("inside-vrf")?;
            } else if args.keyword("outside-vrf") {
                new.outside_vrf = args.value("outside-vrf")?;
            } else if args.keyword("static-mapping-only") || args.keyword("static-mappig-only") {
                // The usage line that operators know spells it the second way.
                new.more.is_static_only = true;
            } else if args.keyword("connection-tracking") {
                new.more.tracks = true;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self::Enable(Box::new(new)))
    }
}

/// Have packets without a translation pass, or not
#[derive(Command)]
#[command("nat44 ei forwarding")]
struct Forwarding {
    /// whether they pass
    #[positional]
    #[values("enable|disable")]
    state: String,
}

/// Make interfaces inside or outside
#[derive(Command)]
#[command("set interface nat44 ei")]
struct SetInterface {
    #[flatten]
    sides: Sides,
}

/// Add addresses that packets get, or take them out
#[derive(Command)]
#[command("nat44 ei add address")]
struct AddAddress {
    /// the first, or the first and the last with - between them
    #[positional]
    addresses: AddressRange,
    /// the table of hosts that get them
    #[values("table-id")]
    tenant_vrf: Option<u32>,
    /// no longer
    del: bool,
}

/// Have packets get the address of an interface
#[derive(Command)]
#[command("nat44 ei add interface address")]
struct AddInterfaceAddress {
    /// the interface
    #[positional]
    interface: InterfaceIndex,
    /// no longer
    del: bool,
}

/// A mapping, and whether it is added.
struct AddMapping<const IDENTITY: bool>(Mapping, bool);

impl<const IDENTITY: bool> Command for AddMapping<IDENTITY> {
    const PATHS: &'static [&'static str] = if IDENTITY {
        &["nat44 ei add identity mapping"]
    } else {
        &["nat44 ei add static mapping"]
    };
    const ABOUT: &'static str = if IDENTITY {
        "Have an address stay as it is, or no longer"
    } else {
        "Add a mapping that stays, or take it away"
    };
    const USAGE: &'static str = if IDENTITY {
        "[external <interface>] [<address>] [tcp|udp|icmp] [<port:0-65535>] [vrf <table>] [del]"
    } else {
        concat!(
            "[tcp|udp|icmp] local <address> [<port:0-65535>] ",
            "external <address-or-interface> [<port:0-65535>] [vrf <table>] [del]"
        )
    };

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let mapping = if IDENTITY { identity_mapping(args)? } else { static_mapping(args)? };
        let mut add = Self(mapping, true);
        while !args.is_empty() {
            if args.keyword("vrf") {
                let vrf = args.value("vrf")?;
                add.0.locals.iter_mut().for_each(|local| local.vrf = vrf);
            } else if args.keyword("del") {
                add.1 = false;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(add)
    }
}

/// `nat44 ei addr-port-assignment-alg`.
struct SetPorts(PortSet);

impl Command for SetPorts {
    const PATHS: &'static [&'static str] = &["nat44 ei addr-port-assignment-alg"];
    const ABOUT: &'static str = "Set the ports that packets get";
    const USAGE: &'static str = concat!(
        "default|map-e|port-range [psid <number:0-65535>] [psid-offset <bits:0-16>] ",
        "[psid-len <bits:0-16>] [<port:0-65535>] [- <port:0-65535>]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let ports = if args.keyword("default") {
            PortSet::All
        } else if args.keyword("map-e") {
            let (mut psid, mut offset, mut len) = (0, 0, 0);
            while !args.is_empty() {
                if args.keyword("psid") {
                    psid = args.value("psid")?;
                } else if args.keyword("psid-offset") {
                    offset = args.value("psid-offset")?;
                } else if args.keyword("psid-len") {
                    len = args.value("psid-len")?;
                } else {
                    return Err(args.unknown());
                }
            }
            PortSet::Psid { offset, len, psid }
        } else if args.keyword("port-range") {
            let first = args.value("the first port")?;
            args.keyword("-");
            PortSet::Range { first, last: args.value("the last port")? }
        } else {
            return Err(args.unknown());
        };
        match ports.is_valid() {
            true => Ok(Self(ports)),
            false => Err(args.error("there are no such ports")),
        }
    }
}

/// `nat44 ei del session`.
struct DelSession(SessionName);

impl Command for DelSession {
    const PATHS: &'static [&'static str] = &["nat44 ei del session"];
    const ABOUT: &'static str = "End a session";
    const USAGE: &'static str = "in|out <end> tcp|udp|icmp [vrf <table>] [external-host <end>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let is_inside = args.keyword("in");
        if !is_inside && !args.keyword("out") {
            return Err(args.unknown());
        }
        let (addr, port) = end(args, "session")?;
        let protocol = protocol(args).ok_or_else(|| args.unknown())?;
        let near = (addr.octets(), port);
        let mut name = SessionName { is_inside, near, far: None, protocol, vrf: 0 };
        while !args.is_empty() {
            if args.keyword("vrf") {
                name.vrf = args.value("vrf")?;
            } else if args.keyword("external-host") {
                // A session is for all far ends.
                end(args, "external-host")?;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self(name))
    }
}

/// End all sessions of a host
#[derive(Command)]
#[command("nat44 ei del user")]
struct DelUser {
    /// the host
    #[positional]
    host: Ipv4Addr,
    /// the index of its table
    #[default]
    fib: u16,
}

/// Set timeouts of sessions
#[derive(Command)]
#[command("set nat44 ei timeout")]
struct SetTimeout {
    #[flatten]
    timeouts: NewTimeouts,
}

/// `nat44 ei mss-clamping`.
struct MssClamping(Option<u16>);

impl Command for MssClamping {
    const PATHS: &'static [&'static str] = &["nat44 ei mss-clamping"];
    const ABOUT: &'static str = "Lower the maximum segment size of TCP that is translated";
    const USAGE: &'static str = "disable|<size:1-65535>";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        Ok(Self(Some(args.value("size")?)))
    }
}

/// `nat44 ei ipfix logging`.
struct Ipfix(Option<(u32, u16)>);

impl Command for Ipfix {
    const PATHS: &'static [&'static str] = &["nat44 ei ipfix logging"];
    const ABOUT: &'static str = "Export sessions and limits as IPFIX records, or no longer";
    const USAGE: &'static str =
        "enable|disable [domain <number:0-4294967295>] [src-port <port:0-65535>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        if !args.keyword("enable") {
            return Err(args.unknown());
        }
        let (mut domain, mut port) = (1, IPFIX_PORT);
        while !args.is_empty() {
            if args.keyword("domain") {
                domain = args.value("domain")?;
            } else if args.keyword("src-port") {
                port = args.value("src-port")?;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self(Some((domain, port))))
    }
}

/// End all sessions
#[derive(Command)]
#[command("clear nat44 ei sessions")]
struct ClearSessions {}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, plugin: Plugin| match plugin {
        Plugin::Enable(settings) => Ok(Nat::enable(router, *settings)?),
        Plugin::Disable => Ok(Nat::disable(router)?),
    });
    cli.command(|router: &mut Router, f: Forwarding| {
        Ok(Nat::change(router, |s| {
            s.is_forwarding = f.state == "enable";
            Ok(())
        })?)
    });
    cli.command(|router: &mut Router, set: SetInterface| {
        set.sides.check()?;
        Ok(Nat::set_interfaces(router, &set.sides)?)
    });
    cli.command(|router: &mut Router, add: AddAddress| {
        Ok(Nat::set_addresses(router, add.addresses.0, add.tenant_vrf, false, !add.del)?)
    });
    cli.command(|router: &mut Router, add: AddInterfaceAddress| {
        Ok(Nat::set_interface_address(router, add.interface, false, !add.del)?)
    });
    cli.command(|router: &mut Router, m: AddMapping<false>| {
        Ok(Nat::set_mapping(router, m.0, m.1)?)
    });
    cli.command(|router: &mut Router, m: AddMapping<true>| Ok(Nat::set_mapping(router, m.0, m.1)?));
    cli.command(|router: &mut Router, set: SetPorts| Ok(requests::set_ports(router, set.0)?));
    cli.command(|router: &mut Router, del: DelSession| Ok(Nat::remove_session(router, del.0)?));
    cli.command(|router: &mut Router, del: DelUser| {
        Ok(requests::remove_user(router, del.host, TableIndex(del.fib))?)
    });
    cli.command(|router: &mut Router, set: SetTimeout| {
        let new = set.timeouts.after(Nat::settings(router)?.timeouts);
        Ok(Nat::set_timeouts(router, new)?)
    });
    cli.command(|router: &mut Router, set: MssClamping| {
        Ok(Nat::change(router, |s| {
            s.mss = set.0;
            Ok(())
        })?)
    });
    cli.command(|router: &mut Router, ClearSessions {}| {
        Nat::settings(router)?;
        Nat::remove_sessions(router, |_| true)?;
        Ok(())
    });
    cli.command(|router: &mut Router, set: Ipfix| Ok(requests::set_export(router, set.0)?));
    crate::show::register(cli);
}
