//! The same random packets, translated here and by the kernel's nftables.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use net::testing::packets::{ip4, sum4, udp4};
use net::testing::whole::{Bench, through};
use wire::tcp::Flags;
use wire::{Protocol, checksum};
use zerocopy::IntoBytes;

use super::firewall::{answer, error};
use super::firewall_second_opinion::{Random, has_kernel, numbered};

/// Seeds that are tried, and packets for each of them.
const WORLDS: u64 = 5;
const PACKETS: usize = 20_000;

/// One address for all, one host with an address of its own, and two services of another host.
const OURS: [&str; 7] = [
    "nat44 plugin enable sessions 63000",
    "set interface nat44 in pg0 out pg1",
    "nat44 add address 192.0.2.1",
    "nat44 add static mapping local 10.0.0.5 external 192.0.2.2",
    "nat44 add static mapping udp local 10.0.0.2 80 external 192.0.2.1 8080",
    "nat44 add static mapping tcp local 10.0.0.2 80 external 192.0.2.1 8080",
    "nat44 add static mapping tcp local 10.0.0.3 22 external 192.0.2.1 2222",
];
const THEIRS: &str = "table ip n {
  chain before {
    type nat hook prerouting priority -100;
    iifname out ip daddr 192.0.2.2 dnat to 10.0.0.5
    iifname out ip daddr 192.0.2.1 udp dport 8080 dnat to 10.0.0.2:80
    iifname out ip daddr 192.0.2.1 tcp dport 8080 dnat to 10.0.0.2:80
    iifname out ip daddr 192.0.2.1 tcp dport 2222 dnat to 10.0.0.3:22
  }
  chain between {
    type filter hook forward priority 0; policy drop;
    ct state invalid drop
    ct state established,related accept
    iifname in accept
    ct status dnat accept
  }
  chain behind {
    type nat hook postrouting priority 100;
    oifname out ip saddr 10.0.0.5 snat to 192.0.2.2
    oifname out udp sport 80 ip saddr 10.0.0.2 snat to 192.0.2.1:8080
    oifname out tcp sport 80 ip saddr 10.0.0.2 snat to 192.0.2.1:8080
    oifname out tcp sport 22 ip saddr 10.0.0.3 snat to 192.0.2.1:2222
    oifname out snat to 192.0.2.1
  }
}
";

/// The kernel in a network namespace.
struct Kernel {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    rules: std::path::PathBuf,
}

impl Kernel {
    fn start() -> Self {
        let rules = std::env::temp_dir().join(format!("ferrovia-nat-{}", std::process::id()));
        std::fs::write(&rules, THEIRS).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../nat44_ed/kernel_nat.py");
        let mut command = Command::new("unshare");
        command.args(["-n", "python3", "-B", script]).arg(&rules);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, to, from: BufReader::new(from), rules }
    }
    /// The packet that leaves on the other side, if one does.
    fn pass(&mut self, side: usize, packet: &[u8]) -> Option<Vec<u8>> {
        let mut line = format!("{side} ");
        packet.iter().for_each(|byte| write!(line, "{byte:02x}").unwrap());
        writeln!(self.to, "{line}").unwrap();
        line.clear();
        let read = self.from.read_line(&mut line).unwrap();
        assert!(read > 0, "the script ended");
        let byte = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..line.trim_end().len()).step_by(2).map(byte).collect();
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.rules);
    }
}

/// The kind of a packet.
#[derive(Clone, Copy, Debug)]
enum What {
    Udp,
    Echo,
    Tcp(Flags),
}

/// A packet between two ends.
fn packet(what: What, from: (&str, u16), to: (&str, u16)) -> Vec<u8> {
    match what {
        What::Udp => {
            let mut bytes = udp4(from.0, to.0, to.1, b"data");
            bytes[20..22].copy_from_slice(&from.1.to_be_bytes());
            summed(bytes)
        }
        What::Echo => {
            let [a, b] = from.1.to_be_bytes();
            summed(ip4(from.0, to.0, Protocol::ICMP, &[8, 0, 0, 0, a, b, 0, 1]))
        }
        What::Tcp(flags) => {
            let header = wire::tcp::Header::new(from.1, to.1, 1000, 2000, flags);
            summed(ip4(from.0, to.0, Protocol::TCP, header.as_bytes()))
        }
    }
}

/// Where the sum of a packet's upper layer is.
fn sum_at(protocol: u8) -> usize {
    match Protocol(protocol) {
        Protocol::UDP => 26,
        Protocol::TCP => 36,
        _ => 22,
    }
}

/// With the right sum of its upper layer.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let at = sum_at(bytes[9]);
    bytes[at..at + 2].fill(0);
    let sum = match Protocol(bytes[9]) {
        Protocol::ICMP => checksum::Sum::ZERO.add_bytes(&bytes[20..]),
        _ => sum4(&bytes),
    };
    bytes[at..at + 2].copy_from_slice(sum.checksum().as_bytes());
    bytes
}

/// The bytes of translated packets that must agree: all but ports that are chosen freely, and the
/// checksums over them, which are right.
#[track_caller]
fn without_ports(packet: &[u8]) -> Vec<u8> {
    let sum = sum_at(packet[9]);
    assert_eq!(summed(packet.to_vec())[sum..sum + 2], packet[sum..sum + 2], "{packet:02x?}");
    let mut bytes = packet.to_vec();
    bytes[sum..sum + 2].fill(0);
    match (Protocol(bytes[9]), bytes[20]) {
        (Protocol::ICMP, 3) => {
            // Of the quoted packet, the receiver's port: it was received.
            let quoted = &mut bytes[28..];
            let sum = sum_at(quoted[9]);
            let port = if quoted[9] == Protocol::ICMP.0 { 24 } else { 22 };
            quoted[port..port + 2].fill(0);
            if let Some(sum) = quoted.get_mut(sum..sum + 2) {
                sum.fill(0);
            }
        }
        (Protocol::ICMP, _) => bytes[24..26].fill(0),
        _ => bytes[20..22].fill(0),
    }
    bytes
}

/// The next packet: from where, and what it is for each of both, of which one may have nothing to
/// answer.
struct Next {
    side: usize,
    both: [Vec<u8>; 2],
}

/// A packet that was sent, and what left of it from each of both.
struct Sent {
    side: usize,
    left: [Vec<u8>; 2],
}

fn next(random: &mut Random, sent: &[Sent]) -> Next {
    let of = |side: usize, n: u64| format!("10.0.{side}.{n}");
    let same = |side, bytes: Vec<u8>| Next { side, both: [bytes.clone(), bytes] };
    let earlier = (!sent.is_empty()).then(|| &sent[random.below(sent.len() as u64) as usize]);
    let what = match random.below(4) {
        0 => What::Echo,
        1 => What::Tcp(Flags::SYN),
        _ => What::Udp,
    };
    let (near, far) = (of(0, 2 + random.below(4)), of(1, 2 + random.below(4)));
    // Each connection of TCP is another one: its states are the firewall's to compare.
    let own = if matches!(what, What::Tcp(_)) { 3000 + sent.len() as u16 } else { 0 };
    let ports = [2000 + own + random.below(6) as u16, 7000 + random.below(3) as u16];
    match (random.below(10), earlier) {
        // An answer, or an error about it, of each one's own.
        (0..4, Some(earlier)) => {
            let side = 1 - earlier.side;
            let is_error = random.is(30);
            let by = if side == 0 || random.is(50) { None } else { Some(of(1, 9)) };
            let both = earlier.left.each_ref().map(|left| reply(left, is_error, by.as_deref()));
            Next { side, both }
        }
        (4, _) => {
            let services = [("192.0.2.1", 8080), ("192.0.2.1", 2222), ("192.0.2.2", 2000)];
            let to = services[random.below(3) as usize];
            // An echo of an end with sessions may have an identifier that a translator chose.
            let from = if matches!(what, What::Echo) { of(1, 8) } else { far };
            same(1, packet(what, (&from, 10_000 + ports[0]), to))
        }
        // About an unknown flow, from ends without sessions.
        (5, _) => {
            let from = of(1, 8);
            same(1, packet(what, (&from, ports[1]), ("192.0.2.1", ports[0])))
        }
        (6, _) => {
            let flags = [Flags::ACK, Flags(Flags::ACK.0 | Flags::FIN.0)][random.below(2) as usize];
            same(0, packet(What::Tcp(flags), (&near, 900 + ports[0]), (&far, ports[1])))
        }
        (7, _) => {
            let from = [("10.0.0.2", 80), ("10.0.0.3", 22)][random.below(2) as usize];
            same(0, packet(What::Udp, from, (&far, ports[1])))
        }
        _ => same(0, packet(what, (&near, ports[0]), (&far, ports[1]))),
    }
}

/// The answer to a packet, or an error about it, from a router on the way if there is one.
fn reply(to: &[u8], is_error: bool, by: Option<&str>) -> Vec<u8> {
    let address =
        |at: usize| std::net::Ipv4Addr::from([to[at], to[at + 1], to[at + 2], to[at + 3]]);
    let [from, back] = [address(16), address(12)].map(|address| address.to_string());
    let is_about_error = to[9] == Protocol::ICMP.0 && to[20] == 3;
    if is_error && !is_about_error {
        return error(by.unwrap_or(&from), &back, to);
    }
    match (Protocol(to[9]), to[20]) {
        (Protocol::ICMP, 8) => {
            let rest = [&[0, 0, 0, 0], &to[24..]].concat();
            summed(ip4(&from, &back, Protocol::ICMP, &rest))
        }
        (Protocol::UDP, _) => summed(answer(to)),
        (Protocol::TCP, _) => {
            let mut bytes = answer(to);
            bytes[33] = Flags::ACK.0 | if to[33] == Flags::SYN.0 { Flags::SYN.0 } else { 0 };
            summed(bytes)
        }
        // No reply to those. A segment of no connection, or a packet to an unused address: an
        // unsolicited reply from inside begins a session here, as in the original.
        _ if back.starts_with("10.0.1.") => packet(What::Tcp(Flags::ACK), (&from, 9), (&back, 9)),
        _ => packet(What::Udp, (&from, 9), ("192.0.2.1", 9)),
    }
}

/// The packet that leaves on the other side.
fn pass(b: &mut Bench, side: usize, packet: &[u8]) -> Option<Vec<u8>> {
    let left = through(b, side == 1, &[packet.to_vec()]);
    left.into_iter().find(|left| left[4..6] == packet[4..6])
}

#[test]
fn a_hundred_thousand_packets_are_translated_as_in_the_kernel() {
    if !has_kernel() {
        return;
    }
    for seed in 1..=WORLDS {
        let mut random = Random::new(seed);
        let mut b = super::translation::between(nat44_ed::FEATURE, &OURS, &[]);
        b.graph.send_only();
        // Nothing ends here by its age, and nothing in the kernel.
        b.graph.hold_time();
        for (side, n) in [0, 1].into_iter().flat_map(|side| (2..10).map(move |n| (side, n))) {
            let mac = if side == 0 { "02:00:00:00:00:01" } else { "02:00:00:00:00:bb" };
            b.set(&format!("set ip neighbor pg{side} 10.0.{side}.{n} {mac}"));
        }
        let mut kernel = Kernel::start();
        let (mut sent, mut passed, mut kept): (Vec<Sent>, _, _) = (Vec::new(), 0, 0);
        for n in 0..PACKETS {
            let Next { side, both } = next(&mut random, &sent);
            let both = both.map(|packet| numbered(packet, n as u16 + 1));
            let left = [pass(&mut b, side, &both[0]), kernel.pass(side, &both[1])];
            let about = || format!("world {seed}, packet {n} from side {side}: {both:02x?}");
            match left {
                [Some(ours), Some(theirs)] => {
                    passed += 1;
                    let [a, b] = match side {
                        0 => [&ours, &theirs].map(|left| without_ports(left)),
                        _ => [ours.clone(), theirs.clone()],
                    };
                    assert_eq!(a, b, "{}", about());
                    kept += usize::from(side == 0 && ours == theirs);
                    sent.push(Sent { side, left: [ours, theirs] });
                }
                [None, None] => {}
                [ours, theirs] => panic!("{}: {ours:02x?}, {theirs:02x?}", about()),
            }
        }
        assert!((PACKETS / 2..PACKETS * 19 / 20).contains(&passed), "{passed} pass");
        assert!(kept > PACKETS / 10, "{kept} keep their port in both");
    }
}
