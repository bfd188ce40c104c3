//! `pvti4-output`, `pvti6-output`: packets into datagrams, all of a frame together.

use graph::Held;
use net::adjacency::chain::Hop;
use net::fib::{Forwarding4, Via};
use net::ip::Stacked;
use net::prelude::*;
use wire::pvti::{Chunk, FIRST, FRONT, Header, PADDING};

/// Most chunks of a datagram.
const MOST_CHUNKS: u8 = u8::MAX;
/// The longest datagram.
const LONGEST: usize = 1 << 16;

/// Headers in which a tunnel sends its packets.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Outer headers, and where datagrams go then.
    pub hop: Hop,
    /// Bytes of chunks that a datagram has room for.
    pub room: usize,
    /// Tells tunnels apart that have the same interface one after the other.
    pub unique: u64,
}

/// A tunnel's stream of this thread.
#[derive(Clone, Copy, Default)]
struct Stream {
    unique: u64,
    next: u32,
}

/// Puts packets into datagrams over IPv4 or IPv6.
pub struct Output<const IS_6: bool> {
    sending: SlabReader<Sending>,
    balances: Forwarding4,
    stacked: Stacked,
    /// By interface.
    streams: Vec<Stream>,
    /// The datagram at hand, from its PVTI header on.
    datagram: Vec<u8>,
    chunks: u8,
    continued: u8,
}

/// Each thread has a datagram and streams of its own.
impl<const IS_6: bool> Clone for Output<IS_6> {
    fn clone(&self) -> Self {
        Self::new(self.sending.clone(), self.balances.clone(), self.stacked.clone())
    }
}

impl<const IS_6: bool> Output<IS_6> {
    pub(super) fn new(
        sending: SlabReader<Sending>,
        balances: Forwarding4,
        stacked: Stacked,
    ) -> Self {
        let datagram = Vec::with_capacity(LONGEST);
        let streams = Vec::new();
        Self { sending, balances, stacked, streams, datagram, chunks: 0, continued: 0 }
    }
}

/// The edge of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// As the route to the far end leads.
    #[dynamic]
    To(Slot),
}

/// Drops of [`Output`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// No peer found: tunnel deleted or no route to the peer.
    #[name("No peer found")]
    NoPeer,
    /// No buffer for a datagram.
    #[name("Could not recharge 0")]
    NoBuffer,
}

/// Counters of [`Output`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Datagrams sent.
    #[name("Packets encapsulated")]
    Encapsulated,
    /// Packets processed.
    #[name("Packets processed")]
    Processed,
    /// Packets split over datagrams.
    #[name("Packets chopped")]
    Chopped,
    /// Packets deferred whole to the next datagram.
    #[name("Packets overflowed")]
    Overflowed,
}

/// Counters of a frame.
#[derive(Default)]
struct Done {
    sent: u64,
    chopped: u64,
    overflowed: u64,
}

impl<const IS_6: bool> Output<IS_6> {
    fn begin(&mut self) {
        self.datagram.clear();
        self.datagram.resize(FRONT, 0);
        (self.chunks, self.continued) = (0, 0);
    }
    /// Bytes of chunks that still fit into the datagram at hand.
    fn room(&self, to: &Sending) -> usize {
        (to.room + FRONT).saturating_sub(self.datagram.len())
    }
    fn add(&mut self, part: &[u8]) {
        self.datagram.extend_from_slice(Chunk::new(part.len()).as_bytes());
        self.datagram.extend_from_slice(part);
        self.chunks += 1;
    }
    /// Sends the datagram at hand, if there is something in it, and begins the next.
    fn flush(
        &mut self,
        p: &mut Packet<'_, Self>,
        to: &Sending,
        number: u8,
        epoch: Epoch<'_>,
    ) -> Result<u64, Error> {
        if self.chunks == 0 {
            return Ok(0);
        }
        let interface = p.tx();
        let stream = &mut self.streams[interface as usize];
        let sequence = stream.next;
        let header = Header {
            sequence: sequence.into(),
            stream: number,
            chunks: self.chunks,
            continued: self.continued,
            mandatory: 0,
            flags: 0,
            padding: PADDING.len() as u8,
        };
        let (front, padding) = self.datagram[..FRONT].split_at_mut(size_of::<Header>());
        front.copy_from_slice(header.as_bytes());
        padding.copy_from_slice(&PADDING);
        let made = p.fresh().and_then(|mut new| {
            new.extend(&self.datagram)?;
            to.hop.put_in_front(&mut new)?;
            if let Some(outer) = new.header_mut::<ip4::Header>().filter(|h| h.version() == 4) {
                outer.id = (sequence as u16).into();
                outer.update_checksum();
            }
            new.add_flags(Flags::LOCAL);
            let slot = self.stacked.onward(&to.hop, epoch).take(&mut new);
            new.send_to(slot);
            Some(())
        });
        self.begin();
        made.ok_or(Error::NoBuffer)?;
        self.streams[interface as usize].next = sequence.wrapping_add(1);
        Ok(1)
    }
    /// Puts a packet into the datagram at hand and as many more as it takes.
    fn put(
        &mut self,
        p: &mut Packet<'_, Self>,
        whole: &[u8],
        to: &Sending,
        (number, epoch): (u8, Epoch<'_>),
        done: &mut Done,
    ) -> Result<(), Error> {
        let (mut rest, mut is_continued) = (whole, false);
        loop {
            let room = self.room(to);
            let fits = size_of::<Chunk>() + rest.len() <= room && self.chunks < MOST_CHUNKS;
            let most = room.saturating_sub(size_of::<Chunk>());
            if fits || (most > 0 && self.chunks < MOST_CHUNKS) {
                let (part, left) = rest.split_at(rest.len().min(most));
                self.continued += u8::from(is_continued);
                self.add(part);
                done.chopped += u64::from(!is_continued && !left.is_empty());
                (rest, is_continued) = (left, true);
                // What is left is not even room for a chunk of one byte.
                if !left.is_empty() || self.room(to) == 0 {
                    done.sent += self.flush(p, to, number, epoch)?;
                }
                if left.is_empty() {
                    return Ok(());
                }
            } else {
                done.overflowed += 1;
                done.sent += self.flush(p, to, number, epoch)?;
            }
        }
    }
    /// Makes the stream of an interface that of its current tunnel.
    fn follow(&mut self, interface: u32, unique: u64) {
        let at = interface as usize;
        if self.streams.len() <= at {
            self.streams.resize(at + 1, Stream::default());
        }
        if self.streams[at].unique != unique {
            self.streams[at] = Stream { unique, next: FIRST };
        }
    }
    /// Puts all packets of a frame into datagrams, which those of one tunnel behind each other
    /// share.
    fn send_all<On>(&mut self, frame: &mut Frame<'_, Self, On>, done: &mut Done) {
        let (epoch, number) = (frame.epoch(), stream_of(frame));
        let sending = self.sending.clone();
        // The packet whose tunnel the datagram at hand is of.
        let mut last: Option<Held> = None;
        self.begin();
        for mut held in frame.take() {
            let interface = held.buffer().tx();
            if let Some(mut before) = last.take() {
                let to = sending.read(before.buffer().tx(), epoch);
                if before.buffer().tx() != interface
                    && let Some(to) = to
                    && let Ok(sent) =
                        self.flush(&mut frame.packet_of(&mut before), to, number, epoch)
                {
                    done.sent += sent;
                }
                frame.release(before);
            }
            let is_led = |to: &&Sending| {
                self.balances.load_balance(to.hop.stacked, epoch).single() != Some(Via::Drop)
            };
            let Some(to) = sending.read(interface, epoch).filter(is_led) else {
                frame.discard(held, Error::NoPeer);
                continue;
            };
            self.follow(interface, to.unique);
            let mut p = frame.packet_of(&mut held);
            let put = p.with_room(|p, room| {
                let mut len = 0;
                for segment in p.segments() {
                    let place = room.get_mut(len..len + segment.len()).ok_or(Error::NoBuffer)?;
                    place.copy_from_slice(segment);
                    len += segment.len();
                }
                p.trace(|_| Put { interface, len });
                self.put(p, &room[..len], to, (number, epoch), done)
            });
            match put {
                Ok(()) => last = Some(held),
                Err(reason) => {
                    // What it began would be taken for its end.
                    self.begin();
                    frame.discard(held, reason);
                }
            }
        }
        if let Some(mut before) = last {
            if let Some(to) = sending.read(before.buffer().tx(), epoch)
                && let Ok(sent) = self.flush(&mut frame.packet_of(&mut before), to, number, epoch)
            {
                done.sent += sent;
            }
            frame.release(before);
        }
    }
}

/// The number of this thread's stream: 0 of the thread that is alone or is the first worker. What
/// the main thread sends beside workers has the last.
fn stream_of<N: Node, On>(frame: &Frame<'_, N, On>) -> u8 {
    let number = frame.thread().checked_sub(frame.thread_of(0));
    number.map_or(u8::MAX, |number| number as u8)
}

impl<const IS_6: bool> Node for Output<IS_6> {
    const NAME: &'static str = super::OUTPUT[IS_6 as usize];
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (mut done, taken) = (Done::default(), frame.len());
        self.send_all(frame, &mut done);
        frame.count(Count::Processed, taken as u64);
        frame.count(Count::Encapsulated, done.sent);
        frame.count(Count::Chopped, done.chopped);
        frame.count(Count::Overflowed, done.overflowed);
    }
}

struct Put {
    interface: u32,
    len: usize,
}

impl Record for Put {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} bytes for {}", self.len, names.name("interface", self.interface))
    }
}
