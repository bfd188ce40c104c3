//! What the nodes go by: published whole whenever it changes.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use wire::Protocol;

/// An address that packets get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolAddress {
    /// The address.
    pub addr: Ipv4Addr,
    /// For packets of this table only.
    pub vrf: Option<u32>,
    /// For the far ends of twice-NAT.
    pub is_twice: bool,
    /// The interface it is taken from, if it is not configured itself.
    pub from: Option<u32>,
}

/// How the far end of a session is translated too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Twice {
    /// It is not.
    #[default]
    No,
    /// Always.
    Always,
    /// When it is the local host itself.
    ToItself,
}

/// A host that packets of a mapping go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The address.
    pub addr: Ipv4Addr,
    /// The port; 0 with mappings of addresses.
    pub port: u16,
    /// Its part, with several.
    pub probability: u8,
    /// Its table.
    pub vrf: u32,
}

/// A mapping that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The hosts behind it: one, or several that share the load.
    pub locals: Vec<Local>,
    /// Whether the hosts share the load, even if it is one.
    pub is_balanced: bool,
    /// The address outside; unspecified while the interface has none.
    pub external: Ipv4Addr,
    /// The port outside; 0 with mappings of addresses.
    pub port: u16,
    /// Of this protocol only; `None` with mappings of addresses.
    pub protocol: Option<Protocol>,
    /// The interface whose address is the external one.
    pub interface: Option<u32>,
    /// Whether addresses stay as they are.
    pub is_identity: bool,
    /// Whether only packets from outside begin sessions.
    pub is_out2in_only: bool,
    /// The far end.
    pub twice: Twice,
    /// Seconds for which a client stays with its host; 0 for not.
    pub affinity: u32,
    /// The pool address for the far end, if it has to be a certain one.
    pub pool: Option<Ipv4Addr>,
    /// What the operator calls it.
    pub tag: String,
}

impl Mapping {
    /// Whether all ports of an address are meant.
    pub fn is_of_address(&self) -> bool {
        self.protocol.is_none()
    }
}

/// An end outside or inside: address, port and protocol; 0 for all.
pub type End = (Ipv4Addr, u16, u8);

/// What the nodes go by.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Whether packets without a translation pass.
    pub is_forwarding: bool,
    /// The maximum segment size of TCP.
    pub mss: Option<u16>,
    /// Addresses that packets get, with the table they are for.
    pub pool: Vec<(Ipv4Addr, Option<u16>)>,
    /// Addresses for far ends.
    pub twice: Vec<Ipv4Addr>,
    /// Mappings; hosts with the positions of their tables.
    pub mappings: Vec<(Mapping, Vec<u16>)>,
    /// Mappings by what is outside.
    pub by_external: HashMap<End, usize>,
    /// Mappings by host, in its table.
    pub by_local: HashMap<(End, u16), usize>,
    /// Most sessions of a table.
    pub limits: HashMap<u16, u64>,
    /// The tables of interfaces outside.
    pub outside_fibs: Vec<u16>,
    /// Interfaces outside.
    pub outside: Vec<u32>,
    /// Tables of far ends, for tables of hosts that have certain ones.
    pub routes: HashMap<u16, Vec<u16>>,
}

impl Config {
    /// The mapping for packets to an end outside.
    pub fn to_external(&self, addr: [u8; 4], port: u16, protocol: Protocol) -> Option<usize> {
        let addr = Ipv4Addr::from(addr);
        let exact = self.by_external.get(&(addr, port, protocol.0));
        exact.or_else(|| self.by_external.get(&(addr, 0, 0))).copied()
    }
    /// The mapping for packets from a host.
    pub fn of_local(
        &self,
        addr: [u8; 4],
        port: u16,
        protocol: Protocol,
        fib: u16,
    ) -> Option<usize> {
        let addr = Ipv4Addr::from(addr);
        let exact = self.by_local.get(&((addr, port, protocol.0), fib));
        exact.or_else(|| self.by_local.get(&((addr, 0, 0), fib))).copied()
    }
    /// Whether an address is in the pool, of either kind.
    pub fn is_pooled(&self, addr: [u8; 4]) -> bool {
        let addr = Ipv4Addr::from(addr);
        self.pool.iter().any(|(a, _)| *a == addr) || self.twice.contains(&addr)
    }
}
