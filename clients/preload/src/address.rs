//! Socket addresses as bytes.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Longest encoded address.
pub const MOST: usize = 28;
/// Length of an IPv4 address with its family.
const IP4: usize = 16;

/// An encoded address and its length.
pub type Encoded = ([u8; MOST], usize);

/// Decodes a `sockaddr`; `None` if it is neither IPv4 nor IPv6. Mapped addresses become IPv4.
pub fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    match family(bytes)? {
        libc::AF_INET => {
            let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            (bytes.len() >= IP4).then(|| Some(SocketAddr::from((octets, port()?))))?
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            let ip = Ipv6Addr::from(octets);
            let ip = ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4);
            Some(SocketAddr::new(ip, port()?))
        }
        _ => None,
    }
}

/// The family of a `sockaddr`.
pub fn family(bytes: &[u8]) -> Option<i32> {
    Some(i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?)))
}

/// Encodes an address, mapped if the socket is of IPv6.
pub fn encode(end: SocketAddr, is_ip6: bool) -> Encoded {
    let mut bytes = [0; MOST];
    let end = match end {
        SocketAddr::V4(end) if is_ip6 => {
            let ip = if end.ip().is_unspecified() {
                Ipv6Addr::UNSPECIFIED
            } else {
                end.ip().to_ipv6_mapped()
            };
            SocketAddrV6::new(ip, end.port(), 0, 0).into()
        }
        end => end,
    };
    let family = if end.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&end.port().to_be_bytes());
    match end.ip() {
        IpAddr::V4(ip) => {
            bytes[4..8].copy_from_slice(&ip.octets());
            (bytes, IP4)
        }
        IpAddr::V6(ip) => {
            bytes[8..24].copy_from_slice(&ip.octets());
            (bytes, MOST)
        }
    }
}

/// The address that all addresses of a socket are bound to.
pub fn any(is_ip6: bool) -> SocketAddr {
    let ip: IpAddr =
        if is_ip6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, 0)
}

/// Encodes the path of a Unix socket; `@` marks an abstract name. `None` if it is too long.
pub fn unix(path: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    bytes.extend(path);
    match path.first() {
        Some(b'@') => bytes[2] = 0,
        _ => bytes.push(0),
    }
    (bytes.len() <= size_of::<libc::sockaddr_un>()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_written() {
        for (text, is_ip6) in [("10.0.0.1:80", false), ("10.0.0.1:80", true), ("[fe80::1]:9", true)]
        {
            let end: SocketAddr = text.parse().unwrap();
            let (bytes, len) = encode(end, is_ip6);
            assert_eq!(len, if is_ip6 { 28 } else { 16 });
            assert_eq!(parse(&bytes[..len]), Some(end));
            assert_eq!(parse(&bytes[..7]), None);
        }
        let (bytes, _) = encode(any(false), true);
        assert_eq!(parse(&bytes), Some(any(true)), "all addresses are all addresses");
        assert_eq!(unix(b"@ab").unwrap()[2..], *b"\0ab");
        assert_eq!(unix(&[b'a'; 200]), None);
    }
}
