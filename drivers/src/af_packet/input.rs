//! `af-packet-input`: takes packets out of the rings of the queues on its thread.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::fmt;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use graph::{Arrival, Buffer, FRAME, Flags, Input, Intake, MOST_SLICES, Names, Record, Slot};
use infra::rcu::SlabReader;
use net::Interfaces;
use net::interface::{Counters, DEVICE_INPUT, Port};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, recv, recvmsg};
use wire::virtio_net::{DATA_VALID, Header, NEEDS_CSUM};
use wire::zerocopy::IntoBytes;
use wire::zerocopy::byteorder::network_endian::U16;

use super::ring::Ring;
use crate::virtio_header;

/// Receives on Linux devices.
pub struct AfPacketInput {
    queues: Vec<Queue>,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
}

/// One socket that receives.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    pub interface: u32,
    /// Number among the queues of the interface.
    pub number: usize,
    /// Carries IP packets without a header in front.
    pub is_ip: bool,
    /// The ring, unmapped before the socket is closed.
    pub ring: Ring,
    /// The socket.
    pub socket: Arc<OwnedFd>,
}

/// Edges of [`AfPacketInput`].
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

/// Drops of [`AfPacketInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// partial packet.
    #[name("partial packet")]
    Partial,
    /// interface is down.
    #[name("interface is down")]
    Down,
    /// packet does not fit its offload header.
    #[name("unfit for offload")]
    Unfit,
    /// no buffers for a big packet.
    #[name("no buffers")]
    NoBuffers,
}

/// Why filling packets ended early.
enum Ended {
    /// One was not for the router, or is gone.
    Quietly,
    /// One was lost.
    Losing(Error),
}

impl From<Error> for Ended {
    fn from(why: Error) -> Self {
        Self::Losing(why)
    }
}

impl AfPacketInput {
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
impl Clone for AfPacketInput {
    fn clone(&self) -> Self {
        let (ports, counters) = (self.ports.clone(), Arc::clone(&self.counters));
        Self { queues: Vec::new(), ports, counters }
    }
}

impl Input for AfPacketInput {
    const NAME: &'static str = "af-packet-input";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        for queue in &mut self.queues {
            let waiting = queue.ring.filled(FRAME);
            if waiting == 0 {
                continue;
            }
            let up = self.ports.read(queue.interface, intake.epoch()).is_some_and(|p| p.up);
            if up {
                queue.receive(waiting, intake, &self.counters);
            } else {
                for _ in 0..waiting {
                    queue.skip();
                }
                intake.count_lost(Error::Down, waiting as u64);
            }
        }
    }
}

impl Queue {
    #[inline(always)]
    fn receive<On>(
        &mut self,
        waiting: usize,
        intake: &mut Intake<'_, AfPacketInput, On>,
        counters: &Counters,
    ) {
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| Received::of(number, p));
        }
        let first = intake.start(&DEVICE_INPUT).entrance(self.interface);
        let ethernet = first.map_or(Next::Ethernet, Next::Feature);
        let (mut bytes, mut ended) = (0, None);
        let filled = intake.each(waiting, self.interface, |p| {
            let next = self.fill(p, ethernet).map_err(|why| ended = Some(why)).ok()?;
            bytes += p.total_len() as u64;
            Some(next)
        });
        let thread = intake.thread();
        let column = self.interface as usize;
        counters.rx.row(thread)[column].add(filled as u64, bytes);
        match ended {
            Some(Ended::Losing(why)) => intake.count_lost(why, 1),
            None if filled < waiting => counters.rx_no_buf.row(thread)[column].add(1),
            _ => (),
        }
    }
    /// Brings in the next packet. What is refused is gone; Ethernet frames go to `ethernet`.
    #[inline(always)]
    fn fill(&mut self, p: &mut Arrival<'_>, ethernet: Next) -> Result<Next, Ended> {
        let slot = self.ring.next().ok_or(Ended::Quietly)?;
        if slot.is_outgoing() {
            if slot.is_queued() {
                discard(&self.socket);
            }
            return Err(Ended::Quietly);
        }
        let (header, len, tag) = (slot.offload(), slot.packet_len(), slot.tag());
        if slot.is_queued() {
            big(&self.socket, len, p)?;
        } else if slot.bytes().len() == len {
            p.extend(slot.bytes()).ok_or(Error::NoBuffers)?;
        } else {
            return Err(Error::Partial.into());
        }
        drop(slot);
        let mut next = ethernet;
        if self.is_ip {
            let is_ip6 = p.bytes().first().is_some_and(|b| b >> 4 == 6);
            next = if is_ip6 { Next::Ip6 } else { Next::Ip4 };
            p.set_l3_offset(0);
            p.add_flags(Flags::L3);
        }
        if header != Header::default() || tag.is_some() {
            finish(&header, tag, p)?;
        }
        Ok(next)
    }
    /// Gives up the next packet.
    fn skip(&mut self) {
        if self.ring.next().is_some_and(|slot| slot.is_queued()) {
            discard(&self.socket);
        }
    }
}

/// Reads a packet that did not fit its slot from the queue of the socket, straight into buffers.
fn big(socket: &OwnedFd, len: usize, p: &mut Arrival<'_>) -> Result<(), Error> {
    let mut header = [0; size_of::<Header>()];
    let whole = header.len() + len;
    let mut asked = false;
    let filled = p.extend_with(len, |slices| {
        asked = true;
        let count = slices.len() + 1;
        let mut room = [const { None }; MOST_SLICES + 1];
        room[0] = Some(IoSliceMut::new(&mut header));
        for (to, from) in room[1..].iter_mut().zip(slices.iter_mut()) {
            *to = Some(IoSliceMut::new(from));
        }
        let mut room = room.map(|r| r.unwrap_or_else(|| IoSliceMut::new(&mut [])));
        let room = &mut room[..count];
        let received = taken(|| {
            let control = &mut RecvAncillaryBuffer::default();
            recvmsg(socket, room, control, RecvFlags::DONTWAIT)
        })?;
        (received.bytes == whole).then_some(())
    });
    if !asked {
        discard(socket);
        return Err(Error::NoBuffers);
    }
    filled.ok_or(Error::Partial)
}

fn discard(socket: &OwnedFd) {
    // It is gone whether or not this little room holds it.
    taken(|| recv(socket, &mut [0; 64][..], RecvFlags::DONTWAIT));
}

/// Takes the next packet out of a queue, which holds one: slots and queue must keep in step. An
/// error that the socket had to report first (the device went down) takes nothing.
fn taken<T>(mut receive: impl FnMut() -> rustix::io::Result<T>) -> Option<T> {
    const MOST_REPORTS: usize = 4;
    (0..MOST_REPORTS).find_map(|_| receive().ok())
}

/// Puts back the tag that the kernel took off, and notes what its header says.
#[cold]
fn finish(header: &Header, tag: Option<(u16, u16)>, p: &mut Buffer<'_>) -> Result<(), Error> {
    let mut tag_len = 0;
    if let Some((kind, control)) = tag {
        const ADDRESSES: usize = 12;
        tag_len = 4;
        p.prepend(tag_len).ok_or(Error::Unfit)?;
        let bytes = p.bytes_mut();
        let front = bytes.get_mut(..ADDRESSES + tag_len).ok_or(Error::Unfit)?;
        front.copy_within(tag_len.., 0);
        front[ADDRESSES..].copy_from_slice([U16::new(kind), U16::new(control)].as_bytes());
    }
    virtio_header::receive(header, p, tag_len).map_err(|_| Error::Unfit)
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
        writeln!(
            f,
            "  af_packet: hw_if_index {} rx-queue {} len {}",
            self.rx, self.number, self.len
        )?;
        let (flags, size, start) = (self.flags, self.gso_size, self.csum_start);
        writeln!(f, "    vnet-hdr:")?;
        write!(f, "      flags {flags:#04x} gso_size {size} csum_start {start}")
    }
}
