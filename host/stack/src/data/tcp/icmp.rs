//! `ip4-session-icmp-error`, `ip6-session-icmp-error`: pass ICMP errors to their connections.
//!
//! These are features on the arcs of punted packets. Errors about other connections continue, as
//! they may be for the kernel.

use std::convert::Infallible;
use std::marker::PhantomData;

use graph::{Buffer, Continue, Frame, Node};
use net::events::{Event, EventSender};
use net::ip::{Headers, V4, V6};
use tcp_machine::Seq;
use wire::{Protocol, icmp4, icmp6, ip4, ip6};
use zerocopy::FromBytes;

use super::super::key::Key;
use super::super::session::Inner;
use super::super::stack::Stack;
use super::super::version::HostVersion;
use super::super::worker::Worker;
use super::ports;

/// Names of the nodes.
pub const NAMES: [&str; 2] = ["ip4-session-icmp-error", "ip6-session-icmp-error"];
/// MTU assumed if the router reports none: the minimum for IPv4 hosts (RFC 1191 section 5).
const UNSAID_MTU: u16 = 576;
/// Length of a TCP header without options in bytes.
const TCP_LEN: u16 = 20;

/// Meaning of an ICMP error about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The segment is too big; this many bytes of payload and options would fit.
    TooBig(u16),
    /// The destination is permanently unreachable (RFC 1122 section 4.2.3.9, RFC 5461).
    Hard,
    /// The destination is temporarily unreachable.
    Soft,
}

/// An ICMP error about a connection of another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Thread.
    pub thread: usize,
    /// The connection.
    pub key: Key,
    /// First sequence number of the segment.
    pub seq: Seq,
    /// Meaning of the error.
    pub trouble: Trouble,
}

impl Event for Misplaced {}

/// Parsing of ICMP errors for an IP version.
pub trait Errors: HostVersion {
    /// Parses an ICMP message; `None` if it is not an error.
    fn read(message: &[u8]) -> Option<Trouble>;
    /// Key of the connection of a quoted packet, and the data after its IP header.
    fn quoted(packet: &[u8], fib: u16, rx: u32) -> Option<(Key, &[u8])>;
}

impl Errors for V4 {
    fn read(message: &[u8]) -> Option<Trouble> {
        let (error, _) = icmp4::Error::read_from_prefix(message).ok()?;
        let code = error.icmp.code;
        match error.icmp.kind {
            icmp4::Type::DESTINATION_UNREACHABLE => Some(match code {
                icmp4::code::FRAGMENTATION_NEEDED => {
                    let mtu = if error.mtu.get() == 0 { UNSAID_MTU } else { error.mtu.get() };
                    Trouble::TooBig(mtu.saturating_sub(size_of::<ip4::Header>() as u16 + TCP_LEN))
                }
                icmp4::code::PROTOCOL_UNREACHABLE | icmp4::code::PORT_UNREACHABLE => Trouble::Hard,
                _ => Trouble::Soft,
            }),
            icmp4::Type::TIME_EXCEEDED | icmp4::Type::PARAMETER_PROBLEM => Some(Trouble::Soft),
            _ => None,
        }
    }
    fn quoted(packet: &[u8], fib: u16, _: u32) -> Option<(Key, &[u8])> {
        let (ip, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        let rest = packet.get(ip.header_len()..)?;
        if ip.protocol != Protocol::TCP || ip.fragment_offset() != 0 {
            return None;
        }
        let [src, dst] = ports(rest)?;
        Some((Key::ip4((ip.src, src), (ip.dst, dst), Protocol::TCP, fib), rest))
    }
}

impl Errors for V6 {
    fn read(message: &[u8]) -> Option<Trouble> {
        let (head, value) = message.split_first_chunk::<4>()?;
        let value = u32::from_be_bytes(*value.first_chunk()?);
        match (icmp6::Type(head[0]), head[1]) {
            (icmp6::Type::PACKET_TOO_BIG, _) => {
                let mtu = value.clamp(icmp6::LEAST_MTU as u32, u16::MAX.into()) as u16;
                Some(Trouble::TooBig(mtu - size_of::<ip6::Header>() as u16 - TCP_LEN))
            }
            (
                icmp6::Type::DESTINATION_UNREACHABLE,
                icmp6::code::ADMINISTRATIVELY_PROHIBITED | icmp6::code::PORT_UNREACHABLE,
            )
            | (icmp6::Type::PARAMETER_PROBLEM, icmp6::code::UNKNOWN_NEXT_HEADER) => {
                Some(Trouble::Hard)
            }
            (
                icmp6::Type::DESTINATION_UNREACHABLE
                | icmp6::Type::TIME_EXCEEDED
                | icmp6::Type::PARAMETER_PROBLEM,
                _,
            ) => Some(Trouble::Soft),
            _ => None,
        }
    }
    fn quoted(packet: &[u8], fib: u16, rx: u32) -> Option<(Key, &[u8])> {
        let (ip, rest) = ip6::Header::ref_from_prefix(packet).ok()?;
        if ip.next_header != Protocol::TCP {
            return None; // the router's own segments have no extension headers
        }
        let [src, dst] = ports(rest)?;
        let key = Key::ip6((ip.src, src), (ip.dst, dst), Protocol::TCP, fib);
        Some((if key.is_peer_on_link() { key.on(rx) } else { key }, rest))
    }
}

/// Parses an ICMP error about a segment.
fn read<V: Errors>(p: &Buffer<'_>) -> Option<(Key, Seq, Trouble)> {
    const ICMP_LEN: usize = 8;
    let message = p.bytes_from(p.l4_offset());
    let trouble = V::read(message)?;
    let (key, tcp) = V::quoted(message.get(ICMP_LEN..)?, p.fib(), p.rx())?;
    let seq = tcp.get(4..)?.first_chunk()?;
    Some((key, Seq(u32::from_be_bytes(*seq)), trouble))
}

impl Worker {
    /// Passes an ICMP error to its connection; returns whether it exists.
    pub fn troubled(&mut self, key: &Key, seq: Seq, trouble: Trouble) -> bool {
        let Some(index) = self.find(key) else { return false };
        let Self { sessions, machine, .. } = self;
        if let Inner::Tcp(connection) = &mut sessions[index as usize].inner {
            let effects = match trouble {
                Trouble::TooBig(most) => connection.too_big(machine, seq, most),
                Trouble::Hard => connection.unreachable(machine, seq, true),
                Trouble::Soft => connection.unreachable(machine, seq, false),
            };
            self.apply(index, &effects);
        }
        true
    }
}

/// The node that passes ICMP errors to connections.
#[derive(Clone)]
pub struct IcmpErrors<V> {
    stack: Stack,
    elsewhere: EventSender<Misplaced>,
    version: PhantomData<V>,
}

impl<V> IcmpErrors<V> {
    /// Creates the node; errors about connections of other threads are sent to `elsewhere`.
    pub fn new(stack: &Stack, elsewhere: EventSender<Misplaced>) -> Self {
        Self { stack: stack.clone(), elsewhere, version: PhantomData }
    }
}

/// Counters of ICMP errors about connections of the host stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Taken {
    /// ICMP errors passed to sessions.
    #[severity("info")]
    Noted,
    /// ICMP errors for sessions lost: the control thread is busy.
    Busy,
}

impl<V: Errors> Node for IcmpErrors<V> {
    const NAME: &'static str = NAMES[V::INDEX];
    type Next = Continue;
    type Error = Taken;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, thread, epoch) = (frame.now(), frame.thread(), frame.epoch());
        let mut worker = self.stack.lend(thread);
        frame.each(|p| {
            p.trace(Headers::<V>::of);
            let Some(worker) = worker.as_deref_mut() else { return Ok(Continue) };
            let Some((key, seq, trouble)) = read::<V>(p) else { return Ok(Continue) };
            worker.now = now;
            if worker.troubled(&key, seq, trouble) {
                return Err(Taken::Noted);
            }
            match self.stack.thread_of(key.hash(worker.seed()), epoch) {
                Some(other) if worker.is_shared && other != thread => {
                    let event = Misplaced { thread: other, key, seq, trouble };
                    let is_sent = self.elsewhere.send(event);
                    Err(if is_sent { Taken::Noted } else { Taken::Busy })
                }
                _ => Ok(Continue),
            }
        });
    }
}
