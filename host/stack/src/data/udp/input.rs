//! `udp4-input`, `udp6-input`: pass datagrams to sessions, or to listeners, which create sessions.

use std::convert::Infallible;

use graph::{Frame, Node, Packet};
use infra::rcu::Epoch;
use net::fib::TableIndex;
use net::ip::Headers;
use wire::{Protocol, udp};
use zerocopy::FromBytes;

use super::super::datagram;
use super::super::endpoint::Transport;
use super::super::key::Key;
use super::super::session::{Inner, Life, Pending};
use super::super::stack::{Lent, Stack};
use super::super::version::HostVersion;
use super::super::worker::{New, Worker};
use super::Counted;
use crate::control::published::{Flow, Transport as Ruled, Verdict};

/// Passes datagrams to sessions. Their current data starts after the UDP header.
#[derive(Clone)]
pub struct Input<V> {
    /// Version.
    pub version: V,
    /// State of the threads.
    pub stack: Stack,
}

/// The same for datagrams handed over by another thread.
#[derive(Clone)]
pub struct Known<V>(pub Input<V>);

/// Edges of [`Input`].
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

impl<V: HostVersion> Node for Input<V> {
    const NAME: &'static str = super::INPUT[V::INDEX];
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        take(self, frame, true);
    }
}

impl<V: HostVersion> Node for Known<V> {
    const NAME: &'static str = ["udp4-input-nolookup", "udp6-input-nolookup"][V::INDEX];
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        take(&self.0, frame, false);
    }
}

#[inline(always)]
fn take<V: HostVersion, N, On>(input: &Input<V>, frame: &mut Frame<'_, N, On>, may_hand_over: bool)
where
    N: Node<Next = Next<V>, Error = Counted>,
{
    let (epoch, thread, now) = (frame.epoch(), frame.thread(), frame.now());
    let mut worker = input.stack.lend(thread);
    let is_shared = may_hand_over && worker.as_ref().is_some_and(|worker| worker.is_shared);
    let mut judge = |p: &mut Packet<'_, N>| {
        let back = usize::try_from(p.offset() - p.l3_offset()).map_err(|_| Counted::LengthError)?;
        p.prepend(back).ok_or(Counted::LengthError)?; // what was passed over is still there
        p.trace(Headers::<V>::of);
        let worker = worker.as_mut().ok_or(Counted::NotReady)?;
        worker.now = now;
        let done = input.judge(worker, epoch, is_shared, p)?;
        if matches!(done.1, Next::Known(_)) {
            p.advance(back).ok_or(Counted::LengthError)?;
        }
        Ok(done)
    };
    if is_shared {
        frame.hand_off(Counted::WrongThread, judge);
    } else {
        frame.each(|p| judge(p).map(|(_, next)| next));
    }
}

impl<V: HostVersion> Input<V> {
    fn judge<N: Node<Error = Counted>>(
        &self,
        worker: &mut Lent<'_>,
        epoch: Epoch<'_>,
        is_shared: bool,
        p: &mut Packet<'_, N>,
    ) -> Result<(usize, Next<V>), Counted> {
        let l4 = p.bytes_from(p.l4_offset());
        let (header, _) = udp::Header::ref_from_prefix(l4).map_err(|_| Counted::LengthError)?;
        let ports = [header.src_port.get(), header.dst_port.get()];
        let len = usize::from(header.len.get()).checked_sub(size_of::<udp::Header>());
        let len = len.ok_or(Counted::LengthError)?;
        let key = V::key(p, ports, Protocol::UDP).ok_or(Counted::InvalidConnection)?;
        let thread = worker.thread;
        let index = match worker.find(&key) {
            Some(index) => {
                worker.sessions[index as usize].is_heard = true;
                index
            }
            None => {
                if is_shared
                    && let Some(other) = self.stack.thread_of(key.hash(worker.seed()), epoch)
                {
                    return Ok((other, Next::Known(self.version)));
                }
                match self.accept(worker, epoch, &key, p)? {
                    Some(index) => index,
                    None => {
                        p.error(Counted::NoListener);
                        p.set_payload(V::PORT_PROBLEM);
                        return Ok((thread, Next::IcmpError(self.version)));
                    }
                }
            }
        };
        enqueue(worker, index, &key, (p, len))?;
        p.error(Counted::Enqueued);
        Ok((thread, Next::Taken))
    }
    /// Creates the session for a new datagram, or returns that of its listener.
    #[inline(never)]
    fn accept<N: Node<Error = Counted>>(
        &self,
        worker: &mut Worker,
        epoch: Epoch<'_>,
        key: &Key,
        p: &mut Packet<'_, N>,
    ) -> Result<Option<u32>, Counted> {
        let (local, peer) = (key.local(), key.peer());
        let listeners = self.stack.listeners(epoch);
        let found = listeners.find(Transport::Udp, key.fib(), local.ip(), local.port());
        let flow = Flow { transport: Ruled::Udp, local, remote: peer };
        let listener = match self.stack.policy().arriving(TableIndex(key.fib()), &flow, epoch) {
            Verdict::Drop => return Err(Counted::InvalidConnection),
            Verdict::Redirect(app) => listeners.of_app(Transport::Udp, app).or(found),
            Verdict::Allow | Verdict::Unsaid => found,
        };
        let Some(listener) = listener else { return Ok(None) };
        if !listener.by_peer {
            return Ok(worker.listening(listener.index));
        }
        worker.crowd_out(listener);
        let index = worker.insert(New {
            key: *key,
            inner: Inner::Udp,
            app: listener.app,
            listener: listener.index,
            namespace: listener.namespace,
            life: Life::Accepting,
            limits: [listener.rx_limit, listener.tx_limit],
            data: 0,
        });
        let index = index.ok_or(Counted::CreateSession)?;
        worker.note_peer(index);
        worker.queue(index, Pending::ACCEPT);
        p.error(Counted::Accept);
        Ok(Some(index))
    }
}

fn enqueue(
    worker: &mut Worker,
    index: u32,
    key: &Key,
    (p, len): (&graph::Buffer<'_>, usize),
) -> Result<(), Counted> {
    let skip = usize::try_from(p.l4_offset() - p.offset()).map_err(|_| Counted::LengthError)?;
    let (mut skip, mut left) = (skip + size_of::<udp::Header>(), len);
    let parts = p.segments().map(|piece| {
        let bytes = piece.get(skip..).unwrap_or(&[]);
        let bytes = &bytes[..bytes.len().min(left)];
        skip = skip.saturating_sub(piece.len());
        left -= bytes.len();
        bytes
    });
    let Worker { sessions, chunks, .. } = &mut *worker;
    let session = &mut sessions[index as usize];
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
    Ok(())
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
