//! `tapN-tx`: writes packets to a device of the host.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

use crate::gro::Coalescer;
use graph::{Buffer, Frame, Node, Packet};
use net::interface::{Counters, QueueSet, TxChoice};
use net::{InterfaceIndex, Interfaces};
use rustix::io::{Errno, writev};
use wire::virtio_net::Header;
use wire::zerocopy::IntoBytes;

use super::interface::Queues;
use crate::host::TxError;
use crate::snapshot::Sent;
use crate::virtio_header;

/// Stretches of memory of one packet at most, its header included.
const MOST: usize = 64;

/// Sends on one of the queues of an interface.
#[derive(Clone)]
pub struct TapTx {
    queues: Queues,
    choice: TxChoice,
    /// Coalescer in front of the device.
    pub coalescer: Coalescer,
    /// Known as soon as the interface is made, which needs this node.
    index: Arc<OnceLock<InterfaceIndex>>,
    counters: Arc<Counters>,
}

/// Counters of [`TapTx`].
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
    /// A node that sends on `queues`, of which there is at least one.
    pub fn new(
        queues: Queues,
        choice: TxChoice,
        coalescer: Coalescer,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        Self { queues, choice, coalescer, index, counters: interfaces.counters() }
    }
}

/// Queues that packets of a frame are written to, and their outcome.
struct Device<'a> {
    fds: &'a Queues,
    /// Queues that this thread sends on.
    chosen: Option<QueueSet<'a>>,
    is_ethernet: bool,
    sent: u64,
    unplaced: u64,
    full: u64,
    refused: u64,
}

impl Device<'_> {
    #[inline(always)]
    fn send(&mut self, p: &mut Packet<'_, TapTx>) -> Result<(), TxError> {
        let is_ethernet = self.is_ethernet;
        p.trace(|p| Sent::of(p, is_ethernet));
        let Some(queues) = self.chosen else {
            self.unplaced += 1;
            return Err(TxError::NoQueue);
        };
        let header = virtio_header::send(p)?;
        let fd = &self.fds[queues.queue(p) % self.fds.len()];
        match write(fd.as_fd(), &header, p) {
            Ok(_) => self.sent += 1,
            Err(Errno::AGAIN | Errno::NOBUFS) => self.full += 1,
            Err(_) => self.refused += 1,
        }
        Ok(())
    }
}

/// Writes one packet after its header.
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
    const HOT: bool = true;
    type Next = Infallible;
    type Error = TxError;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let mut device = Device {
            fds: &self.queues,
            chosen: self.choice.of(thread, frame.epoch()),
            is_ethernet: self.coalescer.shape().is_ethernet,
            sent: 0,
            unplaced: 0,
            full: 0,
            refused: 0,
        };
        if self.coalescer.is_on() {
            self.coalescer.run(
                frame,
                #[inline(always)]
                |p| device.send(p),
            );
        } else {
            frame.consume(
                #[inline(always)]
                |p| device.send(p),
            );
        }
        let Device { sent, unplaced, full, refused, .. } = device;
        frame.count_out(sent);
        if unplaced + full + refused > 0 {
            frame.count(Count::Full, full);
            frame.count(Count::Refused, refused);
            frame.count_dropped(full + refused);
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(unplaced + full + refused);
        }
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.coalescer.switch(false);
        self.process(frame);
    }
}
