//! What drivers need of the host: its network namespaces, and its devices, addresses and routes.
#![forbid(unsafe_code)]

pub mod namespace;
pub mod netlink;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::thread::JoinHandle;

use wire::MacAddr;

/// Closes what takes the kernel long to close, sockets and devices, where nobody waits for it. It
/// is gone when the thread has ended.
pub fn close_elsewhere(what: impl Send + 'static) -> Option<JoinHandle<()>> {
    // If there is no thread to be had the value is dropped here.
    std::thread::Builder::new().name("closer".to_owned()).spawn(move || drop(what)).ok()
}

/// A random address of the kind that software interfaces have: `02:fe:…`.
pub fn random_mac() -> MacAddr {
    let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_ne_bytes();
    MacAddr([0x02, 0xfe, a, b, c, d])
}
