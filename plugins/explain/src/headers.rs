//! Headers of packets as named fields, and what is different between two packets.

use graph::explain::Snapshot;
use net::prelude::*;
use serde::Serializer;
use wire::{arp, vlan};

/// A header: its name and its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// `ethernet`, `vlan`, `mpls`, `arp`, `ip4`, `ip6`, `udp`, `tcp`, `icmp4`, `icmp6`.
    pub header: &'static str,
    /// Names and values, in the order of the wire.
    #[serde(serialize_with = "as_map")]
    pub fields: Vec<(&'static str, String)>,
}

fn as_map<S: Serializer>(fields: &[(&str, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(fields.iter().map(|(name, value)| (name, value)))
}

/// A difference between a packet before and after a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum Change {
    /// A header was taken off the front.
    Taken(Header),
    /// A header was put in front.
    Put(Header),
    /// A header of what was inside the ones that were taken off.
    Inside(Header),
    /// A field has another value.
    Field {
        /// Header.
        header: &'static str,
        /// The field.
        field: &'static str,
        /// As it was.
        before: String,
        /// Unchanged.
        after: String,
    },
    /// The length of the packet in bytes.
    Length {
        /// As it was.
        before: usize,
        /// Unchanged.
        after: usize,
    },
    /// Bytes that are no field of a header known here.
    Bytes,
}

impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.header)?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name} {value}"))
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Taken(header) => write!(f, "removed: {header}"),
            Self::Put(header) => write!(f, "put in front: {header}"),
            Self::Inside(header) => write!(f, "inside: {header}"),
            Self::Field { header, field, before, after } => {
                write!(f, "changed: {header} {field} {before} to {after}")
            }
            Self::Length { before, after } => write!(f, "changed: {before} bytes to {after}"),
            Self::Bytes => f.write_str("changed: payload bytes"),
        }
    }
}

/// The first header that a node reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Ethernet,
    Ip,
    Mpls,
    Arp,
}

/// The headers of a packet that `node` is given.
pub fn read(p: &Snapshot, node: &str) -> Vec<Header> {
    let mut all = Vec::new();
    match first(p, node) {
        First::Ethernet => read_ethernet(&p.bytes, &mut all),
        First::Ip => read_ip(&p.bytes, &mut all),
        First::Mpls => read_mpls(&p.bytes, &mut all),
        First::Arp => read_arp(&p.bytes, &mut all),
    }
    all
}

fn first(p: &Snapshot, node: &str) -> First {
    let [l2, l3] = p.headers;
    let is_framed = ["ethernet-", "l2-", "bvi-", "xconnect"].iter().any(|n| node.starts_with(n));
    if is_framed || (l2 == Some(p.offset) && l3 != Some(p.offset)) {
        return First::Ethernet;
    }
    if node.starts_with("arp-") {
        return First::Arp;
    }
    if node.starts_with("mpls-") {
        return First::Mpls;
    }
    if starts_with_ip(&p.bytes) { First::Ip } else { First::Ethernet }
}

fn starts_with_ip(bytes: &[u8]) -> bool {
    match bytes.first().map(|b| b >> 4) {
        Some(4) => ip4::Header::ref_from_prefix(bytes).is_ok(),
        Some(6) => ip6::Header::ref_from_prefix(bytes).is_ok(),
        _ => false,
    }
}

fn read_ethernet(bytes: &[u8], all: &mut Vec<Header>) {
    let Ok((h, mut rest)) = ethernet::Header::ref_from_prefix(bytes) else { return };
    let mut kind = h.ethertype;
    all.push(Header {
        header: "ethernet",
        fields: vec![
            ("src", h.src.to_string()),
            ("dst", h.dst.to_string()),
            ("type", kind.to_string()),
        ],
    });
    while kind.is_vlan()
        && let Ok((tag, behind)) = vlan::Tag::ref_from_prefix(rest)
    {
        all.push(Header {
            header: "vlan",
            fields: vec![
                ("id", tag.id().to_string()),
                ("priority", tag.priority().to_string()),
                ("type", tag.ethertype.to_string()),
            ],
        });
        (kind, rest) = (tag.ethertype, behind);
    }
    match kind {
        EtherType::IP4 | EtherType::IP6 => read_ip(rest, all),
        EtherType::ARP => read_arp(rest, all),
        EtherType::MPLS | EtherType::MPLS_UPSTREAM => read_mpls(rest, all),
        _ => {}
    }
}

fn read_mpls(mut bytes: &[u8], all: &mut Vec<Header>) {
    while let Some((word, rest)) = bytes.split_first_chunk() {
        let entry = u32::from_be_bytes(*word);
        all.push(Header {
            header: "mpls",
            fields: vec![
                ("label", (entry >> 12).to_string()),
                ("exp", (entry >> 9 & 7).to_string()),
                ("ttl", (entry & 255).to_string()),
            ],
        });
        bytes = rest;
        if entry & 0x100 != 0 {
            break;
        }
    }
    if starts_with_ip(bytes) {
        read_ip(bytes, all);
    }
}

fn read_arp(bytes: &[u8], all: &mut Vec<Header>) {
    let Ok((h, _)) = arp::Header::ref_from_prefix(bytes) else { return };
    let text = wire::print::arp(&bytes[..size_of_val(h)], 0).to_string();
    let text = text.lines().map(str::trim).collect::<Vec<_>>().join(", ");
    all.push(Header { header: "arp", fields: vec![("message", text)] });
}

fn read_ip(bytes: &[u8], all: &mut Vec<Header>) {
    let behind = match bytes.first().map(|b| b >> 4) {
        Some(4) => read_ip4(bytes, all),
        Some(6) => read_ip6(bytes, all),
        _ => None,
    };
    if let Some((protocol, rest)) = behind {
        read_upper(protocol, rest, all);
    }
}

fn read_ip4<'b>(bytes: &'b [u8], all: &mut Vec<Header>) -> Option<(Protocol, &'b [u8])> {
    let (h, _) = ip4::Header::ref_from_prefix(bytes).ok()?;
    all.push(Header {
        header: "ip4",
        fields: vec![
            ("tos", format!("{:#04x}", h.tos)),
            ("length", h.total_len.to_string()),
            ("id", h.id.to_string()),
            ("fragment", format!("{:#06x}", h.fragment.get())),
            ("ttl", h.ttl.to_string()),
            ("protocol", h.protocol.to_string()),
            ("checksum", format!("{:#06x}", h.checksum.get())),
            ("src", h.src_addr().to_string()),
            ("dst", h.dst_addr().to_string()),
        ],
    });
    let rest = bytes.get(h.header_len()..)?;
    (h.fragment_offset() == 0).then_some((h.protocol, rest))
}

fn read_ip6<'b>(bytes: &'b [u8], all: &mut Vec<Header>) -> Option<(Protocol, &'b [u8])> {
    let (h, _) = ip6::Header::ref_from_prefix(bytes).ok()?;
    all.push(Header {
        header: "ip6",
        fields: vec![
            ("class", format!("{:#04x}", h.traffic_class())),
            ("flow", format!("{:#x}", h.flow_label())),
            ("length", h.payload_len.to_string()),
            ("next", h.next_header.to_string()),
            ("hop-limit", h.hop_limit.to_string()),
            ("src", h.src_addr().to_string()),
            ("dst", h.dst_addr().to_string()),
        ],
    });
    let found = ip6::upper_layer(bytes)?;
    let is_first = found.fragment.is_none_or(|f| f.offset() == 0);
    Some((found.protocol, bytes.get(found.offset..)?)).filter(|_| is_first)
}

fn read_upper(protocol: Protocol, bytes: &[u8], all: &mut Vec<Header>) {
    let checksum = |at: usize| {
        let bytes = bytes.get(at..)?.first_chunk()?;
        Some(("checksum", format!("{:#06x}", u16::from_be_bytes(*bytes))))
    };
    let mut push = |header, fields: Vec<(&'static str, String)>, at| {
        let fields = fields.into_iter().chain(checksum(at)).collect();
        all.push(Header { header, fields });
    };
    match protocol {
        Protocol::UDP => {
            let Ok((h, _)) = udp::Header::ref_from_prefix(bytes) else { return };
            let ports = [("src", h.src_port.to_string()), ("dst", h.dst_port.to_string())];
            push("udp", ports.into_iter().chain([("length", h.len.to_string())]).collect(), 6);
        }
        Protocol::TCP => {
            let Ok((h, _)) = tcp::Header::ref_from_prefix(bytes) else { return };
            let ports = [("src", h.src_port.to_string()), ("dst", h.dst_port.to_string())];
            push("tcp", ports.into_iter().chain([("seq", h.seq.to_string())]).collect(), 16);
        }
        Protocol::ICMP | Protocol::ICMP6 => {
            let Some([kind, code]) = bytes.first_chunk() else { return };
            let name = if protocol == Protocol::ICMP { "icmp4" } else { "icmp6" };
            push(name, vec![("type", kind.to_string()), ("code", code.to_string())], 2);
        }
        _ => {}
    }
}

/// Changes made by a node. Headers are compared from the innermost on, so that those that came or
/// went are at the front.
pub fn changes(
    (before, had): (&Snapshot, &[Header]),
    (after, has): (&Snapshot, &[Header]),
) -> Vec<Change> {
    let alike = had.iter().rev().zip(has.iter().rev());
    let alike = alike.take_while(|(had, has)| had.header == has.header).count();
    let (gone, kept) = had.split_at(had.len() - alike);
    let (new, now) = has.split_at(has.len() - alike);
    // Headers of what a tunnel carries are not read behind those of the tunnel.
    let is_carried = !gone.is_empty() && after.bytes.ends_with(&before.bytes);
    let is_uncovered = !gone.is_empty() && before.bytes.ends_with(&after.bytes);
    let gone = if is_carried { &[] } else { gone };
    let put = if is_uncovered { Change::Inside } else { Change::Put };
    let mut all: Vec<_> = gone.iter().cloned().map(Change::Taken).collect();
    all.extend(new.iter().cloned().map(put));
    for (had, has) in kept.iter().zip(now) {
        for ((field, before), (_, after)) in had.fields.iter().zip(&has.fields) {
            if before != after {
                let (before, after) = (before.clone(), after.clone());
                all.push(Change::Field { header: had.header, field, before, after });
            }
        }
    }
    if !all.is_empty() {
        return all;
    }
    if before.len != after.len {
        all.push(Change::Length { before: before.len, after: after.len });
    } else if before.bytes != after.bytes {
        all.push(Change::Bytes);
    }
    all
}
