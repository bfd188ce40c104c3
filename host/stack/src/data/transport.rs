//! The nodes that all transports have: `tcp4-input` and `udp4-input` find the sessions of packets,
//! `tcp4-output` and `udp4-output` pass the router's own packets to the lookup.

use std::convert::Infallible;
use std::marker::PhantomData;

use graph::{Buffer, Frame, Node, Packet, Reason};
use infra::rcu::Epoch;
use net::ip::Headers;
use wire::Protocol;

use super::key::Key;
use super::stack::Stack;
use super::version::HostVersion;
use super::worker::Worker;

/// A transport over an IP version.
pub trait Transport<V: HostVersion>: Clone + Send + 'static {
    /// Name of the node that receives packets.
    const INPUT: &'static str;
    /// Name of the node for packets handed over by another thread.
    const KNOWN: &'static str;
    /// Name of the node that sends packets.
    const OUTPUT: &'static str;
    /// Name of the node that drops packets.
    const DROP: &'static str;
    /// Whether the node that receives packets is compiled for several processors.
    const HOT: bool = false;
    /// The IP protocol.
    const PROTOCOL: Protocol;
    /// Edges of the nodes that receive packets.
    type Next: graph::Next;
    /// Counters of all nodes.
    type Counted: Reason;
    /// Counters of common outcomes.
    const OUTCOMES: Outcomes<Self::Counted>;

    /// The edge to [`Known`].
    fn to_known() -> Self::Next;
    /// Makes a packet's current data start at its IP header; returns how many bytes were before it.
    #[inline(always)]
    fn rewind(_: &mut Buffer<'_>) -> Option<usize> {
        Some(0)
    }
    /// Source and destination port; `None` if the packet is too short.
    fn ports(p: &Buffer<'_>) -> Option<[u16; 2]>;
    /// Passes a packet to its session.
    ///
    /// # Errors
    /// The reason for dropping it.
    fn deliver<N: Node<Error = Self::Counted>>(
        worker: &mut Worker,
        index: u32,
        p: &mut Packet<'_, N>,
    ) -> Result<Self::Next, Self::Counted>;
    /// Handles a packet without a session.
    ///
    /// # Errors
    /// The reason for dropping it.
    fn begin<N: Node<Error = Self::Counted>>(
        at: (&Stack, Epoch<'_>),
        worker: &mut Worker,
        key: &Key,
        p: &mut Packet<'_, N>,
    ) -> Result<Self::Next, Self::Counted>;
}

/// Counters of outcomes that all transports have.
pub struct Outcomes<C> {
    /// The layer is disabled.
    pub off: C,
    /// The packet is too short.
    pub length: C,
    /// Source or destination is not a unicast address.
    pub address: C,
    /// The ring to the thread of the session is full.
    pub wrong_thread: C,
    /// Packets sent.
    pub sent: C,
}

/// Finds the session of each packet, on this thread or another one.
#[derive(Clone)]
pub struct Input<T, V> {
    stack: Stack,
    of: PhantomData<(T, V)>,
}

impl<T, V> Input<T, V> {
    /// Creates the node for the threads of a stack.
    pub fn new(stack: &Stack) -> Self {
        Self { stack: stack.clone(), of: PhantomData }
    }
}

/// The same for packets handed over by another thread.
#[derive(Clone)]
pub struct Known<T, V>(pub Input<T, V>);

impl<T: Transport<V>, V: HostVersion> Node for Input<T, V> {
    const NAME: &'static str = T::INPUT;
    const HOT: bool = T::HOT;
    type Next = T::Next;
    type Error = T::Counted;
    type Count = Infallible;
    const DROP: &'static str = T::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        self.sort(frame, true);
    }
}

impl<T: Transport<V>, V: HostVersion> Node for Known<T, V> {
    const NAME: &'static str = T::KNOWN;
    type Next = T::Next;
    type Error = T::Counted;
    type Count = Infallible;
    const DROP: &'static str = T::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        self.0.sort(frame, false);
    }
}

impl<T: Transport<V>, V: HostVersion> Input<T, V> {
    #[inline(always)]
    fn sort<N, On>(&self, frame: &mut Frame<'_, N, On>, may_hand_over: bool)
    where
        N: Node<Next = T::Next, Error = T::Counted>,
    {
        let (epoch, thread, now) = (frame.epoch(), frame.thread(), frame.now());
        let mut worker = self.stack.lend(thread);
        let is_shared = may_hand_over && worker.as_ref().is_some_and(|worker| worker.is_shared);
        let mut judge = |p: &mut Packet<'_, N>| {
            let passed = T::rewind(p).ok_or(T::OUTCOMES.length)?;
            p.trace(Headers::<V>::of);
            let worker = worker.as_deref_mut().ok_or(T::OUTCOMES.off)?;
            worker.now = now;
            let ports = T::ports(p).ok_or(T::OUTCOMES.length)?;
            let key = V::key(p, ports, T::PROTOCOL).ok_or(T::OUTCOMES.address)?;
            if let Some(index) = worker.find(&key) {
                return Ok((thread, T::deliver(worker, index, p)?));
            }
            if is_shared && let Some(other) = self.stack.thread_of(key.hash(worker.seed()), epoch) {
                p.advance(passed).ok_or(T::OUTCOMES.length)?;
                return Ok((other, T::to_known()));
            }
            Ok((thread, T::begin((&self.stack, epoch), worker, &key, p)?))
        };
        if is_shared {
            frame.hand_off(T::OUTCOMES.wrong_thread, judge);
        } else {
            frame.each(|p| judge(p).map(|(_, next)| next));
        }
    }
}

/// Passes the router's own packets to the lookup.
#[derive(Clone)]
pub struct Output<T, V> {
    /// State of the threads, for work that the control thread runs at this node.
    pub stack: Stack,
    of: PhantomData<(T, V)>,
}

impl<T, V> Output<T, V> {
    /// Creates the node for the threads of a stack.
    pub fn new(stack: &Stack) -> Self {
        Self { stack: stack.clone(), of: PhantomData }
    }
}

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: HostVersion> {
    /// The lookup.
    #[to(V::NODES.lookup)]
    Lookup(V),
}

impl<T: Transport<V>, V: HostVersion> Node for Output<T, V> {
    const NAME: &'static str = T::OUTPUT;
    type Next = Next<V>;
    type Error = T::Counted;
    type Count = Infallible;
    const DROP: &'static str = T::DROP;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let sent = frame.len() as u64;
        frame.each(|p| {
            p.trace(Headers::<V>::of);
            Ok(Next::Lookup(V::SELF))
        });
        frame.count_as(T::OUTCOMES.sent, sent);
    }
}

/// The pieces of `len` bytes of a packet, `skip` bytes after the start of its current data.
pub fn pieces<'p>(
    p: &'p Buffer<'_>,
    mut skip: usize,
    len: usize,
) -> impl Iterator<Item = &'p [u8]> {
    let mut left = len;
    p.segments().map(move |piece| {
        let bytes = piece.get(skip..).unwrap_or(&[]);
        let bytes = &bytes[..bytes.len().min(left)];
        skip = skip.saturating_sub(piece.len());
        left -= bytes.len();
        bytes
    })
}
