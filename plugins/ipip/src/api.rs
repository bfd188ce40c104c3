//! Messages of the module `ipip`.

use control::api::types::{Address, IpDscp};
use control::api::{Api, Message, Record, Retval};
use net::tunnel::{EncapDecapFlags, Error, Outer, Tunnel, TunnelMode};
use net::{InterfaceIndex, Router};

use super::Ipip;

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
#[reply(IpipAddTunnelReply)]
pub struct IpipAddTunnel {
    /// the tunnel
    pub tunnel: IpipTunnel,
}

/// The tunnel is made.
#[derive(Debug, Message)]
pub struct IpipAddTunnelReply {
    /// its interface
    pub sw_if_index: InterfaceIndex,
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

fn add(router: &mut Router, m: &IpipTunnel) -> Result<InterfaceIndex, Retval> {
    let (src, dst) = (m.src.native()?, m.dst.native()?);
    if (m.mode == TunnelMode::MP) != dst.is_unspecified() {
        return Err(Error::Destination(dst).into());
    }
    let table = router.tunnel_table(src, m.table_id)?;
    let (flags, dscp) = (m.flags, m.dscp.0);
    let outer = Outer { flags, dscp, ..Outer::new(src, dst, table) };
    let instance = Some(m.instance).filter(|n| *n != u32::MAX);
    Ok(router.add_tunnel(instance, outer, Ipip)?)
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
            Ok(IpipAddTunnelReply { sw_if_index: add(router, &m.tunnel)? })
        })
        .call(|router, m: IpipDelTunnel| Ok(router.remove_tunnel::<Ipip>(m.sw_if_index)?))
        .dump(|router, m: IpipTunnelDump| {
            let chosen = router.tunnels::<Ipip>().chosen(m.sw_if_index);
            chosen.map(|t| details(router, t)).collect()
        });
}
