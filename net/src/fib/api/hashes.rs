//! Flow hashes: what counts, by table, and the router's seed.

use control::api::types::AddressFamily;
use control::api::{Api, Message, Retval};
use wire::IpVersion;

use super::IP_VERSION;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::flow_hash::FlowHash;
use crate::router::Router;

control::numbers! {
    /// Flow hash fields.
    pub flags IpFlowHashConfig: u32 = "ip_flow_hash_config" in "" {
        SRC_IP = 1 => "IP_API_FLOW_HASH_SRC_IP",
        DST_IP = 2 => "IP_API_FLOW_HASH_DST_IP",
        SRC_PORT = 4 => "IP_API_FLOW_HASH_SRC_PORT",
        DST_PORT = 8 => "IP_API_FLOW_HASH_DST_PORT",
        PROTO = 16 => "IP_API_FLOW_HASH_PROTO",
        REVERSE = 32 => "IP_API_FLOW_HASH_REVERSE",
        SYMETRIC = 64 => "IP_API_FLOW_HASH_SYMETRIC",
        FLOW_LABEL = 128 => "IP_API_FLOW_HASH_FLOW_LABEL",
    }
    /// Flow hash fields.
    pub flags IpFlowHashConfigV2: u32 = "ip_flow_hash_config_v2" in "" {
        SRC_IP = 1 => "IP_API_V2_FLOW_HASH_SRC_IP",
        DST_IP = 2 => "IP_API_V2_FLOW_HASH_DST_IP",
        SRC_PORT = 4 => "IP_API_V2_FLOW_HASH_SRC_PORT",
        DST_PORT = 8 => "IP_API_V2_FLOW_HASH_DST_PORT",
        PROTO = 16 => "IP_API_V2_FLOW_HASH_PROTO",
        REVERSE = 32 => "IP_API_V2_FLOW_HASH_REVERSE",
        SYMETRIC = 64 => "IP_API_V2_FLOW_HASH_SYMETRIC",
        FLOW_LABEL = 128 => "IP_API_V2_FLOW_HASH_FLOW_LABEL",
        GTPV1_TEID = 256 => "IP_API_V2_FLOW_HASH_GTPV1_TEID",
    }
}

/// Set the flow hash fields of a table.
#[derive(Message)]
#[reply(SetIpFlowHashReply)]
#[option("deprecated")]
pub(super) struct SetIpFlowHash {
    pub vrf_id: u32,
    pub is_ipv6: bool,
    pub src: bool,
    pub dst: bool,
    pub sport: bool,
    pub dport: bool,
    pub proto: bool,
    pub reverse: bool,
    pub symmetric: bool,
}

/// Reply: success.
#[derive(Message)]
#[option("deprecated")]
pub(super) struct SetIpFlowHashReply {}

/// Set the flow hash fields of a table.
#[derive(Message)]
pub(super) struct SetIpFlowHashV2 {
    pub table_id: u32,
    pub af: AddressFamily,
    pub flow_hash_config: IpFlowHashConfig,
}

/// Set the flow hash fields of a table.
#[derive(Message)]
#[reply(SetIpFlowHashV3Reply)]
#[option("status", "in_progress")]
pub(super) struct SetIpFlowHashV3 {
    pub table_id: u32,
    pub af: AddressFamily,
    pub flow_hash_config: IpFlowHashConfigV2,
}

/// Reply: success.
#[derive(Message)]
#[option("status", "in_progress")]
pub(super) struct SetIpFlowHashV3Reply {}

/// Set the router ID that varies flow hashes between routers.
#[derive(Message)]
pub(super) struct SetIpFlowHashRouterId {
    pub router_id: u32,
}

fn set(router: &mut Router, id: u32, af: AddressFamily, what: u32) -> Result<(), Retval> {
    fn of<F: Family>(router: &mut Router, id: u32, what: FlowHash) -> Result<(), Retval> {
        let table = router.fib.table::<F>(id).ok_or(Retval::NO_SUCH_FIB)?;
        Ok(router.set_flow_hash::<F>(table, what)?)
    }
    match af.try_into()? {
        IpVersion::V4 => of::<Ip4>(router, id, FlowHash(what & FlowHash::ALL)),
        IpVersion::V6 => of::<Ip6>(router, id, FlowHash(what & FlowHash::ALL)),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", IP_VERSION)
        .call(|router, m: SetIpFlowHash| {
            let bits = [m.src, m.dst, m.sport, m.dport, m.proto, m.reverse, m.symmetric];
            let what = bits.iter().enumerate().map(|(i, bit)| u32::from(*bit) << i).sum();
            set(router, m.vrf_id, AddressFamily(m.is_ipv6.into()), what)?;
            Ok(SetIpFlowHashReply {})
        })
        .call(|router, m: SetIpFlowHashV2| set(router, m.table_id, m.af, m.flow_hash_config.0))
        .call(|router, m: SetIpFlowHashV3| {
            set(router, m.table_id, m.af, m.flow_hash_config.0)?;
            Ok(SetIpFlowHashV3Reply {})
        })
        .call(|router: &mut Router, m: SetIpFlowHashRouterId| {
            router.set_flow_hash_seed(m.router_id);
            Ok(())
        });
}
