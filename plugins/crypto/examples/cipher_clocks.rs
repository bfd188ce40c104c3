//! Prints the time-stamp clocks that ciphers and keyed hashes take for a packet: one at a time, and
//! 64 together, the lowest of many rounds.
//!
//! `taskset -c 1 cargo run --release -p crypto --example cipher_clocks`

use std::hint::black_box;

use crypto::{CIPHERS, Cipher, Job, MACS, MAX_IV, Mac, TAG};

/// Packets of a round.
const PACKETS: usize = 64;
/// Rounds.
const ROUNDS: usize = 2000;
/// Bytes that ESP enciphers of frames of 64, 512 and 1,400 bytes, and of one between.
const LENGTHS: [usize; 4] = [64, 128, 512, 1408];

/// The lowest clocks a packet of many rounds.
fn clocks(mut round: impl FnMut()) -> f64 {
    let now = || infra::cpu::time_stamp().unwrap_or_default();
    let one = |_| {
        let start = now();
        round();
        now() - start
    };
    (0..ROUNDS).map(one).min().unwrap_or(0) as f64 / PACKETS as f64
}

fn row(name: &str, len: usize, alone: f64, together: f64) {
    println!("| {name} | {len} | {alone:.1} | {together:.1} |");
}

fn aead(name: &str, len: usize) {
    let algorithm = CIPHERS.into_iter().find(|c| c.name == name).expect("one of those there are");
    let cipher = Cipher::new(algorithm, &vec![7; algorithm.key]).expect("a key of its length");
    let mut packets = vec![vec![5_u8; len]; PACKETS];
    let alone = clocks(|| {
        for packet in &mut packets {
            black_box(cipher.seal(&[3; 12], &[9; 8], packet));
        }
    });
    let mut jobs: Vec<_> = packets
        .iter_mut()
        .map(|data| Job { nonce: [3; 12], aad: [9; 12], aad_len: 8, data, tag: [0; TAG] })
        .collect();
    let together = clocks(|| {
        black_box(cipher.seal_each(&mut jobs));
    });
    row(name, len, alone, together);
    if cipher.open_each(&mut []).is_some() {
        let together = clocks(|| {
            black_box(cipher.open_each(&mut jobs));
        });
        row(&format!("{name}, opened"), len, f64::NAN, together);
    }
}

fn cbc(name: &str, len: usize) {
    let algorithm = CIPHERS.into_iter().find(|c| c.name == name).expect("one of those there are");
    let cipher = Cipher::new(algorithm, &vec![7; algorithm.key]).expect("a key of its length");
    let mut packets = vec![vec![5_u8; len]; PACKETS];
    let alone = clocks(|| packets.iter_mut().for_each(|p| cipher.encrypt(&[0; MAX_IV], p)));
    let together = clocks(|| cipher.encrypt_each(packets.iter_mut().map(|p| &mut p[..])));
    row(name, len, alone, together);
    let opened = clocks(|| packets.iter_mut().for_each(|p| cipher.decrypt(&[0; MAX_IV], p)));
    row(&format!("{name}, opened"), len, opened, f64::NAN);
}

fn mac(name: &str, len: usize) {
    let algorithm = MACS.into_iter().find(|m| m.name == name).expect("one of those there are");
    let mac = Mac::new(algorithm, &[7; 20]);
    let packets = vec![vec![5_u8; len]; PACKETS];
    let all: Vec<&[u8]> = packets.iter().map(|p| &p[..]).collect();
    let alone = clocks(|| {
        for packet in &all {
            black_box(mac.hash(&[packet]));
        }
    });
    let together = clocks(|| mac.hash_each(&all, |_, hash| assert!(!black_box(hash).is_empty())));
    row(name, len, alone, together);
}

fn main() {
    println!("| algorithm | bytes | alone | 64 together |\n|---|---|---|---|");
    for len in LENGTHS {
        for name in ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"] {
            aead(name, len);
        }
        cbc("aes-128-cbc", len);
        for name in ["sha1-96", "sha-256-128", "sha-512-256"] {
            mac(name, len);
        }
    }
}
