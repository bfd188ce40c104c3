//! Reports: frames that name groups (RFC 3810 section 5.2, RFC 2710 section 3).

use net::prelude::*;
use wire::checksum;
use wire::mld::{HOP_BY_HOP, REPORTS, Version1};

/// The type of a record of a group in a report (RFC 3810 section 5.2.5). All packets to a group are
/// wanted, or none: there are no lists of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordType {
    /// It has a member.
    IsIn = 2,
    /// It has none from now on.
    Left = 3,
    /// It has one from now on.
    Joined = 4,
}

/// Most records that fit into the least MTU.
const MOST_RECORDS: usize = 60;

/// Frames that tell routers of groups.
pub fn version2(
    mac: MacAddr,
    source: Ipv6Addr,
    records: &[(RecordType, Ipv6Addr)],
) -> Vec<Vec<u8>> {
    let kind = icmp6::Header::new(icmp6::Type::MULTICAST_LISTENER_REPORT_V2, 0);
    let frames = records.chunks(MOST_RECORDS).map(|records| {
        let mut message = [kind.as_bytes(), &[0, 0, 0, records.len() as u8]].concat();
        for (said, group) in records {
            message.extend([*said as u8, 0, 0, 0]);
            message.extend(group.octets());
        }
        frame((mac, source), REPORTS, message)
    });
    frames.collect()
}

/// A frame that tells routers of version 1 that a group has a member.
pub fn version1(mac: MacAddr, source: Ipv6Addr, group: Ipv6Addr) -> Vec<u8> {
    let report = Version1 {
        icmp: icmp6::Header::new(icmp6::Type::MULTICAST_LISTENER_REPORT, 0),
        max_response: 0.into(),
        reserved: 0.into(),
        group: group.octets(),
    };
    frame((mac, source), group, report.as_bytes().to_vec())
}

fn frame((mac, source): (MacAddr, Ipv6Addr), group: Ipv6Addr, mut message: Vec<u8>) -> Vec<u8> {
    let len = HOP_BY_HOP.len() + message.len();
    let mut ip = ip6::Header::new(source, group, Protocol(0), len as u16);
    ip.hop_limit = 1;
    let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, message.len() as u32);
    let sum = pseudo.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(sum.as_bytes());
    let to = MacAddr::for_ip6_group(group);
    let ethernet = ethernet::Header::new(to, mac, ethernet::EtherType::IP6);
    [ethernet.as_bytes(), ip.as_bytes(), &HOP_BY_HOP, &message].concat()
}
