//! Ciphers and message authentication codes for features that encrypt. Keys are prepared once and
//! shared by threads; operations work in place and do not allocate.
//!
//! Each algorithm is computed by one engine, the fastest on this processor; VPP's commands and
//! messages that choose an engine accept only that one.

mod algorithm;
mod api;
#[cfg(target_arch = "x86_64")]
mod cbc;
mod cipher;
mod cli;
#[cfg(target_arch = "x86_64")]
mod gcm;
mod hidden;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod mac;

use net::prelude::*;

pub use algorithm::{CIPHERS, CipherAlgorithm, Engine, Hash, MACS, MacAlgorithm, Mode};
pub use api::*;
pub use cipher::{Cipher, Job, KeyLength, MAX_IV, TAG};
pub use hidden::Hidden;
pub use mac::{MAX_HASH, Mac};

/// Fills a slice with random bytes; returns whether that succeeded.
#[must_use]
pub fn fill_random(bytes: &mut [u8]) -> bool {
    use ring::rand::SecureRandom;
    ring::rand::SystemRandom::new().fill(bytes).is_ok()
}

/// Compares bytes in constant time.
#[must_use]
pub fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    (std::hint::black_box(differ) == 0) & (one.len() == other.len())
}

/// Reasons for refusing an engine.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no algorithm {0}
    #[retval(NO_SUCH_ENTRY)]
    NoAlgorithm(String),
    /// engine {1} does not support {0}
    #[retval(UNIMPLEMENTED)]
    NotThere(String, String),
}

/// Returns the algorithms and the engine of each.
pub fn algorithms() -> impl Iterator<Item = (&'static str, Engine)> {
    let ciphers = CIPHERS.iter().filter(|c| c.mode != Mode::Null).map(|c| (c.name, c.engine()));
    let hashes = ["hmac-md5", "hmac-sha-1", "hmac-sha-256", "hmac-sha-384", "hmac-sha-512"];
    ciphers.chain(hashes.map(|name| (name, Engine::RustCrypto)))
}

/// Checks that an algorithm, or `all`, is computed by the given engine; nothing else can be chosen.
///
/// # Errors
/// [`Error`].
pub fn choose(algorithm: &str, engine: &str) -> Result<(), Error> {
    let refused = || Error::NotThere(algorithm.to_owned(), engine.to_owned());
    if algorithm == "all" {
        let is_known = Engine::ALL.iter().any(|e| e.name() == engine);
        return is_known.then_some(()).ok_or_else(refused);
    }
    let cipher = CIPHERS.iter().find(|c| c.is_named(algorithm)).map(|c| c.name);
    let found = algorithms().find(|(name, _)| *name == cipher.unwrap_or(algorithm));
    let (_, by) = found.ok_or_else(|| Error::NoAlgorithm(algorithm.to_owned()))?;
    (by.name() == engine).then_some(()).ok_or_else(refused)
}

/// Dispatch mode of asynchronous operations, as set by clients; it has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Dispatch {
    is_interrupt: bool,
}

/// The feature: ciphers and message authentication codes.
pub const FEATURE: Feature = Feature {
    name: "crypto",
    about: "Ciphers and message authentication codes",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("each algorithm has one engine"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router: &mut Router = parts.router;
    router.insert(Dispatch::default());
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
