//! `tap-input`: reads packets from the queues on its thread.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::fmt;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use graph::{Arrival, Buffer, FRAME, Flags, Input, Intake, Names, Record, Slot};
use infra::rcu::SlabReader;
use net::Interfaces;
use net::interface::{Counters, DEVICE_INPUT, Port};
use rustix::io::readv;
use wire::virtio_net::{DATA_VALID, Header, NEEDS_CSUM};
use wire::zerocopy::IntoBytes;

use crate::virtio_header;

/// Packets that are asked for at a time: most loops find few.
const BATCH: usize = 32;
/// The longest packet: 64 KB of IP, with an Ethernet header and tags.
const LONGEST: usize = 65_536 + 64;

/// Receives from devices of the host.
pub struct TapInput {
    queues: Vec<Queue>,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
}

/// One queue of a device.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    pub interface: u32,
    /// Number among the queues of the interface.
    pub number: usize,
    /// Carries IP packets without a header in front.
    pub is_ip: bool,
    /// The device.
    fd: Arc<OwnedFd>,
    /// Where the part of a packet goes that does not fit its first buffer.
    rest: Box<[u8]>,
}

/// Edges of [`TapInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Ethernet frames.
    #[to("ethernet-input")]
    Ethernet,
    /// IPv4 packets.
    #[to("ip4-input")]
    Ip4,
    /// IPv6 packets.
    #[to("ip6-input")]
    Ip6,
    /// A feature before Ethernet.
    #[dynamic]
    Feature(Slot),
}

/// Drops of [`TapInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// buffer alloc error.
    #[name("buffer alloc error")]
    NoBuffers,
    /// interface is down.
    #[name("interface is down")]
    Down,
    /// packet does not fit its offload header.
    #[name("unfit for offload")]
    Unfit,
}

/// Why filling packets ended early.
enum Ended {
    /// There are no more.
    Empty,
    /// One was lost.
    Losing(Error),
}

impl Queue {
    /// Queue `number` of an interface.
    pub fn new(interface: u32, number: usize, is_ip: bool, fd: Arc<OwnedFd>) -> Self {
        let rest = vec![0; LONGEST].into_boxed_slice();
        Self { interface, number, is_ip, fd, rest }
    }
    #[inline(always)]
    fn receive<On>(&mut self, intake: &mut Intake<'_, TapInput, On>, counters: &Counters) {
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| Received::of(number, p));
        }
        let first = intake.start(&DEVICE_INPUT).entrance(self.interface);
        let ethernet = first.map_or(Next::Ethernet, Next::Feature);
        let mut total = 0;
        while total < FRAME {
            let (mut bytes, mut ended) = (0, None);
            let filled = intake.each(BATCH, self.interface, |p| {
                let next = self.fill(p, ethernet).map_err(|why| ended = Some(why)).ok()?;
                bytes += p.total_len() as u64;
                Some(next)
            });
            let (thread, column) = (intake.thread(), self.interface as usize);
            counters.rx.row(thread)[column].add(filled as u64, bytes);
            total += filled;
            match ended {
                Some(Ended::Losing(why)) => {
                    intake.count_lost(why, 1);
                    total += 1;
                }
                None if filled < BATCH => {
                    counters.rx_no_buf.row(thread)[column].add(1);
                    return;
                }
                Some(Ended::Empty) => return,
                None => (),
            }
        }
    }
    /// Reads the next packet. What is refused is gone; Ethernet frames go to `ethernet`.
    #[inline(always)]
    fn fill(&mut self, p: &mut Arrival<'_>, ethernet: Next) -> Result<Next, Ended> {
        let mut header = Header::default();
        let room = p.tailroom();
        let first = p.append_with(room).ok_or(Ended::Losing(Error::NoBuffers))?;
        let to = &mut [
            IoSliceMut::new(header.as_mut_bytes()),
            IoSliceMut::new(first),
            IoSliceMut::new(&mut self.rest),
        ];
        let read = readv(&self.fd, to).map_err(|_| Ended::Empty)?;
        let len = read.saturating_sub(size_of::<Header>());
        p.truncate(len);
        if len > room {
            let rest = self.rest.get(..len - room).unwrap_or_default();
            p.extend(rest).ok_or(Ended::Losing(Error::NoBuffers))?;
        }
        let mut next = ethernet;
        if self.is_ip {
            let is_ip6 = p.bytes().first().is_some_and(|b| b >> 4 == 6);
            next = if is_ip6 { Next::Ip6 } else { Next::Ip4 };
            p.set_l3_offset(0);
            p.add_flags(Flags::L3);
        }
        if header != Header::default() {
            let noted = virtio_header::receive(&header, p, 0);
            noted.map_err(|_| Ended::Losing(Error::Unfit))?;
        }
        Ok(next)
    }
    /// Gives up what waits, at most a frame; says how much that was.
    #[cold]
    fn skip(&mut self) -> u64 {
        let mut read = || readv(&self.fd, &mut [IoSliceMut::new(&mut self.rest)]);
        (0..FRAME).take_while(|_| read().is_ok()).count() as u64
    }
}

impl TapInput {
    /// A node without queues.
    pub fn new(interfaces: &Interfaces) -> Self {
        Self { queues: Vec::new(), ports: interfaces.ports(), counters: interfaces.counters() }
    }
    /// Adds a queue on this thread.
    pub fn add(&mut self, queue: Queue) {
        self.queues.push(queue);
    }
    /// Takes the queues of an interface off this thread, or one of them; says also how many are
    /// left.
    pub fn take(&mut self, interface: u32, number: Option<usize>) -> (Vec<Queue>, usize) {
        let is_meant = |q: &mut Queue| {
            q.interface == interface && number.is_none_or(|number| q.number == number)
        };
        let gone = self.queues.extract_if(.., is_meant).collect();
        (gone, self.queues.len())
    }
}

/// Each thread begins without queues.
impl Clone for TapInput {
    fn clone(&self) -> Self {
        let (ports, counters) = (self.ports.clone(), Arc::clone(&self.counters));
        Self { queues: Vec::new(), ports, counters }
    }
}

impl Input for TapInput {
    const NAME: &'static str = "tap-input";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        for queue in &mut self.queues {
            let up = self.ports.read(queue.interface, intake.epoch()).is_some_and(|p| p.up);
            if up {
                queue.receive(intake, &self.counters);
            } else {
                let lost = queue.skip();
                intake.count_lost(Error::Down, lost);
            }
        }
    }
}

struct Received {
    rx: u32,
    number: usize,
    len: usize,
    flags: u8,
    gso_size: u16,
    csum_start: i16,
}

impl Received {
    fn of(number: usize, p: &Buffer<'_>) -> Self {
        let flag = |f, bit| if p.flags().has(f) { bit } else { 0 };
        let todo = flag(Flags::CHECKSUM_TODO, NEEDS_CSUM);
        Self {
            rx: p.rx(),
            number,
            len: p.total_len(),
            flags: todo | flag(Flags::CHECKSUM_OK, DATA_VALID),
            gso_size: p.gso_size(),
            csum_start: if todo == 0 { 0 } else { p.l4_offset() - p.offset() },
        }
    }
}

impl Record for Received {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rx, number, len, flags, gso_size, csum_start } = self;
        writeln!(f, "  tap: hw_if_index {rx} vring {number} len {len}")?;
        write!(f, "    hdr: flags {flags:#04x} gso_size {gso_size} csum_start {csum_start}")
    }
}
