//! `<name>-tx`: sends on a device that DPDK drives.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use graph::{Buffer, Flags, Frame, Node};
use net::gso::Layout;
use net::interface::{Counters, TxChoice};
use net::{InterfaceIndex, Interfaces};
use wire::Protocol;

use super::shim::{Checksum, Refused, Tx};
use crate::host::turn;
use crate::snapshot::Sent;

/// The transmit queues of an interface. Threads that share one take turns.
pub type Senders = Arc<[Mutex<Tx>]>;

/// Sends frames on one of the queues of an interface.
#[derive(Clone)]
pub struct DpdkTx {
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

impl DpdkTx {
    /// A node that sends on `senders`, of which there is at least one.
    pub(super) fn new(
        senders: Senders,
        choice: TxChoice,
        (index, interfaces): (Arc<OnceLock<InterfaceIndex>>, &Interfaces),
    ) -> Self {
        Self { senders, choice, index, counters: interfaces.counters() }
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

impl Node for DpdkTx {
    const NAME: &'static str = "dpdk-tx";
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread();
        let (senders, chosen) = (&self.senders, self.choice.of(thread, frame.epoch()));
        let (mut sent, mut refused, mut lost) = (0, 0, 0);
        let mut held: Option<(usize, MutexGuard<'_, Tx>)> = None;
        frame.consume(|p| {
            p.trace(|p| Sent::of(p, true));
            let put = chosen.ok_or(Error::NoQueue).and_then(|queues| {
                let number = queues.queue(p) % senders.len();
                if held.as_ref().is_none_or(|(held, _)| *held != number) {
                    if let Some((_, sender)) = &mut held {
                        lost += sender.send();
                    }
                    drop(held.take());
                    held = Some((number, turn(&senders[number])));
                }
                let (_, sender) = held.as_mut().ok_or(Error::NoQueue)?;
                Ok(sender.put(p.total_len(), p.segments(), checksum(p)?)?)
            });
            match put {
                Ok(()) => sent += 1,
                Err(_) => refused += 1,
            }
            put
        });
        if let Some((_, mut sender)) = held {
            lost += sender.send();
        }
        frame.count_out(sent - lost.min(sent));
        if lost > 0 {
            frame.count_as(Error::Lost, lost);
        }
        if lost + refused > 0 {
            let index = self.index.get().map_or(0, |i| i.0);
            self.counters.tx_error.row(thread)[index as usize].add(lost + refused);
        }
    }
}
