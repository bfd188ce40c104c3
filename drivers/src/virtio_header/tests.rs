use std::convert::Infallible;

use graph::testing::{Caught, TestGraph};
use graph::{Frame, Node};
use proptest::prelude::*;
use wire::checksum::{ip4_pseudo, ip6_pseudo};
use wire::ethernet::EtherType;
use wire::{MacAddr, ip4, ip6, udp, vlan};

use super::*;

/// Does [`receive`], and [`send`] on what came of it, which it puts in front of the packet.
#[derive(Clone)]
struct Registries(Header, usize);

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("out")]
    Out,
}

#[derive(Clone, Copy, graph::Reason)]
enum Error {
    /// Unfit.
    Unfit,
}

impl Node for Registries {
    const NAME: &'static str = "around";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            receive(&self.0, p, self.1).map_err(|_| Error::Unfit)?;
            let l3 = p.offset() + 14 + self.1 as i16;
            p.set_l3_offset(l3);
            p.add_flags(Flags::L3);
            let header = send(p).map_err(|_| Error::Unfit)?;
            p.prepend_header(&header).ok_or(Error::Unfit)?;
            Ok(Next::Out)
        });
    }
}

fn around(header: Header, tag_len: usize, bytes: &[u8]) -> Caught {
    let (mut g, _) = TestGraph::new(|e| e.add(Registries(header, tag_len)));
    g.send("around", &[bytes.to_vec()], |_| ()).remove(0)
}

/// An Ethernet frame with an upper-layer packet whose checksum field is `field`.
fn frame(protocol: Protocol, is_ip6: bool, tag: bool, upper: &[u8]) -> Vec<u8> {
    let kind = if is_ip6 { EtherType::IP6 } else { EtherType::IP4 };
    let mut bytes = [MacAddr([2; 6]).as_bytes(), MacAddr([4; 6]).as_bytes()].concat();
    if tag {
        let tag = vlan::Tag::new(vlan::Id::new(7).unwrap(), kind);
        bytes.extend([EtherType::VLAN.as_bytes(), tag.as_bytes()].concat());
    } else {
        bytes.extend(kind.as_bytes());
    }
    let len = upper.len() as u16;
    if is_ip6 {
        let (src, dst) = ([1; 16].into(), [2; 16].into());
        bytes.extend(ip6::Header::new(src, dst, protocol, len).as_bytes());
    } else {
        let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        bytes.extend(ip4::Header::new(src, dst, protocol, 20 + len).as_bytes());
    }
    bytes.extend(upper);
    bytes
}

fn tcp_segment(flags: tcp::Flags, payload: usize) -> Vec<u8> {
    let header = tcp::Header::new(1, 2, 3, 4, flags);
    [header.as_bytes(), &vec![0x55; payload]].concat()
}

fn header(gso_type: GsoType, hdr_len: u16, gso_size: u16, start: u16, offset: u16) -> Header {
    Header {
        flags: NEEDS_CSUM,
        gso_type,
        hdr_len: hdr_len.into(),
        gso_size: gso_size.into(),
        csum_start: start.into(),
        csum_offset: offset.into(),
    }
}

#[test]
fn what_comes_in_goes_out() {
    let ack = tcp::Flags::ACK;
    let cwr = tcp::Flags::ACK | tcp::Flags::CWR;
    let datagram = [udp::Header::new(1, 2, 1008).as_bytes(), &[9; 1000]].concat();
    let tcp = Protocol::TCP;
    let cases = [
        (frame(tcp, false, false, &tcp_segment(ack, 9)), header(GsoType::NONE, 0, 0, 34, 16)),
        (frame(tcp, false, false, &tcp_segment(ack, 900)), header(GsoType::TCPV4, 54, 99, 34, 16)),
        (
            frame(tcp, true, false, &tcp_segment(cwr, 900)),
            header(GsoType::TCPV6.with_ecn(), 74, 99, 54, 16),
        ),
        (frame(Protocol::UDP, true, false, &datagram), header(GsoType::UDP_L4, 62, 99, 54, 6)),
        (frame(Protocol::UDP, false, false, &datagram), header(GsoType::NONE, 0, 0, 34, 6)),
        (frame(Protocol::UDP, false, false, &datagram), Header::default()),
    ];
    for (bytes, header) in cases {
        let out = around(header, 0, &bytes);
        assert_eq!((out.at.as_str(), out.error.as_str()), ("out", ""));
        let (sent, rest) = Header::read_from_prefix(&out.bytes).unwrap();
        assert_eq!(sent, header);
        assert_eq!(rest, bytes);
    }
}

#[test]
fn offsets_count_a_tag_that_was_put_back() {
    let bytes = frame(Protocol::TCP, false, true, &tcp_segment(tcp::Flags::ACK, 300));
    let out = around(header(GsoType::TCPV4, 54, 99, 34, 16), 4, &bytes);
    let (sent, _) = Header::read_from_prefix(&out.bytes).unwrap();
    assert_eq!(sent, header(GsoType::TCPV4, 58, 99, 38, 16));
}

#[test]
fn merged_packets_look_as_if_never_summed() {
    for is_ip6 in [false, true] {
        let bytes = frame(Protocol::TCP, is_ip6, true, &tcp_segment(tcp::Flags::ACK, 301));
        let kind = if is_ip6 { GsoType::TCPV6 } else { GsoType::TCPV4 };
        let merged =
            Header { flags: DATA_VALID, gso_type: kind, gso_size: 100.into(), ..Header::default() };
        let out = around(merged, 4, &bytes);
        let (sent, rest) = Header::read_from_prefix(&out.bytes).unwrap();
        assert_eq!(sent.flags, NEEDS_CSUM);
        let start = usize::from(sent.csum_start.get());
        // The sum over all, with the pseudo header's in its field, is the checksum.
        let mut done = rest.to_vec();
        let checksum = Sum::ZERO.add_bytes(&rest[start..]).checksum();
        done[start + 16..start + 18].copy_from_slice(checksum.as_bytes());
        let len = done.len() - start;
        let pseudo = match is_ip6 {
            true => ip6_pseudo([1; 16], [2; 16], Protocol::TCP, len as u32),
            false => ip4_pseudo([10, 0, 0, 1], [10, 0, 0, 2], Protocol::TCP, len as u16),
        };
        assert!(pseudo.add_bytes(&done[start..]).is_valid());
    }
}

#[test]
fn other_checksums_are_completed_here() {
    // RFC 3720 B.4: the CRC32c of 32 bytes of zero is 8a9136aa.
    assert_eq!(!crc32c(!0, &[0; 32]), 0x8a91_36aa);
    let upper = [[7; 8].as_slice(), &[0xff; 4], &[1; 21]].concat();
    let out =
        around(header(GsoType::NONE, 0, 0, 34, 8), 0, &frame(Protocol::SCTP, false, false, &upper));
    let zeroed = [[7; 8].as_slice(), &[0; 4], &[1; 21]].concat();
    assert_eq!(out.bytes[10 + 34 + 8..][..4], (!crc32c(!0, &zeroed)).to_le_bytes());

    let upper = [[7, 7, 0, 0].as_slice(), &[1; 21]].concat();
    let out =
        around(header(GsoType::NONE, 0, 0, 34, 2), 0, &frame(Protocol::ICMP, false, false, &upper));
    assert!(Sum::ZERO.add_bytes(&out.bytes[10 + 34..]).is_valid());
    assert!(!out.flags.has(Flags::CHECKSUM_TODO));
}

#[test]
fn what_nobody_can_do_is_refused() {
    let bytes = frame(Protocol::TCP, false, false, &tcp_segment(tcp::Flags::ACK, 9));
    for bad in [
        header(GsoType::UDP, 42, 99, 34, 16),
        header(GsoType::TCPV4, 54, 0, 34, 16),
        header(GsoType::NONE, 0, 0, 60, 16),
        header(GsoType::NONE, 0, 0, 0xfff0, 0xffff),
        header(GsoType(77), 0, 10, 34, 16),
        Header { gso_type: GsoType::UDP_L4, gso_size: 10.into(), ..Header::default() },
    ] {
        assert_eq!(around(bad, 0, &bytes).error, "around: Unfit", "{bad:?}");
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        kind in prop_oneof![Just([8, 0]), Just([0x86, 0xdd]), Just([0x81, 0]), any::<[u8; 2]>()],
        header: [u8; 10],
    ) {
        let mut bytes = bytes;
        if let Some(place) = bytes.get_mut(12..14) {
            place.copy_from_slice(&kind);
        }
        around(Header::read_from_bytes(&header).unwrap(), 0, &bytes);
    }
}
