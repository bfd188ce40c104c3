//! Messages of the module `ipip`.

use std::net::Ipv4Addr;

use control::api::types::{Address, Ip4Prefix, Ip6Prefix, IpDscp};
use control::api::{Api, Message, Record, Retval};
use net::tunnel::{EncapDecapFlags, Error, Outer, Tunnel, TunnelMode};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{Ipip, SixRd, sixrd};

/// An IP-in-IP tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct IpipTunnel {
    /// instance number in the name; 4294967295 for the first free one
    pub instance: u32,
    /// local address
    pub src: Address,
    /// remote address; unspecified if there are several
    pub dst: Address,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub table_id: u32,
    /// fields to copy
    pub flags: EncapDecapFlags,
    /// point-to-point or multipoint
    pub mode: TunnelMode,
    /// DSCP of outer headers
    pub dscp: IpDscp,
}

/// Add an IP-in-IP tunnel.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct IpipAddTunnel {
    /// tunnel interface
    pub tunnel: IpipTunnel,
}

/// Delete an IP-in-IP tunnel.
#[derive(Message)]
pub struct IpipDelTunnel {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List IP-in-IP tunnels.
#[derive(Message)]
#[details(IpipTunnelDetails)]
pub struct IpipTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// An IP-in-IP tunnel.
#[derive(Debug, Message)]
pub struct IpipTunnelDetails {
    /// tunnel interface
    pub tunnel: IpipTunnel,
}

/// Add a 6RD tunnel.
#[derive(Message)]
#[reply(Ipip6RdAddTunnelReply)]
#[name("ipip_6rd_add_tunnel")]
pub struct Ipip6RdAddTunnel {
    /// table to look inner packets up in
    pub ip6_table_id: u32,
    /// table to route outer packets in
    pub ip4_table_id: u32,
    /// IPv6 prefix of the domain
    pub ip6_prefix: Ip6Prefix,
    /// IPv4 prefix of the domain
    pub ip4_prefix: Ip4Prefix,
    /// local address
    pub ip4_src: Ipv4Addr,
    /// true to check that inner sources match the outer source
    pub security_check: bool,
    /// type of service of outer headers; 255 to copy it from inner packets
    pub tc_tos: u8,
}

/// Reply: index of the tunnel interface.
#[derive(Debug, Message)]
#[name("ipip_6rd_add_tunnel_reply")]
pub struct Ipip6RdAddTunnelReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Delete a 6RD tunnel.
#[derive(Message)]
#[name("ipip_6rd_del_tunnel")]
pub struct Ipip6RdDelTunnel {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

fn add(router: &mut Router, m: &IpipTunnel) -> Result<InterfaceIndex, Retval> {
    let (src, dst) = (m.src.native()?, m.dst.native()?);
    if (m.mode == TunnelMode::MP) != dst.is_unspecified() {
        return Err(Error::Destination(dst).into());
    }
    let table = router.tunnel_table(src, m.table_id)?;
    let (flags, dscp) = (m.flags, m.dscp.0);
    let outer = Outer { flags, dscp, ..Outer::new(src, dst, table) };
    let instance = Some(m.instance).filter(|n| *n != u32::MAX);
    Ok(router.add_tunnel(instance, outer, Ipip::default())?)
}

fn details(router: &Router, t: &Tunnel<Ipip>) -> IpipTunnelDetails {
    let tunnel = IpipTunnel {
        instance: t.instance,
        src: t.outer.src.into(),
        dst: t.outer.dst.into(),
        sw_if_index: t.interface,
        table_id: router.tunnel_table_id(&t.outer),
        flags: t.outer.flags,
        mode: TunnelMode::of(t.outer.is_multipoint()),
        dscp: IpDscp(t.outer.dscp),
    };
    IpipTunnelDetails { tunnel }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("ipip", "2.0.2")
        .call(|router: &mut Router, m: IpipAddTunnel| {
            Ok(InterfaceReply { sw_if_index: add(router, &m.tunnel)? })
        })
        .call(|router, m: IpipDelTunnel| Ok(sixrd::remove(router, m.sw_if_index, false)?))
        .call(|router, m: Ipip6RdAddTunnel| {
            let wrong = |_| Retval::INVALID_VALUE;
            let ip6 = wire::Ip6Prefix::new(m.ip6_prefix.address, m.ip6_prefix.len);
            let ip4 = wire::Ip4Prefix::new(m.ip4_prefix.address, m.ip4_prefix.len);
            let (ip6, ip4) = (ip6.map_err(wrong)?, ip4.map_err(wrong)?);
            let rule = SixRd {
                ip6,
                ip4,
                ip6_table: m.ip6_table_id,
                has_check: m.security_check,
                tos: sixrd::tos_of(m.tc_tos),
            };
            let sw_if_index = sixrd::add(router, m.ip4_src, rule, None, m.ip4_table_id)?;
            Ok(Ipip6RdAddTunnelReply { sw_if_index })
        })
        .call(|router, m: Ipip6RdDelTunnel| Ok(sixrd::remove(router, m.sw_if_index, true)?))
        .dump(|router, m: IpipTunnelDump| {
            let chosen = router.tunnels::<Ipip>().chosen(m.sw_if_index);
            let plain = chosen.filter(|t| t.kind.sixrd.is_none());
            plain.map(|t| details(router, t)).collect()
        });
}
