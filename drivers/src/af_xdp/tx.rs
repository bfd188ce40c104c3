//! `<name>-tx`: sends to a Linux device, past the kernel's stack.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use graph::{Frame, Node};
use net::interface::{Counters, TxChoice};
use net::{InterfaceIndex, Interfaces};

use super::kernel::{Refused, Tx};
use crate::host::turn;
use crate::snapshot::Sent;

/// The sockets of an interface. Threads that share one take turns.
pub type Senders = Arc<[Mutex<Tx>]>;

/// Sends frames on one of the sockets of an interface.
#[derive(Clone)]
pub struct AfXdpTx {
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
    /// packet too long for a frame.
    #[name("packet too long for a frame")]
    TooLong,
    /// no tx queue available.
    #[name("no tx queue available")]
    NoQueue,
}

impl From<Refused> for Error {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Full => Self::Full,
            Refused::TooLong => Self::TooLong,
        }
    }
}

impl AfXdpTx {
    /// A node that sends on `senders`, of which there is at least one.
    pub(super) fn new(
        senders: Senders,
        choice: TxChoice,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        Self { senders, choice, index, counters: interfaces.counters() }
    }
}

impl Node for AfXdpTx {
    const NAME: &'static str = "af_xdp-tx";
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let (senders, chosen) = (&self.senders, self.choice.of(thread, frame.epoch()));
        let (mut sent, mut lost) = (0, 0);
        let mut held: Option<(usize, MutexGuard<'_, Tx>)> = None;
        frame.consume(|p| {
            p.trace(|p| Sent::of(p, true));
            let put = chosen.ok_or(Error::NoQueue).and_then(|queues| {
                let number = queues.queue(p) % senders.len();
                if held.as_ref().is_none_or(|(held, _)| *held != number) {
                    if let Some((_, sender)) = &mut held {
                        sender.wake();
                    }
                    drop(held.take());
                    let mut sender = turn(&senders[number]);
                    sender.collect();
                    held = Some((number, sender));
                }
                let (_, sender) = held.as_mut().ok_or(Error::NoQueue)?;
                Ok(sender.put(p.total_len(), p.segments())?)
            });
            match put {
                Ok(()) => sent += 1,
                Err(_) => lost += 1,
            }
            put
        });
        if let Some((_, mut sender)) = held {
            sender.wake();
        }
        frame.count_out(sent);
        if lost > 0 {
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(lost);
        }
    }
}
