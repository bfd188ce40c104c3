//! `af-packet-input`: takes packets out of the rings of the queues on its thread.
#![forbid(unsafe_code)]

use std::fmt;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use graph::{Arrival, Buffer, FRAME, Intake, MOST_SLICES, Names, Record};
use net::interface::Counters;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, recv, recvmsg};
use wire::virtio_net::Header;
use wire::zerocopy::IntoBytes;
use wire::zerocopy::byteorder::network_endian::U16;

use super::ring::Ring;
use crate::host::input::{self, DeviceInput, HeaderTrace, Next, Route};
use crate::virtio_header;

/// Receives on Linux devices.
pub type AfPacketInput = DeviceInput<Queue>;

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
    /// no buffers for a large packet.
    #[name("no buffers")]
    NoBuffers,
}

/// The reason why filling packets ended early.
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

impl input::Queue for Queue {
    const NODE: &'static str = "af-packet-input";
    type Error = Error;

    fn key(&self) -> (u32, usize) {
        (self.interface, self.number)
    }
    fn is_ip(&self) -> bool {
        self.is_ip
    }
    #[inline(always)]
    fn receive<On>(
        &mut self,
        intake: &mut Intake<'_, AfPacketInput, On>,
        route: Route,
        counters: &Counters,
    ) {
        let waiting = self.ring.filled(FRAME);
        if waiting == 0 {
            return;
        }
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| QueueTrace::of("rx", number, p.rx(), p));
        }
        let (mut bytes, mut ended) = (0, None);
        let filled = intake.each(waiting, self.interface, |p| {
            let next = self.fill(p, route).map_err(|why| ended = Some(why)).ok()?;
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
    #[cold]
    fn skip<On>(&mut self, intake: &mut Intake<'_, AfPacketInput, On>) {
        let waiting = self.ring.filled(FRAME);
        for _ in 0..waiting {
            if self.ring.next().is_some_and(|slot| slot.is_queued()) {
                discard(&self.socket);
            }
        }
        intake.count_lost(Error::Down, waiting as u64);
    }
}

impl Queue {
    /// Brings in the next packet. What is refused is gone.
    #[inline(always)]
    fn fill(&mut self, p: &mut Arrival<'_>, route: Route) -> Result<Next, Ended> {
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
        let next = route.next(p);
        if header != Header::default() || tag.is_some() {
            finish(&header, tag, p)?;
        }
        Ok(next)
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

/// A packet that came out of a queue or went into one.
pub struct QueueTrace {
    direction: &'static str,
    interface: u32,
    number: usize,
    len: usize,
    left: HeaderTrace,
}

impl QueueTrace {
    /// Of a packet of queue `number` of an interface; `direction` is `rx` or `tx`.
    pub fn of(direction: &'static str, number: usize, interface: u32, p: &Buffer<'_>) -> Self {
        Self { direction, interface, number, len: p.total_len(), left: HeaderTrace::of(p) }
    }
}

impl Record for QueueTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { direction, interface, number, len, left } = self;
        writeln!(f, "  af_packet: hw_if_index {interface} {direction}-queue {number} len {len}")?;
        write!(f, "    vnet-hdr:\n      {left}")
    }
}
