//! Messages of the module `sr_mpls`.

use control::api::types::{Address, Prefix};
use net::prelude::*;

use super::steer::{self, Steering, Through};
use super::{Change, add, assign, modify, remove};

/// A label that says there is none.
const NONE: u32 = u32::MAX;

control::numbers! {
    /// Operation on a policy.
    pub enum SrPolicyOp: u8 = "sr_policy_op" in "vnet/srv6/sr_types.api" {
        NONE = 0 => "SR_POLICY_OP_API_NONE",
        ADD = 1 => "SR_POLICY_OP_API_ADD",
        DEL = 2 => "SR_POLICY_OP_API_DEL",
        MOD = 3 => "SR_POLICY_OP_API_MOD",
    }
}

/// Add a policy with one segment list.
#[derive(Message)]
pub struct SrMplsPolicyAdd {
    /// binding label
    pub bsid: u32,
    /// weight of the segment list
    pub weight: u32,
    /// true to replicate packets to all segment lists
    pub is_spray: bool,
    /// labels, outermost first
    #[counted(n_segments: u8)]
    pub segments: Vec<u32>,
}

/// Change a policy.
#[derive(Message)]
pub struct SrMplsPolicyMod {
    /// binding label
    pub bsid: u32,
    /// operation
    pub operation: SrPolicyOp,
    /// segment list to delete or change
    pub sl_index: u32,
    /// weight of the segment list
    pub weight: u32,
    /// labels of the new segment list, outermost first
    #[counted(n_segments: u8)]
    pub segments: Vec<u32>,
}

/// Delete a policy.
#[derive(Message)]
pub struct SrMplsPolicyDel {
    /// binding label
    pub bsid: u32,
}

/// Steer a prefix into a policy, or stop.
#[derive(Message)]
pub struct SrMplsSteeringAddDel {
    /// disable
    #[preset(false)]
    pub is_del: bool,
    /// binding label; 4294967295 to select by next hop and color
    pub bsid: u32,
    /// table of the prefix
    pub table_id: u32,
    /// prefix
    pub prefix: Prefix,
    /// ignored
    pub mask_width: u32,
    /// next hop
    pub next_hop: Address,
    /// color
    pub color: u32,
    /// color-only bits: 0 exact endpoint, 1 null endpoint too, 2 any endpoint
    pub co_bits: u8,
    /// VPN label; 4294967295 for none
    pub vpn_label: u32,
}

/// Set the endpoint and color of a policy.
#[derive(Message)]
pub struct SrMplsPolicyAssignEndpointColor {
    /// binding label
    pub bsid: u32,
    /// endpoint
    pub endpoint: Address,
    /// color
    pub color: u32,
}

impl SrMplsPolicyMod {
    fn change(self) -> Result<(u32, Change), Retval> {
        let change = match self.operation {
            SrPolicyOp::ADD => Change::Add(self.weight, self.segments),
            SrPolicyOp::DEL => Change::Remove(self.sl_index),
            SrPolicyOp::MOD => Change::Weigh(self.sl_index, self.weight),
            _ => return Err(Retval::INVALID_VALUE),
        };
        Ok((self.bsid, change))
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("sr_mpls", "3.0.0")
        .call(|router: &mut Router, m: SrMplsPolicyAdd| {
            Ok(add(router, m.bsid, m.is_spray, (m.weight, m.segments))?)
        })
        .call(|router, m: SrMplsPolicyMod| {
            let (bsid, change) = m.change()?;
            Ok(modify(router, bsid, change)?)
        })
        .call(|router, m: SrMplsPolicyDel| Ok(remove(router, m.bsid)?))
        .call(|router, m: SrMplsSteeringAddDel| {
            let prefix = m.prefix.native()?;
            if m.is_del {
                return Ok(steer::unset(router, m.table_id, prefix)?);
            }
            let through = if m.bsid == NONE {
                let (next_hop, color, co) = (m.next_hop.native()?, m.color, m.co_bits);
                Through::Color { next_hop, color, co }
            } else {
                Through::Policy(m.bsid)
            };
            let vpn_label = Some(m.vpn_label).filter(|label| *label != NONE);
            Ok(steer::set(router, m.table_id, prefix, Steering { through, vpn_label })?)
        })
        .call(|router, m: SrMplsPolicyAssignEndpointColor| {
            let endpoint = m.endpoint.native()?;
            Ok::<_, Retval>(assign(router, m.bsid, Some((endpoint, m.color)))?)
        });
}
