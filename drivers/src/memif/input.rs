//! `memif-input`: takes packets out of the rings on its thread.
#![forbid(unsafe_code)]

use graph::{Arrival, FRAME, Intake};
use net::interface::Counters;

use super::queue::{Lost, Receiver};
use crate::host::input::{self, DeviceInput, Next, Route, Waking};
use crate::snapshot::FromQueue;

/// Receives from memory that is shared with other programs.
pub type MemifInput = DeviceInput<Queue>;

/// One ring that packets come out of.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    interface: u32,
    /// Number among the queues of the interface.
    number: usize,
    /// Carries IP packets without a header in front.
    is_ip: bool,
    receiver: Receiver,
}

/// Drops of [`MemifInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// bad descriptor.
    #[name("bad_desc")]
    BadDescriptor,
    /// buffer allocation failed.
    #[name("buffer_alloc")]
    NoBuffers,
    /// not ip packet.
    #[name("not_ip")]
    NotIp,
    /// interface is down.
    #[name("interface is down")]
    Down,
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::BadDescriptor => Self::BadDescriptor,
            Lost::NoBuffers => Self::NoBuffers,
        }
    }
}

impl Queue {
    /// Queue `number` of an interface.
    pub fn new(interface: u32, number: usize, is_ip: bool, receiver: Receiver) -> Self {
        Self { interface, number, is_ip, receiver }
    }
    /// Brings in the next packet. What is refused is gone.
    #[inline(always)]
    fn fill(
        &mut self,
        waiting: &mut u16,
        p: &mut Arrival<'_>,
        route: Route,
    ) -> Result<Next, Error> {
        self.receiver.take(waiting, p)?;
        if self.is_ip && !p.bytes().first().is_some_and(|b| matches!(b >> 4, 4 | 6)) {
            return Err(Error::NotIp);
        }
        Ok(route.next(p))
    }
    /// Packets that wait, having said whether to be woken for more: not while some do, nor by a
    /// thread that never sleeps.
    #[inline(always)]
    fn look(&mut self, never_sleeps: bool) -> u16 {
        let waiting = self.receiver.waiting();
        let is_masked = waiting > 0 || never_sleeps;
        if is_masked == self.receiver.is_masked() { waiting } else { self.receiver.mask(is_masked) }
    }
}

impl input::Queue for Queue {
    const NODE: &'static str = "memif-input";
    const WAKING: Waking = Waking::Once;
    type Error = Error;

    fn key(&self) -> (u32, usize) {
        (self.interface, self.number)
    }
    fn is_ip(&self) -> bool {
        self.is_ip
    }
    #[inline(always)]
    fn receive<On>(
        &mut self,
        intake: &mut Intake<'_, MemifInput, On>,
        route: Route,
        counters: &Counters,
    ) {
        let mut waiting = self.look(intake.never_sleeps());
        if waiting == 0 {
            return;
        }
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| FromQueue::of("memif: hw_if_index", "ring", number, p));
        }
        let mut left = FRAME;
        while waiting > 0 && left > 0 {
            let wanted = left.min(waiting.into());
            let (mut bytes, mut ended) = (0, None);
            let filled = intake.each(wanted, self.interface, |p| {
                if waiting == 0 {
                    return None; // the others were pieces of these
                }
                let next =
                    self.fill(&mut waiting, p, route).map_err(|why| ended = Some(why)).ok()?;
                bytes += p.total_len() as u64;
                Some(next)
            });
            let (thread, column) = (intake.thread(), self.interface as usize);
            counters.rx.row(thread)[column].add(filled as u64, bytes);
            left -= filled.min(left);
            match ended {
                Some(why) => {
                    intake.count_lost(why, 1);
                    left = left.saturating_sub(1);
                }
                None if filled < wanted && waiting > 0 => {
                    counters.rx_no_buf.row(thread)[column].add(1);
                    break;
                }
                None => (),
            }
        }
        self.receiver.give_back();
        // A thread that is woken for this queue only has to be woken for the rest.
        if waiting > 0 && intake.is_interrupted() {
            self.receiver.ring_bell();
        }
        if waiting == 0 && intake.is_interrupted() && self.look(false) > 0 {
            self.receiver.ring_bell();
        }
    }
    #[cold]
    fn skip<On>(&mut self, intake: &mut Intake<'_, MemifInput, On>) {
        let lost = self.receiver.skip();
        intake.count_lost(Error::Down, lost.into());
        self.look(intake.never_sleeps());
    }
}
