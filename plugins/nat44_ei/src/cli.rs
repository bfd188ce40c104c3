//! Commands of NAT.

use control::cli::Error as CliError;
use nat_log::{Level, Translator};
use net::prelude::*;
use translation::commands::{self, Commands, SetMapping, Words};
use translation::mapping_words::Form;
use translation::ports::PortSet;
use translation::words;
use translation::words::AddressRange;
use translation::workers::WorkerList;

use crate::requests;
use crate::state::{EndpointIndependent, More, Nat};

/// The port that records come from.
const IPFIX_PORT: u16 = 4739;

/// Add or delete addresses of the pool
#[derive(Command)]
#[command("nat44 ei add address")]
struct AddAddress {
    /// first address, or first and last with - between them
    #[positional]
    addresses: AddressRange,
    /// table of the inside hosts that use them
    #[values("table-id")]
    tenant_vrf: Option<u32>,
    /// delete
    del: bool,
}

/// Use an interface's addresses as the pool
#[derive(Command)]
#[command("nat44 ei add interface address")]
struct AddInterfaceAddress {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// delete
    del: bool,
}

/// A mapping, and whether it is added.
struct AddMapping<const IDENTITY: bool>(SetMapping<EndpointIndependent>);

impl<const IDENTITY: bool> Command for AddMapping<IDENTITY> {
    const PATHS: &'static [&'static str] = if IDENTITY {
        &["nat44 ei add identity mapping"]
    } else {
        &["nat44 ei add static mapping"]
    };
    const ABOUT: &'static str = if IDENTITY {
        "Add or delete an identity mapping: an address or port exempt from translation"
    } else {
        "Add or delete a static mapping; conflicting sessions end"
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
        let form = if IDENTITY { Form::Identity } else { Form::Static };
        Ok(Self(SetMapping::parse(args, form)?))
    }
}

/// `nat44 ei addr-port-assignment-alg`.
struct SetPorts(PortSet);

impl Command for SetPorts {
    const PATHS: &'static [&'static str] = &["nat44 ei addr-port-assignment-alg"];
    const ABOUT: &'static str = "Set the port allocation algorithm";
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
            let (first, last) = args.range("a port")?;
            let last = last.map_or_else(|| args.value("the last port"), Ok)?;
            PortSet::Range { first, last }
        } else {
            return Err(args.unknown());
        };
        match ports.is_valid() {
            true => Ok(Self(ports)),
            false => Err(args.error("no such ports")),
        }
    }
}

/// Delete all sessions of a host
#[derive(Command)]
#[command("nat44 ei del user")]
struct DelUser {
    /// the host
    #[positional]
    host: Ipv4Addr,
    /// table index
    #[default]
    fib: u16,
}

/// `nat44 ei ipfix logging`.
struct Ipfix(Option<(u32, u16)>);

impl Command for Ipfix {
    const PATHS: &'static [&'static str] = &["nat44 ei ipfix logging"];
    const ABOUT: &'static str = "Enable or disable IPFIX logging of sessions and limits";
    const USAGE: &'static str =
        "enable|disable [domain <number:0-4294967295>] [src-port <port:0-65535>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut domain, mut port, mut is_on) = (1, IPFIX_PORT, None);
        while !args.is_empty() {
            if args.keyword("enable") {
                is_on = Some(true);
            } else if args.keyword("disable") {
                is_on = Some(false);
            } else if args.keyword("domain") {
                domain = args.value("domain")?;
            } else if args.keyword("src-port") {
                port = args.value("src-port")?;
            } else {
                return Err(args.unknown());
            }
        }
        let is_on = is_on.ok_or_else(|| CliError::from("expected enable or disable"))?;
        Ok(Self(is_on.then_some((domain, port))))
    }
}

/// Assign sessions to some workers, or all of them
#[derive(Command, Print, Debug, PartialEq)]
#[command("set nat44 ei workers")]
#[undo("=set nat44 ei workers all")]
#[stage(Settings)]
pub(super) struct SetWorkers {
    /// worker indexes such as 0-2,5, or all
    #[positional]
    #[values("workers-list")]
    pub workers: WorkerList,
}

/// Set the log level of NAT: 0 none, 1 port exhaustion, 2 other limits as well, 4 sessions as well
#[derive(Command, Print, Debug, PartialEq)]
#[command("nat44 ei set logging level")]
#[undo("=nat44 ei set logging level 0")]
#[stage(Settings)]
pub(super) struct SetLevel {
    /// level, 0 to 5
    #[positional]
    #[values("level:0-5")]
    pub level: Level,
}

impl Commands for EndpointIndependent {
    const WORDS: Words = words!("nat44 ei", "nat44 ei", "nat44 ei");
    const USAGE: &'static str = concat!(
        "enable|disable [sessions <count:0-4294967295>] [users <count:0-4294967295>] ",
        "[static-mapping-only] [connection-tracking] [out2in-dpo] ",
        "[inside-vrf <table>] [outside-vrf <table>] [user-sessions <count:0-4294967295>]"
    );
    const SPELL: fn(Protocol) -> String = |protocol| words::word(protocol).to_owned();

    fn option(more: &mut More, args: &mut Args<'_>) -> Result<bool, CliError> {
        if args.keyword("users") {
            more.users = args.value("users")?;
        } else if args.keyword("user-sessions") {
            more.user_sessions = args.value("user-sessions")?;
        } else if args.keyword("static-mapping-only") || args.keyword("static-mappig-only") {
            // The usage line that operators know spells it the second way.
            more.is_static_only = true;
        } else if args.keyword("connection-tracking") {
            more.tracks = true;
        } else if args.keyword("out2in-dpo") {
            // Packets from outside are looked up in the table of their mapping without it, too.
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    commands::register::<EndpointIndependent>(cli);
    cli.command(|router: &mut Router, add: AddAddress| {
        Ok(requests::set_addresses(router, add.addresses.0, add.tenant_vrf, !add.del)?)
    });
    cli.command(|router: &mut Router, add: AddInterfaceAddress| {
        Ok(Nat::set_interface_address(router, add.interface, false, !add.del)?)
    });
    cli.command(|router: &mut Router, m: AddMapping<false>| m.0.carry_out(router));
    cli.command(|router: &mut Router, m: AddMapping<true>| m.0.carry_out(router));
    cli.command(|router: &mut Router, set: SetPorts| Ok(requests::set_ports(router, set.0)?));
    cli.task(|router: &mut Router, del: DelUser| {
        let answer = |done: Result<(), _>| Ok(done.map(|()| Output::none())?);
        Ok(Box::new(requests::remove_user(router, del.host, TableIndex(del.fib), answer)?) as _)
    });
    cli.command(|router: &mut Router, set: SetWorkers| Ok(Nat::set_workers(router, &set.workers)?));
    cli.command(|router: &mut Router, set: SetLevel| {
        Translator::Nat44Ei.set_level(router, set.level);
        Ok(())
    });
    cli.command(|router: &mut Router, set: Ipfix| Ok(requests::set_export(router, set.0)?));
    crate::show::register(cli);
}
