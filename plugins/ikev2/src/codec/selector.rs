//! Traffic selectors (RFC 7296 section 3.13).

use net::prelude::*;

use super::Flaw;

/// Limit of selectors in a payload.
pub const MOST_SELECTORS: usize = 32;
const IP4: u8 = 7;
const IP6: u8 = 8;

/// A traffic selector: a range of addresses, a range of ports and a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The protocol; 0 for any.
    pub protocol: u8,
    /// First and last port.
    pub ports: (u16, u16),
    /// First and last address, of one IP version.
    pub addrs: (IpAddr, IpAddr),
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, ports, addrs } = self;
        write!(f, "addr {} - {} port {} - {}", addrs.0, addrs.1, ports.0, ports.1)?;
        write!(f, " protocol {protocol}")
    }
}

impl Selector {
    /// Selects all traffic of one address.
    pub fn of(addr: IpAddr) -> Self {
        Self { protocol: 0, ports: (0, u16::MAX), addrs: (addr, addr) }
    }
    /// Intersection with another selector.
    pub fn narrow(&self, other: &Self) -> Option<Self> {
        if self.addrs.0.is_ipv4() != other.addrs.0.is_ipv4() {
            return None;
        }
        let protocol = match (self.protocol, other.protocol) {
            (0, protocol) | (protocol, 0) => protocol,
            (a, b) if a == b => a,
            _ => return None,
        };
        let addrs = (self.addrs.0.max(other.addrs.0), self.addrs.1.min(other.addrs.1));
        let ports = (self.ports.0.max(other.ports.0), self.ports.1.min(other.ports.1));
        (addrs.0 <= addrs.1 && ports.0 <= ports.1).then_some(Self { protocol, ports, addrs })
    }
    /// Whether this selector includes all traffic of another one.
    pub fn covers(&self, other: &Self) -> bool {
        self.narrow(other) == Some(*other)
    }
    /// Parses all selectors of a payload; unknown types are skipped.
    ///
    /// # Errors
    /// [`Flaw`].
    pub fn read_all(body: &[u8]) -> Result<Vec<Self>, Flaw> {
        let (header, mut rest) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
        if usize::from(header[0]) > MOST_SELECTORS {
            return Err(Flaw::TooMany);
        }
        let mut all = Vec::new();
        for _ in 0..header[0] {
            let (front, _) = rest.split_first_chunk::<8>().ok_or(Flaw::Malformed)?;
            let len = usize::from(u16::from_be_bytes([front[2], front[3]]));
            let addrs = rest.get(8..len).ok_or(Flaw::Malformed)?;
            all.extend(Self::read(front, addrs)?);
            rest = &rest[len..];
        }
        if rest.is_empty() { Ok(all) } else { Err(Flaw::Malformed) }
    }
    fn read(front: &[u8; 8], addrs: &[u8]) -> Result<Option<Self>, Flaw> {
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
        Ok(Some(Self { protocol: front[1], ports: (port(4), port(6)), addrs }))
    }
    /// Payload body with the given selectors.
    pub fn body(all: &[Self]) -> Vec<u8> {
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
}

fn six(addr: IpAddr) -> [u8; 16] {
    match addr {
        IpAddr::V4(addr) => addr.to_ipv6_mapped().octets(),
        IpAddr::V6(addr) => addr.octets(),
    }
}
