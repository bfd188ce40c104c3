//! Entries of the layer 2 FIB: what is known of an address in a bridge domain.
//!
//! Keys are the 48 bits of an address above the 16 of a domain. A value is one number, so that it
//! is read and changed at once.

use graph::{BLOCK, Passes};
use infra::table::exact::View;
use net::prelude::*;

/// The value of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub u64);

/// The entry is there.
const VALID: u64 = 1;
/// It was set, neither learned nor aged.
pub const STATIC: u64 = 1 << 1;
/// Frames for it are dropped.
pub const FILTER: u64 = 1 << 2;
/// The address of the bridge virtual interface.
pub const BVI: u64 = 1 << 3;
/// Learned, and not reported to clients yet.
pub const NEW: u64 = 1 << 4;
/// Moved, and not reported to clients yet.
pub const MOVED: u64 = 1 << 5;
/// Bits of the minute it was heard last.
const AGE: u64 = 0xff << 8;

/// The key of an address, in the order of [`crate::packet::source`].
#[inline(always)]
pub fn key(domain: u16, address: u64) -> u64 {
    address << 16 | u64::from(domain)
}

/// The key of an address.
pub fn key_of(domain: u16, mac: MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    key(domain, u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
}

/// Reads the keys of the packets of a block and asks for what is known of them.
#[inline(always)]
pub fn look<N: Node>(
    packets: &mut Passes<'_, N>,
    key: impl Fn(&Buffer<'_>) -> u64,
    places: Range<usize>,
    view: View<'_>,
    keys: &mut [u64; BLOCK],
) {
    packets.look(places, |place, p| {
        let key = key(p);
        keys[place % BLOCK] = key;
        view.fetch(key);
    });
}

/// Domain and address of a key.
pub fn of_key(key: u64) -> (u16, MacAddr) {
    let [a, b, c, d, e, f, ..] = (key >> 16).to_le_bytes();
    (key as u16, MacAddr([a, b, c, d, e, f]))
}

/// Minutes on the router's clock, of which an entry keeps eight bits.
pub fn minute(now: f64) -> u8 {
    (now / 60.0) as u64 as u8
}

impl Entry {
    /// One that is learned on an interface, under the sequence numbers in use.
    #[inline(always)]
    pub fn learned(interface: u32, sequence: u16, minute: u8) -> Self {
        Self(
            u64::from(interface) << 32 | u64::from(sequence) << 16 | u64::from(minute) << 8 | VALID,
        )
    }
    /// One that is set, with `STATIC` and more.
    pub fn fixed(interface: u32, flags: u64) -> Self {
        Self(u64::from(interface) << 32 | VALID | flags)
    }
    /// Whether any of these flags are set.
    #[inline(always)]
    pub fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }
    /// Whether it was set, on this interface, and frames from it are not dropped.
    #[inline(always)]
    pub fn is_set_on(self, interface: u32) -> bool {
        self.0 & (STATIC | FILTER) == STATIC && self.interface() == interface
    }
    /// The interface where the address is.
    #[inline(always)]
    pub fn interface(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// The interface that a usual frame from `rx` goes on to, if the entry still counts.
    #[inline(always)]
    pub fn egress(self, rx: u32) -> Option<u32> {
        let is_usual = self.0 & (VALID | FILTER | BVI) == VALID && self.interface() != rx;
        is_usual.then(|| self.interface())
    }
    /// Whether an entry that differs from another one in these bits says the same of where frames
    /// go.
    #[inline(always)]
    pub fn is_same_egress(self) -> bool {
        self.0 & !(AGE | NEW | MOVED) == 0
    }
    /// Sequence numbers it was learned under: the domain's above the interface's.
    #[inline(always)]
    pub fn sequence(self) -> u16 {
        (self.0 >> 16) as u16
    }
    /// Minutes since it was heard, at most 255.
    pub fn age(self, minute: u8) -> u8 {
        minute.wrapping_sub((self.0 >> 8) as u8)
    }
    /// Without the bits of pending reports.
    #[inline(always)]
    pub fn told(self) -> Self {
        Self(self.0 & !(NEW | MOVED))
    }
}
