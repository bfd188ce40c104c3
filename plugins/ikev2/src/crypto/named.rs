//! Names of transforms in commands and output.

/// Number and name of a transform.
pub type Name = (u16, &'static str);

/// Ciphers.
pub const CIPHERS_BY_NAME: &[Name] = &[
    (1, "des-iv64"),
    (2, "des"),
    (3, "3des"),
    (4, "rc5"),
    (5, "idea"),
    (6, "cast"),
    (7, "blowfish"),
    (8, "3idea"),
    (9, "des-iv32"),
    (11, "null"),
    (12, "aes-cbc"),
    (13, "aes-ctr"),
    (20, "aes-gcm-16"),
    (28, "chacha20-poly1305"),
];

/// Pseudorandom functions.
pub const PRFS_BY_NAME: &[Name] = &[
    (1, "hmac-md5"),
    (2, "hmac-sha1"),
    (3, "hmac-tiger"),
    (4, "aes128-xcbc"),
    (5, "hmac-sha2-256"),
    (6, "hmac-sha2-384"),
    (7, "hmac-sha2-512"),
    (8, "aes128-cmac"),
];

/// Integrity algorithms.
pub const MACS_BY_NAME: &[Name] = &[
    (0, "none"),
    (1, "md5-96"),
    (2, "sha1-96"),
    (3, "des-mac"),
    (4, "kpdk-md5"),
    (5, "aes-xcbc-96"),
    (6, "md5-128"),
    (7, "sha1-160"),
    (8, "cmac-96"),
    (9, "aes-128-gmac"),
    (10, "aes-192-gmac"),
    (11, "aes-256-gmac"),
    (12, "hmac-sha2-256-128"),
    (13, "hmac-sha2-384-192"),
    (14, "hmac-sha2-512-256"),
];

/// Groups.
pub const GROUPS_BY_NAME: &[Name] = &[
    (0, "none"),
    (1, "modp-768"),
    (2, "modp-1024"),
    (5, "modp-1536"),
    (14, "modp-2048"),
    (15, "modp-3072"),
    (16, "modp-4096"),
    (17, "modp-6144"),
    (18, "modp-8192"),
    (19, "ecp-256"),
    (20, "ecp-384"),
    (21, "ecp-521"),
    (22, "modp-1024-160"),
    (23, "modp-2048-224"),
    (24, "modp-2048-256"),
    (25, "ecp-192"),
    (26, "ecp-224"),
    (31, "x25519"),
];

/// The name of a transform; its number if it has none.
pub fn name_of(names: &[Name], number: u16) -> String {
    let found = names.iter().find(|(id, _)| *id == number);
    found.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}
