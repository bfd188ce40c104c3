//! Pseudorandom functions and the keys made with them (RFC 7296 sections 2.13 to 2.17).

use std::fmt;

use aes::Aes128;
use cmac::{Cmac, Mac as _};
use ring::hmac;

use super::suite::{EspSuite, Suite, integ};

/// Bytes that are shown to nobody, and overwritten when they go.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(pub Vec<u8>);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(control::HIDDEN)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

/// PRF_AES128_CMAC.
pub const CMAC: u16 = 8;

/// Bytes of the output of a pseudorandom function, and of keys for it.
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

/// A pseudorandom function of some parts, one after the other.
pub fn prf(id: u16, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    if id == CMAC {
        // Keys of another length are made fit first (RFC 4615).
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

/// `prf+`: as many bytes as are asked for.
pub fn prf_plus(id: u16, key: &[u8], seed: &[&[u8]], len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 64);
    let mut last = Vec::new();
    for number in 1..=u8::MAX {
        if out.len() >= len {
            break;
        }
        let number = [number];
        let mut parts = vec![&last[..]];
        parts.extend(seed);
        parts.push(&number);
        last = prf(id, key, &parts);
        out.extend(&last);
    }
    out.truncate(len);
    out
}

/// Keys of an IKE association.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// For keys of children.
    pub d: Hidden,
    /// Of the hash, of who began and of the other end.
    pub ai: Hidden,
    /// The same, of the other end.
    pub ar: Hidden,
    /// Of the cipher, with its salt, of who began.
    pub ei: Hidden,
    /// The same, of the other end.
    pub er: Hidden,
    /// For the proof of identity of who began.
    pub pi: Hidden,
    /// The same, of the other end.
    pub pr: Hidden,
}

/// What keys are made of.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Nonces of who began and of the other end.
    pub nonces: (Vec<u8>, Vec<u8>),
    /// Numbers of the association.
    pub spis: (u64, u64),
    /// The secret of the key exchange.
    pub shared: Hidden,
}

impl Keys {
    /// Keys of an association; `old` is the `d` of the one that it replaces, and the function that
    /// it was made for. PRFs with keys of one length take half of each nonce (section 2.14), unless
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
        let all = prf_plus(suite.prf, &seed, &[ni, nr, &spis.0, &spis.1], 3 * p + 2 * (a + e));
        let mut cut = Cut(&all);
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

/// Keys of one direction of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildKey {
    /// Of the cipher.
    pub encr: Hidden,
    /// Its salt.
    pub salt: Hidden,
    /// Of the hash.
    pub integ: Hidden,
}

/// Keys of a child: of the direction from who began the exchange, and of the other (section 2.17).
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
    let all = Hidden(prf_plus(prf_id, &d.0, &[shared, nonces.0, nonces.1], len));
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

/// What an end proves its identity over: its first message, the nonce of the other end, and its
/// identity.
pub fn signed(prf_id: u16, message: &[u8], nonce: &[u8], p: &Hidden, id: &[u8]) -> Vec<u8> {
    [message, nonce, &prf(prf_id, &p.0, &[id])].concat()
}
