//! Messages of the module `l2tp`.

use control::Secret;
use control::api::types::Address;
use control::api::{Api, Message, Retval, Text};
use net::tunnel::{Outer, Tunnel};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{By, L2tp};

control::numbers! {
    /// Lookup key of sessions.
    pub enum LookupKey: u8 = "l2t_lookup_key" in "" {
        SRC_ADDR = 0 => "L2T_LOOKUP_KEY_API_SRC_ADDR",
        DST_ADDR = 1 => "L2T_LOOKUP_KEY_API_DST_ADDR",
        SESSION_ID = 2 => "L2T_LOOKUP_KEY_API_SESSION_ID",
    }
}

/// Create a session.
#[derive(Clone, Copy, Message)]
#[replies(InterfaceReply)]
pub struct L2tpv3CreateTunnel {
    /// client address
    pub client_address: Address,
    /// local address
    pub our_address: Address,
    /// local session ID
    pub local_session_id: u32,
    /// remote session ID
    pub remote_session_id: u32,
    /// local cookie
    pub local_cookie: Secret<u64>,
    /// remote cookie
    pub remote_cookie: Secret<u64>,
    /// true if a layer 2 sublayer header is present
    pub l2_sublayer_present: bool,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
}

/// Change the cookies of a session; the previous local one stays valid.
#[derive(Message)]
pub struct L2tpv3SetTunnelCookies {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// new local cookie
    pub new_local_cookie: Secret<u64>,
    /// new remote cookie
    pub new_remote_cookie: Secret<u64>,
}

/// List the sessions.
#[derive(Message)]
#[details(SwIfL2tpv3TunnelDetails)]
pub struct SwIfL2tpv3TunnelDump {}

/// A session.
#[derive(Debug, Message)]
pub struct SwIfL2tpv3TunnelDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// interface name
    pub interface_name: Text<64>,
    /// client address
    pub client_address: Address,
    /// local address
    pub our_address: Address,
    /// local session ID
    pub local_session_id: u32,
    /// remote session ID
    pub remote_session_id: u32,
    /// local cookies, the newest first
    pub local_cookie: Secret<[u64; 2]>,
    /// remote cookie
    pub remote_cookie: Secret<u64>,
    /// true if a layer 2 sublayer header is present
    pub l2_sublayer_present: bool,
}

/// Enable or disable L2TPv3 reception on an interface, for any destination address.
#[derive(Message)]
pub struct L2tpv3InterfaceEnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
    /// receive interface
    pub sw_if_index: InterfaceIndex,
}

/// Set the lookup key of sessions.
#[derive(Message)]
pub struct L2tpv3SetLookupKey {
    /// lookup key
    pub key: LookupKey,
}

fn create(router: &mut Router, m: &L2tpv3CreateTunnel) -> Result<InterfaceIndex, Retval> {
    let our = super::six(m.our_address.native()?)?.into();
    let client = super::six(m.client_address.native()?)?.into();
    let table = router.tunnel_table(our, m.encap_vrf_id)?;
    let l2tp = L2tp {
        sessions: (m.local_session_id, m.remote_session_id),
        local_cookies: [m.local_cookie.0; 2],
        remote_cookie: m.remote_cookie.0,
        has_sublayer: m.l2_sublayer_present,
    };
    Ok(super::add(router, Outer::new(our, client, table), l2tp)?)
}

fn details(router: &Router, t: &Tunnel<L2tp>) -> SwIfL2tpv3TunnelDetails {
    SwIfL2tpv3TunnelDetails {
        sw_if_index: t.interface,
        interface_name: router.interfaces.name(t.interface.0).into(),
        client_address: t.outer.dst.into(),
        our_address: t.outer.src.into(),
        local_session_id: t.kind.sessions.0,
        remote_session_id: t.kind.sessions.1,
        local_cookie: t.kind.local_cookies.into(),
        remote_cookie: t.kind.remote_cookie.into(),
        l2_sublayer_present: t.kind.has_sublayer,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("l2tp", "2.0.0")
        .call(|router: &mut Router, m: L2tpv3CreateTunnel| {
            Ok(InterfaceReply { sw_if_index: create(router, &m)? })
        })
        .call(|router, m: L2tpv3SetTunnelCookies| {
            let cookies = (m.new_local_cookie.0, m.new_remote_cookie.0);
            Ok(super::set_cookies(router, m.sw_if_index, cookies)?)
        })
        .dump(|router, _: SwIfL2tpv3TunnelDump| {
            super::sessions(router).map(|t| details(router, t)).collect()
        })
        .call(|router, m: L2tpv3InterfaceEnableDisable| {
            let done = super::take_any(router, m.sw_if_index, m.enable_disable);
            done.map_err(|_| Retval::INVALID_SW_IF_INDEX)
        })
        .call(|router, m: L2tpv3SetLookupKey| {
            let by = match m.key {
                LookupKey::SRC_ADDR => By::Src,
                LookupKey::DST_ADDR => By::Dst,
                LookupKey::SESSION_ID => By::Session,
                _ => return Err(Retval::INVALID_VALUE),
            };
            Ok(super::publish(router, by)?)
        });
}
