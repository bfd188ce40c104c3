//! Commands that change something.

use std::net::Ipv4Addr;

use control::cli::{Args, Cli, Command, Error as CliError, Line, Print};
use control::configuration::Stage;
use net::{InterfaceIndex, Router};

use super::nat::{self, Wanted};
use super::tcp_check::NonSyn;
use super::tenant::{self, DETOURS, ICMP_ERRORS};
use super::{Sfdp, input, show};

/// Words that must be there.
fn expect(args: &mut Args<'_>, word: &str) -> Result<(), CliError> {
    if args.keyword(word) { Ok(()) } else { Err(args.error(format_args!("expected {word}"))) }
}

/// `sfdp tenant`.
#[derive(Debug, PartialEq)]
pub(super) enum SetTenant {
    Add { tenant: u32, context: Option<u32> },
    Delete(u32),
}

impl Command for SetTenant {
    const PATHS: &'static [&'static str] = &["sfdp tenant"];
    const ABOUT: &'static str = "Add a tenant, or delete it with its sessions";
    const USAGE: &'static str = "add|del <tenant-id> [context <context-id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let is_del = args.keyword("del");
        if !is_del {
            expect(args, "add")?;
        }
        let tenant = args.value("tenant-id")?;
        let context = args.keyword("context").then(|| args.value("context-id")).transpose()?;
        Ok(if is_del { Self::Delete(tenant) } else { Self::Add { tenant, context } })
    }
}

impl Print for SetTenant {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "sfdp tenant del {add}";
    fn print(&self, line: &mut Line<'_>) {
        match self {
            Self::Add { tenant, context } => {
                line.word("add").value(tenant).option("context", context.as_ref());
            }
            Self::Delete(tenant) => {
                line.word("del").value(tenant);
            }
        }
    }
}

/// `set sfdp services`.
#[derive(Debug, PartialEq)]
pub(super) struct SetServices {
    pub tenant: u32,
    pub services: Vec<String>,
    pub is_reverse: bool,
}

impl Command for SetServices {
    const PATHS: &'static [&'static str] = &["set sfdp services"];
    const ABOUT: &'static str = "Set the services of a tenant's new sessions, in a direction";
    const USAGE: &'static str = "tenant <tenant-id> [<service>]... forward|reverse";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        expect(args, "tenant")?;
        let tenant = args.value("tenant-id")?;
        let mut services = Vec::new();
        loop {
            if args.is_empty() {
                return Err(args.error("expected forward or reverse"));
            }
            let is_reverse = args.keyword("reverse");
            if is_reverse || args.keyword("forward") {
                return Ok(Self { tenant, services, is_reverse });
            }
            services.push(args.value("service")?);
        }
    }
}

impl Print for SetServices {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=set sfdp services tenant {tenant} {?forward} sfdp-drop forward|\
        set sfdp services tenant {tenant} sfdp-drop reverse";
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("tenant", &self.tenant);
        self.services.iter().for_each(|service| {
            line.word(service);
        });
        line.word(if self.is_reverse { "reverse" } else { "forward" });
    }
}

/// `set sfdp timeout`.
#[derive(Debug, PartialEq)]
pub(super) struct SetTimeout {
    pub tenant: u32,
    pub name: String,
    pub seconds: u32,
}

impl Command for SetTimeout {
    const PATHS: &'static [&'static str] = &["set sfdp timeout"];
    const ABOUT: &'static str = "Set a timeout of a tenant, in seconds";
    const USAGE: &'static str = "tenant <tenant-id> <timeout-name> <seconds>";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        expect(args, "tenant")?;
        let tenant = args.value("tenant-id")?;
        Ok(Self { tenant, name: args.value("timeout-name")?, seconds: args.value("seconds")? })
    }
}

impl Print for SetTimeout {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=set sfdp timeout tenant {tenant} {?embryonic} embryonic 5|\
        set sfdp timeout tenant {tenant} {?established} established 120|\
        set sfdp timeout tenant {tenant} {?tcp-established} tcp-established 3600|\
        set sfdp timeout tenant {tenant} {?security} security 30|\
        set sfdp timeout tenant {tenant} {3} 120";
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("tenant", &self.tenant).word(&self.name).value(&self.seconds);
    }
}

fn set_timeout(router: &mut Router, c: &SetTimeout) -> Result<(), CliError> {
    let known = tenant::timeouts(router);
    let found = known.iter().find(|(_, name, _)| *name == c.name);
    let (at, ..) = *found.ok_or_else(|| CliError::new(format!("no timeout {}", c.name)))?;
    Ok(tenant::set_timeout(router, c.tenant, at, c.seconds)?)
}

/// `set sfdp sp-node`.
#[derive(Debug, PartialEq)]
pub(super) struct SetDetour {
    pub tenant: u32,
    pub packets: String,
    pub node: String,
}

impl Command for SetDetour {
    const PATHS: &'static [&'static str] = &["set sfdp sp-node"];
    const ABOUT: &'static str = "Have packets of a tenant that have no session go to a node";
    const USAGE: &'static str = "tenant <tenant-id> <sp-name> node <node-name>";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        expect(args, "tenant")?;
        let (tenant, packets) = (args.value("tenant-id")?, args.value("sp-name")?);
        expect(args, "node")?;
        Ok(Self { tenant, packets, node: args.value("node-name")? })
    }
}

impl Print for SetDetour {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=set sfdp sp-node tenant {tenant} {3} node error-drop";
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("tenant", &self.tenant).word(&self.packets).keyword("node", &self.node);
    }
}

fn set_detour(router: &mut Router, c: &SetDetour) -> Result<(), CliError> {
    let word = c.packets.strip_prefix("sp-").unwrap_or(&c.packets);
    let at = DETOURS.iter().position(|name| *name == word);
    let unknown = || CliError::new(format!("no sp-node {}: {}", c.packets, DETOURS.join(", ")));
    Ok(tenant::set_detour(router, c.tenant, at.ok_or_else(unknown)?, &c.node)?)
}

/// `set sfdp icmp-error-node`.
struct SetIcmpErrors {
    tenant: u32,
    is_6: bool,
    node: String,
}

impl Command for SetIcmpErrors {
    const PATHS: &'static [&'static str] = &["set sfdp icmp-error-node"];
    const ABOUT: &'static str = "Have ICMP errors of a tenant go to a node";
    const USAGE: &'static str = "tenant <tenant-id> ip4|ip6 node <node-name>";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        expect(args, "tenant")?;
        let tenant = args.value("tenant-id")?;
        let is_6 = args.keyword("ip6");
        if !is_6 && !args.keyword("ip4") {
            return Err(args.error("expected ip4 or ip6"));
        }
        expect(args, "node")?;
        Ok(Self { tenant, is_6, node: args.value("node-name")? })
    }
}

/// `set sfdp interface-input`.
#[derive(Debug, PartialEq)]
pub(super) struct SetInput {
    pub interface: InterfaceIndex,
    pub tenant: u32,
    pub is_6: bool,
    pub disable: bool,
}

impl Command for SetInput {
    const PATHS: &'static [&'static str] = &["set sfdp interface-input"];
    const ABOUT: &'static str =
        "Have packets that an interface receives be those of a tenant, or no longer";
    const USAGE: &'static str = "<interface> tenant <tenant-id> [ip6] [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let interface = args.value("interface")?;
        expect(args, "tenant")?;
        let mut set =
            Self { interface, tenant: args.value("tenant-id")?, is_6: false, disable: false };
        while !args.is_empty() {
            let flag = if args.keyword("ip6") {
                &mut set.is_6
            } else if args.keyword("disable") {
                &mut set.disable
            } else {
                return Err(args.unknown());
            };
            *flag = true;
        }
        Ok(set)
    }
}

impl Print for SetInput {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface).keyword("tenant", &self.tenant);
        line.flag("ip6", self.is_6).flag("disable", self.disable);
    }
}

/// `set sfdp nat external-interface`.
struct SetExternal {
    interface: InterfaceIndex,
    tenant: u32,
    disable: bool,
}

impl Command for SetExternal {
    const PATHS: &'static [&'static str] = &["set sfdp nat external-interface"];
    const ABOUT: &'static str =
        "Have an interface receive answers to translated sessions, or no longer";
    const USAGE: &'static str = "<interface> tenant <tenant-id> [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let interface = args.value("interface")?;
        expect(args, "tenant")?;
        Ok(Self { interface, tenant: args.value("tenant-id")?, disable: args.keyword("disable") })
    }
}

/// `set sfdp nat snat`.
#[derive(Debug, PartialEq)]
pub(super) struct SetSnat {
    pub tenant: u32,
    pub wanted: Option<(u32, u32, u32)>,
}

impl Command for SetSnat {
    const PATHS: &'static [&'static str] = &["set sfdp nat snat"];
    const ABOUT: &'static str = "Translate sources of a tenant, or no longer";
    const USAGE: &'static str = "tenant <tenant-id> [outside-tenant <tenant-id>] \
        [table <table-id>] [alloc-pool <pool-id>] [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        expect(args, "tenant")?;
        let tenant = args.value("tenant-id")?;
        let (mut outside, mut table, mut pool, mut disable) = (None, 0, None, false);
        while !args.is_empty() {
            if args.keyword("outside-tenant") {
                outside = Some(args.value("tenant-id")?);
            } else if args.keyword("table") {
                table = args.value("table-id")?;
            } else if args.keyword("alloc-pool") {
                pool = Some(args.value("pool-id")?);
            } else if args.keyword("disable") {
                disable = true;
            } else {
                return Err(args.unknown());
            }
        }
        if disable {
            return Ok(Self { tenant, wanted: None });
        }
        let missing = |word: &str| args.error(format_args!("expected {word}"));
        let outside = outside.ok_or_else(|| missing("outside-tenant"))?;
        let pool = pool.ok_or_else(|| missing("alloc-pool"))?;
        Ok(Self { tenant, wanted: Some((outside, table, pool)) })
    }
}

impl Print for SetSnat {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "set sfdp nat snat tenant {tenant} disable";
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("tenant", &self.tenant);
        match &self.wanted {
            Some((outside, table, pool)) => {
                line.keyword("outside-tenant", outside);
                line.keyword("table", table).keyword("alloc-pool", pool);
            }
            None => {
                line.word("disable");
            }
        }
    }
}

/// `sfdp nat alloc-pool`.
#[derive(Debug, PartialEq)]
pub(super) struct SetPool {
    pub pool: u32,
    /// `None` when it is taken away.
    pub addresses: Option<Vec<Ipv4Addr>>,
}

impl Command for SetPool {
    const PATHS: &'static [&'static str] = &["sfdp nat alloc-pool"];
    const ABOUT: &'static str = "Add a pool of addresses for translated sources, or take it away";
    const USAGE: &'static str = "[add|del] <pool-id> [<address>]...";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let is_del = args.keyword("del");
        if !is_del {
            args.keyword("add");
        }
        let pool = args.value("pool-id")?;
        let mut addresses = Vec::new();
        while !args.is_empty() {
            addresses.push(args.value("address")?);
        }
        Ok(Self { pool, addresses: (!is_del).then_some(addresses) })
    }
}

impl Print for SetPool {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "sfdp nat alloc-pool del {add}";
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.addresses.is_some() { "add" } else { "del" }).value(&self.pool);
        self.addresses.iter().flatten().for_each(|address| {
            line.value(address);
        });
    }
}

/// Say what becomes of a connection whose first packet is not a SYN
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sfdp tcp-check fsol-non-syn")]
#[undo("=set sfdp tcp-check fsol-non-syn security")]
pub(super) struct SetNonSyn {
    /// it is blocked for a timeout, or ends at once
    #[positional]
    #[words]
    pub what: NonSyn,
}

/// Set the number of sessions for which there is to be room
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sfdp eviction sessions-margin")]
#[undo("=set sfdp eviction sessions-margin 65536")]
pub(super) struct SetMargin {
    /// sessions
    #[positional]
    pub sessions: usize,
}

/// `kill sfdp session`.
enum Kill {
    All,
    Number(u32),
}

impl Command for Kill {
    const PATHS: &'static [&'static str] = &["kill sfdp session"];
    const ABOUT: &'static str = "End a session by its number, or all";
    const USAGE: &'static str = "index <index>|all";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        args.keyword("index");
        if args.keyword("all") {
            return Ok(Self::All);
        }
        Ok(Self::Number(args.value("index")?))
    }
}

fn set_margin(router: &mut Router, c: &SetMargin) -> Result<(), CliError> {
    let limits = &mut router.own_mut::<Sfdp>().limits;
    if c.sessions > limits.sessions / 2 {
        let most = limits.sessions / 2;
        return Err(CliError::new(format!("the margin is at most {most}, not {}", c.sessions)));
    }
    limits.margin = c.sessions;
    Ok(())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTenant| {
        Ok(match c {
            SetTenant::Add { tenant, context } => tenant::add(router, tenant, context),
            SetTenant::Delete(tenant) => tenant::delete(router, tenant),
        }?)
    });
    cli.command(|router: &mut Router, c: SetServices| {
        let direction = usize::from(c.is_reverse);
        Ok(tenant::set_services(router, c.tenant, direction, &c.services)?)
    });
    cli.command(|router: &mut Router, c: SetTimeout| set_timeout(router, &c));
    cli.command(|router: &mut Router, c: SetDetour| set_detour(router, &c));
    cli.command(|router: &mut Router, c: SetIcmpErrors| {
        let at = ICMP_ERRORS + usize::from(c.is_6);
        Ok(tenant::set_detour(router, c.tenant, at, &c.node)?)
    });
    cli.command(|router: &mut Router, c: SetInput| {
        let version = usize::from(c.is_6);
        Ok(input::set_tenant(router, c.interface, version, (c.tenant, !c.disable))?)
    });
    cli.command(|router: &mut Router, c: SetExternal| {
        Ok(nat::set_external(router, c.interface, (c.tenant, !c.disable))?)
    });
    cli.command(|router: &mut Router, c: SetSnat| {
        Ok(match c.wanted {
            Some((outside, table, pool)) => {
                nat::set_snat(router, c.tenant, Wanted { outside, table, pool })
            }
            None => nat::unset_snat(router, c.tenant),
        }?)
    });
    cli.command(|router: &mut Router, c: SetPool| {
        Ok(match c.addresses {
            Some(addresses) => nat::add_pool(router, c.pool, addresses),
            None => nat::remove_pool(router, c.pool),
        }?)
    });
    cli.command(|router: &mut Router, c: SetNonSyn| {
        router.own_mut::<Sfdp>().non_syn.publish(c.what);
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetMargin| set_margin(router, &c));
    cli.command(|router: &mut Router, c: Kill| {
        Ok(match c {
            Kill::All => show::kill(router, 0, true),
            Kill::Number(number) => show::kill(router, number, false),
        }?)
    });
}
