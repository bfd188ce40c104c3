//! IPv4 packets in IPv6 and out of it (RFC 2473).

use net::gso;
use net::prelude::*;

use crate::core::Error;

/// Length of an IPv6 header.
const HEADER: usize = size_of::<ip6::Header>();

/// Payload of a packet for an end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// An IPv4 packet from this address, which starts so many bytes from the start.
    Packet(Ipv6Addr, usize),
    /// A fragment of a packet of IPv6 with one.
    Fragment,
    /// A message for the end itself.
    Message,
}

/// Payload of a packet for an end of a tunnel.
#[inline(always)]
pub fn inside(p: &Buffer<'_>) -> Result<Inside, Error> {
    let header = p.header::<ip6::Header>().ok_or(Error::Unknown)?;
    let upper = ip6::upper_layer(p.bytes()).ok_or(Error::Unknown)?;
    match upper.protocol {
        Protocol::IP4 if upper.fragment.is_some() => Ok(Inside::Fragment),
        Protocol::IP4 => {
            let inner = p.bytes().get(upper.offset..).ok_or(Error::Unknown)?;
            let (inner, _) = ip4::Header::ref_from_prefix(inner).map_err(|_| Error::Unknown)?;
            let len = usize::from(inner.total_len.get());
            let is_right = inner.version() == 4
                && inner.header_len() >= size_of::<ip4::Header>()
                && len >= inner.header_len()
                && upper.offset + len <= p.total_len();
            if is_right {
                Ok(Inside::Packet(header.src_addr(), upper.offset))
            } else {
                Err(Error::Unknown)
            }
        }
        Protocol::ICMP6 => Ok(Inside::Message),
        _ => Err(Error::BadIp6Protocol),
    }
}

/// Whether the IPv4 packet that starts so many bytes from the start is a fragment.
#[inline(always)]
pub fn is_fragment(p: &Buffer<'_>, offset: usize) -> bool {
    let inner = p.bytes().get(offset..).unwrap_or(&[]);
    ip4::Header::ref_from_prefix(inner).is_ok_and(|(header, _)| header.is_fragment())
}

/// Takes the headers in front of a packet off.
#[inline(always)]
pub fn open(p: &mut Buffer<'_>, offset: usize) -> Result<(), Error> {
    p.advance(offset).ok_or(Error::Unknown)?;
    p.clear_flags(Flags::L2);
    gso::disclose(p);
    let at = p.offset();
    p.set_l3_offset(at);
    p.set_fib(0);
    Ok(())
}

/// Puts a packet between two ends of a tunnel; one hop less is left to it.
#[inline(always)]
pub fn enclose(p: &mut Buffer<'_>, src: Ipv6Addr, dst: Ipv6Addr) -> Result<(), Error> {
    let inner = p.header_mut::<ip4::Header>().ok_or(Error::Unknown)?;
    inner.decrement_ttl();
    let class = inner.tos;
    let len = u16::try_from(p.total_len()).map_err(|_| Error::Unknown)?;
    if !gso::can_wait(p, HEADER) {
        return Err(Error::Unknown);
    }
    let mut header = ip6::Header::new(src, dst, Protocol::IP4, len);
    header.set_traffic_class(class);
    gso::enclose(p, HEADER);
    p.clear_flags(Flags::L2);
    p.make_room(HEADER).ok_or(Error::Unknown)?.copy_from_slice(header.as_bytes());
    // Packets of our own are cut where the link needs it.
    p.add_flags(Flags::LOCAL);
    p.set_fib(0);
    Ok(())
}
