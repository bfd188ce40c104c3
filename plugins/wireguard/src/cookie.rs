//! Proofs of handshakes before they cost much: that their sender knows the receiver's public key
//! (the first code), and under load that it receives what is sent to its address (the second one,
//! keyed by a cookie). Addresses that proved so much are let through at a bounded rate.

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, Payload};
use net::prelude::*;
use subtle::ConstantTimeEq;
use wire::wireguard::{Cookie, Macs, kind};
use x25519_dalek::PublicKey;

use super::noise::{hash, random};
use super::{Endpoint, apart};

const MAC1: &[u8] = b"mac1----";
const COOKIE: &[u8] = b"cookie--";

/// Seconds for which a cookie is good.
const COOKIE_LIFE: f64 = 120.0;
/// Seconds in which messages are counted, and for which many of them are a load.
const COUNTING: f64 = 0.5;
const LOADED: f64 = 1.0;
/// Messages in that time, for each peer, that are a load.
const PER_PEER: u64 = 40;
/// Handshakes of an address: at once, and in a second.
const BURST: f64 = 5.0;
const RATE: f64 = 20.0;
/// Addresses whose rate is watched, at most.
const MOST_ADDRESSES: usize = 16_384;

/// A code of 16 bytes.
pub fn code(key: &[u8], bytes: &[u8]) -> [u8; 16] {
    let mac = <Blake2sMac<U16> as KeyInit>::new_from_slice(key);
    let mut mac = mac.expect("keys have 16 or 32 bytes");
    Mac::update(&mut mac, bytes);
    mac.finalize().into_bytes().into()
}

/// The part of a message that the first code is over, given all but the codes, and the second.
fn with_mac1(front: &[u8], mac1: &[u8; 16]) -> Vec<u8> {
    [front, mac1].concat()
}

/// The codes of messages to the owner of a public key, and the cookie it gave.
#[derive(Clone)]
pub struct Sealer {
    mac1_key: [u8; 32],
    cookie_key: [u8; 32],
    cookie: Option<([u8; 16], f64)>,
    /// First code of the last message: the cookie is for its sender.
    last: Option<[u8; 16]>,
}

impl Sealer {
    /// For messages to that owner.
    pub fn new(public: &PublicKey) -> Self {
        let key = |label| hash(&[label, public.as_bytes()]);
        Self { mac1_key: key(MAC1), cookie_key: key(COOKIE), cookie: None, last: None }
    }
    /// The codes of a message, given all but these.
    pub fn seal(&mut self, front: &[u8], now: f64) -> Macs {
        let mac1 = code(&self.mac1_key, front);
        self.last = Some(mac1);
        let cookie = self.cookie.filter(|(_, at)| apart(now, *at) < COOKIE_LIFE);
        let mac2 = cookie.map_or([0; 16], |(key, _)| code(&key, &with_mac1(front, &mac1)));
        Macs { mac1, mac2 }
    }
    /// Takes a cookie; whether it was for the last message.
    pub fn take(&mut self, message: &Cookie, now: f64) -> bool {
        let Some(last) = self.last else { return false };
        let payload = Payload { msg: &message.cookie, aad: &last };
        let cipher = XChaCha20Poly1305::new((&self.cookie_key).into());
        let plain = cipher.decrypt((&message.nonce).into(), payload);
        let Ok(Ok(cookie)) = plain.map(<[u8; 16]>::try_from) else { return false };
        (self.cookie, self.last) = (Some((cookie, now)), None);
        true
    }
}

/// Proof in a message to this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    None,
    /// Its sender knows the public key.
    Key,
    /// And has got a cookie lately.
    Address,
}

/// Checks messages to this end.
pub struct Checker {
    mac1_key: [u8; 32],
    cookie_key: [u8; 32],
    secret: [u8; 32],
    /// Time of the secret.
    since: f64,
    load: Load,
    buckets: HashMap<IpAddr, (f64, f64)>,
}

/// Messages that came lately.
#[derive(Default)]
struct Load {
    since: f64,
    count: u64,
    /// Time of the last one that was too many.
    last: Option<f64>,
}

impl Checker {
    /// Of the owner of a public key; `None` without random numbers.
    pub fn new(public: &PublicKey, now: f64) -> Option<Self> {
        let key = |label| hash(&[label, public.as_bytes()]);
        Some(Self {
            mac1_key: key(MAC1),
            cookie_key: key(COOKIE),
            secret: random()?,
            since: now,
            load: Load::default(),
            buckets: HashMap::new(),
        })
    }
    /// Whether the first code of a message, given all but the codes, is for this end.
    pub fn is_for(&self, front: &[u8], macs: &Macs) -> bool {
        code(&self.mac1_key, front).ct_eq(&macs.mac1).into()
    }
    fn cookie_of(&mut self, from: Endpoint, now: f64) -> [u8; 16] {
        if apart(now, self.since) >= COOKIE_LIFE
            && let Some(secret) = random()
        {
            (self.secret, self.since) = (secret, now);
        }
        let mut bytes = match from.0 {
            IpAddr::V4(addr) => addr.octets().to_vec(),
            IpAddr::V6(addr) => addr.octets().to_vec(),
        };
        bytes.extend_from_slice(&from.1.to_be_bytes());
        code(&self.secret, &bytes)
    }
    /// Proof in a message, given all but its codes.
    pub fn check(&mut self, front: &[u8], macs: &Macs, from: Endpoint, now: f64) -> Proof {
        if !self.is_for(front, macs) {
            return Proof::None;
        }
        let cookie = self.cookie_of(from, now);
        let expected = code(&cookie, &with_mac1(front, &macs.mac1));
        if expected.ct_eq(&macs.mac2).into() { Proof::Address } else { Proof::Key }
    }
    /// Counts a message to this end that has so many peers; whether it is under load.
    pub fn is_loaded(&mut self, peers: usize, now: f64) -> bool {
        let load = &mut self.load;
        if apart(now, load.since) >= COUNTING {
            (load.since, load.count) = (now, 0);
        }
        load.count += 1;
        if load.count >= PER_PEER * peers.max(1) as u64 {
            load.last = Some(now);
        }
        load.last.is_some_and(|last| apart(now, last) < LOADED)
    }
    /// Whether an address may have one more handshake now. Of IPv6 a whole /64 counts as one.
    pub fn may_pass(&mut self, from: IpAddr, now: f64) -> bool {
        let from = wire::ip::source_of(from);
        if self.buckets.len() >= MOST_ADDRESSES && !self.buckets.contains_key(&from) {
            // Those that have not been here for so long are as good as unknown.
            self.buckets.retain(|_, (_, at)| apart(now, *at) < BURST / RATE);
            if self.buckets.len() >= MOST_ADDRESSES {
                return false;
            }
        }
        let (left, at) = self.buckets.entry(from).or_insert((BURST, now));
        *left = (*left + apart(now, *at) * RATE).min(BURST);
        *at = now;
        let passes = *left >= 1.0;
        if passes {
            *left -= 1.0;
        }
        passes
    }
    /// The cookie for the sender of a message; `None` without random numbers.
    pub fn cookie(&mut self, macs: &Macs, sender: u32, from: Endpoint, now: f64) -> Option<Cookie> {
        let cookie = self.cookie_of(from, now);
        let nonce: [u8; 24] = random()?;
        let cipher = XChaCha20Poly1305::new((&self.cookie_key).into());
        let sealed = cipher.encrypt(&nonce.into(), Payload { msg: &cookie, aad: &macs.mac1 });
        let cookie = sealed.ok().and_then(|sealed| sealed.try_into().ok());
        Some(Cookie {
            kind: kind::COOKIE.into(),
            receiver: sender.into(),
            nonce,
            cookie: cookie.expect("16 bytes and a tag"),
        })
    }
}
