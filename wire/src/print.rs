//! Headers as text, laid out as operators and scripts know them from packet traces.
//!
//! Each function takes bytes that start at its header and the number of blanks in front of every
//! line, and gives lines without a newline at the end. Bytes may be cut off anywhere, as a trace
//! keeps only the start of a packet.

use std::fmt::{self, Arguments, Display, Formatter};
use std::net::Ipv6Addr;

use zerocopy::FromBytes;

use crate::ethernet::EtherType;
use crate::{Format, Protocol, arp, ethernet, icmp4, icmp6, ip4, ip6, nd, tcp, udp, vlan};

/// A frame: Ethernet, VLAN tags, and what follows.
pub fn ethernet(bytes: &[u8], indent: usize) -> impl Display + '_ {
    text(bytes, indent, ethernet_layers)
}

/// Only the line of a frame's Ethernet header and VLAN tags.
pub fn ethernet_header(bytes: &[u8], indent: usize) -> impl Display + '_ {
    text(bytes, indent, |lines, bytes| ethernet_line(lines, bytes).map(|_| ()))
}

/// An IPv4 packet with its TCP, UDP or ICMP header.
pub fn ip4(bytes: &[u8], indent: usize) -> impl Display + '_ {
    text(bytes, indent, ip4_layers)
}

/// An IPv6 packet with its TCP, UDP or ICMPv6 header, after extension headers too.
pub fn ip6(bytes: &[u8], indent: usize) -> impl Display + '_ {
    text(bytes, indent, ip6_layers)
}

/// An ARP packet.
pub fn arp(bytes: &[u8], indent: usize) -> impl Display + '_ {
    text(bytes, indent, arp_lines)
}

/// Any bytes in hexadecimal, 32 a line after their offset.
pub fn hex(bytes: &[u8], indent: usize) -> impl Display + '_ {
    text(bytes, indent, |lines, bytes| {
        for (row, chunk) in bytes.chunks(32).enumerate() {
            let digits = fmt::from_fn(|f| chunk.iter().try_for_each(|b| write!(f, "{b:02x}")));
            lines.line(format_args!("{:08x}: {digits}", row * 32))?;
        }
        Ok(())
    })
}

fn text<'a>(
    bytes: &'a [u8],
    indent: usize,
    layers: impl Fn(&mut Lines<'_, '_>, &[u8]) -> fmt::Result + 'a,
) -> impl Display + 'a {
    fmt::from_fn(move |f| layers(&mut Lines { f, indent, is_first: true }, bytes))
}

/// Lines under construction.
struct Lines<'a, 'b> {
    f: &'a mut Formatter<'b>,
    indent: usize,
    is_first: bool,
}

impl Lines<'_, '_> {
    /// A line that starts a header.
    fn line(&mut self, text: Arguments<'_>) -> fmt::Result {
        self.write(self.indent, text)
    }

    /// A line with more about the header.
    fn detail(&mut self, text: Arguments<'_>) -> fmt::Result {
        self.write(self.indent + 2, text)
    }

    fn write(&mut self, indent: usize, text: Arguments<'_>) -> fmt::Result {
        let newline = if self.is_first { "" } else { "\n" };
        self.is_first = false;
        write!(self.f, "{newline}{:indent$}{text}", "")
    }

    /// The header at the start of `bytes` and what follows; when it is cut off, a line says so.
    fn header<'b, H: Format>(
        &mut self,
        name: &str,
        bytes: &'b [u8],
    ) -> Result<Option<(&'b H, &'b [u8])>, fmt::Error> {
        let header = H::ref_from_prefix(bytes).ok();
        if header.is_none() {
            self.line(format_args!("{name} header truncated"))?;
        }
        Ok(header)
    }
}

fn ethernet_layers(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let (ethertype, payload) = ethernet_line(lines, bytes)?;
    match ethertype {
        Some(EtherType::IP4) => ip4_layers(lines, payload),
        Some(EtherType::IP6) => ip6_layers(lines, payload),
        Some(EtherType::ARP) => arp_lines(lines, payload),
        _ => Ok(()),
    }
}

/// Tells what follows the last VLAN tag, and where.
fn ethernet_line<'b>(
    lines: &mut Lines<'_, '_>,
    bytes: &'b [u8],
) -> Result<(Option<EtherType>, &'b [u8]), fmt::Error> {
    let Some((header, tagged)) = lines.header::<ethernet::Header>("ethernet", bytes)? else {
        return Ok((None, &[]));
    };
    let (ethertype, payload) = Tags(header.ethertype, tagged)
        .last()
        .map_or((header.ethertype, tagged), |(_, tag, rest)| (tag.ethertype, rest));
    let tags = fmt::from_fn(|f| {
        Tags(header.ethertype, tagged).try_for_each(|(kind, tag, _)| {
            let standard = if kind == EtherType::QINQ { "802.1ad" } else { "802.1q" };
            write!(f, " {standard} vlan {}", tag.id())?;
            if tag.priority() != 0 {
                write!(f, " priority {}", tag.priority())?;
            }
            if tag.is_drop_eligible() { f.write_str(" dei") } else { Ok(()) }
        })
    });
    lines.line(format_args!("{ethertype}: {} -> {}{tags}", header.src, header.dst))?;
    Ok((Some(ethertype), payload))
}

/// The VLAN tags at the start of bytes that an EtherType announces, each with its own EtherType
/// and what follows it.
struct Tags<'b>(EtherType, &'b [u8]);

impl<'b> Iterator for Tags<'b> {
    type Item = (EtherType, &'b vlan::Tag, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let Self(kind, bytes) = *self;
        let (tag, rest) = vlan::Tag::ref_from_prefix(bytes).ok().filter(|_| kind.is_vlan())?;
        *self = Self(tag.ethertype, rest);
        Some((kind, tag, rest))
    }
}

fn ip4_layers(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let Some((ip, _)) = lines.header::<ip4::Header>("IP4", bytes)? else { return Ok(()) };
    lines.line(format_args!("{}: {} -> {}", ip.protocol, ip.src_addr(), ip.dst_addr()))?;
    let header_len = ip.header_len();
    if ip.version_ihl != ip4::VERSION_IHL {
        lines.detail(format_args!("version {}, header length {header_len}", ip.version()))?;
    }
    let options = bytes.get(size_of::<ip4::Header>()..header_len);
    let correction = fmt::from_fn(|f| match options {
        Some(options) if !ip.is_checksum_valid_with(options) => {
            let mut right = *ip;
            right.update_checksum_with(options);
            write!(f, " (should be {:#06x})", right.checksum.get())
        }
        _ => Ok(()),
    });
    lines.detail(format_args!(
        "tos {:#04x}, ttl {}, length {}, checksum {:#06x}{correction} dscp {} ecn {}",
        ip.tos,
        ip.ttl,
        ip.total_len,
        ip.checksum.get(),
        ip.dscp(),
        ip.ecn()
    ))?;
    let flags = [("MORE_FRAGMENTS", ip.more_fragments()), ("DONT_FRAGMENT", ip.dont_fragment())];
    fragment(lines, ip.id.get().into(), ip.fragment_offset(), &flags)?;
    match options {
        Some(_) if ip.fragment_offset() == 0 => upper(lines, ip.protocol, &bytes[header_len..]),
        _ => Ok(()),
    }
}

fn ip6_layers(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let Some((ip, _)) = lines.header::<ip6::Header>("IP6", bytes)? else { return Ok(()) };
    lines.line(format_args!("{}: {} -> {}", ip.next_header, ip.src_addr(), ip.dst_addr()))?;
    if ip.version() != 6 {
        lines.detail(format_args!("version {}", ip.version()))?;
    }
    lines.detail(format_args!(
        "tos {:#04x}, flow label {:#x}, hop limit {}, payload length {}",
        ip.traffic_class(),
        ip.flow_label(),
        ip.hop_limit,
        ip.payload_len
    ))?;
    let Some(found) = ip6::upper_layer(bytes) else { return Ok(()) };
    if let Some(header) = found.fragment {
        let flags = [("MORE_FRAGMENTS", header.more_fragments())];
        fragment(lines, header.id.get(), header.offset(), &flags)?;
        if header.offset() != 0 {
            return Ok(());
        }
    }
    upper(lines, found.protocol, &bytes[found.offset..])
}

fn fragment(
    lines: &mut Lines<'_, '_>,
    id: u32,
    offset: usize,
    flags: &[(&str, bool)],
) -> fmt::Result {
    let rest = fmt::from_fn(|f| {
        if offset != 0 {
            write!(f, ", offset {offset}")?;
        }
        let mut lead = ", flags";
        for (name, _) in flags.iter().filter(|(_, is_set)| *is_set) {
            write!(f, "{lead} {name}")?;
            lead = "";
        }
        Ok(())
    });
    lines.detail(format_args!("fragment id {id:#06x}{rest}"))
}

fn upper(lines: &mut Lines<'_, '_>, protocol: Protocol, bytes: &[u8]) -> fmt::Result {
    match protocol {
        Protocol::UDP => udp_lines(lines, bytes),
        Protocol::TCP => tcp_lines(lines, bytes),
        Protocol::ICMP => icmp4_lines(lines, bytes),
        Protocol::ICMP6 => icmp6_lines(lines, bytes),
        _ => Ok(()),
    }
}

fn udp_lines(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let Some((udp, _)) = lines.header::<udp::Header>("UDP", bytes)? else { return Ok(()) };
    lines.line(format_args!("UDP: {} -> {}", udp.src_port, udp.dst_port))?;
    lines.detail(format_args!("length {}, checksum {:#06x}", udp.len, udp.checksum.get()))
}

fn tcp_lines(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let Some((tcp, _)) = lines.header::<tcp::Header>("TCP", bytes)? else { return Ok(()) };
    lines.line(format_args!("TCP: {} -> {}", tcp.src_port, tcp.dst_port))?;
    let (seq, ack) = (tcp.seq.get(), tcp.ack.get());
    lines.detail(format_args!("seq. {seq:#010x} ack {ack:#010x}"))?;
    let (flags, len) = (tcp.flags, tcp.header_len());
    lines.detail(format_args!("flags {:#04x} {flags}, tcp header: {len} bytes", flags.0))?;
    lines.detail(format_args!("window {}, checksum {:#06x}", tcp.window, tcp.checksum.get()))
}

fn icmp4_lines(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let Some((icmp, _)) = lines.header::<icmp4::Header>("ICMP", bytes)? else { return Ok(()) };
    let code = icmp4::code::name(icmp.kind, icmp.code);
    let is_echo = matches!(icmp.kind, icmp4::Type::ECHO_REQUEST | icmp4::Type::ECHO_REPLY);
    let echo = icmp4::Echo::ref_from_prefix(bytes).ok().filter(|_| is_echo);
    let id = echo.map(|(echo, _)| echo.id.get());
    icmp_line(lines, &icmp.kind, code, icmp.checksum.get(), id)
}

fn icmp6_lines(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let Some((icmp, _)) = lines.header::<icmp6::Header>("ICMP", bytes)? else { return Ok(()) };
    let code = icmp6::code::name(icmp.kind, icmp.code);
    let is_echo = matches!(icmp.kind, icmp6::Type::ECHO_REQUEST | icmp6::Type::ECHO_REPLY);
    let echo = icmp6::Echo::ref_from_prefix(bytes).ok().filter(|_| is_echo);
    let id = echo.map(|(echo, _)| echo.id.get());
    icmp_line(lines, &icmp.kind, code, icmp.checksum.get(), id)?;
    match icmp6_target(icmp.kind, bytes) {
        Some(target) => lines.detail(format_args!("target address {target}")),
        None => Ok(()),
    }
}

fn icmp_line(
    lines: &mut Lines<'_, '_>,
    kind: &dyn Display,
    code: Option<&str>,
    checksum: u16,
    id: Option<u16>,
) -> fmt::Result {
    let code = fmt::from_fn(|f| code.map_or(Ok(()), |code| write!(f, " {code}")));
    let id = fmt::from_fn(|f| id.map_or(Ok(()), |id| write!(f, " id {id}")));
    lines.line(format_args!("ICMP {kind}{code} checksum {checksum:#x}{id}"))
}

/// The address that a neighbour discovery message is about.
fn icmp6_target(kind: icmp6::Type, bytes: &[u8]) -> Option<Ipv6Addr> {
    match kind {
        icmp6::Type::NEIGHBOR_SOLICITATION => {
            let (message, _) = nd::NeighborSolicitation::ref_from_prefix(bytes).ok()?;
            Some(message.target_addr())
        }
        icmp6::Type::NEIGHBOR_ADVERTISEMENT => {
            let (message, _) = nd::NeighborAdvertisement::ref_from_prefix(bytes).ok()?;
            Some(message.target_addr())
        }
        _ => None,
    }
}

fn arp_lines(lines: &mut Lines<'_, '_>, bytes: &[u8]) -> fmt::Result {
    let Some((arp, _)) = lines.header::<arp::Header>("ARP", bytes)? else { return Ok(()) };
    let hardware = fmt::from_fn(|f| match arp.hardware.get() {
        arp::ETHERNET => f.write_str("ethernet"),
        other => write!(f, "{other:#x}"),
    });
    lines.line(format_args!(
        "{}, type {hardware}/{}, address size {}/{}",
        arp.operation, arp.protocol, arp.hardware_len, arp.protocol_len
    ))?;
    if !arp.is_ethernet_ip4() {
        return Ok(());
    }
    let (from, to) = (&arp.sender, &arp.target);
    lines.line(format_args!("{}/{} -> {}/{}", from.mac, from.addr(), to.mac, to.addr()))
}

#[cfg(test)]
mod tests;
