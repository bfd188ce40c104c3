//! Headers taken off packets and put in front of them.

use net::prelude::*;
use wire::gtpu::{self, Session};
use wire::{checksum, srh};

use super::session::{From, Headers, IP4_BITS, SESSION_BITS, Translation};
use super::words::Inside;

const UDP: usize = size_of::<udp::Header>();
const IP4: usize = size_of::<ip4::Header>();
const IP6: usize = size_of::<ip6::Header>();

/// The part of the headers that were taken off which new ones are made of.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Tunnel interface.
    pub session: Session,
    /// Source and destination; of IPv4 the lowest 32 bits.
    pub src: u128,
    /// Destination address.
    pub dst: u128,
    /// Source port.
    pub port: u16,
    /// Traffic class.
    pub class: u8,
    /// Hops that are left for the new header.
    pub hops: u8,
    /// Protocol of what is inside.
    pub inside: Protocol,
    /// Its length in bytes.
    pub len: usize,
}

/// Takes GTP-U, UDP and IP off a packet; `None` and unchanged for other packets.
pub fn open_gtp(p: &mut Buffer<'_>, is_ip4: bool) -> Option<Taken> {
    let bytes = p.bytes();
    let (class, hops, src, dst, at, end) = if is_ip4 {
        let ip = p.header::<ip4::Header>()?;
        if ip.protocol != Protocol::UDP || ip.is_fragment() {
            return None;
        }
        let [src, dst] = [ip.src, ip.dst].map(|addr| u128::from(u32::from_be_bytes(addr)));
        (ip.tos, ip.ttl, src, dst, ip.header_len(), usize::from(ip.total_len.get()))
    } else {
        let ip = p.header::<ip6::Header>()?;
        let upper = ip6::upper_layer(bytes).filter(|u| u.fragment.is_none())?;
        let is_visited = srh::find(bytes).is_none_or(|place| place.segments_left == 0);
        if upper.protocol != Protocol::UDP || !is_visited {
            return None;
        }
        let [src, dst] = [ip.src, ip.dst].map(u128::from_be_bytes);
        let end = IP6 + usize::from(ip.payload_len.get());
        (ip.traffic_class(), ip.hop_limit, src, dst, upper.offset, end)
    };
    let (udp, message) = udp::Header::ref_from_prefix(bytes.get(at..)?).ok()?;
    if udp.dst_port.get() != gtpu::PORT || end > p.total_len() {
        return None;
    }
    let (port, (session, header)) = (udp.src_port.get(), gtpu::read(message)?);
    let at = at + UDP + header;
    let len = end.checked_sub(at).filter(|len| *len > 0)?;
    let inside = match bytes.get(at)? >> 4 {
        4 => Protocol::IP4,
        6 => Protocol::IP6,
        _ => srv6::ETHERNET,
    };
    p.advance(at)?;
    Some(Taken { session, src, dst, port, class, hops, inside, len })
}

/// Takes IPv6 and its routing header off a packet with so many segments left; the tunnel is in the
/// destination behind `len` bits. `None` and unchanged for other packets.
pub fn open_segments(p: &mut Buffer<'_>, left: u8, len: u8) -> Option<Taken> {
    let bytes = p.bytes();
    let ip = p.header::<ip6::Header>()?;
    let upper = ip6::upper_layer(bytes).filter(|u| u.fragment.is_none())?;
    let place = srh::find(bytes);
    if place.map_or(0, |place| place.segments_left) != left {
        return None;
    }
    let sid = u128::from_be_bytes(ip.dst);
    let mut dst = sid;
    if left > 0 {
        let at = place?.segment(left - 1)?;
        dst = u128::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
    }
    let inside = upper.protocol;
    let known = [Protocol::IP4, Protocol::IP6, srv6::ETHERNET, Protocol(59)];
    let end = IP6 + usize::from(ip.payload_len.get());
    if !known.contains(&inside) || end > p.total_len() {
        return None;
    }
    let arguments = field(sid, len, SESSION_BITS) as u64;
    let taken = Taken {
        session: Session {
            teid: arguments as u32,
            flow: (arguments >> 34) as u8,
            is_reflective: arguments >> 33 & 1 != 0,
        },
        src: u128::from_be_bytes(ip.src),
        dst,
        port: gtpu::PORT,
        class: ip.traffic_class(),
        hops: ip.hop_limit,
        inside,
        len: end.checked_sub(upper.offset).filter(|len| *len > 0)?,
    };
    p.advance(upper.offset)?;
    Some(taken)
}

/// A field of an address: `bits` bits from bit `at` on.
pub fn field(addr: u128, at: u8, bits: u8) -> u128 {
    let below = 128 - u32::from(at) - u32::from(bits);
    addr >> below & ((1 << bits) - 1)
}

/// An address with a field at bit `at`.
fn with_field(addr: u128, at: u8, bits: u8, value: u128) -> u128 {
    addr | value << (128 - u32::from(at) - u32::from(bits))
}

/// The SID that a tunnel travels in.
fn sid(to: &Translation, taken: &Taken, is_ip4: bool) -> u128 {
    let Session { teid, flow, is_reflective } = taken.session;
    let arguments = u64::from(flow) << 34 | u64::from(is_reflective) << 33 | u64::from(teid);
    let (mut sid, mut at) = (to.sid, to.len);
    if is_ip4 {
        sid = with_field(sid, at, IP4_BITS, taken.dst);
        at += IP4_BITS;
    }
    with_field(sid, at, SESSION_BITS, arguments.into())
}

/// Whether what was inside is what the translation is for, and its protocol as a next header.
fn inside(to: &Translation, taken: &Taken) -> Option<Protocol> {
    let wanted = match to.inside {
        Inside::Any => taken.inside,
        Inside::Ip4 => Protocol::IP4,
        Inside::Ip6 => Protocol::IP6,
        Inside::NonIp => return Some(srv6::ETHERNET),
    };
    (wanted == taken.inside).then_some(wanted)
}

/// Puts segments in front of what was inside GTP-U.
pub fn put_segments(
    p: &mut Buffer<'_>,
    to: &Translation,
    taken: &Taken,
    is_ip4: bool,
    hash: u32,
) -> Option<()> {
    let next = inside(to, taken)?;
    let places = to.headers.len();
    let Headers { bytes, sid_at, last_at } = to.headers.get(hash as usize % places.max(1))?;
    let len = u16::try_from(p.total_len() + bytes.len() - IP6).ok()?;
    let sid = sid(to, taken, is_ip4).to_be_bytes();
    let room = p.make_room(bytes.len())?;
    room.copy_from_slice(bytes);
    for at in sid_at {
        room.get_mut(*at..at + srh::SEGMENT)?.copy_from_slice(&sid);
    }
    if let Some(at) = last_at {
        room.get_mut(*at..at + srh::SEGMENT)?.copy_from_slice(&taken.dst.to_be_bytes());
    }
    let announced_at = if bytes.len() > IP6 { IP6 } else { ip6::NEXT_HEADER };
    *room.get_mut(announced_at)? = next.0;
    let header = p.header_mut::<ip6::Header>()?;
    if let From::Prefix(prefix, len) = to.from {
        let src = with_field(prefix, len, IP4_BITS, taken.src);
        header.src = with_field(src, len + IP4_BITS, 16, taken.port.into()).to_be_bytes();
    }
    header.payload_len = len.into();
    header.hop_limit = taken.hops;
    header.set_traffic_class(taken.class);
    header.set_flow_label(hash & 0xf_ffff);
    finish(p);
    Some(())
}

/// Puts GTP-U over IPv4 in front of what segments carried.
pub fn put_gtp4(p: &mut Buffer<'_>, to: &Translation, taken: &Taken) -> Option<()> {
    let (mut port, dst) = (gtpu::PORT, field(taken.dst, to.len, IP4_BITS) as u32);
    let src = match to.from {
        From::Ip4(addr) => addr,
        From::Bit(bit) => {
            let behind = bit + IP4_BITS;
            if behind <= 112 {
                // One that the far end chose; 0 is none.
                let chosen = field(taken.src, behind, 16) as u16;
                port = if chosen == 0 { port } else { chosen };
            }
            (field(taken.src, bit, IP4_BITS) as u32).into()
        }
        From::Prefix(..) | From::Ip6(_) => return None,
    };
    put_gtp(p, &taken.session, port)?;
    let len = u16::try_from(p.total_len() + IP4).ok()?;
    let header = ip4::Header {
        tos: taken.class,
        ttl: taken.hops,
        ..ip4::Header::new(src, dst.into(), Protocol::UDP, len)
    };
    p.make_room(IP4)?.copy_from_slice(header.with_checksum().as_bytes());
    finish(p);
    Some(())
}

/// Puts GTP-U over IPv6 in front of what segments carried.
pub fn put_gtp6(p: &mut Buffer<'_>, taken: &Taken) -> Option<()> {
    put_gtp(p, &taken.session, gtpu::PORT)?;
    let len = u16::try_from(p.total_len()).ok()?;
    let (src, dst) = (taken.src.to_be_bytes(), taken.dst.to_be_bytes());
    let mut header = ip6::Header::new(src.into(), dst.into(), Protocol::UDP, len);
    header.hop_limit = taken.hops;
    header.set_traffic_class(taken.class);
    let pseudo = checksum::ip6_pseudo(src, dst, Protocol::UDP, len.into());
    p.header_mut::<udp::Header>()?.checksum = pseudo.fold().into();
    p.make_room(IP6)?.copy_from_slice(header.as_bytes());
    finish(p);
    // Completed by the device or the output node.
    let l3 = p.offset();
    p.set_l4_offset(l3 + IP6 as i16);
    p.add_flags(Flags::L4.with(Flags::CHECKSUM_TODO));
    Some(())
}

fn put_gtp(p: &mut Buffer<'_>, session: &Session, port: u16) -> Option<()> {
    let inner = u16::try_from(p.total_len()).ok()?;
    let (header, len) = gtpu::write(session, inner);
    let udp_len = u16::try_from(p.total_len() + len + UDP).ok()?;
    p.make_room(len)?.copy_from_slice(header.get(..len)?);
    let udp = udp::Header::new(port, gtpu::PORT, udp_len);
    p.make_room(UDP)?.copy_from_slice(udp.as_bytes());
    Some(())
}

/// Notes that the packet begins with a new IP header.
pub fn finish(p: &mut Buffer<'_>) {
    let at = p.offset();
    p.set_l3_offset(at);
    p.clear_flags(Flags::L4.with(Flags::HASH).with(Flags::L2));
    p.add_flags(Flags::L3);
}
