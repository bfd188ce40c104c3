//! Messages of the module `vxlan`.

use control::api::types::Address;
use control::api::{Api, Fields, Message, Retval};
use net::tunnel::api::{outer, rows};
use net::tunnel::command::NETWORKS;
use net::tunnel::{Tunnel, decap_next, next_number, no_interface};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{PORT, Vxlan};

/// Addresses of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Ends {
    /// local address
    pub src_address: Address,
    /// remote address or multicast group
    pub dst_address: Address,
}

/// UDP ports of a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Fields)]
pub struct Ports {
    /// local UDP port; 0 for the default
    pub src_port: u16,
    /// Remote UDP port; 0 for the default
    pub dst_port: u16,
}

/// The network of a tunnel, and where its packets go.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Network {
    /// interface of the multicast group
    pub mcast_sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
    /// next index of the decapsulation node; 4294967295 for Ethernet
    pub decap_next_index: u32,
    /// VNI, 24 bits
    pub vni: u32,
}

/// Add or delete a VXLAN tunnel with default ports.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct VxlanAddDelTunnel {
    #[preset(true)]
    /// true to add, false to delete
    pub is_add: bool,
    /// instance number in the name; 4294967295 for the first free one
    pub instance: u32,
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// VNI
    #[flatten]
    pub network: Network,
}

/// Add or delete a VXLAN tunnel.
#[derive(Clone, Copy, Debug, Fields)]
pub struct AddDelTunnel {
    #[preset(true)]
    /// true to add, false to delete
    pub is_add: bool,
    #[preset(4294967295)]
    /// instance number in the name; 4294967295 for the first free one
    pub instance: u32,
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// ports
    #[flatten]
    pub ports: Ports,
    /// VNI
    #[flatten]
    pub network: Network,
}

/// Add or delete a VXLAN tunnel.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct VxlanAddDelTunnelV2 {
    /// tunnel interface
    #[flatten]
    pub tunnel: AddDelTunnel,
}

/// Add or delete a VXLAN tunnel, for frames or routed packets.
#[derive(Clone, Copy, Debug, Message)]
#[replies(InterfaceReply)]
pub struct VxlanAddDelTunnelV3 {
    /// tunnel interface
    #[flatten]
    pub tunnel: AddDelTunnel,
    #[preset(false)]
    /// true for layer 3: the interface has the MAC address common to such interfaces
    pub is_l3: bool,
}

/// List VXLAN tunnels.
#[derive(Message)]
#[option("deprecated")]
#[details(VxlanTunnelDetails)]
pub struct VxlanTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// List VXLAN tunnels with ports.
#[derive(Message)]
#[details(VxlanTunnelV2Details)]
pub struct VxlanTunnelV2Dump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A VXLAN tunnel.
#[derive(Debug, Message)]
#[option("deprecated")]
pub struct VxlanTunnelDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// instance number in the interface name
    pub instance: u32,
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// VNI
    #[flatten]
    pub network: Network,
}

/// A VXLAN tunnel with its ports.
#[derive(Debug, PartialEq, Message)]
pub struct VxlanTunnelV2Details {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// instance number in the interface name
    pub instance: u32,
    /// addresses
    #[flatten]
    pub ends: Ends,
    /// ports
    #[flatten]
    pub ports: Ports,
    /// VNI
    #[flatten]
    pub network: Network,
}

/// Enable or disable VXLAN bypass on an interface.
#[derive(Message)]
pub struct SwInterfaceSetVxlanBypass {
    /// receive interface
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
    #[preset(true)]
    /// true to enable, false to disable
    pub enable: bool,
}

/// Enable or disable hardware offload of a tunnel; no device supports it.
#[derive(Message)]
pub struct VxlanOffloadRx {
    /// the device
    pub hw_if_index: InterfaceIndex,
    /// tunnel interface
    pub sw_if_index: InterfaceIndex,
    #[preset(true)]
    /// true to enable, false to disable
    pub enable: bool,
}

fn add_del(router: &mut Router, m: AddDelTunnel, is_l3: bool) -> Result<InterfaceReply, Retval> {
    let AddDelTunnel { ends, ports, network, .. } = m;
    if network.vni >= NETWORKS {
        return Err(Retval::INVALID_VALUE);
    }
    let ends = (ends.src_address, ends.dst_address);
    let outer = outer(router, ends, network.mcast_sw_if_index, network.encap_vrf_id)?;
    let port = |port| if port == 0 { PORT } else { port };
    let vxlan = Vxlan {
        vni: network.vni,
        src_port: port(ports.src_port),
        dst_port: port(ports.dst_port),
        next: decap_next(network.decap_next_index),
        is_l3,
    };
    let instance = Some(m.instance).filter(|n| *n != u32::MAX);
    let sw_if_index = router.add_or_remove_tunnel(m.is_add, instance, outer, vxlan)?;
    Ok(InterfaceReply { sw_if_index })
}

fn details(router: &Router, t: &Tunnel<Vxlan>) -> VxlanTunnelV2Details {
    VxlanTunnelV2Details {
        sw_if_index: t.interface,
        instance: t.instance,
        ends: Ends { src_address: t.outer.src.into(), dst_address: t.outer.dst.into() },
        ports: Ports { src_port: t.kind.src_port, dst_port: t.kind.dst_port },
        network: Network {
            mcast_sw_if_index: t.outer.group_over.unwrap_or(no_interface()),
            encap_vrf_id: router.tunnel_table_id(&t.outer),
            decap_next_index: next_number(t.kind.next),
            vni: t.kind.vni,
        },
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("vxlan", "2.1.0")
        .call(|router: &mut Router, m: VxlanAddDelTunnel| {
            let VxlanAddDelTunnel { is_add, instance, ends, network } = m;
            let ports = Ports::default();
            add_del(router, AddDelTunnel { is_add, instance, ends, ports, network }, false)
        })
        .call(|router, m: VxlanAddDelTunnelV2| add_del(router, m.tunnel, false))
        .call(|router, m: VxlanAddDelTunnelV3| add_del(router, m.tunnel, m.is_l3))
        .dump(|router, m: VxlanTunnelDump| {
            let row = |router: &Router, t: &Tunnel<Vxlan>| {
                let VxlanTunnelV2Details { sw_if_index, instance, ends, network, .. } =
                    details(router, t);
                VxlanTunnelDetails { sw_if_index, instance, ends, network }
            };
            rows(router, m.sw_if_index, row)
        })
        .dump(|router, m: VxlanTunnelV2Dump| rows(router, m.sw_if_index, details))
        .call(|router, m: SwInterfaceSetVxlanBypass| {
            let done = router.bypass::<Vxlan>(m.sw_if_index, m.is_ipv6, m.enable);
            done.map_err(|_| Retval::INVALID_SW_IF_INDEX)
        })
        .call(|router, m: VxlanOffloadRx| {
            Ok(super::offload(router, m.hw_if_index, m.sw_if_index, m.enable)?)
        });
}
