//! Flows: what packets of one direction of a session have in common, and their hashes.

use std::hash::{BuildHasher, Hasher, RandomState};

use wire::Protocol;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Lookup keys of sessions.
pub trait Key: Copy + Eq + FromZeros + Send + Sync + 'static {
    /// 64 bits that differ for different keys, for all that is worth; who does not know the seed
    /// cannot choose keys that meet.
    fn hash(&self, seed: u64) -> u64;
    /// Whether it is the same as another one, said without a branch.
    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        self == other
    }
}

/// One direction of a session: addresses, ports, protocol and table. Of ICMP echoes both ports are
/// the identifier; protocols without ports have 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, KnownLayout, Immutable, Default)]
#[repr(C)]
pub struct Flow<A> {
    /// The sender.
    pub src: A,
    /// The receiver.
    pub dst: A,
    /// The table, interface or other scope in which the addresses are meant.
    pub scope: u32,
    /// The sender's port, in host byte order.
    pub src_port: u16,
    /// The receiver's port, in host byte order.
    pub dst_port: u16,
    protocol: u32,
}

/// A flow of IPv4.
pub type Flow4 = Flow<[u8; 4]>;
/// A flow of IPv6.
pub type Flow6 = Flow<[u8; 16]>;

/// An address in a flow.
pub trait Address: Copy + Eq + FromBytes + IntoBytes + Immutable + Send + Sync + 'static {
    /// Its bits, in two numbers.
    fn words(&self) -> [u64; 2];
}

impl Address for [u8; 4] {
    #[inline(always)]
    fn words(&self) -> [u64; 2] {
        [u32::from_ne_bytes(*self).into(), 0]
    }
}

impl Address for [u8; 16] {
    #[inline(always)]
    fn words(&self) -> [u64; 2] {
        let all = u128::from_ne_bytes(*self);
        [all as u64, (all >> 64) as u64]
    }
}

impl<A: Address> Flow<A> {
    /// A flow between two addresses and ports.
    #[inline(always)]
    pub fn new(src: (A, u16), dst: (A, u16), protocol: Protocol, scope: u32) -> Self {
        let ((src, src_port), (dst, dst_port)) = (src, dst);
        Self { src, dst, scope, src_port, dst_port, protocol: u32::from(protocol.0) }
    }
    /// Protocol.
    #[inline(always)]
    pub fn protocol(&self) -> Protocol {
        Protocol(self.protocol as u8)
    }
    /// The other direction.
    #[inline(always)]
    #[must_use]
    pub fn reversed(&self) -> Self {
        let Self { src, dst, src_port, dst_port, .. } = *self;
        Self { src: dst, dst: src, src_port: dst_port, dst_port: src_port, ..*self }
    }
    /// The same in another table.
    #[inline(always)]
    #[must_use]
    pub fn in_scope(&self, scope: u32) -> Self {
        Self { scope, ..*self }
    }
    /// Its bits, in the order of its bytes, so that they are read as few numbers: addresses, scope
    /// and ports, protocol. IPv4 has both addresses in the first.
    #[inline(always)]
    fn words(&self) -> [u64; 6] {
        let ([a, b], [c, d]) = (self.src.words(), self.dst.words());
        let [a, c] = if size_of::<A>() == 4 { [a | c << 32, 0] } else { [a, c] };
        let ports = u64::from(self.src_port) | u64::from(self.dst_port) << 16;
        [a, b, c, d, u64::from(self.scope) | ports << 32, self.protocol.into()]
    }
    /// A hash that both directions have in common, in whatever table: it says which thread owns
    /// the session (`Frame::thread_of`).
    #[inline(always)]
    pub fn meeting(&self, seed: u64) -> u64 {
        let end = |address: &A, port: u16| {
            let [low, high] = address.words();
            let high = u64::from(port) ^ high.rotate_left(16);
            fold(low ^ seed, high ^ MIX ^ seed.rotate_left(17))
        };
        let both = end(&self.src, self.src_port).wrapping_add(end(&self.dst, self.dst_port));
        fold(both ^ u64::from(self.protocol), seed ^ MIX)
    }
}

impl<A: Address> Key for Flow<A> {
    #[inline(always)]
    fn hash(&self, seed: u64) -> u64 {
        let [a, b, c, d, ends, protocol] = self.words();
        let addresses = match size_of::<A>() {
            4 => a ^ seed,
            // The secret is in both factors: no word that a stranger chooses makes one of them 0,
            // which would take the other out of the hash.
            _ => {
                let [first, second] = [17, 41].map(|by| MIX ^ seed.rotate_left(by));
                fold(a ^ seed, b ^ first) ^ fold(c ^ second, d ^ seed).rotate_left(23)
            }
        };
        // Who does not know the seed does not know which flows of two protocols would meet.
        let protocol = protocol.wrapping_mul(seed | 1);
        fold(addresses.wrapping_add(protocol), ends ^ seed.rotate_left(32))
    }
    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        let (own, other) = (self.words(), other.words());
        (0..own.len()).fold(0, |differ, n| differ | (own[n] ^ other[n])) == 0
    }
}

/// An odd number without a pattern.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ MIX.rotate_left(32)) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A random seed.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// One direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// That of the packet that began it.
    Forward = 0,
    /// That of the answers.
    Reverse = 1,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_directions_of_a_flow_meet_on_one_thread_and_differ_as_keys() {
        let flow = Flow4::new(([10, 0, 0, 1], 1), ([10, 0, 0, 2], 80), Protocol::TCP, 7);
        assert_eq!(flow.meeting(5), flow.reversed().meeting(5));
        assert_eq!(flow.meeting(5), flow.in_scope(8).meeting(5));
        assert_ne!(flow.hash(5), flow.reversed().hash(5));
        assert_ne!(flow.hash(5), flow.in_scope(8).hash(5));
        assert_eq!(flow.reversed().reversed(), flow);
    }

    #[test]
    fn neighbouring_flows_spread_over_threads_and_have_hashes_of_their_own() {
        let (mut seen, mut by_thread) = (std::collections::HashSet::new(), [0u32; 8]);
        for n in 0..40_000u32 {
            let host = [10, 0, (n >> 8) as u8, n as u8];
            let flow = Flow4::new((host, n as u16), ([1; 4], 53), Protocol::UDP, 0);
            assert!(seen.insert(flow.hash(99)));
            by_thread[flow.meeting(99) as usize % 8] += 1;
        }
        assert!(by_thread.iter().all(|n| (4_500..5_500).contains(n)), "{by_thread:?}");
    }

    #[test]
    fn every_byte_of_an_ip6_flow_counts() {
        let flow = Flow6::new(([1; 16], 1), ([2; 16], 2), Protocol::UDP, 3);
        for at in 0..16 {
            let mut other = flow;
            other.dst[at] ^= 0x80;
            assert_ne!((flow.hash(1), flow.meeting(1)), (other.hash(1), other.meeting(1)));
            assert!(flow.hash(1) != other.hash(1) && flow.meeting(1) != other.meeting(1));
        }
    }

    proptest! {
        /// Words that make a factor 0 where the secret is missing from it must not stop the others
        /// from counting.
        #[test]
        fn no_word_of_a_strangers_choice_takes_the_others_out_of_a_hash(seed: u64) {
            let turned = MIX.rotate_left(32);
            let odd = [0, u64::MAX, MIX, turned, MIX ^ turned, MIX.rotate_left(48)];
            let addr = |words: [u64; 2]| -> [u8; 16] {
                (u128::from(words[0]) | u128::from(words[1]) << 64).to_ne_bytes()
            };
            for (fixed, varied) in (0..4).flat_map(|n| (0..4).map(move |m| (n, m))) {
                if fixed == varied {
                    continue;
                }
                for word in odd {
                    let flows = (0..64_u64).map(|n| {
                        let mut words = [1; 4];
                        words[fixed] = word;
                        words[varied] = n << 40 | n;
                        let [a, b, c, d] = words;
                        Flow6::new((addr([a, b]), 80), (addr([c, d]), 443), Protocol::TCP, 0)
                    });
                    let flows: Vec<_> = flows.collect();
                    let count = |of: &dyn Fn(&Flow6) -> u64| {
                        flows.iter().map(of).collect::<std::collections::HashSet<_>>().len()
                    };
                    prop_assert!(count(&|flow| flow.hash(seed)) > 60, "{fixed} {word:x} {varied}");
                    let met = count(&|flow| flow.meeting(seed));
                    prop_assert!(met > 60, "{fixed} {word:x} {varied}");
                }
            }
        }
    }
}
