//! `tcp4-input`, `tcp6-input`: look up the session of each segment.

use std::convert::Infallible;

use graph::{Frame, Node, Packet};
use infra::rcu::Epoch;
use net::ip::Headers;
use tcp_machine::{Flags, State};
use wire::Protocol;

use super::super::key::Key;
use super::super::session::Inner;
use super::super::stack::{Lent, Stack};
use super::super::version::HostVersion;
use super::counted::Counted;
use super::{Found, listener_of, ports_of};

/// Dispatches segments by the state of their sessions.
#[derive(Clone)]
pub struct Input<V> {
    /// Version.
    pub version: V,
    /// State of the threads.
    pub stack: Stack,
}

/// The same for segments handed over by another thread.
#[derive(Clone)]
pub struct Known<V>(pub Input<V>);

/// Edges of [`Input`].
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

impl<V: HostVersion> Node for Input<V> {
    const NAME: &'static str = super::INPUT[V::INDEX];
    const HOT: bool = true;
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = super::output::DROPS[V::INDEX];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        sort(self, frame, true);
    }
}

impl<V: HostVersion> Node for Known<V> {
    const NAME: &'static str = ["tcp4-input-nolookup", "tcp6-input-nolookup"][V::INDEX];
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = super::output::DROPS[V::INDEX];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        sort(&self.0, frame, false);
    }
}

#[inline(always)]
fn sort<V: HostVersion, N, On>(input: &Input<V>, frame: &mut Frame<'_, N, On>, may_hand_over: bool)
where
    N: Node<Next = Next<V>, Error = Counted>,
{
    let (epoch, thread) = (frame.epoch(), frame.thread());
    let worker = input.stack.lend(thread);
    let is_shared = may_hand_over && worker.as_ref().is_some_and(|worker| worker.is_shared);
    let judge = |p: &mut Packet<'_, N>| {
        p.trace(Headers::<V>::of);
        let worker = worker.as_ref().ok_or(Counted::LookupDrops)?;
        input.judge(worker, epoch, is_shared, p)
    };
    if is_shared {
        frame.hand_off(Counted::WrongThread, judge);
    } else {
        frame.each(|p| judge(p).map(|(_, next)| next));
    }
}

impl<V: HostVersion> Input<V> {
    /// The thread and the edge for a segment.
    #[inline(always)]
    fn judge<N: Node<Error = Counted>>(
        &self,
        worker: &Lent<'_>,
        epoch: Epoch<'_>,
        is_shared: bool,
        p: &mut Packet<'_, N>,
    ) -> Result<(usize, Next<V>), Counted> {
        let ports = ports_of(p).ok_or(Counted::Length)?;
        let key = V::key(p, ports, Protocol::TCP).ok_or(Counted::InvalidConnection)?;
        let Some(index) = worker.find(&key) else {
            return self.judge_stranger(worker, epoch, is_shared, (key, p));
        };
        let session = &worker.sessions[index as usize];
        p.set_payload(Found { index, generation: session.generation });
        let next = match &session.inner {
            Inner::Tcp(connection) => match connection.state() {
                State::Established => Next::Established(self.version),
                State::SynSent => Next::SynSent(self.version),
                _ => Next::RcvProcess(self.version),
            },
            _ => Next::RcvProcess(self.version),
        };
        Ok((worker.thread, next))
    }
    #[inline(never)]
    fn judge_stranger<N: Node<Error = Counted>>(
        &self,
        worker: &Lent<'_>,
        epoch: Epoch<'_>,
        is_shared: bool,
        (key, p): (Key, &mut Packet<'_, N>),
    ) -> Result<(usize, Next<V>), Counted> {
        let thread = worker.thread;
        if is_shared && let Some(other) = self.stack.thread_of(key.hash(worker.seed()), epoch) {
            return Ok((other, Next::Known(self.version)));
        }
        let flags = Flags(*p.bytes_from(p.l4_offset()).get(13).ok_or(Counted::Length)?);
        if flags.contains(Flags::RST) {
            return Err(Counted::NoListener);
        }
        let listener = listener_of(&self.stack, &key, epoch)?;
        let Some(listener) = listener else {
            p.error(Counted::NoListener);
            return Ok((thread, Next::Reset(self.version)));
        };
        p.set_payload(Found { index: listener.index, generation: 0 });
        Ok((thread, Next::Listen(self.version)))
    }
}
