//! `udp4-input`, `udp6-input`: pass datagrams to sessions, or to listeners, which create sessions.
//! Their current data starts after the UDP header (RFC 768, RFC 1122 section 4.1).

use std::convert::Infallible;

use graph::{Buffer, Frame, Node, Packet};
use infra::rcu::Epoch;
use wire::{Protocol, udp};
use zerocopy::FromBytes;

use super::super::datagram;
use super::super::endpoint;
use super::super::key::Key;
use super::super::session::{Inner, Life, Pending};
use super::super::stack::Stack;
use super::super::transport::{Outcomes, Transport, pieces};
use super::super::version::HostVersion;
use super::super::worker::{New, Worker};
use super::Counted;

/// UDP.
#[derive(Clone)]
pub struct Udp;

/// Edges of the nodes that receive datagrams.
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: HostVersion> {
    /// No session and no listener: an ICMP error to the sender.
    #[to(V::NODES.icmp_error, payload = net::drops::Problem)]
    IcmpError(V),
    /// The session is on another thread.
    #[to(["udp4-input-nolookup", "udp6-input-nolookup"][V::INDEX])]
    Known(V),
    /// Delivered to a session.
    #[to("session-input")]
    Taken,
}

impl<V: HostVersion> Transport<V> for Udp {
    const INPUT: &'static str = super::INPUT[V::INDEX];
    const KNOWN: &'static str = ["udp4-input-nolookup", "udp6-input-nolookup"][V::INDEX];
    const OUTPUT: &'static str = ["udp4-output", "udp6-output"][V::INDEX];
    const DROP: &'static str = V::NODES.drop;
    const PROTOCOL: Protocol = Protocol::UDP;
    type Next = Next<V>;
    type Counted = Counted;
    const OUTCOMES: Outcomes<Counted> = Outcomes {
        off: Counted::NotReady,
        length: Counted::LengthError,
        address: Counted::InvalidConnection,
        wrong_thread: Counted::WrongThread,
        sent: Counted::PktsSent,
    };

    #[inline(always)]
    fn to_known() -> Next<V> {
        Next::Known(V::SELF)
    }
    #[inline(always)]
    fn rewind(p: &mut Buffer<'_>) -> Option<usize> {
        let passed = usize::try_from(p.offset() - p.l3_offset()).ok()?;
        p.prepend(passed)?; // the headers are still in front
        Some(passed)
    }
    #[inline(always)]
    fn ports(p: &Buffer<'_>) -> Option<[u16; 2]> {
        let (header, _) = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
        len_of(header)?;
        Some([header.src_port.get(), header.dst_port.get()])
    }
    #[inline(always)]
    fn deliver<N: Node<Error = Counted>>(
        worker: &mut Worker,
        index: u32,
        p: &mut Packet<'_, N>,
    ) -> Result<Next<V>, Counted> {
        let session = &mut worker.sessions[index as usize];
        session.is_heard = true;
        let key = session.key;
        enqueue(worker, index, &key, p)
    }
    /// Passes a datagram to a listener, with a session for its peer or the one for all.
    #[inline(never)]
    fn begin<N: Node<Error = Counted>>(
        (stack, epoch): (&Stack, Epoch<'_>),
        worker: &mut Worker,
        key: &Key,
        p: &mut Packet<'_, N>,
    ) -> Result<Next<V>, Counted> {
        let listener = stack.listener_for(endpoint::Transport::Udp, key, epoch);
        let listener = listener.map_err(|_| Counted::InvalidConnection)?;
        let index = match listener {
            Some(listener) if listener.by_peer => {
                worker.make_room_for_peer(listener);
                let index = worker.insert(New::accepted(listener, *key, Inner::Udp));
                let index = index.ok_or(Counted::CreateSession)?;
                worker.note_peer(index);
                worker.queue(index, Pending::ACCEPT);
                p.error(Counted::Accept);
                Some(index)
            }
            found => found.and_then(|listener| worker.listening(listener.index)),
        };
        let Some(index) = index else {
            p.error(Counted::NoListener);
            p.set_payload(V::PORT_PROBLEM);
            return Ok(Next::IcmpError(V::SELF));
        };
        enqueue(worker, index, key, p)
    }
}

/// Length of the data; `None` if that in the header is invalid.
fn len_of(header: &udp::Header) -> Option<usize> {
    usize::from(header.len.get()).checked_sub(size_of::<udp::Header>())
}

fn enqueue<V: HostVersion, N: Node<Error = Counted>>(
    worker: &mut Worker,
    index: u32,
    key: &Key,
    p: &mut Packet<'_, N>,
) -> Result<Next<V>, Counted> {
    let header = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok();
    let len = header.and_then(|(header, _)| len_of(header)).ok_or(Counted::LengthError)?;
    let skip = usize::try_from(p.l4_offset() - p.offset()).map_err(|_| Counted::LengthError)?;
    let parts = pieces(p, skip + size_of::<udp::Header>(), len);
    let Worker { sessions, chunks, .. } = &mut *worker;
    let session = &mut sessions[index as usize];
    if session.life == Life::Listening {
        session.reached_at = Some(key.local().ip());
    }
    if !matches!(session.inner, Inner::Udp) || session.life == Life::AppClosed {
        return Err(Counted::InvalidConnection);
    }
    let refused = chunks.refused();
    if !datagram::put_parts(&mut session.rx, chunks, key.peer(), len, parts) {
        session.refused += 1;
        let is_memory = chunks.refused() > refused;
        return Err(if is_memory { Counted::FifoNomem } else { Counted::FifoFull });
    }
    worker.queue(index, Pending::READABLE);
    p.error(Counted::Enqueued);
    Ok(Next::Taken)
}

/// Frees datagrams after delivery.
#[derive(Clone)]
pub struct Taken;

impl Node for Taken {
    const NAME: &'static str = "session-input";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|_| Ok(()));
    }
}
