//! The headers of a stream's packets, as text.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use control::cli::{Args, Error};
use wire::ethernet::EtherType;
use wire::zerocopy::IntoBytes;
use wire::{MacAddr, Protocol, icmp4, icmp6, ip4, ip6, tcp, udp, vlan};

use super::range::{self, Range};
use super::{Ip, Layout, Upper, Width};

/// Words between a layer's name and its end that set a field of it: word, offset, width.
type Extras = &'static [(&'static str, usize, Width)];

const IP4_FIELDS: Extras = &[
    ("tos", 1, Width::Byte),
    ("fragment id", 4, Width::Two),
    ("fragment offset", 6, Width::Two),
    ("offset", 6, Width::Two),
    ("ttl", 8, Width::Byte),
];
/// Flags of fragments, in the first byte of the offset.
const FRAGMENTS: [(&str, u8); 2] = [("df", 0x40), ("mf", 0x20)];
/// Names of payloads of GRE.
const GRE_PROTOCOLS: [(&str, u16); 5] = [
    ("ip4", 0x0800),
    ("ip6", 0x86dd),
    ("teb", 0x6558),
    ("mpls_unicast", 0x8847),
    ("mpls_multicast", 0x8848),
];
const IP6_FIELDS: Extras = &[("hop-limit", 7, Width::Byte), ("ttl", 7, Width::Byte)];
const TCP_FIELDS: Extras =
    &[("seq", 4, Width::Four), ("ack", 8, Width::Four), ("window", 14, Width::Two)];
const ICMP_FIELDS: Extras = &[("code", 1, Width::Byte)];

/// `IP4: <mac> -> <mac> [vlan <id>]…`; nothing when the next layer is not Ethernet.
pub fn ethernet(layout: &mut Layout, args: &mut Args<'_>) -> Result<(), Error> {
    let start = *args;
    let Some(kind) = args.word().and_then(|w| w.strip_suffix(':')).and_then(ethertype) else {
        *args = start;
        return Ok(());
    };
    if !args.peek().is_some_and(|w| mac(w) != Err(range::Error::Form)) {
        *args = start;
        return Ok(());
    }
    let (src, dst) = pair(args, "MAC address", mac)?;
    layout.bytes.extend([0; 12]);
    layout.set(0, Width::Six, dst);
    layout.set(6, Width::Six, src);
    while args.keyword("vlan") {
        let id: vlan::Id = args.value("vlan")?;
        layout.bytes.extend(EtherType::VLAN.as_bytes());
        layout.bytes.extend(vlan::Tag::new(id, kind).control.as_bytes());
    }
    layout.bytes.extend(kind.as_bytes());
    Ok(())
}

/// `UDP: <address> -> <address> [ttl <n>]…`; nothing when the next layer is not IP.
pub fn ip(layout: &mut Layout, args: &mut Args<'_>) -> Result<(), Error> {
    let start = *args;
    let Some(name) = args.word().and_then(|w| w.strip_suffix(':')) else {
        *args = start;
        return Ok(());
    };
    let Some(next) = args.peek() else { return Err(start.error("missing addresses in")) };
    let is_ip4 = ip4_addr(next) != Err(range::Error::Form);
    if !is_ip4 && ip6_addr(next) == Err(range::Error::Form) {
        *args = start;
        return Ok(());
    }
    let protocol = protocol(name, is_ip4).ok_or_else(|| start.error("unknown protocol"))?;
    let at = layout.bytes.len();
    let is_behind_ip = |ip: Ip| at == ip.at + if ip.is_ip4 { 20 } else { 40 };
    if !layout.ip.is_some_and(is_behind_ip) {
        check_ethertype(layout, is_ip4).map_err(|what| start.error(what))?;
    }
    let mut ip = Ip { at, is_ip4, protocol, sums: true, has_length: true };
    if is_ip4 {
        let (src, dst) = pair(args, "IPv4 address", ip4_addr)?;
        let none = Ipv4Addr::UNSPECIFIED;
        let header = ip4::Header::new(none, none, protocol, 0);
        let header = ip4::Header { checksum: 0.into(), ..header };
        layout.bytes.extend(header.as_bytes());
        layout.set(at + 12, Width::Four, src);
        layout.set(at + 16, Width::Four, dst);
        let mut fragment = 0;
        loop {
            let before = args.remaining().len();
            extras(layout, args, at, IP4_FIELDS)?;
            ip.sums &= !overridden(layout, args, "checksum", at + 10)?;
            ip.has_length &= !overridden(layout, args, "length", at + 2)?;
            fragment |= FRAGMENTS.iter().find(|(word, _)| args.keyword(word)).map_or(0, |f| f.1);
            if args.remaining().len() == before {
                break;
            }
        }
        layout.bytes[at + 6] |= fragment;
    } else {
        let (src, dst) = pair(args, "IPv6 address", ip6_addr)?;
        let none = Ipv6Addr::UNSPECIFIED;
        layout.bytes.extend(ip6::Header::new(none, none, protocol, 0).as_bytes());
        layout.set(at + 8, Width::Sixteen, src);
        layout.set(at + 24, Width::Sixteen, dst);
        extras(layout, args, at, IP6_FIELDS)?;
    }
    layout.outer.extend(layout.ip.replace(ip));
    layout.upper = None;
    Ok(())
}

/// Whether headers of a packet inside follow: behind IP in IP, and behind `GRE: … <protocol>`,
/// which it reads.
pub fn encloses(layout: &mut Layout, args: &mut Args<'_>) -> Result<bool, Error> {
    let Some(protocol) = layout.ip.map(|ip| ip.protocol) else { return Ok(false) };
    if [Protocol::IP4, Protocol::IP6].contains(&protocol) {
        return Ok(true);
    }
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => GRE_PROTOCOLS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number),
    };
    let number = args.peek().and_then(number).filter(|_| protocol == Protocol::GRE);
    let Some(number) = number else { return Ok(false) };
    args.word();
    layout.bytes.extend([0; 2]);
    layout.bytes.extend(number.to_be_bytes());
    Ok(true)
}

/// `UDP: <port> -> <port>`, `TCP: <port> -> <port>` or `ICMP <type>`; nothing before payload.
pub fn upper(layout: &mut Layout, args: &mut Args<'_>) -> Result<(), Error> {
    let (start, at) = (*args, layout.bytes.len());
    let expected = layout.ip.map(|ip| ip.protocol);
    let upper = match args.word() {
        Some("UDP:") if is(expected, Protocol::UDP) => {
            ports(layout, args, udp::Header::new(0, 0, 0).as_bytes())?;
            let length = !overridden(layout, args, "length", at + 4)?;
            let checksum = !overridden(layout, args, "checksum", at + 6)?;
            let length = length.then_some(at + 4);
            Upper { at, checksum: checksum.then_some(at + 6), length }
        }
        Some("TCP:") if is(expected, Protocol::TCP) => {
            let none = tcp::Flags::default();
            ports(layout, args, tcp::Header::new(0, 0, 0, 0, none).as_bytes())?;
            tcp_flags(layout, args, at);
            extras(layout, args, at, TCP_FIELDS)?;
            let checksum = !overridden(layout, args, "checksum", at + 16)?;
            Upper { at, checksum: checksum.then_some(at + 16), length: None }
        }
        Some("ICMP" | "ICMP:" | "ICMP6" | "ICMP6:")
            if is(expected, Protocol::ICMP) || is(expected, Protocol::ICMP6) =>
        {
            let is_ip4 = layout.ip.is_none_or(|ip| ip.is_ip4);
            let kind = args.word().and_then(|w| icmp_type(w, is_ip4));
            let kind = kind.ok_or_else(|| start.error("unknown ICMP type in"))?;
            layout.bytes.extend([kind, 0, 0, 0]);
            extras(layout, args, at, ICMP_FIELDS)?;
            let checksum = !overridden(layout, args, "checksum", at + 2)?;
            Upper { at, checksum: checksum.then_some(at + 2), length: None }
        }
        Some("UDP:" | "TCP:" | "ICMP" | "ICMP:" | "ICMP6" | "ICMP6:") => {
            return Err(start.error("protocol mismatch with the IP header before"));
        }
        _ => {
            *args = start;
            return Ok(());
        }
    };
    layout.upper = Some(upper);
    Ok(())
}

/// Without an IP header anything may come.
fn is(expected: Option<Protocol>, protocol: Protocol) -> bool {
    expected.is_none_or(|e| e == protocol)
}

fn ports(layout: &mut Layout, args: &mut Args<'_>, header: &[u8]) -> Result<(), Error> {
    let (src, dst) = pair(args, "port", |w| Range::parse(w, |n: u16| n.into()))?;
    let at = layout.bytes.len();
    layout.bytes.extend(header);
    layout.set(at, Width::Two, src);
    layout.set(at + 2, Width::Two, dst);
    Ok(())
}

/// `<source> -> <destination>`
fn pair(
    args: &mut Args<'_>,
    what: &str,
    read: impl Fn(&str) -> Result<Range, range::Error>,
) -> Result<(Range, Range), Error> {
    let src = one(args, what, &read)?;
    if !args.keyword("->") {
        return Err(args.error("expected `->' before"));
    }
    Ok((src, one(args, what, &read)?))
}

fn one(
    args: &mut Args<'_>,
    what: &str,
    read: impl Fn(&str) -> Result<Range, range::Error>,
) -> Result<Range, Error> {
    let place = *args;
    let word = range::joined(args).ok_or_else(|| Error::new(format!("missing {what}")))?;
    // A range may have blanks around its sign.
    let sign = ["-", "+"].into_iter().find(|sign| args.keyword(sign));
    let range = sign.map(|sign| format!("{word}{sign}{}", args.word().unwrap_or_default()));
    read(range.as_deref().unwrap_or(&word)).map_err(|e| match e {
        range::Error::Form => place.error(format_args!("invalid {what}")),
        range::Error::Backwards => place.error("range ends before it starts in"),
        range::Error::Wide => place.error("range of more than 2^64 values in"),
    })
}

/// Reads `word value` pairs of `fields`, in any order.
fn extras(
    layout: &mut Layout,
    args: &mut Args<'_>,
    header: usize,
    fields: Extras,
) -> Result<(), Error> {
    while let Some(&(name, offset, width)) = fields.iter().find(|f| args.keyword(f.0)) {
        let range = match width {
            Width::Byte => one(args, name, |w| Range::parse(w, |Number(n): Number<u8>| n.into()))?,
            Width::Two => one(args, name, |w| Range::parse(w, |Number(n): Number<u16>| n.into()))?,
            _ => one(args, name, |w| Range::parse(w, |Number(n): Number<u32>| n.into()))?,
        };
        let at = header + offset;
        if let Some(old) = layout.bytes.get_mut(at..at + width as usize) {
            old.fill(0);
        }
        layout.set(at, width, range);
    }
    Ok(())
}

/// Reads `word value`, which takes the place of what would be computed.
fn overridden(
    layout: &mut Layout,
    args: &mut Args<'_>,
    word: &str,
    at: usize,
) -> Result<bool, Error> {
    if !args.keyword(word) {
        return Ok(false);
    }
    let value = one(args, word, |w| Range::parse(w, |Number(n): Number<u16>| n.into()))?;
    layout.set(at, Width::Two, value);
    Ok(true)
}

/// A number, decimal or `0x` hexadecimal.
struct Number<N>(N);

impl<N: TryFrom<u32>> FromStr for Number<N> {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number: Option<u32> = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        number.and_then(|n| n.try_into().ok()).map(Self).ok_or(())
    }
}

fn tcp_flags(layout: &mut Layout, args: &mut Args<'_>, at: usize) {
    use tcp::Flags;
    const NAMES: [(&str, Flags); 6] = [
        ("FIN", Flags::FIN),
        ("SYN", Flags::SYN),
        ("RST", Flags::RST),
        ("PSH", Flags::PSH),
        ("ACK", Flags::ACK),
        ("URG", Flags::URG),
    ];
    while let Some((_, flag)) = NAMES.iter().find(|n| args.keyword(n.0)) {
        layout.bytes[at + 13] |= flag.0;
    }
}

fn check_ethertype(layout: &Layout, is_ip4: bool) -> Result<(), &'static str> {
    let Some(kind) = layout.bytes.last_chunk::<2>() else { return Ok(()) };
    let expected = if is_ip4 { EtherType::IP4 } else { EtherType::IP6 };
    match kind.as_slice() == expected.as_bytes() {
        true => Ok(()),
        false => Err("type mismatch with the Ethernet header before"),
    }
}

fn ethertype(name: &str) -> Option<EtherType> {
    if let Some(digits) = name.strip_prefix("0x") {
        return u16::from_str_radix(digits, 16).ok().map(EtherType::new);
    }
    let known = [EtherType::IP4, EtherType::IP6, EtherType::ARP, EtherType::MPLS];
    known.into_iter().find(|k| k.to_string() == name)
}

/// By name or number; `ICMP` is the ICMP of the IP version.
fn protocol(name: &str, is_ip4: bool) -> Option<Protocol> {
    if name == "ICMP" && !is_ip4 {
        return Some(Protocol::ICMP6);
    }
    let named = || (0..=u8::MAX).map(Protocol).find(|p| p.to_string() == name);
    name.parse().map(Protocol).ok().or_else(named)
}

fn icmp_type(name: &str, is_ip4: bool) -> Option<u8> {
    let text = |n: u8| match is_ip4 {
        true => icmp4::Type(n).to_string(),
        false => icmp6::Type(n).to_string(),
    };
    name.parse().ok().or_else(|| (0..=u8::MAX).find(|n| text(*n) == name))
}

fn mac(text: &str) -> Result<Range, range::Error> {
    let number = |MacAddr([a, b, c, d, e, f])| u64::from_be_bytes([0, 0, a, b, c, d, e, f]).into();
    Range::parse(text, number)
}

fn ip4_addr(text: &str) -> Result<Range, range::Error> {
    Range::parse(text, |a: Ipv4Addr| a.to_bits().into())
}

fn ip6_addr(text: &str) -> Result<Range, range::Error> {
    Range::parse(text, |a: Ipv6Addr| a.to_bits())
}
