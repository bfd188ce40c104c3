//! Messages of the module `pppoe`.

use control::api::types::Address;
use net::prelude::*;

use super::{New, Session, Sessions};

/// Add or delete a session.
#[derive(Message)]
#[reply(PppoeAddDelSessionReply)]
#[option(
    "vat_help",
    "client-addr <client-addr> session-id <nn> [encap-if-index <nn>] \
     [decap-next [ip4|ip6|node <name>]] local-mac <local-mac> client-mac <client-mac> [del]"
)]
pub struct PppoeAddDelSession {
    /// true to add, false to delete
    pub is_add: bool,
    /// session ID
    pub session_id: u16,
    /// client IP address
    pub client_ip: Address,
    /// table to look up packets from the client in
    pub decap_vrf_id: u32,
    /// client MAC address
    pub client_mac: MacAddr,
}

/// Reply: index of the session interface.
#[derive(Message)]
pub struct PppoeAddDelSessionReply {
    /// interface index
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
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// session ID
    pub session_id: u16,
    /// client IP address
    pub client_ip: Address,
    /// interface of the client
    pub encap_if_index: InterfaceIndex,
    /// table to look up packets from the client in
    pub decap_vrf_id: u32,
    /// local MAC address
    pub local_mac: MacAddr,
    /// client MAC address
    pub client_mac: MacAddr,
}

/// Set or remove the control-plane interface.
#[derive(Message)]
#[option("vat_help", "[ sw_if_index <intfc> is_add <bool> ]")]
pub struct PppoeAddDelCp {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to set, false to remove
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
