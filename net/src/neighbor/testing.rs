//! A whole router with two interfaces, `pg0` (10.0.0.1/24, 2001:db8::1/64) and `pg1` (10.0.1.1/24,
//! 2001:db8:1::1/64), under test. What they send is caught.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, Ipv6Addr};

use control::cli::{Cli, Output, Run, Step};
use control::process::Processes;
use graph::testing::Caught;
use wire::arp::{Header, Operation, Peer};
use wire::ethernet::{self, EtherType};
use wire::{MacAddr, Protocol, checksum, icmp6, ip4, ip6, nd};
use zerocopy::{FromBytes, IntoBytes};

use super::family::{ArpFrame, NdFrame};
use crate::interface::InterfaceIndex;
use crate::router::{Feature, Router};
use crate::testing::{Pair, Rig, Transmit, new_interface};

/// The address of `pg0`.
pub const PG0: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xaa]);
/// The address of `pg1`.
pub const PG1: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xab]);

/// The rig with its interfaces.
pub type Bench = Pair<Whole>;

/// All that this crate has.
pub struct Whole;

impl Default for Bench {
    fn default() -> Self {
        Self::plugged(&[])
    }
}

impl Bench {
    /// The whole router as hosts on its links see it.
    pub fn new() -> Self {
        Self::default()
    }
    /// With plugins.
    pub fn plugged(plugins: &[Feature]) -> Self {
        Self::plugged_on(1, plugins)
    }
    /// With plugins, on so many threads; there may be as many later.
    pub fn plugged_on(threads: usize, plugins: &[Feature]) -> Self {
        let interfaces = |router: &mut Router| {
            [("pg0", PG0), ("pg1", PG1)]
                .map(|(name, mac)| {
                    router.add_interface(new_interface(name, mac), Transmit).unwrap()
                })
                .into()
        };
        let features = [crate::FEATURES, plugins].concat();
        let mut bench = Self::of(Rig::made(threads, &features, |_| (), interfaces));
        for line in [
            "set interface state pg0 up",
            "set interface state pg1 up",
            "set interface ip address pg0 10.0.0.1/24",
            "set interface ip address pg0 2001:db8::1/64",
            "set interface ip address pg1 10.0.1.1/24",
            "set interface ip address pg1 2001:db8:1::1/64",
        ] {
            assert_eq!(bench.cli(line), "", "{line}");
        }
        bench.wait(0.0);
        bench
    }
    /// Does something with the router and its commands.
    pub fn control<R>(&mut self, work: impl FnOnce(&mut Router, &Cli<Router>) -> R) -> R {
        self.connected(|rig| work(&mut rig.router, &rig.cli))
    }
    /// Counters of messages about neighbours on an interface: requests, replies and gratuitous ones
    /// received, and the same sent.
    pub fn messages(&self, of: usize, on: InterfaceIndex) -> [u64; 6] {
        let counters = &self.router.neighbors().counters[of];
        let all = [&counters.rx, &counters.tx].map(|m| [&m.requests, &m.replies, &m.gratuitous]);
        let mut sums = all.as_flattened().iter().map(|rows| rows.sum(on.0 as usize));
        std::array::from_fn(|_| sums.next().unwrap())
    }
    /// Runs a command; its text.
    pub fn cli(&mut self, line: &str) -> String {
        self.run(line)
    }
    /// Runs a command that takes its time; `answer` returns the answers at `pg1` for each frame
    /// sent.
    pub fn run_task(&mut self, line: &str, answer: impl Fn(&[u8]) -> Vec<Vec<u8>>) -> String {
        let (mut run, mut out) = (Run::new(line), Output::none());
        loop {
            match self.control(|router, cli| run.step(cli, router, &mut out)) {
                Step::Done(Ok(())) => return out.to_text(),
                Step::Done(Err(e)) => return format!("{}{e}\n", out.to_text()),
                Step::Sleep(time) => self.graph.engine.clock().adjust(time.as_secs_f64()),
                Step::Again | Step::Wait => (),
            }
            let sent = self.graph.run();
            let back: Vec<_> = sent.iter().flat_map(|c: &Caught| answer(&c.bytes)).collect();
            self.receive(self.pg1, &back);
            self.settle();
        }
    }
    /// Sends frames into an interface; what is caught until all is quiet.
    pub fn receive(&mut self, on: InterfaceIndex, frames: &[Vec<u8>]) -> Vec<Caught> {
        let mut caught = self.graph.send("ethernet-input", frames, move |p| p.set_rx(on.0));
        caught.append(&mut self.settle());
        caught
    }
    /// As [`Bench::receive`], on one of the threads.
    pub fn receive_at(
        &mut self,
        thread: usize,
        on: InterfaceIndex,
        frames: &[Vec<u8>],
    ) -> Vec<Caught> {
        let prepare = move |p: &mut graph::Buffer<'_>| p.set_rx(on.0);
        let mut caught = self.graph.send_on(thread, "ethernet-input", frames, prepare);
        caught.append(&mut self.settle());
        caught
    }
    /// Uses the threads with these numbers, and no others.
    pub fn set_threads(&mut self, threads: std::ops::Range<usize>) {
        let plan = graph::Plan { cpu: None, shares: true };
        let plans = vec![plan; threads.len()];
        self.control(|router, _| router.set_threads(threads.start, &plans)).unwrap();
    }
    /// Makes control handle the requests of the data plane; returns the packets caught until all is
    /// quiet.
    pub fn settle(&mut self) -> Vec<Caught> {
        self.control(|router, _| router.handle_events());
        self.graph.run()
    }
    /// Lets time pass, in steps of a quarter of a second at most; what is caught meanwhile.
    pub fn wait(&mut self, seconds: f64) -> Vec<Caught> {
        let steps = (seconds / 0.25).ceil() as usize;
        let mut caught = Vec::new();
        for _ in 0..=steps {
            self.control(|router, _| {
                let now = router.now();
                Processes::run_due(router, |r| &mut r.processes, now);
            });
            caught.append(&mut self.graph.run());
            caught.append(&mut self.settle());
            if steps > 0 {
                self.graph.engine.clock().adjust(0.2515);
            }
        }
        caught
    }
}

/// A host on `pg0`'s link.
pub const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
/// Another one.
pub const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// An IPv4 address.
pub fn ip(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

/// An IPv6 address.
pub fn ip6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// ARP request of `sender` for `target`.
pub fn request(mac: MacAddr, sender: &str, target: &str) -> ArpFrame {
    ArpFrame {
        ethernet: ethernet::Header::new(MacAddr::BROADCAST, mac, EtherType::ARP),
        arp: Header::request(Peer::new(mac, ip(sender)), ip(target)),
    }
}

/// The answer of `sender` to `target` at `to`.
pub fn reply(mac: MacAddr, sender: &str, to: MacAddr, target: &str) -> ArpFrame {
    let mut frame = request(mac, sender, target);
    frame.ethernet.dst = to;
    (frame.arp.operation, frame.arp.target.mac) = (Operation::REPLY, to);
    frame
}

/// A frame as bytes.
pub fn bytes(frame: impl IntoBytes + zerocopy::Immutable) -> Vec<u8> {
    frame.as_bytes().to_vec()
}

/// A UDP packet for `dst` that came to `pg0` from 10.0.0.2.
pub fn packet(dst: &str) -> Vec<u8> {
    packet_to(PG0, dst)
}

/// As [`packet`], to another MAC address.
pub fn packet_to(port: MacAddr, dst: &str) -> Vec<u8> {
    let header = ip4::Header::new(ip("10.0.0.2"), ip(dst), Protocol::UDP, 20 + 20);
    let udp = [&[4, 210, 9, 41, 0, 20, 0, 0], &[7; 12][..]].concat();
    let ethernet = ethernet::Header::new(port, HOST, EtherType::IP4);
    [ethernet.as_bytes(), header.as_bytes(), &udp].concat()
}

/// A UDP packet for `dst` that came to `pg0` from 2001:db8::2.
pub fn packet6(dst: &str) -> Vec<u8> {
    let header = ip6::Header::new(ip6("2001:db8::2"), ip6(dst), Protocol(253), 16);
    let ethernet = ethernet::Header::new(PG0, HOST, EtherType::IP6);
    [ethernet.as_bytes(), header.as_bytes(), &[7; 16]].concat()
}

/// ARP packet in a caught frame.
pub fn arp_of(caught: &Caught) -> ArpFrame {
    ArpFrame::read_from_bytes(&caught.bytes).unwrap()
}

/// The frames that were sent.
pub fn sent(caught: &[Caught]) -> Vec<&[u8]> {
    caught.iter().filter(|c| c.at == "sent").map(|c| c.bytes.as_slice()).collect()
}

/// IP packets that leave for those received on `pg0`, or on `pg1`, all from hosts and without
/// Ethernet headers here.
pub fn through(b: &mut Bench, on_pg1: bool, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    through_at(b, 0, on_pg1, packets)
}

/// As [`through`], received by a thread.
pub fn through_at(b: &mut Bench, thread: usize, on_pg1: bool, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mac, on) = if on_pg1 { (PG1, b.pg1) } else { (PG0, b.pg0) };
    let frame = |packet: &Vec<u8>| {
        let kind = if packet[0] >> 4 == 6 { EtherType::IP6 } else { EtherType::IP4 };
        [ethernet::Header::new(mac, HOST, kind).as_bytes(), packet].concat()
    };
    let out = b.receive_at(thread, on, &packets.iter().map(frame).collect::<Vec<_>>());
    sent(&out).into_iter().map(|frame| frame[14..].to_vec()).collect()
}

/// The only packet that leaves for a received one.
#[track_caller]
pub fn one(b: &mut Bench, on_pg1: bool, packet: &[u8]) -> Vec<u8> {
    let [packet] = through(b, on_pg1, &[packet.to_vec()]).try_into().unwrap();
    packet
}

/// A solicitation for `target` from `src` at `HOST`, to its group.
pub fn solicitation(src: &str, target: &str) -> NdFrame {
    let group = ip6::solicited_node(ip6(target));
    let to = MacAddr::for_ip6_group(group);
    let mut frame = NdFrame::advertisement(HOST, to, ip6(target), group, 0);
    frame.icmp.kind = icmp6::Type::NEIGHBOR_SOLICITATION;
    (frame.ip.src, frame.option) = (ip6(src).octets(), nd::LinkLayer::source(HOST));
    frame
}

/// The bytes of a message with its checksum, `cut` short.
pub fn summed(frame: &NdFrame, cut: usize) -> Vec<u8> {
    let mut bytes = frame.as_bytes().to_vec();
    bytes.truncate(bytes.len() - cut);
    let len = (bytes.len() - 54) as u16;
    bytes[18..20].copy_from_slice(&len.to_be_bytes());
    bytes[56..58].fill(0);
    let pseudo = checksum::ip6_pseudo(frame.ip.src, frame.ip.dst, Protocol::ICMP6, u32::from(len));
    let sum = pseudo.add_bytes(&bytes[54..]).checksum();
    bytes[56..58].copy_from_slice(sum.as_bytes());
    bytes
}
