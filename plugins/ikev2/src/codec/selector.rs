//! Traffic selectors (RFC 7296 section 3.13).

use net::prelude::*;

pub use ipsec::Selector;

use super::Flaw;

/// Limit of selectors in a payload.
pub const MOST_SELECTORS: usize = 32;
const IP4: u8 = 7;
const IP6: u8 = 8;

/// Parses all selectors of a payload; unknown types are skipped.
///
/// # Errors
/// [`Flaw`].
pub fn read_all(body: &[u8]) -> Result<Vec<Selector>, Flaw> {
    let (header, mut rest) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
    if usize::from(header[0]) > MOST_SELECTORS {
        return Err(Flaw::TooMany);
    }
    let mut all = Vec::new();
    for _ in 0..header[0] {
        let (front, _) = rest.split_first_chunk::<8>().ok_or(Flaw::Malformed)?;
        let len = usize::from(u16::from_be_bytes([front[2], front[3]]));
        let addrs = rest.get(8..len).ok_or(Flaw::Malformed)?;
        all.extend(one(front, addrs)?);
        rest = &rest[len..];
    }
    if rest.is_empty() { Ok(all) } else { Err(Flaw::Malformed) }
}

fn one(front: &[u8; 8], addrs: &[u8]) -> Result<Option<Selector>, Flaw> {
    let addrs: (IpAddr, IpAddr) = match front[0] {
        IP4 => {
            let all: &[u8; 8] = addrs.try_into().map_err(|_| Flaw::Malformed)?;
            let [a, b, c, d, e, f, g, h] = *all;
            (Ipv4Addr::new(a, b, c, d).into(), Ipv4Addr::new(e, f, g, h).into())
        }
        IP6 => {
            let (first, last) = addrs.split_first_chunk::<16>().ok_or(Flaw::Malformed)?;
            let last: [u8; 16] = last.try_into().map_err(|_| Flaw::Malformed)?;
            (Ipv6Addr::from(*first).into(), Ipv6Addr::from(last).into())
        }
        _ => return Ok(None),
    };
    let port = |at: usize| u16::from_be_bytes([front[at], front[at + 1]]);
    // A first port above the last one means packets without ports (section 3.13.1).
    Ok(Some(Selector { protocol: front[1], ports: (port(4), port(6)), addrs }))
}

/// Payload body with the given selectors.
pub fn body(all: &[Selector]) -> Vec<u8> {
    let mut out = vec![all.len().min(255) as u8, 0, 0, 0];
    for one in all {
        let (kind, addrs) = match one.addrs {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                (IP4, [first.octets(), last.octets()].concat())
            }
            (first, last) => (IP6, [six(first), six(last)].concat()),
        };
        out.extend([kind, one.protocol]);
        out.extend((8 + addrs.len() as u16).to_be_bytes());
        out.extend(one.ports.0.to_be_bytes());
        out.extend(one.ports.1.to_be_bytes());
        out.extend(addrs);
    }
    out
}

fn six(addr: IpAddr) -> [u8; 16] {
    match addr {
        IpAddr::V4(addr) => addr.to_ipv6_mapped().octets(),
        IpAddr::V6(addr) => addr.octets(),
    }
}
