//! Netlink groups that an agent on the host listens to (netlink(7)). Nothing waits for the kernel:
//! what finds no room is lost.

use std::io;
use std::os::fd::OwnedFd;

use netlink_packet_core::{NlaBuffer, NlasIterator};
use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink, USERSOCK};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, sendto,
    socket_with,
};

use super::message::{self, CONTROLLER};

/// The group of NETLINK_USERSOCK for counters.
const COUNTERS: u32 = 29;
/// Bytes of the kernel's answer about a family at most.
const ANSWER: usize = 16 << 10;
/// Bytes before the attributes of an answer: the headers of netlink and of generic netlink.
const HEADERS: usize = 16 + 4;
/// Attributes of the controller's answer (genl_ctrl): the number of the family, its groups.
const FAMILY_ID: u16 = 1;
const FAMILY_GROUPS: u16 = 7;
/// Attributes of a group there: its name, its number.
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;

/// A multicast group.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    /// Number of the generic netlink family; 0 where there is none.
    pub family: u16,
    groups: u32,
}

/// The groups of a mask that has one.
fn mask(group: u32) -> io::Result<u32> {
    let bit = group.checked_sub(1).and_then(|bit| 1u32.checked_shl(bit));
    bit.ok_or_else(|| io::Error::other(format!("group {group} exceeds the mask of 32")))
}

fn open(protocol: rustix::net::Protocol) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(protocol))?;
    bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    Ok(socket)
}

impl Channel {
    /// A group of a family of generic netlink, both by name.
    ///
    /// # Errors
    /// The kernel's: it has no such family.
    pub fn generic(family: &str, group: &str) -> io::Result<Self> {
        let socket = open(GENERIC)?;
        send(&socket, &message::family(family), SendFlags::empty())?;
        let mut answer = vec![0; ANSWER];
        let (len, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        let (family, number) = found(&answer[..len.min(ANSWER)], group).map_err(|e| match e {
            e if e.kind() == io::ErrorKind::NotFound => io::Error::new(
                e.kind(),
                format!("the kernel has no {family}: is its module loaded?"),
            ),
            e => e,
        })?;
        Ok(Self { socket, family, groups: mask(number)? })
    }
    /// The group that counters go to.
    ///
    /// # Errors
    /// The kernel's.
    pub fn user() -> io::Result<Self> {
        Ok(Self { socket: open(USERSOCK)?, family: 0, groups: mask(COUNTERS)? })
    }
    /// Sends a message to all listeners.
    ///
    /// # Errors
    /// The kernel's.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        let to = SocketAddrNetlink::new(0, self.groups);
        match sendto(&self.socket, message, SendFlags::DONTWAIT, &to) {
            // The group has it; there is no listener in the kernel.
            Ok(_) | Err(Errno::CONNREFUSED) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

fn invalid<E: std::error::Error + Send + Sync + 'static>(e: E) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}

fn number(value: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    let len = value.len().min(4);
    bytes[..len].copy_from_slice(&value[..len]);
    u32::from_le_bytes(bytes)
}

/// The number of the family that an answer is about, and of one of its groups.
fn found(answer: &[u8], group: &str) -> io::Result<(u16, u32)> {
    let kind = answer.get(4..6).map_or(0, number) as u16;
    if kind != CONTROLLER {
        let code = answer.get(16..20).map_or(0, number) as i32;
        return Err(io::Error::from_raw_os_error(code.wrapping_neg()));
    }
    let (mut family, mut found) = (0, None);
    for attribute in NlasIterator::new(answer.get(HEADERS..).unwrap_or_default()) {
        let attribute: NlaBuffer<_> = attribute.map_err(invalid)?;
        match attribute.kind() {
            FAMILY_ID => family = number(attribute.value()) as u16,
            FAMILY_GROUPS => {
                for one in NlasIterator::new(attribute.value()) {
                    let (mut name, mut id) = (Vec::new(), 0);
                    for part in NlasIterator::new(one.map_err(invalid)?.value()) {
                        let part = part.map_err(invalid)?;
                        match part.kind() {
                            GROUP_NAME => name = part.value().to_vec(),
                            GROUP_ID => id = number(part.value()),
                            _ => (),
                        }
                    }
                    if name.strip_suffix(b"\0").unwrap_or(&name) == group.as_bytes() {
                        found = Some(id);
                    }
                }
            }
            _ => (),
        }
    }
    let none = || io::Error::new(io::ErrorKind::NotFound, format!("no group {group}"));
    Ok((family, found.ok_or_else(none)?))
}
