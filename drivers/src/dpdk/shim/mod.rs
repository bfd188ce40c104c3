//! Unsafe code: DPDK, through `ferrovia_dpdk.so`, which is loaded when it is asked for
//! (`dpdk/shim.c`).
//!
//! Safety contract:
//! * The functions and structures are those that the shared object of the same [`ABI`] number has;
//!   it stays loaded for good.
//! * A [`Port`] is one of DPDK's without another user; it is closed when the last of its queues and
//!   its interface are dropped.
//! * An [`Rx`] or a [`Tx`] is the only user of its queue, and belongs to one thread at a time.
//!   Bytes of a received packet are read before it is freed, those of an empty one are written
//!   before it is sent, and never beyond its room.

mod functions;
mod queues;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use functions::Functions;
use wire::MacAddr;

pub use functions::{Info, Link, Stats, Xstat};
pub use queues::{Checksum, Refused, Rx, Tx};

/// Number of the functions and structures below.
const ABI: u32 = 1;
/// File name of the shared object.
pub const FILE: &str = "ferrovia_dpdk.so";
/// Bytes of a packet, or of a piece of one.
pub const ROOM: usize = 2048;
/// Extended statistics of a port that are shown at most.
const MOST_XSTATS: usize = 512;

/// Whether DPDK has been started, which works once in a process.
static STARTED: AtomicBool = AtomicBool::new(false);

/// DPDK, started.
#[derive(Clone, Copy, Debug)]
pub struct Dpdk(&'static Functions);

impl Dpdk {
    /// Loads the shared object from the first of these folders that has it.
    ///
    /// # Errors
    /// Why it cannot be loaded, in words.
    pub fn load(folders: &[PathBuf]) -> Result<Self, String> {
        let files = folders.iter().map(|folder| folder.join(FILE));
        let found = files.clone().find(|file| file.exists());
        let Some(file) = found else {
            let looked: Vec<_> = files.map(|file| file.display().to_string()).collect();
            return Err(format!("no {} (built by `make dpdk')", looked.join(", ")));
        };
        Self::open(&file).map_err(|why| format!("{}: {why}", file.display()))
    }
    fn open(file: &Path) -> Result<Self, String> {
        let functions = Box::leak(Box::new(Functions::load(file)?));
        // SAFETY: no arguments, no state.
        let theirs = unsafe { (functions.abi)() };
        if theirs != ABI {
            return Err(format!("built for another version of the router ({theirs}, not {ABI})"));
        }
        Ok(Self(functions))
    }
    /// DPDK's version.
    pub fn version(&self) -> String {
        // SAFETY: a text that stays.
        unsafe { text((self.0.version)()) }
    }
    /// Starts DPDK, with a pool of so many packets.
    ///
    /// # Errors
    /// DPDK's reason; it has written more to standard error.
    pub fn start(&self, args: &[String], packets: u32) -> Result<(), String> {
        if STARTED.swap(true, Ordering::SeqCst) {
            return Err("DPDK has failed to start before".to_owned());
        }
        let args: Result<Vec<_>, _> = args.iter().map(|arg| CString::new(arg.as_str())).collect();
        let args = args.map_err(|e| e.to_string())?;
        // DPDK keeps pointers to them.
        let args = args.into_iter().map(CString::into_raw);
        let mut argv: Vec<*mut c_char> = args.chain([std::ptr::null_mut()]).collect();
        let count = (argv.len() - 1) as c_int;
        // SAFETY: an array of texts with a null pointer after them, all of them leaked or, for the
        // array, not kept.
        let done = unsafe { (self.0.init)(count, argv.as_mut_ptr(), packets, ROOM as u16) };
        self.check(done)
    }
    fn check(&self, done: c_int) -> Result<(), String> {
        if done >= 0 {
            return Ok(());
        }
        // SAFETY: a text that stays until the thread asks again.
        Err(unsafe { text((self.0.error)(done)) })
    }
    /// The port of a device, made if there is none yet.
    ///
    /// # Errors
    /// DPDK's reason.
    pub fn port(&self, device: &str) -> Result<Arc<Port>, String> {
        let name = CString::new(device).map_err(|e| e.to_string())?;
        let mut is_new = 0;
        // SAFETY: a text, and a number to write.
        let found = unsafe { (self.0.find)(name.as_ptr(), &raw mut is_new) };
        self.check(found)?;
        Ok(Arc::new(Port { dpdk: *self, number: found as u16, is_own: is_new != 0 }))
    }
}

/// A port of DPDK's.
#[derive(Debug)]
pub struct Port {
    dpdk: Dpdk,
    number: u16,
    /// It came when it was asked for.
    is_own: bool,
}

impl Port {
    /// Description of it.
    ///
    /// # Errors
    /// DPDK's reason.
    pub fn info(&self) -> Result<Info, String> {
        let mut info = Info::default();
        // SAFETY: the structure is ours to be written.
        let done = unsafe { (self.dpdk.0.info)(self.number, &raw mut info) };
        self.dpdk.check(done).map(|()| info)
    }
    /// Starts it with so many queues each way and rings of so many packets, 0 for as many as is
    /// usual; returns both ends of the queues and the sizes of the rings.
    ///
    /// # Errors
    /// DPDK's reason.
    #[allow(clippy::type_complexity)]
    pub fn start(
        self: &Arc<Self>,
        queues: (u16, u16),
        rings: (u16, u16),
        sends_pieces: bool,
    ) -> Result<(Vec<Rx>, Vec<Tx>, (u16, u16)), String> {
        let (mut rx, mut tx) = rings;
        let start = self.dpdk.0.start;
        // SAFETY: two numbers, read and written.
        let done = unsafe { start(self.number, queues.0, queues.1, &raw mut rx, &raw mut tx) };
        self.dpdk.check(done)?;
        let receivers = (0..queues.0).map(|queue| Rx::new(Arc::clone(self), queue)).collect();
        let sender = |queue| Tx::new(Arc::clone(self), queue, sends_pieces);
        Ok((receivers, (0..queues.1).map(sender).collect(), (rx, tx)))
    }
    /// State of its link.
    pub fn link(&self) -> Link {
        let mut link = Link::default();
        // SAFETY: the structure is ours to be written.
        let _ = unsafe { (self.dpdk.0.link)(self.number, &raw mut link) };
        link
    }
    /// Switches its link on or off, where the device can.
    pub fn set_up(&self, on: bool) {
        // SAFETY: numbers.
        let _ = unsafe { (self.dpdk.0.set_up)(self.number, on.into()) };
    }
    /// Sets its MTU, in bytes of a packet without the Ethernet header.
    ///
    /// # Errors
    /// DPDK's reason.
    pub fn set_mtu(&self, mtu: u16) -> Result<(), String> {
        // SAFETY: numbers.
        self.dpdk.check(unsafe { (self.dpdk.0.set_mtu)(self.number, mtu) })
    }
    /// Sets its address.
    ///
    /// # Errors
    /// DPDK's reason.
    pub fn set_mac(&self, mac: MacAddr) -> Result<(), String> {
        // SAFETY: six bytes, which are read.
        self.dpdk.check(unsafe { (self.dpdk.0.set_mac)(self.number, mac.0.as_ptr()) })
    }
    /// Packets that the device lost.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        // SAFETY: the structure is ours to be written.
        let _ = unsafe { (self.dpdk.0.stats)(self.number, &raw mut stats) };
        stats
    }
    /// Extended statistics, as the device's driver in DPDK calls them.
    pub fn xstats(&self) -> Vec<(String, u64)> {
        let mut all = vec![Xstat::default(); MOST_XSTATS];
        // SAFETY: as many structures as are said, ours to be written.
        let count =
            unsafe { (self.dpdk.0.xstats)(self.number, all.as_mut_ptr(), MOST_XSTATS as u32) };
        let count = usize::try_from(count).unwrap_or(0);
        all.iter().take(count).map(|stat| (functions::name(&stat.name), stat.value)).collect()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: no queue of it exists: each holds the port.
        let _ = unsafe { (self.dpdk.0.close)(self.number, self.is_own.into()) };
    }
}

/// A text of C's.
///
/// # Safety
/// It ends with a NUL, or the pointer is null.
unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: the caller's word.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}
