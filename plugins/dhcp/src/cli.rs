//! Commands about DHCP clients over IPv4 and proxies.

use control::cli::{Error as CliError, Hex, is_word};
use net::prelude::*;

use super::client::{self, Client, Settings, State};
use super::lease::Lease;
use super::proxy::{self, Key, Proxies, Server, Vss};
use super::{Dhcp, Network, api, set_vss};

/// Enable or disable a DHCP client on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set dhcp client")]
#[stage(Attachments)]
struct SetClient {
    /// delete
    del: bool,
    /// interface
    intfc: InterfaceIndex,
    /// hostname
    hostname: Option<String>,
    /// answers need not be broadcast
    #[opposite("broadcast")]
    no_broadcast_flag: bool,
    /// client identifier
    client_id: Option<String>,
    /// client identifier, in hexadecimal
    client_id_hex: Option<Hex>,
    /// DSCP of messages
    dscp: Option<u8>,
}

/// Add or delete an IPv4 DHCP relay.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set dhcp proxy")]
struct SetProxy {
    /// delete
    #[alias("delete")]
    del: bool,
    /// server
    server: Ipv4Addr,
    /// local address
    src_address: Ipv4Addr,
    /// table to reach the server in
    server_fib_id: Option<u32>,
    /// table of the client interfaces
    rx_fib_id: Option<u32>,
}

/// Add or delete an IPv6 DHCP relay.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set dhcpv6 proxy")]
struct SetProxy6 {
    /// delete
    #[alias("delete")]
    del: bool,
    /// server
    server: Ipv6Addr,
    /// local address
    src_address: Ipv6Addr,
    /// table to reach the server in
    server_fib_id: Option<u32>,
    /// table of the client interfaces
    rx_fib_id: Option<u32>,
}

/// Set or delete the IPv4 VSS of the clients of a table.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set dhcp option-82 vss")]
struct SetVss {
    /// delete
    #[alias("delete")]
    del: bool,
    /// table
    table: u32,
    /// organizationally unique identifier
    oui: Option<u32>,
    /// VPN number
    vpn_id: Option<u32>,
    /// VPN name
    vpn_ascii_id: Option<String>,
}

/// Set or delete the IPv6 VSS of the clients of a table.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set dhcpv6 vss")]
struct SetVss6 {
    /// delete
    #[alias("delete")]
    del: bool,
    /// table
    table: u32,
    /// organizationally unique identifier
    oui: Option<u32>,
    /// VPN number
    vpn_id: Option<u32>,
    /// VPN name
    vpn_ascii_id: Option<String>,
}

/// Show DHCP clients.
#[derive(Command)]
#[command("show dhcp client")]
struct ShowClients {
    /// only this interface
    intfc: Option<InterfaceIndex>,
    /// include times
    verbose: bool,
}

/// Show IPv4 DHCP relays.
#[derive(Command)]
#[command("show dhcp proxy")]
struct ShowProxies;

/// Show IPv6 DHCP relays.
#[derive(Command)]
#[command("show dhcpv6 proxy")]
struct ShowProxies6;

/// Show the VSS of IPv4 relays.
#[derive(Command)]
#[command("show dhcp vss")]
struct ShowVss;

/// Show the VSS of IPv6 relays.
#[derive(Command)]
#[command("show dhcpv6 vss")]
struct ShowVss6;

/// Show the relay agent address of an interface.
#[derive(Command)]
#[command("show dhcp option-82-address interface")]
struct ShowAddress {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Show the IPv6 relay agent address of an interface.
#[derive(Command)]
#[command("show dhcpv6 link-address interface")]
struct ShowAddress6 {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

#[derive(Serialize)]
struct ClientRow {
    number: usize,
    interface: String,
    state: &'static str,
    address: Option<String>,
    router: Option<Ipv4Addr>,
    servers: Vec<Ipv4Addr>,
    /// The address that could not be used, and the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<(Ipv4Addr, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
}

/// Further state of a client.
#[derive(Serialize)]
struct Times {
    hostname: String,
    /// Server.
    server: Ipv4Addr,
    /// Seconds until the lease ends.
    ends: Option<f64>,
}

fn write_client_rows(rows: &[ClientRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let installed = u8::from(row.address.is_some());
        write!(f, "[{}] {} state DHCP_{}", row.number, row.interface, row.state)?;
        write!(f, " installed {installed}")?;
        match &row.address {
            Some(addr) => write!(f, " addr {addr}")?,
            None => write!(f, " no address")?,
        }
        row.router.iter().try_for_each(|router| write!(f, " gw {router}"))?;
        row.servers.iter().try_for_each(|server| write!(f, " dns {server}"))?;
        if let Some((addr, why)) = &row.refused {
            write!(f, " declined {addr}: {why}")?;
        }
        writeln!(f)?;
        let Some(Times { hostname, server, ends }) = &row.times else { return Ok(()) };
        write!(f, "    hostname {hostname} server {server}")?;
        match ends {
            Some(seconds) => writeln!(f, " lease ends in {seconds:.1} s"),
            None => writeln!(f),
        }
    })
}

#[derive(Serialize)]
struct ProxyRow {
    table: u32,
    src: IpAddr,
    servers: Vec<(u32, IpAddr)>,
}

fn write_proxy_rows(rows: &[ProxyRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut rows = rows.iter();
    writeln!(f, "    RX FIB       Src Address  Servers FIB,Address")?;
    rows.try_for_each(|row| {
        write!(f, "{}", in_columns([14, 16], [&row.table, &row.src]))?;
        row.servers.iter().try_for_each(|(table, addr)| write!(f, "{table},{addr}  "))?;
        writeln!(f)
    })
}

#[derive(Serialize)]
struct VssRow {
    table: u32,
    network: String,
}

fn write_vss_rows(rows: &[VssRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| writeln!(f, " fib_table: {}  {}", row.table, row.network))
}

fn clients(router: &Router, c: &ShowClients) -> Vec<ClientRow> {
    let now = router.now();
    let row = |(number, (on, client)): (usize, (&InterfaceIndex, &Client))| ClientRow {
        number,
        interface: router.interfaces.name(on.0).to_owned(),
        state: match client.state {
            State::Discover => "DISCOVER",
            State::Request => "REQUEST",
            State::Bound => "BOUND",
        },
        address: client.lease.as_ref().map(|lease| lease.addr.to_string()),
        router: client.lease.as_ref().and_then(Lease::router),
        servers: client.lease.iter().flat_map(|lease| lease.servers.clone()).collect(),
        refused: client.refused.clone(),
        times: c.verbose.then(|| Times {
            hostname: client.settings.hostname.clone(),
            server: client.server,
            ends: client.ends.is_finite().then_some(client.ends - now),
        }),
    };
    let all = router.own::<Dhcp>().clients.iter().enumerate();
    let wanted = all.filter(|(_, (on, _))| c.intfc.is_none_or(|only| only == **on));
    wanted.map(row).collect()
}

fn of_link<T>(link: Link) -> impl Fn(&(&Key, T)) -> bool {
    move |(key, _)| key.0 == link
}

fn id(router: &Router, key: Key) -> u32 {
    router.table_id_of(key.0, key.1).unwrap_or_default()
}

fn proxies(router: &Router, link: Link) -> Output {
    let row = |(key, of): (&Key, &Proxies)| ProxyRow {
        table: id(router, *key),
        src: of.src,
        servers: of.servers.iter().map(|s| (id(router, (link, s.table)), s.addr)).collect(),
    };
    let all = router.own::<Dhcp>().proxies.iter().filter(of_link(link));
    Output::rows(all.map(row), write_proxy_rows)
}

fn networks(router: &Router, link: Link) -> Output {
    let row = |((_, table), vss): (&Network, &Vss)| VssRow {
        table: *table,
        network: match vss {
            Vss::Name(name) => format!("VPN ASCII id: {name}"),
            Vss::Id { oui, index } => format!("oui: {oui} vpn_index: {index}"),
            Vss::Default => "default".to_owned(),
        },
    };
    let all = router.own::<Dhcp>().vss.iter().filter(|((of, _), _)| *of == link);
    Output::rows(all.map(row), write_vss_rows)
}

/// The address by which servers know clients.
#[derive(Serialize)]
struct LinkAddress {
    interface: String,
    address: Option<IpAddr>,
}

impl fmt::Display for LinkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = |width, name: &str, addr: &dyn fmt::Display| {
            let row = in_columns([20, width], [&self.interface, addr]);
            let head = in_columns([20, width], [&"interface", &name]);
            format!("{head}\n{row}\n")
        };
        match self.address {
            Some(addr) if addr.is_ipv4() => f.write_str(&address(20, "source IP address", &addr)),
            Some(addr) => f.write_str(&address(48, "link-address", &addr)),
            None => {
                let name = &self.interface;
                writeln!(f, "{name} has no address that clients have in common with it")
            }
        }
    }
}

fn address(router: &Router, on: InterfaceIndex, is_6: bool) -> Output {
    let interface = router.interfaces.name(on.0).to_owned();
    Output::of(LinkAddress { interface, address: proxy::own_address(router, on, is_6) })
}

fn set_client(router: &mut Router, c: SetClient) -> Result<(), CliError> {
    if c.del {
        return Ok(client::remove(router, c.intfc)?);
    }
    let given = c.client_id.map(String::into_bytes).or(c.client_id_hex.map(|id| id.0));
    let settings = Settings {
        hostname: c.hostname.unwrap_or_default(),
        id: given.unwrap_or_else(|| usual_id(router, c.intfc)),
        broadcast: !c.no_broadcast_flag,
        tos: c.dscp.unwrap_or_default(),
        listener: None,
    };
    Ok(client::add(router, c.intfc, settings)?)
}

/// The identifier of a client without one of the operator's: the interface's address as text, as
/// servers know it from the original.
fn usual_id(router: &Router, on: InterfaceIndex) -> Vec<u8> {
    let mac = router.interfaces.at(on).map(|interface| interface.mac.to_string());
    mac.unwrap_or_default().into_bytes()
}

fn set_proxy(
    router: &mut Router,
    is_del: bool,
    (addr, src): (IpAddr, IpAddr),
    (server, rx): (Option<u32>, Option<u32>),
) -> Result<(), CliError> {
    let link = Link::of(addr);
    let key = api::key(router, link, rx.unwrap_or_default())?;
    let server = Server { addr, table: api::key(router, link, server.unwrap_or_default())?.1 };
    match is_del {
        true => proxy::remove(router, key, server)?,
        false => proxy::add(router, key, server, src)?,
    }
    Ok(())
}

fn set_network(router: &mut Router, link: Link, c: SetVss) -> Result<(), CliError> {
    let vss = match (c.del, c.oui, c.vpn_id, c.vpn_ascii_id) {
        // As it was set, or only its table.
        (true, ..) => None,
        (false, Some(oui), Some(index), None) => Some(Vss::Id { oui, index }),
        (false, None, None, Some(name)) => Some(Vss::Name(name)),
        (false, None, None, None) => Some(Vss::Default),
        _ => return Err(CliError::new("expected `oui' and `vpn-id', or `vpn-ascii-id'")),
    };
    Ok(set_vss(router, (link, c.table), vss)?)
}

fn told(table: u32, vss: &Vss) -> SetVss {
    let (mut oui, mut vpn_id, mut vpn_ascii_id) = (None, None, None);
    match vss {
        Vss::Name(name) => vpn_ascii_id = Some(name.clone()),
        Vss::Id { oui: of, index } => (oui, vpn_id) = (Some(*of), Some(*index)),
        Vss::Default => (),
    }
    SetVss { del: false, table, oui, vpn_id, vpn_ascii_id }
}

impl From<SetVss6> for SetVss {
    fn from(c: SetVss6) -> Self {
        let SetVss6 { del, table, oui, vpn_id, vpn_ascii_id } = c;
        Self { del, table, oui, vpn_id, vpn_ascii_id }
    }
}

impl From<SetVss> for SetVss6 {
    fn from(c: SetVss) -> Self {
        let SetVss { del, table, oui, vpn_id, vpn_ascii_id } = c;
        Self { del, table, oui, vpn_id, vpn_ascii_id }
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Dhcp>();
    for (on, client) in &all.clients {
        let Settings { hostname, id, broadcast, tos, .. } = &client.settings;
        let id = Some(id).filter(|id| **id != usual_id(router, *on) && !id.is_empty());
        let word = id.and_then(|id| std::str::from_utf8(id).ok()).filter(|id| is_word(id));
        lines.push(&SetClient {
            del: false,
            intfc: *on,
            hostname: Some(hostname.clone()).filter(|name| !name.is_empty()),
            no_broadcast_flag: !broadcast,
            client_id: word.map(str::to_owned),
            client_id_hex: id.filter(|_| word.is_none()).map(|id| Hex(id.clone())),
            dscp: Some(*tos).filter(|tos| *tos != 0),
        });
    }
    for (key, of) in &all.proxies {
        let rx_fib_id = Some(id(router, *key)).filter(|id| *id != 0);
        for server in &of.servers {
            let table = id(router, (key.0, server.table));
            let server_fib_id = Some(table).filter(|id| *id != 0);
            match (server.addr, of.src) {
                (IpAddr::V4(server), IpAddr::V4(src_address)) => {
                    let del = false;
                    lines.push(&SetProxy { del, server, src_address, server_fib_id, rx_fib_id });
                }
                (IpAddr::V6(server), IpAddr::V6(src_address)) => {
                    let del = false;
                    lines.push(&SetProxy6 { del, server, src_address, server_fib_id, rx_fib_id });
                }
                _ => (),
            }
        }
    }
    // A router without the table would refuse it.
    let has_table = |(link, id): &Network| router.fib.table_for(*link, *id).is_some();
    for ((link, table), vss) in all.vss.iter().filter(|(of, _)| has_table(of)) {
        let told = told(*table, vss);
        match link {
            Link::Ip6 => lines.push(&SetVss6::from(told)),
            _ => lines.push(&told),
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetClient| set_client(router, c));
    cli.command(|router: &mut Router, c: SetProxy| {
        let ends = (c.server.into(), c.src_address.into());
        set_proxy(router, c.del, ends, (c.server_fib_id, c.rx_fib_id))
    });
    cli.command(|router: &mut Router, c: SetProxy6| {
        let ends = (c.server.into(), c.src_address.into());
        set_proxy(router, c.del, ends, (c.server_fib_id, c.rx_fib_id))
    });
    cli.command(|router: &mut Router, c: SetVss| set_network(router, Link::Ip4, c));
    cli.command(|router: &mut Router, c: SetVss6| set_network(router, Link::Ip6, c.into()));
    cli.command(|router: &mut Router, c: ShowClients| {
        Ok(Output::rows(clients(router, &c), write_client_rows))
    });
    cli.command(|router: &mut Router, _: ShowProxies| Ok(proxies(router, Link::Ip4)));
    cli.command(|router: &mut Router, _: ShowProxies6| Ok(proxies(router, Link::Ip6)));
    cli.command(|router: &mut Router, _: ShowVss| Ok(networks(router, Link::Ip4)));
    cli.command(|router: &mut Router, _: ShowVss6| Ok(networks(router, Link::Ip6)));
    cli.command(|router: &mut Router, c: ShowAddress| Ok(address(router, c.interface, false)));
    cli.command(|router: &mut Router, c: ShowAddress6| Ok(address(router, c.interface, true)));
}
