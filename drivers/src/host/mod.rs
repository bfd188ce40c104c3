//! Common parts of the drivers of host devices: receive queues and the threads that serve them, why
//! packets are not sent, making interfaces while control serves others, and the host's namespaces,
//! devices and routes.
#![forbid(unsafe_code)]

pub mod background;
pub mod input;
mod mac;
pub mod namespace;
pub mod netlink;
pub mod output;
pub mod serving;
pub mod turn;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;

use control::cli::{Arguments, Error};
use control::socket::elsewhere;
use infra::order::Order;
use net::{InterfaceIndex, Router};

use crate::virtio_header::Unfit;

pub use control::socket::close_elsewhere;
pub use mac::{random_mac, stable_mac};

/// The kernel's error, in words.
#[derive(Debug)]
pub struct Kernel(pub io::Error);

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&control::cli::io_text(&self.0))
    }
}

/// Turns reasons of the router into `Refused`, of the `Error` of a driver, in words.
macro_rules! refused {
    ($($reason:ty),*) => {$(
        impl From<$reason> for Error {
            fn from(e: $reason) -> Self {
                Self::Refused(e.to_string())
            }
        }
    )*};
}
pub(crate) use refused;

/// An interface by its name or its number.
#[derive(Arguments, Debug)]
pub(crate) struct Which {
    /// interface index
    #[keyword("sw_if_index")]
    sw_if_index: Option<u32>,
    /// name
    #[positional]
    interface: Option<InterfaceIndex>,
}

impl Which {
    /// Interface index.
    ///
    /// # Errors
    /// Neither is given, or both.
    pub fn index(&self) -> Result<InterfaceIndex, Error> {
        match (self.interface, self.sw_if_index) {
            (Some(index), None) => Ok(index),
            (None, Some(n)) => Ok(InterfaceIndex(n)),
            _ => Err("expected the name or the sw_if_index of an interface".into()),
        }
    }
}

/// Reasons why a packet is not sent on a device.
#[derive(Clone, Copy, graph::Reason)]
pub enum TxError {
    /// packet does not fit its offload flags.
    #[name("unfit for offload")]
    Unfit,
    /// no tx queue available.
    #[name("no tx queue available")]
    NoQueue,
}

impl From<Unfit> for TxError {
    fn from(_: Unfit) -> Self {
        Self::Unfit
    }
}

/// Closes, as [`close_elsewhere`] does, the files of nodes that were just removed, once no thread
/// uses them. Control does not wait for the threads.
pub fn close_unused(router: &mut Router, what: impl Send + 'static) -> Option<JoinHandle<()>> {
    let done = router.engine.until_done();
    elsewhere(move || {
        done.wait();
        drop(what);
    })
}

/// Runs a process when memory that peers share with the router is lost, as long as this is kept.
///
/// # Errors
/// The kernel's.
pub(crate) fn losses_for(router: &mut Router, process: &str) -> io::Result<OwnedFd> {
    let losses = crate::shared::losses()?;
    router.processes.watch(process, losses.as_fd())?;
    Ok(losses)
}

/// NUMA node that a network device of the host is on, where it is on one.
pub fn numa_node(device: &str) -> Option<usize> {
    let folder = std::fs::canonicalize(format!("/sys/class/net/{device}/device")).ok()?;
    // That of virtio lies below the folder of the PCI device, which knows.
    let known = |of: &Path| std::fs::read_to_string(of.join("numa_node")).ok();
    folder.ancestors().find_map(known)?.trim().parse().ok() // -1 without one
}

/// Names in a folder where the host lists things, such as `/run/netns`.
pub fn names_in(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.order();
    names
}

/// The state of threads that send on one queue, for this thread alone. Another one has it for no
/// longer than a frame.
#[inline(always)]
pub fn turn<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        match shared.try_lock() {
            Ok(own) => return own,
            Err(TryLockError::Poisoned(own)) => return own.into_inner(),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
}
