//! Messages of the module `map`.

use control::api::types::{Ip4Prefix as Prefix4, Ip6Prefix as Prefix6};
use net::prelude::*;

use super::table::{FRAGMENTS4, REFUSED_FROM, REFUSED_TO};
use super::{Domain, Params};

/// Add a MAP domain.
#[derive(Message)]
#[reply(MapAddDomainReply)]
pub struct MapAddDomain {
    /// IPv6 prefix of customers
    pub ip6_prefix: Prefix6,
    /// IPv4 prefix of customers
    pub ip4_prefix: Prefix4,
    /// address of the border relay, or prefix of the IPv4 internet
    pub ip6_src: Prefix6,
    /// EA bits length
    pub ea_bits_len: u8,
    /// PSID offset
    pub psid_offset: u8,
    /// PSID length
    pub psid_length: u8,
    #[preset(1280)]
    /// MTU in bytes; 0 for any
    pub mtu: u16,
    /// a name
    pub tag: Text<64>,
}

/// Reply.
#[derive(Message)]
#[head(details)]
pub struct MapAddDomainReply {
    /// domain index
    pub index: u32,
    /// 0, or an error
    pub retval: i32,
}

/// Delete a MAP domain.
#[derive(Message)]
pub struct MapDelDomain {
    /// index
    pub index: u32,
}

/// Add or delete a rule of a domain.
#[derive(Message)]
pub struct MapAddDelRule {
    /// domain index
    pub index: u32,
    /// true to add, false to delete
    pub is_add: bool,
    /// the address
    pub ip6_dst: Ipv6Addr,
    /// PSID
    pub psid: u16,
}

/// List domains in parts.
#[derive(Message)]
#[stream(MapDomainDetails, MapDomainsGetReply)]
pub struct MapDomainsGet {
    /// cursor; 0 at first
    pub cursor: u32,
}

/// End of the list.
#[derive(Message)]
pub struct MapDomainsGetReply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// List domains.
#[derive(Message)]
#[option("deprecated")]
#[details(MapDomainDetails)]
pub struct MapDomainDump {}

/// A domain.
#[derive(Message)]
pub struct MapDomainDetails {
    /// index
    pub domain_index: u32,
    /// IPv6 prefix of customers
    pub ip6_prefix: Prefix6,
    /// IPv4 prefix of customers
    pub ip4_prefix: Prefix4,
    /// address of the border relay, or prefix of the IPv4 internet
    pub ip6_src: Prefix6,
    /// EA bits length
    pub ea_bits_len: u8,
    /// PSID offset
    pub psid_offset: u8,
    /// PSID length
    pub psid_length: u8,
    /// 1: customers have prefixes
    pub flags: u8,
    /// MTU in bytes; 0 for any
    pub mtu: u16,
    /// name
    pub tag: Text<64>,
}

/// List the rules of a domain.
#[derive(Message)]
#[details(MapRuleDetails)]
pub struct MapRuleDump {
    /// domain index
    pub domain_index: u32,
}

/// A rule.
#[derive(Message)]
pub struct MapRuleDetails {
    /// the address
    pub ip6_dst: Ipv6Addr,
    /// PSID
    pub psid: u16,
}

/// Enable or disable MAP on an interface.
#[derive(Message)]
pub struct MapIfEnableDisable {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub is_enable: bool,
    /// translation (MAP-T); default encapsulation (MAP-E)
    pub is_translation: bool,
}

/// Get the totals of all domains.
#[derive(Message)]
#[reply(MapSummaryStatsReply)]
pub struct MapSummaryStats {}

/// Reply.
#[derive(Message)]
pub struct MapSummaryStatsReply {
    /// number of domains
    pub total_bindings: u64,
    /// packets from and to customers
    pub total_pkts: [u64; 2],
    /// bytes from and to customers
    pub total_bytes: [u64; 2],
    /// IPv4 fragments
    pub total_ip4_fragments: u64,
    /// packets that failed the security check, from and to customers
    pub total_security_check: [u64; 2],
}

/// Set fragmentation.
#[derive(Message)]
pub struct MapParamSetFragmentation {
    /// true to fragment before encapsulation, false after
    pub inner: bool,
    /// fragment even if DF is set
    pub ignore_df: bool,
}

/// Set the source address of relayed ICMP errors.
#[derive(Message)]
pub struct MapParamSetIcmp {
    /// address; 0.0.0.0 for no errors
    pub ip4_err_relay_src: Ipv4Addr,
}

/// Enable or disable ICMPv6 errors for failed security checks.
#[derive(Message)]
pub struct MapParamSetIcmp6 {
    /// true to enable, false to disable
    pub enable_unreachable: bool,
}

/// Set or remove the next hops used instead of routes.
#[derive(Message)]
pub struct MapParamAddDelPreResolve {
    /// true to set, false to remove
    pub is_add: bool,
    /// IPv4 next hop; 0.0.0.0 to leave unchanged
    pub ip4_nh_address: Ipv4Addr,
    /// IPv6 next hop; :: to leave unchanged
    pub ip6_nh_address: Ipv6Addr,
}

/// Enable or disable the security check of source addresses and ports.
#[derive(Message)]
pub struct MapParamSetSecurityCheck {
    /// true to enable, false to disable
    pub enable: bool,
    /// include fragments
    pub fragments: bool,
}

/// Set the traffic class of encapsulated packets.
#[derive(Message)]
pub struct MapParamSetTrafficClass {
    /// copy it from the inner packet
    pub copy: bool,
    /// otherwise this value
    pub tc_class: u8,
}

/// Set the TCP MSS clamp.
#[derive(Message)]
pub struct MapParamSetTcp {
    /// MSS in bytes; 0 for none
    pub tcp_mss: u16,
}

/// Get the parameters.
#[derive(Message)]
#[reply(MapParamGetReply)]
pub struct MapParamGet {}

/// Reply.
#[derive(Message)]
pub struct MapParamGetReply {
    /// fragment before encapsulation
    pub frag_inner: u8,
    /// fragment even if DF is set
    pub frag_ignore_df: u8,
    /// source address of relayed ICMP errors
    pub icmp_ip4_err_relay_src: Ipv4Addr,
    /// send ICMPv6 errors for failed security checks
    pub icmp6_enable_unreachable: bool,
    /// IPv4 next hop
    pub ip4_nh_address: Ipv4Addr,
    /// IPv6 next hop
    pub ip6_nh_address: Ipv6Addr,
    /// 0: fragments wait in shallow reassembly
    pub ip4_lifetime_ms: u16,
    /// 0, as above
    pub ip4_pool_size: u16,
    /// 0, as above
    pub ip4_buffers: u32,
    /// 0, as above
    pub ip4_ht_ratio: f64,
    /// security check enabled
    pub sec_check_enable: bool,
    /// include fragments
    pub sec_check_fragments: bool,
    /// copy the traffic class from the inner packet
    pub tc_copy: bool,
    /// otherwise this value
    pub tc_class: u8,
}

fn prefix6(prefix: Prefix6) -> Result<Ip6Prefix, Retval> {
    Ip6Prefix::new(prefix.address, prefix.len).map_err(|_| Retval::INVALID_VALUE)
}

fn field6(prefix: Ip6Prefix) -> Prefix6 {
    Prefix6 { address: prefix.addr(), len: prefix.prefix_len() }
}

fn add(router: &mut Router, m: &MapAddDomain) -> Result<MapAddDomainReply, Retval> {
    let ip4 = Ip4Prefix::new(m.ip4_prefix.address, m.ip4_prefix.len);
    let domain = Domain {
        ip4_prefix: ip4.map_err(|_| Retval::INVALID_VALUE)?,
        ip6_prefix: prefix6(m.ip6_prefix)?,
        ip6_src: prefix6(m.ip6_src)?,
        ea_bits_len: m.ea_bits_len,
        psid_offset: m.psid_offset,
        psid_len: m.psid_length,
        mtu: m.mtu,
        tag: m.tag.as_str().to_owned(),
        rules: BTreeMap::new(),
    };
    Ok(MapAddDomainReply { index: super::add(router, domain)?, retval: 0 })
}

fn details((number, d): (u32, &Domain)) -> MapDomainDetails {
    MapDomainDetails {
        domain_index: number,
        ip6_prefix: field6(d.ip6_prefix),
        ip4_prefix: Prefix4 { address: d.ip4_prefix.addr(), len: d.ip4_prefix.prefix_len() },
        ip6_src: field6(d.ip6_src),
        ea_bits_len: d.ea_bits_len,
        psid_offset: d.psid_offset,
        psid_length: d.psid_len,
        flags: u8::from(d.has_prefixes()),
        mtu: d.mtu,
        tag: d.tag.as_str().into(),
    }
}

fn stats(router: &mut Router) -> MapSummaryStatsReply {
    let mut reply = MapSummaryStatsReply {
        total_bindings: 0,
        total_pkts: [0; 2],
        total_bytes: [0; 2],
        total_ip4_fragments: super::total(router, FRAGMENTS4).packets,
        total_security_check: [REFUSED_TO, REFUSED_FROM]
            .map(|place| super::total(router, place).packets),
    };
    for (number, _) in super::all_from(router, 0) {
        reply.total_bindings += 1;
        for (direction, volume) in super::counted(router, number).into_iter().enumerate() {
            reply.total_pkts[direction] += volume.packets;
            reply.total_bytes[direction] += volume.bytes;
        }
    }
    reply
}

/// Changes the parameters.
fn change(router: &mut Router, with: impl FnOnce(&mut Params)) -> Result<(), Retval> {
    let mut params = super::params(router);
    with(&mut params);
    Ok(super::set_params(router, params)?)
}

fn pre_resolve(params: &mut Params, m: &MapParamAddDelPreResolve) {
    let (none4, none6) = (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
    if m.ip4_nh_address != none4 {
        params.next_hop4 = if m.is_add { m.ip4_nh_address } else { none4 };
    }
    if m.ip6_nh_address != none6 {
        params.next_hop6 = if m.is_add { m.ip6_nh_address } else { none6 };
    }
}

fn told(router: &mut Router) -> MapParamGetReply {
    let p = super::params(router);
    MapParamGetReply {
        frag_inner: p.cuts_inner.into(),
        frag_ignore_df: p.ignores_df.into(),
        icmp_ip4_err_relay_src: p.icmp_source,
        icmp6_enable_unreachable: p.icmp6_unreachables,
        ip4_nh_address: p.next_hop4,
        ip6_nh_address: p.next_hop6,
        ip4_lifetime_ms: 0,
        ip4_pool_size: 0,
        ip4_buffers: 0,
        ip4_ht_ratio: 0.0,
        sec_check_enable: p.checks,
        sec_check_fragments: p.checks_fragments,
        tc_copy: p.copies_class,
        tc_class: p.class,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("map", "4.2.1")
        .call(|router: &mut Router, m: MapAddDomain| add(router, &m))
        .call(|router: &mut Router, m: MapDelDomain| Ok(super::remove(router, m.index)?))
        .call(|router: &mut Router, m: MapAddDelRule| {
            Ok(super::set_rule(router, m.index, m.psid, m.ip6_dst, m.is_add)?)
        })
        .stream_rows(
            |m: &MapDomainsGet| m.cursor,
            |router, m, piece| {
                let is_behind = m.cursor > 0 && super::all_from(router, m.cursor).next().is_none();
                if is_behind {
                    return Err(Retval::INVALID_VALUE);
                }
                let mut all = super::all_from(router, m.cursor);
                all.all(|(number, d)| piece.offer(number, || details((number, d))));
                Ok(())
            },
            |cursor| MapDomainsGetReply { cursor },
        )
        .dump(|router: &mut Router, _: MapDomainDump| {
            super::all_from(router, 0).map(details).collect()
        })
        .dump(|router: &mut Router, m: MapRuleDump| {
            let rules = super::at(router, m.domain_index).map(|d| d.rules.clone());
            let row = |(psid, ip6_dst)| MapRuleDetails { ip6_dst, psid };
            rules.unwrap_or_default().into_iter().map(row).collect()
        })
        .call(|router: &mut Router, m: MapIfEnableDisable| {
            Ok(super::set_interface(router, m.sw_if_index, m.is_translation, m.is_enable)?)
        })
        .call(|router: &mut Router, _: MapSummaryStats| Ok(stats(router)))
        .call(|router: &mut Router, m: MapParamSetFragmentation| {
            change(router, |p| (p.cuts_inner, p.ignores_df) = (m.inner, m.ignore_df))
        })
        .call(|router: &mut Router, m: MapParamSetIcmp| {
            change(router, |p| p.icmp_source = m.ip4_err_relay_src)
        })
        .call(|router: &mut Router, m: MapParamSetIcmp6| {
            change(router, |p| p.icmp6_unreachables = m.enable_unreachable)
        })
        .call(|router: &mut Router, m: MapParamAddDelPreResolve| {
            change(router, |p| pre_resolve(p, &m))
        })
        .call(|router: &mut Router, m: MapParamSetSecurityCheck| {
            change(router, |p| (p.checks, p.checks_fragments) = (m.enable, m.fragments))
        })
        .call(|router: &mut Router, m: MapParamSetTrafficClass| {
            change(router, |p| (p.copies_class, p.class) = (m.copy, m.tc_class))
        })
        .call(|router: &mut Router, m: MapParamSetTcp| change(router, |p| p.tcp_mss = m.tcp_mss))
        .call(|router: &mut Router, _: MapParamGet| Ok(told(router)));
}
