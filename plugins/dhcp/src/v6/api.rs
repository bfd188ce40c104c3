//! Messages about clients over IPv6: those of the module `dhcp` that programs with a client of
//! their own use, and those of `dhcp6_ia_na_client_cp` and `dhcp6_pd_client_cp`.

use control::api::types::{Ip6AddressWithPrefix, Ip6Prefix};
use control::api::{Fields, Record};
use net::prelude::*;
use wire::dhcp6::Lease;

use super::exchange::{self, ANY_SERVER, Key, Timing};
use super::message::Answer;
use super::{DUID_LL, Dhcp6, Ia, client, prefixes, set_duid, set_port};
use crate::Error;

control::numbers! {
    /// Message types.
    pub enum Dhcpv6MsgType: u32 = "dhcpv6_msg_type" in "" {
        SOLICIT = 1 => "DHCPV6_MSG_API_SOLICIT",
        ADVERTISE = 2 => "DHCPV6_MSG_API_ADVERTISE",
        REQUEST = 3 => "DHCPV6_MSG_API_REQUEST",
        CONFIRM = 4 => "DHCPV6_MSG_API_CONFIRM",
        RENEW = 5 => "DHCPV6_MSG_API_RENEW",
        REBIND = 6 => "DHCPV6_MSG_API_REBIND",
        REPLY = 7 => "DHCPV6_MSG_API_REPLY",
        RELEASE = 8 => "DHCPV6_MSG_API_RELEASE",
        DECLINE = 9 => "DHCPV6_MSG_API_DECLINE",
        RECONFIGURE = 10 => "DHCPV6_MSG_API_RECONFIGURE",
        INFORMATION_REQUEST = 11 => "DHCPV6_MSG_API_INFORMATION_REQUEST",
        RELAY_FORW = 12 => "DHCPV6_MSG_API_RELAY_FORW",
        RELAY_REPL = 13 => "DHCPV6_MSG_API_RELAY_REPL",
    }
}

/// An address and its lifetimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct Dhcp6AddressInfo {
    /// the address
    pub address: Ipv6Addr,
    /// valid lifetime in seconds
    pub valid_time: u32,
    /// preferred lifetime in seconds
    pub preferred_time: u32,
}

/// A prefix and its lifetimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct Dhcp6PdPrefixInfo {
    /// prefix
    pub prefix: Ip6Prefix,
    /// valid lifetime in seconds
    pub valid_time: u32,
    /// preferred lifetime in seconds
    pub preferred_time: u32,
}

/// Set the router's DUID.
#[derive(Message)]
pub struct Dhcp6DuidLlSet {
    /// bytes
    pub duid_ll: [u8; DUID_LL],
}

/// Enable or disable reception of DHCPv6 client port packets for API clients.
#[derive(Message)]
pub struct Dhcp6ClientsEnableDisable {
    /// true to enable, false to disable
    pub enable: bool,
}

/// A message of a client, and when it is sent again.
#[derive(Fields)]
pub struct ClientMessage {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// server index; all ones for all servers
    pub server_index: u32,
    /// initial retransmission time in seconds
    pub irt: u32,
    /// maximum retransmission time in seconds; 0 for no limit
    pub mrt: u32,
    /// maximum number of messages; 0 for no limit
    pub mrc: u32,
    /// maximum total time in seconds; 0 for no limit
    pub mrd: u32,
    /// true to stop
    pub stop: bool,
    /// message type
    pub msg_type: Dhcpv6MsgType,
    /// renewal time (T1) in seconds
    #[name("T1")]
    pub t1: u32,
    /// rebinding time (T2) in seconds
    #[name("T2")]
    pub t2: u32,
}

/// Send an address request and retransmit until stopped.
#[derive(Message)]
pub struct Dhcp6SendClientMessage {
    /// the message
    #[flatten]
    pub message: ClientMessage,
    /// addresses
    #[counted(n_addresses: u32)]
    pub addresses: Vec<Dhcp6AddressInfo>,
}

/// Send a prefix request and retransmit until stopped.
#[derive(Message)]
pub struct Dhcp6PdSendClientMessage {
    /// the message
    #[flatten]
    pub message: ClientMessage,
    /// prefixes
    #[counted(n_prefixes: u32)]
    pub prefixes: Vec<Dhcp6PdPrefixInfo>,
}

/// Register or unregister for replies about addresses.
#[derive(Message)]
#[events(Dhcp6ReplyEvent)]
pub struct WantDhcp6ReplyEvents {
    /// true to register, false to unregister
    pub enable_disable: u8,
    /// client process ID
    pub pid: u32,
}

/// Register or unregister for replies about prefixes.
#[derive(Message)]
#[events(Dhcp6PdReplyEvent)]
pub struct WantDhcp6PdReplyEvents {
    /// true to register, false to unregister
    pub enable_disable: bool,
    /// client process ID
    pub pid: u32,
}

/// A server's reply about addresses.
#[derive(Debug, PartialEq, Message)]
pub struct Dhcp6ReplyEvent {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// server index
    pub server_index: u32,
    /// message type
    pub msg_type: Dhcpv6MsgType,
    /// renewal time (T1) in seconds
    #[name("T1")]
    pub t1: u32,
    /// rebinding time (T2) in seconds
    #[name("T2")]
    pub t2: u32,
    /// status of the addresses
    pub inner_status_code: u16,
    /// status of the reply
    pub status_code: u16,
    /// server preference
    pub preference: u8,
    /// addresses
    #[counted(n_addresses: u32)]
    pub addresses: Vec<Dhcp6AddressInfo>,
}

/// A server's reply about prefixes.
#[derive(Debug, PartialEq, Message)]
pub struct Dhcp6PdReplyEvent {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// server index
    pub server_index: u32,
    /// message type
    pub msg_type: Dhcpv6MsgType,
    /// renewal time (T1) in seconds
    #[name("T1")]
    pub t1: u32,
    /// rebinding time (T2) in seconds
    #[name("T2")]
    pub t2: u32,
    /// status of the prefixes
    pub inner_status_code: u16,
    /// status of the reply
    pub status_code: u16,
    /// server preference
    pub preference: u8,
    /// prefixes
    #[counted(n_prefixes: u32)]
    pub prefixes: Vec<Dhcp6PdPrefixInfo>,
}

/// Enable or disable a DHCPv6 address client on an interface.
#[derive(Message)]
pub struct Dhcp6ClientEnableDisable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Enable or disable DHCPv6 prefix delegation on an interface.
#[derive(Message)]
pub struct Dhcp6PdClientEnableDisable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// prefix group
    pub prefix_group: Text<64>,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Assign an interface address from a prefix group, or remove it.
#[derive(Message)]
pub struct Ip6AddDelAddressUsingPrefix {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// prefix group; empty for a complete address
    pub prefix_group: Text<64>,
    /// interface part of the address, and its prefix length
    pub address_with_prefix: Ip6AddressWithPrefix,
    /// true to add, false to delete
    pub is_add: bool,
}

impl Dhcp6AddressInfo {
    fn of(lease: &Lease) -> Self {
        Self { address: lease.addr, valid_time: lease.valid, preferred_time: lease.preferred }
    }
    fn lease(&self) -> Lease {
        let Self { address: addr, valid_time: valid, preferred_time: preferred } = *self;
        Lease { addr, len: 128, preferred, valid }
    }
}

impl Dhcp6PdPrefixInfo {
    fn of(lease: &Lease) -> Self {
        let prefix = Ip6Prefix { address: lease.addr, len: lease.len };
        Self { prefix, valid_time: lease.valid, preferred_time: lease.preferred }
    }
    fn lease(&self) -> Lease {
        let Self { prefix, valid_time: valid, preferred_time: preferred } = *self;
        Lease { addr: prefix.address, len: prefix.len, preferred, valid }
    }
}

/// Tells programs of an answer.
pub fn tell(router: &mut Router, key: Key, server_index: u32, answer: &Answer) {
    let given = answer.given.clone().unwrap_or_default();
    let (sw_if_index, msg_type) = (key.on, Dhcpv6MsgType(answer.kind.into()));
    let (status_code, inner_status_code) = (answer.status, given.status);
    let (t1, t2, preference) = (given.t1, given.t2, answer.preference);
    match key.ia {
        Ia::Address => router.clients.send(&Dhcp6ReplyEvent {
            sw_if_index,
            server_index,
            msg_type,
            t1,
            t2,
            inner_status_code,
            status_code,
            preference,
            addresses: given.leases.iter().map(Dhcp6AddressInfo::of).collect(),
        }),
        Ia::Prefix => router.clients.send(&Dhcp6PdReplyEvent {
            sw_if_index,
            server_index,
            msg_type,
            t1,
            t2,
            inner_status_code,
            status_code,
            preference,
            prefixes: given.leases.iter().map(Dhcp6PdPrefixInfo::of).collect(),
        }),
    }
}

impl ClientMessage {
    /// Begins or ends what a program asks to be sent.
    fn send(&self, router: &mut Router, ia: Ia, leases: Vec<Lease>) -> Result<(), Retval> {
        let kind = u8::try_from(self.msg_type.0).map_err(|_| Retval::INVALID_VALUE)?;
        router.interfaces.at(self.sw_if_index).ok_or(Error::NoInterface)?;
        let key = Key { ia, on: self.sw_if_index, kind };
        if self.stop {
            // What has ended by itself is over as well.
            exchange::stop_all(router, ia, key.on);
            return Ok(());
        }
        let (server, t1, t2) = (server(self.server_index), self.t1, self.t2);
        let message = exchange::Message { server, t1, t2, leases };
        let timing = Timing { irt: self.irt, mrt: self.mrt, mrc: self.mrc, mrd: self.mrd };
        exchange::check(router, key, &message)?;
        // One message of an interface is sent at a time, whatever its type.
        exchange::stop_all(router, ia, key.on);
        Ok(exchange::start(router, key, message, timing)?)
    }
}

fn server(index: u32) -> Option<u32> {
    (index != ANY_SERVER).then_some(index)
}

fn use_prefix(router: &mut Router, m: &Ip6AddDelAddressUsingPrefix) -> Result<(), Retval> {
    let Ip6Prefix { address, len } = m.address_with_prefix.0;
    let suffix = wire::Ip6Prefix::new(address, len).map_err(|_| Retval::INVALID_VALUE)?;
    let (on, group) = (m.sw_if_index, m.prefix_group.as_str());
    match (group.is_empty(), m.is_add) {
        (true, true) => router.add_address(on, Prefix::Ip6(suffix))?,
        (true, false) => router.remove_address(on, Prefix::Ip6(suffix))?,
        (false, true) => prefixes::add(router, on, group, suffix)?,
        (false, false) => prefixes::remove(router, on, group, suffix)?,
    }
    Ok(())
}

/// Enables or disables a client on an interface. Either may be repeated.
fn set_client(
    router: &mut Router,
    ia: Ia,
    (on, group): (InterfaceIndex, &str),
    is_on: bool,
) -> Result<(), Retval> {
    router.interfaces.at(on).ok_or(Error::NoInterface)?;
    let known = router.own::<Dhcp6>().clients.get(&(ia, on)).map(|client| client.group.as_str());
    match (is_on, known) {
        (true, Some(known)) if known == group => Ok(()),
        (true, _) => Ok(client::add(router, ia, on, group)?),
        (false, None) => Ok(()),
        (false, Some(_)) => Ok(client::remove(router, ia, on)?),
    }
}

/// Registers the messages.
pub fn register(api: &mut Api<Router>) {
    api.plugin("dhcp", "3.0.1")
        .call(|router: &mut Router, m: Dhcp6DuidLlSet| Ok(set_duid(router, Some(m.duid_ll))?))
        .call(|router, m: Dhcp6ClientsEnableDisable| {
            Ok(set_port(router, |port| port.program = m.enable)?)
        })
        .call(|router, m: Dhcp6SendClientMessage| {
            let leases = m.addresses.iter().map(Dhcp6AddressInfo::lease).collect();
            m.message.send(router, Ia::Address, leases)
        })
        .call(|router, m: Dhcp6PdSendClientMessage| {
            let leases = m.prefixes.iter().map(Dhcp6PdPrefixInfo::lease).collect();
            m.message.send(router, Ia::Prefix, leases)
        })
        .call_by(|router, caller, m: WantDhcp6ReplyEvents| {
            let is_on = m.enable_disable != 0;
            router.clients.want::<Dhcp6ReplyEvent>(caller.client, m.pid, is_on)
        })
        .call_by(|router, caller, m: WantDhcp6PdReplyEvents| {
            let is_on = m.enable_disable;
            router.clients.want::<Dhcp6PdReplyEvent>(caller.client, m.pid, is_on)
        });
    api.plugin("dhcp6_ia_na_client_cp", "1.0.1").call(
        |router: &mut Router, m: Dhcp6ClientEnableDisable| {
            set_client(router, Ia::Address, (m.sw_if_index, ""), m.enable)
        },
    );
    api.plugin("dhcp6_pd_client_cp", "2.0.0")
        .call(|router: &mut Router, m: Dhcp6PdClientEnableDisable| {
            let group = m.prefix_group.as_str();
            set_client(router, Ia::Prefix, (m.sw_if_index, group), m.enable)
        })
        .call(|router, m: Ip6AddDelAddressUsingPrefix| use_prefix(router, &m));
}
