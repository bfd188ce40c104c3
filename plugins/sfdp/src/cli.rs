//! Commands that change something.

use control::cli::Error as CliError;
use net::prelude::*;

use super::nat::{self, Wanted};
use super::tcp::NonSyn;
use super::tenant::{self, DETOURS, ICMP_ERRORS};
use super::{Sfdp, input, rows};

/// `sfdp tenant`.
#[derive(Debug, PartialEq)]
pub(super) enum SetTenant {
    Add { tenant: u32, context: Option<u32> },
    Delete(u32),
}

impl Command for SetTenant {
    const PATHS: &'static [&'static str] = &["sfdp tenant"];
    const ABOUT: &'static str = "Add or delete a tenant; deleting ends its sessions";
    const USAGE: &'static str = "add|del <tenant-id> [context <context-id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut is_del, mut tenant, mut context) = (None, None, None);
        while !args.is_empty() {
            if args.keyword("add") {
                is_del = Some(false);
            } else if args.keyword("del") {
                is_del = Some(true);
            } else if args.keyword("context") {
                context = Some(args.value("context-id")?);
            } else if tenant.is_none() {
                tenant = Some(args.value("tenant-id")?);
            } else {
                return Err(args.unknown());
            }
        }
        let is_del = is_del.ok_or_else(|| args.error("expected add or del"))?;
        let tenant = tenant.ok_or_else(|| args.error("expected tenant-id"))?;
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
    const ABOUT: &'static str = "Set the services of a tenant's new sessions in one direction";
    const USAGE: &'static str = "tenant <tenant-id> [<service>]... forward|reverse";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut tenant, mut is_reverse, mut services) = (None, None, Vec::new());
        while !args.is_empty() {
            if args.keyword("tenant") {
                tenant = Some(args.value("tenant-id")?);
            } else if args.keyword("forward") {
                is_reverse = Some(false);
            } else if args.keyword("reverse") {
                is_reverse = Some(true);
            } else {
                services.push(args.value("service")?);
            }
        }
        let tenant = tenant.ok_or_else(|| args.error("expected tenant"))?;
        let is_reverse = is_reverse.ok_or_else(|| args.error("expected forward or reverse"))?;
        Ok(Self { tenant, services, is_reverse })
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

/// Set a timeout of a tenant.
#[derive(Command, Debug, PartialEq)]
#[command("set sfdp timeout")]
pub(super) struct SetTimeout {
    /// tenant
    pub tenant: u32,
    /// the timeout
    #[positional]
    pub name: String,
    /// its length in seconds
    #[positional]
    pub seconds: u32,
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

/// Set the slow-path node of a tenant.
#[derive(Command, Debug, PartialEq)]
#[command("set sfdp sp-node")]
pub(super) struct SetDetour {
    /// tenant
    pub tenant: u32,
    /// the packets
    #[positional]
    pub packets: String,
    /// the node
    pub node: String,
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

/// Set the ICMP error node of a tenant.
#[derive(Command)]
#[command("set sfdp icmp-error-node")]
struct SetIcmpErrors {
    /// tenant
    tenant: u32,
    /// version of the errors
    #[positional]
    #[words]
    version: IpVersion,
    /// the node
    node: String,
}

/// Assign an interface's received packets to a tenant, or stop.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sfdp interface-input")]
#[stage(Attachments)]
pub(super) struct SetInput {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// tenant
    pub tenant: u32,
    /// packets of IPv6, not of IPv4
    #[keyword("ip6")]
    #[opposite("ip4")]
    pub is_6: bool,
    /// disable
    pub disable: bool,
}

/// Enable or disable reception of replies to translated sessions on an interface.
#[derive(Command)]
#[command("set sfdp nat external-interface")]
struct SetExternal {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// tenant
    tenant: u32,
    /// disable
    disable: bool,
}

/// `set sfdp nat snat`.
#[derive(Debug, PartialEq)]
pub(super) struct SetSnat {
    pub tenant: u32,
    pub wanted: Option<(u32, u32, u32)>,
}

impl Command for SetSnat {
    const PATHS: &'static [&'static str] = &["set sfdp nat snat"];
    const ABOUT: &'static str = "Enable or disable source NAT of a tenant";
    const USAGE: &'static str = "tenant <tenant-id> [outside-tenant <tenant-id>] \
        [table <table-id>] [alloc-pool <pool-id>] [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut outside, mut table, mut pool, mut disable) = (None, 0, None, false);
        let mut tenant = None;
        while !args.is_empty() {
            if args.keyword("tenant") {
                tenant = Some(args.value("tenant-id")?);
            } else if args.keyword("outside-tenant") {
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
        let missing = |word: &str| args.error(format_args!("expected {word}"));
        let tenant = tenant.ok_or_else(|| missing("tenant"))?;
        if disable {
            return Ok(Self { tenant, wanted: None });
        }
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
    /// `None` to delete it.
    pub addresses: Option<Vec<Ipv4Addr>>,
}

impl Command for SetPool {
    const PATHS: &'static [&'static str] = &["sfdp nat alloc-pool"];
    const ABOUT: &'static str = "Add or delete a source NAT pool";
    const USAGE: &'static str = "[add|del] <pool-id> [<address>]...";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut is_del, mut pool, mut addresses) = (false, None, Vec::new());
        while !args.is_empty() {
            if args.keyword("del") {
                is_del = true;
            } else if args.keyword("add") {
                is_del = false;
            } else if let Some(address) = args.optional() {
                addresses.push(address);
            } else if pool.is_none() {
                pool = Some(args.value("pool-id")?);
            } else {
                return Err(args.error("invalid address"));
            }
        }
        let pool = pool.ok_or_else(|| args.error("expected pool-id"))?;
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

/// Set how connections whose first packet is not a SYN are handled
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sfdp tcp-check fsol-non-syn")]
#[undo("=set sfdp tcp-check fsol-non-syn remove")]
pub(super) struct SetNonSyn {
    /// block them for a timeout, or end them at once
    #[positional]
    #[words]
    pub what: NonSyn,
}

/// Set the margin of free sessions
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sfdp eviction sessions-margin")]
#[undo("=set sfdp eviction sessions-margin 65536")]
pub(super) struct SetMargin {
    /// sessions
    #[positional]
    pub sessions: usize,
}

/// Delete a session by its ID, or all sessions.
#[derive(Command)]
#[command("kill sfdp session")]
struct Kill {
    /// session ID
    index: Option<u32>,
    /// session ID
    #[positional]
    number: Option<u32>,
    /// all sessions
    all: bool,
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
        let at = ICMP_ERRORS + c.version as usize;
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
    cli.task(|router: &mut Router, c: Kill| {
        let number = c.index.or(c.number);
        if !c.all && number.is_none() {
            return Err(CliError::new("expected an index or all"));
        }
        let answer = |done: Result<(), super::error::Error>| Ok(done.map(|()| Output::none())?);
        Ok(Box::new(rows::kill(router, number.unwrap_or_default(), c.all, answer)) as _)
    });
}
