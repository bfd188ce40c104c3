//! Packets as flows see them.

use net::prelude::*;

use crate::flow::{FlowKey, IP4, IP6, Kind, L2, Params, RECORD_L2, RECORD_L3, RECORD_L4};

/// Bytes of an Ethernet header without tags.
const ETHERNET: usize = 14;
/// Bytes of a tag.
const TAG: usize = 4;
/// Tags at most.
const MOST_TAGS: usize = 2;

/// Fields read from a packet.
pub struct Seen {
    /// The flow.
    pub key: FlowKey,
    /// Bytes of IP.
    pub bytes: u32,
    /// Flags of TCP.
    pub flags: u8,
}

/// The bytes from the Ethernet header on, if the packet has one: what is sent begins with it, what
/// is received has it in front.
#[inline(always)]
fn frame<'p>(p: &'p Buffer<'_>, which: usize, is_sent: bool) -> Option<&'p [u8]> {
    let bytes = match (which, is_sent) {
        (L2, _) => p.bytes(),
        (_, true) => {
            let before = i32::from(p.l3_offset()) - i32::from(p.offset());
            if before < ETHERNET as i32 {
                return None;
            }
            p.bytes()
        }
        (_, false) => {
            let has_frame = p.flags().has(Flags::L2) && !p.flags().has(Flags::LOCAL);
            if !has_frame || p.l2_offset() > p.offset() {
                return None;
            }
            p.bytes_from(p.l2_offset())
        }
    };
    (bytes.len() >= ETHERNET).then_some(bytes)
}

/// The type behind Ethernet and its tags, and where what it says begins.
#[inline(always)]
fn behind_tags(frame: &[u8]) -> Option<(u16, usize)> {
    let kind_at = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut end = ETHERNET;
    let mut kind = kind_at(end - 2)?;
    for _ in 0..MOST_TAGS {
        if !EtherType::new(kind).is_vlan() {
            break;
        }
        end += TAG;
        kind = kind_at(end - 2)?;
    }
    Some((kind, end))
}

/// Recorded fields of a packet; `None` without a record of its kind.
#[inline(always)]
pub fn look<const WHICH: usize, const IS_SENT: bool>(
    p: &Buffer<'_>,
    params: &Params,
) -> Option<Seen> {
    let frame = frame(p, WHICH, IS_SENT);
    let behind = frame.and_then(behind_tags);
    let (kind, packet) = match WHICH {
        IP4 => (Kind::Ip4, ip_of(p, IS_SENT)),
        IP6 => (Kind::Ip6, ip_of(p, IS_SENT)),
        _ => {
            let (ethertype, at) = behind?;
            let packet = frame?.get(at..)?;
            let is_more = params.has(RECORD_L3 | RECORD_L4);
            match EtherType::new(ethertype) {
                EtherType::IP4 if is_more => (Kind::L2Ip4, packet),
                EtherType::IP6 if is_more => (Kind::L2Ip6, packet),
                _ => (Kind::L2, packet),
            }
        }
    };
    if !kind.is_made(params.record) {
        return None;
    }
    let mut seen = Seen { key: FlowKey::default(), bytes: 0, flags: 0 };
    let key = &mut seen.key;
    (key.rx, key.kind, key.direction) = (number(p.rx()), kind as u8, u8::from(IS_SENT));
    if IS_SENT {
        key.tx = number(p.tx());
    }
    if params.has(RECORD_L2) {
        if let Some(frame) = frame {
            key.dst_mac.copy_from_slice(&frame[..6]);
            key.src_mac.copy_from_slice(&frame[6..12]);
        }
        key.ethertype = match kind {
            Kind::Ip4 | Kind::L2Ip4 => EtherType::IP4.get(),
            Kind::Ip6 | Kind::L2Ip6 => EtherType::IP6.get(),
            Kind::L2 => behind?.0,
        };
    }
    match kind {
        Kind::Ip4 | Kind::L2Ip4 => read4(&mut seen, packet, params)?,
        Kind::Ip6 | Kind::L2Ip6 => read6(&mut seen, packet, params)?,
        Kind::L2 => (),
    }
    Some(seen)
}

/// The bytes from the IP header on.
#[inline(always)]
fn ip_of<'p>(p: &'p Buffer<'_>, is_sent: bool) -> &'p [u8] {
    if is_sent { p.bytes_from(p.l3_offset()) } else { p.bytes() }
}

/// An interface, 0 for none.
#[inline(always)]
fn number(interface: u32) -> u32 {
    if interface == u32::MAX { 0 } else { interface }
}

#[inline(always)]
fn read4(seen: &mut Seen, packet: &[u8], params: &Params) -> Option<()> {
    let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    seen.bytes = header.total_len.get().into();
    if params.has(RECORD_L3) {
        seen.key.src[..4].copy_from_slice(&header.src);
        seen.key.dst[..4].copy_from_slice(&header.dst);
        seen.key.protocol = header.protocol.0;
    }
    if params.has(RECORD_L4) && header.fragment_offset() == 0 {
        read_upper(seen, header.protocol, packet.get(header.header_len()..)?);
    }
    Some(())
}

#[inline(always)]
fn read6(seen: &mut Seen, packet: &[u8], params: &Params) -> Option<()> {
    let (header, _) = ip6::Header::ref_from_prefix(packet).ok()?;
    seen.bytes = u32::from(header.payload_len.get()) + size_of::<ip6::Header>() as u32;
    let upper = ip6::upper_layer(packet);
    if params.has(RECORD_L3) {
        (seen.key.src, seen.key.dst) = (header.src, header.dst);
        seen.key.protocol = upper.map_or(header.next_header, |upper| upper.protocol).0;
    }
    if let Some(upper) = upper.filter(|_| params.has(RECORD_L4))
        && upper.fragment.is_none_or(|fragment| fragment.offset() == 0)
    {
        read_upper(seen, upper.protocol, packet.get(upper.offset..)?);
    }
    Some(())
}

#[inline(always)]
fn read_upper(seen: &mut Seen, protocol: Protocol, upper: &[u8]) {
    if !matches!(protocol, Protocol::TCP | Protocol::UDP | Protocol::SCTP) {
        return;
    }
    let port = |at: usize| Some(u16::from_be_bytes([*upper.get(at)?, *upper.get(at + 1)?]));
    seen.key.ports = [port(0).unwrap_or(0), port(2).unwrap_or(0)];
    if protocol == Protocol::TCP {
        seen.flags = upper.get(13).copied().unwrap_or(0);
    }
}
