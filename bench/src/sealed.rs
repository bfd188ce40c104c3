//! Scenarios of IPsec: packets into protected IPIP tunnels (RFC 4303, transport mode) and out of
//! them. Those that arrive sealed are made here, by other code than the router's.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes128Gcm, KeyInit, Nonce};
use cbc::cipher::{BlockEncryptMut, KeyIvInit};
use hmac::{Hmac, Mac};

use crate::scenario::{ip4_stream, range, replay};
use crate::traffic::{MACS, Random, SEED, ip4_header, udp, write_packets};

const KEY: [u8; 16] = [0x5a; 16];
const MAC_KEY: [u8; 20] = [0xa5; 20];
/// Bytes in front of the vector of AES-GCM.
const SALT: [u8; 4] = [0, 0, 0, 7];
/// The association of the first tunnel by which packets arrive.
const SPI: u32 = 1 << 16;
/// Tunnels of the scenarios with many.
const MANY: u32 = 10_000;
/// First far end of these.
const FAR: u32 = 10 << 24 | 2 << 16;
const PROTOCOL_ESP: u8 = 50;
const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_IP4: u8 = 4;

/// A scenario, by its name.
#[derive(Clone, Copy)]
struct Kind {
    has_cbc: bool,
    is_many: bool,
    is_in: bool,
    /// Length of a frame in the clear.
    len: usize,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix("ipsec-")?;
        let len = name.split('-').find_map(|word| word.parse().ok()).unwrap_or(64);
        let (has_cbc, is_many) = (name.contains("cbc"), name.contains("10k"));
        Some(Self { has_cbc, is_many, is_in: name.ends_with("-in"), len })
    }
    /// Words of an association.
    fn suite(self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |s, b| s + &format!("{b:02x}"));
        let key = hex(&KEY);
        match self.has_cbc {
            false => format!("esp crypto-alg aes-gcm-128 crypto-key {key} salt 0x7"),
            true => format!(
                "esp crypto-alg aes-cbc-128 crypto-key {key} integ-alg sha1-96 integ-key {}",
                hex(&MAC_KEY)
            ),
        }
    }
    /// Tunnels, with routes into them.
    fn setup(self) -> String {
        let (suite, mut lines) = (self.suite(), String::new());
        for n in 0..if self.is_many { MANY } else { 1 } {
            let (near, far) = match (self.is_in, self.is_many) {
                (true, false) => ("10.0.0.1", address(10 << 24 | 2)),
                (true, true) => ("10.0.0.1", address(FAR + n)),
                (false, false) => ("10.0.1.1", address(10 << 24 | 1 << 8 | 2)),
                (false, true) => ("10.0.1.1", address(FAR + n)),
            };
            let (out, back, spi) = (2 * n + 1, 2 * n + 2, SPI + n);
            let _ = write!(
                lines,
                "create ipip tunnel src {near} dst {far}\n\
                 ipsec sa add {out} spi {spi} {suite}\n\
                 ipsec sa add {back} spi {spi} {suite} inbound\n\
                 ipsec tunnel protect ipip{n} sa-in {back} sa-out {out}\n\
                 set interface state ipip{n} up\n\
                 set interface unnumbered ipip{n} use pg1\n"
            );
            if !self.is_in {
                let _ = writeln!(lines, "ip route add {}/32 via ipip{n}", address((16 << 24) + n));
            }
        }
        if self.is_many {
            let by = if self.is_in { "10.0.0.2 pg0" } else { "10.0.1.2 pg1" };
            let _ = writeln!(lines, "ip route add 10.2.0.0/16 via {by}");
        }
        if self.is_in {
            lines.push_str("ip route add 16.0.0.0/8 via 10.0.1.2 pg1\n");
        }
        lines
    }
    /// A frame that arrives by tunnel `n`.
    fn frame(self, n: u32, random: &mut Random) -> Vec<u8> {
        let len = self.len - size_of_val(&MACS) - 2;
        let mut inner =
            ip4_header(PROTOCOL_UDP, len, [10 << 24 | 9 << 16 | 2, 16 << 24 | 1]).to_vec();
        inner.extend(udp((len - 20) as u16, 0));
        inner.resize(len, 0);
        let far = if self.is_many { FAR + n } else { 10 << 24 | 2 };
        let esp = self.seal(SPI + n, &inner, random);
        let ip = ip4_header(PROTOCOL_ESP, 20 + esp.len(), [far, 10 << 24 | 1]);
        [&MACS[..], &[8, 0], &ip, &esp].concat()
    }
    /// ESP of an IPv4 packet.
    fn seal(self, spi: u32, inner: &[u8], random: &mut Random) -> Vec<u8> {
        let mut esp = [spi.to_be_bytes(), 1u32.to_be_bytes()].concat();
        let block = if self.has_cbc { 16 } else { 4 };
        let padding = (inner.len() + 2).next_multiple_of(block) - inner.len() - 2;
        let mut data = inner.to_vec();
        data.extend((1..=padding as u8).chain([padding as u8, PROTOCOL_IP4]));
        let iv = [random.next().to_be_bytes(), random.next().to_be_bytes()].concat();
        if !self.has_cbc {
            let nonce = [&SALT[..], &iv[..8]].concat();
            let cipher = Aes128Gcm::new(&KEY.into());
            let tag = cipher.encrypt_in_place_detached(Nonce::from_slice(&nonce), &esp, &mut data);
            esp.extend(&iv[..8]);
            esp.extend(data);
            esp.extend(tag.expect("a packet is short enough"));
            return esp;
        }
        let mut cipher = cbc::Encryptor::<aes::Aes128>::new(&KEY.into(), iv[..16].into());
        data.chunks_exact_mut(16).for_each(|block| cipher.encrypt_block_mut(block.into()));
        esp.extend(iv);
        esp.extend(data);
        let mut mac =
            <Hmac<sha1::Sha1> as Mac>::new_from_slice(&MAC_KEY).expect("any length will do");
        mac.update(&esp);
        esp.extend(&mac.finalize().into_bytes()[..12]);
        esp
    }
}

fn address(bits: u32) -> std::net::Ipv4Addr {
    bits.into()
}

/// The version, the lines that set a scenario up, and its stream; `None` for another name.
pub fn scenario(name: &str, folder: &Path) -> Option<(u8, Vec<String>, String)> {
    let kind = Kind::named(name)?;
    let setup = format!("exec {}", folder.join(format!("{name}.setup")).display());
    let stream = match (kind.is_in, kind.is_many) {
        (true, _) => replay(folder, &format!("{name}.pcap")),
        (false, true) => ip4_stream(&range(MANY.into())),
        (false, false) => {
            let (old, new) = ("size 64-64", format!("size {0}-{0}", kind.len));
            let fill = format!("incrementing {}", kind.len - 42);
            ip4_stream("16.0.0.0").replace(old, &new).replace("incrementing 22", &fill)
        }
    };
    Some((4, vec![setup], stream))
}

/// Creates the files of the scenarios.
///
/// # Errors
/// The system's.
pub fn make(folder: &Path) -> io::Result<()> {
    for name in crate::options::ALL {
        let Some(kind) = Kind::named(name) else { continue };
        fs::write(folder.join(format!("{name}.setup")), kind.setup())?;
        if !kind.is_in {
            continue;
        }
        let mut random = Random(SEED);
        let frames = (0..if kind.is_many { 1 << 16 } else { 1 << 10 }).map(|_| {
            let n = if kind.is_many { random.below(MANY as usize) as u32 } else { 0 };
            kind.frame(n, &mut random)
        });
        let frames: Vec<_> = frames.collect();
        write_packets(frames.into_iter(), &folder.join(format!("{name}.pcap")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_sealed() {
        let kind = Kind::named("ipsec-cbc-sha1-1400-in").unwrap();
        assert!(kind.has_cbc && kind.is_in && !kind.is_many && kind.len == 1400);
        let plain = Kind::named("ipsec-gcm").unwrap();
        let (_, lines, stream) = scenario("ipsec-gcm", Path::new("t")).unwrap();
        assert_eq!(lines, ["exec t/ipsec-gcm.setup"]);
        assert!(stream.contains("size 64-64") && stream.contains("incrementing 22"), "{stream}");
        assert!(plain.setup().contains("ip route add 16.0.0.0/32 via ipip0"));
        assert!(Kind::named("ipsec").is_none());
    }

    #[test]
    fn sealed_frames_have_the_lengths_of_the_standards() {
        let len = |name| Kind::named(name).unwrap().frame(0, &mut Random(SEED)).len();
        // Headers of 14 and 20 bytes; of ESP 8, the vector, the packet filled up, the check value.
        assert_eq!(len("ipsec-gcm-in"), 34 + 8 + 8 + 52 + 16);
        assert_eq!(len("ipsec-cbc-sha1-in"), 34 + 8 + 16 + 64 + 12);
    }
}
