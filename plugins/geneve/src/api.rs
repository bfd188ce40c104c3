//! Messages of the module `geneve`.

use control::api::types::Address;
use control::api::{Api, Fields, Message, Retval};
use net::tunnel::api::{outer, rows};
use net::tunnel::command::NETWORKS;
use net::tunnel::{Tunnel, decap_next, next_number, no_interface};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::Geneve;

/// A tunnel to make or delete.
#[derive(Clone, Copy, Debug, Fields)]
pub struct AddDelTunnel {
    /// made, else deleted
    pub is_add: bool,
    /// own address
    pub local_address: Address,
    /// far end, or multicast group
    pub remote_address: Address,
    /// interface that the group is reached by
    pub mcast_sw_if_index: InterfaceIndex,
    /// the table that leads to the far end
    pub encap_vrf_id: u32,
    /// edge of the input node; 4294967295 for that of frames
    pub decap_next_index: u32,
    /// network, 24 bits
    pub vni: u32,
}

/// Make or delete a GENEVE tunnel.
#[derive(Message)]
#[option("deprecated")]
#[reply(GeneveAddDelTunnelReply)]
pub struct GeneveAddDelTunnel {
    /// the tunnel
    #[flatten]
    pub tunnel: AddDelTunnel,
}

/// The tunnel is made or deleted.
#[derive(Debug, Message)]
pub struct GeneveAddDelTunnelReply {
    /// its interface
    pub sw_if_index: InterfaceIndex,
}

/// Make or delete a GENEVE tunnel, for frames or for routed packets.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct GeneveAddDelTunnel2 {
    /// the tunnel
    #[flatten]
    pub tunnel: AddDelTunnel,
    /// whether the interface has the address that all such interfaces have
    pub l3_mode: bool,
}

/// List the GENEVE tunnels.
#[derive(Message)]
#[details(GeneveTunnelDetails)]
pub struct GeneveTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A GENEVE tunnel.
#[derive(Debug, PartialEq, Message)]
pub struct GeneveTunnelDetails {
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// own address
    pub src_address: Address,
    /// far end, or multicast group
    pub dst_address: Address,
    /// interface that the group is reached by
    pub mcast_sw_if_index: InterfaceIndex,
    /// the table that leads to the far end
    pub encap_vrf_id: u32,
    /// edge of the input node
    pub decap_next_index: u32,
    /// network
    pub vni: u32,
}

/// Have packets of GENEVE tunnels leave the usual path where they come in, or no longer.
#[derive(Message)]
pub struct SwInterfaceSetGeneveBypass {
    /// the interface they come in by
    pub sw_if_index: InterfaceIndex,
    /// of IPv6, else of IPv4
    pub is_ipv6: bool,
    /// they leave
    pub enable: bool,
}

fn add_del(router: &mut Router, m: AddDelTunnel, is_l3: bool) -> Result<InterfaceIndex, Retval> {
    if m.vni >= NETWORKS {
        return Err(Retval::INVALID_VALUE);
    }
    let ends = (m.local_address, m.remote_address);
    let outer = outer(router, ends, m.mcast_sw_if_index, m.encap_vrf_id)?;
    let geneve = Geneve { vni: m.vni, next: decap_next(m.decap_next_index), is_l3 };
    Ok(router.add_or_remove_tunnel(m.is_add, None, outer, geneve)?)
}

fn details(router: &Router, t: &Tunnel<Geneve>) -> GeneveTunnelDetails {
    GeneveTunnelDetails {
        sw_if_index: t.interface,
        src_address: t.outer.src.into(),
        dst_address: t.outer.dst.into(),
        mcast_sw_if_index: t.outer.group_over.unwrap_or(no_interface()),
        encap_vrf_id: router.tunnel_table_id(&t.outer),
        decap_next_index: next_number(t.kind.next),
        vni: t.kind.vni,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("geneve", "2.1.0")
        .call(|router: &mut Router, m: GeneveAddDelTunnel| {
            Ok(GeneveAddDelTunnelReply { sw_if_index: add_del(router, m.tunnel, false)? })
        })
        .call(|router, m: GeneveAddDelTunnel2| {
            Ok(InterfaceReply { sw_if_index: add_del(router, m.tunnel, m.l3_mode)? })
        })
        .dump(|router, m: GeneveTunnelDump| rows(router, m.sw_if_index, details))
        .call(|router, m: SwInterfaceSetGeneveBypass| {
            let done = router.bypass::<Geneve>(m.sw_if_index, m.is_ipv6, m.enable);
            done.map_err(|_| Retval::INVALID_SW_IF_INDEX)
        });
}
