//! Commands of NAT.

use control::cli::{Args, Cli, Command, Error as CliError, Print};
use nat_log::{Level, Translator};
use net::{InterfaceIndex, Router};
use translation::commands::{self, Commands, Words};
use translation::words;
use translation::words::AddressRange;
use translation::workers::WorkerList;
use wire::Protocol;

use crate::requests;
use crate::state::{EndpointDependent, Nat};

/// Add or delete addresses of the pool
#[derive(Command)]
#[command("nat44 add address")]
struct AddAddress {
    /// first address, or first and last with - between them
    #[positional]
    addresses: AddressRange,
    /// table of the inside hosts that use them
    #[values("table-id")]
    tenant_vrf: Option<u32>,
    /// for twice NAT: addresses for external hosts
    twice_nat: bool,
    /// delete
    del: bool,
}

/// Use an interface's addresses as the pool
#[derive(Command)]
#[command("nat44 add interface address")]
struct AddInterfaceAddress {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// for twice NAT: addresses for external hosts
    twice_nat: bool,
    /// delete
    del: bool,
}

/// Set the session limit of a table
#[derive(Command)]
#[command("set nat44 session limit")]
struct SessionLimit {
    /// sessions
    #[positional]
    limit: u32,
    /// table ID
    #[default]
    vrf: u32,
}

/// A table of hosts whose far ends are in certain tables, or a table of those.
struct SetTables<const ROUTE: bool>(u32, u32, bool);

impl<const ROUTE: bool> Command for SetTables<ROUTE> {
    const PATHS: &'static [&'static str] =
        if ROUTE { &["nat44 vrf route"] } else { &["nat44 vrf table"] };
    const ABOUT: &'static str = if ROUTE {
        "Add or delete a table of external hosts"
    } else {
        "Add or delete a table of inside hosts, with the tables of their external hosts"
    };
    const USAGE: &'static str =
        if ROUTE { "[add|del] table <table> <table>" } else { "[add|del] <table>" };

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut of, mut far, mut is_add) = (None, None, true);
        while !args.is_empty() {
            if args.keyword("add") {
                is_add = true;
            } else if args.keyword("del") {
                is_add = false;
            } else if ROUTE && args.keyword("table") {
                of = Some(args.value("table")?);
            } else {
                far = Some(args.optional().ok_or_else(|| args.unknown())?);
            }
        }
        let far = far.ok_or_else(|| CliError::from("expected a table"))?;
        let of = if ROUTE { of } else { Some(far) };
        let of = of.ok_or_else(|| CliError::from("expected table and the table of hosts"))?;
        Ok(Self(of, far, is_add))
    }
}

/// Assign sessions to some workers, or all of them
#[derive(Command, Print, Debug, PartialEq)]
#[command("set nat workers")]
#[undo("=set nat workers all")]
#[stage(Settings)]
pub(super) struct SetWorkers {
    /// worker indexes such as 0-2,5, or all
    #[positional]
    #[values("workers-list")]
    pub workers: WorkerList,
}

/// Set the log level of NAT: 0 none, 1 port exhaustion, 2 other limits as well, 4 sessions as well
#[derive(Command, Print, Debug, PartialEq)]
#[command("nat set logging level")]
#[undo("=nat set logging level 0")]
#[stage(Settings)]
pub(super) struct SetLevel {
    /// level, 0 to 5
    #[positional]
    #[values("level:0-5")]
    pub level: Level,
}

impl Commands for EndpointDependent {
    const WORDS: Words = words!("nat44", "nat", "nat44 ed");
    const USAGE: &'static str =
        "enable|disable [sessions <count:0-4294967295>] [inside-vrf <table>] [outside-vrf <table>]";
    const SPELL: fn(Protocol) -> String = |protocol| words::word(protocol).to_uppercase();
}

pub(super) fn register(cli: &mut Cli<Router>) {
    commands::register::<EndpointDependent>(cli);
    cli.command(|router: &mut Router, add: AddAddress| {
        let AddAddress { addresses: AddressRange(range), tenant_vrf, twice_nat, del } = add;
        Ok(Nat::set_addresses(router, range, tenant_vrf, twice_nat, !del)?)
    });
    cli.command(|router: &mut Router, add: AddInterfaceAddress| {
        Ok(Nat::set_interface_address(router, add.interface, add.twice_nat, !add.del)?)
    });
    cli.command(|router: &mut Router, set: SessionLimit| {
        Ok(requests::set_limit(router, set.vrf, set.limit)?)
    });
    cli.command(|router: &mut Router, set: SetWorkers| Ok(Nat::set_workers(router, &set.workers)?));
    cli.command(|router: &mut Router, set: SetLevel| {
        Translator::Nat44Ed.set_level(router, set.level);
        Ok(())
    });
    cli.command(|router: &mut Router, set: SetTables<false>| {
        Ok(requests::set_table(router, set.0, set.2)?)
    });
    cli.command(|router: &mut Router, set: SetTables<true>| {
        Ok(requests::set_route(router, set.0, set.1, set.2)?)
    });
    crate::mapping_cli::register(cli);
    crate::show::register(cli);
}
