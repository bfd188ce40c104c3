//! The sockets of the library, by descriptor.
//!
//! Entries are words that are read and written one at a time, without locks: threads that use a
//! descriptor while another one closes it get what they deserve, as from the kernel. An entry of
//! zeros is no socket of the library, or one that is not known yet.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lanes::talk::{address_of, octets};

/// Descriptors with entries: those above are left to the kernel.
pub const MOST: usize = 1 << 16;

static TABLE: [Entry; MOST] = [const { Entry([const { AtomicU64::new(0) }; WORDS]) }; MOST];
/// The process that the table is of, 0 before it is known.
static OWNER: AtomicU64 = AtomicU64::new(0);

const WORDS: usize = 16;
const FLAGS: usize = 0;
const LOCAL: usize = 1;
const PEER: usize = 3;
const PORTS: usize = 5;
const EPOLL: usize = 6;
const EPOLL_DATA: usize = 7;
const VALUES: usize = 8;
/// Number of option values of an entry.
pub const SLOTS: usize = 2 * (WORDS - VALUES);

/// Flags of an entry.
pub mod flag {
    /// A stream.
    pub const STREAM: u64 = 1;
    /// A datagram socket.
    pub const DATAGRAM: u64 = 1 << 1;
    /// The program sees IPv6 addresses.
    pub const IP6: u64 = 1 << 2;
    /// IPv6 addresses only.
    pub const ONLY_IP6: u64 = 1 << 3;
    /// It has a local endpoint.
    pub const BOUND: u64 = 1 << 4;
    /// The port was chosen by the library.
    pub const CHOSEN: u64 = 1 << 5;
    /// It listens.
    pub const LISTENS: u64 = 1 << 6;
    /// The router has been asked to connect.
    pub const CONNECTING: u64 = 1 << 7;
    /// It has a peer.
    pub const CONNECTED: u64 = 1 << 8;
    /// The router is at its other end.
    pub const OPEN: u64 = 1 << 9;
    /// Connecting has failed.
    pub const FAILED: u64 = 1 << 10;
    /// The program has finished writing.
    pub const SHUT: u64 = 1 << 11;
    /// The program knows that the connection was reset.
    pub const RESET: u64 = 1 << 12;
    /// Others may have the same address and port.
    pub const SHARED: u64 = 1 << 13;
    /// The local endpoint is of IPv6.
    pub const LOCAL_IP6: u64 = 1 << 14;
    /// The peer is of IPv6.
    pub const PEER_IP6: u64 = 1 << 15;
    /// A datagram socket that is not bound, with the peer that it has sent to.
    pub const LOOSE: u64 = 1 << 16;
    /// Calls that only move data need the library.
    pub const CARE: u64 = CONNECTING | DATAGRAM;
    /// Position of the error of a failed connection.
    pub const ERROR: u32 = 32;
}

/// The state of a descriptor.
pub struct Entry([AtomicU64; WORDS]);

/// The entry of a descriptor; `None` if there is none for it.
#[inline]
pub fn at(fd: i32) -> Option<&'static Entry> {
    TABLE.get(usize::try_from(fd).ok()?)
}

/// The flags of a descriptor; 0 for one that is none of the library.
#[inline]
pub fn flags(fd: i32) -> u64 {
    at(fd).map_or(0, Entry::flags)
}

/// The entry of a descriptor of the library.
pub fn own(fd: i32) -> Option<&'static Entry> {
    at(fd).filter(|entry| entry.flags() != 0)
}

/// Makes this process the owner of the table.
pub fn adopt(pid: u32) {
    OWNER.store(pid.into(), Relaxed);
}

/// Whether the table is this process's: in a child that shares the memory of its parent (vfork) it
/// is not.
pub fn is_ours(pid: u32) -> bool {
    let owner = OWNER.load(Relaxed);
    owner == 0 || owner == u64::from(pid)
}

impl Entry {
    fn get(&self, word: usize) -> u64 {
        self.0[word].load(Relaxed)
    }
    fn set_word(&self, word: usize, value: u64) {
        self.0[word].store(value, Relaxed);
    }
    /// Its flags.
    #[inline]
    pub fn flags(&self) -> u64 {
        self.get(FLAGS)
    }
    /// Whether it has any of these flags.
    #[inline]
    pub fn has(&self, flags: u64) -> bool {
        self.flags() & flags != 0
    }
    /// Sets flags.
    pub fn add(&self, flags: u64) {
        self.0[FLAGS].fetch_or(flags, Relaxed);
    }
    /// Clears flags; which of them were set.
    pub fn take(&self, flags: u64) -> u64 {
        self.0[FLAGS].fetch_and(!flags, Relaxed) & flags
    }
    /// Begins an entry.
    pub fn begin(&self, flags: u64) {
        self.0.iter().skip(1).for_each(|word| word.store(0, Relaxed));
        self.set_word(FLAGS, flags);
    }
    /// Ends it.
    pub fn end(&self) {
        if self.flags() != 0 {
            self.set_word(FLAGS, 0);
        }
    }
    /// Copies an entry to a duplicate.
    pub fn copy(&self, to: &Self) {
        for word in (0..WORDS).rev() {
            to.set_word(word, self.get(word));
        }
    }
    /// Notes that connecting has failed.
    pub fn fail(&self, error: i32) {
        self.take(flag::CONNECTING | u64::from(u32::MAX) << flag::ERROR);
        self.add(flag::FAILED | u64::from(error.unsigned_abs()) << flag::ERROR);
    }
    /// Takes the error.
    pub fn take_error(&self) -> i32 {
        (self.take(u64::from(u32::MAX) << flag::ERROR) >> flag::ERROR) as i32
    }
    fn end_at(&self, word: usize, port_shift: u32, ip6: u64) -> SocketAddr {
        let bits = u128::from(self.get(word)) << 64 | u128::from(self.get(word + 1));
        let ip = address_of(bits.to_be_bytes(), self.has(ip6));
        SocketAddr::new(ip, (self.get(PORTS) >> port_shift) as u16)
    }
    fn set_end(&self, word: usize, port_shift: u32, ip6: u64, end: SocketAddr) {
        let bits = u128::from_be_bytes(octets(end.ip()));
        self.set_word(word, (bits >> 64) as u64);
        self.set_word(word + 1, bits as u64);
        let ports = self.get(PORTS) & !(0xffff << port_shift);
        self.set_word(PORTS, ports | u64::from(end.port()) << port_shift);
        self.take(ip6);
        self.add(if end.is_ipv6() { ip6 } else { 0 });
    }
    /// The local endpoint.
    pub fn local(&self) -> SocketAddr {
        self.end_at(LOCAL, 16, flag::LOCAL_IP6)
    }
    /// Sets the local endpoint.
    pub fn set_local(&self, end: SocketAddr) {
        self.set_end(LOCAL, 16, flag::LOCAL_IP6, end);
    }
    /// The peer.
    pub fn peer(&self) -> SocketAddr {
        self.end_at(PEER, 0, flag::PEER_IP6)
    }
    /// Sets the peer.
    pub fn set_peer(&self, end: SocketAddr) {
        self.set_end(PEER, 0, flag::PEER_IP6, end);
    }
    /// The epoll set that it was added to before it was opened: descriptor, events, data.
    pub fn epoll(&self) -> Option<(i32, u32, u64)> {
        let word = self.get(EPOLL);
        // Descriptors count from one here.
        let set = i32::try_from(word >> 32).ok()?.checked_sub(1)?;
        (set >= 0).then(|| (set, word as u32, self.get(EPOLL_DATA)))
    }
    /// Notes the epoll set that it was added to.
    pub fn set_epoll(&self, set: i32, events: u32, data: u64) {
        self.set_word(EPOLL_DATA, data);
        self.set_word(EPOLL, u64::from(set.unsigned_abs() + 1) << 32 | u64::from(events));
    }
    /// Forgets it.
    pub fn leave_epoll(&self) {
        self.set_word(EPOLL, 0);
    }
    /// A value of an option.
    pub fn value(&self, slot: usize) -> u32 {
        (self.get(VALUES + slot / 2) >> (32 * (slot % 2))) as u32
    }
    /// Sets a value of an option.
    pub fn set_value(&self, slot: usize, value: u32) {
        let shift = 32 * (slot % 2);
        let old = self.get(VALUES + slot / 2) & !(u64::from(u32::MAX) << shift);
        self.set_word(VALUES + slot / 2, old | u64::from(value) << shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_what_was_put_into_it() {
        let entry = at(60_000).unwrap();
        entry.begin(flag::STREAM);
        let ends = ["10.0.0.1:80", "[2001:db8::7]:65535"].map(|end| end.parse().unwrap());
        entry.set_local(ends[0]);
        entry.set_peer(ends[1]);
        assert_eq!([entry.local(), entry.peer()], ends);
        entry.set_local(ends[1]);
        assert_eq!([entry.local(), entry.peer()], [ends[1]; 2]);
        assert_eq!(entry.epoll(), None);
        entry.set_epoll(0, u32::MAX, u64::MAX);
        assert_eq!(entry.epoll(), Some((0, u32::MAX, u64::MAX)));
        (0..SLOTS).for_each(|slot| entry.set_value(slot, slot as u32 + 1));
        assert!((0..SLOTS).all(|slot| entry.value(slot) == slot as u32 + 1));
        entry.fail(111);
        assert_eq!((entry.take_error(), entry.take_error()), (111, 0));
        let copy = at(60_001).unwrap();
        entry.copy(copy);
        assert_eq!((copy.flags(), copy.peer()), (entry.flags(), ends[1]));
        copy.end();
        assert_eq!(flags(60_001), 0);
        assert!(at(-1).is_none() && at(MOST as i32).is_none());
    }
}
