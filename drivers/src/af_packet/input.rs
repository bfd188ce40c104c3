//! `af-packet-input`: takes packets out of the rings of the queues on its thread.

use std::convert::Infallible;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use graph::{Arrival, FRAME, Flags, Input, Intake, Names, Record};
use infra::rcu::SlabReader;
use net::Interfaces;
use net::interface::{Counters, Port};
use rustix::net::{RecvFlags, recv};
use wire::virtio_net::Header;

use super::offload;
use super::ring::{Ring, Slot};

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

impl AfPacketInput {
    /// A node without queues.
    pub fn new(interfaces: &Interfaces) -> Self {
        Self { queues: Vec::new(), ports: interfaces.ports(), counters: interfaces.counters() }
    }
    /// Adds a queue on this thread.
    pub fn add(&mut self, queue: Queue) {
        self.queues.push(queue);
    }
    /// Takes the queues of an interface off this thread; says also how many are left.
    pub fn take(&mut self, interface: u32) -> (Vec<Queue>, usize) {
        let gone = self.queues.extract_if(.., |q| q.interface == interface).collect();
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
    fn poll(&mut self, intake: &mut Intake<'_, Self>) {
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
    fn receive(
        &mut self,
        waiting: usize,
        intake: &mut Intake<'_, AfPacketInput>,
        counters: &Counters,
    ) {
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| Received { rx: p.rx(), number, len: p.total_len(), header: offload::send(p).unwrap_or_default() });
        }
        let (mut bytes, mut lost) = (0, None);
        let filled = intake.each(waiting, self.interface, |p| {
            let next = self.fill(p);
            bytes += p.total_len() as u64;
            next.map_err(|why| lost = Some(why)).ok()
        });
        let thread = intake.thread();
        let column = self.interface as usize;
        counters.rx.row(thread)[column].add(filled as u64, bytes);
        if let Some(why) = lost {
            intake.count_lost(why, 1);
        } else if filled < waiting {
            counters.rx_no_buf.row(thread)[column].add(1);
        }
    }
    /// Brings in the next packet. What is refused is gone.
    #[inline(always)]
    fn fill(&mut self, p: &mut Arrival<'_>) -> Result<Next, Error> {
        let slot = self.ring.next().ok_or(Error::Partial)?;
        let (header, len, tag) = (slot.offload(), slot.packet_len(), slot.tag());
        if slot.is_queued() {
            big(&self.socket, len, p)?;
        } else if slot.bytes().len() == len {
            p.extend(slot.bytes()).ok_or(Error::NoBuffers)?;
        } else {
            return Err(Error::Partial);
        }
        drop(slot);
        let mut next = Next::Ethernet;
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
    let mut result = None;
    let filled = p.extend_with(len, |slices| {
        let received = super::ring::receive(socket, &mut header, slices);
        result = Some(received);
        received.ok().filter(|n| *n == header.len() + len).map(|_| ())
    });
    if result.is_none() {
        discard(socket);
        return Err(Error::NoBuffers);
    }
    filled.ok_or(Error::Partial)
}

fn discard(socket: &OwnedFd) {
    // It is gone whether or not this little room holds it.
    let _ = recv(socket, &mut [0; 64], RecvFlags::DONTWAIT);
}
