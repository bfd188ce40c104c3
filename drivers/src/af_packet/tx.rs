//! `host-X-tx`: sends to a Linux device.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use graph::{Frame, Node};
use net::interface::Counters;
use net::{InterfaceIndex, Interfaces};

use super::ring::Outbox;
use crate::virtio_header;

/// Sends frames on one of the sockets of an interface, by thread.
#[derive(Clone)]
pub struct HostTx {
    sockets: Arc<[OwnedFd]>,
    outbox: Outbox,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Drops of [`HostTx`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// packet does not fit its offload flags.
    #[name("unfit for offload")]
    Unfit,
}

/// What [`HostTx`] counts.
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
    /// A node that sends on `sockets`, of which there is at least one.
    pub(super) fn new(
        sockets: Arc<[OwnedFd]>,
        index: Arc<OnceLock<InterfaceIndex>>,
        interfaces: &Interfaces,
    ) -> Self {
        Self { sockets, outbox: Outbox::new(), index, counters: interfaces.counters() }
    }
}

impl Node for HostTx {
    const NAME: &'static str = "host-tx";
    type Next = Infallible;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let socket = self.sockets[thread % self.sockets.len()].as_fd();
        let done =
            self.outbox.send(socket, frame, |p| virtio_header::send(p).map_err(|_| Error::Unfit));
        frame.count_out(done.sent);
        let lost = done.refused + done.failed;
        if lost > 0 {
            frame.count(Count::Refused, done.refused);
            frame.count(Count::Failed, done.failed);
            frame.count_dropped(lost);
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(lost);
        }
    }
}
