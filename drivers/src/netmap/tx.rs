//! `<name>-tx`: sends to a port of netmap.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use graph::{Frame, Node};
use net::interface::{Counters, TxChoice};
use net::{InterfaceIndex, Interfaces};

use super::kernel::Socket;
use super::memory::{Refused, Ring};
use crate::host::turn;
use crate::snapshot::Sent;

/// A ring that packets go into.
#[derive(Debug)]
pub struct Sender {
    /// The ring.
    pub ring: Ring,
    /// Has the kernel empty it.
    pub socket: Socket,
}

/// The rings of an interface. Threads that share one take turns.
pub type Senders = Arc<[Mutex<Sender>]>;

/// Sends frames on one of the rings of an interface.
#[derive(Clone)]
pub struct NetmapTx {
    senders: Senders,
    choice: TxChoice,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Reason why a packet is not sent.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no free tx slots.
    #[name("no free tx slots")]
    Full,
    /// packet too long for a slot.
    #[name("packet too long for a slot")]
    TooLong,
    /// bad slot.
    #[name("bad slot")]
    Bad,
    /// no tx queue available.
    #[name("no tx queue available")]
    NoQueue,
}

impl From<Refused> for Error {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Full => Self::Full,
            Refused::TooLong => Self::TooLong,
            Refused::Bad | Refused::NoBuffers => Self::Bad,
        }
    }
}

impl Sender {
    /// Has the kernel send what was put into the ring.
    #[inline(always)]
    fn wake(&self) {
        self.ring.give_back();
        self.socket.sync();
    }
}

impl NetmapTx {
    /// A node that sends on `senders`, of which there is at least one.
    pub(super) fn new(
        senders: Senders,
        choice: TxChoice,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        Self { senders, choice, index, counters: interfaces.counters() }
    }
}

impl Node for NetmapTx {
    const NAME: &'static str = "netmap-tx";
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let (senders, chosen) = (&self.senders, self.choice.of(thread, frame.epoch()));
        let (mut sent, mut lost) = (0, 0);
        let mut held: Option<(usize, MutexGuard<'_, Sender>)> = None;
        frame.consume(|p| {
            p.trace(|p| Sent::of(p, true));
            let put = chosen.ok_or(Error::NoQueue).and_then(|queues| {
                let number = queues.queue(p) % senders.len();
                if held.as_ref().is_none_or(|(held, _)| *held != number) {
                    if let Some((_, sender)) = &held {
                        sender.wake();
                    }
                    drop(held.take());
                    held = Some((number, turn(&senders[number])));
                }
                let (_, sender) = held.as_mut().ok_or(Error::NoQueue)?;
                if sender.ring.ready() == 0 {
                    // What it has sent meanwhile makes room.
                    sender.wake();
                }
                Ok(sender.ring.put(p.total_len(), p.segments())?)
            });
            match put {
                Ok(()) => sent += 1,
                Err(_) => lost += 1,
            }
            put
        });
        if let Some((_, sender)) = held {
            sender.wake();
        }
        frame.count_out(sent);
        if lost > 0 {
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(lost);
        }
    }
}
