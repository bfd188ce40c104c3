//! Key exchange groups (RFC 7296 section 3.4).
//!
//! MODP groups of 2048 bits and more (RFC 3526), the curves of NIST (RFC 5903) and X25519
//! (RFC 8031). Weaker groups are deprecated (RFC 8247, RFC 9395).

use std::fmt;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use p521::elliptic_curve::sec1::ToSec1Point;
use ring::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use ring::rand::SystemRandom;
use zeroize::Zeroizing;

use super::keys::Hidden;

/// Number of a supported group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group(u16);

/// Arithmetic of a group.
#[derive(Clone, Copy)]
enum Way {
    /// Exponentiation modulo a prime: its size in bits, the constant that is added to pi to get it,
    /// and the length of exponents, twice the group's strength (RFC 3526 section 8).
    Modp {
        bits: usize,
        added: u32,
        exponent: usize,
    },
    /// A curve implemented by ring.
    Ring(&'static agreement::Algorithm),
    P521,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::name_of(super::GROUPS_BY_NAME, self.0))
    }
}

impl Group {
    /// Numbers of all supported groups.
    pub const ALL: [u16; 9] = [14, 15, 16, 17, 18, 19, 20, 21, 31];

    /// The group with the given number, if it is supported.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.contains(&number).then_some(Self(number))
    }
    /// Its number.
    pub fn number(self) -> u16 {
        self.0
    }
    fn way(self) -> Way {
        let modp = |bits, added, exponent| Way::Modp { bits, added, exponent };
        match self.0 {
            14 => modp(2048, 124_475, 256),
            15 => modp(3072, 1_690_313, 320),
            16 => modp(4096, 240_903, 384),
            17 => modp(6144, 929_483, 448),
            18 => modp(8192, 4_743_157, 512),
            20 => Way::Ring(&agreement::ECDH_P384),
            21 => Way::P521,
            31 => Way::Ring(&agreement::X25519),
            _ => Way::Ring(&agreement::ECDH_P256),
        }
    }
    /// Length of a public value in bytes.
    pub fn public_len(self) -> usize {
        match self.0 {
            19 => 64,
            20 => 96,
            21 => 132,
            31 => 32,
            _ => match self.way() {
                Way::Modp { bits, .. } => bits / 8,
                _ => 0,
            },
        }
    }
    /// Whether its computations take too long for the control thread.
    pub fn is_slow(self) -> bool {
        !matches!(self.0, 19 | 31)
    }
}

/// An ephemeral private value.
pub enum Private {
    /// An exponent.
    Exponent(Hidden),
    /// A key held by ring.
    Ring(Box<EphemeralPrivateKey>),
    /// A key on P-521.
    P521(Box<p521::SecretKey>),
}

impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(control::HIDDEN)
    }
}

/// Generates a private and a public value. `None` if the random generator fails.
pub fn generate(group: Group) -> Option<(Private, Vec<u8>)> {
    match group.way() {
        Way::Modp { bits, exponent, .. } => {
            let mut secret = Hidden(vec![0; exponent / 8]);
            crypto::fill_random(&mut secret.0).then_some(())?;
            // Rules out a small exponent.
            secret.0[0] |= 0x80;
            let two = BoxedUint::from_be_slice(&[2], bits as u32).ok()?;
            let public = power(group, two, &secret)?;
            Some((Private::Exponent(secret), public.0.clone()))
        }
        Way::Ring(algorithm) => {
            let key = EphemeralPrivateKey::generate(algorithm, &SystemRandom::new()).ok()?;
            let public = key.compute_public_key().ok()?;
            let public = public.as_ref();
            // Uncompressed points begin with a type byte, which IKE omits.
            let bare = if group.0 == 31 { public } else { public.get(1..)? };
            Some((Private::Ring(Box::new(key)), bare.to_vec()))
        }
        Way::P521 => {
            let key = p521_key()?;
            let point = key.public_key().to_sec1_point(false);
            let bare = point.as_bytes().get(1..)?.to_vec();
            Some((Private::P521(Box::new(key)), bare))
        }
    }
}

fn p521_key() -> Option<p521::SecretKey> {
    // A random number exceeds the order with a probability of only 2^-259.
    (0..4).find_map(|_| {
        let mut bytes = Hidden(vec![0; 66]);
        crypto::fill_random(&mut bytes.0).then_some(())?;
        bytes.0[0] &= 1;
        p521::SecretKey::from_slice(&bytes.0).ok()
    })
}

/// Shared secret with the sender of a public value; `None` if the value is invalid.
pub fn agree(group: Group, private: Private, public: &[u8]) -> Option<Hidden> {
    if public.len() != group.public_len() {
        return None;
    }
    match (private, group.way()) {
        (Private::Exponent(secret), Way::Modp { bits, .. }) => {
            let value = BoxedUint::from_be_slice(public, bits as u32).ok()?;
            let prime = prime(group)?;
            // 0, 1 and p - 1 would make the secret predictable.
            let one = BoxedUint::one_with_precision(bits as u32);
            let last = BoxedUint::from_be_slice(&prime, bits as u32).ok()?.wrapping_sub(&one);
            (value > one && value < last).then_some(())?;
            power(group, value, &secret)
        }
        (Private::Ring(key), Way::Ring(algorithm)) => {
            let mut point = Vec::with_capacity(public.len() + 1);
            point.extend((group.0 != 31).then_some(4));
            point.extend(public);
            let other = UnparsedPublicKey::new(algorithm, point);
            agreement::agree_ephemeral(*key, &other, |secret| Hidden(secret.to_vec())).ok()
        }
        (Private::P521(key), Way::P521) => {
            let point = [&[4], public].concat();
            let other = p521::PublicKey::from_sec1_bytes(&point).ok()?;
            let secret = p521::ecdh::diffie_hellman(key.to_nonzero_scalar(), other.as_affine());
            Some(Hidden(secret.raw_secret_bytes().to_vec()))
        }
        _ => None,
    }
}

/// Constant-time exponentiation modulo the prime of a group.
fn power(group: Group, base: BoxedUint, exponent: &Hidden) -> Option<Hidden> {
    let prime = prime(group)?;
    let bits = prime.len() as u32 * 8;
    let modulus = BoxedUint::from_be_slice(&prime, bits).ok()?;
    let modulus: Odd<BoxedUint> = Option::from(Odd::new(modulus))?;
    let field = BoxedMontyParams::new_vartime(modulus);
    let len = exponent.0.len() as u32 * 8;
    let exponent = Zeroizing::new(BoxedUint::from_be_slice(&exponent.0, len).ok()?);
    let result = BoxedMontyForm::new(base, &field).pow_bounded_exp(&exponent, len).retrieve();
    let result = Zeroizing::new(result);
    Some(Hidden(result.to_be_bytes().into_vec()))
}

/// The prime of a MODP group: 64 one bits, bits of pi, 64 one bits.
fn prime(group: Group) -> Option<Vec<u8>> {
    let Way::Modp { bits, added, .. } = group.way() else { return None };
    let digits = PI.get(..(bits - 128) / 4)?.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default() as u8;
    let pairs = digits.as_chunks::<2>().0.iter();
    let mut middle: Vec<_> = pairs.map(|[a, b]| value(*a) << 4 | value(*b)).collect();
    let mut carry = added;
    for byte in middle.iter_mut().rev() {
        let sum = u32::from(*byte) + (carry & 0xff);
        *byte = sum as u8;
        carry = (carry >> 8) + (sum >> 8);
    }
    Some([&[0xff; 8], &middle[..], &[0xff; 8]].concat())
}

/// Hexadecimal digits of pi * 2^8062.
const PI: &str = concat!(
    "C90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3",
    "CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED",
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8",
    "FD24CF5F83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C",
    "32905E462E36CE3BE39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497C",
    "EA956AE515D2261898FA051015728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A",
    "8AEA71575D060C7DB3970F85A6E1E4C7ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06",
    "D98A0864D87602733EC86A64521F2B18177B200CBBE117577A615D6C770988C0BAD946E208E24FA074E5AB31",
    "43DB5BFCE0FD108E4B82D120A92108011A723C12A787E6D788719A10BDBA5B2699C327186AF4E23C1A946834",
    "B6150BDA2583E9CA2AD44CE8DBBBC2DB04DE8EF92E8EFC141FBECAA6287C59474E6BC05D99B2964FA090C3A2",
    "233BA186515BE7ED1F612970CEE2D7AFB81BDD762170481CD0069127D5B05AA993B4EA988D8FDDC186FFB7DC",
    "90A6C08F4DF435C93402849236C3FAB4D27C7026C1D4DCB2602646DEC9751E763DBA37BDF8FF9406AD9E530E",
    "E5DB382F413001AEB06A53ED9027D831179727B0865A8918DA3EDBEBCF9B14ED44CE6CBACED4BB1BDB7F1447",
    "E6CC254B332051512BD7AF426FB8F401378CD2BF5983CA01C64B92ECF032EA15D1721D03F482D7CE6E74FEF6",
    "D55E702F46980C82B5A84031900B1C9E59E7C97FBEC7E8F323A97A7E36CC88BE0F1D45B7FF585AC54BD407B2",
    "2B4154AACC8F6D7EBF48E1D814CC5ED20F8037E0A79715EEF29BE32806A1D58BB7C5DA76F550AA3D8A1FBFF0",
    "EB19CCB1A313D55CDA56C9EC2EF29632387FE8D76E3C0468043E8F663F4860EE12BF2D5B0B7474D6E694F91E",
    "6DBE115974A3926F12FEE5E438777CB6A932DF8CD8BEC4D073B931BA3BC832B68D9DD300741FA7BF8AFC47ED",
    "2576F6936BA424663AAB639C5AE4F5683423B4742BF1C978238F16CBE39D652DE3FDB8BEFC848AD922222E04",
    "A4037C0713EB57A81A23F0C73473FC646CEA306B4BCBC8862F8385DDFA9D4B7FA2C087E879683303ED5BDD3A",
    "062B3CF5B3A278A66D2A13F83F44F82DDF310EE074AB6A364597E899A0255DC164F31CC50846851DF9AB4819",
    "5DED7EA1B1D510BD7EE74D73FAF36BC31ECFA268359046F4EB879F924009438B481C6CD7889A002ED5EE382B",
    "C9190DA6FC026E479558E4475677E9AA9E3050E2765694DFC81F56E880B96E7160C980DD98A573EA",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_share_a_secret_in_each_group() {
        for number in Group::ALL {
            let group = Group::of(number).unwrap();
            let (a, pa) = generate(group).unwrap();
            let (b, pb) = generate(group).unwrap();
            assert_eq!(pa.len(), group.public_len(), "{group}");
            let (ab, ba) = (agree(group, a, &pb).unwrap(), agree(group, b, &pa).unwrap());
            assert_eq!(ab, ba, "{group}");
            assert!(ab.0.iter().any(|byte| *byte != 0));
        }
    }

    #[test]
    fn primes_are_those_of_rfc_3526() {
        let ends = [
            (14, "15728E5A8AACAA68"),
            (15, "4B82D120A93AD2CA"),
            (16, "4DF435C934063199"),
            (17, "E694F91E6DCC4024"),
            (18, "60C980DD98EDD3DF"),
        ];
        for (number, end) in ends {
            let prime = prime(Group::of(number).unwrap()).unwrap();
            let tail: String =
                prime[prime.len() - 16..].iter().map(|byte| format!("{byte:02X}")).collect();
            assert_eq!(tail, format!("{end}FFFFFFFFFFFFFFFF"));
            assert_eq!(prime[..12], [[0xff; 8].as_slice(), &[0xC9, 0x0F, 0xDA, 0xA2]].concat());
        }
    }

    #[test]
    fn values_that_are_none_are_refused() {
        for number in Group::ALL {
            let group = Group::of(number).unwrap();
            let fresh = || generate(group).unwrap().0;
            let len = group.public_len();
            let zeros = vec![0; len];
            assert_eq!(agree(group, fresh(), &zeros), None, "{group}");
            assert_eq!(agree(group, fresh(), &zeros[1..]), None);
            assert_eq!(agree(group, fresh(), &[&zeros[..], &[0]].concat()), None);
            if let Way::Modp { .. } = group.way() {
                let mut one = zeros.clone();
                one[len - 1] = 1;
                assert_eq!(agree(group, fresh(), &one), None);
                let mut last = prime(group).unwrap();
                assert_eq!(agree(group, fresh(), &last), None);
                last[len - 1] -= 1;
                assert_eq!(agree(group, fresh(), &last), None);
            } else if number != 31 {
                assert_eq!(agree(group, fresh(), &vec![1; len]), None, "off the curve");
            }
        }
    }
}
