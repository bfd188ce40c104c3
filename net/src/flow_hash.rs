//! Flow hashes: packets of one flow take one way (RFC 2992). What makes a flow is set by table; a
//! seed of the router's own keeps routers in a row from all choosing alike.

use infra::rcu::{Epoch, Reader, Shared};
use wire::flow::{ip4_flow_key, ip4_gtp_tunnel, ip6_flow_key, ip6_gtp_tunnel};

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

/// Hash of the flow of an IPv4 packet.
pub fn flow4(packet: &[u8], (what, seed): (FlowHash, u64)) -> u32 {
    let Some(key) = ip4_flow_key(packet) else { return 0 };
    let src = u64::from(u32::from_be_bytes(key.src)) & what.mask(FlowHash::SRC);
    let dst = u64::from(u32::from_be_bytes(key.dst)) & what.mask(FlowHash::DST);
    let (first, second) = what.pair(src, dst);
    let state = mix(SEED ^ seed, first << 32 | second);
    let hash = mix(state, ports(what, key.ports.src, key.ports.dst, key.protocol.0));
    with_tunnel(hash, what, || ip4_gtp_tunnel(packet))
}

/// Hash of the flow of an IPv6 packet.
pub fn flow6(packet: &[u8], (what, seed): (FlowHash, u64)) -> u32 {
    let Some(key) = ip6_flow_key(packet) else { return 0 };
    let fold = |addr: [u8; 16]| {
        let bits = u128::from_be_bytes(addr);
        mix((bits >> 64) as u64, bits as u64)
    };
    let src = fold(key.src) & what.mask(FlowHash::SRC);
    let dst = fold(key.dst) & what.mask(FlowHash::DST);
    let (first, second) = what.pair(src, dst);
    let label = u64::from(key.label) & what.mask(FlowHash::FLOW_LABEL);
    let rest = ports(what, key.ports.src, key.ports.dst, key.protocol.0) ^ label << 44;
    let hash = mix(mix(mix(SEED ^ seed, first), second), rest);
    with_tunnel(hash, what, || ip6_gtp_tunnel(packet))
}

/// The hash, with the tunnel endpoint in it where that counts.
#[inline(always)]
fn with_tunnel(hash: u64, what: FlowHash, tunnel: impl FnOnce() -> Option<u32>) -> u32 {
    if !what.has(FlowHash::GTPV1_TEID) {
        return hash as u32;
    }
    tunnel().map_or(hash, |tunnel| mix(hash, tunnel.into())) as u32
}

/// Hash of the flow of a packet that starts with its IP header; 0 of what is neither IPv4 nor IPv6.
pub fn flow(packet: &[u8]) -> u32 {
    flow_of(packet, FlowHash::DEFAULT)
}

/// The same of what counts, whatever the router's seed.
pub fn flow_of(packet: &[u8], what: FlowHash) -> u32 {
    let how = (what, 0);
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

fn ports(what: FlowHash, src: u16, dst: u16, protocol: u8) -> u64 {
    let src = u64::from(src) & what.mask(FlowHash::SPORT);
    let dst = u64::from(dst) & what.mask(FlowHash::DPORT);
    let (first, second) = what.pair(src, dst);
    first << 24 | second << 8 | u64::from(protocol) & what.mask(FlowHash::PROTO)
}

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

    #[test]
    fn neighbouring_values_spread_evenly() {
        for bits in [1, 2, 4] {
            let mut count = vec![0u32; 1 << bits];
            for port in 0..4096u16 {
                let h =
                    mix(mix(SEED, 0x0a00_0002_1000_0001), ports(FlowHash::DEFAULT, port, 53, 17))
                        as u32;
                count[h as usize & ((1 << bits) - 1)] += 1;
            }
            let mean = 4096 / count.len() as u32;
            assert!(count.iter().all(|n| n.abs_diff(mean) < mean / 3), "{count:?}");
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
