//! VRRP advertisements, version 3 (RFC 9568 section 5).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::{Sum, ip4_pseudo, ip6_pseudo};
use crate::{IpVersion, MacAddr, Protocol};

/// The group of all virtual routers over IPv4.
pub const GROUP4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 18);
/// The group of all virtual routers over IPv6.
pub const GROUP6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x12);
/// Hops that a packet has left: it has passed no router.
pub const HOPS: u8 = 255;
/// The priority of the router that has the addresses as its own.
pub const OWNER: u8 = 255;
/// Longest interval between advertisements, in hundredths of a second.
pub const MOST_INTERVAL: u16 = 0xfff;
/// Version 3, type 1: an advertisement.
const VERSION_TYPE: u8 = 0x31;

/// In front of the addresses.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Version and type.
    pub version_type: u8,
    /// Number of the virtual router.
    pub id: u8,
    /// Priority of the sender; 0 when it stops.
    pub priority: u8,
    /// Count of addresses.
    pub count: u8,
    /// Advertisement interval in hundredths of a second.
    pub interval: U16,
    /// Checksum, over a pseudo header too.
    pub checksum: U16,
}

/// Defects of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Of another version, or no advertisement.
    Version,
    /// Too short for its addresses, or too long.
    Length,
    /// Its checksum is wrong.
    Checksum,
}

/// The MAC address of a virtual router (RFC 9568 section 7.3).
pub fn mac(id: u8, version: IpVersion) -> MacAddr {
    MacAddr([0, 0, 0x5e, 0, version as u8 + 1, id])
}

/// The sum of a pseudo header; `None` where the addresses are of two versions.
fn pseudo(src: IpAddr, dst: IpAddr, len: usize) -> Option<Sum> {
    Some(match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            ip4_pseudo(src.octets(), dst.octets(), Protocol::VRRP, len as u16)
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            ip6_pseudo(src.octets(), dst.octets(), Protocol::VRRP, len as u32)
        }
        _ => return None,
    })
}

/// The bytes of an advertisement from one address to another; `None` where they are of two
/// versions.
pub fn message(
    (src, dst): (IpAddr, IpAddr),
    (id, priority, interval): (u8, u8, u16),
    addrs: &[IpAddr],
) -> Option<Vec<u8>> {
    let (count, interval) = (addrs.len() as u8, interval.into());
    let checksum = 0.into();
    let mut header = Header { version_type: VERSION_TYPE, id, priority, count, interval, checksum };
    let mut bytes = header.as_bytes().to_vec();
    for addr in addrs {
        match addr {
            IpAddr::V4(addr) => bytes.extend_from_slice(&addr.octets()),
            IpAddr::V6(addr) => bytes.extend_from_slice(&addr.octets()),
        }
    }
    header.checksum = pseudo(src, dst, bytes.len())?.add_bytes(&bytes).checksum();
    bytes[..size_of::<Header>()].copy_from_slice(header.as_bytes());
    Some(bytes)
}

/// The header of a message from one address to another, and the bytes of its addresses. Over IPv4
/// also a checksum without a pseudo header is right: some routers leave it out.
///
/// # Errors
/// [`Malformed`].
pub fn parse(bytes: &[u8], src: IpAddr, dst: IpAddr) -> Result<(&Header, &[u8]), Malformed> {
    let (header, rest) = Header::ref_from_prefix(bytes).map_err(|_| Malformed::Length)?;
    if header.version_type != VERSION_TYPE {
        return Err(Malformed::Version);
    }
    let one = if src.is_ipv4() { 4 } else { 16 };
    let addrs = rest.get(..usize::from(header.count) * one).ok_or(Malformed::Length)?;
    // Bytes after the addresses are padding of a short frame that the caller did not remove.
    let whole = &bytes[..size_of::<Header>() + addrs.len()];
    let pseudo = pseudo(src, dst, whole.len()).ok_or(Malformed::Checksum)?;
    let is_bare = src.is_ipv4() && Sum::default().add_bytes(whole).is_valid();
    if !is_bare && !pseudo.add_bytes(whole).is_valid() {
        return Err(Malformed::Checksum);
    }
    Ok((header, addrs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for [src, dst, addr] in
            [["10.0.0.1", "224.0.0.18", "10.0.0.7"], ["fe80::1", "ff02::12", "fe80::7"]]
        {
            let [src, dst, addr]: [IpAddr; 3] = [src, dst, addr].map(|text| text.parse().unwrap());
            let bytes = message((src, dst), (7, 100, 50), &[addr]).unwrap();
            let (header, addrs) = parse(&bytes, src, dst).unwrap();
            assert_eq!((header.id, header.priority, header.interval.get()), (7, 100, 50));
            assert_eq!(addrs.len(), if src.is_ipv4() { 4 } else { 16 });
            for (at, why) in
                [(0, Malformed::Version), (2, Malformed::Checksum), (3, Malformed::Length)]
            {
                let mut bad = bytes.clone();
                bad[at] ^= 0x40;
                assert_eq!(parse(&bad, src, dst).err(), Some(why), "byte {at}");
            }
            assert_eq!(parse(&bytes[..7], src, dst).err(), Some(Malformed::Length));
        }
        assert_eq!(mac(7, IpVersion::V6), MacAddr([0, 0, 0x5e, 0, 2, 7]));
    }
}
