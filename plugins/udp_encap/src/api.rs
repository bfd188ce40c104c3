//! Messages of the module `udp` about encapsulations and decapsulations.

use control::api::Record;
use control::api::types::Address;
use net::prelude::*;

use super::decap::UdpDecapNextProto;
use super::{Decap, Encaps, UdpEncap, decap};

/// An encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[name("udp_encap")]
pub struct ApiUdpEncap {
    /// table to route the outer packets in
    pub table_id: u32,
    /// source port; 0 to derive it from the flow
    pub src_port: u16,
    /// destination port
    pub dst_port: u16,
    /// local address
    pub src_ip: Address,
    /// remote address
    pub dst_ip: Address,
    /// index
    pub id: u32,
}

/// A decapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct UdpDecap {
    /// true for IPv4, false for IPv6
    pub is_ip4: u8,
    /// port
    pub port: u16,
    /// payload type
    pub next_proto: UdpDecapNextProto,
}

/// Add an encapsulation.
#[derive(Message)]
#[reply(UdpEncapAddReply)]
pub struct UdpEncapAdd {
    /// encapsulation headers; the ID is allocated
    pub udp_encap: ApiUdpEncap,
}

/// Reply: index of the new interface.
#[derive(Debug, Message)]
pub struct UdpEncapAddReply {
    /// ID, in paths and in `/net/udp-encap`
    pub id: u32,
}

/// Delete an encapsulation; paths that refer to it remain.
#[derive(Message)]
pub struct UdpEncapDel {
    /// index
    pub id: u32,
}

/// List encapsulations.
#[derive(Message)]
#[details(UdpEncapDetails)]
pub struct UdpEncapDump {}

/// An encapsulation.
#[derive(Debug, Message)]
pub struct UdpEncapDetails {
    /// identification
    pub udp_encap: ApiUdpEncap,
}

/// Enable or disable decapsulation of a UDP port.
#[derive(Message)]
pub struct UdpDecapAddDel {
    /// true to enable, false to disable
    pub is_add: bool,
    /// port
    pub udp_decap: UdpDecap,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("udp", "1.1.0")
        .call(|router: &mut Router, m: UdpEncapAdd| {
            let m = m.udp_encap;
            let new = UdpEncap {
                src: m.src_ip.native()?,
                dst: m.dst_ip.native()?,
                src_port: (m.src_port != 0).then_some(m.src_port),
                dst_port: m.dst_port,
                table_id: m.table_id,
            };
            Ok(UdpEncapAddReply { id: super::add(router, None, new)? })
        })
        .call(|router, m: UdpEncapDel| Ok(super::remove(router, m.id)?))
        .dump(|router, _: UdpEncapDump| {
            let all = router.own::<Encaps>().made.iter().filter(|(_, made)| made.is_wanted);
            let details = all.map(|(id, made)| {
                let e = made.encap;
                let udp_encap = ApiUdpEncap {
                    table_id: e.table_id,
                    src_port: e.src_port.unwrap_or_default(),
                    dst_port: e.dst_port,
                    src_ip: e.src.into(),
                    dst_ip: e.dst.into(),
                    id: *id,
                };
                UdpEncapDetails { udp_encap }
            });
            details.collect()
        })
        .call(|router, m: UdpDecapAddDel| {
            let at =
                Decap { version: IpVersion::six(m.udp_decap.is_ip4 == 0), port: m.udp_decap.port };
            Ok(match m.is_add {
                true => decap::add(router, at, m.udp_decap.next_proto),
                false => decap::remove(router, at),
            }?)
        });
}
