//! A received router advertisement, on its way from the node to control.

use net::prelude::*;

/// Prefixes of one advertisement that are looked at.
pub const MOST_PREFIXES: usize = 8;

/// A prefix advertised by another router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedPrefix {
    /// The address part, bits after its length as they came.
    pub addr: Ipv6Addr,
    /// Bits that count, at most 128.
    pub len: u8,
    /// [`wire::nd::ON_LINK`], [`wire::nd::AUTONOMOUS`] and whatever else came.
    pub flags: u8,
    /// Seconds; all ones: forever.
    pub valid: u32,
    /// Seconds; all ones: forever.
    pub preferred: u32,
}

/// An advertisement of another router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// Receive interface.
    pub interface: InterfaceIndex,
    /// Sender: its link-local address.
    pub router: Ipv6Addr,
    /// Its MAC address, if announced.
    pub mac: Option<MacAddr>,
    /// Hop limit for us to use, 0: none said.
    pub hop_limit: u8,
    /// [`wire::nd::MANAGED`], [`wire::nd::OTHER_CONFIG`], preference.
    pub flags: u8,
    /// Router lifetime in seconds.
    pub lifetime: u16,
    /// Milliseconds, 0: none said.
    pub reachable_ms: u32,
    /// Milliseconds, 0: none said.
    pub retransmit_ms: u32,
    /// MTU of the link in bytes, 0: none said.
    pub mtu: u32,
    prefixes: [Option<ReceivedPrefix>; MOST_PREFIXES],
}

impl Advertised {
    /// One without prefixes.
    pub fn new(interface: InterfaceIndex, router: Ipv6Addr) -> Self {
        Self {
            interface,
            router,
            mac: None,
            hop_limit: 0,
            flags: 0,
            lifetime: 0,
            reachable_ms: 0,
            retransmit_ms: 0,
            mtu: 0,
            prefixes: [None; MOST_PREFIXES],
        }
    }
    /// Adds a prefix; further ones than there is room for are left out.
    pub fn push(&mut self, new: ReceivedPrefix) {
        if let Some(free) = self.prefixes.iter_mut().find(|p| p.is_none()) {
            *free = Some(new);
        }
    }
    /// The prefixes in the order they came.
    pub fn prefixes(&self) -> impl Iterator<Item = &ReceivedPrefix> {
        self.prefixes.iter().flatten()
    }
}

impl Event for Advertised {
    /// Fewer than of others: they are ten times as long.
    const ROOM: usize = 32;
}
