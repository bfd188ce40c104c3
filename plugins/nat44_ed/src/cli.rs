//! Commands of NAT.

use control::cli::{Args, Cli, Command, Error as CliError};
use net::{InterfaceIndex, Router};
use translation::requests::SessionName;
use translation::words::{AddressRange, NewTimeouts, Sides, end, protocol};

use crate::requests;
use crate::state::{Nat, Settings};

/// `nat44 plugin`.
enum Plugin {
    Enable(Settings),
    Disable,
}

impl Command for Plugin {
    const PATHS: &'static [&'static str] = &["nat44 plugin"];
    const ABOUT: &'static str = "Enable NAT44, or disable it: all settings and sessions go then";
    const USAGE: &'static str =
        "enable|disable [sessions <count:0-4294967295>] [inside-vrf <table>] [outside-vrf <table>]";

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
            } else if args.keyword("inside-vrf") {
                new.inside_vrf = args.value("inside-vrf")?;
            } else if args.keyword("outside-vrf") {
                new.outside_vrf = args.value("outside-vrf")?;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self::Enable(new))
    }
}

/// Have packets without a translation pass, or not
#[derive(Command)]
#[command("nat44 forwarding")]
struct Forwarding {
    /// whether they pass
    #[positional]
    #[values("enable|disable")]
    state: String,
}

/// Make interfaces inside or outside
#[derive(Command)]
#[command("set interface nat44")]
struct SetInterface {
    #[flatten]
    sides: Sides,
}

/// Add addresses that packets get, or take them out
#[derive(Command)]
#[command("nat44 add address")]
struct AddAddress {
    /// the first, or the first and the last with - between them
    #[positional]
    addresses: AddressRange,
    /// the table of hosts that get them
    #[values("table-id")]
    tenant_vrf: Option<u32>,
    /// for far ends
    twice_nat: bool,
    /// no longer
    del: bool,
}

/// Have packets get the address of an interface
#[derive(Command)]
#[command("nat44 add interface address")]
struct AddInterfaceAddress {
    /// the interface
    #[positional]
    interface: InterfaceIndex,
    /// for far ends
    twice_nat: bool,
    /// no longer
    del: bool,
}

/// `nat44 del session`.
struct DelSession(SessionName);

impl Command for DelSession {
    const PATHS: &'static [&'static str] = &["nat44 del session"];
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
                let (addr, port) = end(args, "external-host")?;
                name.far = Some((addr.octets(), port));
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self(name))
    }
}

/// Set how many sessions a table may have
#[derive(Command)]
#[command("set nat44 session limit")]
struct SessionLimit {
    /// sessions
    #[positional]
    limit: u32,
    /// the table
    #[default]
    vrf: u32,
}

/// Set timeouts of sessions
#[derive(Command)]
#[command("set nat timeout")]
struct SetTimeout {
    #[flatten]
    timeouts: NewTimeouts,
}

/// `nat mss-clamping`.
struct MssClamping(Option<u16>);

impl Command for MssClamping {
    const PATHS: &'static [&'static str] = &["nat mss-clamping"];
    const ABOUT: &'static str = "Lower the maximum segment size of TCP that is translated";
    const USAGE: &'static str = "disable|<size:1-65535>";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        Ok(Self(Some(args.value("size")?)))
    }
}

/// A table of hosts whose far ends are in certain tables, or a table of those.
struct SetTables<const ROUTE: bool>(u32, u32, bool);

impl<const ROUTE: bool> Command for SetTables<ROUTE> {
    const PATHS: &'static [&'static str] =
        if ROUTE { &["nat44 vrf route"] } else { &["nat44 vrf table"] };
    const ABOUT: &'static str = if ROUTE {
        "Add a table of far ends, or take it away"
    } else {
        "Add a table of hosts whose far ends are in certain tables, or take it away"
    };
    const USAGE: &'static str =
        if ROUTE { "[add|del] table <table> <table>" } else { "[add|del] <table>" };

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let is_add = args.keyword("add") || !args.keyword("del");
        if ROUTE && !args.keyword("table") {
            return Err(args.unknown());
        }
        let table = args.value("table")?;
        let far = if ROUTE { args.value("table")? } else { table };
        Ok(Self(table, far, is_add))
    }
}

/// End all sessions
#[derive(Command)]
#[command("clear nat44 ed sessions")]
struct ClearSessions {}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, plugin: Plugin| match plugin {
        Plugin::Enable(settings) => Ok(Nat::enable(router, settings)?),
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
        let AddAddress { addresses: AddressRange(range), tenant_vrf, twice_nat, del } = add;
        Ok(Nat::set_addresses(router, range, tenant_vrf, twice_nat, !del)?)
    });
    cli.command(|router: &mut Router, add: AddInterfaceAddress| {
        Ok(Nat::set_interface_address(router, add.interface, add.twice_nat, !add.del)?)
    });
    cli.command(|router: &mut Router, del: DelSession| Ok(Nat::remove_session(router, del.0)?));
    cli.command(|router: &mut Router, set: SessionLimit| {
        Ok(requests::set_limit(router, set.vrf, set.limit)?)
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
    cli.command(|router: &mut Router, set: SetTables<false>| {
        Ok(requests::set_table(router, set.0, set.2)?)
    });
    cli.command(|router: &mut Router, set: SetTables<true>| {
        Ok(requests::set_route(router, set.0, set.1, set.2)?)
    });
    cli.command(|router: &mut Router, ClearSessions {}| {
        Nat::settings(router)?;
        Nat::remove_sessions(router, |_| true)?;
        Ok(())
    });
    crate::mapping_cli::register(cli);
    crate::show::register(cli);
}
