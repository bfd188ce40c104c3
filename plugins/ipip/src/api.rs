//! Messages of the module `ipip`.

use std::net::Ipv4Addr;

use control::api::types::{Address, Ip4Prefix, Ip6Prefix, IpDscp};
use control::api::{Api, Message, Record, Retval};
use net::tunnel::{EncapDecapFlags, Error, Outer, Tunnel, TunnelMode};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{Ipip, SixRd, sixrd};

/// An IP in IP tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct IpipTunnel {
    /// number in the interface's name; 4294967295 for the first that is free
    pub instance: u32,
    /// own address
    pub src: Address,
    /// far end; unspecified when there are several
    pub dst: Address,
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// the table that leads to the far end
    pub table_id: u32,
    /// fields that are copied
    pub flags: EncapDecapFlags,
    /// one far end or several
    pub mode: TunnelMode,
    /// code point of outer headers
    pub dscp: IpDscp,
}

/// Make an IP in IP tunnel.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct IpipAddTunnel {
    /// the tunnel
    pub tunnel: IpipTunnel,
}

/// Delete an IP in IP tunnel.
#[derive(Message)]
pub struct IpipDelTunnel {
    /// its interface
    pub sw_if_index: InterfaceIndex,
}

/// List the IP in IP tunnels.
#[derive(Message)]
#[details(IpipTunnelDetails)]
pub struct IpipTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// An IP in IP tunnel.
#[derive(Debug, Message)]
pub struct IpipTunnelDetails {
    /// the tunnel
    pub tunnel: IpipTunnel,
}

/// Make a tunnel whose far ends are found in IPv6 addresses (6RD).
#[derive(Message)]
#[reply(Ipip6RdAddTunnelReply)]
#[name("ipip_6rd_add_tunnel")]
pub struct Ipip6RdAddTunnel {
    /// the table that carried packets are looked up in
    pub ip6_table_id: u32,
    /// the table that leads to far ends
    pub ip4_table_id: u32,
    /// prefix of all IPv6 addresses of the domain
    pub ip6_prefix: Ip6Prefix,
    /// prefix of all IPv4 addresses of the domain
    pub ip4_prefix: Ip4Prefix,
    /// own address
    pub ip4_src: Ipv4Addr,
    /// whether sources must be those of the far end
    pub security_check: bool,
    /// type of service of outer headers; 255 for that of carried packets
    pub tc_tos: u8,
}

/// The tunnel is made.
#[derive(Debug, Message)]
#[name("ipip_6rd_add_tunnel_reply")]
pub struct Ipip6RdAddTunnelReply {
    /// its interface
    pub sw_if_index: InterfaceIndex,
}

/// Delete a 6RD tunnel.
#[derive(Message)]
#[name("ipip_6rd_del_tunnel")]
pub struct Ipip6RdDelTunnel {
    /// its interface
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
                tos: Some(m.tc_tos).filter(|tos| *tos != u8::MAX),
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
