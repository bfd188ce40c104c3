//! `netmap-input`: takes packets out of the rings of the ports on its thread.
#![forbid(unsafe_code)]

use graph::{FRAME, Intake};
use net::interface::Counters;

use super::kernel::Socket;
use super::memory::{Refused, Ring};
use crate::host::input::{self, DeviceInput, Route};
use crate::snapshot::FromQueue;

/// Receives from ports of netmap.
pub type NetmapInput = DeviceInput<Queue>;

/// One ring that packets come out of.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    pub interface: u32,
    /// Number among the queues of the interface.
    pub number: usize,
    /// The ring.
    pub ring: Ring,
    /// Makes the kernel fill it.
    pub socket: Socket,
}

/// Drops of [`NetmapInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// bad slot.
    #[name("bad slot")]
    Bad,
    /// no buffers.
    #[name("no buffers")]
    NoBuffers,
    /// interface is down.
    #[name("interface is down")]
    Down,
}

impl Queue {
    /// Slots that wait, having asked the kernel for more.
    #[inline(always)]
    fn look(&self) -> u32 {
        self.socket.sync();
        self.ring.ready()
    }
}

impl input::Queue for Queue {
    const NODE: &'static str = "netmap-input";
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
        intake: &mut Intake<'_, NetmapInput, On>,
        route: Route,
        counters: &Counters,
    ) {
        let waiting = (self.look() as usize).min(FRAME);
        if waiting == 0 {
            return;
        }
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| FromQueue::of("netmap: hw_if_index", "rx-queue", number, p));
        }
        let mut left = waiting;
        let (thread, column) = (intake.thread(), self.interface as usize);
        while left > 0 && self.ring.ready() > 0 {
            let (mut bytes, mut lost) = (0, None);
            let filled = intake.each(left, self.interface, |p| {
                if self.ring.ready() == 0 {
                    return None; // the others were pieces of these
                }
                lost = self.ring.take(p).err();
                if lost.is_some() {
                    return None;
                }
                let next = route.next(p);
                bytes += p.total_len() as u64;
                Some(next)
            });
            counters.rx.row(thread)[column].add(filled as u64, bytes);
            match lost {
                Some(Refused::NoBuffers) => intake.count_lost(Error::NoBuffers, 1),
                Some(_) => intake.count_lost(Error::Bad, 1),
                None if filled == 0 => {
                    counters.rx_no_buf.row(thread)[column].add(1);
                    break;
                }
                None => (),
            }
            left -= filled + usize::from(lost.is_some());
        }
        self.ring.give_back();
    }
    #[cold]
    fn skip<On>(&mut self, intake: &mut Intake<'_, NetmapInput, On>) {
        let waiting = (self.look() as usize).min(FRAME);
        let mut lost = 0;
        while lost < waiting && self.ring.ready() > 0 {
            self.ring.skip();
            lost += 1;
        }
        if lost > 0 {
            intake.count_lost(Error::Down, lost as u64);
            self.ring.give_back();
        }
    }
}
