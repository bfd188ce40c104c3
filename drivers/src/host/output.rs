//! Output nodes of host devices that send by rings of their own: the queues of an interface, which
//! threads that share one take in turns.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use graph::{Buffer, Frame, Node, Reason};
use net::interface::{Counters, TxChoice};
use net::{InterfaceIndex, Interfaces};

use super::turn;
use crate::snapshot::Sent;

/// The rings that an interface sends on, as long as it is connected.
pub struct Sending<S> {
    /// Choice of the ring by thread.
    pub choice: Option<TxChoice>,
    /// Threads that share one take turns.
    pub senders: Arc<[Mutex<S>]>,
}

impl<S> Sending<S> {
    /// Of an interface without a connection.
    pub fn none() -> Self {
        Self { choice: None, senders: Arc::new([]) }
    }
}

/// One queue of a device that packets go into.
pub trait Sender: Send + 'static {
    /// Name of the node that sends on such queues.
    const NODE: &'static str;
    /// Reasons why a packet is not sent.
    type Error: Reason;
    /// The thread has no queue.
    const NO_QUEUE: Self::Error;
    /// The device has no room for packets that were put, where it says so only then.
    const LOST: Option<Self::Error> = None;
    /// Makes room at the start of a turn.
    fn begin(&mut self) {}
    /// Puts a packet; it is sent after [`Sender::send`].
    ///
    /// # Errors
    /// The queue's.
    fn put(&mut self, p: &Buffer<'_>) -> Result<(), Self::Error>;
    /// Makes the device send queued packets; returns those without room.
    fn send(&mut self) -> u64;
}

/// Sends frames on the queues of an interface.
pub struct DeviceTx<S> {
    senders: Arc<[Mutex<S>]>,
    choice: TxChoice,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

impl<S> DeviceTx<S> {
    /// A node that sends on `senders`, of which there is at least one.
    pub fn new(
        senders: impl IntoIterator<Item = S>,
        choice: TxChoice,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        let senders = senders.into_iter().map(Mutex::new).collect();
        Self { senders, choice, index, counters: interfaces.counters() }
    }
}

impl<S> Clone for DeviceTx<S> {
    fn clone(&self) -> Self {
        let (senders, choice) = (Arc::clone(&self.senders), self.choice.clone());
        let (index, counters) = (Arc::clone(&self.index), Arc::clone(&self.counters));
        Self { senders, choice, index, counters }
    }
}

impl<S: Sender> Node for DeviceTx<S> {
    const NAME: &'static str = S::NODE;
    const HOT: bool = true;
    type Next = Infallible;
    type Error = S::Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let (senders, chosen) = (&self.senders, self.choice.of(thread, frame.epoch()));
        let (mut sent, mut refused, mut lost) = (0, 0, 0);
        let mut held: Option<(usize, MutexGuard<'_, S>)> = None;
        frame.consume(|p| {
            p.trace(|p| Sent::of(p, true));
            let put = chosen.ok_or(S::NO_QUEUE).and_then(|queues| {
                let number = queues.queue(p) % senders.len();
                if held.as_ref().is_none_or(|(held, _)| *held != number) {
                    if let Some((_, sender)) = &mut held {
                        lost += sender.send();
                    }
                    drop(held.take());
                    let mut sender = turn(&senders[number]);
                    sender.begin();
                    held = Some((number, sender));
                }
                let (_, sender) = held.as_mut().ok_or(S::NO_QUEUE)?;
                sender.put(p)
            });
            match put {
                Ok(()) => sent += 1,
                Err(_) => refused += 1,
            }
            put
        });
        if let Some((_, mut sender)) = held {
            lost += sender.send();
        }
        frame.count_out(sent - lost.min(sent));
        if let Some(reason) = S::LOST.filter(|_| lost > 0) {
            frame.count_as(reason, lost);
        }
        if lost + refused > 0 {
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(lost + refused);
        }
    }
}
