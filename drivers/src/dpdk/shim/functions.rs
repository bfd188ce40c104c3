//! Functions and structures of the shared object, as `dpdk/shim.c` has them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

/// A packet of DPDK's.
#[repr(C)]
pub struct Mbuf {
    _opaque: [u8; 0],
}

/// Description of a port.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Info {
    name: [u8; 64],
    driver: [u8; 32],
    device: [u8; 64],
    mac: [u8; 8],
    /// Bytes of a packet without the Ethernet header.
    pub mtu: u32,
    /// The largest MTU it can have; 0 if it does not say.
    pub max_mtu: u32,
    /// Receive queues at most.
    pub rx_queues: u16,
    /// Transmit queues at most.
    pub tx_queues: u16,
    /// Packets of a receive ring at most.
    pub rx_ring: u16,
    /// Packets of a transmit ring at most.
    pub tx_ring: u16,
    checksums: u8,
    spreads: u8,
    pieces: u8,
    padding: u8,
    /// Memory node that it is on; negative if it does not matter.
    pub node: i32,
}

impl Default for Info {
    fn default() -> Self {
        Self {
            name: [0; 64],
            driver: [0; 32],
            device: [0; 64],
            mac: [0; 8],
            mtu: 0,
            max_mtu: 0,
            rx_queues: 0,
            tx_queues: 0,
            rx_ring: 0,
            tx_ring: 0,
            checksums: 0,
            spreads: 0,
            pieces: 0,
            padding: 0,
            node: 0,
        }
    }
}

impl Info {
    /// DPDK's name of the driver.
    pub fn driver(&self) -> String {
        name(&self.driver)
    }
    /// MAC address.
    pub fn mac(&self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.mac;
        [a, b, c, d, e, f]
    }
    /// Whether it completes checksums of TCP and UDP.
    pub fn has_checksums(&self) -> bool {
        self.checksums != 0
    }
    /// Whether it spreads flows over its receive queues.
    pub fn has_rss(&self) -> bool {
        self.spreads != 0
    }
    /// Whether it sends packets in pieces.
    pub fn has_pieces(&self) -> bool {
        self.pieces != 0
    }
}

/// State of a link.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    up: u32,
    full_duplex: u32,
    /// Mbit/s; `u32::MAX` if it is not known.
    speed: u32,
}

impl Link {
    /// Whether something is at the other end.
    pub fn is_up(self) -> bool {
        self.up != 0
    }
    /// Kbit/s; 0 if it is not known.
    pub fn kbps(self) -> u32 {
        if self.speed == u32::MAX { 0 } else { self.speed.saturating_mul(1000) }
    }
}

/// Packets that a device lost.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// For want of room in a receive ring.
    pub rx_missed: u64,
    /// Bad ones.
    pub rx_errors: u64,
    /// For want of free packets.
    pub rx_no_mbuf: u64,
    /// On transmit.
    pub tx_errors: u64,
}

/// An extended statistic.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Xstat {
    pub(super) name: [u8; 64],
    pub(super) value: u64,
}

impl Default for Xstat {
    fn default() -> Self {
        Self { name: [0; 64], value: 0 }
    }
}

/// A received packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Received {
    pub(super) mbuf: *mut Mbuf,
    pub(super) data: *const u8,
    pub(super) len: u32,
    pub(super) pieces: u16,
    pub(super) flags: u16,
}

/// A packet to fill, or one that is filled.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ToSend {
    pub(super) mbuf: *mut Mbuf,
    pub(super) data: *mut u8,
    pub(super) len: u32,
    pub(super) flags: u16,
    pub(super) l2_len: u8,
    pub(super) l3_len: u8,
}

/// Text in an array that a NUL ends.
pub(super) fn name(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

macro_rules! functions {
    ($($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions of the shared object.
        #[derive(Debug)]
        pub(super) struct Functions {
            // SAFETY: called as the contract of the module above says.
            $(pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl Functions {
            fn of(object: NonNull<c_void>) -> Result<Self, String> {
                $(let $name = symbol(object, concat!("fv_", stringify!($name), "\0"))?;)*
                // SAFETY: functions of these names have these types, as long as the number of the
                // version is the same, which is looked at before any other is called.
                Ok(unsafe { Self { $($name: std::mem::transmute::<
                    *mut c_void,
                    // SAFETY: as above.
                    unsafe extern "C" fn($($arg),*) $(-> $ret)?,
                >($name),)* } })
            }
        }
    };
}

functions! {
    abi: fn() -> u32;
    version: fn() -> *const c_char;
    error: fn(c_int) -> *const c_char;
    init: fn(c_int, *mut *mut c_char, u32, u16) -> c_int;
    find: fn(*const c_char, *mut c_int) -> c_int;
    info: fn(u16, *mut Info) -> c_int;
    start: fn(u16, u16, u16, *mut u16, *mut u16) -> c_int;
    close: fn(u16, c_int) -> c_int;
    link: fn(u16, *mut Link) -> c_int;
    set_up: fn(u16, c_int) -> c_int;
    set_mtu: fn(u16, u16) -> c_int;
    set_mac: fn(u16, *const u8) -> c_int;
    stats: fn(u16, *mut Stats) -> c_int;
    xstats: fn(u16, *mut Xstat, u32) -> c_int;
    receive: fn(u16, u16, *mut Received, u32) -> u32;
    next: fn(*mut Mbuf, *mut *const u8, *mut u32) -> *mut Mbuf;
    free_received: fn(*const Received, u32);
    take: fn(*mut ToSend, u32) -> u32;
    give: fn(*const ToSend, u32);
    send: fn(u16, u16, *const ToSend, u32) -> u32;
}

impl Functions {
    /// Loads the shared object, and DPDK with it.
    pub(super) fn load(file: &Path) -> Result<Self, String> {
        let file = CString::new(file.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the name ends with a NUL. Constructors of DPDK only register its drivers; they
        // are global so that drivers it loads later find it.
        let object = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        let object = NonNull::new(object).ok_or_else(|| {
            // SAFETY: after a failure there is a text, until the thread asks again.
            unsafe { super::text(libc::dlerror()) }
        })?;
        Self::of(object)
    }
}

fn symbol(object: NonNull<c_void>, name: &str) -> Result<*mut c_void, String> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: the object is open and stays so, the name ends with a NUL.
    let found = unsafe { libc::dlsym(object.as_ptr(), name.as_ptr()) };
    if found.is_null() {
        return Err(format!("it has no {}", name.to_string_lossy()));
    }
    Ok(found)
}
