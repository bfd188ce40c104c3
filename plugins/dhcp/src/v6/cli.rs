//! Commands about clients over IPv6.

use control::cli::{Error as CliError, hex};
use net::prelude::*;

use super::client::{self, Client};
use super::prefixes::{self, Consumer};
use super::{DUID_LL, Dhcp6, Ia, set_duid, set_port};
use crate::Error;

/// Enable or disable a DHCPv6 address client on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("dhcp6 client")]
#[stage(Attachments)]
#[undo("dhcp6 client {1} disable")]
struct SetClient {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// disable
    disable: bool,
}

/// Enable or disable DHCPv6 prefix delegation on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("dhcp6 pd client")]
#[stage(Attachments)]
#[undo("dhcp6 pd client {1} disable")]
struct SetPdClient {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// prefix group for delegated prefixes
    #[keyword("prefix group")]
    group: Option<String>,
    /// disable
    disable: bool,
}

/// Enable or disable reception of DHCPv6 client port packets for API clients.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set dhcp6 clients")]
#[undo("set dhcp6 clients disable")]
struct SetClients {
    /// disable
    disable: bool,
}

/// Set the router's DUID, as 20 hexadecimal digits.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set dhcp6 duid")]
#[undo("set dhcp6 duid del")]
struct SetDuid {
    /// a DUID of type 3, in hexadecimal
    #[positional]
    duid: Option<String>,
    /// derive the DUID from a link address
    del: bool,
}

/// `set ip6 address INTERFACE [prefix group GROUP] ADDRESS [del]`.
#[derive(Debug, PartialEq)]
struct SetAddress {
    interface: InterfaceIndex,
    group: Option<String>,
    addr: Ip6Prefix,
    del: bool,
}

impl Command for SetAddress {
    const PATHS: &'static [&'static str] = &["set ip6 address"];
    const ABOUT: &'static str =
        "Add or delete an interface address, optionally derived from a prefix group";
    const USAGE: &'static str = "<interface> [prefix group <group>] <address>/<length> [del]";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let interface = args.value("interface")?;
        let group = match args.keyword("prefix group") {
            true => Some(args.value("group")?),
            false => None,
        };
        let (addr, del) = (args.value("address")?, args.keyword("del"));
        Ok(Self { interface, group, addr, del })
    }
}

impl Print for SetAddress {
    const STAGE: Stage = Stage::Addresses;
    const UNDO: &'static str = "set ip6 address {} del";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface);
        if let Some(group) = &self.group {
            line.word("prefix").word("group").value(group);
        }
        line.value(&self.addr).flag("del", self.del);
    }
}

/// Show DHCPv6 address clients.
#[derive(Command)]
#[command("show dhcp6 clients")]
struct ShowClients;

/// Show addresses obtained by DHCPv6.
#[derive(Command)]
#[command("show dhcp6 addresses")]
struct ShowAddresses;

/// Show DHCPv6 prefix delegation clients.
#[derive(Command)]
#[command("show ip6 pd clients")]
struct ShowPdClients;

/// Show delegated prefixes.
#[derive(Command)]
#[command("show ip6 prefixes")]
struct ShowPrefixes;

/// Show addresses derived from delegated prefixes.
#[derive(Command)]
#[command("show ip6 addresses")]
struct ShowMade;

#[derive(Serialize)]
struct ClientRow {
    interface: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    state: &'static str,
    /// Server index.
    server: Option<u32>,
    /// Seconds until it is asked for more time, and until any is.
    t1: Option<f64>,
    t2: Option<f64>,
    leases: usize,
}

impl fmt::Display for ClientRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} state {}", self.interface, self.state)?;
        if !self.group.is_empty() {
            write!(f, " prefix group {}", self.group)?;
        }
        self.server.iter().try_for_each(|server| write!(f, " server {server}"))?;
        self.t1.iter().try_for_each(|seconds| write!(f, " T1 in {seconds:.1} s"))?;
        self.t2.iter().try_for_each(|seconds| write!(f, " T2 in {seconds:.1} s"))?;
        write!(f, " leases {}", self.leases)
    }
}

#[derive(Serialize)]
struct LeaseRow {
    interface: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    prefix: String,
    /// Seconds for which it is preferred and valid; none forever.
    preferred: Option<f64>,
    valid: Option<f64>,
}

impl fmt::Display for LeaseRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.interface, self.prefix)?;
        self.group.iter().try_for_each(|group| write!(f, " prefix group {group}"))?;
        for (name, seconds) in [("preferred", self.preferred), ("valid", self.valid)] {
            match seconds {
                Some(seconds) => write!(f, " {name} {seconds:.1} s")?,
                None => write!(f, " {name} forever")?,
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct MadeRow {
    interface: String,
    group: String,
    suffix: String,
    address: Option<String>,
}

impl fmt::Display for MadeRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} prefix group {}", self.interface, self.suffix, self.group)?;
        match &self.address {
            Some(addr) => write!(f, " address {addr}"),
            None => write!(f, " no prefix"),
        }
    }
}

fn clients(router: &Router, ia: Ia) -> impl Iterator<Item = (InterfaceIndex, &Client)> {
    let all = router.own::<Dhcp6>().clients.iter().filter(move |((kind, _), _)| *kind == ia);
    all.map(|((_, on), client)| (*on, client))
}

fn show_clients(router: &Router, ia: Ia) -> Output {
    let now = router.now();
    let left = |time: f64| time.is_finite().then_some((time - now).max(0.0));
    let row = |(on, client): (InterfaceIndex, &Client)| {
        let has_leases = !client.leases.is_empty();
        ClientRow {
            interface: router.interfaces.name(on.0).to_owned(),
            group: client.group.clone(),
            state: client.state.word(),
            server: client.server,
            t1: left(client.t1).filter(|_| has_leases),
            t2: left(client.t2).filter(|_| has_leases),
            leases: client.leases.len(),
        }
    };
    Output::list(clients(router, ia).map(row))
}

fn show_leases(router: &Router, ia: Ia) -> Output {
    let now = router.now();
    let left = |time: f64| time.is_finite().then_some((time - now).max(0.0));
    let rows = clients(router, ia).flat_map(|(on, client)| {
        client.leases.iter().map(move |held| LeaseRow {
            interface: router.interfaces.name(on.0).to_owned(),
            group: Some(client.group.clone()).filter(|group| !group.is_empty()),
            prefix: held.prefix.to_string(),
            preferred: left(held.preferred_until),
            valid: left(held.valid_until),
        })
    });
    Output::list(rows)
}

fn show_made(router: &Router) -> Output {
    let row = |consumer: &Consumer| MadeRow {
        interface: router.interfaces.name(consumer.on.0).to_owned(),
        group: consumer.group.clone(),
        suffix: consumer.suffix.to_string(),
        address: consumer.made.map(|made| made.to_string()),
    };
    Output::list(router.own::<Dhcp6>().pool.consumers.iter().map(row))
}

/// The bytes of 20 digits.
fn bytes_of(text: &str) -> Option<[u8; DUID_LL]> {
    let is_good = text.len() == 2 * DUID_LL && text.bytes().all(|c| c.is_ascii_hexdigit());
    let mut bytes = [0; DUID_LL];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    is_good.then_some(bytes)
}

fn duid(router: &mut Router, c: SetDuid) -> Result<(), CliError> {
    let duid = match (c.del, c.duid) {
        (true, None) => None,
        (false, Some(text)) => Some(bytes_of(&text).ok_or_else(|| {
            CliError::new(format!("expected 20 hexadecimal digits, not `{text}'"))
        })?),
        _ => return Err(CliError::new("expected either digits or `del'")),
    };
    Ok(set_duid(router, duid)?)
}

fn set_client(
    router: &mut Router,
    ia: Ia,
    on: InterfaceIndex,
    (group, disable): (Option<String>, bool),
) -> Result<(), CliError> {
    match (group, disable) {
        (None, true) => Ok(client::remove(router, ia, on)?),
        (Some(group), false) => Ok(client::add(router, ia, on, &group)?),
        _ => Err(CliError::new("expected either `prefix group' or `disable'")),
    }
}

fn address(router: &mut Router, c: SetAddress) -> Result<(), CliError> {
    let SetAddress { interface, group, addr, del } = c;
    match (group, del) {
        (None, false) => {
            router.add_address(interface, Prefix::Ip6(addr)).map_err(Error::Address)?
        }
        (None, true) => {
            router.remove_address(interface, Prefix::Ip6(addr)).map_err(Error::Address)?
        }
        (Some(group), false) => prefixes::add(router, interface, &group, addr)?,
        (Some(group), true) => prefixes::remove(router, interface, &group, addr)?,
    }
    Ok(())
}

/// Clients and addresses, not what they have got.
pub fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let dhcp = router.own::<Dhcp6>();
    if let Some(duid) = dhcp.duid {
        lines.push(&SetDuid { duid: Some(hex(&duid)), del: false });
    }
    if dhcp.port.program {
        lines.push(&SetClients { disable: false });
    }
    for (interface, _) in clients(router, Ia::Address) {
        lines.push(&SetClient { interface, disable: false });
    }
    for (interface, client) in clients(router, Ia::Prefix) {
        let group = Some(client.group.clone());
        lines.push(&SetPdClient { interface, group, disable: false });
    }
    for consumer in &dhcp.pool.consumers {
        let (interface, group) = (consumer.on, Some(consumer.group.clone()));
        lines.push(&SetAddress { interface, group, addr: consumer.suffix, del: false });
    }
}

/// Registers the commands.
pub fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetClient| {
        let group = (!c.disable).then(String::new);
        set_client(router, Ia::Address, c.interface, (group, c.disable))
    });
    cli.command(|router: &mut Router, c: SetPdClient| {
        set_client(router, Ia::Prefix, c.interface, (c.group, c.disable))
    });
    cli.command(|router: &mut Router, c: SetClients| {
        Ok(set_port(router, |port| port.program = !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetDuid| duid(router, c));
    cli.command(|router: &mut Router, c: SetAddress| address(router, c));
    cli.command(|router: &mut Router, _: ShowClients| Ok(show_clients(router, Ia::Address)));
    cli.command(|router: &mut Router, _: ShowPdClients| Ok(show_clients(router, Ia::Prefix)));
    cli.command(|router: &mut Router, _: ShowAddresses| Ok(show_leases(router, Ia::Address)));
    cli.command(|router: &mut Router, _: ShowPrefixes| Ok(show_leases(router, Ia::Prefix)));
    cli.command(|router: &mut Router, _: ShowMade| Ok(show_made(router)));
}
