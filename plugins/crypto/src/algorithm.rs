//! The algorithms: their names and lengths, and the library that computes each.
#![forbid(unsafe_code)]

/// Mode of operation of a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No encryption.
    Null,
    /// Cipher block chaining (RFC 2451, RFC 3602).
    Cbc,
    /// Counter mode, a key stream (RFC 3686).
    Ctr,
    /// Encryption with authentication (RFC 4106, RFC 7634).
    Aead,
    /// Authentication only (RFC 4543).
    Gmac,
}

/// The library that computes an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Our own AES-GCM, on processors with VAES, VPCLMULQDQ and AVX-512.
    Native,
    /// ring: assembly for ChaCha20, and for AES-GCM on other processors.
    Ring,
    /// The RustCrypto crates.
    RustCrypto,
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 3] = [Self::Native, Self::Ring, Self::RustCrypto];

    /// Name of the engine in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Ring => "ring",
            Self::RustCrypto => "rustcrypto",
        }
    }
    /// Description for operators.
    pub fn about(self) -> &'static str {
        match self {
            Self::Native => "AES-GCM on processors with VAES and AVX-512",
            Self::Ring => "ChaCha20-Poly1305, and AES-GCM on other processors",
            Self::RustCrypto => "AES-CBC, AES-CTR, DES, HMAC, and AES-192-GCM on other processors",
        }
    }
}

/// A cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CipherAlgorithm {
    /// Name in commands about engines, with the key length in the middle (`aes-128-gcm`).
    pub name: &'static str,
    /// Name in commands about security associations, with the key length at the end.
    pub sa_name: &'static str,
    /// Mode of operation.
    pub mode: Mode,
    /// Length of the key in bytes; 0 if the algorithm has no key.
    pub key: usize,
    /// Block size in bytes, to which plaintext is padded; 1 for key streams.
    pub block: usize,
    /// Length of the initialization vector in a packet, in bytes.
    pub iv: usize,
    /// Length of the integrity check value that the cipher itself computes, in bytes.
    pub icv: usize,
}

impl CipherAlgorithm {
    /// Whether `name` is one of the names of the algorithm.
    pub fn is_named(&self, name: &str) -> bool {
        name == self.name || name == self.sa_name
    }
    /// Whether this is AES-GCM, or GMAC, which is AES-GCM without plaintext.
    pub fn is_gcm(&self) -> bool {
        match self.mode {
            Mode::Aead => self.name.starts_with("aes"),
            mode => mode == Mode::Gmac,
        }
    }
    /// The library that computes the algorithm on this processor.
    pub fn engine(&self) -> Engine {
        match self.mode {
            #[cfg(target_arch = "x86_64")]
            _ if self.is_gcm() && super::gcm::is_able() => Engine::Native,
            Mode::Aead | Mode::Gmac if self.key != 24 => Engine::Ring,
            _ => Engine::RustCrypto,
        }
    }
}

/// Ciphers, indexed by their number in API messages.
pub const CIPHERS: [CipherAlgorithm; 16] = {
    const fn cipher(
        [name, sa_name]: [&'static str; 2],
        mode: Mode,
        lens: [usize; 4],
    ) -> CipherAlgorithm {
        let [key, block, iv, icv] = lens;
        CipherAlgorithm { name, sa_name, mode, key, block, iv, icv }
    }
    use Mode::{Aead, Cbc, Ctr, Gmac, Null};
    [
        cipher(["none", "none"], Null, [0, 1, 0, 0]),
        cipher(["aes-128-cbc", "aes-cbc-128"], Cbc, [16, 16, 16, 0]),
        cipher(["aes-192-cbc", "aes-cbc-192"], Cbc, [24, 16, 16, 0]),
        cipher(["aes-256-cbc", "aes-cbc-256"], Cbc, [32, 16, 16, 0]),
        cipher(["aes-128-ctr", "aes-ctr-128"], Ctr, [16, 1, 8, 0]),
        cipher(["aes-192-ctr", "aes-ctr-192"], Ctr, [24, 1, 8, 0]),
        cipher(["aes-256-ctr", "aes-ctr-256"], Ctr, [32, 1, 8, 0]),
        cipher(["aes-128-gcm", "aes-gcm-128"], Aead, [16, 1, 8, 16]),
        cipher(["aes-192-gcm", "aes-gcm-192"], Aead, [24, 1, 8, 16]),
        cipher(["aes-256-gcm", "aes-gcm-256"], Aead, [32, 1, 8, 16]),
        cipher(["des-cbc", "des-cbc"], Cbc, [8, 8, 8, 0]),
        cipher(["3des-cbc", "3des-cbc"], Cbc, [24, 8, 8, 0]),
        cipher(["chacha20-poly1305", "chacha20-poly1305"], Aead, [32, 1, 8, 16]),
        cipher(["aes-128-null-gmac", "aes-null-gmac-128"], Gmac, [16, 1, 8, 16]),
        cipher(["aes-192-null-gmac", "aes-null-gmac-192"], Gmac, [24, 1, 8, 16]),
        cipher(["aes-256-null-gmac", "aes-null-gmac-256"], Gmac, [32, 1, 8, 16]),
    ]
};

/// A message authentication code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacAlgorithm {
    /// Name.
    pub name: &'static str,
    /// Length of the integrity check value after truncation, in bytes.
    pub icv: usize,
    /// The underlying hash function.
    pub hash: Hash,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// No hash function.
    None,
    /// MD5 (RFC 1321).
    Md5,
    /// SHA-1 (RFC 3174).
    Sha1,
    /// SHA-256 (RFC 6234).
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// Message authentication codes by their number in API messages (RFC 2403, RFC 2404, RFC 4868).
pub const MACS: [MacAlgorithm; 7] = [
    MacAlgorithm { name: "none", icv: 0, hash: Hash::None },
    MacAlgorithm { name: "md5-96", icv: 12, hash: Hash::Md5 },
    MacAlgorithm { name: "sha1-96", icv: 12, hash: Hash::Sha1 },
    MacAlgorithm { name: "sha-256-96", icv: 12, hash: Hash::Sha256 },
    MacAlgorithm { name: "sha-256-128", icv: 16, hash: Hash::Sha256 },
    MacAlgorithm { name: "sha-384-192", icv: 24, hash: Hash::Sha384 },
    MacAlgorithm { name: "sha-512-256", icv: 32, hash: Hash::Sha512 },
];
