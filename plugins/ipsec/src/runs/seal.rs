//! Encryption of runs (RFC 4303 section 3.3).

use crypto::{Job, MAX_IV, Mode, TAG};
use graph::Together;
use net::prelude::*;

use super::leave::Leave;
use super::{MOST, MOST_ICV, Suite, UNUSUAL};
use crate::esp::{ALIGNMENT, HEADER, TRAILER};
use crate::outside::Inside;
use crate::sa::Sa;
use crate::seal::{KEPT, LONGEST};

/// Padding bytes.
const PADDING: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
/// Protocols after a plain IPv6 header that is kept.
const PLAIN: [Protocol; 6] =
    [Protocol::IP4, Protocol::IP6, Protocol::GRE, Protocol::UDP, Protocol::TCP, Protocol::ICMP6];

/// The IP headers of a run's packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Tunnel mode: the packets are encrypted completely.
    Tunnel,
    /// An IPv4 header of 20 bytes is kept.
    Ip4,
    /// An IPv6 header of 40 bytes is kept.
    Ip6,
}

/// Similar packets of one SA.
#[derive(Clone, Copy)]
pub struct Run<'e> {
    sa: &'e Sa,
    suite: Suite,
    /// Length of the layer 2 header in front in bytes.
    front: usize,
    /// Whether the TTL has not been decremented yet.
    is_bare: bool,
    kind: Kind,
    /// Number of bytes in front that are kept.
    keep: usize,
    /// Number of bytes that are prepended.
    grows: usize,
}

/// A packet with all headers and trailers, ready for encryption.
struct Body<'a> {
    /// The bytes from the ESP header to the end.
    bytes: &'a mut [u8],
    /// End of the ciphertext.
    end: usize,
}

impl<'e> Run<'e> {
    /// Starts a run with a packet; `None` if it has to be encrypted alone.
    #[inline(always)]
    pub fn begin(p: &Buffer<'_>, sa: &'e Sa, (front, is_bare): (usize, bool)) -> Option<Self> {
        let suite = sa.suite?;
        let kind = match p.bytes().get(front)? {
            _ if sa.outside.is_tunnel() => Kind::Tunnel,
            0x45 => Kind::Ip4,
            first if first >> 4 == 6 => Kind::Ip6,
            _ => return None,
        };
        let keep = match kind {
            Kind::Tunnel => 0,
            Kind::Ip4 => front + size_of::<ip4::Header>(),
            Kind::Ip6 => front + size_of::<ip6::Header>(),
        };
        let grows = sa.outside.len() + HEADER + sa.keys.iv();
        let run = Self { sa, suite, front, is_bare, kind, keep, grows };
        run.has(p).then_some(run)
    }
    /// Whether a packet of the SA belongs to the run.
    #[inline(always)]
    pub fn has(&self, p: &Buffer<'_>) -> bool {
        // Longest trailer of a packet.
        const BEHIND: usize = MAX_IV + TRAILER + MOST_ICV;
        let packet = p.bytes().get(self.front..).unwrap_or(&[]);
        let is_alike = match (self.kind, packet.first()) {
            (Kind::Ip4, Some(0x45)) => packet.len() >= size_of::<ip4::Header>(),
            (Kind::Ip6, _) => ip6::Header::ref_from_prefix(packet)
                .is_ok_and(|(h, _)| h.version() == 6 && PLAIN.contains(&h.next_header)),
            (Kind::Tunnel, Some(first)) => match first >> 4 {
                4 => packet.len() >= size_of::<ip4::Header>(),
                6 => packet.len() >= size_of::<ip6::Header>(),
                _ => false,
            },
            _ => false,
        };
        let skip = if self.kind == Kind::Tunnel { self.front } else { 0 };
        let has_room = p.tailroom() >= BEHIND && p.headroom() + skip >= self.grows + KEPT;
        is_alike & has_room & !p.flags().has(UNUSUAL) & (p.len() + BEHIND + self.grows <= LONGEST)
    }
    /// Encrypts the packets of the run; `None`, without a change, if the sequence numbers are
    /// exhausted. Compiled once, as the expensive parts are compiled for each processor anyway.
    #[inline(never)]
    pub fn seal(
        &self,
        packets: Together<'_>,
        count: usize,
        leave: &mut Leave<'_>,
    ) -> Option<Volume> {
        debug_assert!(count <= MOST, "a run is short");
        let (count, state) = (count as u64, &self.sa.state);
        let number = state.sent.take_run(count, self.sa.most())?;
        let unique = state.unique.take_run(count, u64::MAX)?;
        let mut done = Volume { packets: count, bytes: 0 };
        match self.suite {
            Suite::Aead => self.seal_aead(packets, (number, unique), (leave, &mut done)),
            Suite::Hashed => self.seal_hashed(packets, (number, unique), (leave, &mut done)),
        }
        Some(done)
    }
    fn seal_aead(
        &self,
        packets: Together<'_>,
        (mut number, mut unique): (u64, u64),
        (leave, done): (&mut Leave<'_>, &mut Volume),
    ) {
        let keys = &*self.sa.keys;
        let (spi, [a, b, c, d]) = (self.sa.config.spi.to_be_bytes(), keys.salt);
        let aad_len = if keys.has_esn { 12 } else { 8 };
        let mut jobs: [Job<'_>; MOST] = std::array::from_fn(|_| Job::default());
        let mut icvs: [&mut [u8]; MOST] = std::array::from_fn(|_| &mut [][..]);
        let mut count = 0;
        for (_, mut packet) in packets.take(MOST) {
            done.bytes += (packet.packet.len() - self.front) as u64;
            // One that nothing was put around takes the drop edge.
            let end = self.put_around(&mut packet.packet, number, unique);
            let Some(end) = end.filter(|end| end + TAG <= packet.packet.len()) else { continue };
            leave.leave(&mut packet);
            let bytes = packet.into_bytes();
            let start = bytes.len() - end - TAG;
            let (data, tag) = bytes[start..].split_at_mut(end);
            let job = &mut jobs[count];
            let [.., s, t, u, v] = number.to_be_bytes();
            let [e, f, g, h, i, j, k, l] = unique.to_be_bytes();
            job.nonce = [a, b, c, d, e, f, g, h, i, j, k, l];
            job.aad[..4].copy_from_slice(&spi);
            job.aad[4..8].copy_from_slice(&[s, t, u, v]);
            if keys.has_esn {
                job.aad[4..].copy_from_slice(&number.to_be_bytes());
            }
            (job.aad_len, job.data) = (aad_len, &mut data[HEADER + keys.iv()..]);
            icvs[count] = tag;
            (number, unique, count) = (number + 1, unique + 1, count + 1);
        }
        let are_sealed = keys.cipher.seal_each(&mut jobs[..count]);
        assert!(are_sealed, "packets are short enough for any cipher");
        for (icv, job) in icvs.iter_mut().zip(&jobs[..count]) {
            icv.copy_from_slice(&job.tag);
        }
    }
    fn seal_hashed(
        &self,
        packets: Together<'_>,
        (mut number, mut unique): (u64, u64),
        (leave, done): (&mut Leave<'_>, &mut Volume),
    ) {
        let (keys, icv) = (&*self.sa.keys, self.sa.keys.icv());
        let mut bodies: [Body<'_>; MOST] = std::array::from_fn(|_| Body { bytes: &mut [], end: 0 });
        let (mut count, upper) = (0, if keys.has_esn { 4 } else { 0 });
        for (_, mut packet) in packets.take(MOST) {
            done.bytes += (packet.packet.len() - self.front) as u64;
            // One that nothing was put around takes the drop edge.
            let end = self.put_around(&mut packet.packet, number, unique);
            let Some(end) = end.filter(|end| end + icv <= packet.packet.len()) else { continue };
            leave.leave(&mut packet);
            let bytes = packet.into_bytes();
            let start = bytes.len() - end - icv;
            let body = &mut bodies[count];
            *body = Body { bytes: &mut bytes[start..], end };
            // The upper half is hashed in the place of the check value.
            body.bytes[end..end + upper].copy_from_slice(&keys.upper(number).0[..upper]);
            (number, unique, count) = (number + 1, unique + 1, count + 1);
        }
        let bodies = &mut bodies[..count];
        match keys.cipher.algorithm.mode {
            Mode::Cbc => {
                let data = bodies.iter_mut().map(|body| &mut body.bytes[HEADER..body.end]);
                keys.cipher.encrypt_each(data);
            }
            Mode::Ctr => bodies.iter_mut().for_each(|body| {
                let (front, data) = body.bytes[..body.end].split_at_mut(HEADER + keys.iv());
                keys.cipher.encrypt(&keys.first_block(&front[HEADER..]), data);
            }),
            _ => (),
        }
        let mut messages: [&[u8]; MOST] = [&[]; MOST];
        for (message, body) in messages.iter_mut().zip(&*bodies) {
            *message = &body.bytes[..body.end + upper];
        }
        let mut hashes = [[0; MOST_ICV]; MOST];
        keys.mac.hash_each(&messages[..count], |at, hash| {
            hashes[at][..icv].copy_from_slice(&hash[..icv]);
        });
        for (body, hash) in bodies.iter_mut().zip(&hashes) {
            body.bytes[body.end..].copy_from_slice(&hash[..icv]);
        }
    }
    /// Adds headers and trailer to a packet, except the check value; returns the length from the
    /// ESP header to the end of the ciphertext.
    #[inline(always)]
    fn put_around(&self, p: &mut Buffer<'_>, number: u64, unique: u64) -> Option<usize> {
        let (sa, keys) = (self.sa, &*self.sa.keys);
        if self.is_bare && !p.flags().has(graph::Flags::LOCAL) {
            match self.kind {
                Kind::Ip6 => V6::spend_hop(p),
                Kind::Tunnel if p.bytes().first()? >> 4 == 6 => V6::spend_hop(p),
                _ => V4::spend_hop(p),
            }
        }
        let packet = p.bytes().get(self.front..)?;
        let (inside, next_header) = match self.kind {
            Kind::Tunnel if *packet.first()? >> 4 == 6 => (Inside::of(packet), Protocol::IP6.0),
            Kind::Tunnel => (Inside::of(packet), Protocol::IP4.0),
            Kind::Ip4 => (Inside::default(), *packet.get(9)?),
            Kind::Ip6 => (Inside::default(), *packet.get(ip6::NEXT_HEADER)?),
        };
        let skip = if self.kind == Kind::Tunnel { self.front } else { 0 };
        let payload = p.len() - self.keep - skip;
        let block = keys.cipher.algorithm.block.max(ALIGNMENT);
        let padding = (payload + TRAILER).wrapping_neg() & (block - 1);
        let behind = padding + TRAILER + keys.icv();
        p.advance(skip)?;
        let tail = p.append_with(behind)?;
        match tail.first_chunk_mut::<{ PADDING.len() }>() {
            Some(room) => *room = PADDING,
            None => tail[..padding].copy_from_slice(&PADDING[..padding]),
        }
        [tail[padding], tail[padding + 1]] = [padding as u8, next_header];
        p.prepend(self.grows)?;
        let (keep, grows) = (self.keep, self.grows);
        let bytes = p.bytes_mut();
        match self.kind {
            Kind::Tunnel => (),
            Kind::Ip4 if self.front == 0 => {
                move_front::<{ size_of::<ip4::Header>() }>(bytes, grows)
            }
            Kind::Ip6 if self.front == 0 => {
                move_front::<{ size_of::<ip6::Header>() }>(bytes, grows)
            }
            _ => bytes.copy_within(grows..grows + keep, 0),
        }
        sa.outside.write(bytes, keep, &inside)?;
        if self.kind != Kind::Tunnel {
            self.announce(bytes)?;
        }
        let esp = keep + sa.outside.len();
        let header = bytes.get_mut(esp..)?.first_chunk_mut::<HEADER>()?;
        let ([a, b, c, d], [.., s, t, u, v]) = (sa.config.spi.to_be_bytes(), number.to_be_bytes());
        *header = [a, b, c, d, s, t, u, v];
        let iv = bytes.get_mut(esp + HEADER..esp + HEADER + keys.iv())?;
        if let Some((zeros, vector)) = iv.split_last_chunk_mut::<8>() {
            // The vector of CBC is encrypted with the packet as its first block.
            zeros.fill(0);
            *vector = unique.to_be_bytes();
        }
        Some(HEADER + keys.iv() + payload + padding + TRAILER)
    }
    /// Updates the IP header that is kept.
    #[inline(always)]
    fn announce(&self, bytes: &mut [u8]) -> Option<()> {
        let has_udp = self.sa.outside.has_udp();
        let protocol = if has_udp { Protocol::UDP } else { self.sa.config.protocol };
        let packet = bytes.get_mut(self.front..)?;
        let total = packet.len();
        if self.kind == Kind::Ip6 {
            let (ip, _) = ip6::Header::mut_from_prefix(packet).ok()?;
            ip.next_header = protocol;
            ip.payload_len = ((total - size_of::<ip6::Header>()) as u16).into();
            return Some(());
        }
        let (ip, _) = ip4::Header::mut_from_prefix(packet).ok()?;
        (ip.protocol, ip.total_len) = (protocol, (total as u16).into());
        ip.update_checksum();
        Some(())
    }
}

/// Moves a header to the front.
#[inline(always)]
fn move_front<const LEN: usize>(bytes: &mut [u8], from: usize) {
    let header = bytes.get(from..).and_then(<[u8]>::first_chunk::<LEN>).copied();
    if let (Some(header), Some(place)) = (header, bytes.first_chunk_mut::<LEN>()) {
        *place = header;
    }
}
