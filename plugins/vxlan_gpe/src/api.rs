//! Messages of the module `vxlan_gpe`.

use control::api::types::{Address, IpProto};
use control::api::{Api, Message, Retval};
use net::adjacency::Link;
use net::tunnel::command::NETWORKS;
use net::tunnel::{Outer, Tunnel, no_interface};
use net::{InterfaceIndex, Router};

use super::{ETHERNET, IP4, IP6, PORT, VxlanGpe};

/// Make or delete a VXLAN-GPE tunnel between the usual ports.
#[derive(Message)]
#[reply(VxlanGpeAddDelTunnelReply)]
pub struct VxlanGpeAddDelTunnel {
    /// own address
    pub local: Address,
    /// far end, or multicast group
    pub remote: Address,
    /// interface that the group is reached by
    pub mcast_sw_if_index: InterfaceIndex,
    /// the table that leads to the far end
    pub encap_vrf_id: u32,
    /// the table that carried packets are looked up in
    pub decap_vrf_id: u32,
    /// payload: 1 for IPv4, 2 for IPv6, 3 for frames
    pub protocol: IpProto,
    /// network, 24 bits
    pub vni: u32,
    #[preset(true)]
    /// made, else deleted
    pub is_add: bool,
}

/// The tunnel is made or deleted.
#[derive(Debug, Message)]
pub struct VxlanGpeAddDelTunnelReply {
    /// its interface
    pub sw_if_index: InterfaceIndex,
}

/// Make or delete a VXLAN-GPE tunnel.
#[derive(Clone, Copy, Debug, Message)]
#[reply(VxlanGpeAddDelTunnelV2Reply)]
pub struct VxlanGpeAddDelTunnelV2 {
    /// own address
    pub local: Address,
    /// far end, or multicast group
    pub remote: Address,
    /// own UDP port; 0 for the usual one
    pub local_port: u16,
    /// UDP port of the far end; 0 for the usual one
    pub remote_port: u16,
    /// interface that the group is reached by
    pub mcast_sw_if_index: InterfaceIndex,
    /// the table that leads to the far end
    pub encap_vrf_id: u32,
    /// the table that carried packets are looked up in
    pub decap_vrf_id: u32,
    /// payload: 1 for IPv4, 2 for IPv6, 3 for frames
    pub protocol: IpProto,
    /// network, 24 bits
    pub vni: u32,
    #[preset(true)]
    /// made, else deleted
    pub is_add: bool,
}

/// The tunnel is made or deleted.
#[derive(Debug, Message)]
pub struct VxlanGpeAddDelTunnelV2Reply {
    /// its interface
    pub sw_if_index: InterfaceIndex,
}

/// List the VXLAN-GPE tunnels.
#[derive(Message)]
#[details(VxlanGpeTunnelDetails)]
pub struct VxlanGpeTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// List the VXLAN-GPE tunnels with their ports.
#[derive(Message)]
#[details(VxlanGpeTunnelV2Details)]
pub struct VxlanGpeTunnelV2Dump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A VXLAN-GPE tunnel.
#[derive(Debug, Message)]
pub struct VxlanGpeTunnelDetails {
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// own address
    pub local: Address,
    /// far end, or multicast group
    pub remote: Address,
    /// network
    pub vni: u32,
    /// payload: 1 for IPv4, 2 for IPv6, 3 for frames
    pub protocol: IpProto,
    /// interface that the group is reached by
    pub mcast_sw_if_index: InterfaceIndex,
    /// the table that leads to the far end
    pub encap_vrf_id: u32,
    /// the table that carried packets are looked up in
    pub decap_vrf_id: u32,
    /// whether it is over IPv6
    pub is_ipv6: bool,
}

/// A VXLAN-GPE tunnel with its ports.
#[derive(Debug, PartialEq, Message)]
pub struct VxlanGpeTunnelV2Details {
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// own address
    pub local: Address,
    /// far end, or multicast group
    pub remote: Address,
    /// own UDP port
    pub local_port: u16,
    /// UDP port of the far end
    pub remote_port: u16,
    /// network
    pub vni: u32,
    /// payload: 1 for IPv4, 2 for IPv6, 3 for frames
    pub protocol: IpProto,
    /// interface that the group is reached by
    pub mcast_sw_if_index: InterfaceIndex,
    /// the table that leads to the far end
    pub encap_vrf_id: u32,
    /// the table that carried packets are looked up in
    pub decap_vrf_id: u32,
    /// whether it is over IPv6
    pub is_ipv6: bool,
}

/// Have packets of VXLAN-GPE tunnels leave the usual way where they come in, or no longer.
#[derive(Message)]
pub struct SwInterfaceSetVxlanGpeBypass {
    /// the interface they come in by
    pub sw_if_index: InterfaceIndex,
    /// of IPv6, else of IPv4
    pub is_ipv6: bool,
    #[preset(true)]
    /// they leave
    pub enable: bool,
}

fn add_del(router: &mut Router, m: &VxlanGpeAddDelTunnelV2) -> Result<InterfaceIndex, Retval> {
    let (src, dst) = (m.local.native()?, m.remote.native()?);
    let carried = match m.protocol.0 {
        IP4 => Link::Ip4,
        IP6 => Link::Ip6,
        ETHERNET => Link::Ethernet,
        _ => return Err(Retval::INVALID_VALUE),
    };
    if m.vni >= NETWORKS {
        return Err(Retval::INVALID_VALUE);
    }
    let group_over = Some(m.mcast_sw_if_index).filter(|i| i.0 != u32::MAX);
    let port = |port| if port == 0 { PORT } else { port };
    let table = router.tunnel_table(src, m.encap_vrf_id)?;
    let outer = Outer { group_over, ..Outer::new(src, dst, table) };
    let gpe = VxlanGpe {
        vni: m.vni,
        local_port: port(m.local_port),
        remote_port: port(m.remote_port),
        carried,
        decap_vrf: m.decap_vrf_id,
    };
    Ok(super::add_del(router, m.is_add, None, outer, gpe)?)
}

fn details(router: &Router, t: &Tunnel<VxlanGpe>) -> VxlanGpeTunnelV2Details {
    let protocol = match t.kind.carried {
        Link::Ip4 | Link::Mpls => IP4,
        Link::Ip6 => IP6,
        Link::Ethernet => ETHERNET,
    };
    VxlanGpeTunnelV2Details {
        sw_if_index: t.interface,
        local: t.outer.src.into(),
        remote: t.outer.dst.into(),
        local_port: t.kind.local_port,
        remote_port: t.kind.remote_port,
        vni: t.kind.vni,
        protocol: IpProto(protocol),
        mcast_sw_if_index: t.outer.group_over.unwrap_or(no_interface()),
        encap_vrf_id: router.tunnel_table_id(&t.outer),
        decap_vrf_id: t.kind.decap_vrf,
        is_ipv6: t.outer.src.is_ipv6(),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("vxlan_gpe", "2.1.0")
        .call(|router: &mut Router, m: VxlanGpeAddDelTunnel| {
            let m = VxlanGpeAddDelTunnelV2 {
                local: m.local,
                remote: m.remote,
                local_port: 0,
                remote_port: 0,
                mcast_sw_if_index: m.mcast_sw_if_index,
                encap_vrf_id: m.encap_vrf_id,
                decap_vrf_id: m.decap_vrf_id,
                protocol: m.protocol,
                vni: m.vni,
                is_add: m.is_add,
            };
            Ok(VxlanGpeAddDelTunnelReply { sw_if_index: add_del(router, &m)? })
        })
        .call(|router, m: VxlanGpeAddDelTunnelV2| {
            Ok(VxlanGpeAddDelTunnelV2Reply { sw_if_index: add_del(router, &m)? })
        })
        .dump(|router, m: VxlanGpeTunnelDump| {
            let chosen = router.tunnels::<VxlanGpe>().chosen(m.sw_if_index);
            let row = |t| {
                let d = details(router, t);
                VxlanGpeTunnelDetails {
                    sw_if_index: d.sw_if_index,
                    local: d.local,
                    remote: d.remote,
                    vni: d.vni,
                    protocol: d.protocol,
                    mcast_sw_if_index: d.mcast_sw_if_index,
                    encap_vrf_id: d.encap_vrf_id,
                    decap_vrf_id: d.decap_vrf_id,
                    is_ipv6: d.is_ipv6,
                }
            };
            chosen.map(row).collect()
        })
        .dump(|router, m: VxlanGpeTunnelV2Dump| {
            let chosen = router.tunnels::<VxlanGpe>().chosen(m.sw_if_index);
            chosen.map(|t| details(router, t)).collect()
        })
        .call(|router, m: SwInterfaceSetVxlanGpeBypass| {
            let done = router.bypass::<VxlanGpe>(m.sw_if_index, m.is_ipv6, m.enable);
            done.map_err(|_| Retval::INVALID_SW_IF_INDEX)
        });
}
