//! The handshake: Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s, as WireGuard uses it. Bytes to bytes, no
//! state but what a handshake in progress needs, no clock.

use std::fmt;

use blake2::{Blake2s256, Digest};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use hmac::{Mac, SimpleHmac};
use ring::rand::{SecureRandom, SystemRandom};
use wire::wireguard::{Initiation, Macs, Response, kind};
use x25519_dalek::{PublicKey, StaticSecret};

const CONSTRUCTION: &[u8] = b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
const IDENTIFIER: &[u8] = b"WireGuard v1 zx2c4 Jason@zx2c4.com";

/// A point in time as handshakes carry it (TAI64N): later ones are greater.
pub type Stamp = [u8; 12];
/// A shared secret of two peers that is known beforehand; zeros for none.
pub type Preshared = [u8; 32];

/// A key pair of one's own.
#[derive(Clone)]
pub struct Identity {
    /// Private.
    pub private: StaticSecret,
    /// Public.
    pub public: PublicKey,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("public", &self.public).finish_non_exhaustive()
    }
}

impl From<[u8; 32]> for Identity {
    fn from(private: [u8; 32]) -> Self {
        let private = StaticSecret::from(private);
        let public = PublicKey::from(&private);
        Self { private, public }
    }
}

/// Random bytes; `None` if the kernel has none, and then there is no handshake.
pub fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).is_ok().then_some(bytes)
}

/// The hash of some bytes behind each other.
pub fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Blake2s256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mac = <SimpleHmac<Blake2s256> as Mac>::new_from_slice(key);
    let mut mac = mac.expect("any length of key will do");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// Keys derived from a chaining key and something secret.
fn derive<const N: usize>(chain: &[u8; 32], secret: &[u8]) -> [[u8; 32]; N] {
    let root = hmac(chain, &[secret]);
    let mut keys = [[0; 32]; N];
    let mut last: &[u8] = &[];
    for (n, key) in keys.iter_mut().enumerate() {
        *key = hmac(&root, &[last, &[n as u8 + 1]]);
        last = key;
    }
    keys
}

/// Both keys of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// For what is sent.
    pub send: [u8; 32],
    /// For what is received.
    pub receive: [u8; 32],
}

/// The state of a handshake as both sides compute it.
#[derive(Clone)]
struct Symmetric {
    chain: [u8; 32],
    hash: [u8; 32],
}

impl Symmetric {
    /// Of a handshake with a responder of this public key.
    fn new(responder: &PublicKey) -> Self {
        let chain = hash(&[CONSTRUCTION]);
        let mut this = Self { chain, hash: hash(&[&chain, IDENTIFIER]) };
        this.mix_hash(responder.as_bytes());
        this
    }
    fn mix_hash(&mut self, bytes: &[u8]) {
        self.hash = hash(&[&self.hash, bytes]);
    }
    fn mix_ephemeral(&mut self, public: &[u8; 32]) {
        self.mix_hash(public);
        [self.chain] = derive(&self.chain, public);
    }
    /// Mixes in what two keys have in common; `None` for a public key that is in common with all.
    fn mix_shared(&mut self, ours: &StaticSecret, theirs: &PublicKey) -> Option<[u8; 32]> {
        let shared = ours.diffie_hellman(theirs);
        if !shared.was_contributory() {
            return None;
        }
        let [chain, key] = derive(&self.chain, shared.as_bytes());
        self.chain = chain;
        Some(key)
    }
    fn mix_preshared(&mut self, preshared: &Preshared) -> [u8; 32] {
        let [chain, mixed, key] = derive(&self.chain, preshared);
        self.chain = chain;
        self.mix_hash(&mixed);
        key
    }
    fn seal<const N: usize>(&mut self, key: &[u8; 32], plain: &[u8]) -> [u8; N] {
        let payload = Payload { msg: plain, aad: &self.hash };
        let sealed = ChaCha20Poly1305::new(key.into()).encrypt(&[0; 12].into(), payload);
        let sealed = sealed.expect("short texts can be encrypted");
        self.mix_hash(&sealed);
        sealed.try_into().expect("a tag behind the text")
    }
    fn open<const N: usize>(&mut self, key: &[u8; 32], sealed: &[u8]) -> Option<[u8; N]> {
        let payload = Payload { msg: sealed, aad: &self.hash };
        let plain = ChaCha20Poly1305::new(key.into()).decrypt(&[0; 12].into(), payload).ok()?;
        self.mix_hash(sealed);
        plain.try_into().ok()
    }
    /// The keys of the initiator; those of the responder are the same the other way round.
    fn split(&self) -> Keys {
        let [send, receive] = derive(&self.chain, &[]);
        Keys { send, receive }
    }
}

/// A handshake that waits for its response.
#[derive(Clone)]
pub struct Begun {
    state: Symmetric,
    ephemeral: StaticSecret,
}

/// Starts a handshake with the owner of a public key; without the codes at the end. `None` for an
/// invalid key.
pub fn initiate(
    own: &Identity,
    remote: &PublicKey,
    stamp: Stamp,
    sender: u32,
) -> Option<(Initiation, Begun)> {
    let mut state = Symmetric::new(remote);
    let ephemeral = StaticSecret::from(random()?);
    let public = PublicKey::from(&ephemeral).to_bytes();
    state.mix_ephemeral(&public);
    let key = state.mix_shared(&ephemeral, remote)?;
    let sealed = state.seal(&key, own.public.as_bytes());
    let key = state.mix_shared(&own.private, remote)?;
    let timestamp = state.seal(&key, &stamp);
    let message = Initiation {
        kind: kind::INITIATION.into(),
        sender: sender.into(),
        ephemeral: public,
        public: sealed,
        timestamp,
        macs: Macs::default(),
    };
    Some((message, Begun { state, ephemeral }))
}

/// A received initiation, from a peer to be identified.
pub struct Initiated {
    state: Symmetric,
    ephemeral: PublicKey,
    /// Public key of its sender.
    pub from: PublicKey,
    timestamp: [u8; 28],
}

/// Reads an initiation as far as the name of its sender.
pub fn read_initiation(own: &Identity, message: &Initiation) -> Option<Initiated> {
    let mut state = Symmetric::new(&own.public);
    state.mix_ephemeral(&message.ephemeral);
    let ephemeral = PublicKey::from(message.ephemeral);
    let key = state.mix_shared(&own.private, &ephemeral)?;
    let from = PublicKey::from(state.open::<32>(&key, &message.public)?);
    Some(Initiated { state, ephemeral, from, timestamp: message.timestamp })
}

impl Initiated {
    /// Time stamp, if its sender has the private key as well.
    pub fn stamp(&mut self, own: &Identity) -> Option<Stamp> {
        let key = self.state.mix_shared(&own.private, &self.from)?;
        self.state.open(&key, &self.timestamp)
    }
    /// Answers it, after [`stamp`](Self::stamp); without the codes at the end.
    pub fn respond(
        mut self,
        preshared: &Preshared,
        (sender, receiver): (u32, u32),
    ) -> Option<(Response, Keys)> {
        let ephemeral = StaticSecret::from(random()?);
        let public = PublicKey::from(&ephemeral).to_bytes();
        self.state.mix_ephemeral(&public);
        self.state.mix_shared(&ephemeral, &self.ephemeral)?;
        self.state.mix_shared(&ephemeral, &self.from)?;
        let key = self.state.mix_preshared(preshared);
        let nothing = self.state.seal(&key, &[]);
        let Keys { send, receive } = self.state.split();
        let message = Response {
            kind: kind::RESPONSE.into(),
            sender: sender.into(),
            receiver: receiver.into(),
            ephemeral: public,
            nothing,
            macs: Macs::default(),
        };
        Some((message, Keys { send: receive, receive: send }))
    }
}

impl Begun {
    /// Ends the handshake with the response to it; `None` when this is none.
    pub fn finish(
        &self,
        own: &Identity,
        preshared: &Preshared,
        message: &Response,
    ) -> Option<Keys> {
        let mut state = self.state.clone();
        let ephemeral = PublicKey::from(message.ephemeral);
        state.mix_ephemeral(&message.ephemeral);
        state.mix_shared(&self.ephemeral, &ephemeral)?;
        state.mix_shared(&own.private, &ephemeral)?;
        let key = state.mix_preshared(preshared);
        state.open::<0>(&key, &message.nothing)?;
        Some(state.split())
    }
}
