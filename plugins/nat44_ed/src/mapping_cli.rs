//! Commands about mappings.

use control::cli::Error as CliError;
use net::prelude::*;
use translation::commands::SetMapping;
use translation::mapping::{Local, Mapping};
use translation::mapping_words::{Form, mapping};

use crate::requests;
use crate::state::EndpointDependent;

/// A mapping, and whether it is added.
struct AddMapping<const KIND: usize>(SetMapping<EndpointDependent>);

const STATIC: usize = 0;
const IDENTITY: usize = 1;
const BALANCED: usize = 2;

impl Command for AddMapping<STATIC> {
    const PATHS: &'static [&'static str] = &["nat44 add static mapping"];
    const ABOUT: &'static str = "Add or delete a static mapping; conflicting sessions end";
    const USAGE: &'static str = concat!(
        "[tcp|udp|icmp] local <address> [<port:0-65535>] ",
        "external <address-or-interface> [<port:0-65535>] ",
        "[vrf <table>] [twice-nat|self-twice-nat] [out2in-only] [exact <address>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Ok(Self(SetMapping::parse(args, Form::Static)?))
    }
}

impl Command for AddMapping<IDENTITY> {
    const PATHS: &'static [&'static str] = &["nat44 add identity mapping"];
    const ABOUT: &'static str = "Add or delete an identity mapping: an address or port exempt \
        from translation";
    const USAGE: &'static str = concat!(
        "[external <interface>] [<address>] [tcp|udp|icmp] [<port:0-65535>] ",
        "[vrf <table>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Ok(Self(SetMapping::parse(args, Form::Identity)?))
    }
}

impl Command for AddMapping<BALANCED> {
    const PATHS: &'static [&'static str] = &["nat44 add load-balancing static mapping"];
    const ABOUT: &'static str = "Add or delete a load-balanced mapping";
    const USAGE: &'static str = concat!(
        "protocol <protocol> external <end> ",
        "[local <end> [vrf <table>] probability <count:1-255>] ",
        "[twice-nat|self-twice-nat] [out2in-only] [affinity <seconds:0-4294967295>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Ok(Self(SetMapping::parse(args, Form::Balanced)?))
    }
}

/// `nat44 add load-balancing back-end`.
struct AddLocal {
    external: (Ipv4Addr, u16, Protocol),
    local: Local,
    is_add: bool,
}

impl Command for AddLocal {
    const PATHS: &'static [&'static str] = &["nat44 add load-balancing back-end"];
    const ABOUT: &'static str = "Add or delete a server of a load-balanced mapping";
    const USAGE: &'static str = concat!(
        "protocol <protocol> external <end> local <end> [vrf <table>] ",
        "[probability <count:1-255>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (Mapping { locals, external, port, protocol, .. }, is_add) =
            mapping(args, Form::Balanced, false)?;
        match (locals.as_slice(), protocol) {
            (&[local], Some(of)) => Ok(Self { external: (external, port, of), local, is_add }),
            (_, None) => Err("expected protocol and tcp, udp or icmp".into()),
            _ => Err("expected local and one host".into()),
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, m: AddMapping<STATIC>| m.0.carry_out(router));
    cli.command(|router: &mut Router, m: AddMapping<IDENTITY>| m.0.carry_out(router));
    cli.command(|router: &mut Router, m: AddMapping<BALANCED>| m.0.carry_out(router));
    cli.command(|router: &mut Router, add: AddLocal| {
        Ok(requests::set_local(router, add.external, add.local, add.is_add)?)
    });
}
