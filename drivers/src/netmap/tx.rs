//! `<name>-tx`: sends to a port of netmap.
#![forbid(unsafe_code)]

use graph::Buffer;

use super::kernel::Socket;
use super::memory::{Refused, Ring};
use crate::host::output::{self, DeviceTx};

/// Sends frames on one of the rings of an interface.
pub type NetmapTx = DeviceTx<Sender>;

/// A ring that packets go into.
#[derive(Debug)]
pub struct Sender {
    /// The ring.
    pub ring: Ring,
    /// Makes the kernel empty it.
    pub socket: Socket,
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
    /// Makes the kernel send the packets in the ring.
    #[inline(always)]
    fn wake(&self) {
        self.ring.give_back();
        self.socket.sync();
    }
}

impl output::Sender for Sender {
    const NODE: &'static str = "netmap-tx";
    type Error = Error;
    const NO_QUEUE: Error = Error::NoQueue;

    #[inline(always)]
    fn put(&mut self, p: &Buffer<'_>) -> Result<(), Error> {
        if self.ring.ready() == 0 {
            // What it has sent meanwhile makes room.
            self.wake();
        }
        Ok(self.ring.put(p.total_len(), p.segments())?)
    }
    #[inline(always)]
    fn send(&mut self) -> u64 {
        self.wake();
        0
    }
}
