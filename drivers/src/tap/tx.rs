//! `tapN-tx`: writes packets to a device of the host.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

use graph::{Buffer, Frame, Node};
use net::interface::{Counters, TxChoice};
use net::{InterfaceIndex, Interfaces};
use rustix::io::{Errno, writev};
use wire::virtio_net::Header;
use wire::zerocopy::IntoBytes;

use super::interface::Queues;
use crate::snapshot::Sent;
use crate::virtio_header;

/// Stretches of memory of one packet at most, its header included.
const MOST: usize = 64;

/// Sends on one of the queues of an interface.
#[derive(Clone)]
pub struct TapTx {
    queues: Queues,
    choice: TxChoice,
    is_ethernet: bool,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Drops of [`TapTx`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// packet does not fit its offload flags.
    #[name("unfit for offload")]
    Unfit,
    /// no tx queue available.
    #[name("no tx queue available")]
    NoQueue,
}

/// What [`TapTx`] counts.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// tx packet drops (no available descriptors).
    #[name("tx packet drops (no available descriptors)")]
    #[severity("error")]
    Full,
    /// packets the device refused.
    #[name("tx packet drops (refused by the device)")]
    #[severity("error")]
    Refused,
}

impl TapTx {
    /// A node that sends on `queues`, of which there is at least one, Ethernet frames or IP
    /// packets.
    pub fn new(
        queues: Queues,
        choice: TxChoice,
        is_ethernet: bool,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        Self { queues, choice, is_ethernet, index, counters: interfaces.counters() }
    }
}

/// Writes one packet behind its header.
#[inline(always)]
fn write(fd: BorrowedFd<'_>, header: &Header, p: &Buffer<'_>) -> Result<usize, Errno> {
    let mut slices = [IoSlice::new(&[]); MOST];
    slices[0] = IoSlice::new(header.as_bytes());
    let mut count = 1;
    for segment in p.segments() {
        *slices.get_mut(count).ok_or(Errno::MSGSIZE)? = IoSlice::new(segment);
        count += 1;
    }
    writev(fd, &slices[..count])
}

impl Node for TapTx {
    const NAME: &'static str = "tap-tx";
    type Next = Infallible;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let index = self.index.get().map_or(0, |i| i.0);
        let Some(queues) = self.choice.of(thread, frame.epoch()) else {
            self.counters.tx_error.row(thread)[index as usize].add(frame.len() as u64);
            return frame.consume(|_| Err(Error::NoQueue));
        };
        let fds = &self.queues;
        let is_ethernet = self.is_ethernet;
        let (mut sent, mut full, mut refused) = (0, 0, 0);
        frame.consume(|p| {
            p.trace(|p| Sent::of(p, is_ethernet));
            let header = virtio_header::send(p).map_err(|_| Error::Unfit)?;
            let fd = &fds[queues.queue(p) % fds.len()];
            match write(fd.as_fd(), &header, p) {
                Ok(_) => sent += 1,
                Err(Errno::AGAIN | Errno::NOBUFS) => full += 1,
                Err(_) => refused += 1,
            }
            Ok(())
        });
        frame.count_out(sent);
        if full + refused > 0 {
            frame.count(Count::Full, full);
            frame.count(Count::Refused, refused);
            frame.count_dropped(full + refused);
            self.counters.tx_error.row(thread)[index as usize].add(full + refused);
        }
    }
}
