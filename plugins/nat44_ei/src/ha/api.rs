//! The messages `nat44_ei_ha_…`.

use net::prelude::*;

use super::{Failover, Ha, Listener, is_none};

/// Set the HA listener: where the peer's messages are received; address and port 0 remove it.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiHaSetListener {
    /// the address
    pub ip_address: Ipv4Addr,
    /// UDP port
    pub port: u16,
    /// maximum bytes per packet
    pub path_mtu: u32,
}

/// Set the HA failover target: where sessions are sent; address and port 0 remove it.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiHaSetFailover {
    /// the address
    pub ip_address: Ipv4Addr,
    /// UDP port
    pub port: u16,
    /// session refresh interval in seconds; 0 for none
    pub session_refresh_interval: u32,
}

/// Get the HA listener.
#[derive(Message)]
#[reply(Nat44EiHaGetListenerReply)]
#[option("deprecated")]
pub struct Nat44EiHaGetListener {}

/// HA listener.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiHaGetListenerReply {
    /// address; 0 for none
    pub ip_address: Ipv4Addr,
    /// UDP port
    pub port: u16,
    /// maximum bytes per packet
    pub path_mtu: u32,
}

/// Get the HA failover target.
#[derive(Message)]
#[reply(Nat44EiHaGetFailoverReply)]
#[option("deprecated")]
pub struct Nat44EiHaGetFailover {}

/// HA failover target.
#[derive(Message)]
#[option("deprecated")]
pub struct Nat44EiHaGetFailoverReply {
    /// address; 0 for none
    pub ip_address: Ipv4Addr,
    /// UDP port
    pub port: u16,
    /// session refresh interval in seconds
    pub session_refresh_interval: u32,
}

/// Flush pending session changes to the standby.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiHaFlush {}

/// Send all sessions to the standby.
#[derive(Message)]
#[events(Nat44EiHaResyncCompletedEvent)]
#[option("in_progress")]
pub struct Nat44EiHaResync {
    /// true to receive an event when finished
    pub want_resync_event: u8,
    /// client process ID
    pub pid: u32,
}

/// Resynchronization of the standby finished.
#[derive(Message)]
#[option("in_progress")]
pub struct Nat44EiHaResyncCompletedEvent {
    /// messages without acknowledgement
    pub missed_count: u32,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("nat44_ei", "1.1.1")
        .call(|router: &mut Router, m: Nat44EiHaSetListener| {
            let (addr, port, path_mtu) = (m.ip_address, m.port, m.path_mtu);
            let new = (!is_none(addr, port)).then_some(Listener { addr, port, path_mtu });
            Ok(super::set_listener(router, new)?)
        })
        .call(|router, m: Nat44EiHaSetFailover| {
            let (addr, port) = (m.ip_address, m.port);
            let refresh_interval = m.session_refresh_interval;
            let new = (!is_none(addr, port)).then_some(Failover { addr, port, refresh_interval });
            Ok(super::set_failover(router, new)?)
        })
        .call(|router: &mut Router, _: Nat44EiHaGetListener| {
            let of = router.own::<Ha>().listener;
            Ok(Nat44EiHaGetListenerReply {
                ip_address: of.map_or(Ipv4Addr::UNSPECIFIED, |l| l.addr),
                port: of.map_or(0, |l| l.port),
                path_mtu: of.map_or(0, |l| l.path_mtu),
            })
        })
        .call(|router: &mut Router, _: Nat44EiHaGetFailover| {
            let of = router.own::<Ha>().failover;
            Ok(Nat44EiHaGetFailoverReply {
                ip_address: of.map_or(Ipv4Addr::UNSPECIFIED, |f| f.addr),
                port: of.map_or(0, |f| f.port),
                session_refresh_interval: of.map_or(0, |f| f.refresh_interval),
            })
        })
        .call(|router, _: Nat44EiHaFlush| Ok(super::flush(router)?))
        .call_by(|router, caller, m: Nat44EiHaResync| {
            let client = (m.want_resync_event != 0).then_some((caller.client, m.pid));
            Ok(super::resync(router, client)?)
        });
}
