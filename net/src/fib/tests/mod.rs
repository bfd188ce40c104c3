//! Routing as a whole: a router with three interfaces, its lookup nodes with everything behind in
//! sinks.

mod commands;
mod concurrent;
mod export;
mod foreign;
mod model;
mod nodes;
mod objects;
mod oracle;
mod recursion;
mod routes;
mod slices;
mod tables;

use std::net::IpAddr;

use ::control::log::Log;
use graph::Settings;
use infra::rcu::Participant;
use proptest::test_runner::Config as ProptestConfig;
use wire::{MacAddr, Prefix};

use super::*;
use crate::address;
use crate::adjacency::{AdjacencyIndex, Role};
use crate::interface::Kind;
use crate::testing::Rig;

/// A router with `pg0`, `pg1` and `pg2` up and without addresses.
pub(super) fn bench() -> Rig {
    let mut b = Rig::new(&[FEATURE, address::FEATURE]);
    for (name, mac) in [("pg0", 0xaa), ("pg1", 0xab), ("pg2", 0xac)] {
        b.add_interface(name, Kind::Ethernet, mac);
    }
    b
}

impl Rig {
    /// A neighbour whose layer 2 address is known.
    pub fn neighbor(&mut self, interface: &str, addr: &str) -> AdjacencyIndex {
        let (interface, addr) = (self.interface(interface), addr.parse::<IpAddr>().unwrap());
        self.control(|router| {
            router.fib_add_neighbor(interface, addr).unwrap();
            let index = router.adjacencies.find(interface, Role::Neighbor, addr).unwrap();
            router.complete_adjacency(index, MacAddr([2, 0, 0, 0, 0, 0xbb]));
            index
        })
    }
    /// Ends of packets to `dst` in table 0: all buckets, followed through load balances.
    pub fn leads(&self, dst: &str) -> Vec<Via> {
        self.leads_in(TableIndex::DEFAULT, dst)
    }
    /// Ends of packets to an address, by a table.
    pub fn leads_in(&self, table: TableIndex, dst: &str) -> Vec<Via> {
        self.follow(self.found(table, dst.parse().unwrap()), 32)
    }
    /// The load balance that a lookup finds.
    fn found(&self, table: TableIndex, dst: IpAddr) -> u32 {
        let me = Participant::join();
        match dst {
            IpAddr::V4(a) => {
                let forwarding = self.router.fib.forwarding::<Ip4>();
                forwarding.table(table.0, me.epoch()).unwrap().lookup(a.to_bits(), me.epoch())
            }
            IpAddr::V6(a) => {
                let forwarding = self.router.fib.forwarding::<Ip6>();
                forwarding.table(table.0, me.epoch()).unwrap().lookup(a.to_bits(), me.epoch())
            }
        }
    }
    fn follow(&self, balance: u32, depth: usize) -> Vec<Via> {
        let balance = self.router.fib.balances.at(balance);
        let next = |via: &Via| match via {
            Via::LoadBalance(next) => {
                assert!(depth > 0, "load balances lead to each other");
                self.follow(*next, depth - 1)
            }
            via => vec![*via],
        };
        balance.buckets().iter().flat_map(next).collect()
    }
    /// Counts that must be the same again when all is removed: lists, load balances, adjacencies,
    /// prefixes, addresses that packets of the other family resolve through.
    pub fn in_use(&self) -> [usize; 6] {
        let fib = &self.router.fib;
        [
            fib.lists.iter().count(),
            fib.balances.len(),
            self.router.adjacencies.iter().count(),
            fib.len::<Ip4>(TableIndex::DEFAULT),
            fib.len::<Ip6>(TableIndex::DEFAULT),
            fib.foreign.len(),
        ]
    }
}

/// Number of cases that a property is tried with: `PROPTEST_CASES`, or `usual`.
pub(super) fn cases(usual: u32) -> ProptestConfig {
    let said = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: said.unwrap_or(usual), ..ProptestConfig::default() }
}

pub(super) fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}
