use super::*;
use crate::Ip6Prefix;
use crate::checksum::ip4_pseudo;
use crate::siit::embedded::{embed, extract};

const HOST4: [u8; 4] = [192, 0, 2, 33];
const FAR4: [u8; 4] = [198, 51, 100, 7];

fn six(addr: [u8; 4]) -> Ipv6Addr {
    embed("64:ff9b::/96".parse().unwrap(), addr.into()).unwrap()
}

fn pair6(src: [u8; 4], dst: [u8; 4]) -> Pair<Ipv6Addr> {
    Pair { src: six(src), dst: six(dst) }
}

fn ip4(src: [u8; 4], dst: [u8; 4], protocol: Protocol, upper: &[u8]) -> Vec<u8> {
    let len = 20 + upper.len() as u16;
    let header = ip4::Header::new(src.into(), dst.into(), protocol, len);
    [header.as_bytes(), upper].concat()
}

/// The packet with the checksum of its upper layer, at `at`, right.
fn summed4(mut packet: Vec<u8>, at: usize) -> Vec<u8> {
    packet[20 + at..22 + at].fill(0);
    let sum = sum4(&packet).checksum();
    packet[20 + at..22 + at].copy_from_slice(sum.as_bytes());
    packet
}

fn sum4(packet: &[u8]) -> Sum {
    let (header, upper) = ip4::Header::ref_from_prefix(packet).unwrap();
    let pseudo = match header.protocol {
        Protocol::ICMP => Sum::ZERO,
        protocol => ip4_pseudo(header.src, header.dst, protocol, upper.len() as u16),
    };
    pseudo.add_bytes(upper)
}

fn sum6(packet: &[u8]) -> Sum {
    let (header, _) = ip6::Header::ref_from_prefix(packet).unwrap();
    let at = ip6::upper_layer(packet).unwrap();
    let upper = &packet[at.offset..];
    ip6_pseudo(header.src, header.dst, at.protocol, upper.len() as u32).add_bytes(upper)
}

fn translated6(mut packet: Vec<u8>, pair: Pair<Ipv6Addr>) -> Result<Vec<u8>, Error> {
    let len = packet.len();
    let front = to_ip6(&mut packet, len, pair, false, |_, old| {
        Some(pair6(old.src.octets(), old.dst.octets()))
    })?;
    Ok([front.bytes(), &packet[front.taken..]].concat())
}

fn translated4(mut packet: Vec<u8>) -> Result<Vec<u8>, Error> {
    let four = |addr: Ipv6Addr| Ipv4Addr::from_bits(addr.to_bits() as u32);
    let (header, _) = ip6::Header::read_from_prefix(&packet).unwrap();
    let pair = Pair { src: four(header.src_addr()), dst: four(header.dst_addr()) };
    let len = packet.len();
    let front = to_ip4(&mut packet, len, pair, false, |_, old| {
        Some(Pair { src: four(old.src), dst: four(old.dst) })
    })?;
    Ok([front.bytes(), &packet[front.taken..]].concat())
}

fn tcp() -> Vec<u8> {
    let header = tcp::Header::new(1000, 80, 7, 8, tcp::Flags::SYN);
    summed4(ip4(HOST4, FAR4, Protocol::TCP, &[header.as_bytes(), &[9; 7]].concat()), 16)
}

fn udp() -> Vec<u8> {
    let header = udp::Header::new(1000, 53, 15);
    summed4(ip4(HOST4, FAR4, Protocol::UDP, &[header.as_bytes(), &[9; 7]].concat()), 6)
}

fn echo(kind: icmp4::Type) -> Vec<u8> {
    let message = [&[kind.0, 0, 0, 0, 0, 7, 0, 1], &[5; 9][..]].concat();
    summed4(ip4(HOST4, FAR4, Protocol::ICMP, &message), 2)
}

fn error(code: u8, value: [u8; 4], about: &[u8]) -> Vec<u8> {
    let kind = icmp4::Type::DESTINATION_UNREACHABLE.0;
    let message = [&[kind, code, 0, 0], &value[..], about].concat();
    summed4(ip4(FAR4, HOST4, Protocol::ICMP, &message), 2)
}

#[test]
fn packets_become_ipv6_and_ipv4_again_with_right_checksums() {
    for packet in [tcp(), udp(), echo(icmp4::Type::ECHO_REQUEST), echo(icmp4::Type::ECHO_REPLY)] {
        let new = translated6(packet.clone(), pair6(HOST4, FAR4)).unwrap();
        assert_eq!(new.len(), packet.len() + 20);
        assert!(sum6(&new).is_valid(), "{new:02x?}");
        let back = translated4(new).unwrap();
        assert!(sum4(&back).is_valid());
        // The identification is not carried.
        assert_eq!(back[20..], packet[20..]);
        assert!(ip4::Header::ref_from_prefix(&back).unwrap().0.is_checksum_valid());
    }
}

#[test]
fn errors_are_translated_with_the_packets_that_they_quote() {
    for quoted in [tcp(), udp(), echo(icmp4::Type::ECHO_REQUEST)] {
        for cut in [quoted.len(), 28] {
            let packet = error(3, [0; 4], &quoted[..cut]);
            let new = translated6(packet.clone(), pair6(FAR4, HOST4)).unwrap();
            assert!(sum6(&new).is_valid(), "{new:02x?}");
            assert_eq!((new[40], new[41]), (1, 4));
            let inner = &new[48..];
            assert_eq!(inner[8..24], six(HOST4).octets());
            if cut == quoted.len() {
                assert!(sum6(inner).is_valid(), "what is quoted is right as well");
            }
            let back = translated4(new).unwrap();
            assert!(sum4(&back).is_valid());
            assert_eq!(back[48..], packet[48..]);
            assert_eq!((back[20], back[21]), (3, 3));
        }
    }
}

#[test]
fn the_mtu_of_an_error_grows_with_the_header() {
    let new = translated6(error(4, [0, 0, 5, 0xdc], &udp()), pair6(FAR4, HOST4)).unwrap();
    assert_eq!((new[40], &new[44..48]), (2, &1520_u32.to_be_bytes()[..]));
    let small = translated6(error(4, [0, 0, 0, 68], &udp()), pair6(FAR4, HOST4)).unwrap();
    assert_eq!(small[44..48], 1280_u32.to_be_bytes());
    let back = translated4(new).unwrap();
    assert_eq!(back[24..28], [0, 0, 5, 0xdc]);
}

#[test]
fn fragments_keep_their_place() {
    let mut first = udp();
    let (header, _) = ip4::Header::mut_from_prefix(&mut first).unwrap();
    (header.fragment, header.id) = ((ip4::MORE_FRAGMENTS | 3).into(), 0xabcd.into());
    let new = translated6(first, pair6(HOST4, FAR4)).unwrap();
    let at = ip6::upper_layer(&new).unwrap();
    let fragment = at.fragment.unwrap();
    assert_eq!((fragment.offset(), fragment.more_fragments()), (24, true));
    assert_eq!(fragment.id.get(), 0xabcd);
    let back = translated4(new).unwrap();
    let (header, _) = ip4::Header::ref_from_prefix(&back).unwrap();
    assert_eq!((header.fragment_offset(), header.more_fragments()), (24, true));
    assert_eq!(header.id.get(), 0xabcd);
}

#[test]
fn a_datagram_without_checksum_gets_one_unless_it_is_a_fragment() {
    let mut packet = udp();
    packet[26..28].fill(0);
    let new = translated6(packet.clone(), pair6(HOST4, FAR4)).unwrap();
    assert!(sum6(&new).is_valid());
    let (header, _) = ip4::Header::mut_from_prefix(&mut packet).unwrap();
    header.fragment = ip4::MORE_FRAGMENTS.into();
    assert_eq!(translated6(packet, pair6(HOST4, FAR4)), Err(Error::Dropped));
}

#[test]
fn what_is_cut_off_or_has_no_counterpart_is_refused() {
    for len in 0..28 {
        let packet = error(3, [0; 4], &udp())[..len].to_vec();
        assert_eq!(translated6(packet, pair6(FAR4, HOST4)), Err(Error::Malformed), "{len}");
    }
    assert_eq!(translated6(echo(icmp4::Type(13)), pair6(HOST4, FAR4)), Err(Error::Dropped));
    assert_eq!(ports4(&error(3, [0; 4], &udp())), Some((53, 1000)));
    assert_eq!(ports4(&echo(icmp4::Type::ECHO_REPLY)), Some((7, 7)));
}

#[test]
fn addresses_are_embedded_as_the_rfc_shows() {
    // The examples of RFC 6052 section 2.4.
    for (prefix, addr) in [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
    ] {
        let prefix: Ip6Prefix = prefix.parse().unwrap();
        let expected: Ipv6Addr = addr.parse().unwrap();
        assert_eq!(embed(prefix, HOST4.into()), Some(expected), "{prefix}");
        assert_eq!(extract(prefix, expected), Some(HOST4.into()), "{prefix}");
    }
    assert_eq!(embed("2001:db8::/33".parse().unwrap(), HOST4.into()), None);
}
