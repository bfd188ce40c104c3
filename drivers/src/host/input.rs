//! Input nodes of host devices: the queues of their thread, and the next nodes of packets.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use graph::{Buffer, Flags, Input, Intake, Reason, Slot};
use infra::rcu::SlabReader;
use net::Interfaces;
use net::interface::{Counters, DEVICE_INPUT, Port};
use wire::virtio_net::{DATA_VALID, NEEDS_CSUM};

/// Sign by which the descriptor of a queue says that packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waking {
    /// Readable while they do.
    While,
    /// Rung each time some arrive, and never silenced.
    Once,
}

/// Packets lost on receive.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no buffers.
    #[name("no buffers")]
    NoBuffers,
    /// interface is down.
    #[name("interface is down")]
    Down,
}

/// One queue of a device that packets come out of.
pub trait Queue: Send + Sized + 'static {
    /// Name of the node that reads such queues.
    const NODE: &'static str;
    /// Sign by which its descriptor says that packets wait.
    const WAKING: Waking = Waking::While;
    /// Reasons for packets lost there.
    type Error: Reason;
    /// Interface it belongs to, and its number among the queues of that.
    fn key(&self) -> (u32, usize);
    /// Whether packets come without anything in front of their IP header.
    fn is_ip(&self) -> bool;
    /// Brings in what waits.
    fn receive<On>(
        &mut self,
        intake: &mut Intake<'_, DeviceInput<Self>, On>,
        route: Route,
        counters: &Counters,
    );
    /// Gives up what waits: the interface is down.
    fn skip<On>(&mut self, intake: &mut Intake<'_, DeviceInput<Self>, On>);
}

/// Receives from the queues on its thread.
pub struct DeviceInput<Q> {
    queues: Vec<Q>,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
}

/// Edges of [`DeviceInput`].
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
    /// The interface punts.
    #[to("error-punt")]
    Punt,
    /// A feature before Ethernet.
    #[dynamic]
    Feature(Slot),
}

impl Next {
    /// Next node of Ethernet frames of an interface: its first feature, if it has any.
    #[inline(always)]
    fn of<Q: Queue, On>(intake: &Intake<'_, DeviceInput<Q>, On>, interface: u32) -> Self {
        let first = intake.start(&DEVICE_INPUT).first(interface);
        first.map_or(Self::Ethernet, Self::Feature)
    }
    /// Next node of an IP packet that came without a header in front, which is noted on it.
    #[inline(always)]
    fn of_ip(p: &mut Buffer<'_>) -> Self {
        p.set_l3_offset(0);
        p.add_flags(Flags::L3);
        let is_ip6 = p.bytes().first().is_some_and(|b| b >> 4 == 6);
        if is_ip6 { Self::Ip6 } else { Self::Ip4 }
    }
}

/// The route of a queue's packets.
#[derive(Clone, Copy)]
pub struct Route {
    /// All of them; `None` where each says what it is.
    to: Option<Next>,
}

impl Route {
    /// Of packets of an interface; `is_ip` if nothing is in front of their IP header.
    #[inline(always)]
    fn new<Q: Queue, On>(
        intake: &Intake<'_, DeviceInput<Q>, On>,
        (interface, port): (u32, &Port),
        is_ip: bool,
    ) -> Self {
        let to = match is_ip {
            true if port.punts => Some(Next::Punt),
            true => None,
            // Ethernet input checks whether the interface punts.
            false => Some(Next::of(intake, interface)),
        };
        Self { to }
    }
    /// Next node of a packet.
    #[inline(always)]
    pub fn next(self, p: &mut Buffer<'_>) -> Next {
        self.to.unwrap_or_else(|| Next::of_ip(p))
    }
}

impl<Q> DeviceInput<Q> {
    /// A node without queues.
    pub fn new(interfaces: &Interfaces) -> Self {
        Self { queues: Vec::new(), ports: interfaces.ports(), counters: interfaces.counters() }
    }
    /// Adds a queue on this thread.
    pub fn add(&mut self, queue: Q) {
        self.queues.push(queue);
    }
}

impl<Q: Queue> DeviceInput<Q> {
    /// Takes the queues of an interface off this thread, or one of them; says also how many are
    /// left.
    pub fn take(&mut self, interface: u32, number: Option<usize>) -> (Vec<Q>, usize) {
        let is_meant = |q: &mut Q| {
            let key = q.key();
            key.0 == interface && number.is_none_or(|number| key.1 == number)
        };
        let gone = self.queues.extract_if(.., is_meant).collect();
        (gone, self.queues.len())
    }
}

/// Each thread begins without queues.
impl<Q> Clone for DeviceInput<Q> {
    fn clone(&self) -> Self {
        let (ports, counters) = (self.ports.clone(), Arc::clone(&self.counters));
        Self { queues: Vec::new(), ports, counters }
    }
}

impl<Q: Queue> Input for DeviceInput<Q> {
    const NAME: &'static str = Q::NODE;
    const HOT: bool = true;
    type Next = Next;
    type Error = Q::Error;
    type Count = Infallible;

    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        for queue in &mut self.queues {
            let (interface, _) = queue.key();
            match self.ports.read(interface, intake.epoch()).filter(|port| port.up) {
                Some(port) => {
                    let route = Route::new(intake, (interface, port), queue.is_ip());
                    queue.receive(intake, route, &self.counters);
                }
                None => queue.skip(intake),
            }
        }
    }
}

/// The virtio header of a packet, for the trace.
pub struct HeaderTrace {
    flags: u8,
    gso_size: u16,
    csum_start: i16,
}

impl HeaderTrace {
    /// Pending offloads of a packet.
    pub fn of(p: &Buffer<'_>) -> Self {
        let flag = |f, bit| if p.flags().has(f) { bit } else { 0 };
        let todo = flag(Flags::CHECKSUM_TODO, NEEDS_CSUM);
        Self {
            flags: todo | flag(Flags::CHECKSUM_OK, DATA_VALID),
            gso_size: p.gso_size(),
            csum_start: if todo == 0 { 0 } else { p.l4_offset() - p.offset() },
        }
    }
}

impl fmt::Display for HeaderTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flags, gso_size, csum_start } = self;
        write!(f, "flags {flags:#04x} gso_size {gso_size} csum_start {csum_start}")
    }
}
