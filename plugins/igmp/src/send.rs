//! Messages to a link.

use net::neighbor;
use net::prelude::*;
use wire::igmp::{
    ALL_SYSTEMS, QUERY, QueryHeader, REPORT, REPORTS, ROUTER_ALERT, RecordHeader, RecordType,
    ReportHeader, code_of, with_checksum,
};

use super::Igmp;

/// Bytes of the IP header with its option.
const IP: usize = size_of::<ip4::Header>() + ROUTER_ALERT.len();
/// Precedence of messages: internetwork control (section 4).
const TOS: u8 = 0xc0;
/// Times that a message is sent where one may be lost.
const ROBUSTNESS: u8 = 2;
/// Tenths of a second within which hosts answer general queries.
const WITHIN: u32 = 100;
/// Records of a report at most: their number has 16 bits, a frame far less room.
const LEAST_MTU: usize = 68;

/// A record of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The record type.
    pub kind: RecordType,
    /// Group.
    pub group: Ipv4Addr,
    /// Sources.
    pub sources: Vec<Ipv4Addr>,
}

impl Record {
    fn len(&self) -> usize {
        size_of::<RecordHeader>() + 4 * self.sources.len()
    }
    fn append_to(&self, message: &mut Vec<u8>) {
        let header = RecordHeader {
            kind: self.kind as u8,
            auxiliary: 0,
            sources: (self.sources.len() as u16).into(),
            group: self.group.octets(),
        };
        message.extend(header.as_bytes());
        self.sources.iter().for_each(|source| message.extend(source.octets()));
    }
}

/// Records in messages with so much room each. One that does not fit in a message is cut (section
/// 4.2.16): of all sources but some, those that find no room go unsaid.
fn packed(records: &[Record], room: usize) -> Vec<Vec<Record>> {
    let most = (room - size_of::<RecordHeader>()) / 4;
    let (mut all, mut left) = (vec![Vec::new()], room);
    for record in records {
        let Record { kind, group, .. } = *record;
        let is_cut = matches!(kind, RecordType::IsExclude | RecordType::ToExclude);
        let mut parts: Vec<_> = record.sources.chunks(most).map(<[Ipv4Addr]>::to_vec).collect();
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        parts.truncate(if is_cut { 1 } else { usize::MAX });
        for sources in parts {
            let part = Record { kind, group, sources };
            if part.len() > left {
                all.push(Vec::new());
                left = room;
            }
            left -= part.len();
            all.last_mut().expect("one was put there").push(part);
        }
    }
    all.retain(|records| !records.is_empty());
    all
}

/// Sends records to the routers of a link, in as many messages as its MTU asks for.
pub fn report(router: &mut Router, interface: InterfaceIndex, records: &[Record]) {
    let Some(i) = router.interfaces.at(interface) else { return };
    if records.is_empty() {
        return;
    }
    let mtu = (i.mtu.l3 as usize).clamp(LEAST_MTU, 1500);
    for records in packed(records, mtu - IP - size_of::<ReportHeader>()) {
        let header = ReportHeader {
            kind: REPORT,
            reserved: 0,
            checksum: 0.into(),
            reserved2: 0.into(),
            records: (records.len() as u16).into(),
        };
        let mut message = header.as_bytes().to_vec();
        records.iter().for_each(|record| record.append_to(&mut message));
        send(router, interface, REPORTS, message);
    }
}

/// Queries the hosts of a link: for any group, a group, or sources of it.
pub fn query(
    router: &mut Router,
    interface: InterfaceIndex,
    group: Option<Ipv4Addr>,
    sources: &[Ipv4Addr],
) {
    let timers = router.own::<Igmp>().timers;
    let within = match group {
        None => WITHIN.min(timers.query * 5),
        Some(_) => timers.leave * 10 / u32::from(ROBUSTNESS),
    };
    let room = 1500.min(router.interfaces.at(interface).map_or(0, |i| i.mtu.l3 as usize));
    let most = room.max(LEAST_MTU) - IP - size_of::<QueryHeader>();
    for sources in sources.chunks(most / 4).chain(sources.is_empty().then_some(&[][..])) {
        let header = QueryHeader {
            kind: QUERY,
            max_response: code_of(within),
            checksum: 0.into(),
            group: group.unwrap_or(Ipv4Addr::UNSPECIFIED).octets(),
            flags: ROBUSTNESS,
            interval: code_of(timers.query),
            sources: (sources.len() as u16).into(),
        };
        let mut message = header.as_bytes().to_vec();
        sources.iter().for_each(|source| message.extend(source.octets()));
        send(router, interface, group.unwrap_or(ALL_SYSTEMS), message);
    }
}

fn send(router: &mut Router, interface: InterfaceIndex, to: Ipv4Addr, message: Vec<u8>) {
    let Some(i) = router.interfaces.at(interface) else { return };
    if !i.admin_up || !i.link_up {
        return;
    }
    let own = router.addresses.of(interface).ip4.first().map(|prefix| prefix.addr());
    let is_query = message.first() == Some(&QUERY);
    let Some(source) = own.or((!is_query).then_some(Ipv4Addr::UNSPECIFIED)) else { return };
    let mut ip = ip4::Header::new(source, to, Protocol::IGMP, (IP + message.len()) as u16);
    (ip.version_ihl, ip.tos, ip.ttl) = (0x46, TOS, 1);
    ip.checksum = 0.into();
    let sum = wire::checksum::Sum::ZERO.add_bytes(ip.as_bytes()).add_bytes(&ROUTER_ALERT);
    ip.checksum = sum.checksum();
    let ethernet = ethernet::Header::new(MacAddr::for_ip4_group(to), i.mac, EtherType::IP4);
    let front: &[u8] =
        if i.kind == net::interface::Kind::Ethernet { ethernet.as_bytes() } else { &[] };
    let frame = [front, ip.as_bytes(), &ROUTER_ALERT, &with_checksum(message)].concat();
    neighbor::send(router, interface, frame);
}
