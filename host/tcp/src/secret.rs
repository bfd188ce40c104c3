//! Keyed hash for unpredictable numbers: SipHash-2-4 (Aumasson, Bernstein 2012).

use crate::Flow;

/// Key of SipHash.
#[derive(Clone, Copy)]
pub(crate) struct Secret(u64, u64);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) fn new(bytes: [u8; 16]) -> Self {
        let (low, high) = bytes.split_at(8);
        let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("half of 16 is 8"));
        Self(word(low), word(high))
    }

    /// Hash of a flow and a purpose.
    pub(crate) fn of_flow(&self, flow: &Flow, purpose: u64) -> u64 {
        let word = |bytes: &[u8; 16], at: usize| {
            u64::from_le_bytes(*bytes[at..].first_chunk().expect("8 of 16 bytes"))
        };
        let ports = u64::from(flow.local_port) << 16 | u64::from(flow.remote_port);
        let (local, remote) = (&flow.local, &flow.remote);
        self.of(&[word(local, 0), word(local, 8), word(remote, 0), word(remote, 8), ports, purpose])
    }

    fn of(&self, words: &[u64]) -> u64 {
        let mut v = [
            self.0 ^ 0x736f_6d65_7073_6575,
            self.1 ^ 0x646f_7261_6e64_6f6d,
            self.0 ^ 0x6c79_6765_6e65_7261,
            self.1 ^ 0x7465_6462_7974_6573,
        ];
        let last = (words.len() as u64 * 8) << 56;
        for word in words.iter().chain([&last]) {
            v[3] ^= word;
            round(&mut v);
            round(&mut v);
            v[0] ^= word;
        }
        v[2] ^= 0xff;
        (0..4).for_each(|_| round(&mut v));
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' test vectors for 0 and 8 bytes.
    #[test]
    fn hashes_are_those_of_the_authors() {
        let key: [u8; 16] = std::array::from_fn(|n| n as u8);
        let secret = Secret::new(key);
        assert_eq!(secret.of(&[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(secret.of(&[0x0706_0504_0302_0100]), 0x93f5_f579_9a93_2462);
    }
}
