//! The same random packets through a firewall and through the kernel's nftables and conntrack.

use std::fmt::Write;
use std::process::Command;

use net::testing::packets::*;
use net::testing::whole::{Bench, through};
use wire::tcp::Flags;
use wire::{Protocol, checksum};
use zerocopy::IntoBytes;

use super::firewall::{answer, bench, error, packet, set};

/// Rules that are tried, and packets for each of them.
const WORLDS: u64 = 5;
const PACKETS: usize = 20_000;

/// Numbers in no order.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }
    pub fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A host of a side.
fn host(is_6: bool, side: usize, n: u64) -> String {
    match (is_6, side) {
        (false, side) => format!("10.0.{side}.{n}"),
        (true, 0) => format!("2001:db8::{n}"),
        (true, _) => format!("2001:db8:1::{n}"),
    }
}

/// A rule of both: the command, and the line of nft.
fn rule(random: &mut Random, side: usize, place: u64) -> (String, String) {
    let is_6 = random.is(40);
    let mut span = |side| {
        let (a, b) = (2 + random.below(4), 2 + random.below(4));
        format!("{}-{}", host(is_6, side, a.min(b)), host(is_6, side, a.max(b)))
    };
    let (from, to) = (span(side), span(1 - side));
    let service = random.is(60).then(|| {
        let (a, b) = (1 + random.below(5), 1 + random.below(5));
        (["udp", "tcp"][random.below(2) as usize], a.min(b), a.max(b))
    });
    let action = ["permit", "permit", "reject", "drop"][random.below(4) as usize];
    let zones = [["inside", "outside"], ["outside", "inside"]][side];
    let mut ours =
        format!("firewall rule {} {} {place} {action} from {from} to {to}", zones[0], zones[1]);
    let (version, device) = (if is_6 { "ip6" } else { "ip" }, ["in", "out"]);
    let mut theirs = format!(
        "    iifname {} oifname {} {version} saddr {from} {version} daddr {to}",
        device[side],
        device[1 - side]
    );
    if let Some((protocol, low, high)) = service {
        write!(ours, " service {protocol}/{low}-{high}").unwrap();
        write!(theirs, " {protocol} dport {low}-{high}").unwrap();
    }
    theirs.push_str(if action == "permit" { " accept" } else { " drop" });
    (ours, theirs)
}

/// The common part of all rules: replies pass, connections start with a SYN, and errors belong to a
/// session.
const HEAD: &str = "table inet f {
  chain f {
    type filter hook forward priority 0; policy drop;
    ct state established,related accept
    tcp flags & (fin | syn | rst | ack) != syn drop
    icmp type { destination-unreachable, time-exceeded } drop
    icmpv6 type { destination-unreachable, time-exceeded } drop
";

/// A connection and how far it has come.
#[derive(Clone, Copy, PartialEq)]
struct Connection {
    is_6: bool,
    side: usize,
    hosts: [u64; 2],
    port: u16,
    step: usize,
    seq: [u32; 2],
}

impl Connection {
    /// Steps from the first SYN to the last acknowledgment: whether it is an answer, and flags.
    const STEPS: [(bool, u8); 9] = [
        (false, 0x02),
        (true, 0x12),
        (false, 0x10),
        (true, 0x10),
        (false, 0x10),
        (false, 0x11),
        (true, 0x10),
        (true, 0x11),
        (false, 0x10),
    ];
    /// The next segment, and the side that it comes from.
    fn next(&mut self) -> (usize, Vec<u8>) {
        let (is_answer, flags) = Self::STEPS[self.step % Self::STEPS.len()];
        let from = usize::from(is_answer);
        let numbers = [self.seq[from], if flags & 0x10 != 0 { self.seq[1 - from] } else { 0 }];
        let segment = self.segment(is_answer, flags, numbers);
        self.seq[from] += u32::from(flags & 3 != 0);
        (self.side ^ from, segment)
    }
    fn segment(&self, is_answer: bool, flags: u8, [seq, ack]: [u32; 2]) -> Vec<u8> {
        let far = [self.side, 1 - self.side];
        let mut ends = [0, 1].map(|n| host(self.is_6, far[n], self.hosts[n]));
        let mut ports = [1000, self.port];
        if is_answer {
            ends.reverse();
            ports.reverse();
        }
        let ends = [ends[0].as_str(), ends[1].as_str()];
        let mut header = wire::tcp::Header::new(ports[0], ports[1], seq, ack, Flags(flags));
        let bare = packet(ends, Protocol::TCP, header.as_bytes());
        let sum = if self.is_6 { sum6(&bare) } else { sum4(&bare) };
        header.checksum = sum.checksum();
        packet(ends, Protocol::TCP, header.as_bytes())
    }
}

/// An ICMP echo.
fn echo(ends: [&str; 2], is_reply: bool, id: u16) -> Vec<u8> {
    let is_6 = ends[0].contains(':');
    let kind = match (is_6, is_reply) {
        (false, is_reply) => {
            if is_reply {
                0
            } else {
                8
            }
        }
        (true, is_reply) => 128 + u8::from(is_reply),
    };
    let mut bytes = [kind, 0, 0, 0, (id >> 8) as u8, id as u8, 0, 1];
    let protocol = if is_6 { Protocol::ICMP6 } else { Protocol::ICMP };
    let sum = match is_6 {
        true => sum6(&packet(ends, protocol, &bytes)).checksum(),
        false => checksum::Sum::ZERO.add_bytes(&bytes).checksum(),
    };
    bytes[2..4].copy_from_slice(&sum.to_bytes());
    packet(ends, protocol, &bytes)
}

/// Gives a packet its number.
pub(super) fn numbered(mut packet: Vec<u8>, number: u16) -> Vec<u8> {
    if packet[0] >> 4 == 4 {
        packet[4..6].copy_from_slice(&number.to_be_bytes());
        packet[10..12].fill(0);
        let sum = checksum::Sum::ZERO.add_bytes(&packet[..20]).checksum();
        packet[10..12].copy_from_slice(&sum.to_bytes());
    } else {
        packet[2..4].copy_from_slice(&number.to_be_bytes());
    }
    packet
}

/// A random packet, the side that it comes from, and the connection that it is the next step of.
fn random_packet(
    random: &mut Random,
    connections: &mut [Connection],
    sent: &[(usize, Vec<u8>)],
) -> (usize, Vec<u8>, Option<usize>) {
    let (is_6, side) = (random.is(40), random.below(2) as usize);
    let ends = [host(is_6, side, 2 + random.below(4)), host(is_6, 1 - side, 2 + random.below(4))];
    let ends = [ends[0].as_str(), ends[1].as_str()];
    let port = 1 + random.below(6) as u16;
    let earlier = (!sent.is_empty()).then(|| random.below(sent.len() as u64) as usize);
    match (random.below(10), earlier) {
        (0..3, _) => {
            let at = random.below(connections.len() as u64) as usize;
            let mut next = connections[at];
            let (from, segment) = next.next();
            (from, segment, Some(at))
        }
        (3, Some(at)) => {
            // An error about an earlier packet, from some host where that went to.
            let (from, about) = &sent[at];
            let is_6 = about[0] >> 4 == 6;
            let (at, len) = if is_6 { (8, 16) } else { (12, 4) };
            let to = match is_6 {
                false => std::net::IpAddr::from(<[u8; 4]>::try_from(&about[at..at + len]).unwrap()),
                true => std::net::IpAddr::from(<[u8; 16]>::try_from(&about[at..at + len]).unwrap()),
            };
            let sender = host(is_6, 1 - from, 2 + random.below(6));
            (1 - from, error(&sender, &to.to_string(), about), None)
        }
        (4..6, Some(at)) if is_datagram(&sent[at].1) => (1 - sent[at].0, answer(&sent[at].1), None),
        (6, _) => {
            // A segment of no connection.
            let flags = [0x10, 0x12, 0x11, 0x04, 0x14][random.below(5) as usize];
            let hosts = [2 + random.below(4), 2 + random.below(4)];
            let stray = Connection { is_6, side, hosts, port: 100 + port, step: 0, seq: [0; 2] };
            (side, stray.segment(false, flags, [7, 7]), None)
        }
        // Identifiers of each side's own, as hosts choose them.
        (7, _) => {
            let (is_reply, far) = (random.is(40), side as u16 * 100);
            let id = port + if is_reply { 100 - far } else { far };
            (side, echo(ends, is_reply, id), None)
        }
        (8, _) => (side, packet(ends, Protocol(253), &[0; 8]), None),
        _ if is_6 => (side, udp6(ends[0], ends[1], port, b"x"), None),
        _ => (side, udp4(ends[0], ends[1], port, b"x"), None),
    }
}

fn is_datagram(packet: &[u8]) -> bool {
    let protocol = if packet[0] >> 4 == 4 { packet[9] } else { packet[6] };
    protocol == Protocol::UDP.0
}

/// Rules, and a firewall that has them.
fn world(random: &mut Random) -> (Bench, String) {
    let mut b = bench();
    for (side, n) in [0, 1].into_iter().flat_map(|side| (2..10).map(move |n| (side, n))) {
        for is_6 in [false, true] {
            let mac = if side == 0 { "02:00:00:00:00:01" } else { "02:00:00:00:00:bb" };
            set(&mut b, &format!("set ip neighbor pg{side} {} {mac}", host(is_6, side, n)));
        }
    }
    let mut rules = HEAD.to_owned();
    for side in [0, 1] {
        let zones = ["inside outside", "outside inside"][side];
        set(&mut b, &format!("firewall policy {zones}"));
        for place in 0..5 {
            let (ours, theirs) = rule(random, side, place);
            set(&mut b, &ours);
            writeln!(rules, "{theirs}").unwrap();
        }
    }
    rules.push_str("  }\n}\n");
    (b, rules)
}

/// The numbers of the packets that the kernel lets pass; `None` where it cannot be asked.
fn kernel(rules: &str, packets: &[(usize, Vec<u8>)]) -> Option<Vec<bool>> {
    let folder = std::env::temp_dir().join(format!("ferrovia-nft-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [of_rules, of_packets] = ["rules", "packets"].map(|name| folder.join(name));
    std::fs::write(&of_rules, rules).unwrap();
    let mut text = String::new();
    for (side, packet) in packets {
        write!(text, "{side} ").unwrap();
        packet.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
        text.push('\n');
    }
    std::fs::write(&of_packets, text).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../firewall/kernel.py");
    let ran = Command::new("unshare")
        .args(["-n", "python3", script])
        .args([&of_rules, &of_packets])
        .output();
    std::fs::remove_dir_all(&folder).unwrap();
    let ran = ran.ok()?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut passed = vec![false; packets.len()];
    for number in String::from_utf8(ran.stdout).unwrap().split_whitespace() {
        passed[number.parse::<usize>().unwrap()] = true;
    }
    Some(passed)
}

/// Whether the kernel can be asked: nft works in a namespace of its own.
pub(super) fn has_kernel() -> bool {
    let tried = Command::new("unshare").args(["-n", "nft", "list", "ruleset"]).output();
    let works = tried.is_ok_and(|tried| tried.status.success());
    if !works {
        eprintln!("skipped: no nft in a network namespace");
    }
    works
}

#[test]
fn a_hundred_thousand_packets_meet_what_they_would_in_the_kernel() {
    if !has_kernel() {
        return;
    }
    for seed in 1..=WORLDS {
        let mut random = Random::new(seed);
        let (mut b, rules) = world(&mut random);
        b.graph.send_only();
        let mut connections: Vec<_> = (0..40)
            .map(|n| Connection {
                is_6: random.is(40),
                side: random.below(2) as usize,
                hosts: [2 + random.below(4), 2 + random.below(4)],
                port: 1 + n % 5,
                step: 0,
                seq: [1000, 5000],
            })
            .collect();
        let mut known = std::collections::HashSet::new();
        connections.retain(|c| known.insert((c.is_6, c.side, c.hosts, c.port)));
        let (mut sent, mut ours) = (Vec::new(), Vec::new());
        for number in 0..PACKETS {
            let (side, packet, step) = random_packet(&mut random, &mut connections, &sent);
            let packet = numbered(packet, number as u16);
            let out = through(&mut b, side == 1, std::slice::from_ref(&packet));
            let ends = if packet[0] >> 4 == 4 { 12..20 } else { 8..40 };
            let passed = out.iter().any(|p| p[ends.clone()] == packet[ends.clone()]);
            if let Some(at) = step.filter(|_| passed) {
                connections[at].next();
                connections[at].step += 1;
            }
            ours.push(passed);
            sent.push((side, packet));
        }
        let Some(theirs) = kernel(&rules, &sent) else { return };
        let differ = |n: &usize| ours[*n] != theirs[*n];
        let different: Vec<_> = (0..PACKETS).filter(differ).collect();
        let first = different.first().map(|n| {
            let (side, packet) = &sent[*n];
            format!("packet {n} from side {side}, ours {}: {packet:02x?}\n{rules}", ours[*n])
        });
        assert_eq!((different.len(), first), (0, None), "world {seed}");
        let passed = ours.iter().filter(|passed| **passed).count();
        assert!((PACKETS / 20..PACKETS * 19 / 20).contains(&passed), "{passed} pass");
    }
}
