//! The configuration of the nodes: published whole whenever it changes.

use net::prelude::*;
use sessions::Flow4;
use translation::mapping::Mappings;
use translation::pool::Offers;
use translation::workers::Workers;

use crate::core::Traffic;

/// The configuration of the nodes.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// True if packets without a translation are forwarded.
    pub is_forwarding: bool,
    /// TCP MSS.
    pub mss: Option<u16>,
    /// Addresses that packets get.
    pub pool: Offers,
    /// Addresses for far ends.
    pub twice: Vec<Ipv4Addr>,
    /// Mappings that stay.
    pub mappings: Mappings,
    /// Most sessions of a table.
    pub limits: HashMap<u16, u64>,
    /// The tables of interfaces outside.
    pub outside_fibs: Vec<u16>,
    /// Interfaces outside.
    pub outside: Vec<u32>,
    /// Tables of far ends, for tables of hosts that have certain ones.
    pub routes: HashMap<u16, Vec<u16>>,
    /// The threads that have sessions.
    pub workers: Workers,
}

impl Config {
    /// Whether an address is in the pool, of either kind.
    pub fn is_pooled(&self, addr: [u8; 4]) -> bool {
        let addr = Ipv4Addr::from(addr);
        self.pool.iter().any(|offer| offer.addr == addr) || self.twice.contains(&addr)
    }
    /// The host that a mapping leads a packet from inside back to, and its table.
    pub fn hairpin(&self, flow: &Flow4, traffic: Traffic) -> Option<(([u8; 4], u16), u16)> {
        let found = self.mappings.to_external(flow.dst, flow.dst_port, flow.protocol())?;
        let (mapping, fibs) = self.mappings.at(found)?;
        let (local, fib) = mapping.locals.first().zip(fibs.first())?;
        let port = if mapping.is_of_address() { flow.dst_port } else { local.port };
        let leads_back = traffic != Traffic::Output && !mapping.is_identity;
        leads_back.then_some(((local.addr.octets(), port), *fib))
    }
}
