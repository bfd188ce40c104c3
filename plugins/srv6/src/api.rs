//! Messages of the module `sr`.

use net::prelude::*;

use super::messages::*;
use super::policy::{self, Change, Kind, List, MOST_SEGMENTS, NewPolicy, Policy};
use super::sid::{self, Kept, What};
use super::steer::{self, Traffic};
use super::{Error, Segments, behavior};

/// Nothing.
const NONE: u32 = u32::MAX;
/// Length of micro-SIDs, and of what they have in common, where messages do not say.
const MICRO: u8 = 16;
const BLOCK: u8 = 32;
/// Most segment lists in a message.
const MOST_LISTS: usize = 255;

impl Srv6SidList {
    fn native(&self) -> Result<Vec<Ipv6Addr>, Retval> {
        let sids = self.sids.get(..usize::from(self.num_sids));
        Ok(sids.ok_or(Retval::INVALID_VALUE)?.iter().map(|s| s.0.into()).collect())
    }
    fn of(list: &List) -> Self {
        let (num_sids, sids) = (list.segments.len() as u8, padded(&list.segments));
        Self { num_sids, weight: list.weight, sids }
    }
}

fn padded(segments: &[Ipv6Addr]) -> [Segment; MOST_SEGMENTS] {
    let mut sids = [Segment::default(); MOST_SEGMENTS];
    sids.iter_mut().zip(segments).for_each(|(to, segment)| to.0 = segment.octets());
    sids
}

/// Lengths of the parts of a local SID in bits.
struct Lengths {
    block: u8,
    node: u8,
    function: u8,
}

impl LocalSidFields {
    /// The prefix, and the length of its micro-SID.
    fn lengths(&self, given: Lengths) -> Result<(Ip6Prefix, u8), Retval> {
        let is_micro = [SrBehavior::END_UN, SrBehavior::END_UN_PERF, SrBehavior::UA];
        let Lengths { block, node, function } = match given {
            Lengths { block: 0, node: 0, function: 0 } => {
                Lengths { block: BLOCK, node: MICRO, function: 0 }
            }
            given => given,
        };
        let total = u16::from(block) + u16::from(node) + u16::from(function);
        if [block, node, function].iter().any(|len| len % 8 != 0) || total > 128 {
            return Err(Error::Lengths.into());
        }
        if !is_micro.contains(&self.behavior) {
            return Ok((policy::host(self.localsid), 0));
        }
        if node == 0 {
            return Err(Error::Lengths.into());
        }
        let prefix = sid::prefix(self.localsid, block + node).network();
        Ok((prefix, node))
    }
    fn what(&self, router: &Router, micro: u8) -> Result<What, Retval> {
        let (interface, table) = (self.sw_if_index, self.sw_if_index.0);
        let addr = || self.nh_addr.native();
        // A request without a neighbor need not have the right version.
        let any =
            |link: Link| addr().map(|a| if a.is_unspecified() { link.unspecified() } else { a });
        let to = |link| Ok::<_, Retval>(What::Dx { link, interface, next_hop: any(link)? });
        Ok(match self.behavior {
            SrBehavior::END => What::End,
            SrBehavior::X => What::X { interface, next_hop: addr()? },
            SrBehavior::T => What::T(table),
            SrBehavior::DX2 => What::Dx2 { interface, vlan: self.vlan_index },
            SrBehavior::DX6 => to(Link::Ip6)?,
            SrBehavior::DX4 => to(Link::Ip4)?,
            SrBehavior::DT6 => What::Dt { link: Link::Ip6, table },
            SrBehavior::DT4 => What::Dt { link: Link::Ip4, table },
            SrBehavior::END_UN => What::Micro { len: micro, is_flexible: true },
            SrBehavior::END_UN_PERF => What::Micro { len: micro, is_flexible: false },
            SrBehavior::UA => What::MicroX { len: micro, interface, next_hop: addr()? },
            SrBehavior(number) => {
                let known = router.own::<Segments>().behaviors.iter().find(|b| b.number == number);
                let known = known.ok_or(Error::NoBehavior)?;
                What::Other(known.keyword, String::new())
            }
        })
    }
    fn carry_out(&self, router: &mut Router, given: Lengths) -> Result<(), Retval> {
        let (prefix, micro) = self.lengths(given)?;
        if self.is_del {
            return Ok(sid::remove(router, self.fib_table, prefix)?);
        }
        let what = self.what(router, micro)?;
        Ok(sid::add(router, self.fib_table, prefix, self.end_psp, what)?)
    }
}

/// Number of the policy with a binding SID, or the number itself.
fn policy_of(router: &Router, bsid: Ipv6Addr, index: u32) -> Result<u32, Error> {
    if bsid.is_unspecified() {
        return Ok(index);
    }
    router.own::<Segments>().policies.of_bsid(bsid).ok_or(Error::NoPolicy)
}

fn change(
    operation: SrPolicyOp,
    index: u32,
    weight: u32,
    sids: &Srv6SidList,
) -> Result<Change, Retval> {
    Ok(match operation {
        SrPolicyOp::ADD => Change::Add(weight, sids.native()?),
        SrPolicyOp::DEL => Change::Remove(index),
        SrPolicyOp::MOD => Change::Weigh(index, weight),
        _ => return Err(Retval::INVALID_VALUE),
    })
}

impl SrPolicyAddV2 {
    fn carry_out(self, router: &mut Router) -> Result<(), Retval> {
        let kind = match self.kind {
            SrPolicyType::DEFAULT => Kind::Default,
            SrPolicyType::SPRAY => Kind::Spray,
            _ => return Err(Error::Kind.into()),
        };
        let source = Some(self.encap_src).filter(|source| !source.is_unspecified());
        let (bsid, is_encap, table) = (self.bsid_addr, self.is_encap, self.fib_table);
        let new = NewPolicy { bsid, kind, is_encap, table, source, behavior: None };
        let weight = self.weight.max(self.sids.weight);
        policy::add(router, new, weight, self.sids.native()?)?;
        Ok(())
    }
}

impl SrSteeringAddDel {
    fn carry_out(&self, router: &mut Router) -> Result<(), Retval> {
        let traffic = match self.traffic_type {
            SrSteer::L2 => Traffic::Frames(self.sw_if_index),
            SrSteer::IPV4 | SrSteer::IPV6 => {
                let prefix = self.prefix.native()?;
                let is_fit = prefix.addr().is_ipv4() == (self.traffic_type == SrSteer::IPV4);
                if !is_fit {
                    return Err(Retval::INVALID_ADDRESS_FAMILY);
                }
                Traffic::Packets(self.table_id, prefix)
            }
            _ => return Err(Retval::INVALID_VALUE),
        };
        if self.is_del {
            return Ok(steer::unset(router, traffic)?);
        }
        let policy = policy_of(router, self.bsid_addr, self.sr_policy_index)?;
        Ok(steer::set(router, traffic, policy)?)
    }
}

impl SrLocalsidsDetails {
    fn of(router: &Router, (id, prefix): (u32, Ip6Prefix), sid: &Kept) -> Self {
        let none = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let (behavior, next_hop, place) = match &sid.what {
            What::End => (SrBehavior::END, none, NONE),
            What::X { interface, next_hop } => (SrBehavior::X, *next_hop, interface.0),
            What::T(table) => (SrBehavior::T, none, *table),
            What::Dx2 { interface, .. } => (SrBehavior::DX2, none, interface.0),
            What::Dx { link: Link::Ip4, interface, next_hop } => {
                (SrBehavior::DX4, *next_hop, interface.0)
            }
            What::Dx { interface, next_hop, .. } => (SrBehavior::DX6, *next_hop, interface.0),
            What::Dt { link: Link::Ip4, table } => (SrBehavior::DT4, none, *table),
            What::Dt { table, .. } => (SrBehavior::DT6, none, *table),
            What::Micro { is_flexible: true, .. } => (SrBehavior::END_UN, none, NONE),
            What::Micro { .. } => (SrBehavior::END_UN_PERF, none, NONE),
            What::MicroX { interface, next_hop, .. } => (SrBehavior::UA, *next_hop, interface.0),
            What::Other(keyword, _) => {
                let number = behavior::named(router, keyword).map_or(0, |b| b.number);
                (SrBehavior(number), none, NONE)
            }
        };
        let vlan_index = if let What::Dx2 { vlan, .. } = sid.what { vlan } else { 0 };
        Self {
            addr: prefix.addr(),
            end_psp: sid.is_psp,
            behavior,
            fib_table: id,
            vlan_index,
            xconnect_nh_addr: next_hop.into(),
            xconnect_iface_or_vrf_table: place,
        }
    }
    fn with_counters(
        self,
        [good, bad]: [infra::counter::Volume; 2],
    ) -> SrLocalsidsWithPacketStatsDetails {
        SrLocalsidsWithPacketStatsDetails {
            addr: self.addr,
            end_psp: self.end_psp,
            behavior: self.behavior,
            fib_table: self.fib_table,
            vlan_index: self.vlan_index,
            xconnect_nh_addr: self.xconnect_nh_addr,
            xconnect_iface_or_vrf_table: self.xconnect_iface_or_vrf_table,
            good_traffic_bytes: good.bytes,
            good_traffic_pkt_count: good.packets,
            bad_traffic_bytes: bad.bytes,
            bad_traffic_pkt_count: bad.packets,
        }
    }
}

fn lists<T>(policy: &Policy, of: impl Fn(&List) -> T) -> Vec<T> {
    policy.lists.iter().take(MOST_LISTS).map(of).collect()
}

fn register_policies(api: &mut Api<Router>) {
    api.core("sr", "2.1.0")
        .call(|router: &mut Router, m: SrPolicyAdd| {
            let kind = if m.is_spray { SrPolicyType::SPRAY } else { SrPolicyType::DEFAULT };
            let SrPolicyAdd { bsid_addr, weight, is_encap, fib_table, sids, .. } = m;
            let encap_src = Ipv6Addr::UNSPECIFIED;
            SrPolicyAddV2 { bsid_addr, weight, is_encap, kind, fib_table, sids, encap_src }
                .carry_out(router)
        })
        .call(|router, m: SrPolicyAddV2| {
            m.carry_out(router)?;
            Ok(SrPolicyAddV2Reply {})
        })
        .call(|router, m: SrPolicyMod| {
            let index = policy_of(router, m.bsid_addr, m.sr_policy_index)?;
            let change = change(m.operation, m.sl_index, m.weight, &m.sids)?;
            Ok(policy::modify(router, index, change)?)
        })
        .call(|router, m: SrPolicyModV2| {
            let index = policy_of(router, m.bsid_addr, m.sr_policy_index)?;
            policy::modify(router, index, change(m.operation, m.sl_index, m.weight, &m.sids)?)?;
            if !m.encap_src.is_unspecified() {
                policy::set_source(router, index, m.encap_src)?;
            }
            Ok(SrPolicyModV2Reply {})
        })
        .call(|router, m: SrPolicyDel| {
            let index = policy_of(router, m.bsid_addr, m.sr_policy_index)?;
            Ok(policy::remove(router, index)?)
        })
        .dump(|router, _: SrPoliciesDump| {
            let all = router.own::<Segments>().policies.all.values();
            let details = all.map(|p| SrPoliciesDetails {
                bsid: p.new.bsid,
                is_spray: p.new.kind == Kind::Spray,
                is_encap: p.new.is_encap,
                fib_table: p.new.table,
                sid_lists: lists(p, Srv6SidList::of),
            });
            details.collect()
        })
        .dump(|router, _: SrPoliciesV2Dump| {
            let all = router.own::<Segments>().policies.all.values();
            let is_spray = |p: &Policy| p.new.kind == Kind::Spray;
            let details = all.map(|p| SrPoliciesV2Details {
                bsid: p.new.bsid,
                encap_src: p.source,
                kind: if is_spray(p) { SrPolicyType::SPRAY } else { SrPolicyType::DEFAULT },
                is_encap: p.new.is_encap,
                fib_table: p.new.table,
                sid_lists: lists(p, Srv6SidList::of),
            });
            details.collect()
        });
    register_lists(api);
}

fn register_lists(api: &mut Api<Router>) {
    api.core("sr", "2.1.0").dump(|router: &mut Router, _: SrPoliciesWithSlIndexDump| {
        let all = router.own::<Segments>().policies.all.values();
        let list = |l: &List| Srv6SidListWithSlIndex {
            num_sids: l.segments.len() as u8,
            weight: l.weight,
            sl_index: l.index,
            sids: padded(&l.segments),
        };
        let details = all.map(|p| SrPoliciesWithSlIndexDetails {
            bsid: p.new.bsid,
            is_spray: p.new.kind == Kind::Spray,
            is_encap: p.new.is_encap,
            fib_table: p.new.table,
            sid_lists: lists(p, list),
        });
        details.collect()
    });
}

fn steered(router: &Router, traffic: Traffic, index: u32) -> SrSteeringPolDetails {
    let policy = router.own::<Segments>().policies.all.get(&index);
    let bsid = policy.map_or(Ipv6Addr::UNSPECIFIED, |p| p.new.bsid);
    let (fib_table, prefix, sw_if_index, traffic_type) = match traffic {
        Traffic::Frames(interface) => {
            let any = wire::Prefix::Ip6(sid::prefix(Ipv6Addr::UNSPECIFIED, 0));
            (0, any, interface, SrSteer::L2)
        }
        Traffic::Packets(id, prefix) => {
            let is_ip4 = prefix.addr().is_ipv4();
            let kind = if is_ip4 { SrSteer::IPV4 } else { SrSteer::IPV6 };
            (id, prefix, InterfaceIndex(NONE), kind)
        }
    };
    SrSteeringPolDetails { traffic_type, fib_table, prefix: prefix.into(), sw_if_index, bsid }
}

pub(super) fn register(api: &mut Api<Router>) {
    register_policies(api);
    api.core("sr", "2.1.0")
        .call(|router: &mut Router, m: SrLocalsidAddDel| {
            m.sid.carry_out(router, Lengths { block: 0, node: 0, function: 0 })
        })
        .call(|router, m: SrLocalsidAddDelV2| {
            let (block, node) = (m.locator_block_len, m.locator_node_len);
            m.sid.carry_out(router, Lengths { block, node, function: m.function_len })?;
            Ok(SrLocalsidAddDelV2Reply {})
        })
        .call(|router, m: SrSetEncapSource| {
            super::set_source(router, m.encaps_source);
            Ok(())
        })
        .call(|router, m: SrSetEncapHopLimit| {
            if m.hop_limit == 0 {
                return Err(Retval::INVALID_VALUE);
            }
            super::set_hop_limit(router, m.hop_limit);
            Ok(())
        })
        .call(|router, m: SrSteeringAddDel| m.carry_out(router))
        .dump(|router, _: SrLocalsidsDump| {
            let router = &*router;
            let all = router.own::<Segments>().sids.all.iter();
            all.map(|(key, sid)| SrLocalsidsDetails::of(router, *key, sid)).collect()
        })
        .dump(|router, _: SrLocalsidsWithPacketStatsDump| {
            let (router, sids) = (&*router, &router.own::<Segments>().sids);
            let details = sids.all.iter().map(|(key, sid)| {
                SrLocalsidsDetails::of(router, *key, sid).with_counters(sids.counted(sid.index))
            });
            details.collect()
        })
        .dump(|router, _: SrSteeringPolDump| {
            let router = &*router;
            let all = router.own::<Segments>().steered.iter();
            all.map(|(traffic, policy)| steered(router, *traffic, *policy)).collect()
        });
}
