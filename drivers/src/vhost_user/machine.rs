//! A virtual machine for tests: the front end and the driver, which do as instructed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use control::socket::send_with;
use net::testing::Rig;
use rustix::event::{EventfdFlags, eventfd};
use wire::vhost_user::{Body, MemoryRegion, Request, RingPlace, RingState, request as r};
use wire::virtio_ring::{DESCRIPTOR, Descriptor, feature, flag};

use super::memory::Table;
use super::session::Session;
use crate::shared::{Region, Words};

/// Address of its memory in the machine and in the front end, and its size.
pub const GUEST: u64 = 0x10_0000;
const USER: u64 = 0x7f00_0000_0000;
pub const SIZE: usize = 4 << 20;
/// Descriptors of its rings.
pub const RING: u16 = 512;
/// Bytes from ring to ring, and where what is available and what is used is in one.
const STEP: usize = 0x1_0000;
const AVAILABLE: usize = 0x4000;
const USED: usize = 0x8000;
/// Address of the buffers.
pub const BUFFERS: usize = 0x10_0000;

/// Lets control work until something is so.
#[track_caller]
pub fn until(rig: &mut Rig, mut is_so: impl FnMut(&mut Rig) -> bool) {
    for _ in 0..5000 {
        rig.control(|router| router.run_due());
        rig.graph.engine.run_inline(2);
        if is_so(rig) {
            return;
        }
        sleep(Duration::from_millis(1));
    }
    panic!("it did not happen: {}", rig.run("show vhost-user"));
}

/// A unique socket.
pub fn socket() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("vhost-test-{}-{number}", std::process::id()));
    // A run that was stopped may have left one of that name.
    let _ = std::fs::remove_file(&path);
    path
}

/// The features that a test uses, by name.
pub fn features(names: &[u32]) -> u64 {
    let usual = [feature::VERSION_1, feature::PROTOCOL_FEATURES];
    usual.iter().chain(names).fold(0, |all, bit| all | 1 << bit)
}

fn request(number: u32, body: Body) -> Request {
    Request { number, wants_reply: false, body }
}

fn ring_said(number: u32, index: usize, value: u32) -> Request {
    let state = RingState { index: (index as u32).into(), number: value.into() };
    request(number, Body::Ring(state))
}

/// One stretch of memory at `at`.
pub fn stretch(at: u64, size: usize) -> MemoryRegion {
    MemoryRegion {
        guest: (GUEST + at).into(),
        size: (size as u64).into(),
        user: (USER + at).into(),
        offset: 0.into(),
    }
}

/// Requests of the front end to have a ring used.
pub fn ring_requests(index: usize, is_packed: bool) -> Vec<(Request, Option<OwnedFd>)> {
    let base = USER + (index * STEP) as u64;
    let place = RingPlace {
        index: (index as u32).into(),
        descriptors: base.into(),
        available: (base + AVAILABLE as u64).into(),
        used: (base + USED as u64).into(),
        ..RingPlace::default()
    };
    let bell = || Some(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    vec![
        (ring_said(r::SET_VRING_NUM, index, RING.into()), None),
        (ring_said(r::SET_VRING_BASE, index, u32::from(is_packed) << 15), None),
        (request(r::SET_VRING_ADDR, Body::Place(place)), None),
        (request(r::SET_VRING_KICK, Body::Number(index as u64)), bell()),
        (request(r::SET_VRING_CALL, Body::Number(index as u64)), bell()),
        (ring_said(r::SET_VRING_ENABLE, index, 1), None),
    ]
}

/// The machine.
pub struct Machine {
    pub stream: UnixStream,
    pub region: Arc<Region>,
    pub file: OwnedFd,
    pub rings: Vec<DriverRing>,
}

/// A ring, from the driver's side.
pub struct DriverRing {
    descriptors: Words,
    available: Words,
    used: Words,
    is_packed: bool,
    /// Position of the next buffer, and the number of them so far.
    at: u16,
    put: u16,
    wrap: bool,
    /// Position at which the next one returns, and the number returned.
    seen: (u16, bool),
    got: u16,
    /// Descriptors of packed buffers.
    counts: HashMap<u16, u16>,
    call: Option<OwnedFd>,
}

impl Machine {
    /// One that speaks on a stream, with packed rings or split ones.
    pub fn new(stream: UnixStream, is_packed: bool, rings: usize) -> Self {
        let (region, file) = Region::create(SIZE).unwrap();
        let region = Arc::new(region);
        let rings = (0..rings).map(|n| DriverRing::new(&region, n, is_packed)).collect();
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        Self { stream, region, file, rings }
    }
    pub fn connect(path: &Path, is_packed: bool, rings: usize) -> Self {
        Self::new(UnixStream::connect(path).unwrap(), is_packed, rings)
    }
    pub fn say(&mut self, request: &Request, file: Option<&OwnedFd>) {
        let bytes = request.to_bytes();
        let sent = match file {
            Some(file) => send_with(&self.stream, &bytes, file).unwrap(),
            None => self.stream.write(&bytes).unwrap(),
        };
        assert_eq!(sent, bytes.len());
    }
    /// Says something and waits for the answer.
    #[track_caller]
    pub fn ask(&mut self, rig: &mut Rig, said: &Request, file: Option<&OwnedFd>) -> u64 {
        self.say(said, file);
        let mut bytes = Vec::new();
        until(rig, |_| {
            let mut byte = [0; 20];
            let len = self.stream.read(&mut byte).unwrap_or(0);
            bytes.extend_from_slice(&byte[..len]);
            bytes.len() == 20
        });
        u64::from_le_bytes(bytes[12..].try_into().unwrap())
    }
    /// Asks for a number.
    #[track_caller]
    pub fn number(&mut self, rig: &mut Rig, number: u32) -> u64 {
        self.ask(rig, &request(number, Body::Nothing), None)
    }
    /// Stops a ring; the position it stops at.
    #[track_caller]
    pub fn stop(&mut self, rig: &mut Rig, ring: usize) -> u32 {
        (self.ask(rig, &ring_said(r::GET_VRING_BASE, ring, 0), None) >> 32) as u32
    }
    pub fn enable(&mut self, rig: &mut Rig, ring: usize, is_enabled: bool) {
        let mut said = ring_said(r::SET_VRING_ENABLE, ring, is_enabled.into());
        said.wants_reply = true;
        assert_eq!(self.ask(rig, &said, None), 0);
    }
    /// Hands over everything; the features are those that the driver uses.
    #[track_caller]
    pub fn begin(&mut self, rig: &mut Rig, features: u64) {
        let offered = self.number(rig, r::GET_FEATURES);
        assert_eq!(features & !offered, 0, "{features:#x} of {offered:#x}");
        let protocol = self.number(rig, r::GET_PROTOCOL_FEATURES);
        self.say(&request(r::SET_PROTOCOL_FEATURES, Body::Number(protocol)), None);
        self.say(&request(r::SET_FEATURES, Body::Number(features)), None);
        self.say(&request(r::SET_OWNER, Body::Nothing), None);
        self.hand_over(rig);
        for index in 0..self.rings.len() {
            self.set_ring(index);
        }
        until(rig, |rig| is_linked(rig));
        rig.graph.moved_counters();
    }
    /// Hands over the memory.
    #[track_caller]
    pub fn hand_over(&mut self, rig: &mut Rig) {
        let table = Body::Table(vec![stretch(0, SIZE)]);
        let file = rustix::io::dup(&self.file).unwrap();
        let said = Request { number: r::SET_MEM_TABLE, wants_reply: true, body: table };
        assert_eq!(self.ask(rig, &said, Some(&file)), 0);
    }
    pub fn set_ring(&mut self, index: usize) {
        for (request, file) in ring_requests(index, self.rings[index].is_packed) {
            self.say(&request, file.as_ref());
            if request.number == r::SET_VRING_CALL {
                self.rings[index].call = file;
            }
        }
    }
    /// The address in the machine of a place in its memory.
    pub fn address(at: usize) -> u64 {
        GUEST + at as u64
    }
    /// Provides room for `count` packets of `len` bytes in ring 0; `parts` descriptors each.
    pub fn make_room(&mut self, count: usize, len: u32) {
        for n in 0..count {
            let at = BUFFERS + n * len as usize;
            self.rings[0].put(&[descriptor(at, len, flag::WRITE)]);
        }
    }
    /// Packets received in ring 0: their headers and bytes.
    pub fn received(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut packets = Vec::new();
        while let Some((address, len)) = self.rings[0].take() {
            let mut bytes = self.bytes(address, len);
            let count = u16::from_le_bytes([bytes[10], bytes[11]]);
            for _ in 1..count {
                let (address, len) = self.rings[0].take().expect("all of a packet are there");
                bytes.extend(self.bytes(address, len));
            }
            let rest = bytes.split_off(12);
            packets.push((bytes, rest));
        }
        packets
    }
    fn bytes(&self, address: u64, len: u32) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        self.region.copy_out((address - GUEST) as usize, &mut bytes).unwrap();
        bytes
    }
    /// Puts packets into ring 1, each after a header, cut at these places.
    pub fn send(&mut self, header: &[u8; 12], packets: &[Vec<u8>], cuts: &[usize]) {
        let mut at = BUFFERS + (2 << 20);
        for packet in packets {
            let bytes = [&header[..], packet].concat();
            self.region.copy_in(at, &bytes).unwrap();
            let ends = cuts.iter().copied().filter(|cut| *cut < bytes.len());
            let ends: Vec<_> = ends.chain([bytes.len()]).collect();
            let mut start = 0;
            let parts = ends.iter().map(|end| {
                let part = descriptor(at + start, (*end - start) as u32, 0);
                start = *end;
                part
            });
            let parts: Vec<_> = parts.collect();
            self.rings[1].put(&parts);
            at += bytes.len();
        }
    }
    /// Buffers of ring 1 that came back.
    pub fn returned(&mut self) -> usize {
        std::iter::from_fn(|| self.rings[1].take()).count()
    }
}

pub fn is_linked(rig: &Rig) -> bool {
    rig.router.interfaces.named("VirtualEthernet0/0/0").is_some_and(|i| i.link_up)
}

pub fn descriptor(at: usize, len: u32, flags: u16) -> Descriptor {
    Descriptor { address: Machine::address(at), len, flags, link: 0 }
}

/// A session that knows a machine's memory and one ring, without a socket.
pub fn session_of(machine: &Machine, features: u64, ring: usize) -> Session {
    let offer = super::session::Offer { gso: true, packed: true, event_idx: true, hidden: 0 };
    let mut session = Session::new(offer);
    let file = rustix::io::dup(&machine.file).unwrap();
    let table = request(r::SET_MEM_TABLE, Body::Table(vec![stretch(0, SIZE)]));
    session.take(&request(r::SET_FEATURES, Body::Number(features)), vec![]).unwrap();
    session.take(&table, vec![file]).unwrap();
    for (request, file) in ring_requests(ring, features >> feature::RING_PACKED & 1 != 0) {
        session.take(&request, file.into_iter().collect()).unwrap();
    }
    session
}

impl DriverRing {
    fn new(region: &Arc<Region>, index: usize, is_packed: bool) -> Self {
        let words = |at, len| Words::new(Arc::clone(region), index * STEP + at, len, 16).unwrap();
        Self {
            descriptors: words(0, usize::from(RING) * DESCRIPTOR),
            available: words(AVAILABLE, 0x2000),
            used: words(USED, 0x2000),
            is_packed,
            at: 0,
            put: 0,
            wrap: true,
            seen: (0, true),
            got: 0,
            counts: HashMap::new(),
            call: None,
        }
    }
    /// Writes a descriptor as it is.
    pub fn write(&self, at: u16, d: Descriptor) {
        let place = usize::from(at) * DESCRIPTOR;
        let words = if self.is_packed { d.to_packed() } else { d.to_split() };
        self.descriptors.u64(place).store(words[0], Ordering::Relaxed);
        self.descriptors.u64(place + 8).store(words[1], Ordering::Release);
    }
    pub fn read(&self, at: u16) -> Descriptor {
        let word = |at| self.descriptors.u64(at).load(Ordering::Acquire);
        let place = usize::from(at) * DESCRIPTOR;
        let words = [word(place), word(place + 8)];
        if self.is_packed { Descriptor::of_packed(words) } else { Descriptor::of_split(words) }
    }
    /// Puts a buffer into the ring whose descriptors have any flags and links.
    pub fn put_raw(&mut self, list: &[Descriptor]) {
        let first = self.at;
        let turn = |wrap| if wrap { flag::AVAILABLE } else { flag::USED };
        let first_turn = self.wrap;
        for (n, d) in list.iter().enumerate() {
            let mut d = *d;
            if self.is_packed {
                d.link = first;
                d.flags |= turn(self.wrap);
            }
            if n > 0 || !self.is_packed {
                self.write(self.at, d);
            }
            self.at += 1;
            if self.at == RING {
                (self.at, self.wrap) = (0, !self.wrap);
            }
        }
        self.counts.insert(first, list.len() as u16);
        if self.is_packed {
            let d = Descriptor { link: first, flags: list[0].flags | turn(first_turn), ..list[0] };
            self.write(first, d);
        } else {
            self.put_head(first);
        }
    }
    /// Makes a split ring's next buffer start at any descriptor.
    pub fn put_head(&mut self, head: u16) {
        let entry = 4 + 2 * usize::from(self.put % RING);
        self.available.u16(entry).store(head.to_le(), Ordering::Relaxed);
        self.put = self.put.wrapping_add(1);
        self.available.u16(2).store(self.put.to_le(), Ordering::Release);
    }
    /// Makes a split ring claim this number of buffers.
    pub fn claim(&self, index: u16) {
        self.available.u16(2).store(index.to_le(), Ordering::Release);
    }
    /// Puts a buffer into the ring.
    pub fn put(&mut self, list: &[Descriptor]) {
        let last = list.len() - 1;
        let mut at = self.at;
        let list = list.iter().enumerate().map(|(n, d)| {
            at = (at + 1) % RING;
            let next = if n < last { flag::NEXT } else { 0 };
            Descriptor { flags: d.flags | next, link: at, ..*d }
        });
        self.put_raw(&list.collect::<Vec<_>>());
    }
    /// A buffer that came back: its address, and the bytes that were written.
    pub fn take(&mut self) -> Option<(u64, u32)> {
        if !self.is_packed {
            if self.used.u16(2).load(Ordering::Acquire) == self.got {
                return None;
            }
            let entry = 4 + 8 * usize::from(self.got % RING);
            self.got = self.got.wrapping_add(1);
            let id = self.used.u32(entry).load(Ordering::Relaxed);
            let len = self.used.u32(entry + 4).load(Ordering::Relaxed);
            return Some((self.read(id as u16 % RING).address, len));
        }
        let (at, wrap) = self.seen;
        let d = self.read(at);
        let bits = d.flags & (flag::AVAILABLE | flag::USED);
        let done = if wrap { flag::AVAILABLE | flag::USED } else { 0 };
        if bits != done || self.counts.is_empty() {
            return None;
        }
        let count = self.counts.remove(&d.link)?;
        let next = at + count;
        self.seen = if next >= RING { (next - RING, !wrap) } else { (next, wrap) };
        self.got = self.got.wrapping_add(1);
        Some((d.address, d.len))
    }
    /// Whether the driver was woken since it was last asked.
    pub fn was_called(&self) -> bool {
        let mut count = [0; 8];
        let call = self.call.as_ref().unwrap();
        rustix::fs::fcntl_setfl(call, rustix::fs::OFlags::NONBLOCK).unwrap();
        rustix::io::read(call, &mut count).is_ok()
    }
    /// Says when the driver wants to be woken: never, always, or (`Some`) after this many.
    pub fn want(&self, always: bool, event: Option<u16>) {
        let (flags, place) = match (self.is_packed, event) {
            (true, Some(at)) => (2, at | u16::from(self.wrap) << 15),
            _ => (u16::from(!always), 0),
        };
        if self.is_packed {
            self.available.u16(0).store(place.to_le(), Ordering::Relaxed);
            self.available.u16(2).store(flags.to_le(), Ordering::Release);
        } else {
            self.available.u16(0).store(flags.to_le(), Ordering::Relaxed);
            let entry = 4 + 2 * usize::from(RING);
            self.available.u16(entry).store(event.unwrap_or(0).to_le(), Ordering::Release);
        }
    }
}

/// The memory of a session.
pub fn table_of(session: &Session) -> &Table {
    &session.table
}
