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
    /// one far end or several
    pub mode: TunnelMode,
    /// fields that are copied
    pub flags: EncapDecapFlags,
    /// of ERSPAN, 10 bits
    pub session_id: u16,
    /// number in the interface's name; 4294967295 for the first that is free
    pub instance: u32,
    /// the table that leads to the far end
    pub outer_table_id: u32,
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// own address
    pub src: Address,
    /// far end; unspecified when there are several
    pub dst: Address,
}

/// A GRE tunnel with its key.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct GreTunnelV2 {
    /// the tunnel
    #[flatten]
    pub tunnel: GreTunnel,
    /// 0 for none
    pub key: u32,
}

/// Make or delete a GRE tunnel.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct GreTunnelAddDel {
    /// made, else deleted
    pub is_add: bool,
    /// the tunnel
    pub tunnel: GreTunnel,
}

/// Make or delete a GRE tunnel with a key.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct GreTunnelAddDelV2 {
    /// made, else deleted
    pub is_add: bool,
    /// the tunnel
    pub tunnel: GreTunnelV2,
}

/// List the GRE tunnels.
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
    /// the tunnel
    pub tunnel: GreTunnel,
}

/// List the GRE tunnels with their keys.
#[derive(Message)]
#[details(GreTunnelV2Details)]
pub struct GreTunnelV2Dump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A GRE tunnel with its key.
#[derive(Debug, Message)]
pub struct GreTunnelV2Details {
    /// the tunnel
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
