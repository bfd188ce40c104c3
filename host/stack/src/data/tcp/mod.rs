//! The TCP nodes. `tcp4-input` finds the session of a segment, on this thread or another one, or
//! the listener; the node for the session's state passes the segment to the machine. Replies are
//! sent when the session is next processed, except resets for segments without a session, which
//! `tcp4-reset` makes from the segment.

mod counted;
mod drop;
pub mod icmp;
mod input;
mod reset;
mod step;

use graph::{Buffer, BuildError, Payload};
use net::Router;
use net::ip::{V4, V6};
use tcp_machine::{Flow, Segment, Sink};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use input::Tcp;

use super::fifo::{CHUNK, Chunks, Fifo};
use super::key::Key;
use super::stack::Stack;
use super::transport::{Input, Known, Output, pieces};

/// The session of a segment, or the number of the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Found {
    /// Index of the session, or number of the listener.
    pub index: u32,
    /// Generation of the session's entry.
    pub generation: u32,
}

impl Payload for Found {
    const NAME: &'static str = "tcp-session";
}

/// Endpoints of a connection for the machine.
pub fn flow_of(key: &Key) -> Flow {
    let (local, remote) = key.octets();
    let (local_port, remote_port) = (key.local().port(), key.peer().port());
    Flow { local, remote, local_port, remote_port, is_ip6: key.is_ip6() }
}

/// Parses the segment of a packet whose current data starts at the IP header; returns it with the
/// offset of its payload, or `None` if lengths are wrong.
fn segment_of(p: &Buffer<'_>) -> Option<(Segment, usize)> {
    let l4 = usize::try_from(p.l4_offset() - p.offset()).ok()?;
    let bytes = p.bytes().get(l4..)?;
    let len = upper_len(p, l4)?;
    let header_len = usize::from(bytes.get(12)? >> 4) * 4;
    let mut segment = Segment::parse(bytes.get(..header_len.max(20))?)?;
    segment.len = u32::try_from(len.checked_sub(header_len)?).ok()?;
    Some((segment, l4 + header_len))
}

/// Length of the upper-layer data according to the IP header; the packet may have padding.
fn upper_len(p: &Buffer<'_>, l4: usize) -> Option<usize> {
    let bytes = p.bytes();
    let number =
        |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    let len = match bytes.first()? >> 4 {
        4 => number(2)?.checked_sub(l4)?,
        _ => (number(4)? + 40).checked_sub(l4)?,
    };
    (l4 + len <= p.total_len()).then_some(len)
}

#[inline(always)]
fn ports_of(p: &Buffer<'_>) -> Option<[u16; 2]> {
    ports(p.bytes_from(p.l4_offset()))
}

/// Source and destination port at the start of a segment.
#[inline(always)]
fn ports(tcp: &[u8]) -> Option<[u16; 2]> {
    let number = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
    Some([number(0)?, number(2)?])
}

/// Receiver of a segment's payload: writes it into a FIFO.
pub struct Received<'a> {
    fifo: &'a mut Fifo,
    chunks: &'a mut Chunks,
    packet: Option<&'a Buffer<'a>>,
    /// Length of the headers before the payload.
    skip: usize,
}

impl<'a> Received<'a> {
    /// Creates a receiver without a packet.
    pub fn nothing(fifo: &'a mut Fifo, chunks: &'a mut Chunks) -> Self {
        Self { fifo, chunks, packet: None, skip: 0 }
    }
    fn of(fifo: &'a mut Fifo, chunks: &'a mut Chunks, p: &'a Buffer<'a>, skip: usize) -> Self {
        Self { fifo, chunks, packet: Some(p), skip }
    }
}

impl Sink for Received<'_> {
    fn space(&self) -> u32 {
        let left = self.chunks.room(self.fifo.app()) * CHUNK;
        self.fifo.space().min(left) as u32
    }
    fn unread(&self) -> u32 {
        self.fifo.len() as u32
    }
    fn keep(&mut self, ahead: u32, from: u32, len: u32) -> bool {
        if ahead > 0 && self.chunks.is_tight() {
            return false;
        }
        let Some(p) = self.packet else { return len == 0 };
        let (skip, mut at) = (self.skip + from as usize, self.fifo.end() + u64::from(ahead));
        let end = at + u64::from(len);
        for bytes in pieces(p, skip, len as usize) {
            if self.fifo.write_at(self.chunks, at, bytes) < bytes.len() {
                return false;
            }
            at += bytes.len() as u64;
        }
        at == end
    }
    fn deliver(&mut self, len: u32) {
        self.fifo.advance(len as usize);
    }
}

/// Adds the nodes.
pub fn add_nodes(router: &mut Router, stack: &Stack) -> Result<(), BuildError> {
    add_for::<V4>(router, stack)?;
    add_for::<V6>(router, stack)
}

fn add_for<V: icmp::Errors>(router: &mut Router, stack: &Stack) -> Result<(), BuildError> {
    let elsewhere = router.events.sender();
    let engine = &mut router.engine;
    engine.add_feature(V::PUNT_ARC, icmp::IcmpErrors::<V>::new(stack, elsewhere))?;
    engine.add(drop::Drop(V::SELF))?;
    engine.add(Output::<Tcp, V>::new(stack))?;
    engine.add(reset::Reset(V::SELF))?;
    engine.add(step::Step::<V, step::Established>::new(stack))?;
    engine.add(step::Step::<V, step::RcvProcess>::new(stack))?;
    engine.add(step::Step::<V, step::SynSent>::new(stack))?;
    engine.add(step::Step::<V, step::Listen>::new(stack))?;
    engine.add(Known(Input::<Tcp, V>::new(stack)))?;
    engine.add(Input::<Tcp, V>::new(stack))?;
    Ok(())
}

/// Names of the nodes that send segments, by IP version.
pub const OUTPUT: [&str; 2] = ["tcp4-output", "tcp6-output"];
/// Names of the nodes that receive segments, by IP version.
pub const INPUT: [&str; 2] = ["tcp4-input", "tcp6-input"];
/// Names of the nodes where segments are dropped, by IP version.
const DROPS: [&str; 2] = ["tcp4-drop", "tcp6-drop"];
