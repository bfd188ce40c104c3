//! `tcp4-input`, `tcp6-input`: pass each segment to the node for the state of its session.

use graph::{Buffer, Node, Packet};
use infra::rcu::Epoch;
use tcp_machine::{Flags, State};
use wire::Protocol;

use super::super::endpoint;
use super::super::key::Key;
use super::super::session::Inner;
use super::super::stack::Stack;
use super::super::transport::{Outcomes, Transport};
use super::super::version::HostVersion;
use super::super::worker::Worker;
use super::counted::Counted;
use super::{Found, ports_of};

/// TCP.
#[derive(Clone)]
pub struct Tcp;

/// Edges of the nodes that receive segments.
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: HostVersion> {
    /// The session is established.
    #[to(["tcp4-established", "tcp6-established"][V::INDEX], payload = Found)]
    Established(V),
    /// The session is being set up or closed.
    #[to(["tcp4-rcv-process", "tcp6-rcv-process"][V::INDEX], payload = Found)]
    RcvProcess(V),
    /// The session has sent a SYN.
    #[to(["tcp4-syn-sent", "tcp6-syn-sent"][V::INDEX], payload = Found)]
    SynSent(V),
    /// A listener.
    #[to(["tcp4-listen", "tcp6-listen"][V::INDEX], payload = Found)]
    Listen(V),
    /// Neither a session nor a listener.
    #[to(["tcp4-reset", "tcp6-reset"][V::INDEX])]
    Reset(V),
    /// The session is on another thread.
    #[to(["tcp4-input-nolookup", "tcp6-input-nolookup"][V::INDEX])]
    Known(V),
}

impl<V: HostVersion> Transport<V> for Tcp {
    const INPUT: &'static str = super::INPUT[V::INDEX];
    const KNOWN: &'static str = ["tcp4-input-nolookup", "tcp6-input-nolookup"][V::INDEX];
    const OUTPUT: &'static str = super::OUTPUT[V::INDEX];
    const DROP: &'static str = super::DROPS[V::INDEX];
    const HOT: bool = true;
    const PROTOCOL: Protocol = Protocol::TCP;
    type Next = Next<V>;
    type Counted = Counted;
    const OUTCOMES: Outcomes<Counted> = Outcomes {
        off: Counted::LookupDrops,
        length: Counted::Length,
        address: Counted::InvalidConnection,
        wrong_thread: Counted::WrongThread,
        sent: Counted::PktsSent,
    };

    #[inline(always)]
    fn to_known() -> Next<V> {
        Next::Known(V::SELF)
    }
    #[inline(always)]
    fn ports(p: &Buffer<'_>) -> Option<[u16; 2]> {
        ports_of(p)
    }
    #[inline(always)]
    fn deliver<N: Node<Error = Counted>>(
        worker: &mut Worker,
        index: u32,
        p: &mut Packet<'_, N>,
    ) -> Result<Next<V>, Counted> {
        let session = &worker.sessions[index as usize];
        p.set_payload(Found { index, generation: session.generation });
        Ok(match &session.inner {
            Inner::Tcp(connection) => match connection.state() {
                State::Established => Next::Established(V::SELF),
                State::SynSent => Next::SynSent(V::SELF),
                _ => Next::RcvProcess(V::SELF),
            },
            _ => Next::RcvProcess(V::SELF),
        })
    }
    #[inline(never)]
    fn begin<N: Node<Error = Counted>>(
        (stack, epoch): (&Stack, Epoch<'_>),
        _: &mut Worker,
        key: &Key,
        p: &mut Packet<'_, N>,
    ) -> Result<Next<V>, Counted> {
        let flags = Flags(*p.bytes_from(p.l4_offset()).get(13).ok_or(Counted::Length)?);
        if flags.contains(Flags::RST) {
            return Err(Counted::NoListener);
        }
        let listener = stack.listener_for(endpoint::Transport::Tcp, key, epoch);
        let Some(listener) = listener.map_err(|_| Counted::Filtered)? else {
            p.error(Counted::NoListener);
            return Ok(Next::Reset(V::SELF));
        };
        p.set_payload(Found { index: listener.index, generation: 0 });
        Ok(Next::Listen(V::SELF))
    }
}
