//! Messages of the module `vxlan_gpe`.

use control::api::types::{Address, IpProto};
use control::api::{Api, Fields, Message, Retval};
use net::adjacency::Link;
use net::tunnel::api::{outer, rows};
use net::tunnel::command::NETWORKS;
use net::tunnel::{Tunnel, no_interface};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{ETHERNET, IP4, IP6, PORT, VxlanGpe};

/// Addresses of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Ends {
    /// local address
    pub local: Address,
    /// remote address or multicast group
    pub remote: Address,
}

/// UDP ports of a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Fields)]
pub struct Ports {
    /// local UDP port; 0 for the default
    pub local_port: u16,
    /// Remote UDP port; 0 for the default
    pub remote_port: u16,
}

/// Fields of a new tunnel besides its addresses and ports.
#[derive(Clone, Copy, Debug, Fields)]
pub struct Wanted {
    /// interface of the multicast group
    pub mcast_sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
    /// table to look inner packets up in
    pub decap_vrf_id: u32,
    /// payload: 1 for IPv4, 2 for IPv6, 3 for Ethernet
    pub protocol: IpProto,
    /// VNI, 24 bits
    pub vni: u32,
    #[preset(true)]
    /// true to add, false to delete
    pub is_add: bool,
}

/// Fields of a tunnel besides its addresses and ports.
#[derive(Debug, PartialEq, Fields)]
pub struct Made {
    /// VNI
    pub vni: u32,
    /// payload: 1 for IPv4, 2 for IPv6, 3 for Ethernet
    pub protocol: IpProto,
    /// interface of the multicast group
    pub mcast_sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
    /// table to look inner packets up in
    pub decap_vrf_id: u32,
    /// true over IPv6
    pub is_ipv6: bool,
}

/// Add or delete a VXLAN-GPE tunnel with default ports.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct VxlanGpeAddDelTunnel {
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// the rest
    #[flatten]
    pub wanted: Wanted,
}

/// Add or delete a VXLAN-GPE tunnel.
#[derive(Clone, Copy, Debug, Message)]
#[replies(InterfaceReply)]
pub struct VxlanGpeAddDelTunnelV2 {
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// ports
    #[flatten]
    pub ports: Ports,
    /// the rest
    #[flatten]
    pub wanted: Wanted,
}

/// List VXLAN-GPE tunnels.
#[derive(Message)]
#[details(VxlanGpeTunnelDetails)]
pub struct VxlanGpeTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// List VXLAN-GPE tunnels with ports.
#[derive(Message)]
#[details(VxlanGpeTunnelV2Details)]
pub struct VxlanGpeTunnelV2Dump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A VXLAN-GPE tunnel.
#[derive(Debug, Message)]
pub struct VxlanGpeTunnelDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// the rest
    #[flatten]
    pub made: Made,
}

/// A VXLAN-GPE tunnel with its ports.
#[derive(Debug, PartialEq, Message)]
pub struct VxlanGpeTunnelV2Details {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// ports
    #[flatten]
    pub ports: Ports,
    /// the rest
    #[flatten]
    pub made: Made,
}

/// Enable or disable VXLAN-GPE bypass on an interface.
#[derive(Message)]
pub struct SwInterfaceSetVxlanGpeBypass {
    /// receive interface
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
    #[preset(true)]
    /// true to enable, false to disable
    pub enable: bool,
}

fn add_del(
    router: &mut Router,
    ends: Ends,
    ports: Ports,
    m: Wanted,
) -> Result<InterfaceReply, Retval> {
    let carried = match m.protocol.0 {
        IP4 => Link::Ip4,
        IP6 => Link::Ip6,
        ETHERNET => Link::Ethernet,
        _ => return Err(Retval::INVALID_VALUE),
    };
    if m.vni >= NETWORKS {
        return Err(Retval::INVALID_VALUE);
    }
    let outer = outer(router, (ends.local, ends.remote), m.mcast_sw_if_index, m.encap_vrf_id)?;
    let port = |port| if port == 0 { PORT } else { port };
    let gpe = VxlanGpe {
        vni: m.vni,
        local_port: port(ports.local_port),
        remote_port: port(ports.remote_port),
        carried,
        decap_vrf: m.decap_vrf_id,
    };
    Ok(InterfaceReply { sw_if_index: super::add_del(router, m.is_add, None, outer, gpe)? })
}

fn details(router: &Router, t: &Tunnel<VxlanGpe>) -> VxlanGpeTunnelV2Details {
    let protocol = match t.kind.carried {
        Link::Ip4 | Link::Mpls => IP4,
        Link::Ip6 => IP6,
        Link::Ethernet => ETHERNET,
    };
    VxlanGpeTunnelV2Details {
        sw_if_index: t.interface,
        ends: Ends { local: t.outer.src.into(), remote: t.outer.dst.into() },
        ports: Ports { local_port: t.kind.local_port, remote_port: t.kind.remote_port },
        made: Made {
            vni: t.kind.vni,
            protocol: IpProto(protocol),
            mcast_sw_if_index: t.outer.group_over.unwrap_or(no_interface()),
            encap_vrf_id: router.tunnel_table_id(&t.outer),
            decap_vrf_id: t.kind.decap_vrf,
            is_ipv6: t.outer.src.is_ipv6(),
        },
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("vxlan_gpe", "2.1.0")
        .call(|router: &mut Router, m: VxlanGpeAddDelTunnel| {
            add_del(router, m.ends, Ports::default(), m.wanted)
        })
        .call(|router, m: VxlanGpeAddDelTunnelV2| add_del(router, m.ends, m.ports, m.wanted))
        .dump(|router, m: VxlanGpeTunnelDump| {
            let row = |router: &Router, t: &Tunnel<VxlanGpe>| {
                let VxlanGpeTunnelV2Details { sw_if_index, ends, made, .. } = details(router, t);
                VxlanGpeTunnelDetails { sw_if_index, ends, made }
            };
            rows(router, m.sw_if_index, row)
        })
        .dump(|router, m: VxlanGpeTunnelV2Dump| rows(router, m.sw_if_index, details))
        .call(|router, m: SwInterfaceSetVxlanGpeBypass| {
            let done = router.bypass::<VxlanGpe>(m.sw_if_index, m.is_ipv6, m.enable);
            done.map_err(|_| Retval::INVALID_SW_IF_INDEX)
        });
}
