//! The requests of vhost-user front ends, and what drivers put into rings afterwards.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use control::socket::send_with;
use drivers::shared::{Bell, Region};
use drivers::vhost_user::session::{Offer, Session};
use net::Assembly;
use wire::vhost_user::{
    Body, HEADER, Header, MemoryRegion, Request, RingPlace, RingState, request as r,
};
use wire::virtio_ring::feature;
use wire::zerocopy::FromBytes;

use crate::Target;

/// Bytes of the machine's memory, and where it is in the machine and in the front end alike.
const MEMORY: usize = 1 << 16;
const BASE: u64 = 0x10_0000;
/// Descriptors of a ring; bytes from ring to ring, and from part to part of one.
const RING: u32 = 64;
const STEP: u64 = 0x2000;
const PART: u64 = 0x800;
/// Turns of control that connecting may take.
const MOST_TURNS: usize = 5000;

/// An even first byte: what follows are requests, each with a file. An odd one: it is written over
/// the rings, split or packed, of a machine.
pub struct VhostUser {
    parts: Assembly,
    path: PathBuf,
    machines: [Option<Machine>; 2],
}

/// A machine that is connected.
struct Machine {
    _stream: UnixStream,
    region: Region,
}

impl VhostUser {
    /// A router with two interfaces that listen.
    pub fn new() -> Self {
        let mut parts = super::router(1);
        let path = std::env::temp_dir().join(format!("ferrovia-fuzz-{}-v", std::process::id()));
        for n in 0..2 {
            let name = format!("VirtualEthernet0/0/{n}");
            let lines = format!(
                "create vhost-user socket {}{n} server packed event-idx gso\n\
                 set interface state {name} up\nset interface ip address {name} 10.0.{n}.1/24\n",
                path.display()
            );
            let reply = parts.cli.run(&mut parts.router, &lines);
            assert!(reply.result.is_ok(), "{}", reply.text());
        }
        Self { parts, path, machines: [None, None] }
    }
    fn name(number: usize) -> String {
        format!("VirtualEthernet0/0/{number}")
    }
    fn connect(&mut self, number: usize) -> Result<Machine, String> {
        let text = |e: std::io::Error| e.to_string();
        let path = format!("{}{number}", self.path.display());
        let mut stream = UnixStream::connect(path).map_err(text)?;
        stream.set_read_timeout(Some(Duration::from_millis(1))).map_err(text)?;
        let (region, file) = Region::create(MEMORY).map_err(text)?;
        for (request, bell) in requests(number == 1) {
            let wants_file = matches!(request.body, Body::Table(_));
            let bell = bell.map(|bell| bell.descriptor().clone());
            let bytes = request.to_bytes();
            let sent = match (wants_file, &bell) {
                (true, _) => send_with(&stream, &bytes, &file).map_err(|e| e.to_string())?,
                (_, Some(bell)) => send_with(&stream, &bytes, bell).map_err(|e| e.to_string())?,
                _ => stream.write(&bytes).map_err(text)?,
            };
            assert_eq!(sent, bytes.len(), "a socket has room for a request");
        }
        for _ in 0..MOST_TURNS {
            self.parts.router.run_due();
            let name = Self::name(number);
            if self.parts.router.interfaces.named(&name).is_some_and(|i| i.link_up) {
                return Ok(Machine { _stream: stream, region });
            }
            let _ = stream.read(&mut [0; 64]);
        }
        Err("no connection".to_owned())
    }
    fn overwrite(&mut self, number: usize, input: &[u8]) -> Result<(), String> {
        if self.machines[number].is_none() {
            self.machines[number] = Some(self.connect(number)?);
        }
        let Some(machine) = &self.machines[number] else { return Ok(()) };
        if let Some((at, bytes)) = input.split_first_chunk::<2>() {
            let at = usize::from(u16::from_le_bytes(*at)) % (2 * STEP as usize);
            let bytes = &bytes[..bytes.len().min(MEMORY - at)];
            let _ = machine.region.copy_in(at, bytes);
        }
        // In split rings something is always new: the word that says how much there is.
        for ring in 0..2 {
            let put = (ring * STEP + PART + 2) as usize;
            let mut word = [0; 2];
            let _ = machine.region.copy_out((ring * STEP + 2 * PART + 2) as usize, &mut word);
            let more = u16::from(*input.last().unwrap_or(&1)) % 80;
            let word = u16::from_le_bytes(word).wrapping_add(more).to_le_bytes();
            if number == 0 {
                let _ = machine.region.copy_in(put, &word);
            }
        }
        let engine = &mut self.parts.router.engine;
        if let Some(node) = engine.index_of(&format!("{}-tx", Self::name(number))) {
            engine.inject(0, node, vec![7; 1 + input.len() * 4], |_| ());
        }
        engine.run_inline(16);
        let used = engine.buffers_used().unwrap_or(0);
        if used > 0 { Err(format!("{used} buffers are lost")) } else { Ok(()) }
    }
}

impl Default for VhostUser {
    fn default() -> Self {
        Self::new()
    }
}

/// Requests of a front end until both rings are used.
fn requests(is_packed: bool) -> Vec<(Request, Option<Bell>)> {
    let said = |number, body| (Request { number, wants_reply: false, body }, None);
    let packed = if is_packed { 1 << feature::RING_PACKED } else { 0 };
    let features =
        1 << feature::VERSION_1 | 1 << feature::MRG_RXBUF | 1 << feature::INDIRECT_DESC | packed;
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
    for ring in 0..2_u32 {
        let state =
            |number: u32| Body::Ring(RingState { index: ring.into(), number: number.into() });
        let start = BASE + u64::from(ring) * STEP;
        let place = RingPlace {
            index: ring.into(),
            descriptors: start.into(),
            available: (start + PART).into(),
            used: (start + 2 * PART).into(),
            ..RingPlace::default()
        };
        all.push(said(r::SET_VRING_NUM, state(RING)));
        all.push(said(r::SET_VRING_BASE, state(u32::from(is_packed) << 15)));
        all.push(said(r::SET_VRING_ADDR, Body::Place(place)));
        for number in [r::SET_VRING_CALL, r::SET_VRING_KICK] {
            let (request, _) = said(number, Body::Number(ring.into()));
            all.push((request, Some(Bell::new().expect("an eventfd"))));
        }
    }
    all
}

/// A file that may come along with a request: memory, something that wakes, or neither.
fn file(number: u8) -> Option<OwnedFd> {
    match number % 4 {
        0 => None,
        1 => std::fs::File::open("/dev/null").ok().map(OwnedFd::from),
        2 => Region::create(MEMORY).ok().map(|(_, file)| file),
        _ => Bell::new().ok().and_then(|bell| bell.descriptor().try_clone().ok()),
    }
}

fn handshakes(mut input: &[u8]) {
    let offer = Offer { gso: true, packed: true, event_idx: true, hidden: 0 };
    let mut session = Session::new(offer);
    while let Some((kind, rest)) = input.split_first() {
        let Ok((header, rest)) = Header::ref_from_prefix(rest) else { break };
        if !header.is_request() {
            break;
        }
        let len = (header.size.get() as usize).min(rest.len());
        let (body, rest) = rest.split_at(len);
        input = rest;
        let Some(request) = Request::parse(header, body) else { continue };
        let bytes = request.to_bytes();
        let (header, body) = bytes.split_at(HEADER);
        if let Ok((header, _)) = Header::ref_from_prefix(header) {
            assert_eq!(Request::parse(header, body), Some(request.clone()), "read as written");
        }
        if session.take(&request, file(*kind).into_iter().collect()).is_err() {
            break;
        }
        let numbers: Vec<_> = session.rings.keys().copied().collect();
        for number in numbers {
            if let Some(line) = session.line(number) {
                line.ring.waiting();
                line.ring.look();
            }
        }
    }
}

impl Target for VhostUser {
    const NAME: &'static str = "vhost-user";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = Vec::new();
        for is_packed in [false, true] {
            let mut all = vec![0];
            for (request, bell) in requests(is_packed) {
                let is_table = matches!(request.body, Body::Table(_));
                all.push(if is_table {
                    2
                } else if bell.is_some() {
                    3
                } else {
                    0
                });
                all.extend(request.to_bytes());
            }
            seeds.push(all);
        }
        // A buffer of 100 bytes in ring 1, split and packed: an address, a length, flags.
        let address = (BASE + 0x8000).to_le_bytes();
        let place = (STEP as u16).to_le_bytes();
        seeds.push([&[1][..], &place, &address, &[100, 0, 0, 0, 0, 0, 0, 0, 1]].concat());
        seeds.push([&[3][..], &place, &address, &[100, 0, 0, 0, 0, 0, 0x80, 0]].concat());
        seeds.push([&[3][..], &[0, 0], &address, &[0, 8, 0, 0, 0, 0, 0x82, 0]].concat());
        seeds
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        match input.split_first() {
            Some((kind, rest)) if kind % 2 == 0 => {
                handshakes(rest);
                Ok(())
            }
            Some((kind, rest)) => self.overwrite(usize::from(kind / 2 % 2), rest),
            None => Ok(()),
        }
    }
}
