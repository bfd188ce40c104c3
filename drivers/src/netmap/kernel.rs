//! Unsafe code: requests to netmap's device.
//!
//! Safety contract:
//! * A request passes a plain struct by pointer, as large as its number says, and in it a pointer
//!   to another that is as large as the kind of request says. Both live until the call returns.
//! * The mapping that a socket gets is a [`Region`]'s, and used as that says.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use crate::shared::Region;

/// The device.
const DEVICE: &str = "/dev/netmap";
/// Version of the requests.
const VERSION: u16 = 14;
/// Bytes of a name with its zero.
const NAME: usize = 64;
/// Numbers of the requests, as ioctl(2) has them.
const CONTROL: libc::Ioctl = 0xc058_6997;
const SYNC_TX: libc::Ioctl = 0x6994;
const SYNC_RX: libc::Ioctl = 0x6995;
/// Kinds of a request of control.
const REGISTER: u16 = 1;
const INFO: u16 = 2;
/// A socket has one ring of the device, in one direction.
const ONE_RING: u32 = 4;
const RX_ONLY: u64 = 0x400;
const TX_ONLY: u64 = 0x800;

/// Direction of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the router.
    Rx,
    /// From the router.
    Tx,
}

#[repr(C)]
struct Header {
    version: u16,
    kind: u16,
    reserved: u32,
    name: [u8; NAME],
    options: u64,
    body: u64,
}
const _: () = assert!(size_of::<Header>() == 0x58, "as the number of the request says");

#[repr(C)]
#[derive(Default)]
struct Register {
    offset: u64,
    memory: u64,
    slots: [u32; 2],
    rings: [u16; 4],
    memory_id: u16,
    ring: u16,
    mode: u32,
    extra: u32,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct Info {
    memory: u64,
    slots: [u32; 2],
    /// Of the device, tx and rx, then of the host.
    rings: [u16; 4],
    memory_id: u16,
    reserved: [u16; 3],
}

fn header(name: &str, kind: u16) -> io::Result<Header> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let mut bytes = [0; NAME];
    let room = bytes.get_mut(..name.len()).filter(|_| name.len() < NAME).ok_or_else(invalid)?;
    room.copy_from_slice(name.as_bytes());
    Ok(Header { version: VERSION, kind, reserved: 0, name: bytes, options: 0, body: 0 })
}

/// Sends the kernel a request. `T` is the body of its kind.
fn control<T>(file: &File, mut header: Header, body: &mut T) -> io::Result<()> {
    header.body = std::ptr::from_mut(body).expose_provenance() as u64;
    // SAFETY: header and body are plain structs that live until the call returns, and the body is
    // that of its kind, which both callers see to.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), CONTROL, std::ptr::from_mut(&mut header)) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn device() -> io::Result<File> {
    File::options().read(true).write(true).open(DEVICE)
}

/// Numbers of transmit and receive rings of a port.
///
/// # Errors
/// The kernel's; `ENOENT` if it has no netmap.
pub fn rings(name: &str) -> io::Result<(u16, u16)> {
    let mut info = Info::default();
    control(&device()?, header(name, INFO)?, &mut info)?;
    Ok((info.rings[0], info.rings[1]))
}

/// A ring of a port, for this process alone as long as it lives.
#[derive(Debug)]
pub struct Socket {
    file: Arc<OwnedFd>,
    direction: Direction,
    /// Memory that the kernel shares.
    pub region: Arc<Region>,
    /// Bytes from the start of the memory to what describes the port.
    pub port: usize,
}

impl Socket {
    /// Takes a ring of a port.
    ///
    /// # Errors
    /// The kernel's; `ENOENT` if it has no netmap.
    pub fn open(name: &str, direction: Direction, ring: u16) -> io::Result<Self> {
        let file = device()?;
        let flags = if direction == Direction::Rx { RX_ONLY } else { TX_ONLY };
        let mut body = Register { ring, mode: ONE_RING, flags, ..Register::default() };
        control(&file, header(name, REGISTER)?, &mut body)?;
        let region = Region::of_device(file.as_fd(), body.memory)?;
        let port = usize::try_from(body.offset).map_err(io::Error::other)?;
        let (file, region) = (Arc::new(OwnedFd::from(file)), Arc::new(region));
        Ok(Self { file, direction, region, port })
    }
    /// One whose kernel is a test.
    #[cfg(test)]
    pub fn of_test(file: OwnedFd, direction: Direction, region: &Arc<Region>) -> Self {
        Self { file: Arc::new(file), direction, region: Arc::clone(region), port: 0 }
    }
    /// Its descriptor, readable while packets wait.
    pub fn fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }
    /// Makes the kernel process the ring. What it cannot do now it does later.
    #[inline(always)]
    pub fn sync(&self) {
        let what = if self.direction == Direction::Rx { SYNC_RX } else { SYNC_TX };
        // SAFETY: these requests have no argument.
        unsafe { libc::ioctl(self.file.as_raw_fd(), what, 0) };
    }
}
