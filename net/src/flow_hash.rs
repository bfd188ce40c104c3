//! Flow hashes: packets of one flow take one way (RFC 2992). What makes a flow is set by table; a
//! seed of the router's own keeps routers in a row from all choosing alike.

use infra::rcu::{Epoch, Reader, Shared};
use wire::flow::{Ports, ip4_flow_key, ip4_gtp_tunnel, ip6_flow_key, ip6_gtp_tunnel};

/// The fields of a packet that count for its flow hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowHash(pub u32);

impl FlowHash {
    /// Source address.
    pub const SRC: Self = Self(1);
    /// Destination address.
    pub const DST: Self = Self(1 << 1);
    /// Source port.
    pub const SPORT: Self = Self(1 << 2);
    /// Destination port.
    pub const DPORT: Self = Self(1 << 3);
    /// Protocol.
    pub const PROTO: Self = Self(1 << 4);
    /// Source and destination change places.
    pub const REVERSE: Self = Self(1 << 5);
    /// Both directions of a flow have one hash.
    pub const SYMMETRIC: Self = Self(1 << 6);
    /// Flow label, of IPv6.
    pub const FLOW_LABEL: Self = Self(1 << 7);
    /// Tunnel endpoint of GTP-U.
    pub const GTPV1_TEID: Self = Self(1 << 8);
    /// All of them.
    pub const ALL: u32 = (1 << 9) - 1;
    /// Fields that count by default.
    pub const DEFAULT: Self = Self(0b1001_1111);

    /// Each with its word, in the order they are listed.
    pub const NAMES: [(Self, &'static str); 9] = [
        (Self::SRC, "src"),
        (Self::DST, "dst"),
        (Self::SPORT, "sport"),
        (Self::DPORT, "dport"),
        (Self::PROTO, "proto"),
        (Self::REVERSE, "reverse"),
        (Self::SYMMETRIC, "symmetric"),
        (Self::FLOW_LABEL, "flowlabel"),
        (Self::GTPV1_TEID, "gtpv1teid"),
    ];

    /// Whether all of `other` counts.
    #[inline(always)]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// All ones where `other` counts, otherwise zero.
    #[inline(always)]
    fn mask(self, other: Self) -> u64 {
        if self.has(other) { u64::MAX } else { 0 }
    }
    /// The pair in the order that counts, each kept or left out.
    #[inline(always)]
    fn pair(self, a: u64, b: u64) -> (u64, u64) {
        match (self.has(Self::SYMMETRIC), self.has(Self::REVERSE)) {
            (true, _) => (a.min(b), a.max(b)),
            (false, true) => (b, a),
            (false, false) => (a, b),
        }
    }
}

/// Flow hashes of all tables of a family.
#[derive(Debug)]
pub(crate) struct Hashes(Shared<Config>);

/// For nodes.
pub(crate) type HashReader = Reader<Config>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    seed: u64,
    /// By table, where it is not as usual.
    tables: Vec<FlowHash>,
}

impl Hashes {
    pub fn new() -> Self {
        Self(Shared::new(Config::default()))
    }
    pub fn reader(&self) -> HashReader {
        self.0.reader()
    }
    /// Fields that count in a table.
    pub fn of(&self, table: u16) -> FlowHash {
        self.0.current().of(table)
    }
    pub fn set(&mut self, table: u16, what: FlowHash) {
        let mut new = self.0.current().clone();
        let at = usize::from(table);
        new.tables.resize(new.tables.len().max(at + 1), FlowHash::DEFAULT);
        new.tables[at] = what;
        self.0.publish(new);
    }
    pub fn seed(&self) -> u32 {
        self.0.current().seed as u32
    }
    pub fn set_seed(&mut self, seed: u32) {
        let new = Config { seed: seed.into(), ..self.0.current().clone() };
        self.0.publish(new);
    }
}

impl Config {
    fn of(&self, table: u16) -> FlowHash {
        self.tables.get(usize::from(table)).copied().unwrap_or(FlowHash::DEFAULT)
    }
}

/// Flow hash of a table's packets: the fields that count, and the router's seed.
pub(crate) fn config(reader: &HashReader, table: u16, epoch: Epoch<'_>) -> (FlowHash, u64) {
    let config = reader.read(epoch);
    (config.of(table), config.seed)
}

/// Hash of the flow of an IPv4 packet. The function is the original's, so that packets take the
/// path of several that they take there.
pub fn flow4(packet: &[u8], (what, seed): (FlowHash, u64)) -> u32 {
    let Some(key) = ip4_flow_key(packet) else { return 0 };
    let src = u64::from(u32::from_le_bytes(key.src)) & what.mask(FlowHash::SRC);
    let dst = u64::from(u32::from_le_bytes(key.dst)) & what.mask(FlowHash::DST);
    let (first, second) = what.pair(src, dst);
    let second = second ^ u64::from(key.protocol.0) & what.mask(FlowHash::PROTO);
    let tunnel = tunnel(what, || ip4_gtp_tunnel(packet));
    let rest = ports(what, key.ports) ^ tunnel;
    mix32(first as u32 ^ seed as u32, second as u32, rest as u32)
}

/// Hash of the flow of an IPv6 packet, as [`flow4`].
pub fn flow6(packet: &[u8], (what, seed): (FlowHash, u64)) -> u32 {
    let Some(key) = ip6_flow_key(packet) else { return 0 };
    let fold = |addr: [u8; 16]| {
        let bits = u128::from_le_bytes(addr);
        (bits >> 64) as u64 ^ bits as u64
    };
    let src = fold(key.src) & what.mask(FlowHash::SRC);
    let dst = fold(key.dst) & what.mask(FlowHash::DST);
    let (first, second) = what.pair(src, dst);
    let second = second ^ u64::from(key.protocol.0) & what.mask(FlowHash::PROTO);
    let label = u64::from(key.label) & what.mask(FlowHash::FLOW_LABEL);
    let tunnel = tunnel(what, || ip6_gtp_tunnel(packet));
    mix64(first ^ tunnel, second, ports(what, key.ports) ^ label ^ seed << 32) as u32
}

/// The tunnel endpoint, where that counts.
#[inline(always)]
fn tunnel(what: FlowHash, found: impl FnOnce() -> Option<u32>) -> u64 {
    if !what.has(FlowHash::GTPV1_TEID) {
        return 0;
    }
    found().map_or(0, |tunnel| tunnel.swap_bytes().into())
}

/// The ports that count, as they are on the wire, in one word.
#[inline(always)]
fn ports(what: FlowHash, ports: Ports) -> u64 {
    let src = u64::from(ports.src.swap_bytes()) & what.mask(FlowHash::SPORT);
    let dst = u64::from(ports.dst.swap_bytes()) & what.mask(FlowHash::DPORT);
    let is_swapped = what.has(FlowHash::SYMMETRIC) && dst < src;
    match is_swapped != what.has(FlowHash::REVERSE) {
        true => src << 16 | dst,
        false => dst << 16 | src,
    }
}

/// Bob Jenkins' `lookup3` of three words, which is in the public domain.
#[inline(always)]
fn mix32(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    for [x, y, z] in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(x);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(y);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(z);
        b = b.wrapping_add(a);
    }
    let step = |to: &mut u32, from: u32, by| *to = (*to ^ from).wrapping_sub(from.rotate_left(by));
    step(&mut c, b, 14);
    step(&mut a, c, 11);
    step(&mut b, a, 25);
    step(&mut c, b, 16);
    step(&mut a, c, 4);
    step(&mut b, a, 14);
    step(&mut c, b, 24);
    c
}

/// The same of 64 bits, his `lookup8`.
#[inline(always)]
fn mix64(mut a: u64, mut b: u64, mut c: u64) -> u64 {
    for [x, y, z] in [[43, 9, 8], [38, 23, 5], [35, 49, 11], [12, 18, 22]] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ c >> x;
        b = b.wrapping_sub(c).wrapping_sub(a) ^ a << y;
        c = c.wrapping_sub(a).wrapping_sub(b) ^ b >> z;
    }
    c
}

/// Hash of the flow of a packet that starts with its IP header; 0 of what is neither IPv4 nor IPv6.
pub fn flow(packet: &[u8]) -> u32 {
    flow_of(packet, FlowHash::DEFAULT)
}

/// The same with the router's seed.
pub fn flow_from(packet: &[u8], seed: u64) -> u32 {
    hash(packet, (FlowHash::DEFAULT, seed))
}

/// The same of what counts, whatever the router's seed.
pub fn flow_of(packet: &[u8], what: FlowHash) -> u32 {
    hash(packet, (what, 0))
}

fn hash(packet: &[u8], how: (FlowHash, u64)) -> u32 {
    match packet.first().map(|b| b >> 4) {
        Some(4) => flow4(packet, how),
        Some(6) => flow6(packet, how),
        _ => 0,
    }
}

/// Another hash of the same flow, for the next choice on its way.
#[inline(always)]
pub fn next(hash: u32) -> u32 {
    mix(SEED, hash.into()) as u32
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A multiplication to 128 bits, folded: every bit of the result depends on every bit of both.
#[inline(always)]
fn mix(state: u64, value: u64) -> u64 {
    let product = u128::from(state ^ value ^ SEED) * u128::from(value.rotate_left(32) ^ state | 1);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes;

    use super::*;

    fn packet4(src: [u8; 4], dst: [u8; 4], ports: [u16; 2], protocol: wire::Protocol) -> Vec<u8> {
        let ip = wire::ip4::Header::new(src.into(), dst.into(), protocol, 40);
        [ip.as_bytes(), wire::udp::Header::new(ports[0], ports[1], 20).as_bytes(), &[0; 12]]
            .concat()
    }

    fn packet6(src: &str, dst: &str, ports: [u16; 2], label: u32) -> Vec<u8> {
        let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
        let mut ip = wire::ip6::Header::new(src, dst, wire::Protocol::UDP, 20);
        ip.set_flow_label(label);
        [ip.as_bytes(), wire::udp::Header::new(ports[0], ports[1], 20).as_bytes(), &[0; 12]]
            .concat()
    }

    /// The lowest bits of 48 hashes as one number.
    fn bits(hash: impl Fn(u16) -> u32) -> u64 {
        (0..48).fold(0, |bits, n| bits << 1 | u64::from(hash(n) & 1))
    }

    fn seen(digits: &str) -> u64 {
        digits.bytes().fold(0, |bits, digit| bits << 1 | u64::from(digit - b'1'))
    }

    #[test]
    fn packets_take_the_path_of_two_that_they_take_in_the_original() {
        let (src, dst) = ([20, 0, 0, 1], [10, 0, 0, 1]);
        let all = |seed| (FlowHash::DEFAULT, seed);
        let udp = |n| packet4(src, dst, [1234, 1234 + n], wire::Protocol::UDP);
        let tcp = |n| packet4(src, dst, [1234 + n * 7, 80], wire::Protocol::TCP);
        let cases = [
            (bits(|n| flow4(&udp(n), all(0))), "111112111111111122121221221121121122112112122122"),
            (bits(|n| flow4(&tcp(n), all(0))), "122212121122211211112212222112212212212121122212"),
            (
                bits(|n| flow4(&udp(n), all(0x1111_1111))),
                "211112221122111121111121121221222111212212112221",
            ),
            (
                bits(|n| flow4(&udp(n), (FlowHash(0x5f), 0))),
                "211111222121122122222122221212221222121122122121",
            ),
        ];
        for (n, (bits, digits)) in cases.into_iter().enumerate() {
            assert!(digits.len() == 48 && bits == seen(digits), "{n}: {bits:048b}");
        }
        let udp = |n| packet6("2000::1", "3000::1", [1234, 1234 + n], 0);
        let label = |n: u16| packet6("2000::1", "3000::1", [1, 2], u32::from(n) * 977);
        let cases = [
            (
                bits(|n| flow6(&label(n), all(0))),
                "221112212121111121122122112121212222122111112211",
            ),
            (
                bits(|n| flow6(&udp(n), all(0x1111_1111))),
                "222121121222211212222221111111221112121221211112",
            ),
        ];
        for (n, (bits, digits)) in cases.into_iter().enumerate() {
            assert!(digits.len() == 48 && bits == seen(digits), "{n}: {bits:048b}");
        }
    }

    #[test]
    fn neighbouring_values_spread_evenly() {
        for bits in [1, 2, 4] {
            let mut count = vec![[0u32; 2]; 1 << bits];
            for port in 0..4096u16 {
                let udp = packet4([10, 0, 0, 2], [16, 0, 0, 1], [port, 53], wire::Protocol::UDP);
                let four = flow4(&udp, (FlowHash::DEFAULT, 0));
                let six = flow6(&packet6("1::1", "2::1", [port, 53], 0), (FlowHash::DEFAULT, 0));
                count[four as usize & ((1 << bits) - 1)][0] += 1;
                count[six as usize & ((1 << bits) - 1)][1] += 1;
            }
            let mean = 4096 / count.len() as u32;
            let is_even = |n: &u32| n.abs_diff(mean) < mean / 3;
            assert!(count.iter().flatten().all(is_even), "{count:?}");
        }
    }

    #[test]
    fn the_next_choice_is_independent() {
        let mut count = [0u32; 4];
        for port in 0..4096u64 {
            let h = mix(SEED, port) as u32;
            count[(h as usize & 1) << 1 | (next(h) as usize & 1)] += 1;
        }
        assert!(count.iter().all(|n| n.abs_diff(1024) < 200), "{count:?}");
    }
    #[test]
    fn tunnels_of_gtp_count_where_they_are_to() {
        let packet = |tunnel: u8, is_ip6: bool| {
            let udp = [wire::udp::Header::new(1, 2152, 16).as_bytes(), &[0x30, 255, 0, 0]].concat();
            let body = [&udp[..], &[0, 0, 0, tunnel]].concat();
            let [a, b] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
            let protocol = wire::Protocol::UDP;
            if is_ip6 {
                let (a, b) = (a.to_ipv6_mapped(), b.to_ipv6_mapped());
                [wire::ip6::Header::new(a, b, protocol, 16).as_bytes(), &body].concat()
            } else {
                [wire::ip4::Header::new(a, b, protocol, 36).as_bytes(), &body].concat()
            }
        };
        for (is_ip6, flow) in [(false, flow4 as fn(&[u8], _) -> u32), (true, flow6)] {
            let hash = |tunnel, what| flow(&packet(tunnel, is_ip6), (FlowHash(what), 0));
            let all = FlowHash::GTPV1_TEID.0 | FlowHash::DEFAULT.0;
            assert_ne!(hash(1, all), hash(2, all));
            assert_eq!(hash(1, FlowHash::DEFAULT.0), hash(2, FlowHash::DEFAULT.0));
        }
    }
    #[test]
    fn only_what_counts_changes_the_hash() {
        let packet = |src: u8, dst: u8, sport: u16, dport: u16| {
            let ip = wire::ip4::Header::new(
                [10, 0, 0, src].into(),
                [10, 0, 0, dst].into(),
                wire::Protocol::UDP,
                28,
            );
            [ip.as_bytes(), wire::udp::Header::new(sport, dport, 8).as_bytes()].concat()
        };
        let hash = |what: u32, p: &[u8]| flow4(p, (FlowHash(what), 0));
        let (plain, back) = (packet(1, 2, 3, 4), packet(2, 1, 4, 3));
        let others =
            [packet(9, 2, 3, 4), packet(1, 9, 3, 4), packet(1, 2, 9, 4), packet(1, 2, 3, 9)];
        for (bit, other) in others.iter().enumerate() {
            assert_eq!(hash(0xf & !(1 << bit), &plain), hash(0xf & !(1 << bit), other));
            assert_ne!(hash(0xf, &plain), hash(0xf, other));
        }
        let (reverse, symmetric) = (FlowHash::REVERSE.0 | 0x1f, FlowHash::SYMMETRIC.0 | 0x1f);
        assert_eq!(hash(reverse, &plain), hash(0x1f, &back));
        assert_eq!(hash(symmetric, &plain), hash(symmetric, &back));
        assert_ne!(hash(0x1f, &plain), hash(0x1f, &back));
        let seeded = flow4(&plain, (FlowHash::DEFAULT, 77));
        assert_ne!(seeded, hash(FlowHash::DEFAULT.0, &plain));
    }
}
