//! Messages of the module `bfd`.

use control::Secret;
use control::api::Fields;
use control::api::types::Address;
use net::interface::api::types::IfStatusFlags;
use net::prelude::*;
use wire::bfd::State;

use super::{EchoSource, Key, Parameters, Session};

control::numbers! {
    /// State of a session.
    pub enum BfdState: u32 = "bfd_state" in "" {
        ADMIN_DOWN = 0 => "BFD_STATE_API_ADMIN_DOWN",
        DOWN = 1 => "BFD_STATE_API_DOWN",
        INIT = 2 => "BFD_STATE_API_INIT",
        UP = 3 => "BFD_STATE_API_UP",
    }
}

impl From<State> for BfdState {
    fn from(state: State) -> Self {
        Self(state as u32)
    }
}

/// Set the interface whose network is the source of echo packets.
#[derive(Message)]
pub struct BfdUdpSetEchoSource {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Stop sending echo packets.
#[derive(Message)]
pub struct BfdUdpDelEchoSource {}

/// Get the source of echo packets.
#[derive(Message)]
#[reply(BfdUdpGetEchoSourceReply)]
pub struct BfdUdpGetEchoSource {}

/// The source of echo packets.
#[derive(Message)]
pub struct BfdUdpGetEchoSourceReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true if a source is set
    pub is_set: bool,
    /// true if there is an IPv4 source
    pub have_usable_ip4: bool,
    /// IPv4 source
    pub ip4_addr: Ipv4Addr,
    /// true if there is an IPv6 source
    pub have_usable_ip6: bool,
    /// IPv6 source
    pub ip6_addr: Ipv6Addr,
}

/// Create a session.
#[derive(Message)]
pub struct BfdUdpAdd {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// desired minimum transmit interval in microseconds
    pub desired_min_tx: u32,
    /// required minimum receive interval in microseconds
    pub required_min_rx: u32,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
    /// detection multiplier
    pub detect_mult: u8,
    /// true to authenticate packets
    pub is_authenticated: bool,
    /// key ID in packets
    pub bfd_key_id: u8,
    /// configured key ID
    pub conf_key_id: u32,
}

/// Create or update a session.
#[derive(Message)]
#[reply(BfdUdpUpdReply)]
pub struct BfdUdpUpd {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// desired minimum transmit interval in microseconds
    pub desired_min_tx: u32,
    /// required minimum receive interval in microseconds
    pub required_min_rx: u32,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
    /// detection multiplier
    pub detect_mult: u8,
    /// true to authenticate packets of a new session
    pub is_authenticated: bool,
    /// key ID in packets
    pub bfd_key_id: u8,
    /// configured key ID
    pub conf_key_id: u32,
}

/// Reply: index of the session's counters.
#[derive(Message)]
pub struct BfdUdpUpdReply {
    /// index of its counters, such as `/bfd/rx-session-counters`
    pub stats_index: u32,
}

/// Change the parameters of a session.
#[derive(Message)]
pub struct BfdUdpMod {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// desired minimum transmit interval in microseconds
    pub desired_min_tx: u32,
    /// required minimum receive interval in microseconds
    pub required_min_rx: u32,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
    /// detection multiplier
    pub detect_mult: u8,
}

/// Delete a session.
#[derive(Message)]
pub struct BfdUdpDel {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
}

/// List the sessions.
#[derive(Message)]
#[details(BfdUdpSessionDetails)]
pub struct BfdUdpSessionDump {}

/// Fields of a session.
#[derive(Fields)]
pub struct SessionFields {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
    /// state
    pub state: BfdState,
    /// true to authenticate packets
    pub is_authenticated: bool,
    /// key ID in packets
    pub bfd_key_id: u8,
    /// configured key ID
    pub conf_key_id: u32,
    /// required minimum receive interval in microseconds
    pub required_min_rx: u32,
    /// desired minimum transmit interval in microseconds
    pub desired_min_tx: u32,
    /// detection multiplier
    pub detect_mult: u8,
}

/// A session.
#[derive(Message)]
pub struct BfdUdpSessionDetails {
    /// session
    #[flatten]
    pub session: SessionFields,
}

/// Set a session up or down.
#[derive(Message)]
pub struct BfdUdpSessionSetFlags {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
    /// `IF_STATUS_API_FLAG_ADMIN_UP` for up
    pub flags: IfStatusFlags,
}

/// Register or unregister for session state events.
#[derive(Message)]
#[events(BfdUdpSessionEvent)]
pub struct WantBfdEvents {
    /// true to enable, false to disable
    pub enable_disable: bool,
    /// process ID, echoed in events
    pub pid: u32,
}

/// A session changed state.
#[derive(Message)]
pub struct BfdUdpSessionEvent {
    /// the session, as it is now
    #[flatten]
    pub session: SessionFields,
}

/// Set a key; it must not be in use.
#[derive(Message)]
pub struct BfdAuthSetKey {
    /// index
    pub conf_key_id: u32,
    /// key length in bytes
    pub key_len: u8,
    /// 4 for keyed SHA1, 5 for meticulous keyed SHA1
    pub auth_type: u8,
    /// the key
    pub key: Secret<[u8; 20]>,
}

/// Delete a key; it must not be in use.
#[derive(Message)]
pub struct BfdAuthDelKey {
    /// index
    pub conf_key_id: u32,
}

/// List the keys.
#[derive(Message)]
#[details(BfdAuthKeysDetails)]
pub struct BfdAuthKeysDump {}

/// A key.
#[derive(Message)]
pub struct BfdAuthKeysDetails {
    /// index
    pub conf_key_id: u32,
    /// number of sessions that use the key
    pub use_count: u32,
    /// 4 for keyed SHA1, 5 for meticulous keyed SHA1
    pub auth_type: u8,
}

/// Enable authentication of a session.
#[derive(Message)]
pub struct BfdUdpAuthActivate {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
    /// once the peer does
    pub is_delayed: bool,
    /// key ID in packets
    pub bfd_key_id: u8,
    /// configured key ID
    pub conf_key_id: u32,
}

/// Disable authentication of a session.
#[derive(Message)]
pub struct BfdUdpAuthDeactivate {
    /// interface; 4294967295 for multihop
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub local_addr: Address,
    /// peer address
    pub peer_addr: Address,
    /// once the peer does
    pub is_delayed: bool,
}

/// Accept multihop packets without sessions.
#[derive(Message)]
pub struct BfdUdpEnableMultihop {}

/// Set the DSCP and ECN byte of packets.
#[derive(Message)]
pub struct BfdUdpSetTos {
    /// type of service, or traffic class
    pub tos: u8,
}

/// Get the type of service of packets.
#[derive(Message)]
#[reply(BfdUdpGetTosReply)]
pub struct BfdUdpGetTos {}

/// The type of service of packets.
#[derive(Message)]
pub struct BfdUdpGetTosReply {
    /// type of service, or traffic class
    pub tos: u8,
}

fn key(on: InterfaceIndex, local: Address, peer: Address) -> Result<Key, Retval> {
    let interface = Some(on).filter(|on| on.0 != u32::MAX);
    Ok(Key { interface, local: local.native()?, peer: peer.native()? })
}

/// The parts of a session that details and events have.
fn fields(s: &Session) -> SessionFields {
    let by = s.configured();
    let Parameters { desired_min_tx_us, required_min_rx_us, detect_mult } = s.machine.parameters;
    SessionFields {
        sw_if_index: s.key.interface.unwrap_or(InterfaceIndex(u32::MAX)),
        local_addr: s.key.local.into(),
        peer_addr: s.key.peer.into(),
        state: s.machine.state.into(),
        is_authenticated: by.is_some(),
        bfd_key_id: by.map_or(0, |by| by.key_id),
        conf_key_id: by.map_or(0, |by| by.conf_key_id),
        required_min_rx: required_min_rx_us,
        desired_min_tx: desired_min_tx_us,
        detect_mult,
    }
}

impl BfdUdpSessionEvent {
    /// Of a session as it is now.
    pub(super) fn of(s: &Session) -> Self {
        Self { session: fields(s) }
    }
}

fn parameters(desired_min_tx_us: u32, required_min_rx_us: u32, detect_mult: u8) -> Parameters {
    Parameters { desired_min_tx_us, required_min_rx_us, detect_mult }
}

fn update(router: &mut Router, m: &BfdUdpUpd) -> Result<BfdUdpUpdReply, Retval> {
    let key = key(m.sw_if_index, m.local_addr, m.peer_addr)?;
    let parameters = parameters(m.desired_min_tx, m.required_min_rx, m.detect_mult);
    let by = m.is_authenticated.then_some((m.conf_key_id, m.bfd_key_id));
    let stats_index = match super::modify(router, &key, parameters) {
        Err(super::Error::NoSession) => super::add(router, key, parameters, by)?,
        done => done?,
    };
    Ok(BfdUdpUpdReply { stats_index })
}

fn set_key(router: &mut Router, m: &BfdAuthSetKey) -> Result<(), Retval> {
    let key = m.key.get(..usize::from(m.key_len)).ok_or(Retval::INVALID_ARGUMENT)?;
    Ok(super::set_key(router, m.conf_key_id, m.auth_type, key)?)
}

fn source(router: &Router) -> BfdUdpGetEchoSourceReply {
    let source = super::echo_source(router);
    let (ip4, ip6) = source.map_or((None, None), |EchoSource { ip4, ip6, .. }| (ip4, ip6));
    BfdUdpGetEchoSourceReply {
        sw_if_index: source.map_or(InterfaceIndex(u32::MAX), |source| source.interface),
        is_set: source.is_some(),
        have_usable_ip4: ip4.is_some(),
        ip4_addr: ip4.unwrap_or(Ipv4Addr::UNSPECIFIED),
        have_usable_ip6: ip6.is_some(),
        ip6_addr: ip6.unwrap_or(Ipv6Addr::UNSPECIFIED),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    register_sessions(api);
    api.core("bfd", "2.0.0")
        .call(|router: &mut Router, m: BfdUdpSetEchoSource| {
            Ok(super::set_echo_source(router, m.sw_if_index)?)
        })
        .call(|router: &mut Router, _: BfdUdpDelEchoSource| {
            super::remove_echo_source(router);
            Ok(())
        })
        .call(|router: &mut Router, _: BfdUdpGetEchoSource| Ok(source(router)))
        .call(|router: &mut Router, m: BfdAuthSetKey| set_key(router, &m))
        .call(|router: &mut Router, m: BfdAuthDelKey| Ok(super::unset_key(router, m.conf_key_id)?))
        .dump(|router: &mut Router, _: BfdAuthKeysDump| {
            let row = |(conf_key_id, key): (u32, &super::AuthKey)| BfdAuthKeysDetails {
                conf_key_id,
                use_count: key.use_count,
                auth_type: key.secret.kind,
            };
            super::keys(router).iter().map(row).collect()
        })
        .call(|router: &mut Router, _: BfdUdpEnableMultihop| Ok(super::set_multihop(router, true)?))
        .call(|router: &mut Router, m: BfdUdpSetTos| {
            super::set_tos(router, m.tos);
            Ok(())
        })
        .call(|router: &mut Router, _: BfdUdpGetTos| {
            Ok(BfdUdpGetTosReply { tos: super::tos(router) })
        });
}

fn register_sessions(api: &mut Api<Router>) {
    api.core("bfd", "2.0.0")
        .call(|router: &mut Router, m: BfdUdpAdd| {
            let key = key(m.sw_if_index, m.local_addr, m.peer_addr)?;
            let parameters = parameters(m.desired_min_tx, m.required_min_rx, m.detect_mult);
            let by = m.is_authenticated.then_some((m.conf_key_id, m.bfd_key_id));
            super::add(router, key, parameters, by)?;
            Ok(())
        })
        .call(|router: &mut Router, m: BfdUdpUpd| update(router, &m))
        .call(|router: &mut Router, m: BfdUdpMod| {
            let key = key(m.sw_if_index, m.local_addr, m.peer_addr)?;
            let parameters = parameters(m.desired_min_tx, m.required_min_rx, m.detect_mult);
            super::modify(router, &key, parameters)?;
            Ok(())
        })
        .call(|router: &mut Router, m: BfdUdpDel| {
            Ok(super::remove(router, &key(m.sw_if_index, m.local_addr, m.peer_addr)?)?)
        })
        .dump(|router: &mut Router, _: BfdUdpSessionDump| {
            super::sessions(router).map(|s| BfdUdpSessionDetails { session: fields(s) }).collect()
        })
        .call(|router: &mut Router, m: BfdUdpSessionSetFlags| {
            let key = key(m.sw_if_index, m.local_addr, m.peer_addr)?;
            let is_up = m.flags.contains(IfStatusFlags::ADMIN_UP);
            Ok(super::set_admin(router, &key, is_up)?)
        })
        .call(|router: &mut Router, m: BfdUdpAuthActivate| {
            let key = key(m.sw_if_index, m.local_addr, m.peer_addr)?;
            let by = (m.conf_key_id, m.bfd_key_id);
            Ok(super::activate(router, &key, by, m.is_delayed)?)
        })
        .call(|router: &mut Router, m: BfdUdpAuthDeactivate| {
            let key = key(m.sw_if_index, m.local_addr, m.peer_addr)?;
            Ok(super::deactivate(router, &key, m.is_delayed)?)
        })
        .call_by(|router: &mut Router, caller, m: WantBfdEvents| {
            router.clients.want::<BfdUdpSessionEvent>(caller.client, m.pid, m.enable_disable)
        });
}
