//! `pvti4-input`, `pvti6-input`: datagrams into packets.

use net::interface::{Counters, Port};
use net::prelude::*;
use wire::pvti::{parse, wanted};

/// The longest packet that is put together.
const LONGEST: usize = 1 << 16;

/// The far end of a tunnel, and the port here that it sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Its address, and port.
    pub remote: (u128, u16),
    /// Port.
    pub port: u16,
}

/// The tunnel of a far end.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Interface.
    pub interface: u32,
    /// Tells tunnels apart that have the same interface one after the other.
    pub unique: u64,
}

/// Tunnels by far end, over IPv4 or IPv6.
pub type Peers = HashMap<Peer, Known>;

/// Packets that are begun on a thread at most, and of one tunnel; the oldest gives way.
const MOST_BEGUN: usize = 256;
const MOST_OF_TUNNEL: usize = 32;
/// Rooms for packets that are kept for the next ones.
const MOST_ROOMS: usize = 8;

/// A packet that a stream of a far end has begun.
struct Stream {
    unique: u64,
    /// Number of the datagram that comes next.
    next: u32,
    /// Tells which is the oldest.
    age: u64,
    /// The packet that it goes on with.
    begun: Vec<u8>,
}

/// Takes packets out of datagrams over IPv4 or IPv6.
pub struct Input<const IS_6: bool> {
    peers: Reader<Peers>,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    /// By interface and number.
    streams: HashMap<(u32, u8), Stream>,
    /// Streams that began a packet so far.
    age: u64,
    /// Rooms of packets that are over.
    rooms: Vec<Vec<u8>>,
}

/// Each thread has streams of its own.
impl<const IS_6: bool> Clone for Input<IS_6> {
    fn clone(&self) -> Self {
        let read = (self.ports.clone(), Arc::clone(&self.counters));
        Self::new(self.peers.clone(), read)
    }
}

impl<const IS_6: bool> Input<IS_6> {
    pub(super) fn new(
        peers: Reader<Peers>,
        (ports, counters): (SlabReader<Port>, Arc<Counters>),
    ) -> Self {
        Self { peers, ports, counters, streams: HashMap::new(), age: 0, rooms: Vec::new() }
    }
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// An IPv4 packet.
    #[to("ip4-input")]
    Ip4,
    /// An IPv6 packet.
    #[to("ip6-input")]
    Ip6,
}

/// Drops of [`Input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// Could not find a peer.
    #[name("Could not find a peer")]
    NoPeer,
    /// No buffers available to decapsulate.
    #[name("No buffers available to decapsulate")]
    NoBuffer,
    /// Packet too short.
    #[name("Packet too short")]
    TooShort,
    /// Packet has no chunks.
    #[name("Packet has no chunks")]
    NoChunks,
    /// Packet has more reassembly chunks than total.
    #[name("Packet has more reassembly chunks than total")]
    TooManyContinued,
    /// Unknown mandatory flags.
    #[name("flags that are not known")]
    UnknownFlags,
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// PVTI inner packets decapsulated.
    #[name("PVTI inner packets decapsulated")]
    Decapsulated,
    /// PVTI tunneled packets processed.
    #[name("PVTI tunneled packets processed")]
    Processed,
}

/// The far end that the headers of a datagram, whose PVTI header is next, name.
#[inline(always)]
pub fn peer_of<const IS_6: bool>(p: &graph::Buffer<'_>) -> Option<Peer> {
    let (udp, _) = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
    let outer = p.bytes_from(p.l3_offset());
    let remote = if IS_6 {
        u128::from_be_bytes(ip6::Header::ref_from_prefix(outer).ok()?.0.src)
    } else {
        u32::from_be_bytes(ip4::Header::ref_from_prefix(outer).ok()?.0.src).into()
    };
    Some(Peer { remote: (remote, udp.src_port.get()), port: udp.dst_port.get() })
}

/// Sends a packet that was carried on; what is no IP packet ends here.
fn send<const IS_6: bool>(
    p: &mut Packet<'_, Input<IS_6>>,
    inner: &[u8],
    interface: u32,
) -> Result<bool, Error> {
    let next = match inner.first().map(|byte| byte >> 4) {
        Some(4) => Next::Ip4,
        Some(6) => Next::Ip6,
        _ => return Ok(false),
    };
    let mut new = p.fresh().ok_or(Error::NoBuffer)?;
    new.extend(inner).ok_or(Error::NoBuffer)?;
    new.set_rx(interface);
    new.send(next);
    Ok(true)
}

/// Sends the packets of chunks on, of which the first `continued` go on with the one that is begun;
/// returns how many, and their bytes.
fn gather<'b, const IS_6: bool>(
    p: &mut Packet<'_, Input<IS_6>>,
    chunks: impl Iterator<Item = Option<&'b [u8]>>,
    (continued, interface): (u8, u32),
    begun: &mut Vec<u8>,
) -> Result<(u64, u64), Error> {
    let (mut count, mut len) = (0, 0);
    for (chunk, place) in chunks.zip(0_u8..) {
        let part = chunk.ok_or(Error::TooShort)?;
        let goes_on = place < continued;
        // Its beginning did not come.
        if goes_on && begun.is_empty() {
            continue;
        }
        if !goes_on {
            begun.clear();
        }
        if begun.len() + part.len() > LONGEST {
            begun.clear();
            continue;
        }
        let is_whole = wanted(part).is_some_and(|wanted| part.len() >= wanted);
        if is_whole && !goes_on {
            let sent = send(p, part, interface)?;
            (count, len) = (count + u64::from(sent), len + part.len() as u64);
            continue;
        }
        begun.extend_from_slice(part);
        if wanted(begun).is_some_and(|wanted| begun.len() >= wanted) {
            let sent = send(p, begun, interface);
            (count, len) = (count + u64::from(sent == Ok(true)), len + begun.len() as u64);
            begun.clear();
            sent?;
        }
    }
    Ok((count, len))
}

impl<const IS_6: bool> Input<IS_6> {
    /// Takes the packets out of a datagram; returns how many, and their bytes.
    fn open(
        &mut self,
        p: &mut Packet<'_, Self>,
        bytes: &[u8],
        known: Known,
    ) -> Result<(u64, u64), Error> {
        let (header, chunks) = parse(bytes).ok_or(Error::TooShort)?;
        if header.chunks == 0 {
            return Err(Error::NoChunks);
        }
        if header.continued > header.chunks {
            return Err(Error::TooManyContinued);
        }
        if header.mandatory != 0 {
            return Err(Error::UnknownFlags);
        }
        let key = (known.interface, header.stream);
        let sequence = header.sequence.get();
        let mut begun = match self.streams.remove(&key) {
            Some(s) if s.unique == known.unique && s.next == sequence => s.begun,
            Some(mut s) => {
                s.begun.clear();
                s.begun
            }
            None => self.rooms.pop().unwrap_or_default(),
        };
        if header.continued == 0 {
            begun.clear();
        }
        let done = gather(p, chunks, (header.continued, known.interface), &mut begun);
        if begun.is_empty() {
            self.give_back(begun);
        } else {
            self.make_room(known.interface);
            let (unique, next) = (known.unique, sequence.wrapping_add(1));
            self.age += 1;
            self.streams.insert(key, Stream { unique, next, age: self.age, begun });
        }
        done
    }
    fn give_back(&mut self, mut room: Vec<u8>) {
        room.clear();
        if self.rooms.len() < MOST_ROOMS && room.capacity() > 0 {
            self.rooms.push(room);
        }
    }
    /// Gives up the oldest packet of a tunnel, or of all, where one more has no room.
    fn make_room(&mut self, tunnel: u32) {
        let own = self.streams.keys().filter(|(interface, _)| *interface == tunnel).count();
        if own < MOST_OF_TUNNEL && self.streams.len() < MOST_BEGUN {
            return;
        }
        let all = self.streams.iter().filter(|((on, _), _)| own < MOST_OF_TUNNEL || *on == tunnel);
        let oldest = all.min_by_key(|(_, stream)| stream.age).map(|(key, _)| *key);
        if let Some(gone) = oldest.and_then(|key| self.streams.remove(&key)) {
            self.give_back(gone.begun);
        }
    }
    fn find(&self, p: &Packet<'_, Self>, epoch: Epoch<'_>) -> Option<Known> {
        let known = *self.peers.read(epoch).get(&peer_of::<IS_6>(p)?)?;
        self.ports.read(known.interface, epoch).filter(|port| port.up)?;
        Some(known)
    }
}

impl<const IS_6: bool> Node for Input<IS_6> {
    const NAME: &'static str = super::INPUT[IS_6 as usize];
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = if IS_6 { "ip6-drop" } else { "ip4-drop" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, all) = (frame.epoch(), frame.thread(), frame.len());
        let mut taken = 0;
        for mut held in frame.take() {
            let mut p = frame.packet_of(&mut held);
            let done = self.find(&p, epoch).ok_or(Error::NoPeer).and_then(|known| {
                p.trace(|_| Taken { interface: known.interface });
                let (count, len) = p.with_room(|p, room| {
                    let mut whole = 0;
                    for segment in p.segments() {
                        let place = room.get_mut(whole..whole + segment.len());
                        place.ok_or(Error::NoBuffer)?.copy_from_slice(segment);
                        whole += segment.len();
                    }
                    self.open(p, &room[..whole], known)
                })?;
                if let Some(counter) = self.counters.rx.row(thread).get(known.interface as usize) {
                    counter.add(count, len);
                }
                Ok(count)
            });
            match done {
                Ok(count) => {
                    taken += count;
                    frame.release(held);
                }
                Err(reason) => frame.discard(held, reason),
            }
        }
        frame.count(Count::Processed, all as u64);
        frame.count(Count::Decapsulated, taken);
    }
}

struct Taken {
    interface: u32,
}

impl Record for Taken {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  decapsulated by {}", names.name("interface", self.interface))
    }
}
