//! Messages of the module `gtpu`.

use control::api::types::Address;
use control::api::{Api, Fields, Message, Record, Retval};
use graph::Slot;
use net::tunnel::api::{outer, rows};
use net::tunnel::{Error, Tunnel, no_interface};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::{Forward, Gtpu};

control::numbers! {
    /// Next node of decapsulated packets.
    pub enum GtpuDecapNextType: u32 = "gtpu_decap_next_type" in "" {
        DROP = 0 => "GTPU_API_DECAP_NEXT_DROP",
        L2 = 1 => "GTPU_API_DECAP_NEXT_L2",
        IP4 = 2 => "GTPU_API_DECAP_NEXT_IP4",
        IP6 = 3 => "GTPU_API_DECAP_NEXT_IP6",
    }
    /// Packets without a tunnel that are forwarded.
    pub enum GtpuForwardingType: u32 = "gtpu_forwarding_type" in "" {
        NONE = 0 => "GTPU_API_FORWARDING_NONE",
        BAD_HEADER = 1 => "GTPU_API_FORWARDING_BAD_HEADER",
        UNKNOWN_TEID = 2 => "GTPU_API_FORWARDING_UNKNOWN_TEID",
        UNKNOWN_TYPE = 4 => "GTPU_API_FORWARDING_UNKNOWN_TYPE",
    }
}

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Record)]
pub struct SwIfCounters {
    /// received packets
    pub packets_rx: u64,
    /// sent packets
    pub packets_tx: u64,
    /// bytes received
    pub bytes_rx: u64,
    /// bytes transmitted
    pub bytes_tx: u64,
}

/// Counters of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct TunnelMetrics {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// 0
    pub reserved: u32,
    /// counters
    pub counters: SwIfCounters,
}

/// The outer header of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct OuterFields {
    /// local address
    pub src_address: Address,
    /// remote address or multicast group
    pub dst_address: Address,
    /// interface of the multicast group
    pub mcast_sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
}

/// Add or delete a GTP-U tunnel.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct GtpuAddDelTunnel {
    /// true to add, false to delete
    pub is_add: bool,
    /// the outer header
    #[flatten]
    pub outer: OuterFields,
    /// payload type, or next index; 4294967295 for Ethernet
    pub decap_next_index: u32,
    /// local TEID
    pub teid: u32,
    /// remote TEID; 0 for the same
    pub tteid: u32,
}

/// Add or delete a GTP-U tunnel, with or without a QoS flow.
#[derive(Clone, Copy, Debug, Message)]
#[option("in_progress")]
#[reply(GtpuAddDelTunnelV2Reply)]
pub struct GtpuAddDelTunnelV2 {
    /// true to add, false to delete
    pub is_add: bool,
    /// the outer header
    #[flatten]
    pub outer: OuterFields,
    /// payload
    pub decap_next_index: GtpuDecapNextType,
    /// local TEID
    pub teid: u32,
    /// remote TEID; 0 for the same
    pub tteid: u32,
    /// true to send the PDU session container
    pub pdu_extension: bool,
    /// QoS flow identifier, 6 bits
    pub qfi: u8,
}

/// Reply: index of the tunnel interface.
#[derive(Debug, Message)]
#[option("in_progress")]
pub struct GtpuAddDelTunnelV2Reply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// counters
    pub counters: SwIfCounters,
}

/// Change the remote TEID.
#[derive(Message)]
pub struct GtpuTunnelUpdateTteid {
    /// remote address
    pub dst_address: Address,
    /// table to route the outer packets in
    pub encap_vrf_id: u32,
    /// local TEID
    pub teid: u32,
    /// new remote TEID
    pub tteid: u32,
}

/// List GTP-U tunnels.
#[derive(Message)]
#[details(GtpuTunnelDetails)]
pub struct GtpuTunnelDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A GTP-U tunnel.
#[derive(Debug, Message)]
pub struct GtpuTunnelDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// the outer header
    #[flatten]
    pub outer: OuterFields,
    /// payload type, or next index
    pub decap_next_index: u32,
    /// local TEID
    pub teid: u32,
    /// remote TEID
    pub tteid: u32,
}

/// List GTP-U tunnels with counters.
#[derive(Message)]
#[option("in_progress")]
#[details(GtpuTunnelV2Details)]
pub struct GtpuTunnelV2Dump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A GTP-U tunnel with counters.
#[derive(Debug, PartialEq, Message)]
#[option("in_progress")]
pub struct GtpuTunnelV2Details {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// the outer header
    #[flatten]
    pub outer: OuterFields,
    /// payload
    pub decap_next_index: GtpuDecapNextType,
    /// local TEID
    pub teid: u32,
    /// remote TEID
    pub tteid: u32,
    /// true to send the PDU session container
    pub pdu_extension: bool,
    /// QoS flow identifier
    pub qfi: u8,
    /// true if it takes packets without a tunnel
    pub is_forwarding: bool,
    /// type of these packets
    pub forwarding_type: GtpuForwardingType,
    /// counters
    pub counters: SwIfCounters,
}

/// Enable or disable GTP-U bypass on an interface.
#[derive(Message)]
pub struct SwInterfaceSetGtpuBypass {
    /// receive interface
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Get tunnel counters, starting at an interface.
#[derive(Message)]
#[option("in_progress")]
#[reply(GtpuGetTransferCountsReply)]
pub struct GtpuGetTransferCounts {
    /// primary interface
    pub sw_if_index_start: InterfaceIndex,
    /// maximum number of tunnels
    pub capacity: u32,
}

/// Counters of tunnels.
#[derive(Debug, Message)]
#[option("in_progress")]
pub struct GtpuGetTransferCountsReply {
    /// tunnels
    #[counted(count: u32)]
    pub tunnels: Vec<TunnelMetrics>,
}

/// Add or delete an interface for packets without a tunnel.
#[derive(Clone, Copy, Debug, Message)]
#[option("in_progress")]
#[replies(InterfaceReply)]
pub struct GtpuAddDelForward {
    /// true to add, false to delete
    pub is_add: bool,
    /// local address
    pub dst_address: Address,
    /// type of packets
    pub forwarding_type: GtpuForwardingType,
    /// table of the local address
    pub encap_vrf_id: u32,
    /// payload
    pub decap_next_index: GtpuDecapNextType,
}

/// Enable or disable hardware offload of a tunnel's receive path.
#[derive(Clone, Copy, Debug, Message)]
pub struct GtpuOffloadRx {
    /// the device
    pub hw_if_index: u32,
    /// tunnel interface
    pub sw_if_index: u32,
    /// true to enable, false to disable
    pub enable: u8,
}

fn add_del_forward(router: &mut Router, m: &GtpuAddDelForward) -> Result<InterfaceIndex, Retval> {
    let forward: Forward = m.forwarding_type.try_into()?;
    let is_l2 = m.decap_next_index.is_l2()?;
    let own = (m.dst_address.native()?, m.encap_vrf_id);
    let with = |plain| Gtpu { is_l2, ..plain };
    Ok(super::set_forward(router, m.is_add, None, own, forward, with)?)
}

impl GtpuDecapNextType {
    fn of(gtpu: &Gtpu) -> Self {
        if gtpu.is_l2 { Self::L2 } else { Self::IP4 }
    }
    fn is_l2(self) -> Result<bool, Retval> {
        match self {
            Self::L2 => Ok(true),
            Self::IP4 | Self::IP6 => Ok(false),
            _ => Err(Retval::INVALID_VALUE),
        }
    }
}

fn add_del(
    router: &mut Router,
    m: &GtpuAddDelTunnelV2,
    next: Option<Slot>,
) -> Result<InterfaceIndex, Retval> {
    let is_l2 = m.decap_next_index.is_l2()?;
    if m.pdu_extension && m.qfi > super::FLOW {
        return Err(Retval::INVALID_VALUE);
    }
    let OuterFields { src_address, dst_address, mcast_sw_if_index, encap_vrf_id } = m.outer;
    let outer = outer(router, (src_address, dst_address), mcast_sw_if_index, encap_vrf_id)?;
    let tteid = if m.tteid == 0 { m.teid } else { m.tteid };
    let qfi = m.pdu_extension.then_some(m.qfi);
    let gtpu = Gtpu { teid: m.teid, tteid, qfi, is_l2, next, forward: None };
    Ok(router.add_or_remove_tunnel(m.is_add, None, outer, gtpu)?)
}

fn counters(router: &Router, interface: InterfaceIndex) -> SwIfCounters {
    let values = router.interfaces.values(interface);
    SwIfCounters {
        packets_rx: values.rx.packets,
        packets_tx: values.tx.packets,
        bytes_rx: values.rx.bytes,
        bytes_tx: values.tx.bytes,
    }
}

fn details(router: &Router, t: &Tunnel<Gtpu>) -> GtpuTunnelV2Details {
    GtpuTunnelV2Details {
        sw_if_index: t.interface,
        outer: OuterFields {
            src_address: t.outer.src.into(),
            dst_address: t.outer.dst.into(),
            mcast_sw_if_index: t.outer.group_over.unwrap_or(no_interface()),
            encap_vrf_id: router.tunnel_table_id(&t.outer),
        },
        decap_next_index: GtpuDecapNextType::of(&t.kind),
        teid: t.kind.teid,
        tteid: t.kind.tteid,
        pdu_extension: t.kind.qfi.is_some(),
        qfi: t.kind.qfi.unwrap_or_default(),
        is_forwarding: t.kind.forward.is_some(),
        forwarding_type: t.kind.forward.map_or(GtpuForwardingType::NONE, Into::into),
        counters: counters(router, t.interface),
    }
}

fn plain_details(router: &Router, t: &Tunnel<Gtpu>) -> GtpuTunnelDetails {
    let d = details(router, t);
    GtpuTunnelDetails {
        sw_if_index: d.sw_if_index,
        outer: d.outer,
        decap_next_index: t.kind.next.map_or(d.decap_next_index.0, |slot| slot.0),
        teid: d.teid,
        tteid: d.tteid,
    }
}

/// Changes the identifier that is sent to a far end.
///
/// # Errors
/// No such tunnel.
pub(super) fn update(router: &mut Router, m: &GtpuTunnelUpdateTteid) -> Result<(), Retval> {
    let dst = m.dst_address.native()?;
    let table = router.tunnel_table(dst, m.encap_vrf_id)?;
    let is_meant =
        |t: &&Tunnel<Gtpu>| (t.outer.dst, t.outer.table, t.kind.teid) == (dst, table, m.teid);
    let found = router.tunnels::<Gtpu>().iter().find(is_meant).ok_or(Error::Unknown)?;
    let (interface, kind) = (found.interface, Gtpu { tteid: m.tteid, ..found.kind });
    Ok(router.change_tunnel(interface, kind)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("gtpu", "2.1.0")
        .call(|router: &mut Router, m: GtpuAddDelTunnel| {
            let (kind, next) = match m.decap_next_index {
                u32::MAX => (GtpuDecapNextType::L2, None),
                number @ 0..=3 => (GtpuDecapNextType(number), None),
                number => (GtpuDecapNextType::L2, Some(Slot(number))),
            };
            let m = GtpuAddDelTunnelV2 {
                is_add: m.is_add,
                outer: m.outer,
                decap_next_index: kind,
                teid: m.teid,
                tteid: m.tteid,
                pdu_extension: false,
                qfi: 0,
            };
            Ok(InterfaceReply { sw_if_index: add_del(router, &m, next)? })
        })
        .call(|router, m: GtpuAddDelTunnelV2| {
            let sw_if_index = add_del(router, &m, None)?;
            Ok(GtpuAddDelTunnelV2Reply { sw_if_index, counters: counters(router, sw_if_index) })
        })
        .call(|router, m: GtpuTunnelUpdateTteid| update(router, &m))
        .call(|router, m: GtpuAddDelForward| {
            Ok(InterfaceReply { sw_if_index: add_del_forward(router, &m)? })
        })
        .call(|router, m: GtpuOffloadRx| {
            let [device, tunnel] = [m.hw_if_index, m.sw_if_index].map(InterfaceIndex);
            Ok(super::offload(router, device, tunnel, m.enable != 0)?)
        })
        .dump(|router, m: GtpuTunnelDump| rows(router, m.sw_if_index, plain_details))
        .dump(|router, m: GtpuTunnelV2Dump| rows(router, m.sw_if_index, details))
        .call(|router, m: SwInterfaceSetGtpuBypass| {
            let done = router.bypass::<Gtpu>(m.sw_if_index, m.is_ipv6, m.enable);
            done.map_err(|_| Retval::INVALID_SW_IF_INDEX)
        })
        .call(|router, m: GtpuGetTransferCounts| {
            let mut all: Vec<_> = router.tunnels::<Gtpu>().iter().map(|t| t.interface).collect();
            all.sort_unstable();
            let some = all.into_iter().filter(|i| *i >= m.sw_if_index_start);
            let row = |sw_if_index| {
                let counters = counters(router, sw_if_index);
                TunnelMetrics { sw_if_index, reserved: 0, counters }
            };
            let tunnels: Vec<_> = some.take(m.capacity as usize).map(row).collect();
            Ok(GtpuGetTransferCountsReply { tunnels })
        });
}
