//! The nodes that pass segments to the machine: one for each group of states, so that `show
//! runtime` shows how a thread spends its time.

use std::convert::Infallible;
use std::marker::PhantomData;

use graph::{Buffer, Frame, Node};
use infra::rcu::Epoch;
use net::ip::Headers;
use tcp_machine::{
    Answer, Effects, Events, Flags, HalfOpen, Late, Outgoing, Segment, Seq, Settings, Verdict,
    cookie_for, cookie_of, reset_for,
};
use wire::Protocol;

use super::super::endpoint::Transport;
use super::super::key::Key;
use super::super::listeners::Listener;
use super::super::session::{Inner, Pending};
use super::super::stack::Stack;
use super::super::version::HostVersion;
use super::super::worker::{HALF_OPEN, New, Worker, time};
use super::counted::Counted;
use super::{Found, Received, flow_of, ports_of, segment_of};

/// A group of states.
pub trait States: Clone + Send + 'static {
    /// Names of its nodes.
    const NAMES: [&'static str; 2];

    /// Handles a segment.
    ///
    /// # Errors
    /// The reason for dropping it.
    #[inline(always)]
    fn handle<V: HostVersion>(
        stack: &Stack,
        epoch: Epoch<'_>,
        worker: &mut Worker,
        p: &Buffer<'_>,
    ) -> Result<Counted, Counted> {
        match step::<V>(worker, p) {
            Outcome::Done(counted) => Ok(counted),
            Outcome::Reopen(index, least) => {
                // The TIME_WAIT record is removed only if a new connection may begin.
                let key = worker.sessions[index as usize].key;
                let listener = stack.listener_for(Transport::Tcp, &key, epoch);
                let listener = listener.map_err(|_| Counted::Filtered)?;
                let listener = listener.ok_or(Counted::NoListener)?;
                worker.remove(index);
                Ok(open::<V>(worker, listener, p, Some(least)))
            }
        }
    }
}

/// Established connections.
#[derive(Clone)]
pub struct Established;
impl States for Established {
    const NAMES: [&'static str; 2] = ["tcp4-established", "tcp6-established"];
}

/// Incoming connections that are being set up, and connections that are being closed.
#[derive(Clone)]
pub struct RcvProcess;
impl States for RcvProcess {
    const NAMES: [&'static str; 2] = ["tcp4-rcv-process", "tcp6-rcv-process"];
}

/// Outgoing connections that are being set up.
#[derive(Clone)]
pub struct SynSent;
impl States for SynSent {
    const NAMES: [&'static str; 2] = ["tcp4-syn-sent", "tcp6-syn-sent"];
}

/// Incoming connections that are being started.
#[derive(Clone)]
pub struct Listen;
impl States for Listen {
    const NAMES: [&'static str; 2] = ["tcp4-listen", "tcp6-listen"];

    #[inline(always)]
    fn handle<V: HostVersion>(
        stack: &Stack,
        epoch: Epoch<'_>,
        worker: &mut Worker,
        p: &Buffer<'_>,
    ) -> Result<Counted, Counted> {
        let Found { index, .. } = p.payload();
        let listener = stack.listeners(epoch).at(index).ok_or(Counted::NoListener)?;
        Ok(open::<V>(worker, listener, p, None))
    }
}

/// Passes segments to their connections.
#[derive(Clone)]
pub struct Step<V, S> {
    stack: Stack,
    of: PhantomData<(V, S)>,
}

impl<V, S> Step<V, S> {
    /// Creates the node for the threads of a stack.
    pub fn new(stack: &Stack) -> Self {
        Self { stack: stack.clone(), of: PhantomData }
    }
}

impl<V: HostVersion, S: States> Node for Step<V, S> {
    const NAME: &'static str = S::NAMES[V::INDEX];
    type Next = Infallible;
    type Error = Counted;
    type Count = Infallible;
    const INPUT: &'static str = <Found as graph::Payload>::NAME;
    const DROP: &'static str = super::DROPS[V::INDEX];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, thread, epoch) = (frame.now(), frame.thread(), frame.epoch());
        let mut worker = self.stack.lend(thread);
        frame.consume(|p| {
            p.trace(Headers::<V>::of);
            let worker = worker.as_deref_mut().ok_or(Counted::LookupDrops)?;
            worker.now = now;
            let counted = S::handle::<V>(&self.stack, epoch, worker, p)?;
            p.error(counted);
            Ok(())
        });
    }
}

/// Fate of a segment, or that it begins a new connection where a session is in TIME_WAIT.
enum Outcome {
    Done(Counted),
    Reopen(u32, Seq),
}

#[inline(always)]
fn step<V: HostVersion>(worker: &mut Worker, p: &Buffer<'_>) -> Outcome {
    let Found { index, generation } = p.payload();
    let Some((segment, skip)) = segment_of(p) else { return Outcome::Done(Counted::Options) };
    if worker.at(index, generation).is_none() {
        return Outcome::Done(Counted::InvalidConnection);
    }
    let now = time(worker.now);
    let Worker { sessions, chunks, machine, .. } = worker;
    let session = &mut sessions[index as usize];
    match &mut session.inner {
        Inner::Tcp(connection) => {
            let mut rx = Received::of(&mut session.rx, chunks, p, skip);
            let effects = connection.segment(machine, now, &segment, &mut rx);
            let key = session.key;
            if effects.events.contains(Events::ANSWER_RESET) {
                worker.reply(key, reset_for(&segment));
            }
            worker.apply(index, &effects);
            Outcome::Done(effects.verdict.into())
        }
        Inner::Half(_) => Outcome::Done(step_half(worker, index, &segment, (p, skip))),
        Inner::Wait(wait) => {
            let late = wait.segment(machine, now, &segment);
            let key = session.key;
            match late {
                Late::Ignore => worker.arm(index),
                Late::Answer(out) => {
                    worker.reply(key, Some(out));
                    worker.arm(index);
                }
                Late::Reopen(least) => return Outcome::Reopen(index, least),
            }
            Outcome::Done(Counted::SegmentOld)
        }
        Inner::Free | Inner::Udp | Inner::Cut(_) | Inner::Over => {
            Outcome::Done(Counted::InvalidConnection)
        }
    }
}

fn step_half(
    worker: &mut Worker,
    index: u32,
    segment: &Segment,
    (p, skip): (&Buffer<'_>, usize),
) -> Counted {
    let now = time(worker.now);
    let Worker { sessions, chunks, machine, .. } = worker;
    let session = &mut sessions[index as usize];
    let Inner::Half(half) = &mut session.inner else { return Counted::InvalidConnection };
    let mut repeated = None;
    let mut rx = Received::of(&mut session.rx, chunks, p, skip);
    let settings = Settings::default();
    let answer = half.segment(machine, now, segment, settings, &mut rx, &mut last(&mut repeated));
    let key = session.key;
    let counted = match answer {
        Answer::Wait => Counted::SpuriousSyn,
        Answer::Open(connection, effects) => {
            session.inner = Inner::Tcp(connection);
            worker.half_open -= 1;
            opened(worker, index, &effects);
            Counted::ConnAccepted
        }
        Answer::Reset => {
            worker.reply(key, reset_for(segment));
            Counted::AckInvalid
        }
        Answer::Gone => {
            worker.remove(index);
            return Counted::RstRcvd;
        }
    };
    worker.reply(key, repeated);
    worker.arm(index);
    counted
}

/// Keeps the last segment that the machine sends.
fn last(to: &mut Option<Outgoing>) -> impl FnMut(&Outgoing) -> bool {
    |out| {
        *to = Some(*out);
        true
    }
}

/// Notifies the application of an established incoming connection.
fn opened(worker: &mut Worker, index: u32, effects: &Effects) {
    worker.queue(index, Pending::ACCEPT);
    worker.apply(index, effects);
    worker.sessions[index as usize].pending.take(Pending::CONNECTED);
}

/// Starts a connection from a segment to a listener: a SYN, or an ACK with a cookie.
fn open<V: HostVersion>(
    worker: &mut Worker,
    listener: &Listener,
    p: &Buffer<'_>,
    least: Option<Seq>,
) -> Counted {
    let Some((segment, skip)) = segment_of(p) else { return Counted::Options };
    let key = ports_of(p).and_then(|ports| V::key(p, ports, Protocol::TCP));
    let Some(key) = key else { return Counted::InvalidConnection };
    if let Some(index) = worker.find(&key) {
        // Another segment of the frame has already started it.
        return match &worker.sessions[index as usize].inner {
            Inner::Half(_) => step_half(worker, index, &segment, (p, skip)),
            _ => Counted::CreateSessionFail,
        };
    }
    let (now, flow, mss) = (time(worker.now), flow_of(&key), worker.mss(key.is_ip6()));
    if segment.has(Flags::ACK) {
        let half = cookie_of(&mut worker.machine, now, &flow, &segment, mss);
        let index = half.and_then(|half| begin(worker, listener, key, half));
        let Some(index) = index else {
            worker.reply(key, reset_for(&segment));
            return Counted::AckInvalid;
        };
        return step_half(worker, index, &segment, (p, skip));
    }
    let most = listener.backlog.min(HALF_OPEN);
    let is_crowded = worker.half_open >= most - most / 4;
    if is_crowded && least.is_none() {
        let out = cookie_for(&mut worker.machine, now, &flow, &segment, mss, listener.rx_limit);
        worker.reply(key, out);
        return Counted::SynsRcvd;
    }
    let half = HalfOpen::new(&mut worker.machine, now, &flow, &segment, mss, least);
    let Some(half) = half else { return Counted::SegmentInvalid };
    let Some(index) = begin(worker, listener, key, half) else { return Counted::CreateSessionFail };
    let mut answer = None;
    let session = &mut worker.sessions[index as usize];
    if let Inner::Half(half) = &mut session.inner {
        half.send(&mut worker.machine, now, listener.rx_limit, &mut last(&mut answer));
    }
    worker.reply(key, answer);
    worker.arm(index);
    Counted::from(Verdict::SynsRcvd)
}

fn begin(worker: &mut Worker, listener: &Listener, key: Key, half: HalfOpen) -> Option<u32> {
    if worker.half_open >= HALF_OPEN {
        worker.refusals.half_open += 1;
        return None;
    }
    let index = worker.insert(New::accepted(listener, key, Inner::Half(half)))?;
    worker.half_open += 1;
    Some(index)
}
