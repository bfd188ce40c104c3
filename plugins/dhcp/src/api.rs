//! Messages of the module `dhcp` about clients over IPv4 and proxies.

use control::api::Record;
use control::api::types::{Address, IpDscp};
use net::prelude::*;

use super::client::{self, Client, Settings, State};
use super::lease::Lease;
use super::proxy::{self, Key, Proxies, Server, Vss};
use super::{Dhcp, Error, set_detecting, set_vss};

control::numbers! {
    /// Format of a VSS.
    pub enum VssType: u32 = "vss_type" in "" {
        ASCII = 0 => "VSS_TYPE_API_ASCII",
        VPN_ID = 1 => "VSS_TYPE_API_VPN_ID",
        INVALID = 123 => "VSS_TYPE_API_INVALID",
        DEFAULT = 255 => "VSS_TYPE_API_DEFAULT",
    }
    /// State of a client.
    pub enum DhcpClientState: u32 = "dhcp_client_state" in "" {
        DISCOVER = 0 => "DHCP_CLIENT_STATE_API_DISCOVER",
        REQUEST = 1 => "DHCP_CLIENT_STATE_API_REQUEST",
        BOUND = 2 => "DHCP_CLIENT_STATE_API_BOUND",
    }
}

/// A client.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct DhcpClient {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// hostname
    pub hostname: Text<64>,
    /// client identifier; zeros for none
    pub id: [u8; 64],
    /// send lease events to the caller
    pub want_dhcp_event: bool,
    /// request broadcast replies
    pub set_broadcast_flag: bool,
    /// DSCP of messages
    pub dscp: IpDscp,
    /// client process ID
    pub pid: u32,
}

/// A name server.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct DomainServer {
    /// MAC address
    pub address: Address,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct DhcpLease {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// state of the client
    pub state: DhcpClientState,
    /// true for IPv6
    pub is_ipv6: bool,
    /// hostname
    pub hostname: Text<64>,
    /// prefix length of the network
    pub mask_width: u8,
    /// address
    pub host_address: Address,
    /// gateway
    pub router_address: Address,
    /// MAC address
    pub host_mac: MacAddr,
    /// name servers
    #[counted(count: u8)]
    pub domain_server: Vec<DomainServer>,
}

/// A server of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct DhcpServer {
    /// table to reach it in
    pub server_vrf_id: u32,
    /// MAC address
    pub dhcp_server: Address,
}

/// Get the version of the module.
#[derive(Message)]
#[reply(DhcpPluginGetVersionReply)]
pub struct DhcpPluginGetVersion {}

/// Version.
#[derive(Debug, Message)]
#[head(details)]
pub struct DhcpPluginGetVersionReply {
    /// major version
    pub major: u32,
    /// minor version
    pub minor: u32,
}

/// Ping the plugin.
#[derive(Message)]
#[reply(DhcpPluginControlPingReply)]
pub struct DhcpPluginControlPing {}

/// It does.
#[derive(Debug, Message)]
pub struct DhcpPluginControlPingReply {
    /// client index
    pub client_index: u32,
    /// process ID of the router
    pub vpe_pid: u32,
}

/// Add or delete a server of a DHCP relay.
#[derive(Message)]
pub struct DhcpProxyConfig {
    /// table of the client interfaces
    pub rx_vrf_id: u32,
    /// table to reach the server in
    pub server_vrf_id: u32,
    /// true to add, false to delete
    pub is_add: bool,
    /// server
    pub dhcp_server: Address,
    /// local address
    pub dhcp_src_address: Address,
}

/// Set or delete the VSS of the clients of a table.
#[derive(Message)]
pub struct DhcpProxySetVss {
    /// table ID
    pub tbl_id: u32,
    /// VSS format
    pub vss_type: VssType,
    /// name
    pub vpn_ascii_id: Text<129>,
    /// organizationally unique identifier
    pub oui: u32,
    /// index
    pub vpn_index: u32,
    /// true for IPv6
    pub is_ipv6: bool,
    /// true to set, false to delete
    pub is_add: bool,
}

/// Enable or disable a DHCP client on an interface.
#[derive(Message)]
#[events(DhcpComplEvent)]
pub struct DhcpClientConfig {
    /// true to enable, false to disable
    pub is_add: bool,
    /// client
    pub client: DhcpClient,
}

/// An interface obtained a lease.
#[derive(Debug, Message)]
pub struct DhcpComplEvent {
    /// lease
    pub lease: DhcpLease,
}

/// List DHCP clients.
#[derive(Message)]
#[details(DhcpClientDetails)]
pub struct DhcpClientDump {}

/// A client.
#[derive(Debug, Message)]
pub struct DhcpClientDetails {
    /// client
    pub client: DhcpClient,
    /// current lease
    pub lease: DhcpLease,
}

/// List DHCP relays.
#[derive(Message)]
#[details(DhcpProxyDetails)]
pub struct DhcpProxyDump {
    /// true for IPv6
    pub is_ip6: bool,
}

/// The relay of a table.
#[derive(Debug, Message)]
pub struct DhcpProxyDetails {
    /// table of the client interfaces
    pub rx_vrf_id: u32,
    /// organizationally unique identifier of the VSS
    pub vss_oui: u32,
    /// index
    pub vss_fib_id: u32,
    /// VSS format
    pub vss_type: VssType,
    /// true for IPv6
    pub is_ipv6: bool,
    /// VPN name
    pub vss_vpn_ascii_id: Text<129>,
    /// local address
    pub dhcp_src_address: Address,
    /// servers
    #[counted(count: u8)]
    pub servers: Vec<DhcpServer>,
}

/// Enable or disable detection of DHCP client messages to any address on an interface.
#[derive(Message)]
pub struct DhcpClientDetectEnableDisable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub enable: bool,
}

/// The lease of a client, as messages have it.
pub(super) fn lease_of(on: InterfaceIndex, client: &Client, host_mac: MacAddr) -> DhcpLease {
    let lease = client.lease.as_ref();
    let addr = |addr: Option<Ipv4Addr>| addr.unwrap_or(Ipv4Addr::UNSPECIFIED);
    DhcpLease {
        sw_if_index: on,
        state: match client.state {
            State::Discover => DhcpClientState::DISCOVER,
            State::Request => DhcpClientState::REQUEST,
            State::Bound => DhcpClientState::BOUND,
        },
        is_ipv6: false,
        hostname: client.settings.hostname.as_str().into(),
        mask_width: lease.map_or(0, |lease| lease.addr.prefix_len()),
        host_address: IpAddr::V4(addr(lease.map(|lease| lease.addr.addr()))).into(),
        router_address: IpAddr::V4(addr(lease.and_then(Lease::router))).into(),
        host_mac,
        domain_server: lease
            .iter()
            .flat_map(|lease| &lease.servers)
            .map(|server| DomainServer { address: IpAddr::V4(*server).into() })
            .collect(),
    }
}

fn details(router: &Router, on: InterfaceIndex, of: &Client) -> DhcpClientDetails {
    let mac = router.interfaces.at(on).map_or(MacAddr::ZERO, |i| i.mac);
    let Settings { hostname, id, broadcast, tos, listener } = &of.settings;
    let mut bytes = [0; 64];
    bytes.iter_mut().zip(id).for_each(|(to, from)| *to = *from);
    let client = DhcpClient {
        sw_if_index: on,
        hostname: hostname.as_str().into(),
        id: bytes,
        want_dhcp_event: listener.is_some(),
        set_broadcast_flag: *broadcast,
        dscp: IpDscp(*tos),
        pid: listener.map_or(0, |(_, pid)| pid),
    };
    DhcpClientDetails { client, lease: lease_of(on, of, mac) }
}

fn configure(router: &mut Router, caller: u32, m: DhcpClientConfig) -> Result<(), Retval> {
    let on = m.client.sw_if_index;
    if !m.is_add {
        return Ok(client::remove(router, on)?);
    }
    let len = m.client.id.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let settings = Settings {
        hostname: m.client.hostname.to_string(),
        id: m.client.id[..len].to_vec(),
        broadcast: m.client.set_broadcast_flag,
        tos: m.client.dscp.0,
        listener: m.client.want_dhcp_event.then_some((caller, m.client.pid)),
    };
    Ok(client::add(router, on, settings)?)
}

/// The table of this identifier.
///
/// # Errors
/// [`Error::NoTable`].
pub(super) fn key(router: &Router, link: Link, id: u32) -> Result<Key, Error> {
    Ok((link, router.table_of(link, id).ok_or(Error::NoTable(id))?))
}

fn proxy(router: &mut Router, m: &DhcpProxyConfig) -> Result<(), Retval> {
    let (addr, src) = (m.dhcp_server.native()?, m.dhcp_src_address.native()?);
    let link = Link::of(addr);
    let key_of = key(router, link, m.rx_vrf_id)?;
    let server = Server { addr, table: key(router, link, m.server_vrf_id)?.1 };
    match m.is_add {
        true => proxy::add(router, key_of, server, src)?,
        false => proxy::remove(router, key_of, server)?,
    }
    Ok(())
}

fn vss(router: &mut Router, m: &DhcpProxySetVss) -> Result<(), Retval> {
    let link = if m.is_ipv6 { Link::Ip6 } else { Link::Ip4 };
    let vss = match m.vss_type {
        _ if !m.is_add => None,
        VssType::ASCII => Some(Vss::Name(m.vpn_ascii_id.to_string())),
        VssType::VPN_ID => Some(Vss::Id { oui: m.oui, index: m.vpn_index }),
        VssType::DEFAULT => Some(Vss::Default),
        _ => return Err(Error::BadVss.into()),
    };
    Ok(set_vss(router, (link, m.tbl_id), vss)?)
}

fn proxy_details(router: &Router, key: &Key, of: &Proxies) -> DhcpProxyDetails {
    let id = |table| router.table_id_of(key.0, table).unwrap_or_default();
    let (mut oui, mut index, mut name) = (0, 0, String::new());
    let vss_type = match proxy::vss_of(router, *key) {
        Some(Vss::Name(of)) => {
            name.clone_from(of);
            VssType::ASCII
        }
        Some(Vss::Id { oui: of, index: number }) => {
            (oui, index) = (*of, *number);
            VssType::VPN_ID
        }
        Some(Vss::Default) => VssType::DEFAULT,
        None => VssType::INVALID,
    };
    let server = |server: &Server| DhcpServer {
        server_vrf_id: id(server.table),
        dhcp_server: server.addr.into(),
    };
    DhcpProxyDetails {
        rx_vrf_id: id(key.1),
        vss_oui: oui,
        vss_fib_id: index,
        vss_type,
        is_ipv6: key.0 == Link::Ip6,
        vss_vpn_ascii_id: name.as_str().into(),
        dhcp_src_address: of.src.into(),
        servers: of.servers.iter().map(server).collect(),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("dhcp", "3.0.1")
        .call(|_: &mut Router, _: DhcpPluginGetVersion| {
            Ok(DhcpPluginGetVersionReply { major: 1, minor: 0 })
        })
        .call_by(|_, caller, _: DhcpPluginControlPing| {
            let (client_index, vpe_pid) = (caller.client, std::process::id());
            Ok(DhcpPluginControlPingReply { client_index, vpe_pid })
        })
        .call(|router, m: DhcpProxyConfig| proxy(router, &m))
        .call(|router, m: DhcpProxySetVss| vss(router, &m))
        .call_by(|router, caller, m: DhcpClientConfig| configure(router, caller.client, m))
        .dump(|router, _: DhcpClientDump| {
            let all = router.own::<Dhcp>().clients.iter();
            all.map(|(on, client)| details(router, *on, client)).collect()
        })
        .dump(|router, m: DhcpProxyDump| {
            let all = router.own::<Dhcp>().proxies.iter();
            let wanted = all.filter(|(key, _)| (key.0 == Link::Ip6) == m.is_ip6);
            wanted.map(|(key, of)| proxy_details(router, key, of)).collect()
        })
        .call(|router, m: DhcpClientDetectEnableDisable| {
            let set = |on: &mut super::Detecting| on.by_request = m.enable;
            Ok(set_detecting(router, m.sw_if_index, set)?)
        });
}
