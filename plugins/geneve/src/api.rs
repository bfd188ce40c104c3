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
    /// true to add, false to delete
    pub is_add: bool,
    /// local address
    pub local_address: Address,
    /// remote address or multicast group
    pub remote_address: Address,
    /// interface of the multicast group
    pub mcast_sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
    /// next index of the decapsulation node; 4294967295 for Ethernet
    pub decap_next_index: u32,
    /// VNI, 24 bits
    pub vni: u32,
}

/// Add or delete a GENEVE tunnel.
#[derive(Message)]
#[option("deprecated")]
#[reply(GeneveAddDelTunnelReply)]
pub struct GeneveAddDelTunnel {
    /// tunnel interface
    #[flatten]
    pub tunnel: AddDelTunnel,
}

/// Reply: index of the tunnel interface.
#[derive(Debug, Message)]
pub struct GeneveAddDelTunnelReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a GENEVE tunnel for frames or routed packets.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct GeneveAddDelTunnel2 {
    /// tunnel interface
    #[flatten]
    pub tunnel: AddDelTunnel,
    /// true for layer 3: the interface has the MAC address common to such interfaces
    pub l3_mode: bool,
}

/// List GENEVE tunnels.
#[derive(Message)]
#[details(GeneveTunnelDetails)]
pub struct GeneveTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A GENEVE tunnel.
#[derive(Debug, PartialEq, Message)]
pub struct GeneveTunnelDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub src_address: Address,
    /// remote address or multicast group
    pub dst_address: Address,
    /// interface of the multicast group
    pub mcast_sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
    /// next index of the decapsulation node
    pub decap_next_index: u32,
    /// VNI
    pub vni: u32,
}

/// Enable or disable GENEVE bypass on an interface.
#[derive(Message)]
pub struct SwInterfaceSetGeneveBypass {
    /// receive interface
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
    /// true to enable, false to disable
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
