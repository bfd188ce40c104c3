//! Routing as a whole: a router with three interfaces, its lookup nodes with everything behind in
//! sinks.

mod commands;
mod model;
mod nodes;
mod oracle;
mod recursion;
mod routes;
mod tables;

use std::net::IpAddr;

use control::api::{Api, Local};
use control::cli::Cli;
use control::log::Log;
use graph::Settings;
use graph::testing::TestGraph;
use infra::rcu::Participant;
use wire::{MacAddr, Prefix};

use super::*;
use crate::adjacency::{AdjacencyIndex, Role};
use crate::interface::{Kind, NewInterface, Offloads};
use crate::router::{Parts, Router};
use crate::{address, drops, interface};

/// Transmit node that nothing reaches.
#[derive(Clone)]
struct NoTx;

impl graph::Node for NoTx {
    const NAME: &'static str = "test-tx";
    type Next = std::convert::Infallible;
    type Error = std::convert::Infallible;
    type Count = std::convert::Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut graph::Frame<'_, Self, On>) {
        frame.consume(|_| Ok(()));
    }
}

pub(super) struct Bench {
    pub graph: TestGraph,
    pub router: Router,
    cli: Cli<Router>,
    api: Api<Router>,
}

impl Bench {
    /// With `pg0`, `pg1` and `pg2` up and without addresses.
    pub fn new() -> Self {
        let new = Router::new(Settings { buffers: 64, ..Settings::default() }, Log::new());
        let mut router = new.unwrap();
        let (graph, parts) = TestGraph::new(|engine| {
            std::mem::swap(engine, &mut router.engine);
            let mut parts = Parts::new(router);
            for feature in [drops::FEATURE, interface::FEATURE, FEATURE, address::FEATURE] {
                (feature.register)(&mut parts).unwrap();
            }
            std::mem::swap(engine, &mut parts.router.engine);
            Ok(parts)
        });
        let Parts { router, cli, mut api } = parts;
        cli.check().unwrap();
        api.finish(&router.clients).unwrap();
        let mut bench = Self { graph, router, cli, api };
        for (name, mac) in [("pg0", 0xaa), ("pg1", 0xab), ("pg2", 0xac)] {
            bench.add_interface(name, mac);
        }
        bench
    }
    pub fn add_interface(&mut self, name: &str, mac: u8) -> InterfaceIndex {
        let new = NewInterface {
            name: name.to_owned(),
            kind: Kind::Ethernet,
            hardware: "test",
            mac: MacAddr([2, 0, 0, 0, 0, mac]),
            mtu: 9000,
            offloads: Offloads::default(),
            link_follows_admin: true,
        };
        self.control(|router| {
            let index = router.add_interface(new, NoTx).unwrap();
            router.set_admin(index, true);
            index
        })
    }
    /// Does something with the router and the engine under test.
    pub fn control<R>(&mut self, work: impl FnOnce(&mut Router) -> R) -> R {
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        let done = work(&mut self.router);
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        done
    }
    /// Carries out commands; returns what they print.
    pub fn run(&mut self, lines: &str) -> String {
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        let text = self.cli.run(&mut self.router, lines).text();
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        text
    }
    /// Carries out commands that print nothing.
    #[track_caller]
    pub fn set(&mut self, lines: &str) {
        assert_eq!(self.run(lines), "", "{lines}");
    }
    /// Lets `work` talk to the router as a client of the binary API does.
    pub fn talk<R>(&mut self, work: impl FnOnce(&Local<'_, Router>, &mut Router) -> R) -> R {
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        let local = Local::new(&self.api, &self.cli, &self.router.clients);
        let done = work(&local, &mut self.router);
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        done
    }
    pub fn interface(&self, name: &str) -> InterfaceIndex {
        self.router.interfaces.named(name).unwrap().index
    }
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
    /// Where packets to `dst` in table 0 go: all buckets, followed through load balances.
    pub fn leads(&self, dst: &str) -> Vec<Via> {
        self.leads_in(TableIndex::DEFAULT, dst)
    }
    pub fn leads_in(&self, table: TableIndex, dst: &str) -> Vec<Via> {
        let me = Participant::join();
        let leaf = match dst.parse().unwrap() {
            IpAddr::V4(a) => {
                let forwarding = self.router.fib.forwarding::<Ip4>();
                forwarding.table(table.0, me.epoch()).unwrap().lookup(a.to_bits(), me.epoch())
            }
            IpAddr::V6(a) => {
                let forwarding = self.router.fib.forwarding::<Ip6>();
                forwarding.table(table.0, me.epoch()).unwrap().lookup(a.to_bits(), me.epoch())
            }
        };
        self.follow(leaf, 8)
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
    /// What must be the same again when all is removed: lists, load balances, adjacencies,
    /// prefixes.
    pub fn in_use(&self) -> [usize; 5] {
        let fib = &self.router.fib;
        [
            fib.lists.iter().count(),
            fib.balances.len(),
            self.router.adjacencies.iter().count(),
            fib.len::<Ip4>(TableIndex::DEFAULT),
            fib.len::<Ip6>(TableIndex::DEFAULT),
        ]
    }
}

pub(super) fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}
