//! `tap-input`: reads packets from the queues on its thread.
#![forbid(unsafe_code)]

use std::fmt;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use graph::{Arrival, Buffer, FRAME, Intake, MOST_SLICES, Names, Record};
use net::interface::Counters;
use rustix::io::readv;
use wire::virtio_net::Header;
use wire::zerocopy::IntoBytes;

use crate::host::input::{self, DeviceInput, HeaderTrace, Next, Route};
use crate::snapshot::FromQueue;
use crate::virtio_header;

/// Packets that are asked for at a time: most loops find few.
const BATCH: usize = 32;
/// The longest packet: 64 KB of IP, with an Ethernet header and tags.
const LONGEST: usize = 65_536 + 64;
/// Bytes that are asked for at a time: what is read is to be written while the core has it near.
const ENOUGH: u64 = 256 << 10;

/// Receives from devices of the host.
pub type TapInput = DeviceInput<Queue>;

/// One queue of a device.
#[derive(Debug)]
pub struct Queue {
    /// Interface it belongs to.
    interface: u32,
    /// Number among the queues of the interface.
    number: usize,
    /// Carries IP packets without a header in front.
    is_ip: bool,
    /// The device.
    fd: Arc<OwnedFd>,
    /// Room for the part of a packet that does not fit its first buffer, where that is unexpected.
    rest: Box<[u8]>,
    /// Whether the last packet did not fit its first buffer, and the next one may not either.
    is_long: bool,
}

/// Drops of [`TapInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// buffer alloc error.
    #[name("buffer alloc error")]
    NoBuffers,
    /// interface is down.
    #[name("interface is down")]
    Down,
    /// packet does not fit its offload header.
    #[name("unfit for offload")]
    Unfit,
}

/// The reason why filling packets ended early.
enum Ended {
    /// There are no more, or enough have come for now.
    Empty,
    /// One was lost.
    Losing(Error),
}

impl Queue {
    /// Queue `number` of an interface.
    pub fn new(interface: u32, number: usize, is_ip: bool, fd: Arc<OwnedFd>) -> Self {
        let rest = vec![0; LONGEST].into_boxed_slice();
        Self { interface, number, is_ip, fd, rest, is_long: false }
    }
    /// Reads the next packet. What is refused is gone.
    #[inline(always)]
    fn fill(&mut self, p: &mut Arrival<'_>, route: Route) -> Result<Next, Ended> {
        let mut header = Header::default();
        if !self.is_long || !self.read_long(p, &mut header)? {
            self.read(p, &mut header)?;
        }
        let next = route.next(p);
        if header != Header::default() {
            let noted = virtio_header::receive(&header, p, 0);
            noted.map_err(|_| Ended::Losing(Error::Unfit))?;
        }
        Ok(next)
    }
    #[inline(always)]
    fn read(&mut self, p: &mut Arrival<'_>, header: &mut Header) -> Result<(), Ended> {
        let room = p.tailroom();
        let first = p.append_with(room).ok_or(Ended::Losing(Error::NoBuffers))?;
        let to = &mut [
            IoSliceMut::new(header.as_mut_bytes()),
            IoSliceMut::new(first),
            IoSliceMut::new(&mut self.rest),
        ];
        let read = readv(&self.fd, to).map_err(|_| Ended::Empty)?;
        let len = read.saturating_sub(size_of::<Header>());
        p.truncate(len);
        if len > room {
            self.is_long = LONGEST.div_ceil(graph::data_size()) < MOST_SLICES;
            let rest = self.rest.get(..len - room).unwrap_or_default();
            p.extend(rest).ok_or(Ended::Losing(Error::NoBuffers))?;
        }
        Ok(())
    }
    /// Reads into as many buffers as the longest packet takes, and gives back those that it does
    /// not. Says whether there were so many: nothing has been read otherwise.
    #[inline(never)]
    fn read_long(&mut self, p: &mut Arrival<'_>, header: &mut Header) -> Result<bool, Ended> {
        let (room, mut read) = (p.tailroom(), None);
        let filled = p.extend_with(LONGEST, |slices| {
            let mut header = Some(header.as_mut_bytes());
            let mut slices = slices.iter_mut();
            let mut next = || match header.take() {
                Some(header) => IoSliceMut::new(header),
                None => slices.next().map_or(IoSliceMut::new(&mut []), |s| IoSliceMut::new(s)),
            };
            let mut to: [_; MOST_SLICES + 1] = std::array::from_fn(|_| next());
            read = Some(readv(&self.fd, &mut to).ok());
            read?.map(|_| ())
        });
        let Some(read) = read else {
            p.truncate_chain(0);
            return Ok(false);
        };
        let read = read.filter(|_| filled.is_some()).ok_or(Ended::Empty)?;
        let len = read.saturating_sub(size_of::<Header>());
        p.truncate_chain(len);
        self.is_long = len > room;
        Ok(true)
    }
}

impl input::Queue for Queue {
    const NODE: &'static str = "tap-input";
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
        intake: &mut Intake<'_, TapInput, On>,
        route: Route,
        counters: &Counters,
    ) {
        if intake.is_tracing() {
            let number = self.number;
            intake.record(move |p| Received::of(number, p));
        }
        let (mut total, mut enough) = (0, ENOUGH);
        while total < FRAME {
            let (mut bytes, mut ended) = (0, None);
            let filled = intake.each(BATCH, self.interface, |p| {
                if bytes > enough {
                    ended = Some(Ended::Empty);
                    return None;
                }
                let next = self.fill(p, route).map_err(|why| ended = Some(why)).ok()?;
                bytes += p.total_len() as u64;
                Some(next)
            });
            let (thread, column) = (intake.thread(), self.interface as usize);
            counters.rx.row(thread)[column].add(filled as u64, bytes);
            total += filled;
            enough = enough.saturating_sub(bytes);
            match ended {
                Some(Ended::Losing(why)) => {
                    intake.count_lost(why, 1);
                    total += 1;
                }
                None if filled < BATCH => {
                    counters.rx_no_buf.row(thread)[column].add(1);
                    return;
                }
                Some(Ended::Empty) => return,
                None => (),
            }
        }
    }
    #[cold]
    fn skip<On>(&mut self, intake: &mut Intake<'_, TapInput, On>) {
        let mut read = || readv(&self.fd, &mut [IoSliceMut::new(&mut self.rest)]);
        let lost = (0..FRAME).take_while(|_| read().is_ok()).count();
        intake.count_lost(Error::Down, lost as u64);
    }
}

struct Received {
    from: FromQueue,
    left: HeaderTrace,
}

impl Received {
    fn of(number: usize, p: &Buffer<'_>) -> Self {
        let from = FromQueue::of("tap: hw_if_index", "vring", number, p);
        Self { from, left: HeaderTrace::of(p) }
    }
}

impl Record for Received {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.from.write(names, f)?;
        write!(f, "\n    hdr: {}", self.left)
    }
}
