//! Fields that lists compare: addresses, protocol, ports or type and code of ICMP, and flags
//! of TCP.
//!
//! A packet whose ports are not known (a later fragment, a header that is cut off or behind too
//! many others) is compared by addresses and protocol only: with each rule as if it said nothing
//! of ports.

use net::prelude::*;

use super::list::{List, Verdict};
use super::rule::{upper_word, words};

/// Offset of the flags in a header of TCP.
const TCP_FLAGS: usize = 13;

/// Fields of a packet that are compared, in `W` words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple<const W: usize> {
    /// Addresses, then protocol and ports.
    pub key: [u64; W],
    /// Flags of TCP.
    pub flags: u8,
    /// Ports are not known.
    pub is_blunt: bool,
    /// A fragment of a packet that is not its first.
    pub is_later_fragment: bool,
}

impl<const W: usize> Default for Tuple<W> {
    fn default() -> Self {
        Self { key: [0; W], flags: 0, is_blunt: true, is_later_fragment: false }
    }
}

impl<const W: usize> Tuple<W> {
    /// Protocol.
    #[inline(always)]
    pub fn protocol(&self) -> Protocol {
        Protocol((self.key[W - 1] >> 32) as u8)
    }
    /// Source and destination port, or type and code.
    #[inline(always)]
    pub fn ports(&self) -> (u16, u16) {
        ((self.key[W - 1] >> 16) as u16, self.key[W - 1] as u16)
    }
}

/// Fields of a header behind IP: ports, flags of TCP, and whether ports are not known.
#[inline(always)]
fn upper(protocol: Protocol, bytes: &[u8]) -> (u16, u16, u8, bool) {
    if protocol.has_ports() {
        let Some([a, b, c, d]) = bytes.first_chunk() else { return (0, 0, 0, true) };
        let flags = match bytes.get(TCP_FLAGS) {
            Some(flags) if protocol == Protocol::TCP => *flags,
            _ => 0,
        };
        return (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]), flags, false);
    }
    if protocol == Protocol::ICMP || protocol == Protocol::ICMP6 {
        let Some([kind, code]) = bytes.first_chunk() else { return (0, 0, 0, true) };
        return ((*kind).into(), (*code).into(), 0, false);
    }
    (0, 0, 0, false)
}

/// A version of IP whose packets lists are about.
pub trait Matched: Version {
    /// Fields that are compared.
    type Tuple: Copy + Default + Send + Sync + std::fmt::Debug + 'static;
    /// 4 or 6.
    const NUMBER: u8;
    /// Reads a packet from its IP header on.
    fn read(packet: &[u8]) -> Self::Tuple;
    /// The verdict of the first rule about a packet.
    fn find(list: &List, tuple: &Self::Tuple) -> Option<Verdict>;
    /// The same for a block of packets: verdicts with their places.
    fn find_all(list: &List, tuples: &[Self::Tuple], found: impl FnMut(usize, Verdict));
    /// Its parts as words, for traces: addresses, then protocol and ports.
    fn show(tuple: &Self::Tuple) -> ([u8; 16], [u8; 16], Protocol, (u16, u16), u8);
}

impl Matched for V4 {
    type Tuple = Tuple<2>;
    const NUMBER: u8 = 4;
    #[inline(always)]
    fn read(packet: &[u8]) -> Tuple<2> {
        let Ok((header, _)) = ip4::Header::ref_from_prefix(packet) else {
            return Tuple::default();
        };
        let (src, dst) = (u32::from_be_bytes(header.src), u32::from_be_bytes(header.dst));
        let protocol = header.protocol;
        let is_later_fragment = header.fragment_offset() != 0;
        let (src_port, dst_port, flags, is_blunt) = if is_later_fragment {
            (0, 0, 0, true)
        } else {
            upper(protocol, packet.get(header.header_len()..).unwrap_or(&[]))
        };
        let key =
            [u64::from(src) << 32 | u64::from(dst), upper_word(protocol.0, src_port, dst_port)];
        Tuple { key, flags, is_blunt, is_later_fragment }
    }
    #[inline(always)]
    fn find(list: &List, tuple: &Tuple<2>) -> Option<Verdict> {
        list.v4.find(tuple)
    }
    #[inline(always)]
    fn find_all(list: &List, tuples: &[Tuple<2>], found: impl FnMut(usize, Verdict)) {
        list.v4.find_all(tuples, found);
    }
    fn show(tuple: &Tuple<2>) -> ([u8; 16], [u8; 16], Protocol, (u16, u16), u8) {
        let mut addresses = [[0; 16]; 2];
        addresses[0][..4].copy_from_slice(&tuple.key[0].to_be_bytes()[..4]);
        addresses[1][..4].copy_from_slice(&tuple.key[0].to_be_bytes()[4..]);
        (addresses[0], addresses[1], tuple.protocol(), tuple.ports(), tuple.flags)
    }
}

impl Matched for V6 {
    type Tuple = Tuple<5>;
    const NUMBER: u8 = 6;
    #[inline(always)]
    fn read(packet: &[u8]) -> Tuple<5> {
        let Ok((header, _)) = ip6::Header::ref_from_prefix(packet) else {
            return Tuple::default();
        };
        let ([a, b], [c, d]) = (words(&header.src), words(&header.dst));
        let (protocol, is_later_fragment, (src_port, dst_port, flags, is_blunt)) =
            match ip6::upper_layer(packet) {
                Some(found) if found.fragment.is_some_and(|f| f.offset() != 0) => {
                    (found.protocol, true, (0, 0, 0, true))
                }
                Some(found) => {
                    let bytes = packet.get(found.offset..).unwrap_or(&[]);
                    (found.protocol, false, upper(found.protocol, bytes))
                }
                None => (header.next_header, false, (0, 0, 0, true)),
            };
        let key = [a, b, c, d, upper_word(protocol.0, src_port, dst_port)];
        Tuple { key, flags, is_blunt, is_later_fragment }
    }
    #[inline(always)]
    fn find(list: &List, tuple: &Tuple<5>) -> Option<Verdict> {
        list.v6.find(tuple)
    }
    #[inline(always)]
    fn find_all(list: &List, tuples: &[Tuple<5>], found: impl FnMut(usize, Verdict)) {
        list.v6.find_all(tuples, found);
    }
    fn show(tuple: &Tuple<5>) -> ([u8; 16], [u8; 16], Protocol, (u16, u16), u8) {
        let [a, b, c, d, _] = tuple.key;
        let address =
            |high: u64, low: u64| (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        (address(a, b), address(c, d), tuple.protocol(), tuple.ports(), tuple.flags)
    }
}
