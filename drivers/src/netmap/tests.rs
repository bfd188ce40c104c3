//! Ports whose kernel is a test: memory as netmap lays it out, and slots filled and emptied by hand.

use std::sync::Arc;

use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::Rig;
use rustix::event::{EventfdFlags, eventfd};

use super::FEATURE;
use super::interface::{Made, Netmaps, Wanted};
use super::kernel::{Direction, Socket};
use super::memory::Ring;
use super::tx::Sender;
use crate::host::background::Opens;
use crate::shared::Region;

/// Slots of a ring.
const SLOTS: u32 = 8;
/// Bytes of a buffer.
const SIZE: usize = 2048;
/// Places of the rings and of buffer 0.
const TX: usize = 4096;
const RX: usize = 8192;
const BUFFERS: usize = 16384;

/// The other side of the rings.
struct Kernel {
    region: Arc<Region>,
    /// Next slot to fill and to empty.
    rx: u32,
    tx: u32,
}

impl Kernel {
    fn new() -> Self {
        let (region, _) = Region::create(BUFFERS + 64 * SIZE).unwrap();
        let kernel = Self { region: Arc::new(region), rx: 0, tx: 0 };
        // One ring each way, and one each way of the host's.
        kernel.write(24, &1_u32.to_ne_bytes());
        kernel.write(28, &1_u32.to_ne_bytes());
        kernel.write(36, &1_u32.to_ne_bytes());
        kernel.write(40, &1_u32.to_ne_bytes());
        for (number, ring) in [(0, TX), (2, RX)] {
            kernel.write(56 + 8 * number, &(ring as i64).to_ne_bytes());
            kernel.write(ring, &((BUFFERS - ring) as i64).to_ne_bytes());
            kernel.write(ring + 8, &SLOTS.to_ne_bytes());
            kernel.write(ring + 12, &(SIZE as u32).to_ne_bytes());
            for slot in 0..SLOTS {
                let buffer = slot + if ring == TX { 2 } else { 20 };
                kernel.write(ring + 256 + slot as usize * 16, &buffer.to_ne_bytes());
            }
        }
        kernel.write(TX + 28, &(SLOTS - 1).to_ne_bytes());
        kernel
    }
    fn write(&self, at: usize, bytes: &[u8]) {
        self.region.copy_in(at, bytes).unwrap();
    }
    fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        self.region.copy_out(at, &mut bytes).unwrap();
        bytes
    }
    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.read(at))
    }
    /// Fills slots with the pieces of a packet.
    fn receive(&mut self, pieces: &[&[u8]]) {
        for (n, piece) in pieces.iter().enumerate() {
            let slot = RX + 256 + self.rx as usize * 16;
            self.write(BUFFERS + self.word(slot) as usize * SIZE, piece);
            self.write(slot + 4, &(piece.len() as u16).to_ne_bytes());
            let more: u16 = if n + 1 < pieces.len() { 0x20 } else { 0 };
            self.write(slot + 6, &more.to_ne_bytes());
            self.rx = (self.rx + 1) % SLOTS;
            assert_ne!(self.rx, self.word(RX + 20), "no room");
        }
        self.write(RX + 28, &self.rx.to_ne_bytes());
    }
    /// Empties slots: the packets that were sent.
    fn sent(&mut self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while self.tx != self.word(TX + 20) {
            let slot = TX + 256 + self.tx as usize * 16;
            let len = u16::from_ne_bytes(self.read(slot + 4));
            let mut bytes = vec![0; len.into()];
            let from = BUFFERS + self.word(slot) as usize * SIZE;
            self.region.copy_out(from, &mut bytes).unwrap();
            all.push(bytes);
            self.tx = (self.tx + 1) % SLOTS;
        }
        self.write(TX + 28, &((self.tx + SLOTS - 1) % SLOTS).to_ne_bytes());
        all
    }
    fn open(&self, direction: Direction) -> (Ring, Socket) {
        let file = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let socket = Socket::of_test(file, direction, &self.region);
        (Ring::new(&socket.region, socket.port, direction, 0).unwrap(), socket)
    }
}

/// A router with the interface `netmap-vale0:1`, and its kernel.
fn rig() -> (Rig, Kernel, InterfaceIndex) {
    let (mut rig, kernel) = (Rig::new(&[FEATURE]), Kernel::new());
    let (ring, socket) = kernel.open(Direction::Tx);
    let (receivers, senders) = (vec![kernel.open(Direction::Rx)], vec![Sender { ring, socket }]);
    let made = Made { device: None, mac: None, receivers, senders };
    let wanted = Wanted { port: "vale0:1".to_owned(), mac: None };
    let index = rig.control(|router| {
        let made = |all: &mut Netmaps, router: &mut _| all.finish(router, wanted, Ok(Ok(made)));
        router.with(made).unwrap().unwrap()
    });
    rig.set("set interface state netmap-vale0:1 up");
    rig.graph.moved_counters();
    (rig, kernel, index)
}

fn frame(n: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (n * 7 + i * 13) as u8).collect()
}

#[test]
fn what_the_kernel_has_is_received_and_slots_go_round() {
    let (mut rig, mut kernel, index) = rig();
    for round in 0..5 {
        let frames: Vec<_> = (0..5).map(|n| frame(round * 5 + n, 60 + n * 400)).collect();
        frames.iter().for_each(|frame| kernel.receive(&[frame]));
        let caught: Vec<Caught> = rig.graph.run();
        assert!(caught.iter().all(|c| c.at == "ethernet-input" && c.rx == index.0));
        assert!(caught.into_iter().map(|c| c.bytes).eq(frames));
        assert_eq!(kernel.word(RX + 20), kernel.rx, "all slots are the kernel's");
        rig.expect(&[]);
    }
}

#[test]
fn packets_in_several_slots_are_one() {
    let (mut rig, mut kernel, _) = rig();
    let whole = frame(3, 2 * SIZE + 100);
    kernel.receive(&[&whole[..SIZE], &whole[SIZE..2 * SIZE], &whole[2 * SIZE..]]);
    kernel.receive(&[&frame(4, 60)]);
    let caught: Vec<_> = rig.graph.run().into_iter().map(|c| c.bytes).collect();
    assert!(caught == [whole, frame(4, 60)]);
    rig.expect(&[]);
}

#[test]
fn slots_that_say_what_cannot_be_are_counted_and_the_next_packet_is_received() {
    let (mut rig, mut kernel, _) = rig();
    let slot = |n: usize| RX + 256 + n * 16;
    kernel.receive(&[&frame(1, 60)]);
    kernel.receive(&[&frame(2, 60)]);
    kernel.receive(&[&frame(3, 60)]);
    kernel.receive(&[&frame(4, 60)]);
    kernel.write(slot(0), &u32::MAX.to_ne_bytes());
    kernel.write(slot(1) + 4, &(SIZE as u16 + 1).to_ne_bytes());
    kernel.write(slot(2) + 4, &0_u16.to_ne_bytes());
    let caught: Vec<_> = rig.graph.run().into_iter().map(|c| c.bytes).collect();
    assert_eq!(caught, [frame(4, 60)]);
    rig.expect(&[("netmap-input", "bad slot", 3)]);
    // An end that is none is no packet.
    kernel.write(RX + 28, &99_u32.to_ne_bytes());
    assert!(rig.graph.run().is_empty());
    rig.expect(&[]);
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let is_ring = |at: usize, bytes: &[u8]| {
        let kernel = Kernel::new();
        kernel.write(at, bytes);
        Ring::new(&kernel.region, 0, Direction::Rx, 0).is_some()
    };
    assert!(is_ring(RX + 32, &[0; 4]));
    for (at, value) in [(RX + 8, 0_u32), (RX + 8, 1 << 30), (RX + 12, 0), (RX + 20, SLOTS)] {
        assert!(!is_ring(at, &value.to_ne_bytes()), "{at}: {value}");
    }
    for offset in [-1_i64, 7, i64::MAX, 1 << 40] {
        assert!(!is_ring(56 + 16, &offset.to_ne_bytes()), "{offset}");
    }
    assert!(!is_ring(24, &u32::MAX.to_ne_bytes()));
    assert!(!is_ring(RX, &i64::MIN.to_ne_bytes()));
}

#[test]
fn packets_are_sent_while_there_is_room() {
    let (mut rig, mut kernel, _) = rig();
    let frames: Vec<_> = (0..10).map(|n| frame(n, 60 + n)).collect();
    rig.graph.send("netmap-vale0:1-tx", &frames, |_| ());
    let room = SLOTS as usize - 1;
    assert!(kernel.sent() == frames[..room]);
    rig.expect(&[("netmap-vale0:1-tx", "no free tx slots", 3)]);
    let long = [frame(1, SIZE), frame(2, SIZE + 1)];
    rig.graph.send("netmap-vale0:1-tx", &long, |_| ());
    assert!(kernel.sent() == long[..1]);
    rig.expect(&[("netmap-vale0:1-tx", "packet too long for a slot", 1)]);
}

#[test]
fn what_comes_while_the_interface_is_down_is_counted() {
    let (mut rig, mut kernel, index) = rig();
    rig.set("set interface state netmap-vale0:1 down");
    kernel.receive(&[&frame(1, 60)]);
    kernel.receive(&[&frame(2, 60), &frame(2, 60)]);
    assert!(rig.graph.run().is_empty());
    rig.expect(&[("netmap-input", "interface is down", 2)]);
    let shown = rig.run("show hardware-interfaces netmap-vale0:1");
    assert!(shown.contains("  netmap port vale0:1\n    rx rings 1 tx rings 1\n"), "{shown}");
    let configuration = rig.run("show configuration");
    assert!(configuration.contains("create netmap name vale0:1\n"), "{configuration}");
    rig.set("delete netmap name vale0:1");
    assert!(rig.router.interfaces.at(index).is_none());
}

#[test]
fn without_netmap_the_answer_says_so() {
    let mut rig = Rig::new(&[FEATURE]);
    let refused = |rig: &mut Rig, line: &str, words: &str| {
        let said = rig.run(line);
        assert!(said.contains(words), "{line}: {said}");
    };
    if !std::path::Path::new("/dev/netmap").exists() {
        refused(&mut rig, "create netmap name eth0", "the kernel has no netmap");
        refused(&mut rig, "create netmap name vale0:1 pipe slave", "the kernel has no netmap");
    }
    refused(&mut rig, "create netmap name vale0:1 master slave", "not both");
    refused(&mut rig, "create netmap", "name");
    refused(&mut rig, "delete netmap name eth0", "not a netmap interface");
}
