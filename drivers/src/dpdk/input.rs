//! `dpdk-input`: takes packets out of the receive queues on its thread.
#![forbid(unsafe_code)]

use graph::{Flags, Intake};
use net::interface::Counters;

use super::shim::Rx;
use crate::host::input::{self, DeviceInput, Error, Route};
use crate::snapshot::FromQueue;

/// Receives on devices that DPDK drives.
pub type DpdkInput = DeviceInput<Queue>;

/// Seconds between two looks at a queue while its thread may sleep.
const LOOK: f64 = 100e-6;

/// One receive queue.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    pub interface: u32,
    /// Number among the queues of the interface.
    pub number: usize,
    /// The queue.
    pub rx: Rx,
}

impl input::Queue for Queue {
    const NODE: &'static str = "dpdk-input";
    type Error = Error;

    fn key(&self) -> (u32, usize) {
        (self.interface, self.number)
    }
    fn is_ip(&self) -> bool {
        false
    }
    #[inline(always)]
    fn receive<On>(
        &mut self,
        intake: &mut Intake<'_, DpdkInput, On>,
        route: Route,
        counters: &Counters,
    ) {
        let waiting = self.rx.waiting();
        if !intake.never_sleeps() {
            intake.wake_in(LOOK);
        }
        if waiting == 0 {
            return;
        }
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| FromQueue::of("dpdk: hw_if_index", "rx-queue", number, p));
        }
        let (mut bytes, mut is_lost) = (0, false);
        let filled = intake.each(waiting, self.interface, |p| {
            let is_good = self.rx.next(|piece| p.extend(piece));
            is_lost = is_good.is_none();
            if is_good? {
                p.add_flags(Flags::CHECKSUM_OK);
            }
            let next = route.next(p);
            bytes += p.total_len() as u64;
            Some(next)
        });
        let (thread, column) = (intake.thread(), self.interface as usize);
        counters.rx.row(thread)[column].add(filled as u64, bytes);
        if is_lost {
            intake.count_lost(Error::NoBuffers, 1);
        }
        if filled == 0 && !is_lost {
            counters.rx_no_buf.row(thread)[column].add(1);
        }
    }
    #[cold]
    fn skip<On>(&mut self, intake: &mut Intake<'_, DpdkInput, On>) {
        let waiting = self.rx.waiting();
        if !intake.never_sleeps() {
            intake.wake_in(LOOK);
        }
        let mut lose = || self.rx.next(|_| Some(())).is_some();
        let lost = (0..waiting).take_while(|_| lose()).count();
        if lost > 0 {
            intake.count_lost(Error::Down, lost as u64);
        }
    }
}
