//! Decryption of runs (RFC 4303 section 3.4): verification and decryption together; then each
//! packet is processed as if it had been decrypted alone.

use crypto::{Job, TAG, are_equal};
use graph::Together;
use net::prelude::*;

use super::{MOST, MOST_ICV, Suite, UNUSUAL};
use crate::esp::{Flaw, HEADER, Opened, TRAILER};
use crate::sa::Sa;

/// Similar packets of one SA.
pub struct Run<'e> {
    sa: &'e Sa,
    suite: Suite,
    /// Length of the IP header in front in bytes.
    front: usize,
    /// The highest sequence number, including packets received before.
    top: u64,
    count: usize,
    numbers: [u64; MOST],
    /// Offset of the ESP header, and end of the packet.
    places: [(u16, u16); MOST],
}

/// A packet from the ESP header to the end.
struct Body<'a> {
    bytes: &'a mut [u8],
    /// End of the ciphertext.
    end: usize,
    icv: [u8; MOST_ICV],
}

/// Start and end of ESP in a packet with `front` bytes of plain headers.
#[inline(always)]
fn place(packet: &[u8], front: usize) -> Option<(usize, usize)> {
    let (protocol, total) = match packet.first()? {
        0x45 if front == size_of::<ip4::Header>() => {
            let (h, _) = ip4::Header::ref_from_prefix(packet).ok()?;
            (h.protocol, usize::from(h.total_len.get()))
        }
        first if first >> 4 == 6 && front == size_of::<ip6::Header>() => {
            let (h, _) = ip6::Header::ref_from_prefix(packet).ok()?;
            (h.next_header, usize::from(h.payload_len.get()) + front)
        }
        _ => return None,
    };
    let esp = match protocol {
        Protocol::ESP => front,
        Protocol::UDP => front + size_of::<udp::Header>(),
        _ => return None,
    };
    // Link-layer padding is not part of the packet.
    Some((esp, total.min(packet.len())))
}

impl<'e> Run<'e> {
    /// Creates an empty run; `None` if packets have to be decrypted one by one.
    #[inline(always)]
    pub fn new(sa: &'e Sa, front: usize) -> Option<Self> {
        let suite =
            sa.suite.filter(|suite| *suite == Suite::Hashed || sa.keys.cipher.opens_each())?;
        let top = sa.state.received.newest();
        Some(Self { sa, suite, front, top, count: 0, numbers: [0; MOST], places: [(0, 0); MOST] })
    }
    /// Adds a packet if it belongs to the run: all checks before decryption pass, and do not depend
    /// on the packets before it.
    #[inline(always)]
    pub fn add(&mut self, p: &Buffer<'_>) -> Option<()> {
        if p.flags().has(UNUSUAL) {
            return None;
        }
        let (sa, keys) = (self.sa, &*self.sa.keys);
        let packet = p.bytes();
        let (esp, end) = place(packet, self.front)?;
        let header = packet.get(esp..)?.first_chunk::<HEADER>()?;
        let enciphered = end.checked_sub(esp + HEADER + keys.iv() + keys.icv())?;
        if enciphered < TRAILER || enciphered % keys.cipher.algorithm.block != 0 {
            return None;
        }
        let low = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let number = sa.number_of(low)?;
        if sa.config.has_anti_replay && self.count > 0 && number <= self.top {
            return None;
        }
        if sa.config.has_esn {
            let received = &sa.state.received;
            let later = received.whole_behind(self.top, low, sa.config.has_anti_replay);
            if later != Some(number) {
                return None;
            }
        }
        self.top = self.top.max(number);
        *self.numbers.get_mut(self.count)? = number;
        self.places[self.count] = (esp as u16, end as u16);
        self.count += 1;
        Some(())
    }
    /// Number of packets in the run.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }
    /// Verifies and decrypts the packets; returns a bit for each valid packet.
    #[inline(never)]
    pub fn open(&self, packets: Together<'_>) -> u64 {
        match self.suite {
            Suite::Aead => self.open_aead(packets),
            Suite::Hashed => self.open_hashed(packets),
        }
    }
    /// The content of the decrypted packet at an index of the run, and its sequence number.
    #[inline(always)]
    pub fn opened(&self, at: usize, p: &Buffer<'_>, right: u64) -> (Result<Opened, Flaw>, u64) {
        let keys = &*self.sa.keys;
        let wrong = if self.suite == Suite::Aead { Flaw::Decryption } else { Flaw::Integrity };
        let (Some(&(esp, end)), Some(&number)) = (self.places.get(at), self.numbers.get(at)) else {
            return (Err(Flaw::Runt), 0);
        };
        if right >> at & 1 == 0 {
            return (Err(wrong), number);
        }
        (keys.opened(p.bytes().get(..end.into()).unwrap_or(&[]), esp.into()), number)
    }
    fn open_aead(&self, packets: Together<'_>) -> u64 {
        let keys = &*self.sa.keys;
        let [a, b, c, d] = keys.salt;
        let mut jobs: [Job<'_>; MOST] = std::array::from_fn(|_| Job::default());
        for (at, ((_, packet), job)) in packets.zip(&mut jobs).enumerate() {
            let ((esp, end), number) = (self.places[at], self.numbers[at]);
            let Some(bytes) = packet.into_bytes().get_mut(esp.into()..end.into()) else { continue };
            let Some((bytes, tag)) = bytes.split_last_chunk_mut::<TAG>() else { continue };
            let Some((header, data)) = bytes.split_at_mut_checked(HEADER + keys.iv()) else {
                continue;
            };
            let [.., e, f, g, h, i, j, k, l] = *header else { continue };
            job.nonce = [a, b, c, d, e, f, g, h, i, j, k, l];
            job.aad[..HEADER].copy_from_slice(&header[..HEADER]);
            job.aad_len = HEADER as u8;
            if keys.has_esn {
                job.aad[4..].copy_from_slice(&number.to_be_bytes());
                job.aad_len += 4;
            }
            (job.data, job.tag) = (data, *tag);
        }
        keys.cipher.open_each(&mut jobs[..self.count]).unwrap_or(0)
    }
    fn open_hashed(&self, packets: Together<'_>) -> u64 {
        let (keys, icv) = (&*self.sa.keys, self.sa.keys.icv());
        let upper = if keys.has_esn { 4 } else { 0 };
        let mut bodies: [Body<'_>; MOST] =
            std::array::from_fn(|_| Body { bytes: &mut [], end: 0, icv: [0; MOST_ICV] });
        for (at, ((_, packet), body)) in packets.zip(&mut bodies).enumerate() {
            let ((esp, end), number) = (self.places[at], self.numbers[at]);
            let Some(bytes) = packet.into_bytes().get_mut(esp.into()..end.into()) else { continue };
            let end = bytes.len() - icv;
            body.icv[..icv].copy_from_slice(&bytes[end..]);
            // The upper half is hashed in the place of the check value.
            bytes[end..end + upper].copy_from_slice(&keys.upper(number).0[..upper]);
            (body.bytes, body.end) = (bytes, end);
        }
        let bodies = &mut bodies[..self.count];
        let mut messages: [&[u8]; MOST] = [&[]; MOST];
        for (message, body) in messages.iter_mut().zip(&*bodies) {
            *message = &body.bytes[..body.end + upper];
        }
        let mut right = 0;
        keys.mac.hash_each(&messages[..self.count], |at, hash| {
            right |= u64::from(are_equal(&hash[..icv], &bodies[at].icv[..icv])) << at;
        });
        for (at, body) in bodies.iter_mut().enumerate() {
            let (front, hash) = body.bytes.split_at_mut(body.end);
            hash.copy_from_slice(&body.icv[..icv]);
            if right >> at & 1 != 0 {
                let (header, data) = front.split_at_mut(HEADER + keys.iv());
                keys.decipher(&header[HEADER..], data);
            }
        }
        right
    }
}
