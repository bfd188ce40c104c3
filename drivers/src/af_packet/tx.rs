//! `host-X-tx`: sends to a Linux device.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use graph::{Frame, Names, Node, Record};
use infra::rcu::Reader;
use net::interface::{Counters, TxChoice};
use net::{InterfaceIndex, Interfaces};

use super::input::QueueTrace;
use super::ring::Outbox;
use crate::host::TxError;
use crate::snapshot::Sent;
use crate::virtio_header;

/// The sockets that an interface sends on.
pub type Senders = Arc<[OwnedFd]>;

/// Sends frames on one of the sockets of an interface.
#[derive(Clone)]
pub struct HostTx {
    senders: Reader<Senders>,
    choice: TxChoice,
    outbox: Outbox,
    is_ethernet: bool,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Counters of [`HostTx`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// tx sendto temporary failure.
    #[name("tx sendto temporary failure")]
    #[severity("error")]
    Refused,
    /// tx sendto fatal failure.
    #[name("tx sendto fatal failure")]
    #[severity("error")]
    Failed,
}

impl HostTx {
    /// A node that sends on the sockets of `senders`, of which there is at least one, Ethernet
    /// frames or IP packets.
    pub(super) fn new(
        senders: Reader<Senders>,
        choice: TxChoice,
        is_ethernet: bool,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        let (outbox, counters) = (Outbox::default(), interfaces.counters());
        Self { senders, choice, outbox, is_ethernet, index, counters }
    }
}

impl Node for HostTx {
    const NAME: &'static str = "host-tx";
    const HOT: bool = true;
    type Next = Infallible;
    type Error = TxError;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let index = self.index.get().map_or(0, |i| i.0);
        let Some(queues) = self.choice.of(thread, frame.epoch()) else {
            self.counters.tx_error.row(thread)[index as usize].add(frame.len() as u64);
            return frame.consume(|_| Err(TxError::NoQueue));
        };
        let sockets = self.senders.read(frame.epoch());
        let is_ethernet = self.is_ethernet;
        let done = self.outbox.send(sockets, frame, |p| {
            let queue = queues.queue(p) % sockets.len();
            p.trace(|p| Sending {
                passed: QueueTrace::of("tx", queue, index, p),
                sent: Sent::of(p, is_ethernet),
            });
            let header = virtio_header::send(p)?;
            Ok((queue, header))
        });
        frame.count_out(done.sent);
        let lost = done.refused + done.failed;
        if lost > 0 {
            frame.count(Count::Refused, done.refused);
            frame.count(Count::Failed, done.failed);
            frame.count_dropped(lost);
            self.counters.tx_error.row(thread)[index as usize].add(lost);
        }
    }
}

struct Sending {
    passed: QueueTrace,
    sent: Sent,
}

impl Record for Sending {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.passed.write(names, f)?;
        writeln!(f)?;
        self.sent.write(names, f)
    }
}
