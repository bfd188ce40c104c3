//! Commands about mappings.

use std::net::Ipv4Addr;

use control::cli::{Args, Cli, Command, Error as CliError};
use net::Router;
use translation::mapping::{Local, Mapping};
use translation::mapping_words::{identity_mapping, static_mapping};
use translation::words::{end, protocol};
use wire::Protocol;

use crate::requests;
use crate::state::Nat;

/// A mapping, and whether it is added.
struct AddMapping<const KIND: usize>(Mapping, bool);

const STATIC: usize = 0;
const IDENTITY: usize = 1;
const BALANCED: usize = 2;

impl<const KIND: usize> AddMapping<KIND> {
    /// Options that several kinds have.
    fn options(mut self, args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut always, mut to_itself) = (false, false);
        while !args.is_empty() {
            if args.keyword("vrf") {
                let vrf = args.value("vrf")?;
                self.0.locals.iter_mut().for_each(|local| local.vrf = vrf);
            } else if KIND != IDENTITY && args.keyword("twice-nat") {
                always = true;
            } else if KIND != IDENTITY && args.keyword("self-twice-nat") {
                to_itself = true;
            } else if KIND != IDENTITY && args.keyword("out2in-only") {
                self.0.is_out2in_only = true;
            } else if KIND == STATIC && args.keyword("exact") {
                self.0.pool = Some(args.value("exact")?);
            } else if KIND == BALANCED && args.keyword("affinity") {
                self.0.affinity = args.value("affinity")?;
            } else if KIND == BALANCED && args.keyword("local") {
                self.local(args)?;
            } else if args.keyword("del") {
                self.1 = false;
            } else {
                return Err(args.unknown());
            }
        }
        self.0.twice = requests::twice_of(always, to_itself).map_err(|e| args.error(e))?;
        Ok(self)
    }
    fn local(&mut self, args: &mut Args<'_>) -> Result<(), CliError> {
        let (addr, port) = end(args, "local")?;
        let vrf = if args.keyword("vrf") { args.value("vrf")? } else { 0 };
        let probability = if args.keyword("probability") { args.value("probability")? } else { 0 };
        self.0.locals.push(Local { addr, port, probability, vrf });
        Ok(())
    }
}

impl Command for AddMapping<STATIC> {
    const PATHS: &'static [&'static str] = &["nat44 add static mapping"];
    const ABOUT: &'static str = "Add a mapping that stays, or take it away";
    const USAGE: &'static str = concat!(
        "[tcp|udp|icmp] local <address> [<port:0-65535>] ",
        "external <address-or-interface> [<port:0-65535>] ",
        "[vrf <table>] [twice-nat|self-twice-nat] [out2in-only] [exact <address>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Self(static_mapping(args)?, true).options(args)
    }
}

impl Command for AddMapping<IDENTITY> {
    const PATHS: &'static [&'static str] = &["nat44 add identity mapping"];
    const ABOUT: &'static str = "Have an address stay as it is, or no longer";
    const USAGE: &'static str = concat!(
        "[external <interface>] [<address>] [tcp|udp|icmp] [<port:0-65535>] ",
        "[vrf <table>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Self(identity_mapping(args)?, true).options(args)
    }
}

impl Command for AddMapping<BALANCED> {
    const PATHS: &'static [&'static str] = &["nat44 add load-balancing static mapping"];
    const ABOUT: &'static str = "Add a mapping to several hosts, or take it away";
    const USAGE: &'static str = concat!(
        "protocol <protocol> external <end> ",
        "[local <end> [vrf <table>] probability <count:1-255>] ",
        "[twice-nat|self-twice-nat] [out2in-only] [affinity <seconds:0-4294967295>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (external, port, of) = balanced(args)?;
        let protocol = Some(of);
        let new = Mapping { is_balanced: true, external, port, protocol, ..Mapping::default() };
        Self(Mapping { locals: Vec::new(), ..new }, true).options(args)
    }
}

/// `protocol tcp|udp external ADDRESS:PORT`.
fn balanced(args: &mut Args<'_>) -> Result<(Ipv4Addr, u16, Protocol), CliError> {
    args.keyword("protocol");
    let of = protocol(args).ok_or_else(|| args.unknown())?;
    if !args.keyword("external") {
        return Err(args.unknown());
    }
    let (addr, port) = end(args, "external")?;
    Ok((addr, port, of))
}

/// `nat44 add load-balancing back-end`.
struct AddLocal {
    external: (Ipv4Addr, u16, Protocol),
    local: Local,
    is_add: bool,
}

impl Command for AddLocal {
    const PATHS: &'static [&'static str] = &["nat44 add load-balancing back-end"];
    const ABOUT: &'static str = "Add a host to a mapping, or take it away";
    const USAGE: &'static str = concat!(
        "protocol <protocol> external <end> local <end> [vrf <table>] ",
        "[probability <count:1-255>] [del]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let external = balanced(args)?;
        let mut of =
            AddMapping::<BALANCED>(Mapping { locals: Vec::new(), ..Mapping::default() }, true);
        if !args.keyword("local") {
            return Err(args.unknown());
        }
        of.local(args)?;
        let is_add = !args.keyword("del");
        match args.is_empty() {
            true => Ok(Self { external, local: of.0.locals[0], is_add }),
            false => Err(args.unknown()),
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, m: AddMapping<STATIC>| {
        Ok(Nat::set_mapping(router, m.0, m.1)?)
    });
    cli.command(|router: &mut Router, m: AddMapping<IDENTITY>| {
        Ok(Nat::set_mapping(router, m.0, m.1)?)
    });
    cli.command(|router: &mut Router, m: AddMapping<BALANCED>| {
        Ok(Nat::set_mapping(router, m.0, m.1)?)
    });
    cli.command(|router: &mut Router, add: AddLocal| {
        Ok(requests::set_local(router, add.external, add.local, add.is_add)?)
    });
}
