//! The nodes of TCP. `tcp4-input` finds the session of a segment, on this thread or another, or the
//! listener; the node of the session's state gives the segment to the machine. Answers leave with
//! the next visit of the session, but resets for segments without one, which `tcp4-reset` makes of
//! the segment.

mod counted;
pub mod icmp;
mod input;
mod output;
mod reset;
mod step;

use graph::{Buffer, BuildError, Payload};
use net::Router;
use net::ip::{V4, V6};
use tcp_machine::{Flow, Segment, Sink};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use output::Output;

use super::fifo::{CHUNK, Chunks, Fifo};
use super::key::Key;
use super::stack::Stack;

/// The session that a segment is for, or the number of the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Found {
    /// Place of the session, or number of the listener.
    pub index: u32,
    /// Uses of the place before.
    pub generation: u32,
}

impl Payload for Found {
    const NAME: &'static str = "tcp-session";
}

/// Ends of a connection, as the machine sees them.
pub fn flow_of(key: &Key) -> Flow {
    let (local, remote) = key.octets();
    let (local_port, remote_port) = (key.local().port(), key.peer().port());
    Flow { local, remote, local_port, remote_port, is_ip6: key.is_ip6() }
}

/// The TCP header of a packet whose current bytes start at the IP header, with the length of all
/// segments; `None` if lengths are wrong.
fn segment_of(p: &Buffer<'_>) -> Option<(Segment, usize)> {
    let l4 = usize::try_from(p.l4_offset() - p.offset()).ok()?;
    let bytes = p.bytes().get(l4..)?;
    let len = upper_len(p, l4)?;
    let header_len = usize::from(bytes.get(12)? >> 4) * 4;
    let mut segment = Segment::parse(bytes.get(..header_len.max(20))?)?;
    segment.len = u32::try_from(len.checked_sub(header_len)?).ok()?;
    Some((segment, l4 + header_len))
}

/// Bytes of the upper layer, as the IP header says: there may be padding behind.
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

fn ports_of(p: &Buffer<'_>) -> Option<[u16; 2]> {
    let l4 = p.bytes_from(p.l4_offset());
    let number = |at: usize| Some(u16::from_be_bytes([*l4.get(at)?, *l4.get(at + 1)?]));
    Some([number(0)?, number(2)?])
}

/// Bytes of a segment on their way into a FIFO.
pub struct Received<'a> {
    fifo: &'a mut Fifo,
    chunks: &'a mut Chunks,
    packet: Option<&'a Buffer<'a>>,
    /// Bytes of the packet before the payload.
    skip: usize,
}

impl<'a> Received<'a> {
    /// Of no packet.
    pub fn nothing(fifo: &'a mut Fifo, chunks: &'a mut Chunks) -> Self {
        Self { fifo, chunks, packet: None, skip: 0 }
    }
    fn of(fifo: &'a mut Fifo, chunks: &'a mut Chunks, p: &'a Buffer<'a>, skip: usize) -> Self {
        Self { fifo, chunks, packet: Some(p), skip }
    }
}

impl Sink for Received<'_> {
    fn space(&self) -> u32 {
        let left = (self.chunks.limit() - self.chunks.used()) * CHUNK;
        self.fifo.space().min(left) as u32
    }
    fn unread(&self) -> u32 {
        self.fifo.len() as u32
    }
    fn keep(&mut self, ahead: u32, from: u32, len: u32) -> bool {
        let (mut skip, mut left) = (self.skip + from as usize, len as usize);
        let mut at = self.fifo.end() + u64::from(ahead);
        for piece in self.packet.into_iter().flat_map(|p| p.segments()) {
            let bytes = piece.get(skip..).unwrap_or(&[]);
            let bytes = &bytes[..bytes.len().min(left)];
            skip = skip.saturating_sub(piece.len());
            if self.fifo.write_at(self.chunks, at, bytes) < bytes.len() {
                return false;
            }
            (at, left) = (at + bytes.len() as u64, left - bytes.len());
        }
        left == 0
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
    engine.add(output::Drop(V::SELF))?;
    engine.add(output::Output { version: V::SELF, stack: stack.clone() })?;
    engine.add(reset::Reset(V::SELF))?;
    engine.add(step::Step::<V, step::Established>::new(stack))?;
    engine.add(step::Step::<V, step::RcvProcess>::new(stack))?;
    engine.add(step::Step::<V, step::SynSent>::new(stack))?;
    engine.add(step::Listen::<V>::new(stack))?;
    engine.add(input::Known(input::Input { version: V::SELF, stack: stack.clone() }))?;
    engine.add(input::Input { version: V::SELF, stack: stack.clone() })?;
    Ok(())
}

/// Name of the node that sends segments of a version.
pub const OUTPUT: [&str; 2] = ["tcp4-output", "tcp6-output"];
/// Name of the node that takes segments of a version.
pub const INPUT: [&str; 2] = ["tcp4-input", "tcp6-input"];
