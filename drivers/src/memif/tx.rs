//! `memifS/N-tx`: puts packets into a ring of the peer's.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::{Arc, MutexGuard, OnceLock};

use graph::{Frame, Node};
use infra::rcu::Reader;
use net::interface::Counters;
use net::{InterfaceIndex, Interfaces};

use super::queue::{Full, Sender};
use crate::host::output::Sending;
use crate::host::turn;
use crate::snapshot::Sent;

/// Sends on the rings of an interface.
#[derive(Clone)]
pub struct MemifTx {
    sending: Reader<Sending<Sender>>,
    is_ethernet: bool,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Reasons why a packet is not sent.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no free tx slots.
    #[name("no free tx slots")]
    NoSlots,
    /// no enough space in tx buffers.
    #[name("no enough space in tx buffers")]
    NoRoom,
    /// tx slot of the peer makes no sense.
    #[name("bad tx slot")]
    BadSlot,
    /// no tx queues.
    #[name("no tx queues")]
    NoQueue,
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::NoSlots => Self::NoSlots,
            Full::NoRoom => Self::NoRoom,
            Full::BadSlot => Self::BadSlot,
        }
    }
}

impl MemifTx {
    /// A node that sends on the rings of `sending`, Ethernet frames or IP packets.
    pub(super) fn new(
        sending: Reader<Sending<Sender>>,
        is_ethernet: bool,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        Self { sending, is_ethernet, index, counters: interfaces.counters() }
    }
}

impl Node for MemifTx {
    const NAME: &'static str = "memif-tx";
    const HOT: bool = true;
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (thread, is_ethernet) = (frame.thread(), self.is_ethernet);
        let Sending { choice, senders } = self.sending.read(frame.epoch());
        let chosen = choice.as_ref().and_then(|choice| choice.of(thread, frame.epoch()));
        let (mut sent, mut lost) = (0, 0);
        let mut held: Option<(usize, MutexGuard<'_, Sender>, u16)> = None;
        frame.consume(
            #[inline(always)]
            |p| {
                p.trace(|p| Sent::of(p, is_ethernet));
                let put = chosen.ok_or(Error::NoQueue).and_then(|queues| {
                    let number = queues.queue(p) % senders.len();
                    if held.as_ref().is_none_or(|(held, ..)| *held != number) {
                        if let Some((_, mut sender, _)) = held.take() {
                            sender.publish();
                        }
                        let sender = turn(&senders[number]);
                        let free = sender.free();
                        held = Some((number, sender, free));
                    }
                    let (_, sender, free) = held.as_mut().ok_or(Error::NoQueue)?;
                    Ok(sender.put(free, p)?)
                });
                match put {
                    Ok(()) => sent += 1,
                    Err(_) => lost += 1,
                }
                put
            },
        );
        if let Some((_, mut sender, _)) = held {
            sender.publish();
        }
        frame.count_out(sent);
        if lost > 0 {
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(lost);
        }
    }
}
