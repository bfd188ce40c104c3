//! Messages of the module `pppoe`.

use control::api::types::Address;
use control::api::{Api, Message};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::{New, Session, Sessions};

/// Make a session, or end it.
#[derive(Message)]
#[reply(PppoeAddDelSessionReply)]
#[option(
    "vat_help",
    "client-addr <client-addr> session-id <nn> [encap-if-index <nn>] \
     [decap-next [ip4|ip6|node <name>]] local-mac <local-mac> client-mac <client-mac> [del]"
)]
pub struct PppoeAddDelSession {
    /// make it, or end it
    pub is_add: bool,
    /// its number at the client
    pub session_id: u16,
    /// the client's address
    pub client_ip: Address,
    /// the table that the client's packets are looked up in
    pub decap_vrf_id: u32,
    /// the client's address of layer 2
    pub client_mac: MacAddr,
}

/// It is made or ended.
#[derive(Message)]
pub struct PppoeAddDelSessionReply {
    /// its interface
    pub sw_if_index: InterfaceIndex,
}

/// List the sessions.
#[derive(Message)]
#[details(PppoeSessionDetails)]
#[option("vat_help", "[<intfc> | sw_if_index <nn>]")]
pub struct PppoeSessionDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A session.
#[derive(Debug, Message)]
pub struct PppoeSessionDetails {
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// its number at the client
    pub session_id: u16,
    /// the client's address
    pub client_ip: Address,
    /// the interface that the client is on
    pub encap_if_index: InterfaceIndex,
    /// the table that the client's packets are looked up in
    pub decap_vrf_id: u32,
    /// our address there
    pub local_mac: MacAddr,
    /// the client's address of layer 2
    pub client_mac: MacAddr,
}

/// Have an interface lead to the control plane, or no longer.
#[derive(Message)]
#[option("vat_help", "[ sw_if_index <intfc> is_add <bool> ]")]
pub struct PppoeAddDelCp {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// whether it leads there
    pub is_add: u8,
}

fn row((index, session): (&InterfaceIndex, &Session)) -> PppoeSessionDetails {
    let New { id, mac, ip, table_id } = session.new;
    PppoeSessionDetails {
        sw_if_index: *index,
        session_id: id,
        client_ip: ip.into(),
        encap_if_index: session.over,
        decap_vrf_id: table_id,
        local_mac: session.local_mac,
        client_mac: mac,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("pppoe", "2.0.0")
        .call(|router: &mut Router, m: PppoeAddDelSession| {
            let (id, mac) = (m.session_id, m.client_mac);
            let sw_if_index = if m.is_add {
                let (ip, table_id) = (m.client_ip.native()?, m.decap_vrf_id);
                super::add(router, New { id, mac, ip, table_id })?
            } else {
                super::remove(router, id, mac)?
            };
            Ok(PppoeAddDelSessionReply { sw_if_index })
        })
        .call(|router, m: PppoeAddDelCp| {
            Ok(super::set_control(router, m.sw_if_index, m.is_add > 0)?)
        })
        .dump(|router, m: PppoeSessionDump| {
            let all = router.own::<Sessions>().sessions.iter();
            let is_meant = |index| m.sw_if_index.0 == u32::MAX || m.sw_if_index == index;
            all.filter(|(index, _)| is_meant(**index)).map(row).collect()
        });
}
