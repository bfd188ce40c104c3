//! Capture files in the classic format (draft-ietf-opsawg-pcap): reading all kinds, writing ours.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::path::Path;

/// Frames of Ethernet.
pub const ETHERNET: u32 = 1;
/// IP packets without a layer 2 header, by the number that clients expect.
pub const RAW: u32 = 12;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const NEXT_GENERATION: u32 = 0x0a0d_0d0a;
const HEADER: usize = 24;
const RECORD: usize = 16;
/// Longest packet that is read and most that is written of one, in bytes.
pub const SNAP_LENGTH: usize = 65_536;

/// Reasons why a file cannot be read as packets.
#[derive(Debug)]
pub enum Error {
    /// The system's.
    Io(io::Error),
    /// The file has no bytes.
    Empty,
    /// The file starts with something else.
    NotPcap,
    /// The newer format, which is not read.
    NextGeneration,
    /// The file ends inside a record; the number of the packet, from 1;
    /// 0 for the file's own header.
    Truncated(usize),
    /// A packet longer than any may be, its number and length in bytes.
    TooLong(usize, u32),
    /// A file without a packet.
    NoPackets,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => f.write_str(&control::cli::io_text(e)),
            Self::Empty => f.write_str("the file is empty"),
            Self::NotPcap => f.write_str("not a pcap file"),
            Self::NextGeneration => f.write_str("a pcapng file: only classic pcap is supported"),
            Self::Truncated(0) => f.write_str("truncated file header"),
            Self::Truncated(n) => write!(f, "truncated in packet {n}"),
            Self::TooLong(n, len) => write!(f, "packet {n} claims {len} bytes"),
            Self::NoPackets => f.write_str("no packets"),
        }
    }
}

/// Whether a file that begins with these bytes is a capture, of either format.
pub fn is_capture(beginning: &[u8]) -> bool {
    beginning.first_chunk().is_some_and(|magic| {
        let known = [MICROSECONDS, NANOSECONDS, NEXT_GENERATION];
        known.contains(&u32::from_le_bytes(*magic)) || known.contains(&u32::from_be_bytes(*magic))
    })
}

/// Reads a file and hands its packets on, in order.
///
/// # Errors
/// A file that is not what it should be, wholly.
pub fn read(path: &Path, mut packet: impl FnMut(&[u8])) -> Result<(), Error> {
    // A pipe or a device might never end.
    if !std::fs::metadata(path).map_err(Error::Io)?.is_file() {
        return Err(Error::NotPcap);
    }
    let bytes = std::fs::read(path).map_err(Error::Io)?;
    parse(&bytes, &mut packet)
}

fn parse(bytes: &[u8], packet: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
    let (magic, _) = bytes.split_first_chunk().ok_or(match bytes {
        [] => Error::Empty,
        _ => Error::NotPcap,
    })?;
    let little = match (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)) {
        (MICROSECONDS | NANOSECONDS, _) => true,
        (_, MICROSECONDS | NANOSECONDS) => false,
        (_, NEXT_GENERATION) => return Err(Error::NextGeneration),
        _ => return Err(Error::NotPcap),
    };
    let number = |bytes: &[u8], at: usize| {
        let bytes: [u8; 4] = bytes.get(at..)?.first_chunk().copied()?;
        Some(if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    let mut rest = bytes.get(HEADER..).ok_or(Error::Truncated(0))?;
    let mut count = 0;
    while !rest.is_empty() {
        count += 1;
        let len = number(rest, 8).ok_or(Error::Truncated(count))?;
        if len as usize > SNAP_LENGTH {
            return Err(Error::TooLong(count, len));
        }
        let end = RECORD + len as usize;
        packet(rest.get(RECORD..end).ok_or(Error::Truncated(count))?);
        rest = &rest[end..];
    }
    if count == 0 { Err(Error::NoPackets) } else { Ok(()) }
}

/// The start of a file with packets of a link type, little-endian, times in microseconds.
pub fn header(link: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&MICROSECONDS.to_le_bytes());
    header[4..8].copy_from_slice(&[2, 0, 4, 0]);
    header[16..20].copy_from_slice(&(SNAP_LENGTH as u32).to_le_bytes());
    header[20..].copy_from_slice(&link.to_le_bytes());
    header
}

/// Appends a packet of `len` bytes, of which there are `parts`, seen at `seconds` since 1970.
pub fn append<'a>(
    out: &mut Vec<u8>,
    seconds: f64,
    len: usize,
    parts: impl Iterator<Item = &'a [u8]>,
) {
    append_most(out, seconds, (len, SNAP_LENGTH), parts);
}

/// The same, with at most `most` bytes of the packet.
pub fn append_most<'a>(
    out: &mut Vec<u8>,
    seconds: f64,
    (len, most): (usize, usize),
    parts: impl Iterator<Item = &'a [u8]>,
) {
    let seconds = seconds.max(0.0);
    let start = out.len();
    out.extend([0; RECORD]);
    parts.for_each(|part| out.extend_from_slice(part));
    out.truncate(start + RECORD + most.min(SNAP_LENGTH));
    let kept = out.len() - start - RECORD;
    let words = [seconds as u32, (seconds.fract() * 1e6) as u32, kept as u32, len as u32];
    for (to, word) in out[start..].chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packets(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut all = Vec::new();
        parse(bytes, &mut |p| all.push(p.to_vec())).map_err(|e| e.to_string())?;
        Ok(all)
    }

    fn file(packets: &[&[u8]]) -> Vec<u8> {
        let mut out = header(ETHERNET).to_vec();
        packets.iter().for_each(|p| append(&mut out, 1.5, p.len(), std::iter::once(*p)));
        out
    }

    #[test]
    fn what_is_written_is_read() {
        let out = file(&[b"one", b"", b"three"]);
        assert_eq!(out[..8], [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
        assert_eq!(out[24..40], [1, 0, 0, 0, 0x20, 0xa1, 7, 0, 3, 0, 0, 0, 3, 0, 0, 0]);
        let read = packets(&out).unwrap();
        assert_eq!(read, [b"one".to_vec(), vec![], b"three".to_vec()]);
    }

    #[test]
    fn big_endian_and_nanoseconds_are_read() {
        for magic in [MICROSECONDS, NANOSECONDS] {
            let words = [magic, 0x0002_0004, 0, 0, 65535, RAW, 1, 2, 2, 2];
            let mut big: Vec<_> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
            big.extend(b"ab");
            assert_eq!(packets(&big).unwrap(), [b"ab"]);
        }
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        let whole = file(&[b"one", b"two"]);
        let refused = |bytes: &[u8]| packets(bytes).unwrap_err();
        assert_eq!(refused(b""), "the file is empty");
        assert_eq!(refused(b"abc"), "not a pcap file");
        assert_eq!(refused(b"#!/bin/sh\n"), "not a pcap file");
        assert_eq!(
            refused(&[0x0a, 0x0d, 0x0d, 0x0a, 0, 0]),
            "a pcapng file: only classic pcap is supported"
        );
        assert_eq!(refused(&whole[..23]), "truncated file header");
        assert_eq!(refused(&whole[..24]), "no packets");
        assert_eq!(refused(&whole[..42]), "truncated in packet 1");
        assert_eq!(refused(&whole[..50]), "truncated in packet 2");
        let mut long = whole;
        long[34] = 2;
        assert_eq!(refused(&long), "packet 1 claims 131075 bytes");
        assert_eq!(
            read(Path::new("/nonexistent"), |_| ()).unwrap_err().to_string(),
            "No such file or directory"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(mut bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = packets(&bytes);
            if bytes.len() > 4 {
                bytes[..4].copy_from_slice(&MICROSECONDS.to_le_bytes());
                let _ = packets(&bytes);
            }
        }
    }
}
