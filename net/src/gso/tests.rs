use std::convert::Infallible;

use graph::testing::TestGraph;
use graph::{Buffer, Flags, Frame, Node};
use proptest::prelude::*;
use wire::checksum::{Sum, ip4_pseudo, ip6_pseudo};
use wire::zerocopy::byteorder::network_endian::U16;
use wire::zerocopy::{FromBytes, IntoBytes};
use wire::{Protocol, ip4, ip6, tcp, udp};

use super::*;

const ETHERNET: usize = 14;

#[derive(Clone, Copy, Debug)]
enum Ip {
    V4,
    V6,
}

/// A frame whose checksum field holds the pseudo header's sum, and where its headers are.
fn frame(ip: Ip, protocol: Protocol, options: usize, payload: &[u8]) -> (Vec<u8>, Layout) {
    let mut upper = match protocol {
        Protocol::TCP => {
            let flags = tcp::Flags::ACK | tcp::Flags::PSH | tcp::Flags::FIN | tcp::Flags::CWR;
            let mut header = tcp::Header::new(1000, 2000, 0xffff_ff00, 77, flags);
            header.data_offset = ((5 + options) as u8) << 4;
            [header.as_bytes(), &vec![1; options * 4]].concat()
        }
        _ => udp::Header::new(1000, 2000, (8 + payload.len()) as u16).as_bytes().to_vec(),
    };
    let len = upper.len() + payload.len();
    let (header, pseudo) = match ip {
        Ip::V4 => {
            let (src, dst) = ([10, 0, 0, 1], [10, 0, 0, 2]);
            let total = (20 + len) as u16;
            let mut header = ip4::Header::new(src.into(), dst.into(), protocol, total);
            header.id = 0xfffe.into();
            header.update_checksum();
            (header.as_bytes().to_vec(), ip4_pseudo(src, dst, protocol, len as u16))
        }
        Ip::V6 => {
            let (src, dst) = ([1; 16], [2; 16]);
            let header = ip6::Header::new(src.into(), dst.into(), protocol, len as u16);
            (header.as_bytes().to_vec(), ip6_pseudo(src, dst, protocol, len as u32))
        }
    };
    let field = field_offset(protocol).unwrap();
    upper[field..field + 2].copy_from_slice(U16::new(pseudo.fold()).as_bytes());
    let layout = Layout { l3: ETHERNET, l4: ETHERNET + header.len(), protocol, outer: None };
    let mut bytes = vec![0xee; ETHERNET];
    bytes.extend(header);
    bytes.extend(upper);
    bytes.extend(payload);
    (bytes, layout)
}

/// Checks lengths and checksums of a finished frame.
fn check(bytes: &[u8], layout: Layout) {
    let ip = &bytes[layout.l3..];
    let upper = &bytes[layout.l4..];
    let pseudo = if ip[0] >> 4 == 4 {
        let header = ip4::Header::read_from_prefix(ip).unwrap().0;
        assert!(header.is_checksum_valid());
        assert_eq!(usize::from(header.total_len.get()), ip.len());
        ip4_pseudo(header.src, header.dst, header.protocol, upper.len() as u16)
    } else {
        let header = ip6::Header::read_from_prefix(ip).unwrap().0;
        assert_eq!(usize::from(header.payload_len.get()), ip.len() - 40);
        ip6_pseudo(header.src, header.dst, layout.protocol, upper.len() as u32)
    };
    assert!(pseudo.add_bytes(upper).is_valid(), "layer 4 checksum");
}

fn check_tcp(n: usize, count: usize, bytes: &[u8], layout: Layout, gso_size: usize) {
    let header = tcp::Header::read_from_prefix(&bytes[layout.l4..]).unwrap().0;
    let is_last = n + 1 == count;
    assert_eq!(header.seq.get(), 0xffff_ff00_u32.wrapping_add((n * gso_size) as u32));
    assert_eq!(header.flags.contains(tcp::Flags::CWR), n == 0);
    assert_eq!(header.flags.contains(tcp::Flags::FIN | tcp::Flags::PSH), is_last);
    assert!(header.flags.contains(tcp::Flags::ACK));
    if bytes[layout.l3] >> 4 == 4 {
        let ip = ip4::Header::read_from_prefix(&bytes[layout.l3..]).unwrap().0;
        assert_eq!(ip.id.get(), 0xfffe_u16.wrapping_add(n as u16));
    }
}

fn ips() -> impl Strategy<Value = Ip> {
    prop_oneof![Just(Ip::V4), Just(Ip::V6)]
}

fn protocols() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::TCP), Just(Protocol::UDP)]
}

proptest! {
    #[test]
    fn segments_are_the_packet_again(
        ip in ips(),
        protocol in protocols(),
        options in 0..10usize,
        payload in prop::collection::vec(any::<u8>(), 0..9000),
        gso_size in 1..3000usize,
        padding in 0..6usize,
    ) {
        let (mut bytes, layout) = frame(ip, protocol, options, &payload);
        bytes.extend(vec![0xaa; padding]);
        let segments: Vec<_> = Segments::new(&bytes, layout, gso_size).unwrap().collect();
        let joined: Vec<u8> = segments.iter().flat_map(|s| s.payload).copied().collect();
        prop_assert_eq!(joined, payload);
        for (n, segment) in segments.iter().enumerate() {
            let is_last = n + 1 == segments.len();
            prop_assert!(is_last || segment.payload.len() == gso_size);
            let bytes = [segment.headers(), segment.payload].concat();
            prop_assert_eq!(&bytes[..ETHERNET], &[0xee; ETHERNET]);
            check(&bytes, layout);
            if protocol == Protocol::TCP {
                check_tcp(n, segments.len(), &bytes, layout, gso_size);
            } else {
                let header = udp::Header::read_from_prefix(&bytes[layout.l4..]).unwrap().0;
                prop_assert_eq!(usize::from(header.len.get()), bytes.len() - layout.l4);
            }
        }
    }

    #[test]
    fn nothing_makes_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        l3 in 0..80usize,
        l4 in 0..120usize,
        protocol in protocols(),
        version in prop_oneof![Just(0x45u8), Just(0x60), any::<u8>()],
        gso_size in 0..70000usize,
    ) {
        let mut bytes = bytes;
        if let Some(b) = bytes.get_mut(l3) {
            *b = version;
        }
        if let Ok(segments) = Segments::new(&bytes, Layout { l3, l4, protocol, outer: None }, gso_size) {
            segments.for_each(|s| assert!(s.len() <= bytes.len()));
        }
    }
}

/// A frame in a tunnel over UDP, as it is before its checksum is completed.
fn in_tunnel(outer: Ip, inner: &[u8], inner_layout: Layout) -> (Vec<u8>, Layout) {
    let behind = [udp::Header::new(50_000, 4789, 0).as_bytes(), &[8; 8]].concat();
    let len = (behind.len() + inner.len()) as u16;
    let header = match outer {
        Ip::V4 => ip4::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Protocol::UDP, 0)
            .as_bytes()
            .to_vec(),
        Ip::V6 => {
            ip6::Header::new([1; 16].into(), [2; 16].into(), Protocol::UDP, len).as_bytes().to_vec()
        }
    };
    let front = ETHERNET + header.len() + behind.len();
    let bytes = [&[0xdd; ETHERNET][..], &header, &behind, inner].concat();
    let (l3, l4) = (inner_layout.l3 + front, inner_layout.l4 + front);
    (bytes, Layout { l3, l4, outer: Some(ETHERNET), ..inner_layout })
}

/// Checks the headers of a tunnel in front of segment `n`.
fn check_outer(bytes: &[u8], layout: Layout, n: usize) {
    let ip = &bytes[layout.outer.unwrap()..];
    let (upper, pseudo) = if ip[0] >> 4 == 4 {
        let header = ip4::Header::read_from_prefix(ip).unwrap().0;
        assert!(header.is_checksum_valid());
        assert_eq!(usize::from(header.total_len.get()), ip.len());
        assert_eq!(usize::from(header.id.get()), n);
        (&ip[20..], None)
    } else {
        let header = ip6::Header::read_from_prefix(ip).unwrap().0;
        assert_eq!(usize::from(header.payload_len.get()), ip.len() - 40);
        let len = header.payload_len.get().into();
        (&ip[40..], Some(ip6_pseudo(header.src, header.dst, Protocol::UDP, len)))
    };
    let udp = udp::Header::read_from_prefix(upper).unwrap().0;
    assert_eq!(usize::from(udp.len.get()), upper.len());
    match pseudo {
        Some(pseudo) => assert!(pseudo.add_bytes(upper).is_valid(), "outer checksum"),
        None => assert_eq!(udp.checksum.get(), 0),
    }
}

proptest! {
    #[test]
    fn segments_in_tunnels_have_the_headers_of_the_tunnel(
        (outer, ip) in (ips(), ips()),
        protocol in protocols(),
        payload in prop::collection::vec(any::<u8>(), 1..9000),
        gso_size in 1..3000usize,
    ) {
        let (inner, layout) = frame(ip, protocol, 2, &payload);
        let (bytes, layout) = in_tunnel(outer, &inner, layout);
        let segments: Vec<_> = Segments::new(&bytes, layout, gso_size).unwrap().collect();
        let joined: Vec<u8> = segments.iter().flat_map(|s| s.payload).copied().collect();
        prop_assert_eq!(joined, payload);
        for (n, segment) in segments.iter().enumerate() {
            let bytes = [segment.headers(), segment.payload].concat();
            check(&bytes, layout);
            check_outer(&bytes, layout, n);
        }
    }
}

/// Completes packets as an interface without offloads does.
#[derive(Clone)]
struct Output(Flags);

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("tx")]
    Tx,
}

#[derive(Clone, Copy, graph::Reason)]
enum Error {
    /// Failed.
    Failed,
}

impl Node for Output {
    const NAME: &'static str = "output";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let todo = self.0;
        frame.each(|p| {
            if p.flags().has(todo) {
                apply(todo, p).map_err(|_| Error::Failed)?;
            }
            Ok(Next::Tx)
        });
    }
}

fn graph(offloads: Offloads) -> TestGraph {
    TestGraph::new(|e| e.add(Output(left_by(offloads)))).0
}

/// Metadata of a received packet, as a driver sets it.
fn prepare(layout: Layout, flags: Flags) -> impl Fn(&mut Buffer<'_>) + Clone + Send {
    move |p| {
        p.set_l3_offset(layout.l3 as i16);
        p.set_l4_offset(layout.l4 as i16);
        p.set_gso_size(100);
        p.add_flags(flags.with(Flags::L3).with(Flags::L4));
    }
}

#[test]
fn big_packets_leave_in_order_between_others() {
    let payload: Vec<u8> = (0..1750).map(|i| (i % 251) as u8).collect();
    let (bytes, layout) = frame(Ip::V4, Protocol::TCP, 3, &payload);
    let flags = Flags::GSO.with(Flags::CHECKSUM_TODO);
    for n in [1, 3, 4, 100, 200] {
        let mut g = graph(Offloads::default());
        let out = g.send("output", &vec![bytes.clone(); n], prepare(layout, flags));
        assert_eq!(out.len(), n * 18);
        for packets in out.chunks(18) {
            let header_len = layout.l4 + 32;
            let joined: Vec<u8> =
                packets.iter().flat_map(|p| &p.bytes[header_len..]).copied().collect();
            assert_eq!(joined, payload);
            for (i, p) in packets.iter().enumerate() {
                check(&p.bytes, layout);
                check_tcp(i, 18, &p.bytes, layout, 100);
                assert!(!p.flags.has(flags));
            }
        }
        g.expect_counters(&[]);
        assert_eq!(g.buffers_used(), 0);
    }
}

/// Makes a packet of many buffers for each it gets.
#[derive(Clone)]
struct Make(Vec<u8>, Layout);

#[derive(Clone, Copy, graph::Next)]
enum Made {
    #[to("output")]
    Output,
}

impl Node for Make {
    const NAME: &'static str = "make";
    type Next = Made;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let flags = Flags::GSO.with(Flags::CHECKSUM_TODO);
        frame.each(|p| {
            let mut new = p.fresh().ok_or(Error::Failed)?;
            new.extend(&self.0).ok_or(Error::Failed)?;
            prepare(self.1, flags)(&mut new);
            new.set_gso_size(5000);
            new.follow().ok_or(Error::Failed)?;
            Ok(Made::Output)
        });
    }
}

#[test]
fn segments_of_many_buffers() {
    // Datagrams stay as their sender cut them, whatever a buffer holds.
    let payload: Vec<u8> = (0..42_000).map(|i| (i % 253) as u8).collect();
    let (bytes, layout) = frame(Ip::V6, Protocol::UDP, 0, &payload);
    let (mut g, _) = TestGraph::new(|e| {
        e.add(Make(bytes, layout))?;
        e.add(Output(left_by(Offloads::default())))
    });
    let out = g.send("make", &[vec![1], vec![2]], |_| ());
    assert_eq!(out.len(), 2 * (1 + 9));
    for packets in out.chunks(10) {
        let header_len = layout.l4 + 8;
        let joined: Vec<u8> =
            packets[1..].iter().flat_map(|p| &p.bytes[header_len..]).copied().collect();
        assert_eq!(joined, payload);
        for (i, p) in packets[1..].iter().enumerate() {
            check(&p.bytes, layout);
            let len = if i < 8 { 5000 } else { 2000 };
            assert_eq!(p.bytes.len(), header_len + len);
        }
    }
    assert_eq!(g.buffers_used(), 0);
}

#[test]
fn segments_of_tcp_fit_into_buffers() {
    let payload = vec![7; 20_000];
    let (bytes, layout) = frame(Ip::V4, Protocol::TCP, 0, &payload);
    let all = Segments::new(&bytes, layout, 8960).unwrap().within(2048);
    let lens: Vec<usize> = all.map(|s| s.len()).collect();
    assert_eq!(lens.iter().max(), Some(&2048));
    assert_eq!(lens.iter().map(|len| len - 54).sum::<usize>(), 20_000);
}

#[test]
fn devices_that_cut_do_not_so_in_tunnels() {
    let (inner, layout) = frame(Ip::V4, Protocol::TCP, 0, &[7; 1000]);
    let (bytes, layout) = in_tunnel(Ip::V6, &inner, layout);
    let as_left = move |p: &mut Buffer<'_>| {
        prepare(layout, Flags::GSO.with(Flags::CHECKSUM_TODO))(p);
        p.set_inner(Some(Inner { l3: layout.l3 as i16, l4: layout.l4 as i16 }));
        p.set_l3_offset(ETHERNET as i16);
    };
    let sent = |offloads| graph(offloads).send("output", std::slice::from_ref(&bytes), as_left);
    let device = Offloads { checksum: true, gso: true, tunnels: false };
    let out = sent(device);
    assert_eq!(out.len(), 10);
    for (n, p) in out.iter().enumerate() {
        check(&p.bytes, layout);
        check_outer(&p.bytes, layout, n);
        assert!(!p.flags.has(UNDONE.with(Flags::TUNNEL)));
    }
    let out = sent(Offloads { tunnels: true, ..device });
    assert_eq!(out.len(), 1);
    assert!(out[0].bytes == bytes && out[0].flags.has(Flags::TUNNEL));
}

#[test]
fn only_what_the_interface_cannot() {
    let (bytes, layout) = frame(Ip::V6, Protocol::UDP, 0, b"hello");
    let mut g = graph(Offloads { checksum: true, gso: true, tunnels: true });
    let out = g.send("output", std::slice::from_ref(&bytes), prepare(layout, Flags::CHECKSUM_TODO));
    assert_eq!(out[0].bytes, bytes);
    assert!(out[0].flags.has(Flags::CHECKSUM_TODO));

    let mut g = graph(Offloads::default());
    let out = g.send("output", &[bytes], prepare(layout, Flags::CHECKSUM_TODO));
    check(&out[0].bytes, layout);
    assert!(!out[0].flags.has(Flags::CHECKSUM_TODO));
}

#[test]
fn lies_are_counted() {
    let (bytes, mut layout) = frame(Ip::V4, Protocol::TCP, 0, b"hello");
    layout.l4 += 4;
    let mut g = graph(Offloads::default());
    let packets = [bytes.clone(), bytes[..20].to_vec()];
    let out = g.send("output", &packets, prepare(layout, Flags::CHECKSUM_TODO));
    assert!(out.iter().all(|p| p.at == "error-drop"));
    g.expect_counters(&[("output", "failed", 2)]);
    g.send("output", &packets, prepare(layout, Flags::GSO));
    g.expect_counters(&[("output", "failed", 2)]);
    assert_eq!(g.buffers_used(), 0);
}

#[test]
fn an_udp_checksum_of_zero_is_sent_as_ones() {
    // A payload that makes the sum all ones.
    let (mut bytes, layout) = frame(Ip::V4, Protocol::UDP, 0, &[0, 0]);
    let sum = Sum::ZERO.add_bytes(&bytes[layout.l4..]);
    let at = bytes.len() - 2;
    bytes[at..].copy_from_slice(&sum.checksum().to_bytes());
    let mut g = graph(Offloads::default());
    let out = g.send("output", &[bytes], prepare(layout, Flags::CHECKSUM_TODO));
    assert_eq!(out[0].bytes[layout.l4 + 6..layout.l4 + 8], [0xff, 0xff]);
}
