//! `punt-socket-rx`: packets from programs, sent on or routed.

use std::convert::Infallible;
use std::fmt;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use control::socket::{close_of_others, receive_with_many};
use graph::{Arrival, Buffer, FRAME, Flags, Input, Intake, Names, Record};
use infra::rcu::{Epoch, SlabReader};
use wire::ethernet;
use zerocopy::FromBytes;

use super::{Descriptor, LONGEST};
use crate::interface::Port;
use crate::punt::counted::Counted;

/// Receives from the router's socket.
#[derive(Clone)]
pub struct SocketRx {
    socket: Option<Arc<UnixDatagram>>,
    ports: SlabReader<Port>,
    room: Box<[u8]>,
}

/// Edges of [`SocketRx`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// As they are, out of an interface.
    #[to("interface-output")]
    Output,
    /// Routed.
    #[to("ip4-lookup")]
    Ip4,
    /// Routed.
    #[to("ip6-lookup")]
    Ip6,
}

/// The reason why filling packets ended early.
enum Ended {
    /// There are no more.
    Empty,
    /// One was lost.
    Losing(Counted),
}

impl SocketRx {
    pub(super) fn new(socket: Option<Arc<UnixDatagram>>, ports: SlabReader<Port>) -> Self {
        Self { socket, ports, room: vec![0; LONGEST].into_boxed_slice() }
    }
    /// Reads the next packet.
    fn fill(&mut self, p: &mut Arrival<'_>, epoch: Epoch<'_>) -> Result<Next, Ended> {
        let Some(socket) = &self.socket else { return Err(Ended::Empty) };
        let mut strange = Vec::new();
        let read = receive_with_many(&**socket, &mut self.room, &mut strange);
        if !strange.is_empty() {
            // The kernel would close them here, which takes as long as their sender likes.
            close_of_others(strange);
        }
        let read = read.map_err(|e| match std::io::Error::from(e).kind() {
            std::io::ErrorKind::WouldBlock => Ended::Empty,
            _ => Ended::Losing(Counted::Read),
        })?;
        let datagram = self.room.get(..read).unwrap_or_default();
        let (descriptor, bytes) = Descriptor::read_from_prefix(datagram)
            .map_err(|_| Ended::Losing(Counted::Descriptor))?;
        p.extend(bytes).ok_or(Ended::Losing(Counted::NoBuffers))?;
        direct(p, descriptor, self.ports.read(descriptor.interface, epoch))
            .ok_or(Ended::Losing(Counted::Descriptor))
    }
}

/// Next node of a packet; `None` when there is no such interface or action, or it carries no
/// packets of that version.
fn direct(p: &mut Buffer<'_>, descriptor: Descriptor, port: Option<&Port>) -> Option<Next> {
    let port = port?;
    let offset = p.offset();
    let (next, fib) = match descriptor.action {
        Descriptor::L2 => {
            p.set_rx(descriptor.interface);
            p.set_tx(descriptor.interface);
            p.set_l2_offset(offset);
            p.add_flags(Flags::L2.with(Flags::LOCAL));
            return (p.len() >= size_of::<ethernet::Header>()).then_some(Next::Output);
        }
        Descriptor::IP4 => (Next::Ip4, port.ip4?),
        Descriptor::IP6 => (Next::Ip6, port.ip6?),
        _ => return None,
    };
    p.set_rx(descriptor.interface);
    p.set_fib(fib);
    p.set_l3_offset(offset);
    p.add_flags(Flags::L3);
    Some(next)
}

impl Input for SocketRx {
    const NAME: &'static str = "punt-socket-rx";
    type Next = Next;
    type Error = Counted;
    type Count = Infallible;

    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        if intake.is_tracing() {
            intake.record(Received::of);
        }
        let epoch = intake.epoch();
        let mut total = 0;
        while total < FRAME {
            let mut ended = None;
            let left = FRAME - total;
            let filled = intake.each(
                left,
                0,
                #[inline(always)]
                |p| self.fill(p, epoch).map_err(|why| ended = Some(why)).ok(),
            );
            intake.count_as(Counted::Received, filled as u64);
            total += filled;
            match ended {
                Some(Ended::Losing(why)) => {
                    intake.count_lost(why, 1);
                    total += 1;
                }
                Some(Ended::Empty) => return,
                None if filled < left => return intake.count_lost(Counted::NoBuffers, 1),
                None => (),
            }
        }
    }
}

struct Received {
    rx: u32,
    len: usize,
}

impl Received {
    fn of(p: &Buffer<'_>) -> Self {
        Self { rx: p.rx(), len: p.total_len() }
    }
}

impl Record for Received {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  sw_if_index: {} len: {}", self.rx, self.len)
    }
}
