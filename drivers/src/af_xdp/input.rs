//! `af_xdp-input`: takes packets out of the rings of the queues on its thread.
#![forbid(unsafe_code)]

use graph::{FRAME, Intake};
use net::interface::Counters;

use super::kernel::Rx;
use crate::host::input::{self, DeviceInput, Error, Route};
use crate::snapshot::FromQueue;

/// Receives on Linux devices, past the kernel's stack.
pub type AfXdpInput = DeviceInput<Queue>;

/// One socket that receives.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    pub interface: u32,
    /// Number among the queues of the interface.
    pub number: usize,
    /// The rings.
    pub rx: Rx,
}

impl input::Queue for Queue {
    const NODE: &'static str = "af_xdp-input";
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
        intake: &mut Intake<'_, AfXdpInput, On>,
        route: Route,
        counters: &Counters,
    ) {
        let waiting = self.rx.waiting().min(FRAME);
        if waiting == 0 {
            return;
        }
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| FromQueue::of("af_xdp: hw_if_index", "rx-queue", number, p));
        }
        let (mut bytes, mut is_lost) = (0, false);
        let filled = intake.each(waiting, self.interface, |p| {
            if self.rx.waiting() == 0 {
                return None; // the others were pieces of these
            }
            is_lost = !self.rx.next(|piece| p.extend(piece));
            if is_lost {
                return None;
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
        self.rx.wake();
    }
    #[cold]
    fn skip<On>(&mut self, intake: &mut Intake<'_, AfXdpInput, On>) {
        let waiting = self.rx.waiting().min(FRAME);
        let mut lose = || self.rx.waiting() > 0 && self.rx.next(|_| Some(()));
        let lost = (0..waiting).take_while(|_| lose()).count();
        if waiting > 0 {
            intake.count_lost(Error::Down, lost as u64);
            self.rx.wake();
        }
    }
}
