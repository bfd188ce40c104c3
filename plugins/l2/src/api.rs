//! Messages of the module `l2`: what is done for them.

use std::ops::Bound;

use control::api::Caller;
use net::interface::TagRewrite;
use net::prelude::*;

use super::arcs::input;
use super::arp_term::Heard;
use super::domain;
use super::fib::{self, Entry};
use super::mac_messages::*;
use super::macs::{self, Flush, Target};
use super::messages::*;
use super::scan::{self, Client};
use super::state::{Bridging, DEFAULT_LIMIT, Domain, Place, Role};

/// Version of the module.
pub(crate) const VERSION: &str = "3.3.0";
/// Stands for every domain and interface, and for none.
const ALL: u32 = u32::MAX;

/// The same features as flags of clients and in the bitmap.
const FLAGS: [(u32, u32); 6] = [
    (1, input::LEARN),
    (2, input::FWD),
    (4, input::FLOOD),
    (8, input::UU_FLOOD),
    (16, input::ARP_TERM),
    (32, input::ARP_UFWD),
];

fn to_bits(flags: u32) -> u32 {
    FLAGS.iter().filter(|(flag, _)| flags & flag != 0).fold(0, |bits, (_, bit)| bits | bit)
}

fn to_flags(bits: u32) -> u32 {
    FLAGS.iter().filter(|(_, bit)| bits & bit != 0).fold(0, |flags, (flag, _)| flags | flag)
}

impl DomainFields {
    fn bits(&self) -> u32 {
        let flags = [self.learn, self.forward, self.flood, self.uu_flood];
        let flags = flags.into_iter().chain([self.arp_term, self.arp_ufwd]);
        to_bits(flags.enumerate().fold(0, |bits, (bit, on)| bits | u32::from(on) << bit))
    }
    fn answer(self, router: &mut Router, bd_id: u32) -> Result<u32, Retval> {
        if !self.is_add {
            domain::remove(router, bd_id)?;
            return Ok(bd_id);
        }
        let id = (bd_id != ALL).then_some(bd_id);
        let id = domain::add(router, id, self.bits(), self.mac_age)?;
        domain::change(router, id, |domain| domain.tag = self.bd_tag.to_string())?;
        Ok(id)
    }
}

impl BridgeDomainDetails {
    fn of(id: u32, domain: &Domain) -> Self {
        let has = |bit| domain.bits & bit != 0;
        let index = |i: Option<InterfaceIndex>| i.unwrap_or(InterfaceIndex(ALL));
        let port = |(sw_if_index, shg)| BridgeDomainSwIf { context: 0, sw_if_index, shg };
        Self {
            bd_id: id,
            flood: has(input::FLOOD),
            uu_flood: has(input::UU_FLOOD),
            forward: has(input::FWD),
            learn: has(input::LEARN),
            arp_term: has(input::ARP_TERM),
            arp_ufwd: has(input::ARP_UFWD),
            mac_age: domain.mac_age,
            bd_tag: domain.tag.as_str().into(),
            bvi_sw_if_index: index(domain.bvi),
            uu_fwd_sw_if_index: index(domain.unknown),
            sw_if_details: domain.ports().map(port).collect(),
        }
    }
}

/// Tells a client of addresses. False when it is gone.
pub(crate) fn send(router: &Router, to: Client, macs: &[MacEntry]) -> bool {
    router.clients.send_to(to.client, to.pid, &L2MacsEvent { mac: macs.to_vec() })
}

/// Seconds in which clients get one event of the same host, as long as no other one asks.
const QUIET: f64 = 10.0;

/// Sends clients the address of a host that asks for another one. One that goes on asking is no
/// news, by ARP and by neighbour discovery each.
pub(crate) fn tell_heard(router: &mut Router, heard: &Heard) {
    if !router.clients.is_wanted::<L2ArpTermEvent>() {
        return;
    }
    let (of, now) = (IpVersion::from(heard.ip) as usize, router.now());
    let last = &mut router.own_mut::<Bridging>().heard[of];
    if last.is_some_and(|(last, at)| last == *heard && (0.0..QUIET).contains(&(now - at))) {
        return;
    }
    *last = Some((*heard, now));
    let Heard { ip, mac, interface } = *heard;
    router.clients.send(&L2ArpTermEvent { ip: ip.into(), sw_if_index: interface, mac });
}

/// Registers a client for learned addresses: one at a time.
fn want(
    router: &mut Router,
    Caller { client, .. }: Caller,
    (enable, pid, tens): (bool, u32, u8),
    (limit, delay): (u32, Option<u16>),
) -> Result<(), Retval> {
    let clients = router.clients.clone();
    let bridging = router.own_mut::<Bridging>();
    let other = bridging.scan.client.filter(|c| c.client != client);
    if enable && other.is_some_and(|c| clients.is_connected(c.client)) {
        return Err(Retval::L2_MACS_EVENT_CLIENT_PRESENT);
    }
    if !enable && other.is_some() {
        return Err(Retval::L2_MACS_EVENT_CLIENT_PRESENT);
    }
    let most = 10 * usize::from(tens);
    bridging.scan.client = enable.then_some(Client { client, pid, most });
    bridging.scan.delay = delay.filter(|_| enable).unwrap_or(bridging.scan.delay);
    set_limit(router, limit);
    if enable {
        // All existing addresses are reported, as they are learned again.
        macs::flush(router, Flush::All)?;
    }
    Ok(())
}

/// Sets how many addresses are learned at most, in all.
fn set_limit(router: &mut Router, limit: u32) {
    let bridging = router.own_mut::<Bridging>();
    bridging.limit = limit;
    let ids: Vec<u32> = bridging.domains.keys().copied().collect();
    ids.into_iter().for_each(|id| super::state::publish_domain(router, id));
}

/// Addresses of one domain or all that count, in the order of the table.
pub(crate) fn entries(router: &Router, only: Option<u16>) -> Vec<(u32, MacAddr, Entry)> {
    let (mut found, bridging) = (Vec::new(), router.own::<Bridging>());
    bridging.fib.each(|key, value| {
        if only.is_none_or(|index| index == fib::of_key(key).0) {
            found.push((key, Entry(value)));
        }
    });
    let entry = |(key, entry): (u64, Entry)| {
        let (index, mac) = fib::of_key(key);
        let id = *bridging.by_index.get(&index)?;
        (!scan::is_stale(bridging, key, entry)).then_some((id, mac, entry))
    };
    found.into_iter().filter_map(entry).collect()
}

fn fib_details((bd_id, mac, entry): (u32, MacAddr, Entry)) -> L2FibTableDetails {
    L2FibTableDetails {
        bd_id,
        mac,
        sw_if_index: InterfaceIndex(entry.interface()),
        static_mac: entry.has(fib::STATIC),
        filter_mac: entry.has(fib::FILTER),
        bvi_mac: entry.has(fib::BVI),
    }
}

fn set_mac(router: &mut Router, m: &L2fibAddDel) -> Result<(), Retval> {
    if !m.is_add {
        return Ok(macs::remove_mac(router, m.bd_id, m.mac)?);
    }
    let to = match (m.filter_mac, m.bvi_mac) {
        (true, _) => Target::Filter,
        (_, true) => Target::Bvi(m.sw_if_index),
        _ => Target::On(m.sw_if_index, m.static_mac),
    };
    Ok(macs::add_mac(router, m.bd_id, m.mac, to)?)
}

fn set_bridge(router: &mut Router, m: &SwInterfaceSetL2Bridge) -> Result<(), Retval> {
    if !m.enable {
        return Ok(domain::routed(router, m.rx_sw_if_index)?);
    }
    let role = match m.port_type {
        L2PortType::NORMAL => Role::Normal,
        L2PortType::BVI => Role::Bvi,
        L2PortType::UU_FWD => Role::Unknown,
        _ => return Err(Retval::INVALID_VALUE),
    };
    Ok(domain::bridge(router, m.rx_sw_if_index, m.bd_id, role, m.shg)?)
}

/// The next domain after one, of those asked for.
fn next_domain(
    router: &Router,
    m: &BridgeDomainDump,
    after: &mut Option<u32>,
) -> Option<BridgeDomainDetails> {
    let bridging = router.own::<Bridging>();
    let of_port = bridging.domain_of(m.sw_if_index).map(|(id, ..)| id);
    let only = match (m.bd_id, m.sw_if_index.0) {
        (ALL, ALL) => None,
        (ALL, _) => Some(of_port?),
        (id, _) => Some(id),
    };
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut all = bridging.domains.range((from, Bound::Unbounded));
    let (id, domain) = all.find(|(id, _)| only.is_none_or(|only| only == **id))?;
    *after = Some(*id);
    Some(BridgeDomainDetails::of(*id, domain))
}

fn owners(router: &Router, id: u32) -> Vec<BdIpMacDetails> {
    let domains = router.own::<Bridging>().domains.iter();
    let meant = domains.filter(|(bd_id, _)| id == ALL || **bd_id == id);
    let entry = |bd_id: u32, (ip, mac): (&IpAddr, &MacAddr)| BdIpMacDetails {
        entry: BdIpMac { bd_id, ip: (*ip).into(), mac: *mac },
    };
    meant.flat_map(|(id, d)| d.owners.iter().map(|owner| entry(*id, owner))).collect()
}

pub(super) fn register(api: &mut Api<Router>) {
    domains(api);
    addresses(api);
    ports(api);
}

fn domains(api: &mut Api<Router>) {
    api.core("l2", VERSION)
        .call(|router: &mut Router, m: BridgeDomainAddDel| {
            m.domain.answer(router, m.bd_id)?;
            Ok(BridgeDomainAddDelReply {})
        })
        .call(|router: &mut Router, m: BridgeDomainAddDelV2| {
            Ok(BridgeDomainAddDelV2Reply { bd_id: m.domain.answer(router, m.bd_id)? })
        })
        .dump_each(|_, m: BridgeDomainDump| {
            let mut after = None;
            move |router: &mut Router| next_domain(router, &m, &mut after)
        })
        .call(|router: &mut Router, m: BridgeFlags| {
            let resulting_feature_bitmap = domain::change(router, m.bd_id, |domain| {
                let bits = to_bits(m.flags.0);
                domain.bits = if m.is_set { domain.bits | bits } else { domain.bits & !bits };
                domain.shown_bits()
            })?;
            Ok(BridgeFlagsReply { resulting_feature_bitmap })
        })
        .call(|router: &mut Router, m: BridgeDomainSetMacAge| {
            domain::change(router, m.bd_id, |domain| domain.mac_age = m.mac_age)?;
            scan::wake(router);
            Ok(())
        })
        .call(|router: &mut Router, m: BridgeDomainSetDefaultLearnLimit| {
            router.own_mut::<Bridging>().default_limit = m.learn_limit;
            Ok(())
        })
        .call(|router: &mut Router, m: BridgeDomainSetLearnLimit| {
            Ok(domain::change(router, m.bd_id, |domain| domain.limit = m.learn_limit)?)
        })
        .call(|router: &mut Router, m: BdIpMacAddDel| {
            let BdIpMac { bd_id, ip, mac } = m.entry;
            let mac = m.is_add.then_some(mac);
            Ok(domain::set_owner(router, bd_id, ip.native()?, mac)?)
        })
        .call(|router: &mut Router, m: BdIpMacFlush| {
            Ok(domain::change(router, m.bd_id, |domain| domain.owners = Default::default())?)
        })
        .dump(|router: &mut Router, m: BdIpMacDump| owners(router, m.bd_id))
        .call_by(|router: &mut Router, caller, m: WantL2ArpTermEvents| {
            // A new subscriber has no history.
            router.own_mut::<Bridging>().heard = [None; 2];
            router.clients.want::<L2ArpTermEvent>(caller.client, m.pid, m.enable)
        });
}

fn addresses(api: &mut Api<Router>) {
    api.core("l2", VERSION)
        .dump_each(|router: &mut Router, m: L2FibTableDump| {
            let domain = router.own::<Bridging>().domains.get(&m.bd_id).map(|d| d.index);
            let rows = match (domain, m.bd_id) {
                (None, ALL) => entries(router, None),
                (None, _) => Vec::new(),
                (Some(index), _) => entries(router, Some(index)),
            };
            let mut rows = rows.into_iter();
            move |_: &mut Router| rows.next().map(fib_details)
        })
        .call(|router: &mut Router, _: L2FibClearTable| {
            macs::sweep(router, |_, _| true);
            Ok(())
        })
        .call(|router: &mut Router, _: L2fibFlushAll| Ok(macs::flush(router, Flush::All)?))
        .call(|router: &mut Router, m: L2fibFlushBd| {
            Ok(macs::flush(router, Flush::Domain(m.bd_id))?)
        })
        .call(|router: &mut Router, m: L2fibFlushInt| {
            Ok(macs::flush(router, Flush::Port(m.sw_if_index))?)
        })
        .call(|router: &mut Router, m: L2fibAddDel| set_mac(router, &m))
        .call_by(|router: &mut Router, caller, m: WantL2MacsEvents| {
            let known =
                Some(m.learn_limit).filter(|l| m.enable_disable && (1..DEFAULT_LIMIT).contains(l));
            let (limit, delay) = (known.unwrap_or(DEFAULT_LIMIT), m.scan_delay.into());
            let wish = (m.enable_disable, m.pid, m.max_macs_in_event);
            want(router, caller, wish, (limit, Some(delay)))?;
            Ok(WantL2MacsEventsReply {})
        })
        .call_by(|router: &mut Router, caller, m: WantL2MacsEvents2| {
            let limit = router.own::<Bridging>().limit;
            let wish = (m.enable_disable, m.pid, m.max_macs_in_event);
            want(router, caller, wish, (limit, None))
        })
        .call(|router: &mut Router, m: L2fibSetScanDelay| {
            router.own_mut::<Bridging>().scan.delay = m.scan_delay;
            scan::wake(router);
            Ok(())
        });
}

fn ports(api: &mut Api<Router>) {
    api.core("l2", VERSION)
        .call(|router: &mut Router, m: SwInterfaceSetL2Bridge| set_bridge(router, &m))
        .call(|router: &mut Router, m: SwInterfaceSetL2Xconnect| {
            match m.enable {
                true => domain::cross_connect(router, m.rx_sw_if_index, m.tx_sw_if_index)?,
                false => domain::routed(router, m.rx_sw_if_index)?,
            }
            Ok(())
        })
        .dump(|router: &mut Router, _: L2XconnectDump| {
            let ports = router.own::<Bridging>().ports.iter();
            let connected = ports.filter_map(|(rx_sw_if_index, port)| match port.place {
                Place::CrossConnect(tx_sw_if_index) => {
                    Some(L2XconnectDetails { rx_sw_if_index: *rx_sw_if_index, tx_sw_if_index })
                }
                Place::Bridge(..) | Place::Lent(_) => None,
            });
            connected.collect()
        })
        .call(|router: &mut Router, m: L2Flags| {
            let bits = to_bits(m.feature_bitmap);
            let [bits, _] = domain::set_bits(router, m.sw_if_index, [bits, 0], m.is_set)?;
            Ok(L2FlagsReply { resulting_feature_bitmap: bits })
        })
        .call(|router: &mut Router, m: L2FlagsGet| {
            let [input_feature_bitmap, output_feature_bitmap] =
                domain::bits(router, m.sw_if_index)?;
            Ok(L2FlagsGetReply { input_feature_bitmap, output_feature_bitmap })
        })
        .call(|router: &mut Router, m: L2FlagsSet| {
            let bits = [m.input_feature_bitmap, m.output_feature_bitmap];
            domain::set_bits(router, m.sw_if_index, bits, m.is_set)?;
            Ok(())
        })
        .call(|router: &mut Router, m: L2InterfaceFeatFlagsGet| {
            let [bits, _] = domain::bits(router, m.sw_if_index)?;
            Ok(L2InterfaceFeatFlagsGetReply { flags: L2IntfFeatFlags(to_flags(bits)) })
        })
        .call(|router: &mut Router, m: L2InterfaceFeatFlagsSet| {
            let bits = [to_bits(m.flags.0), 0];
            domain::set_bits(router, m.sw_if_index, bits, m.is_set)?;
            Ok(())
        })
        .call(|router: &mut Router, m: L2InterfaceEfpFilter| {
            domain::set_bits(router, m.sw_if_index, [0, 1 << 6], m.enable_disable)?;
            Ok(())
        });
    rewrites(api);
}

fn rewrites(api: &mut Api<Router>) {
    api.core("l2", VERSION)
        .call(|router: &mut Router, m: L2InterfaceVlanTagRewrite| {
            let wanted = TagRewrite {
                op: m.vtr_op,
                push_dot1q: m.push_dot1q,
                tags: [m.tag1, m.tag2],
                ..TagRewrite::default()
            };
            Ok(domain::set_rewrite(router, m.sw_if_index, wanted)?)
        })
        .call(|router: &mut Router, m: L2InterfacePbbTagRewrite| {
            let wanted = TagRewrite {
                op: m.vtr_op,
                is_backbone: true,
                outer_tag: m.outer_tag,
                b_dmac: m.b_dmac,
                b_smac: m.b_smac,
                b_vlanid: m.b_vlanid,
                i_sid: m.i_sid,
                ..TagRewrite::default()
            };
            Ok(domain::set_rewrite(router, m.sw_if_index, wanted)?)
        })
        .call(|router: &mut Router, m: SwInterfaceSetVpath| {
            router.interfaces.at(m.sw_if_index).ok_or(Retval::INVALID_SW_IF_INDEX)?;
            // No node takes packets of virtual paths: off is what it is.
            if m.enable { Err(Retval::UNSUPPORTED) } else { Ok(()) }
        })
        .call(|router: &mut Router, m: L2PatchAddDel| {
            let (rx, to) = (m.rx_sw_if_index, m.tx_sw_if_index);
            router.interfaces.at(to).ok_or(Retval::INVALID_SW_IF_INDEX_2)?;
            Ok(domain::set_patch(router, rx, m.is_add.then_some(to))?)
        });
}
