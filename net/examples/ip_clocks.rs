//! Prints what the nodes of forwarding cost on this machine, in clocks of the time-stamp counter
//! for each packet: full frames of one flow over one route, the best of many short windows.
//!
//! `taskset -c 1 cargo run --release -p net --example ip_clocks`

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;

use control::log::Log;
use graph::{Frame, Input, InputState, Intake, Node, Settings};
use net::adjacency::Role;
use net::interface::{InterfaceIndex, Kind, NewInterface, Offloads};
use net::{Assembly, Router};
use wire::{MacAddr, Protocol, ip4, ip6, udp};
use zerocopy::IntoBytes;

const WINDOWS: usize = 500;
const LOOPS: usize = 64;
const NEIGHBORS: [&str; 2] = ["10.0.1.2", "2001:db8:1::2"];

/// Brings in the same packet again and again.
#[derive(Clone)]
struct Source {
    packet: Vec<u8>,
    next: Next,
    rx: u32,
}

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("ip4-input")]
    Ip4,
    #[to("ip6-input")]
    Ip6,
}

impl Input for Source {
    const NAME: &'static str = "source";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const STATE: InputState = InputState::Polling;
    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        intake.each(256, self.rx, |p| {
            p.append(&self.packet)?;
            Some(self.next)
        });
    }
}

/// Gives everything back.
#[derive(Clone)]
struct End;

impl Node for End {
    const NAME: &'static str = "end";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|_| Ok(()));
    }
}

fn main() {
    let router = Router::new(Settings::default(), Log::new()).expect("memory");
    let mut parts = Assembly::new(router);
    for feature in net::FEATURES {
        parts.add(feature).expect("features register");
    }
    let mut router = parts.router;
    let rx = add_interface(&mut router, "pg0", ["10.0.0.1/24", "2001:db8::1/64"]);
    let tx = add_interface(&mut router, "pg1", ["10.0.1.1/24", "2001:db8:1::1/64"]);
    let source = Source { packet: Vec::new(), next: Next::Ip4, rx: rx.0 };
    let source = router.engine.add_input(source).expect("a new node");
    router.engine.build().expect("a whole graph");
    router.engine.start_inline();
    for neighbor in NEIGHBORS {
        let addr: IpAddr = neighbor.parse().expect("an address");
        router.fib_add_neighbor(tx, addr).expect("a host route");
        let index = router.adjacencies.find(tx, Role::Neighbor, addr).expect("its adjacency");
        router.complete_adjacency(index, MacAddr([2, 0, 0, 0, 0, 0xbb]));
    }
    for (next, packet) in [(Next::Ip4, packet4()), (Next::Ip6, packet6())] {
        let change = move |s: &mut Source| (s.next, s.packet) = (next, packet);
        router.engine.with_node(0, source, change).expect("the thread answers");
        measure(&mut router);
    }
}

fn measure(router: &mut Router) {
    let mut best = BTreeMap::new();
    for _ in 0..WINDOWS {
        router.engine.clear_runtime();
        router.engine.run_inline(LOOPS);
        let rows = router.engine.runtime_rows().expect("the thread answers");
        for node in rows[0].nodes.iter().filter(|n| n.stats.vectors > 0) {
            let clocks = node.stats.clocks as f64 / node.stats.vectors as f64;
            let least = best.entry(node.name.clone()).or_insert(f64::MAX);
            *least = clocks.min(*least);
        }
    }
    for (node, clocks) in best {
        println!("{node:20} {clocks:6.1}");
    }
    println!();
}

fn add_interface(router: &mut Router, name: &str, addresses: [&str; 2]) -> InterfaceIndex {
    let new = NewInterface {
        name: name.to_owned(),
        kind: Kind::Ethernet,
        hardware: "none",
        mac: MacAddr([2, 0, 0, 0, 0, 0xaa]),
        mtu: 9000,
        offloads: Offloads::default(),
        link_follows_admin: true,
    };
    let index = router.add_interface(new, End).expect("a new interface");
    router.set_admin(index, true);
    for address in addresses {
        let address = address.parse().expect("an address");
        router.add_address(index, address).expect("a free address");
    }
    index
}

fn udp_header() -> [u8; 26] {
    let mut bytes = [0; 26];
    bytes[..8].copy_from_slice(udp::Header::new(1234, 2345, 26).as_bytes());
    bytes
}

fn packet4() -> Vec<u8> {
    let (src, dst) = ([10, 0, 0, 2].into(), [10, 0, 1, 2].into());
    let header = ip4::Header::new(src, dst, Protocol::UDP, 46);
    [header.as_bytes(), &udp_header()].concat()
}

fn packet6() -> Vec<u8> {
    let (src, dst) = ("2001:db8::2", NEIGHBORS[1]);
    let addr = |text: &str| text.parse().expect("an address");
    let header = ip6::Header::new(addr(src), addr(dst), Protocol::UDP, 26);
    [header.as_bytes(), &udp_header()].concat()
}
