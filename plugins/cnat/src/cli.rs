//! `cnat …`, `set cnat …`, `test cnat scanner`.

use net::fib::FlowHash;
use net::prelude::*;

use crate::config::{OnInterface, POD, Policy, TABLES};
use crate::sources::{self, AS_DEFAULT, NO_ROUTE, WantedSources};
use crate::state::{self, Cnat};
use crate::wanted::{ALLOCATES_PORT, Endpoint, LOCAL, ONE_WAY, Translation, Wanted};
use crate::{interfaces, log, walk};

/// The protocols of services.
pub const PROTOCOLS: [(&str, Protocol); 3] =
    [("tcp", Protocol::TCP), ("udp", Protocol::UDP), ("sctp", Protocol::SCTP)];

/// Words of flags of translations.
const FLAGS: [(&str, u8); 3] =
    [("alloc-port", ALLOCATES_PORT), ("one-way", ONE_WAY), ("no-client", LOCAL)];

/// `cnat translation`: adds a translation, or deletes one by number or service.
#[derive(Debug, PartialEq)]
enum SetTranslation {
    Add(Translation),
    Delete(u32),
    DeleteService(Endpoint, Protocol),
}

/// An address, or an interface with the version of the address it has, and a port or all of them.
fn endpoint(args: &mut Args<'_>) -> Result<Endpoint, Error> {
    let (addr, interface, version) = match args.optional::<IpAddr>() {
        Some(addr) => (addr, None, addr.into()),
        None => {
            let interface: InterfaceIndex = args.value("address or interface")?;
            let version = IpVersion::six(args.keyword("v6") || args.keyword("ip6"));
            (version.unspecified(), Some(interface), version)
        }
    };
    Ok(Endpoint { addr, interface, version, port: args.optional().unwrap_or_default() })
}

/// An end; `ip6` is the word for an interface's address of IPv6.
fn print_endpoint(line: &mut Line<'_>, end: &Endpoint, ip6: &str) {
    match &end.interface {
        Some(interface) => line.value(interface).flag(ip6, end.version == IpVersion::V6),
        None => line.value(&end.addr),
    };
    line.value(&end.port);
}

/// `[SOURCE | PORT] -> BACKEND [no-nat]`, behind `to`.
fn backend(args: &mut Args<'_>, version: IpVersion) -> Result<Wanted, Error> {
    let mut ahead = *args;
    let port = ahead.optional().unwrap_or_default();
    let src = if ahead.keyword("->") {
        *args = ahead;
        Endpoint { addr: version.unspecified(), interface: None, version, port }
    } else {
        let src = endpoint(args)?;
        if !args.keyword("->") {
            return Err(args.error("expected -> and a backend"));
        }
        src
    };
    Ok(Wanted { dst: endpoint(args)?, src, is_untranslated: args.keyword("no-nat") })
}

fn protocol_of_service(args: &mut Args<'_>) -> Result<Protocol, Error> {
    let word = args.peek().unwrap_or("").to_ascii_lowercase();
    let (_, protocol) = PROTOCOLS
        .into_iter()
        .find(|(known, _)| *known == word)
        .ok_or_else(|| args.error("expected proto tcp, udp or sctp"))?;
    args.word();
    Ok(protocol)
}

fn translation(args: &mut Args<'_>) -> Result<Translation, Error> {
    let (mut service, mut protocol) = (None, None);
    let (mut flags, mut is_maglev) = (0, false);
    let (mut hash, mut backends) = (FlowHash::DEFAULT, Vec::new());
    while !args.is_empty() {
        if args.keyword("proto") {
            protocol = Some(protocol_of_service(args)?);
        } else if args.keyword("vip") {
            service = Some((endpoint(args)?, false));
        } else if args.keyword("real") {
            service = Some((endpoint(args)?, true));
        } else if args.keyword("to") {
            let (vip, _) =
                service.as_ref().ok_or_else(|| args.error("expected vip or real before"))?;
            backends.push(backend(args, vip.version())?);
        } else if args.keyword("add") {
            // The default.
        } else if args.keyword("noclient") {
            flags |= LOCAL;
        } else if args.keyword("maglev") {
            is_maglev = true;
        } else if args.keyword("flow-hash") {
            hash = flow_hash(args)?;
        } else if let Some((_, flag)) = FLAGS.iter().find(|(word, _)| args.keyword(word)) {
            flags |= flag;
        } else {
            return Err(args.unknown());
        }
    }
    let protocol = protocol.ok_or_else(|| args.error("expected proto tcp, udp or sctp"))?;
    let (vip, is_real) =
        service.ok_or_else(|| args.error("expected vip or real, and the service"))?;
    Ok(Translation { vip, protocol, is_real, flags, is_maglev, hash, backends })
}

fn flow_hash(args: &mut Args<'_>) -> Result<FlowHash, Error> {
    let mut hash = FlowHash(0);
    while let Some((field, _)) = FlowHash::NAMES.iter().find(|(_, word)| args.keyword(word)) {
        hash.0 |= field.0;
    }
    let none = || args.error("expected fields of a flow hash: src dst sport dport …");
    if hash.0 == 0 { Err(none()) } else { Ok(hash) }
}

impl Command for SetTranslation {
    const PATHS: &'static [&'static str] = &["cnat translation"];
    const ABOUT: &'static str =
        "Add or delete a translation of a service to backends; deleting ends its sessions";
    const USAGE: &'static str = "[add|del] proto [tcp|udp|sctp] [vip|real] \
        <address|interface [v6|ip6]> <port> [maglev] [flow-hash <field> ...] [alloc-port] \
        [one-way] [no-client|noclient] \
        [to [<source> <port>] -> <backend> <port> [no-nat|:nonat]] ...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_del = args.keyword("del");
        if is_del && let Some(id) = args.optional() {
            return Ok(Self::Delete(id));
        }
        if !is_del {
            args.keyword("add");
        }
        // The arrow may stand without blanks around it.
        let text = args.rest().replace("->", " -> ").replace(":nonat", " no-nat");
        let mut words = Args::new(&text);
        if let Some(router) = args.context::<Router>() {
            words = words.in_context(router.as_any());
        }
        if is_del {
            let Translation { vip, protocol, .. } = translation(&mut words)?;
            return Ok(Self::DeleteService(vip, protocol));
        }
        translation(&mut words).map(Self::Add)
    }
}

impl Print for SetTranslation {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=cnat translation del proto {proto} vip {5} {?v6} v6 {7}|\
        cnat translation del proto {proto} vip {5} {6}";
    fn print(&self, line: &mut Line<'_>) {
        let (vip, protocol, t) = match self {
            Self::Add(t) => (&t.vip, t.protocol, Some(t)),
            Self::DeleteService(vip, protocol) => (vip, *protocol, None),
            Self::Delete(id) => {
                line.word("del").value(id);
                return;
            }
        };
        let word = PROTOCOLS.iter().find(|(_, p)| *p == protocol).map_or("tcp", |(word, _)| word);
        line.word(if t.is_some() { "add" } else { "del" }).word("proto").word(word);
        line.word(if t.is_some_and(|t| t.is_real) { "real" } else { "vip" });
        print_endpoint(line, vip, "v6");
        let Some(t) = t else { return };
        line.flag("maglev", t.is_maglev);
        if t.hash != FlowHash::DEFAULT {
            line.word("flow-hash");
            for (_, word) in FlowHash::NAMES.iter().filter(|(field, _)| t.hash.has(*field)) {
                line.word(word);
            }
        }
        for (word, flag) in FLAGS {
            line.flag(word, t.flags & flag != 0);
        }
        for b in &t.backends {
            line.word("to");
            if b.src.is_some() {
                print_endpoint(line, &b.src, "ip6");
            }
            line.word("->");
            print_endpoint(line, &b.dst, "ip6");
            line.flag("no-nat", b.is_untranslated);
        }
    }
}

/// `set cnat snat-policy addr`.
#[derive(Debug, PartialEq)]
struct SetSources(WantedSources);

impl Command for SetSources {
    const PATHS: &'static [&'static str] = &["set cnat snat-policy addr"];
    const ABOUT: &'static str =
        "Set the source NAT addresses of a table; without an address, disable source NAT";
    const USAGE: &'static str = "[<ip4-address>] [<ip6-address>] [<interface>] [table|fib <id>] \
        [answers|rfib <id>] [no-client] [default]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut new =
            WantedSources { table: 0, answers: 0, ip4: None, ip6: None, interface: None, flags: 0 };
        while !args.is_empty() {
            if args.keyword("table") || args.keyword("fib") {
                new.table = args.value("table")?;
            } else if args.keyword("answers") || args.keyword("rfib") {
                new.answers = args.value("table of answers")?;
            } else if args.keyword("no-client") || args.keyword("noclient") {
                new.flags |= NO_ROUTE;
            } else if args.keyword("default") {
                new.flags |= AS_DEFAULT;
            } else if let Some(addr) = args.optional::<Ipv4Addr>() {
                new.ip4 = Some(addr);
            } else if let Some(addr) = args.optional::<Ipv6Addr>() {
                new.ip6 = Some(addr);
            } else {
                new.interface = Some(args.value("address or interface")?);
            }
        }
        Ok(Self(new))
    }
}

impl Print for SetSources {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=set cnat snat-policy addr [table {table}]";
    fn print(&self, line: &mut Line<'_>) {
        let s = &self.0;
        match &s.interface {
            Some(interface) => line.value(interface),
            None => line.values(&s.ip4).values(&s.ip6),
        };
        line.option("table", Some(&s.table).filter(|id| **id != 0));
        line.option("answers", Some(&s.answers).filter(|id| **id != 0));
        line.flag("no-client", s.flags & NO_ROUTE != 0).flag("default", s.flags & AS_DEFAULT != 0);
    }
}

/// `set cnat snat-policy`.
#[derive(Debug, PartialEq)]
struct SetPolicy(Policy);

impl Command for SetPolicy {
    const PATHS: &'static [&'static str] = &["set cnat snat-policy"];
    const ABOUT: &'static str = "Set the source NAT policy";
    const USAGE: &'static str = "[none|if-pfx|k8s|dnat|dnat-only]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let words = Policy::WORDS.into_iter().chain([(Policy::Services, "dnat-only")]);
        let found = words.into_iter().find(|(_, word)| args.keyword(word));
        let (policy, _) = found.ok_or_else(|| args.error("expected none, if-pfx, k8s or dnat"))?;
        Ok(Self(policy))
    }
}

impl Print for SetPolicy {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=set cnat snat-policy none";
    fn print(&self, line: &mut Line<'_>) {
        line.word(self.0.word());
    }
}

/// `set cnat snat-policy if`.
#[derive(Debug, PartialEq)]
struct SetIncluded {
    interface: InterfaceIndex,
    table: usize,
    del: bool,
}

impl Command for SetIncluded {
    const PATHS: &'static [&'static str] = &["set cnat snat-policy if"];
    const ABOUT: &'static str = "Add or delete an interface of a source NAT policy table";
    const USAGE: &'static str = "[del] table [include-v4|include-v6|pod|host|k8s] <interface>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut table, mut interface, mut del) = (None, None, false);
        while !args.is_empty() {
            if args.keyword("del") {
                del = true;
            } else if args.keyword("table") {
                let found = TABLES.iter().position(|word| args.keyword(word));
                // Operators know the table of pods by this word too.
                table = found.or_else(|| args.keyword("k8s").then_some(POD));
                table.ok_or_else(|| args.error("expected include-v4, include-v6, pod or host"))?;
            } else {
                interface = Some(args.value("interface")?);
            }
        }
        let table = table.ok_or_else(|| args.error("expected table and its name"))?;
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        Ok(Self { interface, table, del })
    }
}

impl Print for SetIncluded {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "set cnat snat-policy if del {}";
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.del).word("table").word(TABLES[self.table]).value(&self.interface);
    }
}

/// `set cnat snat-policy prefix`.
#[derive(Debug, PartialEq)]
struct SetExcluded {
    prefix: Prefix,
    del: bool,
}

impl Command for SetExcluded {
    const PATHS: &'static [&'static str] = &["set cnat snat-policy prefix"];
    const ABOUT: &'static str = "Add or delete a prefix excluded from source NAT";
    const USAGE: &'static str = "[del] <prefix>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut prefix, mut del) = (None, false);
        while !args.is_empty() {
            match args.keyword("del") {
                true => del = true,
                false => prefix = Some(args.value("prefix")?),
            }
        }
        let prefix = prefix.ok_or_else(|| args.error("expected a prefix"))?;
        Ok(Self { prefix, del })
    }
}

impl Print for SetExcluded {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "set cnat snat-policy prefix del {}";
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.del).value(&self.prefix);
    }
}

/// `set cnat feature`.
#[derive(Debug, PartialEq)]
struct SetFeature {
    interface: InterfaceIndex,
    disable: bool,
}

impl Command for SetFeature {
    const PATHS: &'static [&'static str] = &["set cnat feature"];
    const ABOUT: &'static str = "Enable or disable translations that are limited to selected \
        interfaces";
    const USAGE: &'static str = "<interface> [enable|disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let disable = args.keyword("disable");
        if !disable {
            args.keyword("enable");
        }
        Ok(Self { interface, disable })
    }
}

impl Print for SetFeature {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "set cnat feature {1} disable";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface).flag("disable", self.disable);
    }
}

/// `cnat log`.
#[derive(Debug, PartialEq)]
struct SetLogging {
    ip: Option<IpAddr>,
    disable: bool,
}

impl Command for SetLogging {
    const PATHS: &'static [&'static str] = &["cnat log"];
    const ABOUT: &'static str = "Enable or disable logging of session events, for all or for one \
        address";
    const USAGE: &'static str = "[enable|disable] [ip <ip>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut set = Self { ip: None, disable: false };
        while !args.is_empty() {
            if args.keyword("disable") {
                set.disable = true;
            } else if args.keyword("ip") {
                set.ip = Some(args.value("address")?);
            } else if !args.keyword("enable") {
                return Err(args.unknown());
            }
        }
        Ok(set)
    }
}

impl Print for SetLogging {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "cnat log disable ip {ip}|cnat log disable";
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.disable { "disable" } else { "enable" }).option("ip", self.ip.as_ref());
    }
}

/// Delete all cnat sessions
#[derive(Command)]
#[command("cnat purge")]
struct Purge {}

/// Enable or disable the expiry of sessions
#[derive(Command)]
#[command("test cnat scanner")]
struct SetScanner {
    /// expire sessions
    on: bool,
    /// keep sessions
    off: bool,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let cnat = router.own::<Cnat>();
    if cnat.policy != Policy::default() {
        lines.push(&SetPolicy(cnat.policy));
    }
    for ip in log::logging(router).hosts() {
        lines.push(&SetLogging { ip, disable: false });
    }
    for prefix in cnat.excluded.iter() {
        lines.push(&SetExcluded { prefix: *prefix, del: false });
    }
    for sources in cnat.sources.values() {
        lines.push(&SetSources(*sources));
    }
    for (interface, on) in router.settings::<OnInterface>() {
        for table in (0..TABLES.len()).filter(|table| on.included[*table]) {
            lines.push(&SetIncluded { interface, table, del: false });
        }
        if on.feature {
            lines.push(&SetFeature { interface, disable: false });
        }
    }
    for t in cnat.translations.values() {
        lines.push(&SetTranslation::Add(t.clone()));
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTranslation| {
        match c {
            SetTranslation::Add(new) => drop(state::update(router, new)?),
            SetTranslation::Delete(id) => state::remove(router, id)?,
            SetTranslation::DeleteService(vip, protocol) => {
                let all = router.own::<Cnat>().translations.iter();
                let is_it = |t: &Translation| t.vip == vip && t.protocol == protocol;
                let id = all.into_iter().find(|(_, t)| is_it(t)).map(|(id, _)| *id);
                let id = id.ok_or_else(|| Error::bare("no translation of that service"))?;
                state::remove(router, id)?;
            }
        }
        Ok::<_, Error>(())
    });
    cli.command(|router: &mut Router, c: SetSources| Ok(sources::set_sources(router, c.0)?));
    cli.command(|router: &mut Router, c: SetPolicy| {
        sources::set_policy(router, c.0);
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetIncluded| {
        Ok(interfaces::set_included(router, c.interface, c.table, !c.del)?)
    });
    cli.command(|router: &mut Router, c: SetExcluded| {
        Ok(sources::set_excluded(router, c.prefix, !c.del)?)
    });
    cli.command(|router: &mut Router, c: SetFeature| {
        Ok(interfaces::set_feature(router, c.interface, !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetLogging| Ok(log::set(router, c.ip, !c.disable)?));
    cli.command(|router: &mut Router, Purge {}| Ok(walk::purge(router)?));
    cli.command(|router: &mut Router, c: SetScanner| {
        if c.on == c.off {
            return Err(Error::bare("expected on or off"));
        }
        router.own_mut::<Cnat>().scans = c.on;
        let (startup, all) = (router.own::<Cnat>().startup.clone(), walk::all(router));
        all.scan(router, &startup, c.on).map_err(|e| Error::new(e.to_string()))?;
        if c.on {
            while walk::expire(router) {}
        }
        Ok(())
    });
    crate::show::register(cli);
}
