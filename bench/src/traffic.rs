//! Tables and captures, the same in every run.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use crate::scenario::{NEIGHBORS, vlan};
use crate::sealed;

/// Prefix lengths of the global IPv4 table and their weights.
const IP4_LENS: [(u8, u32); 17] = [
    (24, 6000),
    (23, 900),
    (22, 1100),
    (21, 500),
    (20, 450),
    (19, 250),
    (18, 140),
    (17, 80),
    (16, 140),
    (15, 20),
    (14, 10),
    (13, 6),
    (12, 3),
    (11, 1),
    (32, 200),
    (28, 100),
    (30, 100),
];
/// The same of IPv6.
const IP6_LENS: [(u8, u32); 14] = [
    (48, 470),
    (32, 120),
    (44, 110),
    (40, 80),
    (36, 50),
    (46, 40),
    (47, 20),
    (42, 20),
    (45, 20),
    (33, 15),
    (38, 10),
    (29, 20),
    (64, 15),
    (128, 10),
];
/// Second 16 bits of the networks that IPv6 prefixes are taken from.
const IP6_BLOCKS: [u128; 12] =
    [0x001, 0x400, 0x600, 0x602, 0x606, 0x804, 0xa00, 0xa02, 0xc0f, 0x408, 0x620, 0xa10];
const SOURCE4: [u8; 4] = [10, 0, 0, 2];
const SOURCE6: u128 = 0x2001_0db8 << 96 | 2;

/// Numbers that look random, the same in every run (xorshift64*).
pub struct Random(pub u64);

impl Random {
    /// 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
    fn weighted(&mut self, lens: &[(u8, u32)]) -> u8 {
        let mut at = self.below(lens.iter().map(|l| l.1 as usize).sum()) as u32;
        for (len, weight) in lens {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *len,
            }
        }
        lens[0].0
    }
}

/// Seed of all random numbers.
pub const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// One more than the last VLAN there may be.
const VLANS: u16 = 4095;
/// Prefixes of the IPv4 table.
const BGP4: usize = 1_000_000;

/// Access lists, and their rules before the last one.
const ACCESS_LISTS: [(&str, usize); 3] = [("acl-50", 50), ("acl-1k", 1000), ("acl-100k", 100_000)];

/// The command that makes an access list: rules of four kinds about destinations among those of
/// random traffic, and one that lets everything pass.
fn access_list(count: usize, random: &mut Random) -> String {
    let rule = |n: usize| {
        let to = 16 << 24 | random.below(1 << 20) as u32;
        let host = |len: u32| Ipv4Addr::from(to & !(u32::MAX.checked_shr(len).unwrap_or(0)));
        match n % 4 {
            0 => format!("permit src 10.0.0.0/24 dst {}/32 proto 17 dport 2345", host(32)),
            1 => format!("permit src 10.0.0.2/32 dst {}/24 proto 6", host(24)),
            2 => format!("permit src 0.0.0.0/0 dst {}/32 proto 17 dport 1-1023", host(32)),
            _ => format!("permit src 10.0.0.0/8 dst {}/30 proto 17 dport 2000-3000", host(30)),
        }
    };
    // Few rules are about other packets than the one flow, which the last one is about.
    let few = |n: usize| {
        let n = n + 1;
        format!("deny src 20.0.0.{n}/32 dst 30.0.0.{n}/32 proto 17 sport {n} dport {n}")
    };
    let rules: Vec<String> =
        if count <= 50 { (0..count).map(few).collect() } else { (0..count).map(rule).collect() };
    format!("set acl-plugin acl {}, permit src 0.0.0.0/0 dst 0.0.0.0/0\n", rules.join(", "))
}

/// The prefixes of the IPv4 table, as its file has them.
pub fn bgp4() -> Vec<(u128, u8)> {
    prefixes("bgp4", BGP4, &mut Random(SEED))
}

/// Creates missing files.
///
/// # Errors
/// The system's.
pub fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, count, packets) in
        [("bgp4", BGP4, 1 << 16), ("rand4", 1 << 20, 1 << 18), ("bgp6", 220_000, 1 << 16)]
    {
        let mut random = Random(SEED);
        if folder.join(format!("{name}.pcap")).exists() {
            continue;
        }
        let prefixes = prefixes(name, count, &mut random);
        write_routes(name, &prefixes, &folder.join(format!("{name}.routes")))?;
        let part = folder.join(format!("{name}.part"));
        write_capture(name == "bgp6", &prefixes, packets, &mut random, &part)?;
        fs::rename(part, folder.join(format!("{name}.pcap")))?;
    }
    for (name, count) in ACCESS_LISTS {
        let rules = access_list(count, &mut Random(SEED));
        fs::write(folder.join(format!("{name}.rules")), rules)?;
    }
    let setup = (1..VLANS).flat_map(|id| vlan("pg0", id)).chain(vlan("pg1", 100));
    fs::write(folder.join("vlans.setup"), setup.collect::<Vec<_>>().join("\n") + "\n")?;
    write_vlans(&mut Random(SEED), &folder.join("vlans.pcap"))?;
    write_packets((0..256).map(|_| labelled(LABEL)), &folder.join("mpls.pcap"))?;
    write_labels(folder)?;
    sealed::make(folder)?;
    for (name, users, ports, packets) in NAT_USERS {
        let (path, part) = (folder.join(format!("{name}.pcap")), folder.join("users.part"));
        if !path.exists() {
            write_users((users, ports, packets), &mut Random(SEED), &part)?;
            fs::rename(part, path)?;
        }
    }
    for (name, count, frames) in MAC_TABLES {
        if folder.join(format!("{name}.pcap")).exists() {
            continue;
        }
        let lines: String = (0..count).map(|n| l2fib(n) + "\n").collect();
        fs::write(folder.join(format!("{name}.macs")), lines)?;
        let mut random = Random(SEED);
        let packets = (0..frames).map(|_| {
            let mut packet = ip4_packet(0x1000_0001);
            packet[..6].copy_from_slice(&mac(random.below(count as usize) as u32));
            packet
        });
        let part = folder.join(format!("{name}.part"));
        write_packets(packets, &part)?;
        fs::rename(part, folder.join(format!("{name}.pcap")))?;
    }
    Ok(())
}

/// Users of translation, the ports each has, and packets: for random ones of these, or, where
/// there are as many, one for each in no order.
const NAT_USERS: [(&str, u32, u32, usize); 2] =
    [("nat44-15k", 1000, 15, 1 << 16), ("nat44-1m-sessions", 1 << 16, 16, 1 << 20)];

/// Packets of users behind translation to one far end.
fn write_users(
    (users, ports, count): (u32, u32, usize),
    random: &mut Random,
    path: &Path,
) -> io::Result<()> {
    let all = (users * ports) as usize;
    let mut order: Vec<u32> = (0..all as u32).collect();
    (1..all).rev().for_each(|n| order.swap(n, random.below(n + 1)));
    let packets = (0..count).map(|n| {
        let flow = if count == all { order[n] } else { random.below(all) as u32 };
        let mut packet = ip4_packet_from((10 << 24 | 1 << 16) + flow / ports, 0x1000_0001);
        packet[34..36].copy_from_slice(&(1024 + (flow % ports) as u16).to_be_bytes());
        packet
    });
    write_packets(packets, path)
}

/// The label of labelled packets.
const LABEL: u32 = 33;
/// All labels that are not reserved.
const LABELS: std::ops::Range<u32> = 16..1 << 20;

/// Packets with random labels.
const LABELLED: u32 = 1 << 18;

/// Each label for another one, and packets with random ones; as many packets with one label.
fn write_labels(folder: &Path) -> io::Result<()> {
    write_packets((0..LABELLED).map(|_| labelled(LABEL)), &folder.join("mpls-1m-one.pcap"))?;
    let capture = folder.join("mpls-1m.pcap");
    if capture.exists() {
        return Ok(());
    }
    let mut lines = BufWriter::new(File::create(folder.join("mpls-1m.labels"))?);
    for label in LABELS {
        let to = LABELS.end - 1 + LABELS.start - label;
        writeln!(lines, "mpls local-label add {label} eos via 10.0.1.2 pg1 out-labels {to}")?;
    }
    lines.flush()?;
    let mut random = Random(SEED);
    let label = |_| LABELS.start + random.below(LABELS.len()) as u32;
    let part = folder.join("mpls-1m.part");
    write_packets((0..LABELLED).map(label).map(labelled), &part)?;
    fs::rename(part, capture)
}

/// A packet below one label.
fn labelled(label: u32) -> Vec<u8> {
    let mut packet = ip4_packet(0x1000_0001);
    packet[12..14].copy_from_slice(&[0x88, 0x47]);
    let entry = label << 12 | 1 << 8 | 64;
    packet.splice(14..14, entry.to_be_bytes());
    packet
}

/// Tables of MAC addresses, and how many frames are for random ones of them.
const MAC_TABLES: [(&str, u32, usize); 2] =
    [("l2bd-100k", 100_000, 1 << 16), ("l2bd-1m", 1_000_000, 1 << 18)];

/// An address of such a table.
fn mac(n: u32) -> [u8; 6] {
    let [a, b, c, d] = n.to_be_bytes();
    [2, 1, a, b, c, d]
}

/// The line that sets it.
fn l2fib(n: u32) -> String {
    let [a, b, c, d, e, f] = mac(n);
    format!("l2fib add {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x} 1 pg1 static")
}

/// Packets of 64 bytes to one address, each in a random VLAN.
fn write_vlans(random: &mut Random, path: &Path) -> io::Result<()> {
    let packets = (0..1 << 16).map(|_| {
        let mut packet = ip4_packet(0x1000_0001);
        let [high, low] = (1 + random.below(usize::from(VLANS) - 1) as u16).to_be_bytes();
        packet.splice(12..12, [0x81, 0, high, low]);
        packet
    });
    write_packets(packets, path)
}

/// Different prefixes; those of IPv4 in the low half of the number.
pub fn prefixes(name: &str, count: usize, random: &mut Random) -> Vec<(u128, u8)> {
    let (mut seen, mut all) = (HashSet::new(), Vec::with_capacity(count));
    while all.len() < count {
        let wide = u128::from(random.next()) << 64 | u128::from(random.next());
        let (bits, len, width) = match name {
            "bgp6" => {
                let block = IP6_BLOCKS[random.below(IP6_BLOCKS.len())];
                (2 << 124 | block << 112 | wide >> 16, random.weighted(&IP6_LENS), 128)
            }
            "rand4" => (wide >> 96, 32, 32),
            _ => (wide >> 96, random.weighted(&IP4_LENS), 32),
        };
        let is_unicast = width == 128 || is_unicast4((bits >> 24) as u8);
        let bits = bits >> (width - u32::from(len)) << (width - u32::from(len));
        if is_unicast && seen.insert((bits, len)) {
            all.push((bits, len));
        }
    }
    all
}

/// First bytes of addresses that may be routed, without those the set-up uses.
fn is_unicast4(first: u8) -> bool {
    (1..223).contains(&first) && first != 10 && first != 127
}

fn write_routes(name: &str, prefixes: &[(u128, u8)], path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for (bits, len) in prefixes {
        writeln!(file, "{}", route(name, "add", *bits, *len))?;
    }
    file.flush()
}

/// The line that adds or withdraws a route.
pub fn route(name: &str, verb: &str, bits: u128, len: u8) -> String {
    if name == "bgp6" {
        let addr = Ipv6Addr::from_bits(bits);
        return format!("ip route {verb} {addr}/{len} via 2001:db8:1::2 pg1");
    }
    let addr = Ipv4Addr::from_bits(bits as u32);
    let host = if name == "rand4" { bits as u32 % NEIGHBORS + 3 } else { 2 };
    format!("ip route {verb} {addr}/{len} via 10.0.1.{host} pg1")
}

/// Packets of 64 bytes to random addresses in random ones of the prefixes.
fn write_capture(
    is_ip6: bool,
    prefixes: &[(u128, u8)],
    packets: usize,
    random: &mut Random,
    path: &Path,
) -> io::Result<()> {
    let packets = (0..packets).map(|_| {
        let (bits, len) = prefixes[random.below(prefixes.len())];
        let wide = u128::from(random.next()) << 64 | u128::from(random.next());
        if is_ip6 {
            ip6_packet(bits | wide.checked_shr(len.into()).unwrap_or(0))
        } else {
            ip4_packet(bits as u32 | ((wide >> 96) as u32).checked_shr(len.into()).unwrap_or(0))
        }
    });
    write_packets(packets, path)
}

/// Writes a capture.
pub fn write_packets(packets: impl Iterator<Item = Vec<u8>>, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1u32] {
        file.write_all(&word.to_le_bytes())?;
    }
    for packet in packets {
        for word in [0, 0, packet.len() as u32, packet.len() as u32] {
            file.write_all(&word.to_le_bytes())?;
        }
        file.write_all(&packet)?;
    }
    file.flush()
}

/// Addresses of Ethernet.
pub const MACS: [u8; 12] = [2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 1];

fn ip4_packet(dst: u32) -> Vec<u8> {
    ip4_packet_from(u32::from_be_bytes(SOURCE4), dst)
}

fn ip4_packet_from(src: u32, dst: u32) -> Vec<u8> {
    let header = ip4_header(17, 46, [src, dst]);
    let mut packet = [&MACS[..], &[8, 0], &header, &udp(26, 0)].concat();
    packet.resize(60, 0);
    packet
}

/// The header of an IPv4 packet of so many bytes, from and to these addresses.
pub fn ip4_header(protocol: u8, len: usize, ends: [u32; 2]) -> [u8; 20] {
    let mut header = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    header[12..16].copy_from_slice(&ends[0].to_be_bytes());
    header[16..].copy_from_slice(&ends[1].to_be_bytes());
    let words = header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    header[10..12].copy_from_slice(&(!folded as u16).to_be_bytes());
    header
}

fn ip6_packet(dst: u128) -> Vec<u8> {
    let start = [0x60, 0, 0, 0, 0, 10, 17, 64];
    let (src, dst) = (SOURCE6.to_be_bytes(), dst.to_be_bytes());
    [&MACS[..], &[0x86, 0xdd], &start, &src, &dst, &udp(10, 0xffff), &[0, 0]].concat()
}

/// The header of a UDP datagram.
pub fn udp(len: u16, checksum: u16) -> Vec<u8> {
    [1234, 2345, len, checksum].into_iter().flat_map(u16::to_be_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_the_same_every_time_and_have_no_route_twice() {
        for name in ["bgp4", "rand4", "bgp6"] {
            let make = || prefixes(name, 2000, &mut Random(7));
            let all = make();
            assert_eq!(all, make());
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), 2000);
        }
        assert_eq!(
            route("bgp4", "add", 0x1020_3000, 20),
            "ip route add 16.32.48.0/20 via 10.0.1.2 pg1"
        );
    }

    #[test]
    fn headers_have_the_right_checksum() {
        // Among them the ones whose sum carries twice.
        for dst in (0x1000_0000u32..).step_by(0x0101).take(70_000) {
            let packet = ip4_packet(dst);
            let words = packet[14..34].chunks_exact(2);
            let sum: u32 = words.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{dst:x}");
        }
        assert_eq!((ip4_packet(1).len(), ip6_packet(1).len()), (60, 64));
    }
}
