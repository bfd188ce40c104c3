//! Ciphers and keyed hashes for features that encrypt: prepared keys over libraries, working in
//! place, without allocation, shared by threads.
//!
//! Each algorithm is computed by one engine, the fastest on the processor; commands and messages of
//! the original that choose an engine accept that one.

mod algorithm;
mod api;
#[cfg(target_arch = "x86_64")]
mod cbc;
mod cipher;
mod cli;
#[cfg(target_arch = "x86_64")]
mod gcm;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod mac;

use control::feature::{Refusal, Refused};
use net::{Configuration, Feature, Origin, Parts, Router};

pub use algorithm::{CIPHERS, CipherAlgorithm, Engine, Hash, MACS, MacAlgorithm, Mode};
pub use api::*;
pub use cipher::{Cipher, Job, KeyLength, MAX_IV, TAG};
pub use mac::{MAX_HASH, Mac};

/// Fills bytes with random ones; whether there are any.
#[must_use]
pub fn fill_random(bytes: &mut [u8]) -> bool {
    use ring::rand::SecureRandom;
    ring::rand::SystemRandom::new().fill(bytes).is_ok()
}

/// Whether bytes are the same, in a time that does not say where they differ.
#[must_use]
pub fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    (std::hint::black_box(differ) == 0) & (one.len() == other.len())
}

/// Reasons why an engine is not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no algorithm {0}
    #[retval(NO_SUCH_ENTRY)]
    NoAlgorithm(String),
    /// engine {1} does not support {0}
    #[retval(UNIMPLEMENTED)]
    NotThere(String, String),
}

/// The algorithms, with the engine of each.
pub fn algorithms() -> impl Iterator<Item = (&'static str, Engine)> {
    let ciphers = CIPHERS.iter().filter(|c| c.mode != Mode::Null).map(|c| (c.name, c.engine()));
    let hashes = ["hmac-md5", "hmac-sha-1", "hmac-sha-256", "hmac-sha-384", "hmac-sha-512"];
    ciphers.chain(hashes.map(|name| (name, Engine::RustCrypto)))
}

/// Chooses the engine of an algorithm, or of all that it computes: those have it already.
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

/// Dispatch of crypto work that waits, as clients set it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Dispatch {
    is_interrupt: bool,
}

/// Ciphers and keyed hashes.
pub const FEATURE: Feature = Feature {
    name: "crypto",
    about: "Ciphers and keyed hashes",
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
