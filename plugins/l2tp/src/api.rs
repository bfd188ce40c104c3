//! Messages of the module `l2tp`.

use control::Secret;
use control::api::types::Address;
use control::api::{Api, Message, Retval, Text};
use net::tunnel::{Outer, Tunnel};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{By, L2tp};

control::numbers! {
    /// By what of a packet its session is known.
    pub enum LookupKey: u8 = "l2t_lookup_key" in "" {
        SRC_ADDR = 0 => "L2T_LOOKUP_KEY_API_SRC_ADDR",
        DST_ADDR = 1 => "L2T_LOOKUP_KEY_API_DST_ADDR",
        SESSION_ID = 2 => "L2T_LOOKUP_KEY_API_SESSION_ID",
    }
}

/// Make a session.
#[derive(Clone, Copy, Message)]
#[replies(InterfaceReply)]
pub struct L2tpv3CreateTunnel {
    /// far end
    pub client_address: Address,
    /// own address
    pub our_address: Address,
    /// number in packets that are received
    pub local_session_id: u32,
    /// number in packets that are sent
    pub remote_session_id: u32,
    /// cookie in packets that are received
    pub local_cookie: Secret<u64>,
    /// cookie in packets that are sent
    pub remote_cookie: Secret<u64>,
    /// whether the layer 2 sublayer follows
    pub l2_sublayer_present: bool,
    /// the table that leads to the far end
    pub encap_vrf_id: u32,
}

/// Change the cookies of a session: the local one before stays valid.
#[derive(Message)]
pub struct L2tpv3SetTunnelCookies {
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// new cookie in packets that are received
    pub new_local_cookie: Secret<u64>,
    /// new cookie in packets that are sent
    pub new_remote_cookie: Secret<u64>,
}

/// List the sessions.
#[derive(Message)]
#[details(SwIfL2tpv3TunnelDetails)]
pub struct SwIfL2tpv3TunnelDump {}

/// A session.
#[derive(Debug, Message)]
pub struct SwIfL2tpv3TunnelDetails {
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// name of its interface
    pub interface_name: Text<64>,
    /// far end
    pub client_address: Address,
    /// own address
    pub our_address: Address,
    /// number in packets that are received
    pub local_session_id: u32,
    /// number in packets that are sent
    pub remote_session_id: u32,
    /// cookies in packets that are received, the new one first
    pub local_cookie: Secret<[u64; 2]>,
    /// cookie in packets that are sent
    pub remote_cookie: Secret<u64>,
    /// whether the layer 2 sublayer follows
    pub l2_sublayer_present: bool,
}

/// Take packets of sessions on an interface, whatever address they are for, or no longer.
#[derive(Message)]
pub struct L2tpv3InterfaceEnableDisable {
    /// they are taken
    pub enable_disable: bool,
    /// the interface they come in by
    pub sw_if_index: InterfaceIndex,
}

/// Say by what of a packet its session is known.
#[derive(Message)]
pub struct L2tpv3SetLookupKey {
    /// by what
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
