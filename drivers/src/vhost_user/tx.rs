//! `VirtualEthernet0/0/N-tx`: puts packets into buffers of a virtual machine.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::{Arc, MutexGuard, OnceLock};

use graph::{Frame, Node};
use infra::rcu::Reader;
use net::interface::Counters;
use net::{InterfaceIndex, Interfaces};

use super::queue::{Full, Sender};
use super::ring::Bad;
use crate::host::output::Sending;
use crate::host::turn;
use crate::snapshot::Sent;
use crate::virtio_header::{self, Unfit};

/// Sends on the rings of an interface.
#[derive(Clone)]
pub struct VhostTx {
    sending: Reader<Sending<Sender>>,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Reasons why a packet is not sent.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// vhost vring not ready.
    #[name("vhost vring not ready")]
    NotReady,
    /// tx packet drops (no available descriptors).
    #[name("tx packet drops (no available descriptors)")]
    NoBuffers,
    /// tx packet drops (cannot merge descriptors).
    #[name("tx packet drops (cannot merge descriptors)")]
    NoRoom,
    /// memory that was not handed over.
    #[name("mmap failure")]
    Address,
    /// descriptors that go round or are too many.
    #[name("indirect descriptor table overflow")]
    Chain,
    /// packet does not fit its offload flags.
    #[name("unfit for offload")]
    Unfit,
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::NoBuffers => Self::NoBuffers,
            Full::NoRoom => Self::NoRoom,
            Full::Bad(Bad::Address) => Self::Address,
            Full::Bad(Bad::Chain) => Self::Chain,
        }
    }
}

impl From<Unfit> for Error {
    fn from(_: Unfit) -> Self {
        Self::Unfit
    }
}

impl VhostTx {
    /// A node that sends on the rings of `sending`.
    pub(super) fn new(
        sending: Reader<Sending<Sender>>,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        Self { sending, index, counters: interfaces.counters() }
    }
}

impl Node for VhostTx {
    const NAME: &'static str = "vhost-user-tx";
    const HOT: bool = true;
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let Sending { choice, senders } = self.sending.read(frame.epoch());
        let chosen = choice.as_ref().and_then(|choice| choice.of(thread, frame.epoch()));
        let (mut sent, mut lost) = (0, 0);
        let mut held: Option<(usize, MutexGuard<'_, Sender>)> = None;
        frame.consume(
            #[inline(always)]
            |p| {
                p.trace(|p| Sent::of(p, true));
                let put = chosen.ok_or(Error::NotReady).and_then(|queues| {
                    let header = virtio_header::send(p)?;
                    let number = queues.queue(p) % senders.len();
                    if held.as_ref().is_none_or(|(held, _)| *held != number) {
                        if let Some((_, mut sender)) = held.take() {
                            sender.publish();
                        }
                        held = Some((number, turn(&senders[number])));
                    }
                    let (_, sender) = held.as_mut().ok_or(Error::NotReady)?;
                    Ok(sender.put(&header, p)?)
                });
                match put {
                    Ok(()) => sent += 1,
                    Err(_) => lost += 1,
                }
                put
            },
        );
        if let Some((_, mut sender)) = held {
            sender.publish();
        }
        frame.count_out(sent);
        if lost > 0 {
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(lost);
        }
    }
}
