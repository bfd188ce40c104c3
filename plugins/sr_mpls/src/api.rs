//! Messages of the module `sr_mpls`.

use control::api::types::{Address, Prefix};
use control::api::{Api, Message, Retval};
use net::Router;

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
    /// its label
    pub bsid: u32,
    /// share of the list in the load
    pub weight: u32,
    /// whether all lists get its packets
    pub is_spray: bool,
    /// the labels, outermost first
    #[counted(n_segments: u8)]
    pub segments: Vec<u32>,
}

/// Change a policy.
#[derive(Message)]
pub struct SrMplsPolicyMod {
    /// its label
    pub bsid: u32,
    /// operation
    pub operation: SrPolicyOp,
    /// the list that is deleted or gets another share
    pub sl_index: u32,
    /// share of the list in the load
    pub weight: u32,
    /// the labels of a new list, outermost first
    #[counted(n_segments: u8)]
    pub segments: Vec<u32>,
}

/// Delete a policy.
#[derive(Message)]
pub struct SrMplsPolicyDel {
    /// its label
    pub bsid: u32,
}

/// Steer a prefix into a policy, or no longer.
#[derive(Message)]
pub struct SrMplsSteeringAddDel {
    /// no longer
    #[preset(false)]
    pub is_del: bool,
    /// the policy's label; 4294967295 for next hop and colour
    pub bsid: u32,
    /// the table of the prefix
    pub table_id: u32,
    /// the prefix
    pub prefix: Prefix,
    /// not used
    pub mask_width: u32,
    /// the next hop
    pub next_hop: Address,
    /// the colour
    pub color: u32,
    /// other policies of the colour that will do: 0 none, 1 those to no endpoint, 2 all
    pub co_bits: u8,
    /// a label that its packets get first; 4294967295 for none
    pub vpn_label: u32,
}

/// Say where a policy leads and what it is good for.
#[derive(Message)]
pub struct SrMplsPolicyAssignEndpointColor {
    /// its label
    pub bsid: u32,
    /// endpoint
    pub endpoint: Address,
    /// color: the purpose that prefixes ask for
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
