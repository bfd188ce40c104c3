//! Commands about zones, objects, and what holds for all packets.

use net::prelude::*;

use super::object::{Addresses, Member, Name, Plain, Service};
use super::session::CLASSES;
use super::state;
use super::zone::Settings;

/// `firewall zone NAME [intra-zone permit|deny] [del]`.
#[derive(Debug, PartialEq)]
pub(super) struct SetZone {
    pub name: Name,
    pub permits_within: bool,
    pub del: bool,
}

impl Command for SetZone {
    const PATHS: &'static [&'static str] = &["firewall zone"];
    const ABOUT: &'static str = "Add or delete a firewall zone";
    const USAGE: &'static str = "<name> [intra-zone permit|deny] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let name = args.value("name of a zone")?;
        let (mut permits_within, mut del) = (true, false);
        while !args.is_empty() {
            if args.keyword("intra-zone") {
                permits_within = args.keyword("permit");
                if !permits_within && !args.keyword("deny") {
                    return Err(args.error("expected permit or deny"));
                }
            } else if args.keyword("del") {
                del = true;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self { name, permits_within, del })
    }
}

impl Print for SetZone {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=firewall zone {1} del";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.name);
        if !self.permits_within {
            line.word("intra-zone deny");
        }
        line.flag("del", self.del);
    }
}

/// `firewall interface INTERFACE zone NAME [del]`.
#[derive(Debug, PartialEq)]
pub(super) struct SetInterface {
    pub interface: InterfaceIndex,
    pub zone: Name,
    pub del: bool,
}

impl Command for SetInterface {
    const PATHS: &'static [&'static str] = &["firewall interface"];
    const ABOUT: &'static str = "Add or remove an interface of a firewall zone";
    const USAGE: &'static str = "<interface> zone <name> [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        if !args.keyword("zone") {
            return Err(args.error("expected zone"));
        }
        Ok(Self { interface, zone: args.value("name of a zone")?, del: args.keyword("del") })
    }
}

impl Print for SetInterface {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface).keyword("zone", &self.zone).flag("del", self.del);
    }
}

/// An object: its name and its members.
#[derive(Debug, PartialEq)]
pub(super) struct Object<T> {
    pub name: Name,
    pub members: Vec<Member<T>>,
    pub del: bool,
}

impl<T: Plain> Object<T> {
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let name = args.value("name of an object")?;
        let mut members = Vec::new();
        while !args.is_empty() {
            if args.keyword("del") {
                return Ok(Self { name, members, del: true });
            }
            members.push(args.value("member")?);
        }
        if members.is_empty() {
            return Err(args.error("expected members or del"));
        }
        Ok(Self { name, members, del: false })
    }
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.name).values(&self.members).flag("del", self.del);
    }
}

/// `firewall address NAME MEMBER … | del`.
#[derive(Debug, PartialEq)]
pub(super) struct SetAddress(pub Object<Addresses>);

impl Command for SetAddress {
    const PATHS: &'static [&'static str] = &["firewall address"];
    const ABOUT: &'static str = "Add or delete an address object or group";
    const USAGE: &'static str = "<name> {del | {<address>|<prefix>|<first-last>|<name>} ...}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Object::parse(args).map(Self)
    }
}

impl Print for SetAddress {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=firewall address {1} del";
    fn print(&self, line: &mut Line<'_>) {
        self.0.print(line);
    }
}

/// `firewall service NAME MEMBER … | del`.
#[derive(Debug, PartialEq)]
pub(super) struct SetService(pub Object<Service>);

impl Command for SetService {
    const PATHS: &'static [&'static str] = &["firewall service"];
    const ABOUT: &'static str = "Add or delete a service object or group";
    const USAGE: &'static str = "<name> {del | \
        {<tcp/port:source-port>|<udp/port>|<icmp/type:code>|<protocol/number>|<name>} ...}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Object::parse(args).map(Self)
    }
}

impl Print for SetService {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=firewall service {1} del";
    fn print(&self, line: &mut Line<'_>) {
        self.0.print(line);
    }
}

/// `set firewall …`.
#[derive(Debug, PartialEq)]
pub(super) enum SetOption {
    Timeout(usize, u32),
    SessionLimit(u32),
    TakesUp(bool),
}

impl Command for SetOption {
    const PATHS: &'static [&'static str] = &["set firewall"];
    const ABOUT: &'static str = "Set global firewall parameters";
    const USAGE: &'static str = "{timeout {tcp-established|tcp-transitory|udp|icmp|other} \
        <seconds> | session-limit <count> | tcp-pickup {enable|disable}}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("timeout") {
            let class = CLASSES.iter().position(|name| args.keyword(name));
            let class = class.ok_or_else(|| args.error("expected a type of session"))?;
            return Ok(Self::Timeout(class, args.value("seconds")?));
        }
        if args.keyword("session-limit") {
            return Ok(Self::SessionLimit(args.value("number of sessions")?));
        }
        if args.keyword("tcp-pickup") {
            let on = args.keyword("enable");
            if !on && !args.keyword("disable") {
                return Err(args.error("expected enable or disable"));
            }
            return Ok(Self::TakesUp(on));
        }
        Err(args.unknown())
    }
}

impl Print for SetOption {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=set firewall {?tcp-established} timeout tcp-established 7440|\
        set firewall {?tcp-transitory} timeout tcp-transitory 240|\
        set firewall {?udp} timeout udp 300|set firewall {?icmp} timeout icmp 60|\
        set firewall {?other} timeout other 600|\
        set firewall {?session-limit} session-limit 1048576|set firewall tcp-pickup disable";
    fn print(&self, line: &mut Line<'_>) {
        match self {
            Self::Timeout(class, seconds) => line.word("timeout").keyword(CLASSES[*class], seconds),
            Self::SessionLimit(count) => line.keyword("session-limit", count),
            Self::TakesUp(on) => {
                line.keyword("tcp-pickup", &if *on { "enable" } else { "disable" })
            }
        };
    }
}

/// `firewall ipfix logging enable [domain N] [src-port N] | disable`.
#[derive(Debug, PartialEq)]
pub(super) struct SetExport(pub Option<(u32, u16)>);

impl Command for SetExport {
    const PATHS: &'static [&'static str] = &["firewall ipfix logging"];
    const ABOUT: &'static str = "Enable or disable IPFIX logging of rules with `log'";
    const USAGE: &'static str = "enable [domain <n>] [src-port <port>] | disable";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        if !args.keyword("enable") {
            return Err(args.error("expected enable or disable"));
        }
        let (mut domain, mut port) = (1, ipfix::PORT);
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

impl Print for SetExport {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=firewall ipfix logging disable";
    fn print(&self, line: &mut Line<'_>) {
        match self.0 {
            Some((domain, port)) => {
                line.word("enable").keyword("domain", &domain).keyword("src-port", &port)
            }
            None => line.word("disable"),
        };
    }
}

impl SetOption {
    fn carry_out(self, router: &mut Router) -> Result<(), Error> {
        let mut options = state(router).options;
        match self {
            Self::Timeout(class, seconds) => options.timeouts.seconds[class] = seconds,
            Self::SessionLimit(count) => options.session_limit = count,
            Self::TakesUp(on) => options.takes_up = on,
        }
        Ok(super::set_options(router, options)?)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetZone| {
        if c.del {
            return Ok(super::remove_zone(router, &c.name)?);
        }
        let settings = Settings { permits_within: c.permits_within };
        Ok(super::put_zone(router, &c.name, settings)?)
    });
    cli.command(|router: &mut Router, c: SetInterface| {
        Ok(super::set_interface(router, c.interface, &c.zone, !c.del)?)
    });
    cli.command(|router: &mut Router, SetAddress(c): SetAddress| {
        if c.del {
            return Ok(super::remove_addresses(router, &c.name)?);
        }
        Ok(super::put_addresses(router, &c.name, c.members)?)
    });
    cli.command(|router: &mut Router, SetService(c): SetService| {
        if c.del {
            return Ok(super::remove_services(router, &c.name)?);
        }
        Ok(super::put_services(router, &c.name, c.members)?)
    });
    cli.command(|router: &mut Router, c: SetOption| c.carry_out(router));
    cli.command(|router: &mut Router, SetExport(to): SetExport| Ok(super::export(router, to)?));
}
