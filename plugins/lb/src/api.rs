//! Answers to messages of the module `lb`.

use control::api::types::{Address, AddressWithPrefix, IpDscp, IpProto};
use net::prelude::*;

use crate::maglev::share;
use crate::messages::*;
use crate::state::{self, Conf, Declared, Lb, Server};
use crate::vip::{Encap, FULL_WEIGHT, Key, Service, Vip};
use crate::{nat, servers};

/// The protocol of VIPs for all.
const ANY: u8 = 255;
/// The flag of a server that gets new flows.
const USED: u8 = 1;

/// The VIP of a prefix, protocol and port.
fn key(pfx: AddressWithPrefix, protocol: u8, port: u16) -> Result<Key, Retval> {
    let prefix = pfx.0.native()?.network();
    let port = (protocol != ANY).then_some((Protocol(protocol), port));
    Ok(Key { prefix, port })
}

/// As [`key`], where protocol 0 is all as well.
fn key_or_all(pfx: AddressWithPrefix, protocol: u8, port: u16) -> Result<Key, Retval> {
    key(pfx, if protocol == 0 { ANY } else { protocol }, port)
}

fn add_del_vip(
    router: &mut Router,
    m: &VipFields,
    is_sticky: bool,
    is_del: bool,
) -> Result<(), Retval> {
    let key = key(m.pfx, m.protocol, m.port)?;
    if is_del {
        return Ok(state::remove_vip(router, &key)?);
    }
    let (encap, _) = *Encap::ALL.get(m.encap.0 as usize).ok_or(Retval::INVALID_ARGUMENT)?;
    let service = match m.kind {
        LbSrvType::CLUSTERIP => Service::ClusterIp,
        LbSrvType::NODEPORT if m.node_port == 0 => Service::NodePort(m.port),
        LbSrvType::NODEPORT => Service::NodePort(m.node_port),
        _ => return Err(Retval::INVALID_ARGUMENT),
    };
    let vip = Vip {
        key,
        encap,
        dscp: m.dscp,
        service,
        target_port: m.target_port,
        places: m.new_flows_table_length,
        is_sticky,
    };
    Ok(state::add_vip(router, vip)?)
}

fn add_del_server(router: &mut Router, m: &LbAddDelAsV2) -> Result<(), Retval> {
    let (key, addrs) = (key(m.pfx, m.protocol, m.port)?, [m.as_address.native()?]);
    match m.is_del {
        true => Ok(servers::remove(router, &key, &addrs, m.is_flush)?),
        false => Ok(servers::add(router, &key, &addrs, m.weight)?),
    }
}

fn vip_of(key: &Key) -> LbVip {
    let (protocol, port) = key.port.map_or((ANY, 0), |(protocol, port)| (protocol.0, port));
    LbVip { pfx: AddressWithPrefix(key.prefix.into()), protocol: IpProto(protocol), port }
}

/// VIPs that a request names: those of a prefix without bits are all.
fn named(
    router: &Router,
    pfx: AddressWithPrefix,
    lengths: PrefixMatcher,
    (protocol, port): (u8, u16),
) -> Vec<&Declared> {
    let Ok(prefix) = pfx.0.native() else { return Vec::new() };
    let (prefix, PrefixMatcher { le, ge }) = (prefix.network(), lengths);
    let is_any = prefix.prefix_len() == 0 && prefix.addr().is_unspecified();
    let fits = |key: &Key| {
        let len = key.prefix.prefix_len();
        let is_within = (le != 0 || ge != 0)
            && len >= prefix.prefix_len()
            && prefix.contains(key.prefix.addr())
            && (le == 0 || len <= le)
            && len >= ge;
        let of_protocol = |it: Protocol| matches!(protocol, 0 | ANY) || it.0 == protocol;
        let of_port = |it: u16| port == 0 || it == port;
        let is_named = is_any || key.prefix == prefix || is_within;
        let is_all = matches!(protocol, 0 | ANY) && port == 0;
        is_named && key.port.map_or(is_all, |(p, number)| of_protocol(p) && of_port(number))
    };
    let all = router.own::<Lb>().vips.iter();
    all.filter(|(key, _)| fits(key)).map(|(_, declared)| declared).collect()
}

/// Any lengths, for requests that name a prefix only.
const ONE: PrefixMatcher = PrefixMatcher { le: 0, ge: 0 };

fn vip_details(declared: &Declared) -> LbVipDetails {
    let vip = &declared.vip;
    LbVipDetails {
        vip: vip_of(&vip.key),
        encap: LbEncapType(vip.encap as u32),
        dscp: IpDscp(vip.dscp),
        srv_type: match vip.service {
            Service::ClusterIp => LbSrvType::CLUSTERIP,
            Service::NodePort(_) => LbSrvType::NODEPORT,
        },
        target_port: vip.target_port,
        flow_table_length: u16::try_from(vip.places).unwrap_or(u16::MAX),
    }
}

/// A row for each server of some VIPs.
fn rows<T>(all: &[&Declared], row: impl Fn(&Declared, Address, &Server) -> T) -> Vec<T> {
    let mut rows = Vec::new();
    for declared in all {
        let servers = declared.servers.iter();
        rows.extend(servers.map(|(addr, server)| row(declared, (*addr).into(), server)));
    }
    rows
}

fn flags(server: &Server) -> u8 {
    if server.is_used { USED } else { 0 }
}

fn set_conf(router: &mut Router, m: &LbConf) -> Result<(), Retval> {
    let given = |n: u32| Some(n).filter(|n| *n != u32::MAX);
    let (buckets, timeout) = (given(m.sticky_buckets_per_core), given(m.flow_timeout));
    let (ip4, ip6) = (Some(m.ip4_src_address), Some(m.ip6_src_address));
    Ok(state::configure(router, Conf { ip4, ip6, buckets, timeout })?)
}

fn conf(router: &Router) -> LbConfGetReply {
    let lb = router.own::<Lb>();
    let sources = lb.tables.sources.current();
    LbConfGetReply {
        ip4_src_address: sources.ip4,
        ip6_src_address: sources.ip6,
        sticky_buckets_per_core: lb.buckets,
        flow_timeout: lb.timeout,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("lb", "1.2.0")
        .call(|router: &mut Router, m: LbConf| set_conf(router, &m))
        .call(|router, _: LbConfGet| Ok(conf(router)))
        .call(|router, m: LbAddDelVip| add_del_vip(router, &m.vip, false, m.is_del))
        .call(|router, m: LbAddDelVipV2| add_del_vip(router, &m.vip, m.src_ip_sticky, m.is_del))
        .call(|router, m: LbAddDelAs| {
            let LbAddDelAs { pfx, protocol, port, as_address, is_del, is_flush } = m;
            let weight = FULL_WEIGHT;
            let m = LbAddDelAsV2 { pfx, protocol, port, as_address, weight, is_del, is_flush };
            add_del_server(router, &m)
        })
        .call(|router, m: LbAddDelAsV2| add_del_server(router, &m))
        .call(|router, m: LbAsSetWeight| {
            let (key, addr) = (key(m.pfx, m.protocol, m.port)?, m.as_address.native()?);
            Ok(servers::set_weight(router, &key, addr, m.weight, m.is_flush)?)
        })
        .call(|router, m: LbFlushVip| {
            Ok(servers::flush(router, &key_or_all(m.pfx, m.protocol, m.port)?)?)
        })
        .dump(|router: &mut Router, m: LbVipDump| {
            let all = named(router, m.pfx, m.pfx_matcher, (m.protocol, m.port));
            all.into_iter().map(vip_details).collect()
        })
        .dump(|router: &mut Router, m: LbAsDump| {
            let now = router.now();
            let all = named(router, m.pfx, ONE, (m.protocol, m.port));
            rows(&all, |declared, app_srv, server| LbAsDetails {
                vip: vip_of(&declared.vip.key),
                app_srv,
                flags: flags(server),
                in_use_since: (now - server.since) as u32,
            })
        })
        .dump(|router: &mut Router, m: LbAsV2Dump| {
            let now = router.now();
            let views = &router.own::<Lb>().tables.vips;
            let all = named(router, m.pfx, ONE, (m.protocol, m.port));
            rows(&all, |declared, app_srv, server| LbAsV2Details {
                vip: vip_of(&declared.vip.key),
                app_srv,
                flags: flags(server),
                in_use_since: (now - server.since) as u32,
                weight: server.weight,
                num_buckets: views
                    .at(declared.number)
                    .map_or(0, |view| share(&view.places, server.number)),
            })
        })
        .call(|router, m: LbAddDelIntfNat4| Ok(nat::set(router, m.sw_if_index, 0, m.is_add)?))
        .call(|router, m: LbAddDelIntfNat6| Ok(nat::set(router, m.sw_if_index, 1, m.is_add)?));
}
