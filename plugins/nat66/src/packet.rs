//! The translation of an address of an IPv6 packet.

use net::prelude::*;
use wire::checksum;
use zerocopy::byteorder::network_endian::U16;

/// Bytes of an ICMPv6 error in front of the packet that it is about.
const QUOTE: usize = 8;

/// Gives a packet another source, or destination (`DST`). Checksums are brought up to date; in a
/// packet that an ICMPv6 error quotes the address is translated where it is the other one.
#[inline(always)]
pub fn readdress<const DST: bool>(p: &mut Buffer<'_>, old: Ipv6Addr, new: Ipv6Addr) {
    // A sum that holds only the pseudo header is not inverted yet.
    let is_partial = p.flags().has(Flags::CHECKSUM_TODO);
    let packet = p.bytes_mut();
    let Some(upper) = ip6::upper_layer(packet) else {
        set::<DST>(packet, new);
        return;
    };
    set::<DST>(packet, new);
    if upper.fragment.is_some_and(|f| f.offset() != 0) {
        return;
    }
    let message = packet.get_mut(upper.offset..).unwrap_or_default();
    let (old, new) = (old.octets(), new.octets());
    if upper.protocol == Protocol::ICMP6 {
        quoted::<DST>(message, &old, &new);
    }
    if let Some(sum) = sum_of(upper.protocol, message) {
        let is_absent = upper.protocol == Protocol::UDP && sum.get() == 0;
        if is_partial {
            let inverted = U16::new(!sum.get());
            *sum = U16::new(!checksum::update_bytes(inverted, &old, &new).get());
        } else if !is_absent {
            *sum = checksum::update_bytes(*sum, &old, &new);
        }
    }
}

fn set<const DST: bool>(packet: &mut [u8], new: Ipv6Addr) {
    if let Ok((header, _)) = ip6::Header::mut_from_prefix(packet) {
        *if DST { &mut header.dst } else { &mut header.src } = new.octets();
    }
}

/// The checksum of an upper layer whose pseudo header has the addresses.
fn sum_of(protocol: Protocol, message: &mut [u8]) -> Option<&mut U16> {
    Some(match protocol {
        Protocol::TCP => &mut tcp::Header::mut_from_prefix(message).ok()?.0.checksum,
        Protocol::UDP => &mut udp::Header::mut_from_prefix(message).ok()?.0.checksum,
        Protocol::ICMP6 => &mut icmp6::Header::mut_from_prefix(message).ok()?.0.checksum,
        _ => return None,
    })
}

/// Translates the packet that an error quotes, which went the other way.
#[cold]
#[inline(never)]
fn quoted<const DST: bool>(message: &mut [u8], old: &[u8; 16], new: &[u8; 16]) {
    let Ok((icmp, _)) = icmp6::Header::ref_from_prefix(message) else { return };
    if !icmp.kind.is_error() {
        return;
    }
    let Some(inner) = message.get_mut(QUOTE..) else { return };
    let Ok((header, _)) = ip6::Header::mut_from_prefix(inner) else { return };
    let field = if DST { &mut header.src } else { &mut header.dst };
    if field != old {
        return;
    }
    *field = *new;
    // The quoted packet's own checksum changes with its address, as its sender knows it, and takes
    // up what the address changes in that of the error.
    let upper = ip6::upper_layer(inner).filter(|u| u.fragment.is_none_or(|f| f.offset() == 0));
    let rest = upper.and_then(|u| Some((u.protocol, inner.get_mut(u.offset..)?)));
    let sum = rest.and_then(|(protocol, rest)| sum_of(protocol, rest));
    if let Some(sum) = sum.filter(|sum| sum.get() != 0) {
        *sum = checksum::update_bytes(*sum, old, new);
    } else if let Ok((icmp, _)) = icmp6::Header::mut_from_prefix(message) {
        icmp.checksum = checksum::update_bytes(icmp.checksum, old, new);
    }
}
