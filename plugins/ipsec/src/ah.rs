//! AH for contiguous packets that begin with the IP header (RFC 4302).

use net::prelude::*;
use wire::ip6::Extension;

use super::esp::{Flaw, Keys, Opened};

/// Length of the header before the integrity check value in bytes.
const FIXED: usize = 12;
/// Offset of the SPI.
pub const SPI_AT: usize = 4;
/// Offset of the sequence number.
const NUMBER_AT: usize = 8;
/// Longest headers in front in bytes: an IPv6 header with extension headers.
const MOST_IN_FRONT: usize = 256;
/// Zeros for a pending integrity check value.
const ZEROS: [u8; 64] = [0; 64];

/// Length of the header for these keys in bytes: a multiple of 4 over IPv4, of 8 over IPv6.
pub fn header_len(keys: &Keys, is_6: bool) -> usize {
    (FIXED + keys.icv()).next_multiple_of(if is_6 { 8 } else { 4 })
}

/// Lower half of the sequence number in the header at `at`.
pub fn number(packet: &[u8], at: usize) -> Option<u32> {
    let bytes = packet.get(at + NUMBER_AT..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// The headers in front as authenticated: mutable fields are zeros (section 3.3.3.1).
struct Front {
    bytes: [u8; MOST_IN_FRONT],
    len: usize,
}

impl Front {
    /// `None` if they are too long, or would be changed by routers on the path.
    fn of(headers: &[u8]) -> Option<Self> {
        let (mut bytes, len) = ([0; MOST_IN_FRONT], headers.len());
        let copy = bytes.get_mut(..len)?;
        copy.copy_from_slice(headers);
        match copy.first()? >> 4 {
            4 => clear_4(copy)?,
            _ => clear_6(headers, copy)?,
        }
        Some(Self { bytes, len })
    }
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

fn clear_4(header: &mut [u8]) -> Option<()> {
    let (ip, mut options) = ip4::Header::mut_from_prefix(header).ok()?;
    (ip.tos, ip.ttl) = (0, 0);
    (ip.fragment, ip.checksum) = (0.into(), 0.into());
    // Immutable options (appendix A1): security options, router alert, multi-destination.
    let stays = |kind: u8| matches!(kind, 130 | 133 | 134 | 148 | 149);
    while let Some(kind) = options.first().copied().filter(|kind| *kind != 0) {
        let len = if kind == 1 { 1 } else { usize::from(*options.get(1)?).max(2) };
        let (option, rest) = options.split_at_mut_checked(len)?;
        if kind != 1 && !stays(kind) {
            option.fill(0);
        }
        options = rest;
    }
    Some(())
}

fn clear_6(headers: &[u8], copy: &mut [u8]) -> Option<()> {
    let (ip, _) = ip6::Header::mut_from_prefix(copy).ok()?;
    (ip.version_class_flow, ip.hop_limit) = ((6 << 28).into(), 0);
    for Extension { protocol, offset, len, .. } in ip6::extensions(headers) {
        let Some(part) = copy.get_mut(offset..offset + len) else { break };
        match protocol {
            Protocol::HOP_BY_HOP | Protocol::DESTINATION_OPTIONS => {
                clear_options(part.get_mut(2..)?)?
            }
            // The destination sees the addresses in another order than routers before it.
            Protocol::ROUTING if *part.get(3)? != 0 => return None,
            _ => (),
        }
    }
    Some(())
}

/// Zeroes options that may change on the path, except for their type and length.
fn clear_options(mut options: &mut [u8]) -> Option<()> {
    const CHANGES: u8 = 0x20;
    while let Some(kind) = options.first().copied() {
        let len = if kind == 0 { 1 } else { 2 + usize::from(*options.get(1)?) };
        let (option, rest) = options.split_at_mut_checked(len)?;
        if kind & CHANGES != 0 {
            option.get_mut(2..)?.fill(0);
        }
        options = rest;
    }
    Some(())
}

/// Authenticates a packet: `packet` begins with its IP header, whose protocol is AH, and has space
/// for the AH header at `at`. `None` if lengths do not fit.
pub fn sign(
    keys: &Keys,
    packet: &mut [u8],
    at: usize,
    (next_header, spi): (u8, u32),
    number: u64,
) -> Option<()> {
    let (front, rest) = packet.split_at_mut_checked(at)?;
    let front = Front::of(front)?;
    let is_6 = front.bytes().first()? >> 4 == 6;
    let (header, payload) = rest.split_at_mut_checked(header_len(keys, is_6))?;
    let words = (header.len() / 4) as u8;
    header.fill(0);
    header.get_mut(..2)?.copy_from_slice(&[next_header, words - 2]);
    header.get_mut(SPI_AT..NUMBER_AT)?.copy_from_slice(&spi.to_be_bytes());
    header.get_mut(NUMBER_AT..FIXED)?.copy_from_slice(&(number as u32).to_be_bytes());
    let (upper, len) = keys.upper(number);
    let hash = keys.mac.hash(&[front.bytes(), header, payload, upper.get(..len)?]);
    let icv = header.get_mut(FIXED..FIXED + keys.icv())?;
    icv.copy_from_slice(hash.get(..icv.len())?);
    Some(())
}

/// Verifies a packet that begins with its IP header and has AH at `at`.
///
/// # Errors
/// The flaw of the packet.
pub fn verify(keys: &Keys, packet: &[u8], at: usize, number: u64) -> Result<Opened, Flaw> {
    let (front, rest) = packet.split_at_checked(at).ok_or(Flaw::Length)?;
    let [next_header, words] = *rest.first_chunk().ok_or(Flaw::Length)?;
    let len = (usize::from(words) + 2) * 4;
    let (header, payload) = rest.split_at_checked(len).ok_or(Flaw::Length)?;
    let (fixed, icv) = header.split_at_checked(FIXED).ok_or(Flaw::Length)?;
    let (icv, padding) = icv.split_at_checked(keys.icv()).ok_or(Flaw::Integrity)?;
    let front = Front::of(front).ok_or(Flaw::Integrity)?;
    let (upper, upper_len) = keys.upper(number);
    let zeros = ZEROS.get(..icv.len()).ok_or(Flaw::Integrity)?;
    let upper = upper.get(..upper_len).unwrap_or(&[]);
    let parts = [front.bytes(), fixed, zeros, padding, payload, upper];
    if !keys.mac.verify(&parts, icv) {
        return Err(Flaw::Integrity);
    }
    Ok(Opened { start: at + len, end: packet.len(), next_header })
}
