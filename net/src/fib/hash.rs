//! Flow hashes: packets of one flow take one way (RFC 2992).

use wire::flow::{ip4_flow_key, ip6_flow_key};

/// Hash of the flow of an IPv4 packet.
#[inline]
pub fn flow4(packet: &[u8]) -> u32 {
    let Some(key) = ip4_flow_key(packet) else { return 0 };
    let addresses =
        u64::from(u32::from_be_bytes(key.src)) << 32 | u64::from(u32::from_be_bytes(key.dst));
    mix(mix(SEED, addresses), ports(key.ports.src, key.ports.dst, key.protocol.0)) as u32
}

/// Hash of the flow of an IPv6 packet.
#[inline]
pub fn flow6(packet: &[u8]) -> u32 {
    let Some(key) = ip6_flow_key(packet) else { return 0 };
    let fold = |addr: [u8; 16]| {
        let bits = u128::from_be_bytes(addr);
        mix((bits >> 64) as u64, bits as u64)
    };
    let addresses = mix(mix(SEED, fold(key.src)), fold(key.dst));
    let rest = ports(key.ports.src, key.ports.dst, key.protocol.0) ^ u64::from(key.label) << 44;
    mix(addresses, rest) as u32
}

/// Another hash of the same flow, for the next choice on its way.
#[inline(always)]
pub fn next(hash: u32) -> u32 {
    mix(SEED, hash.into()) as u32
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn ports(src: u16, dst: u16, protocol: u8) -> u64 {
    u64::from(src) << 24 | u64::from(dst) << 8 | u64::from(protocol)
}

/// A multiplication to 128 bits, folded: every bit of the result depends on every bit of both.
#[inline(always)]
fn mix(state: u64, value: u64) -> u64 {
    let product = u128::from(state ^ value ^ SEED) * u128::from(value.rotate_left(32) ^ state | 1);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_values_spread_evenly() {
        for bits in [1, 2, 4] {
            let mut count = vec![0u32; 1 << bits];
            for port in 0..4096u16 {
                let h = mix(mix(SEED, 0x0a00_0002_1000_0001), ports(port, 53, 17)) as u32;
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
}
