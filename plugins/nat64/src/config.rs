//! Settings as the nodes find them.

use std::collections::HashSet;

use net::prelude::*;
use translation::pool::Offers;
use wire::siit::embedded;

/// A mapping that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Static {
    /// The host.
    pub host: Ipv6Addr,
    /// Its port; identifier of echoes, 0 with other protocols.
    pub port: u16,
    /// Outside address.
    pub outside: Ipv4Addr,
    /// Outside port.
    pub outside_port: u16,
    /// The protocol, as in IPv4.
    pub protocol: Protocol,
    /// Table of the host.
    pub vrf: u32,
}

/// The prefix of a table for which none is set (RFC 6052 section 2.1).
pub fn well_known() -> Ip6Prefix {
    let network = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
    Ip6Prefix::new(network, 96).expect("96 is no longer than an address")
}

/// Configuration of the nodes.
#[derive(Clone, Debug)]
pub struct Config {
    /// Prefixes of tables.
    pub prefixes: HashMap<u16, Ip6Prefix>,
    /// The prefix of all other tables.
    pub prefix: Ip6Prefix,
    /// Addresses that hosts get.
    pub pool: Offers,
    /// Interfaces outside.
    pub interfaces: Vec<u32>,
    /// All addresses outside.
    pub outside: HashSet<Ipv4Addr>,
    /// Mappings that stay, with the position of their table.
    pub statics: Vec<(Static, u16)>,
    /// By host, port, protocol and table.
    pub by_host: HashMap<(Ipv6Addr, u16, u8, u16), usize>,
    /// By what is outside.
    pub by_outside: HashMap<(Ipv4Addr, u16, u8), usize>,
    /// Addresses of hosts by their mappings that stay, in their table.
    pub addresses: HashMap<(Ipv6Addr, u16), Ipv4Addr>,
    /// IPv4 tables of interfaces outside.
    pub fibs: Vec<u16>,
    /// The first of the threads.
    pub first_thread: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            prefixes: HashMap::new(),
            prefix: well_known(),
            pool: Offers::default(),
            interfaces: Vec::new(),
            outside: HashSet::new(),
            statics: Vec::new(),
            by_host: HashMap::new(),
            by_outside: HashMap::new(),
            addresses: HashMap::new(),
            fibs: Vec::new(),
            first_thread: 0,
        }
    }
}

impl Config {
    /// The prefix that stands for IPv4 in a table.
    #[inline(always)]
    pub fn prefix_of(&self, fib: u16) -> Ip6Prefix {
        self.prefixes.get(&fib).copied().unwrap_or(self.prefix)
    }
    /// The IPv4 address that an address stands for in a table.
    #[inline(always)]
    pub fn extract(&self, fib: u16, addr: Ipv6Addr) -> Option<Ipv4Addr> {
        embedded::extract(self.prefix_of(fib), addr)
    }
    /// The address that stands for one of IPv4 in a table.
    #[inline(always)]
    pub fn embed(&self, fib: u16, addr: Ipv4Addr) -> Option<Ipv6Addr> {
        embedded::embed(self.prefix_of(fib), addr)
    }
    /// Whether packets to an address are for hosts inside.
    #[inline(always)]
    pub fn is_outside(&self, addr: Ipv4Addr) -> bool {
        self.outside.contains(&addr)
    }
    /// The mapping of a host's port in a table.
    pub fn of_host(
        &self,
        host: [u8; 16],
        port: u16,
        protocol: Protocol,
        fib: u16,
    ) -> Option<Static> {
        let found = self.by_host.get(&(host.into(), port, protocol.0, fib))?;
        self.statics.get(*found).map(|(s, _)| *s)
    }
    /// The address of a host by its mappings that stay.
    pub fn address_of(&self, host: [u8; 16], fib: u16) -> Option<Ipv4Addr> {
        self.addresses.get(&(host.into(), fib)).copied()
    }
    /// Mappings that stay and count with a thread: the first has them all.
    pub fn statics_of(&self, thread: usize) -> usize {
        if thread == self.first_thread { self.statics.len() } else { 0 }
    }
    /// The mapping of a port outside, and the position of its host's table.
    pub fn of_outside(
        &self,
        addr: [u8; 4],
        port: u16,
        protocol: Protocol,
    ) -> Option<(Static, u16)> {
        let found = self.by_outside.get(&(addr.into(), port, protocol.0))?;
        self.statics.get(*found).copied()
    }
}
