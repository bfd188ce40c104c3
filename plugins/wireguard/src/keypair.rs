//! Keys of a session, and which messages under them have been seen: what nodes need of a session.

use std::sync::{Mutex, MutexGuard, TryLockError};

use infra::counter::Counter;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use wire::wireguard::TAG;

use super::noise::Keys;
use super::{Endpoint, apart};

/// Seconds for which keys are good.
pub const REJECT_AFTER: f64 = 180.0;
/// Messages for which keys are good, and after which there should be new ones.
const REJECT_AFTER_MESSAGES: u64 = u64::MAX - (1 << 13);
const REKEY_AFTER_MESSAGES: u64 = 1 << 60;
/// Messages that may come late.
const WINDOW: u64 = 8192;
const WORDS: usize = WINDOW as usize / 64 + 1;

/// A session's keys, with the numbers by which both ends know it.
pub struct Keypair {
    /// Peer.
    pub peer: u32,
    /// Own number, in what is received.
    pub local: u32,
    /// The other end's number, in what is sent.
    pub remote: u32,
    /// Seconds on the router's clock when the session began.
    pub born: f64,
    /// Whether the handshake was begun here.
    pub is_initiator: bool,
    send: LessSafeKey,
    receive: LessSafeKey,
    session: Mutex<Session>,
}

/// State of a session that changes with each message. It belongs to the thread of its peer.
pub struct Session {
    next: u64,
    window: Window,
    /// Source of the last message.
    pub from: Endpoint,
    /// Whether a message under these keys was received.
    pub is_confirmed: bool,
}

/// Times of the last messages from and to a peer: milliseconds on the router's clock, 0 for never.
/// The thread of the peer sets them.
#[derive(Debug, Default)]
pub struct Activity {
    /// A packet was sent.
    pub data_sent: Counter,
    /// A packet was received.
    pub data_received: Counter,
    /// Something was sent.
    pub sent: Counter,
    /// Something was received.
    pub received: Counter,
}

/// Reason why there is no next number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

fn key(bytes: &[u8; 32]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, bytes);
    LessSafeKey::new(key.expect("keys have 32 bytes"))
}

fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl Keypair {
    /// Of a handshake that ended at `born`, with a peer that is at `from`.
    pub fn new(
        keys: &Keys,
        peer: u32,
        (local, remote): (u32, u32),
        (born, is_initiator): (f64, bool),
        from: Endpoint,
    ) -> Self {
        let session =
            Session { next: 0, window: Window::default(), from, is_confirmed: is_initiator };
        let (send, receive) = (key(&keys.send), key(&keys.receive));
        Self {
            peer,
            local,
            remote,
            born,
            is_initiator,
            send,
            receive,
            session: Mutex::new(session),
        }
    }
    /// Whether the keys are too old, or the clock has moved that far.
    #[inline]
    pub fn is_over(&self, now: f64) -> bool {
        apart(now, self.born) >= REJECT_AFTER
    }
    /// Changing part. Only the thread of the peer takes it, so it is always free; `None` while
    /// threads change.
    #[inline]
    pub fn session(&self) -> Option<MutexGuard<'_, Session>> {
        match self.session.try_lock() {
            Ok(session) => Some(session),
            // A panic is caught at the frame; each step leaves the session whole.
            Err(TryLockError::Poisoned(session)) => Some(session.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    /// Encrypts in place; the tag goes behind it.
    #[inline]
    pub fn seal(&self, counter: u64, plain: &mut [u8]) -> Option<[u8; TAG]> {
        let tag = self.send.seal_in_place_separate_tag(nonce(counter), Aad::empty(), plain).ok()?;
        tag.as_ref().try_into().ok()
    }
    /// Decrypts in place what has its tag behind it; returns how long it is.
    #[inline]
    pub fn open(&self, counter: u64, sealed: &mut [u8]) -> Option<usize> {
        let plain = self.receive.open_in_place(nonce(counter), Aad::empty(), sealed).ok()?;
        Some(plain.len())
    }
}

impl Session {
    /// The number of the next message, and whether there should be new keys soon.
    ///
    /// # Errors
    /// These keys have encrypted as much as they may.
    #[inline]
    pub fn take_next(&mut self) -> Result<(u64, bool), Exhausted> {
        let counter = self.next;
        if counter >= REJECT_AFTER_MESSAGES {
            return Err(Exhausted);
        }
        self.next += 1;
        Ok((counter, counter >= REKEY_AFTER_MESSAGES))
    }
    /// Whether the number of a message is new, and its keys still good for it.
    #[inline]
    pub fn may_accept(&self, counter: u64) -> bool {
        counter < REJECT_AFTER_MESSAGES && self.window.is_new(counter)
    }
    /// Notes the number of a message that was authentic.
    #[inline]
    pub fn accept(&mut self, counter: u64) {
        self.window.note(counter);
    }
}

/// Numbers of messages that were received (RFC 6479): the greatest, and which of those before it.
struct Window {
    /// One more than the greatest; 0 before the first.
    end: u64,
    seen: [u64; WORDS],
}

impl Default for Window {
    fn default() -> Self {
        Self { end: 0, seen: [0; WORDS] }
    }
}

impl Window {
    fn place(counter: u64) -> (usize, u64) {
        ((counter / 64) as usize % WORDS, 1 << (counter % 64))
    }
    fn is_new(&self, counter: u64) -> bool {
        let (word, bit) = Self::place(counter);
        if counter >= self.end {
            return true;
        }
        self.end - counter <= WINDOW && self.seen[word] & bit == 0
    }
    fn note(&mut self, counter: u64) {
        if counter >= self.end {
            let last = self.end.checked_sub(1).map_or(0, |last| last / 64 + 1);
            let steps = (counter / 64 + 1).saturating_sub(last).min(WORDS as u64);
            (0..steps).for_each(|step| self.seen[(last + step) as usize % WORDS] = 0);
            if steps == WORDS as u64 {
                self.seen = [0; WORDS];
            }
            self.end = counter + 1;
        }
        let (word, bit) = Self::place(counter);
        self.seen[word] |= bit;
    }
}

/// Checks of [`Window`] that need no packets.
#[doc(hidden)]
pub mod testing {
    use super::Window;

    /// Whether each of these numbers, in order, is taken.
    pub fn taken(counters: &[u64]) -> Vec<bool> {
        let mut window = Window::default();
        let take = |counter: &u64| {
            let is_new = window.is_new(*counter);
            if is_new {
                window.note(*counter);
            }
            is_new
        };
        counters.iter().map(take).collect()
    }
}
