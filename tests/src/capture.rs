//! Capture files: reading frames, and what an independent decoder thinks of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::text_of;

/// The frames of a classic little-endian capture file.
///
/// # Panics
/// When it is none.
pub fn frames(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(bytes[..4], 0xa1b2_c3d4_u32.to_le_bytes(), "magic of {}", path.display());
    let mut frames = Vec::new();
    let mut rest = &bytes[24..];
    while let Some((head, tail)) = rest.split_first_chunk::<16>() {
        let len = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        let (frame, tail) = tail.split_at(len as usize);
        frames.push(frame.to_vec());
        rest = tail;
    }
    assert!(rest.is_empty(), "a record of {} is cut", path.display());
    frames
}

/// Writes frames to a capture file, all of one time.
///
/// # Panics
/// When the file cannot be written.
pub fn write(path: &Path, frames: &[Vec<u8>]) {
    let header = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 0xffff, 1_u32];
    let mut bytes: Vec<_> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for frame in frames {
        let len = frame.len() as u32;
        bytes.extend([0, 0, len, len].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend(frame);
    }
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The frame as a router must send it on: TTL or hop limit one less, new header checksum, these MAC
/// addresses.
///
/// # Panics
/// When it is neither IPv4 nor IPv6.
pub fn routed(frame: &[u8], dst: [u8; 6], src: [u8; 6]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[..6].copy_from_slice(&dst);
    frame[6..12].copy_from_slice(&src);
    match u16::from_be_bytes([frame[12], frame[13]]) {
        0x0800 => {
            frame[22] -= 1;
            frame[24..26].fill(0);
            let words = frame[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
            let sum: u32 = words.sum();
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        0x86dd => frame[21] -= 1,
        other => panic!("EtherType {other:#06x}"),
    }
    frame
}

/// One line for each frame, as tshark sums it up; checksums are checked.
///
/// # Panics
/// When tshark finds something malformed or a bad checksum.
pub fn decoded(path: &Path) -> Vec<String> {
    let bad = "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == 0 \
               || tcp.checksum.status == 0 || udp.checksum.status == 0 \
               || icmp.checksum.status == 0 || icmpv6.checksum.status == 0";
    let complaints = tshark(path, &["-Y", bad, "-V"]);
    assert!(complaints.is_empty(), "tshark complains:\n{}", complaints.join("\n"));
    tshark(path, &[])
}

fn tshark(path: &Path, more: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path);
    for protocol in ["ip", "tcp", "udp"] {
        command.arg("-o").arg(format!("{protocol}.check_checksum:TRUE"));
    }
    let output = command.args(more).output().expect("tshark can be run");
    assert!(output.status.success(), "tshark failed:\n{}", text_of(&output));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}
