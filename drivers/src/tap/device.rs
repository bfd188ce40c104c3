//! The host's end: opening queues of a device and setting it up (Linux tuntap).
//!
//! Safety contract: each request to the kernel passes what it expects, a plain `ifreq` by pointer
//! or a number by value, and nothing is kept.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};

/// The kind of a device, and its offloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Carries IP packets without a layer 2 header.
    pub is_tun: bool,
    /// May be opened several times.
    pub has_queues: bool,
}

/// Offloads that the host leaves to the router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaves {
    /// Checksums of TCP and UDP.
    pub checksum: bool,
    /// Cutting big TCP packets.
    pub gso: bool,
}

/// Opens a queue of the device `name`, in the namespace of the calling thread. A missing device is
/// created.
///
/// # Errors
/// The kernel's: not permitted, a device of another kind, in use by another program.
pub fn open_queue(name: &str, kind: Kind) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = open("/dev/net/tun", flags, Mode::empty())?;
    // SAFETY: all zeroes is a valid value of this plain struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    let mut bits = libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    bits |= if kind.is_tun { libc::IFF_TUN } else { libc::IFF_TAP };
    if kind.has_queues {
        bits |= libc::IFF_MULTI_QUEUE;
    }
    request.ifr_ifru.ifru_flags = bits as libc::c_short;
    // SAFETY: this request reads and writes an `ifreq`.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(fd)
}

/// Says what the host may leave to the router.
///
/// # Errors
/// The kernel's.
pub fn set_leaves(queue: &OwnedFd, leaves: Leaves) -> io::Result<()> {
    let mut bits = 0;
    if leaves.checksum || leaves.gso {
        bits |= libc::TUN_F_CSUM;
    }
    if leaves.gso {
        bits |= libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    }
    // SAFETY: this request takes a number.
    check(unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(bits)) })
}

/// Makes the device stay when its last queue is closed, or be deleted.
///
/// # Errors
/// The kernel's.
pub fn set_persistent(queue: &OwnedFd, stays: bool) -> io::Result<()> {
    let stays = libc::c_ulong::from(stays);
    // SAFETY: this request takes a number.
    check(unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETPERSIST, stays) })
}

/// Shows the host a link that is up or down.
///
/// # Errors
/// The kernel's.
pub fn set_carrier(queue: &OwnedFd, is_up: bool) -> io::Result<()> {
    let is_up = libc::c_int::from(is_up);
    // SAFETY: this request reads an `int`.
    check(unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETCARRIER, &raw const is_up) })
}

/// Whether the device of a queue is still there: a queue without one has an error. Other questions
/// wait while the kernel makes or deletes devices.
pub fn is_there(queue: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(queue, PollFlags::empty())];
    let answer = poll(&mut asked, Some(&Timespec::default()));
    answer.is_err() || !asked[0].revents().contains(PollFlags::ERR)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
