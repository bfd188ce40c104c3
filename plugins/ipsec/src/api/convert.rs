//! Conversion of associations and policies from and to API messages.

use control::api::types::{Address, IpDscp};
use crypto::Hidden;
use net::prelude::*;
use net::tunnel::{Outer, TunnelMode, no_interface};

use super::{
    Behind, IpsecCryptoAlg, IpsecIntegAlg, IpsecProto, IpsecSaDetails, IpsecSaV2Details,
    IpsecSaV3Details, IpsecSaV4Details, IpsecSaV5Details, IpsecSadEntry, IpsecSadEntryV2,
    IpsecSadEntryV3, IpsecSadEntryV4, IpsecSadFlags as Flags, IpsecSpdAction, Key, Keys,
    PolicyFields, TunnelFlags, TunnelRecord,
};
use crate::sa::{Config, Sa};
use crate::spd::{Action, Policy};
use crate::{Error, protect};

/// Thread number in messages for none.
const NO_THREAD: u32 = 0xffff;
/// Protocol number for any protocol in messages.
pub(super) const ANY: u8 = 255;
/// Window size of messages without a window field.
const WINDOW: u32 = 64;
/// UDP port in messages for the default port.
const NO_PORT: u16 = u16::MAX;
const NAT_T: u16 = 4500;

impl Key {
    fn native(&self) -> Result<Vec<u8>, Retval> {
        let bytes = self.data.get(..usize::from(self.length));
        bytes.map(<[u8]>::to_vec).ok_or(Retval::INVALID_VALUE)
    }
    fn of(bytes: &[u8]) -> Self {
        let mut data = [0; 128];
        let len = bytes.len().min(data.len());
        data[..len].copy_from_slice(&bytes[..len]);
        Self { length: len as u8, data: data.into() }
    }
}

impl TunnelRecord {
    /// The outer header.
    pub fn native(&self, router: &Router) -> Result<Outer, Retval> {
        let (src, dst) = (self.src.native()?, self.dst.native()?);
        let table = router.tunnel_table(src, self.table_id)?;
        let outer = Outer::new(src, dst, table);
        let (flags, dscp, hop_limit) = (self.encap_decap_flags, self.dscp.0, self.hop_limit);
        Ok(Outer { flags, dscp, hop_limit, ..outer })
    }
    fn of(router: &Router, outer: Option<&Outer>) -> Self {
        let none = std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        Self {
            instance: 0,
            src: outer.map_or(none, |o| o.src).into(),
            dst: outer.map_or(none, |o| o.dst).into(),
            sw_if_index: net::InterfaceIndex(0),
            table_id: outer.map_or(0, |o| router.tunnel_table_id(o)),
            encap_decap_flags: outer.map_or(net::tunnel::EncapDecapFlags::NONE, |o| o.flags),
            mode: TunnelMode::P2P,
            flags: TunnelFlags(0),
            dscp: IpDscp(outer.map_or(0, |o| o.dscp)),
            hop_limit: outer.map_or(0, |o| o.hop_limit),
        }
    }
}

/// Converts an association: the fields common to all versions, its tunnel, and its window.
fn association(
    router: &Router,
    (keys, behind): (Keys, Behind),
    tunnel: &TunnelRecord,
    window: u32,
) -> Result<Config, Retval> {
    let has = |flag: Flags| keys.flags.contains(flag);
    let is_tunnel = has(Flags::IS_TUNNEL) || has(Flags::IS_TUNNEL_V6);
    let tunnel = if is_tunnel { Some(tunnel.native(router)?) } else { None };
    let port = |port| if port == NO_PORT { NAT_T } else { port };
    let ports = (port(behind.udp_src_port), port(behind.udp_dst_port));
    let protocol = match keys.protocol {
        IpsecProto::ESP => Protocol::ESP,
        IpsecProto::AH => Protocol::AH,
        _ => return Err(Retval::UNIMPLEMENTED),
    };
    Ok(Config {
        id: keys.sad_id,
        spi: keys.spi,
        protocol,
        cipher: keys.crypto_algorithm.0,
        cipher_key: Hidden(keys.crypto_key.native()?),
        mac: keys.integrity_algorithm.0,
        mac_key: Hidden(keys.integrity_key.native()?),
        salt: behind.salt,
        has_esn: has(Flags::USE_ESN),
        has_anti_replay: has(Flags::USE_ANTI_REPLAY),
        is_inbound: has(Flags::IS_INBOUND),
        is_async: has(Flags::ASYNC),
        udp: has(Flags::UDP_ENCAP).then_some(ports),
        tunnel,
        window,
        selectors: None,
        is_derived: false,
    })
}

impl IpsecSadEntryV4 {
    /// Security association.
    pub fn native(&self, router: &Router) -> Result<Config, Retval> {
        let window = self.anti_replay_window_size;
        association(router, (self.keys, self.behind), &self.tunnel, window)
    }
}

impl IpsecSadEntryV3 {
    /// Security association.
    pub fn native(&self, router: &Router) -> Result<Config, Retval> {
        association(router, (self.keys, self.behind), &self.tunnel, WINDOW)
    }
}

impl IpsecSadEntryV2 {
    /// Security association.
    pub fn native(&self, router: &Router) -> Result<Config, Retval> {
        let tunnel = TunnelRecord {
            src: self.tunnel_src,
            dst: self.tunnel_dst,
            table_id: self.tx_table_id,
            encap_decap_flags: self.tunnel_flags,
            dscp: self.dscp,
            ..TunnelRecord::of(router, None)
        };
        association(router, (self.keys, self.behind), &tunnel, WINDOW)
    }
}

impl IpsecSadEntry {
    /// Security association.
    pub fn native(&self, router: &Router) -> Result<Config, Retval> {
        let tunnel = TunnelRecord {
            src: self.tunnel_src,
            dst: self.tunnel_dst,
            table_id: self.tx_table_id,
            ..TunnelRecord::of(router, None)
        };
        association(router, (self.keys, self.behind), &tunnel, WINDOW)
    }
}

/// An association for listing.
pub(super) struct Described<'r> {
    pub router: &'r Router,
    pub index: u32,
    pub sa: &'r Sa,
}

impl Described<'_> {
    fn flags(&self) -> Flags {
        let c = &self.sa.config;
        let is_6 = c.tunnel.as_ref().is_some_and(|outer| outer.src.is_ipv6());
        let all = [
            (c.has_esn, Flags::USE_ESN),
            (c.has_anti_replay, Flags::USE_ANTI_REPLAY),
            (c.tunnel.is_some(), Flags::IS_TUNNEL),
            (is_6, Flags::IS_TUNNEL_V6),
            (c.udp.is_some(), Flags::UDP_ENCAP),
            (c.is_inbound, Flags::IS_INBOUND),
            (c.is_async, Flags::ASYNC),
        ];
        let set = all.into_iter().filter(|(is_set, _)| *is_set);
        set.fold(Flags::NONE, |flags, (_, flag)| Flags(flags.0 | flag.0))
    }
    fn interface(&self) -> net::InterfaceIndex {
        protect::interface_of(self.router, self.index).unwrap_or(no_interface())
    }
    fn thread(&self) -> u32 {
        self.sa.state.owner.thread().map_or(NO_THREAD, |thread| thread as u32)
    }
    fn keys(&self) -> Keys {
        let c = &self.sa.config;
        let is_esp = c.protocol == Protocol::ESP;
        Keys {
            sad_id: c.id,
            spi: c.spi,
            protocol: if is_esp { IpsecProto::ESP } else { IpsecProto::AH },
            crypto_algorithm: IpsecCryptoAlg(c.cipher),
            crypto_key: Key::of(&c.cipher_key.0),
            integrity_algorithm: IpsecIntegAlg(c.mac),
            integrity_key: Key::of(&c.mac_key.0),
            flags: self.flags(),
        }
    }
    fn behind(&self) -> Behind {
        let (udp_src_port, udp_dst_port) = self.sa.config.udp.unwrap_or((0, 0));
        // The salt is in host byte order, as in VPP.
        Behind { salt: self.sa.config.salt.swap_bytes(), udp_src_port, udp_dst_port }
    }
    fn tunnel(&self) -> TunnelRecord {
        TunnelRecord::of(self.router, self.sa.config.tunnel.as_ref())
    }
    fn entry_v4(&self) -> IpsecSadEntryV4 {
        let (keys, tunnel, behind) = (self.keys(), self.tunnel(), self.behind());
        IpsecSadEntryV4 { keys, tunnel, behind, anti_replay_window_size: self.sa.config.window }
    }
    fn entry_v3(&self) -> IpsecSadEntryV3 {
        IpsecSadEntryV3 { keys: self.keys(), tunnel: self.tunnel(), behind: self.behind() }
    }
    fn entry_v2(&self) -> IpsecSadEntryV2 {
        let tunnel = self.tunnel();
        IpsecSadEntryV2 {
            keys: self.keys(),
            tunnel_src: tunnel.src,
            tunnel_dst: tunnel.dst,
            tunnel_flags: tunnel.encap_decap_flags,
            dscp: tunnel.dscp,
            tx_table_id: tunnel.table_id,
            behind: self.behind(),
        }
    }
    fn entry(&self) -> IpsecSadEntry {
        let tunnel = self.tunnel();
        IpsecSadEntry {
            keys: self.keys(),
            tunnel_src: tunnel.src,
            tunnel_dst: tunnel.dst,
            tx_table_id: tunnel.table_id,
            behind: self.behind(),
        }
    }
}

macro_rules! details {
    ($($name:ident: $message:ident { $entry:ident $(, $more:ident: $value:expr)* };)*) => {
        impl Described<'_> {$(
            pub fn $name(&self) -> $message {
                let state = &self.sa.state;
                $message {
                    entry: self.$entry(),
                    sw_if_index: self.interface(),
                    $($more: $value(self),)*
                    seq_outbound: state.sent.last(),
                    last_seq_inbound: state.received.newest(),
                    replay_window: state.received.latest(),
                    stat_index: self.index,
                }
            }
        )*}
    };
}

details! {
    details: IpsecSaDetails { entry, salt: |d: &Self| d.sa.config.salt };
    details_v2: IpsecSaV2Details { entry_v2, salt: |d: &Self| d.sa.config.salt };
    details_v3: IpsecSaV3Details { entry_v3 };
    details_v4: IpsecSaV4Details { entry_v3, thread_index: Self::thread };
    details_v5: IpsecSaV5Details { entry_v4, thread_index: Self::thread };
}

/// A policy and its database.
pub(super) fn policy(e: &PolicyFields) -> Result<(u32, Policy), Retval> {
    let addresses = |start: Address, stop: Address| {
        let (start, stop) = (start.native()?, stop.native()?);
        let is_range = start.is_ipv4() == stop.is_ipv4() && start <= stop;
        is_range.then_some(start..=stop).ok_or(Retval::from(Error::Range))
    };
    let remote = addresses(e.remote_address_start, e.remote_address_stop)?;
    let local = addresses(e.local_address_start, e.local_address_stop)?;
    if remote.start().is_ipv4() != local.start().is_ipv4() {
        return Err(Error::Families.into());
    }
    let action = match e.policy {
        IpsecSpdAction::BYPASS => Action::Bypass,
        IpsecSpdAction::DISCARD => Action::Discard,
        IpsecSpdAction::PROTECT => Action::Protect(e.sa_id),
        _ => return Err(Error::Unsupported.into()),
    };
    let policy = Policy {
        priority: e.priority,
        is_outbound: e.is_outbound,
        is_6: local.start().is_ipv6(),
        action,
        protocol: Some(Protocol(e.protocol)).filter(|p| p.0 != ANY),
        remote,
        local,
        remote_ports: e.remote_port_start..=e.remote_port_stop,
        local_ports: e.local_port_start..=e.local_port_stop,
    };
    Ok((e.spd_id, policy))
}

/// A policy for listing.
pub(super) fn described(spd_id: u32, policy: &Policy) -> PolicyFields {
    let (action, sa_id) = match policy.action {
        Action::Bypass => (IpsecSpdAction::BYPASS, u32::MAX),
        Action::Discard => (IpsecSpdAction::DISCARD, u32::MAX),
        Action::Protect(sa) => (IpsecSpdAction::PROTECT, sa),
    };
    PolicyFields {
        spd_id,
        priority: policy.priority,
        is_outbound: policy.is_outbound,
        sa_id,
        policy: action,
        protocol: policy.protocol.map_or(ANY, |p| p.0),
        remote_address_start: (*policy.remote.start()).into(),
        remote_address_stop: (*policy.remote.end()).into(),
        local_address_start: (*policy.local.start()).into(),
        local_address_stop: (*policy.local.end()).into(),
        remote_port_start: *policy.remote_ports.start(),
        remote_port_stop: *policy.remote_ports.end(),
        local_port_start: *policy.local_ports.start(),
        local_port_stop: *policy.local_ports.end(),
    }
}
