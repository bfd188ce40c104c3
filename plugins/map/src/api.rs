//! Messages of the module `map`.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::types::{Ip4Prefix as Prefix4, Ip6Prefix as Prefix6};
use control::api::{Api, Message, Retval, Text};
use net::{InterfaceIndex, Router};
use wire::{Ip4Prefix, Ip6Prefix};

use super::table::{FRAGMENTS4, REFUSED_FROM, REFUSED_TO};
use super::{Domain, Params};

/// Make a domain.
#[derive(Message)]
#[reply(MapAddDomainReply)]
pub struct MapAddDomain {
    /// prefix of customers' IPv6 addresses
    pub ip6_prefix: Prefix6,
    /// customers' IPv4 addresses
    pub ip4_prefix: Prefix4,
    /// address of the relay, or prefix for the IPv4 internet
    pub ip6_src: Prefix6,
    /// bits of address and port set in a customer's prefix
    pub ea_bits_len: u8,
    /// bits of a port before those of the port set
    pub psid_offset: u8,
    /// bits of a port set
    pub psid_length: u8,
    #[preset(1280)]
    /// longest IPv6 packet to a customer in bytes; 0 for any
    pub mtu: u16,
    /// a name
    pub tag: Text<64>,
}

/// The answer.
#[derive(Message)]
#[head(details)]
pub struct MapAddDomainReply {
    /// number of the domain
    pub index: u32,
    /// 0, or why there is none
    pub retval: i32,
}

/// Delete a domain.
#[derive(Message)]
pub struct MapDelDomain {
    /// its number
    pub index: u32,
}

/// Give a port set of a domain an address, or take it away.
#[derive(Message)]
pub struct MapAddDelRule {
    /// number of the domain
    pub index: u32,
    /// or taken away
    pub is_add: bool,
    /// the address
    pub ip6_dst: Ipv6Addr,
    /// the port set
    pub psid: u16,
}

/// List the domains, some at a time.
#[derive(Message)]
#[stream(MapDomainDetails, MapDomainsGetReply)]
pub struct MapDomainsGet {
    /// where to go on; 0 at first
    pub cursor: u32,
}

/// The end of an answer.
#[derive(Message)]
pub struct MapDomainsGetReply {
    /// where to go on; 4294967295 when that was all
    pub cursor: u32,
}

/// List the domains.
#[derive(Message)]
#[option("deprecated")]
#[details(MapDomainDetails)]
pub struct MapDomainDump {}

/// A domain.
#[derive(Message)]
pub struct MapDomainDetails {
    /// its number
    pub domain_index: u32,
    /// prefix of customers' IPv6 addresses
    pub ip6_prefix: Prefix6,
    /// customers' IPv4 addresses
    pub ip4_prefix: Prefix4,
    /// address of the relay, or prefix for the IPv4 internet
    pub ip6_src: Prefix6,
    /// bits of address and port set in a customer's prefix
    pub ea_bits_len: u8,
    /// bits of a port before those of the port set
    pub psid_offset: u8,
    /// bits of a port set
    pub psid_length: u8,
    /// 1: customers have prefixes
    pub flags: u8,
    /// longest IPv6 packet to a customer in bytes; 0 for any
    pub mtu: u16,
    /// its name
    pub tag: Text<64>,
}

/// List the rules of a domain.
#[derive(Message)]
#[details(MapRuleDetails)]
pub struct MapRuleDump {
    /// number of the domain
    pub domain_index: u32,
}

/// A rule.
#[derive(Message)]
pub struct MapRuleDetails {
    /// the address
    pub ip6_dst: Ipv6Addr,
    /// the port set
    pub psid: u16,
}

/// Have MAP act on the packets of an interface, or no longer.
#[derive(Message)]
pub struct MapIfEnableDisable {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// or no longer
    pub is_enable: bool,
    /// packets are translated, otherwise put into IPv6
    pub is_translation: bool,
}

/// Ask for what all domains did.
#[derive(Message)]
#[reply(MapSummaryStatsReply)]
pub struct MapSummaryStats {}

/// The answer.
#[derive(Message)]
pub struct MapSummaryStatsReply {
    /// domains
    pub total_bindings: u64,
    /// packets from customers and to them
    pub total_pkts: [u64; 2],
    /// bytes of these
    pub total_bytes: [u64; 2],
    /// fragments of IPv4
    pub total_ip4_fragments: u64,
    /// packets to customers and from them whose address or port is not theirs
    pub total_security_check: [u64; 2],
}

/// Set how packets are cut.
#[derive(Message)]
pub struct MapParamSetFragmentation {
    /// before they are put into IPv6, otherwise afterwards
    pub inner: bool,
    /// though their sender forbids it
    pub ignore_df: bool,
}

/// Set the source of ICMP errors about packets within IPv6.
#[derive(Message)]
pub struct MapParamSetIcmp {
    /// the address; 0.0.0.0 for no errors
    pub ip4_err_relay_src: Ipv4Addr,
}

/// Set whether senders are told that their packets come from where they do not belong.
#[derive(Message)]
pub struct MapParamSetIcmp6 {
    /// they are
    pub enable_unreachable: bool,
}

/// Set the next hops of packets in place of their routes.
#[derive(Message)]
pub struct MapParamAddDelPreResolve {
    /// or their routes
    pub is_add: bool,
    /// of IPv4 packets; 0.0.0.0 for no change
    pub ip4_nh_address: Ipv4Addr,
    /// of IPv6 packets; :: for no change
    pub ip6_nh_address: Ipv6Addr,
}

/// Set whether packets must come from where their address and port belong.
#[derive(Message)]
pub struct MapParamSetSecurityCheck {
    /// they must
    pub enable: bool,
    /// fragments too
    pub fragments: bool,
}

/// Set the traffic class of packets that are put into IPv6.
#[derive(Message)]
pub struct MapParamSetTrafficClass {
    /// that of the packet
    pub copy: bool,
    /// otherwise this one
    pub tc_class: u8,
}

/// Set the highest maximum segment size that TCP hosts tell each other.
#[derive(Message)]
pub struct MapParamSetTcp {
    /// in bytes; 0 for any
    pub tcp_mss: u16,
}

/// Ask for the parameters.
#[derive(Message)]
#[reply(MapParamGetReply)]
pub struct MapParamGet {}

/// The answer.
#[derive(Message)]
pub struct MapParamGetReply {
    /// packets are cut before they are put into IPv6
    pub frag_inner: u8,
    /// though their sender forbids it
    pub frag_ignore_df: u8,
    /// source of ICMP errors about packets within IPv6
    pub icmp_ip4_err_relay_src: Ipv4Addr,
    /// senders are told that their packets come from where they do not belong
    pub icmp6_enable_unreachable: bool,
    /// next hop of IPv4 packets
    pub ip4_nh_address: Ipv4Addr,
    /// next hop of IPv6 packets
    pub ip6_nh_address: Ipv6Addr,
    /// 0: fragments wait in shallow reassembly
    pub ip4_lifetime_ms: u16,
    /// 0, as above
    pub ip4_pool_size: u16,
    /// 0, as above
    pub ip4_buffers: u32,
    /// 0, as above
    pub ip4_ht_ratio: f64,
    /// packets must come from where their address and port belong
    pub sec_check_enable: bool,
    /// fragments too
    pub sec_check_fragments: bool,
    /// the traffic class is that of the packet
    pub tc_copy: bool,
    /// otherwise this one
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
