//! Messages of the module `gre`.

use control::api::types::Address;
use control::api::{Api, Fields, Message, Record, Retval};
use net::tunnel::api::rows;
use net::tunnel::{EncapDecapFlags, Error, Outer, Tunnel, TunnelMode};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{Gre, What};

control::numbers! {
    /// Payload of a GRE tunnel.
    pub enum GreTunnelType: u8 = "gre_tunnel_type" in "" {
        L3 = 0 => "GRE_API_TUNNEL_TYPE_L3",
        TEB = 1 => "GRE_API_TUNNEL_TYPE_TEB",
        ERSPAN = 2 => "GRE_API_TUNNEL_TYPE_ERSPAN",
    }
}

/// A GRE tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Fields, Record)]
pub struct GreTunnel {
    /// payload
    #[name("type")]
    pub kind: GreTunnelType,
    /// point-to-point or multipoint
    pub mode: TunnelMode,
    /// fields to copy
    pub flags: EncapDecapFlags,
    /// ERSPAN session ID, 10 bits
    pub session_id: u16,
    /// instance number in the name; 4294967295 for the first free one
    pub instance: u32,
    /// table to route the outer packets in
    pub outer_table_id: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub src: Address,
    /// remote address; unspecified if there are several
    pub dst: Address,
}

/// A GRE tunnel with its key.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct GreTunnelV2 {
    /// tunnel interface
    #[flatten]
    pub tunnel: GreTunnel,
    /// 0 for none
    pub key: u32,
}

/// Add or delete a GRE tunnel.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct GreTunnelAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// tunnel interface
    pub tunnel: GreTunnel,
}

/// Add or delete a GRE tunnel with a key.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct GreTunnelAddDelV2 {
    /// true to add, false to delete
    pub is_add: bool,
    /// tunnel interface
    pub tunnel: GreTunnelV2,
}

/// List GRE tunnels.
#[derive(Message)]
#[option("deprecated")]
#[details(GreTunnelDetails)]
pub struct GreTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A GRE tunnel.
#[derive(Debug, Message)]
#[option("deprecated")]
pub struct GreTunnelDetails {
    /// tunnel interface
    pub tunnel: GreTunnel,
}

/// List GRE tunnels with keys.
#[derive(Message)]
#[details(GreTunnelV2Details)]
pub struct GreTunnelV2Dump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A GRE tunnel with its key.
#[derive(Debug, Message)]
pub struct GreTunnelV2Details {
    /// tunnel interface
    pub tunnel: GreTunnelV2,
}

fn add_del(
    router: &mut Router,
    is_add: bool,
    m: &GreTunnel,
    key: u32,
) -> Result<InterfaceReply, Retval> {
    let (src, dst) = (m.src.native()?, m.dst.native()?);
    if (m.mode == TunnelMode::MP) != dst.is_unspecified() {
        return Err(Error::Destination(dst).into());
    }
    let what = match m.kind {
        GreTunnelType::L3 => What::Packets,
        GreTunnelType::TEB => What::Frames,
        GreTunnelType::ERSPAN if m.session_id <= super::SESSION => What::Mirrored(m.session_id),
        _ => return Err(Retval::INVALID_VALUE),
    };
    let outer = Outer::new(src, dst, router.tunnel_table(src, m.outer_table_id)?);
    let (outer, gre) = (Outer { flags: m.flags, ..outer }, Gre { what, key });
    let instance = Some(m.instance).filter(|n| *n != u32::MAX);
    let sw_if_index = router.add_or_remove_tunnel(is_add, instance, outer, gre)?;
    Ok(InterfaceReply { sw_if_index })
}

fn described(router: &Router, t: &Tunnel<Gre>) -> GreTunnel {
    let (kind, session_id) = match t.kind.what {
        What::Packets => (GreTunnelType::L3, 0),
        What::Frames => (GreTunnelType::TEB, 0),
        What::Mirrored(session) => (GreTunnelType::ERSPAN, session),
    };
    GreTunnel {
        kind,
        mode: TunnelMode::of(t.outer.is_multipoint()),
        flags: t.outer.flags,
        session_id,
        instance: t.instance,
        outer_table_id: router.tunnel_table_id(&t.outer),
        sw_if_index: t.interface,
        src: t.outer.src.into(),
        dst: t.outer.dst.into(),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("gre", "2.2.0")
        .call(|router: &mut Router, m: GreTunnelAddDel| add_del(router, m.is_add, &m.tunnel, 0))
        .call(|router, m: GreTunnelAddDelV2| {
            add_del(router, m.is_add, &m.tunnel.tunnel, m.tunnel.key)
        })
        .dump(|router, m: GreTunnelDump| {
            rows(router, m.sw_if_index, |r, t| GreTunnelDetails { tunnel: described(r, t) })
        })
        .dump(|router, m: GreTunnelV2Dump| {
            rows(router, m.sw_if_index, |router, t: &Tunnel<Gre>| {
                let tunnel = GreTunnelV2 { tunnel: described(router, t), key: t.kind.key };
                GreTunnelV2Details { tunnel }
            })
        });
}
