//! `session-queue`: timers, callbacks of applications, and transmission. It is disabled together
//! with the layer.

use std::net::{IpAddr, SocketAddr};

use graph::{Flags, Input, InputState, Intake};
use net::events::{Event, EventSender};
use tcp_machine::{MAX_HEADER, Outgoing};
use wire::{Protocol, udp};
use zerocopy::IntoBytes;

use super::fence::Fenced;
use super::key::Key;
use super::session::NONE;
use super::stack::Stack;
use super::version::{LONGEST, write_header};
use super::visit::{Payload, Wire};

/// Limit of sessions processed per turn.
const VISITS: usize = 256;
/// Limit of packets sent per turn, before segmentation.
const PACKETS: u32 = 128;
/// Limit of timers per turn.
const TIMERS: usize = 256;
/// Interface of the router's own packets.
const OWN: u32 = 0;

/// Name of the node.
pub const NAME: &str = "session-queue";

/// Event: an outgoing datagram session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed(pub SocketAddr);

impl Event for Freed {}

/// Event: a peer has left a connection half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// FIB index of the address.
    pub fib: u16,
    /// The peer.
    pub peer: IpAddr,
}

impl Event for Unfinished {}

/// The node that processes sessions.
#[derive(Clone)]
pub struct Queue {
    /// State of the threads.
    pub stack: Stack,
    /// Events for released ports.
    pub freed: EventSender<Freed>,
    /// Events for half-open connections.
    pub unfinished: EventSender<Unfinished>,
    /// Events for a state that is not used any more.
    pub fenced: EventSender<Fenced>,
    /// Whether that event was sent.
    pub has_told: bool,
}

/// Edges of [`Queue`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Segments over IPv4.
    #[to("tcp4-output")]
    Tcp4,
    /// Segments over IPv6.
    #[to("tcp6-output")]
    Tcp6,
    /// Datagrams over IPv4.
    #[to("udp4-output")]
    Udp4,
    /// Datagrams over IPv6.
    #[to("udp6-output")]
    Udp6,
}

/// Losses of [`Queue`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Out of buffers.
    NoBuffer,
}

/// Counters of [`Queue`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Packets transmitted.
    Tx,
    /// Timer events.
    Timer,
}

impl Input for Queue {
    const NAME: &'static str = NAME;
    const STATE: InputState = InputState::Disabled;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        let (thread, epoch) = (intake.thread(), intake.epoch());
        let Some(mut worker) = self.stack.lend(thread) else {
            if !self.has_told && self.stack.is_fenced(thread) {
                self.has_told = self.fenced.send(Fenced(thread));
            }
            return;
        };
        self.has_told = false;
        worker.now = intake.now();
        if worker.visited != NONE {
            worker.abandon();
        }
        let again = worker.turns();
        let queued = worker.queued();
        worker.expire(TIMERS);
        let fired = worker.queued() - queued;
        let mut sender = Sender { intake, left: PACKETS, sent: 0, failed: 0 };
        // One session at a time: sending may leave some for the next turn.
        while sender.left > 0
            && let Some((key, out)) = worker.replies.pop()
        {
            sender.segment(&key, &out, None);
        }
        for _ in 0..worker.queued().min(VISITS) {
            if sender.left == 0 {
                break;
            }
            if let Some(index) = worker.dequeue() {
                worker.visited = index;
                worker.visit(index, &mut sender);
                worker.visited = NONE;
            }
        }
        let Sender { sent, failed, .. } = sender;
        intake.count(Count::Tx, sent);
        intake.count(Count::Timer, fired as u64);
        intake.count_as(Error::NoBuffer, failed);
        if !worker.moves.is_empty() {
            self.stack.announce(&mut worker, epoch);
        }
        // Events that do not fit into the queue are sent in a later turn.
        while let Some(end) = worker.freed.pop() {
            if !self.freed.send(Freed(end)) {
                worker.freed.push(end);
                break;
            }
        }
        // Lost events are counted by the event queue.
        worker.unfinished.drain(..).for_each(|of| {
            let _ = self.unfinished.send(of);
        });
        let is_more = again || worker.queued() > 0 || !worker.replies.is_empty();
        if is_more || !worker.moves.is_empty() {
            intake.wake_in(0.0);
        } else if let Some(seconds) = worker.until_next() {
            intake.wake_in(seconds);
        }
    }
}

/// Transmission of one turn.
struct Sender<'q, 'i, On> {
    intake: &'q mut Intake<'i, Queue, On>,
    left: u32,
    sent: u64,
    failed: u64,
}

impl<On: graph::Cpu> Sender<'_, '_, On> {
    /// Sends a packet made of two headers and a payload; false if no buffer is free.
    fn packet(
        &mut self,
        key: &Key,
        (ip, header): (&[u8], &[u8]),
        payload: Option<Payload<'_>>,
        mss: u16,
        next: Next,
    ) -> bool {
        self.left = self.left.saturating_sub(1);
        let len = payload.map_or(0, |payload| payload.len());
        let rx = if key.link() == 0 { OWN } else { key.link() };
        let filled = self.intake.each(1, rx, |p| {
            p.append(ip)?;
            p.append(header)?;
            for piece in payload.into_iter().flat_map(Payload::pieces) {
                p.extend(piece)?;
            }
            let l3 = p.offset();
            p.set_l3_offset(l3);
            p.set_l4_offset(l3 + ip.len() as i16);
            p.set_fib(key.fib());
            let flags = Flags::LOCAL.with(Flags::L3).with(Flags::L4).with(Flags::CHECKSUM_TODO);
            p.add_flags(flags);
            if mss > 0 && len > usize::from(mss) {
                p.set_gso_size(mss);
                p.add_flags(Flags::GSO);
            }
            Some(next)
        });
        self.sent += filled as u64;
        self.failed += u64::from(filled == 0);
        filled == 1
    }
}

impl<On: graph::Cpu> Wire for Sender<'_, '_, On> {
    fn segment(&mut self, key: &Key, out: &Outgoing, payload: Option<Payload<'_>>) -> bool {
        let len = payload.map_or(0, |payload| payload.len());
        let (mut ip, mut header) = ([0; LONGEST], [0; MAX_HEADER]);
        let (local, peer) = (key.local().port(), key.peer().port());
        let header_len = out.segment.write_header(local, peer, &mut header);
        let (ip_len, sum) = write_header(key, header_len + len, false, &mut ip);
        header[16..18].copy_from_slice(&sum.to_be_bytes());
        let next = if key.is_ip6() { Next::Tcp6 } else { Next::Tcp4 };
        let headers = (&ip[..ip_len], &header[..header_len]);
        self.packet(key, headers, payload, out.mss, next)
    }
    fn datagram(&mut self, key: &Key, payload: Payload<'_>) -> bool {
        let mut ip = [0; LONGEST];
        let len = size_of::<udp::Header>() + payload.len();
        let (ip_len, sum) = write_header(key, len, true, &mut ip);
        let (local, peer) = (key.local().port(), key.peer().port());
        let mut header = udp::Header::new(local, peer, len as u16);
        header.checksum = sum.into();
        let next = if key.is_ip6() { Next::Udp6 } else { Next::Udp4 };
        debug_assert_eq!(key.protocol(), Protocol::UDP, "datagrams are of UDP");
        self.packet(key, (&ip[..ip_len], header.as_bytes()), Some(payload), 0, next)
    }
    fn budget(&self) -> u32 {
        self.left
    }
}
