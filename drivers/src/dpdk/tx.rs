//! `<name>-tx`: sends on a device that DPDK drives.
#![forbid(unsafe_code)]

use graph::{Buffer, Flags};
use net::gso::Layout;
use wire::Protocol;

use super::shim::{Checksum, Refused, Tx};
use crate::host::output::{DeviceTx, Sender};

/// Sends frames on one of the queues of an interface.
pub type DpdkTx = DeviceTx<Tx>;

/// Reason why a packet is not sent.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no free tx slots.
    #[name("no free tx slots")]
    Full,
    /// packet too long for the device.
    #[name("packet too long for the device")]
    TooLong,
    /// packet does not fit its offload flags.
    #[name("unfit for offload")]
    Unfit,
    /// no tx queue available.
    #[name("no tx queue available")]
    NoQueue,
    /// the device has no room.
    #[name("Tx packet drops (dpdk tx failure)")]
    Lost,
}

impl From<Refused> for Error {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Full => Self::Full,
            Refused::TooLong => Self::TooLong,
        }
    }
}

/// The checksum that a packet needs.
fn checksum(p: &Buffer<'_>) -> Result<Option<Checksum>, Error> {
    if !p.flags().has(Flags::CHECKSUM_TODO) {
        return Ok(None);
    }
    let layout = Layout::of(p).map_err(|_| Error::Unfit)?;
    let is_ip6 = p.bytes().get(layout.l3).is_some_and(|first| first >> 4 == 6);
    let l2 = u8::try_from(layout.l3).map_err(|_| Error::Unfit)?;
    let l3 = layout.l4.checked_sub(layout.l3).and_then(|len| u8::try_from(len).ok());
    let is_tcp = layout.protocol == Protocol::TCP;
    Ok(Some(Checksum { is_ip6, is_tcp, l2, l3: l3.ok_or(Error::Unfit)? }))
}

impl Sender for Tx {
    const NODE: &'static str = "dpdk-tx";
    type Error = Error;
    const NO_QUEUE: Error = Error::NoQueue;
    const LOST: Option<Error> = Some(Error::Lost);

    #[inline(always)]
    fn put(&mut self, p: &Buffer<'_>) -> Result<(), Error> {
        Ok(Self::put(self, p.total_len(), p.segments(), checksum(p)?)?)
    }
    #[inline(always)]
    fn send(&mut self) -> u64 {
        Self::send(self)
    }
}
