//! Commands about addresses of interfaces.

use std::str::FromStr;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print, Word};
use control::configuration::Stage;
use infra::order::Order;
use wire::Prefix;
use wire::prefix::InvalidPrefix;

use super::Error as Refusal;
use super::show::{Ip6Interface, on_interfaces};
use crate::fib::{Ip4, Ip6};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// `set interface ip address [del] INTERFACE PREFIX|all`.
#[derive(Debug, PartialEq)]
pub(super) struct SetAddress {
    pub is_del: bool,
    pub interface: InterfaceIndex,
    /// `None` for all.
    pub prefix: Option<Prefix>,
}

impl Command for SetAddress {
    const PATHS: &'static [&'static str] = &["set interface ip address"];
    const ABOUT: &'static str = "Add or delete addresses of an interface";
    const USAGE: &'static str = "[del] <interface> {<address>/<length> | all}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut is_del = args.keyword("del");
        let interface = args.value("interface")?;
        is_del |= args.keyword("del");
        if args.keyword("all") {
            return Ok(Self { is_del: is_del | args.keyword("del"), interface, prefix: None });
        }
        let at = *args;
        let word = args.word().ok_or_else(|| Error::new("missing address"))?;
        let prefix = Prefix::from_str(word).map_err(|e| match e {
            InvalidPrefix::Length(_) => Error::bare(e.to_string()).at(word),
            InvalidPrefix::Text => at.error("parse error"),
        })?;
        Ok(Self { is_del: is_del | args.keyword("del"), interface, prefix: Some(prefix) })
    }
}

impl Print for SetAddress {
    const STAGE: Stage = Stage::Addresses;
    const UNDO: &'static str = "set interface ip address del {}";
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.is_del).value(&self.interface);
        match &self.prefix {
            Some(prefix) => line.value(prefix),
            None => line.word("all"),
        };
    }
}

/// Show interface addresses; `addr` for short.
#[derive(Command)]
#[command("show interface address")]
struct ShowAddress {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
}

/// Enable IPv4 on an interface without an address.
#[derive(Command, Print, Debug, PartialEq)]
#[command("enable ip4 interface")]
#[undo("disable ip4 interface {1}")]
pub(super) struct EnableIp4 {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
}

/// Disable IPv4 on an interface without an address.
#[derive(Command, Print, Debug, PartialEq)]
#[command("disable ip4 interface")]
#[undo("enable ip4 interface {1}")]
pub(super) struct DisableIp4 {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
}

/// Enable IPv6 on an interface and assign a link-local address.
#[derive(Command, Print, Debug, PartialEq)]
#[command("enable ip6 interface")]
#[undo("disable ip6 interface {1}")]
pub(super) struct EnableIp6 {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
}

/// Disable IPv6 on an interface without an address.
#[derive(Command, Print, Debug, PartialEq)]
#[command("disable ip6 interface")]
#[undo("enable ip6 interface {1}")]
pub(super) struct DisableIp6 {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
}

/// Show the IPv6 state of an interface.
#[derive(Command)]
#[command("show ip6 interface")]
struct ShowIp6Interface {
    /// interface; default all with IPv6
    #[positional]
    #[values("interface")]
    interface: Option<Word>,
}

/// Set the IPv4 table of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface ip table")]
#[undo("set interface ip table {1} 0")]
pub(super) struct SetTable4 {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// table ID
    #[positional]
    #[values("table-id")]
    pub table: u32,
}

/// Set the IPv6 table of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface ip6 table")]
#[undo("set interface ip6 table {1} 0")]
pub(super) struct SetTable6 {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// table ID
    #[positional]
    #[values("table-id")]
    pub table: u32,
}

pub(super) fn find(router: &Router, name: &Word) -> Result<InterfaceIndex, Error> {
    router.interfaces.named(name).map(|i| i.index).ok_or_else(|| name.unknown("interface"))
}

pub(super) fn plain(e: impl std::fmt::Display) -> Error {
    Error::new(e.to_string())
}

impl SetAddress {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let interface = self.interface;
        let name = router.interfaces.name(interface.0).to_owned();
        match (self.prefix, self.is_del) {
            (None, true) => {
                router.remove_all_addresses(interface);
                Ok(())
            }
            (None, false) => Err(Error::new("`all' requires `del'")),
            (Some(prefix), true) => router
                .remove_address(interface, prefix)
                .map_err(|e| Error::new(format!("failed to delete {prefix} on {name}: {e}"))),
            (Some(prefix), false) => router.add_address(interface, prefix).map_err(|e| {
                Error::new(match e {
                    Refusal::Conflict { with, interface } => {
                        let other = router.interfaces.name(interface.0);
                        format!(
                            "failed to add {prefix} on {name} which conflicts with {with} \
                             for interface {other}"
                        )
                    }
                    e => format!("failed to add {prefix} on {name}: {e}"),
                })
            }),
        }
    }
}

impl ShowAddress {
    fn carry_out(&self, router: &Router) -> Result<Output, Error> {
        let mut chosen = Vec::new();
        for name in &self.interfaces {
            chosen.push(find(router, name)?);
        }
        if chosen.is_empty() {
            let mut all: Vec<_> = router.interfaces.iter().map(|i| (&i.name, i.index)).collect();
            all.order();
            chosen = all.into_iter().map(|(_, index)| index).collect();
        }
        Ok(on_interfaces(router, &chosen))
    }
}

impl ShowIp6Interface {
    fn carry_out(&self, router: &Router) -> Result<Output, Error> {
        if let Some(name) = &self.interface {
            let shown = Ip6Interface::of(router, find(router, name)?);
            let none = || Output::both("IP6 disabled", ());
            return Ok(shown.map_or_else(none, Output::of));
        }
        let mut out = Output::none();
        for (index, _) in router.addresses.iter() {
            Ip6Interface::of(router, index).into_iter().for_each(|i| out.append(Output::of(i)));
        }
        Ok(out)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetAddress| c.carry_out(router));
    cli.command(|router: &mut Router, c: ShowAddress| c.carry_out(router));
    cli.command(|router: &mut Router, c: EnableIp4| {
        router.enable_ip4(c.interface, true).map_err(plain)
    });
    cli.command(|router: &mut Router, c: DisableIp4| {
        router.enable_ip4(c.interface, false).map_err(plain)
    });
    cli.command(|router: &mut Router, c: EnableIp6| {
        router.enable_ip6(c.interface, true).map_err(plain)
    });
    cli.command(|router: &mut Router, c: DisableIp6| {
        router.enable_ip6(c.interface, false).map_err(plain)
    });
    cli.command(|router: &mut Router, c: ShowIp6Interface| c.carry_out(router));
    cli.command(|router: &mut Router, c: SetTable4| {
        let table = router.fib.table::<Ip4>(c.table);
        let table = table.ok_or_else(|| Error::new(format!("Nonexistent table id {}", c.table)))?;
        router.set_interface_table4(c.interface, table).map_err(plain)
    });
    cli.command(|router: &mut Router, c: SetTable6| {
        let table = router.fib.table::<Ip6>(c.table);
        let table = table.ok_or_else(|| Error::new(format!("Nonexistent table id {}", c.table)))?;
        router.set_interface_table6(c.interface, table).map_err(plain)
    });
}
