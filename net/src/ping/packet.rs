//! Echo requests.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use wire::checksum::{self, Sum};
use wire::{Protocol, icmp4, icmp6, ip4, ip6};
use zerocopy::byteorder::network_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The time a request was sent, at the start of its data.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub(super) struct Sent(U64);

impl Sent {
    /// `now` in seconds on the router's clock.
    pub fn at(now: f64) -> Self {
        Self(U64::new(now.to_bits()))
    }
    /// The time, in seconds.
    pub fn seconds(&self) -> f64 {
        f64::from_bits(self.0.get())
    }
}

/// Bytes of ICMP before the data that the operator asked for.
const HEADERS: usize = size_of::<icmp4::Echo>() + size_of::<Sent>();
/// Data that fits into one buffer.
pub(super) const MOST: usize = graph::DATA_SIZE - size_of::<ip6::Header>() - HEADERS;

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub id: u16,
    pub seq: u16,
    /// Bytes of data behind the time.
    pub size: usize,
}

impl Request {
    /// The packet, time and checksum of ICMP left out.
    pub fn bytes(&self) -> Vec<u8> {
        let len = (HEADERS + self.size) as u16;
        let mut bytes = match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let len = size_of::<ip4::Header>() as u16 + len;
                ip4::Header::new(src, dst, Protocol::ICMP, len).as_bytes().to_vec()
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                ip6::Header::new(src, dst, Protocol::ICMP6, len).as_bytes().to_vec()
            }
            _ => unreachable!("source and destination are of one family"),
        };
        let (id, seq) = (self.id.into(), self.seq.into());
        if self.dst.is_ipv4() {
            let icmp = icmp4::Header::new(icmp4::Type::ECHO_REQUEST, 0);
            bytes.extend(icmp4::Echo { icmp, id, seq }.as_bytes());
        } else {
            let icmp = icmp6::Header::new(icmp6::Type::ECHO_REQUEST, 0);
            bytes.extend(icmp6::Echo { icmp, id, seq }.as_bytes());
        }
        bytes.extend(Sent::at(0.0).as_bytes());
        bytes.extend((0..self.size).map(|i| i as u8));
        bytes
    }
}

/// Puts time and checksum into the packet that [`Request::bytes`] made.
pub(super) fn stamp(packet: &mut [u8], now: f64) {
    let Some((offset, pseudo)) = upper(packet) else { return };
    let Some(message) = packet.get_mut(offset..) else { return };
    let Some((echo, time)) = message.split_at_mut_checked(size_of::<icmp4::Echo>()) else { return };
    if let (Ok((echo, _)), Ok((time, _))) =
        (icmp4::Echo::mut_from_prefix(echo), Sent::mut_from_prefix(time))
    {
        *time = Sent::at(now);
        echo.icmp.checksum = 0.into();
    }
    let sum = checksum::upper_layer(pseudo, [&*message]).checksum();
    if let Ok((echo, _)) = icmp4::Echo::mut_from_prefix(message) {
        echo.icmp.checksum = sum;
    }
}

/// Where ICMP starts in a packet without options, and the pseudo header's sum.
fn upper(packet: &[u8]) -> Option<(usize, Sum)> {
    if packet.first()? >> 4 == 4 {
        return Some((size_of::<ip4::Header>(), Sum::ZERO));
    }
    let (ip, rest) = ip6::Header::ref_from_prefix(packet).ok()?;
    let sum = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, rest.len() as u32);
    Some((size_of::<ip6::Header>(), sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_right_in_both_families() {
        let request = Request {
            src: "10.0.1.1".parse().unwrap(),
            dst: "10.0.1.2".parse().unwrap(),
            id: 7,
            seq: 9,
            size: 61,
        };
        let mut bytes = request.bytes();
        stamp(&mut bytes, 1.5);
        assert_eq!(bytes.len(), 20 + 16 + 61);
        assert!(ip4::Header::ref_from_prefix(&bytes).unwrap().0.is_checksum_valid());
        assert!(Sum::ZERO.add_bytes(&bytes[20..]).is_valid());
        assert_eq!(bytes[20..22], [8, 0]);
        assert_eq!(bytes[24..28], [0, 7, 0, 9]);
        assert_eq!(Sent::ref_from_prefix(&bytes[28..]).unwrap().0.seconds(), 1.5);

        let (src, dst) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        let mut bytes = Request { src, dst, ..request }.bytes();
        stamp(&mut bytes, 1.5);
        let (ip, icmp) = ip6::Header::ref_from_prefix(&bytes).unwrap();
        let len = icmp.len() as u32;
        assert_eq!(ip.payload_len.get(), 16 + 61);
        let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, len);
        assert!(pseudo.add_bytes(icmp).is_valid());
        assert_eq!(icmp[0], 128);
    }
}
