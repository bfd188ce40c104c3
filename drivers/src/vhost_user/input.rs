//! `vhost-user-input`: takes packets out of the rings on its thread.
#![forbid(unsafe_code)]

use std::fmt;

use graph::{Arrival, Buffer, FRAME, Intake, Names, Record};
use net::interface::Counters;
use wire::virtio_net::Header;

use super::queue::{Line, Lost, Receiver};
use super::ring::Bad;
use crate::host::input::{self, DeviceInput, HeaderTrace, Next, Route, Waking};
use crate::snapshot::FromQueue;
use crate::virtio_header;

/// Receives from memory of virtual machines.
pub type VhostInput = DeviceInput<Queue>;

/// One ring that packets come out of.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    interface: u32,
    /// Number among the queues of the interface.
    number: usize,
    receiver: Receiver,
}

/// Drops of [`VhostInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no available buffer.
    #[name("no available buffer")]
    NoBuffers,
    /// memory that was not handed over.
    #[name("mmap failure")]
    Address,
    /// descriptors that go round or are too many.
    #[name("indirect descriptor overflows table")]
    Chain,
    /// no Ethernet frame.
    #[name("undersized ethernet frame received (< 14 bytes)")]
    Size,
    /// the driver may have dropped packets: its ring was full.
    #[name("full rx queue (possible driver tx drop)")]
    Full,
    /// interface is down.
    #[name("vhost interface not ready or down")]
    Down,
    /// packet does not fit its offload header.
    #[name("unfit for offload")]
    Unfit,
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::NoBuffers => Self::NoBuffers,
            Lost::Size => Self::Size,
            Lost::Bad(Bad::Address) => Self::Address,
            Lost::Bad(Bad::Chain) => Self::Chain,
        }
    }
}

/// The reason why filling packets ended early.
enum Ended {
    /// There are no more.
    Empty,
    /// One was lost.
    Losing(Error),
}

impl Queue {
    /// Queue `number` of an interface.
    pub fn new(interface: u32, number: usize, receiver: Receiver) -> Self {
        Self { interface, number, receiver }
    }
    /// Ring and memory it works with.
    pub fn line(&self) -> &Line {
        self.receiver.line()
    }
    /// Brings in the next packet. What is refused is gone.
    #[inline(always)]
    fn fill(&mut self, p: &mut Arrival<'_>, route: Route) -> Result<Next, Ended> {
        let taken = self.receiver.take(p).map_err(|lost| Ended::Losing(lost.into()))?;
        let header = taken.ok_or(Ended::Empty)?;
        let next = route.next(p);
        if header != Header::default() {
            let noted = virtio_header::receive(&header, p, 0);
            noted.map_err(|_| Ended::Losing(Error::Unfit))?;
        }
        Ok(next)
    }
}

impl input::Queue for Queue {
    const NODE: &'static str = "vhost-user-input";
    const WAKING: Waking = Waking::Once;
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
        intake: &mut Intake<'_, VhostInput, On>,
        route: Route,
        counters: &Counters,
    ) {
        let waiting = self.receiver.waiting();
        if waiting == 0 {
            // Having said so it has to look once more.
            if !self.receiver.ask(!intake.never_sleeps()) {
                return;
            }
        } else {
            self.receiver.ask(false);
        }
        if waiting == self.line().ring.size() {
            intake.count_as(Error::Full, 1);
        }
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| Received::of(number, p));
        }
        let mut left = FRAME;
        let mut is_empty = false;
        while left > 0 && !is_empty {
            let wanted = left.min(self.receiver.waiting().into());
            let (mut bytes, mut ended) = (0, None);
            let filled = intake.each(wanted, self.interface, |p| {
                let next = self.fill(p, route).map_err(|why| ended = Some(why)).ok()?;
                bytes += p.total_len() as u64;
                Some(next)
            });
            let (thread, column) = (intake.thread(), self.interface as usize);
            counters.rx.row(thread)[column].add(filled as u64, bytes);
            left -= filled.min(left);
            match ended {
                Some(Ended::Losing(why)) => {
                    intake.count_lost(why, 1);
                    left = left.saturating_sub(1);
                }
                None if filled < wanted => {
                    counters.rx_no_buf.row(thread)[column].add(1);
                    break;
                }
                Some(Ended::Empty) => is_empty = true,
                None => is_empty = wanted == 0,
            }
        }
        self.receiver.publish();
        // A thread that is woken for this queue only has to be woken for the rest.
        if intake.is_interrupted() && (!is_empty || self.receiver.ask(true)) {
            self.receiver.ring_bell();
        }
    }
    #[cold]
    fn skip<On>(&mut self, intake: &mut Intake<'_, VhostInput, On>) {
        let lost = self.receiver.skip();
        intake.count_lost(Error::Down, lost);
        if self.receiver.ask(!intake.never_sleeps()) {
            self.receiver.ring_bell();
        }
    }
}

struct Received {
    from: FromQueue,
    left: HeaderTrace,
}

impl Received {
    fn of(number: usize, p: &Buffer<'_>) -> Self {
        let from = FromQueue::of("vhost-user: hw_if_index", "qid", number, p);
        Self { from, left: HeaderTrace::of(p) }
    }
}

impl Record for Received {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.from.write(names, f)?;
        write!(f, "\n    hdr: {}", self.left)
    }
}
