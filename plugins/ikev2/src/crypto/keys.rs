//! Pseudorandom functions and key derivation (RFC 7296 sections 2.13 to 2.17).

use aes::Aes128;
use cmac::{Cmac, Mac as _};
use ring::hmac;

pub use ::crypto::Hidden;

use super::suite::{EspSuite, Suite, integ};

/// PRF_AES128_CMAC.
pub const CMAC: u16 = 8;

/// Output length of a pseudorandom function in bytes, which is also its key length.
pub fn prf_len(id: u16) -> usize {
    match id {
        2 => 20,
        6 => 48,
        7 => 64,
        CMAC => 16,
        _ => 32,
    }
}

/// AES-CMAC (RFC 4493).
pub fn cmac(key: &[u8; 16], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = <Cmac<Aes128> as cmac::Mac>::new(key.into());
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// Applies a pseudorandom function to the concatenation of `parts`.
pub fn prf(id: u16, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    if id == CMAC {
        // Keys of other lengths are hashed to 16 bytes first (RFC 4615).
        let fit = <[u8; 16]>::try_from(key).unwrap_or_else(|_| cmac(&[0; 16], &[key]));
        return cmac(&fit, parts).to_vec();
    }
    let algorithm = match id {
        2 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        6 => hmac::HMAC_SHA384,
        7 => hmac::HMAC_SHA512,
        _ => hmac::HMAC_SHA256,
    };
    let mut context = hmac::Context::with_key(&hmac::Key::new(algorithm, key));
    parts.iter().for_each(|part| context.update(part));
    context.sign().as_ref().to_vec()
}

/// `prf+` (section 2.13): derives `len` bytes.
pub fn prf_plus(id: u16, key: &[u8], seed: &[&[u8]], len: usize) -> Hidden {
    // It never grows, so no copy is left behind.
    let mut out = Hidden(Vec::with_capacity(len + 64));
    let mut last = Hidden::default();
    for number in 1..=u8::MAX {
        if out.0.len() >= len {
            break;
        }
        let number = [number];
        let mut parts = vec![&last.0[..]];
        parts.extend(seed);
        parts.push(&number);
        last = Hidden(prf(id, key, &parts));
        out.0.extend(&last.0);
    }
    out.0.truncate(len);
    out
}

/// Keys of an IKE association.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// SK_d, from which child SA keys are derived.
    pub d: Hidden,
    /// SK_ai, the integrity key of the initiator.
    pub ai: Hidden,
    /// SK_ar, the integrity key of the responder.
    pub ar: Hidden,
    /// SK_ei, the encryption key and salt of the initiator.
    pub ei: Hidden,
    /// SK_er, the encryption key and salt of the responder.
    pub er: Hidden,
    /// SK_pi, the authentication key of the initiator.
    pub pi: Hidden,
    /// SK_pr, the authentication key of the responder.
    pub pr: Hidden,
}

/// Input of the key derivation.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Nonces of the initiator and of the responder.
    pub nonces: (Vec<u8>, Vec<u8>),
    /// SPIs of the association.
    pub spis: (u64, u64),
    /// Shared secret of the key exchange.
    pub shared: Hidden,
}

impl Keys {
    /// Derives the keys of an association. `old` is SK_d of the association that it replaces, and
    /// its PRF. PRFs with a fixed key length use half of each nonce (section 2.14), unless
    /// `is_whole`.
    pub fn new(suite: &Suite, from: &Origin, old: Option<(u16, &Hidden)>, is_whole: bool) -> Self {
        let (ni, nr) = (&from.nonces.0[..], &from.nonces.1[..]);
        let seed = match old {
            Some((prf_id, d)) => prf(prf_id, &d.0, &[&from.shared.0, ni, nr]),
            None if suite.prf == CMAC && !is_whole => {
                let half = |nonce: &[u8]| nonce.get(..8).unwrap_or_default().to_vec();
                prf(CMAC, &[half(ni), half(nr)].concat(), &[&from.shared.0])
            }
            None => prf(suite.prf, &[ni, nr].concat(), &[&from.shared.0]),
        };
        let spis = (from.spis.0.to_be_bytes(), from.spis.1.to_be_bytes());
        let p = prf_len(suite.prf);
        let a = suite.integ.and_then(integ).map_or(0, |(len, ..)| len);
        let e = suite.encr.algorithm().key + suite.encr.salt;
        let seed = Hidden(seed);
        let all = prf_plus(suite.prf, &seed.0, &[ni, nr, &spis.0, &spis.1], 3 * p + 2 * (a + e));
        let mut cut = Cut(&all.0);
        Self {
            d: cut.take(p),
            ai: cut.take(a),
            ar: cut.take(a),
            ei: cut.take(e),
            er: cut.take(e),
            pi: cut.take(p),
            pr: cut.take(p),
        }
    }
}

struct Cut<'a>(&'a [u8]);

impl Cut<'_> {
    fn take(&mut self, len: usize) -> Hidden {
        let (first, rest) = self.0.split_at_checked(len).unwrap_or((self.0, &[]));
        self.0 = rest;
        Hidden(first.to_vec())
    }
}

/// Keys for one direction of a child SA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildKey {
    /// Encryption key.
    pub encr: Hidden,
    /// Salt.
    pub salt: Hidden,
    /// Integrity key.
    pub integ: Hidden,
}

/// Derives the keys of a child SA, from and to the initiator of the exchange (section 2.17).
pub fn child_keys(
    prf_id: u16,
    d: &Hidden,
    suite: &EspSuite,
    shared: Option<&Hidden>,
    nonces: (&[u8], &[u8]),
) -> (ChildKey, ChildKey) {
    let (encr, salt, integ) = suite.lens();
    let shared = shared.map_or(&[][..], |shared| &shared.0);
    let len = 2 * (encr + salt + integ);
    let all = prf_plus(prf_id, &d.0, &[shared, nonces.0, nonces.1], len);
    let mut cut = Cut(&all.0);
    let mut one =
        || ChildKey { encr: cut.take(encr), salt: cut.take(salt), integ: cut.take(integ) };
    (one(), one())
}

/// The proof of identity by a shared key (section 2.15), over what `signed` is.
pub fn shared_key_proof(prf_id: u16, secret: &[u8], signed: &[u8]) -> Vec<u8> {
    let key = Hidden(prf(prf_id, secret, &[b"Key Pad for IKEv2"]));
    prf(prf_id, &key.0, &[signed])
}

/// The bytes that one end's authentication covers: its first message, the peer's nonce, and a hash
/// of its identity (section 2.15).
pub fn signed(prf_id: u16, message: &[u8], nonce: &[u8], p: &Hidden, id: &[u8]) -> Vec<u8> {
    [message, nonce, &prf(prf_id, &p.0, &[id])].concat()
}
