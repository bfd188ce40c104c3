//! `<name>-tx`: sends to a Linux device, past the kernel's stack.
#![forbid(unsafe_code)]

use graph::Buffer;

use super::kernel::{Refused, Tx};
use crate::host::output::{DeviceTx, Sender};

/// Sends frames on one of the sockets of an interface.
pub type AfXdpTx = DeviceTx<Tx>;

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

impl Sender for Tx {
    const NODE: &'static str = "af_xdp-tx";
    type Error = Error;
    const NO_QUEUE: Error = Error::NoQueue;

    #[inline(always)]
    fn begin(&mut self) {
        self.collect();
    }
    #[inline(always)]
    fn put(&mut self, p: &Buffer<'_>) -> Result<(), Error> {
        Ok(Self::put(self, p.total_len(), p.segments())?)
    }
    #[inline(always)]
    fn send(&mut self) -> u64 {
        self.wake();
        0
    }
}
