//! Front ends of vhost-user.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use control::socket::send_with;
use drivers::shared::{Bell, Region, Words};
use wire::vhost_user::{Body, MemoryRegion, Request, RingPlace, RingState, request as r};
use wire::virtio_ring::{DESCRIPTOR, Descriptor, feature, flag};

use super::{FRAME, Wire, frame};

/// Bytes of the machine's memory, and its address in the machine and in the front end alike.
const MEMORY: usize = 2 << 20;
const BASE: u64 = 0x10_0000;
/// Descriptors of a ring, bytes from ring to ring and from part to part of one.
const RING: u16 = 256;
const STEP: usize = 0x8000;
const PART: usize = 0x2000;
/// Start of the buffers of the first ring, bytes of one, and of the header in front of a packet.
const BUFFERS: usize = 0x10_0000;
const BUFFER: usize = 2048;
const HEADER: usize = 12;

const PAUSE: Duration = Duration::from_micros(500);

/// Number of the ring that the router fills, and of the one that it empties.
const FILLED: usize = 0;
const EMPTIED: usize = 1;

/// A driver of split rings that sends and receives a frame at a time.
pub struct Driver {
    _stream: UnixStream,
    region: Arc<Region>,
    rings: [Ring; 2],
    bells: Vec<Bell>,
    /// Frames received.
    received: u16,
}

impl Driver {
    /// Connects to the router, which listens.
    pub fn connect(socket: &str) -> Self {
        let (region, rings, file) = memory(false);
        let stream = connected(socket);
        let bells = hand_over(&stream, &file, false);
        let mut driver = Self { _stream: stream, region, rings, bells, received: 0 };
        driver.rings[FILLED].renew();
        driver.kick(FILLED);
        driver
    }
    /// Wakes the router.
    fn kick(&self, ring: usize) {
        self.bells[2 * ring + 1].ring();
    }
}

impl Wire for Driver {
    fn send(&mut self, frame: &[u8]) {
        let ring = &mut self.rings[EMPTIED];
        let packet = [&[0; HEADER], frame].concat();
        let _ = self.region.copy_in(buffer(EMPTIED, usize::from(ring.put % RING)), &packet);
        ring.put = ring.put.wrapping_add(1);
        ring.available.u16(2).store(ring.put.to_le(), Ordering::Release);
        self.kick(EMPTIED);
    }
    fn receive(&mut self) -> Option<Vec<u8>> {
        let ring = &mut self.rings[FILLED];
        if u16::from_le(ring.used.u16(2).load(Ordering::Acquire)) == self.received {
            return None;
        }
        let entry = 4 + 8 * usize::from(self.received % RING);
        let number = u32::from_le(ring.used.u32(entry).load(Ordering::Relaxed));
        let len = u32::from_le(ring.used.u32(entry + 4).load(Ordering::Relaxed));
        let mut packet = vec![0; len as usize];
        self.region.copy_out(buffer(FILLED, number as usize), &mut packet)?;
        self.received = self.received.wrapping_add(1);
        ring.renew();
        Some(packet.split_off(HEADER))
    }
}

fn connected(socket: &str) -> UnixStream {
    let connect = || UnixStream::connect(Path::new(socket)).ok();
    std::iter::repeat_with(connect).flatten().next().expect("it tries for ever")
}

/// The machine's memory with its rings, and the file of it.
fn memory(is_packed: bool) -> (Arc<Region>, [Ring; 2], OwnedFd) {
    let (region, file) = Region::create(MEMORY).expect("memory");
    let region = Arc::new(region);
    let packet = [vec![0; HEADER], frame()].concat();
    for n in 0..usize::from(RING) {
        let _ = region.copy_in(buffer(EMPTIED, n), &packet);
    }
    let rings = [FILLED, EMPTIED].map(|number| Ring::new(&region, number, is_packed));
    (region, rings, file)
}

/// Says all that is to be said; the wakeups of the rings, two each: the driver's and the router's.
fn hand_over(mut stream: &UnixStream, file: &OwnedFd, is_packed: bool) -> Vec<Bell> {
    let mut bells = Vec::new();
    for (request, bell) in requests(is_packed) {
        let bytes = request.to_bytes();
        let sent = match (&request.body, &bell) {
            (Body::Table(_), _) => send_with(stream, &bytes, file).expect("it is heard"),
            (_, Some(bell)) => send_with(stream, &bytes, bell.descriptor()).expect("it is heard"),
            _ => stream.write(&bytes).expect("it is heard"),
        };
        assert_eq!(sent, bytes.len());
        bells.extend(bell);
    }
    bells
}

/// Connects and moves packets until it is killed.
pub fn run(is_server: bool, is_packed: bool, socket: &str) {
    let mut stream = if is_server {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket).expect("a folder of the test's");
        listener.accept().expect("the router looks for it").0
    } else {
        connected(socket)
    };
    let (_region, mut rings, file) = memory(is_packed);
    let bells = hand_over(&stream, &file, is_packed);
    stream.set_nonblocking(true).expect("it is a socket");
    loop {
        rings.iter_mut().for_each(Ring::renew);
        bells.iter().for_each(Bell::ring);
        let hangs_up = matches!(stream.read(&mut [0; 64]), Ok(0));
        assert!(!hangs_up, "the router hangs up");
        sleep(PAUSE);
    }
}

/// Where a buffer is in the memory.
fn buffer(ring: usize, n: usize) -> usize {
    BUFFERS + (ring * usize::from(RING) + n) * BUFFER / 2
}

/// Requests of a front end until both rings are used.
fn requests(is_packed: bool) -> Vec<(Request, Option<Bell>)> {
    let said = |number, body| (Request { number, wants_reply: false, body }, None);
    let packed = if is_packed { 1 << feature::RING_PACKED } else { 0 };
    let features = 1 << feature::VERSION_1 | 1 << feature::MRG_RXBUF | packed;
    let memory = MemoryRegion {
        guest: BASE.into(),
        size: (MEMORY as u64).into(),
        user: BASE.into(),
        offset: 0.into(),
    };
    let mut all = vec![
        said(r::SET_OWNER, Body::Nothing),
        said(r::SET_FEATURES, Body::Number(features)),
        said(r::SET_MEM_TABLE, Body::Table(vec![memory])),
    ];
    for ring in [FILLED, EMPTIED] {
        let index = ring as u32;
        let state =
            |number: u32| Body::Ring(RingState { index: index.into(), number: number.into() });
        let start = BASE + (ring * STEP) as u64;
        let place = RingPlace {
            index: index.into(),
            descriptors: start.into(),
            available: (start + PART as u64).into(),
            used: (start + 2 * PART as u64).into(),
            ..RingPlace::default()
        };
        all.push(said(r::SET_VRING_NUM, state(RING.into())));
        all.push(said(r::SET_VRING_BASE, state(u32::from(is_packed) << 15)));
        all.push(said(r::SET_VRING_ADDR, Body::Place(place)));
        for number in [r::SET_VRING_CALL, r::SET_VRING_KICK] {
            let (request, _) = said(number, Body::Number(index.into()));
            all.push((request, Some(Bell::new().expect("an eventfd"))));
        }
    }
    all
}

/// A ring from the driver's side, whose buffers all stay at their places in it.
struct Ring {
    number: usize,
    descriptors: Words,
    available: Words,
    used: Words,
    /// In a packed ring: the next one to look at, and its turn.
    packed: Option<(u16, bool)>,
    /// Buffers put in so far.
    put: u16,
}

impl Ring {
    fn new(region: &Arc<Region>, number: usize, is_packed: bool) -> Self {
        let words = |part: usize| {
            let at = number * STEP + part * PART;
            Words::new(Arc::clone(region), at, PART, 16).expect("it is in the memory")
        };
        let mut ring = Self {
            number,
            descriptors: words(0),
            available: words(1),
            used: words(2),
            packed: None,
            put: 0,
        };
        for n in 0..RING {
            ring.write(n, flag::AVAILABLE);
            let entry = 4 + 2 * usize::from(n);
            ring.available.u16(entry).store(n.to_le(), Ordering::Relaxed);
        }
        ring.packed = is_packed.then_some((0, true));
        if is_packed {
            (0..RING).for_each(|n| ring.write(n, flag::AVAILABLE));
        }
        ring
    }
    /// Writes the descriptor of a buffer; the turn counts in a packed ring.
    fn write(&self, n: u16, turn: u16) {
        let (flags, len) =
            if self.number == FILLED { (flag::WRITE, BUFFER / 2) } else { (0, HEADER + FRAME) };
        let address = BASE + buffer(self.number, n.into()) as u64;
        let d = Descriptor { address, len: len as u32, flags, link: 0 };
        let words = match self.packed {
            Some(_) => Descriptor { flags: flags | turn, link: n, ..d }.to_packed(),
            None => d.to_split(),
        };
        let place = usize::from(n) * DESCRIPTOR;
        self.descriptors.u64(place).store(words[0], Ordering::Relaxed);
        self.descriptors.u64(place + 8).store(words[1], Ordering::Release);
    }
    /// Puts all buffers into it again that came back.
    fn renew(&mut self) {
        while let Some((at, wrap)) = self.packed {
            let place = usize::from(at) * DESCRIPTOR + 8;
            let words = [0, self.descriptors.u64(place).load(Ordering::Acquire)];
            let bits = Descriptor::of_packed(words).flags & (flag::AVAILABLE | flag::USED);
            let done = if wrap { flag::AVAILABLE | flag::USED } else { 0 };
            if bits != done {
                return;
            }
            self.write(at, if wrap { flag::USED } else { flag::AVAILABLE });
            self.packed = Some(if at + 1 == RING { (0, !wrap) } else { (at + 1, wrap) });
        }
        // The router takes them in order and gives them back in order.
        let used = u16::from_le(self.used.u16(2).load(Ordering::Acquire));
        self.put = used.wrapping_add(RING);
        self.available.u16(2).store(self.put.to_le(), Ordering::Release);
    }
}
