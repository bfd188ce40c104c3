//! The two sides of the handshake, without sockets: a message in, an answer out. What the peer says
//! is checked here; what it hands over is kept until both agree.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use control::socket::ClosedElsewhere;
use wire::memif::{
    self, AddRegion, AddRing, DESCRIPTOR, Disconnect, Hello, Init, Message, RING_HEADER, Text,
};

use super::queue::{End, Line, Receiver, Regions, Sender, Slots};
use super::ring::Ring;
pub use crate::host::turn::Refused;
use crate::shared::{Bell, Region};

/// Regions of a connection at most.
pub const MOST_REGIONS: usize = 256;
/// Rings of a direction at most.
pub const MOST_RINGS: usize = 255;
/// Name of this router to peers.
const NAME: &str = "Ferrovia";

impl Refused {
    /// As sent to the peer.
    pub fn to_message(&self) -> Message {
        Message::Disconnect(Disconnect { code: 0.into(), text: Text::of(&self.0) })
    }
}

/// Parts of a connection.
#[derive(Debug)]
pub struct Linked {
    /// Receive rings.
    pub receivers: Vec<(Receiver, Bell)>,
    /// The target of packets.
    pub senders: Vec<Sender>,
    /// The memory.
    pub regions: Regions,
    /// Name of the peer.
    pub name: String,
    /// Interface.
    pub interface: String,
}

/// A ring that is spoken of.
#[derive(Debug)]
struct Offered {
    region: u16,
    offset: u32,
    log2: u8,
    bell: Bell,
}

/// Rings offered: those to the master first, then those to the slave.
type Rings = [Vec<Offered>; 2];

/// First message of the master.
pub fn hello() -> Message {
    Message::Hello(Hello {
        name: Text::of(NAME),
        min_version: memif::VERSION.into(),
        max_version: memif::VERSION.into(),
        max_region: (MOST_REGIONS as u16 - 1).into(),
        max_to_slave: (MOST_RINGS as u16 - 1).into(),
        max_to_master: (MOST_RINGS as u16 - 1).into(),
        max_log2_ring_size: memif::MAX_LOG2_RING,
    })
}

/// The master's side.
#[derive(Debug, Default)]
pub struct Master {
    init: Option<Init>,
    regions: Vec<Arc<Region>>,
    rings: Rings,
}

/// Action of the master on a message.
#[derive(Debug)]
pub enum Reply {
    /// Says that it was taken.
    Ack,
    /// Checks that the interface exists, and acknowledges that it was taken.
    Init(Init),
    /// Is connected, and says so.
    Connected(Linked),
    /// The slave is done.
    Closed(String),
}

impl Master {
    /// Takes a message, and the file that came along.
    ///
    /// # Errors
    /// Why this connection cannot be.
    pub fn take(&mut self, message: &Message, file: Option<OwnedFd>) -> Result<Reply, Refused> {
        // It may be anything, and take long to close.
        let file = file.map(ClosedElsewhere::new);
        match (message, &self.init) {
            (Message::Init(init), None) => {
                if init.version.get() != memif::VERSION {
                    return Err("unsupported version".into());
                }
                self.init = Some(*init);
                Ok(Reply::Init(*init))
            }
            (Message::Disconnect(said), _) => Ok(Reply::Closed(said.text.to_string())),
            (Message::Ack, Some(_)) => Ok(Reply::Ack),
            (Message::AddRegion(region), Some(_)) => {
                let file = file.ok_or("region without a file")?;
                self.add_region(region, &*file)?;
                Ok(Reply::Ack)
            }
            (Message::AddRing(ring), Some(_)) => {
                self.add_ring(ring, file.ok_or("ring without an interrupt")?)?;
                Ok(Reply::Ack)
            }
            (Message::Connect(interface), Some(init)) => {
                let (name, interface) = (init.name.to_string(), interface.to_string());
                let regions: Regions = std::mem::take(&mut self.regions).into();
                let rings = std::mem::take(&mut self.rings);
                link(regions, &rings, None, (name, interface)).map(Reply::Connected)
            }
            _ => Err("unexpected message".into()),
        }
    }
    fn add_region(&mut self, said: &AddRegion, file: impl AsFd) -> Result<(), Refused> {
        if usize::from(said.index.get()) != self.regions.len() || self.regions.len() == MOST_REGIONS
        {
            return Err("invalid region index".into());
        }
        self.regions.push(Arc::new(Region::open(file, said.size.get())?));
        Ok(())
    }
    fn add_ring(&mut self, said: &AddRing, bell: ClosedElsewhere<OwnedFd>) -> Result<(), Refused> {
        let rings = &mut self.rings[usize::from(said.flags.get() & memif::TO_MASTER == 0)];
        if usize::from(said.index.get()) != rings.len() || rings.len() == MOST_RINGS {
            return Err("invalid ring index".into());
        }
        if said.log2_ring_size > memif::MAX_LOG2_RING {
            return Err("invalid ring size".into());
        }
        rings.push(Offered {
            region: said.region.get(),
            offset: said.offset.get(),
            log2: said.log2_ring_size,
            bell: Bell::of(bell.into_inner())?,
        });
        Ok(())
    }
}

/// Request of a slave.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Number of the interface on the socket.
    pub id: u32,
    /// [`memif::ETHERNET`] or [`memif::IP`].
    pub mode: u8,
    /// Secret of both ends.
    pub secret: String,
    /// Rings to the master, and rings to the slave.
    pub rings: [usize; 2],
    /// Descriptors of a ring, as a power of 2.
    pub log2_ring_size: u8,
    /// Bytes of a slot.
    pub buffer_size: u32,
    /// Name of its interface here.
    pub interface: String,
}

/// The slave's side.
#[derive(Debug)]
pub struct Slave {
    wish: Wish,
    /// Messages still to be sent; one at a time, each after the last was taken.
    rest: std::vec::IntoIter<(Message, Option<Arc<OwnedFd>>)>,
    made: Option<Made>,
    name: String,
}

/// Memory and rings that a slave offers.
#[derive(Debug)]
struct Made {
    regions: Regions,
    rings: Rings,
    slots: Slots,
}

/// Action of the slave on a message.
#[derive(Debug)]
pub enum Step {
    /// Says this, with a file.
    Say(Message, Option<Arc<OwnedFd>>),
    /// Is connected.
    Connected(Linked),
    /// The master is done.
    Closed(String),
}

impl Slave {
    /// One that has connected and waits for the master to speak.
    pub fn new(wish: Wish) -> Self {
        Self { wish, rest: Vec::new().into_iter(), made: None, name: String::new() }
    }
    /// Takes a message.
    ///
    /// # Errors
    /// Why this connection cannot be.
    pub fn take(&mut self, message: &Message) -> Result<Step, Refused> {
        match message {
            Message::Hello(hello) if self.made.is_none() => {
                self.begin(hello)?;
                self.next()
            }
            Message::Ack if self.made.is_some() => self.next(),
            Message::Connected(interface) => {
                let made = self.made.take().ok_or("unexpected message")?;
                let who = (std::mem::take(&mut self.name), interface.to_string());
                link(made.regions, &made.rings, Some(made.slots), who).map(Step::Connected)
            }
            Message::Disconnect(said) => Ok(Step::Closed(said.text.to_string())),
            _ => Err("unexpected message".into()),
        }
    }
    fn next(&mut self) -> Result<Step, Refused> {
        let (message, file) = self.rest.next().ok_or("unexpected message")?;
        Ok(Step::Say(message, file))
    }
    fn begin(&mut self, hello: &Hello) -> Result<(), Refused> {
        let speaks = hello.min_version.get()..=hello.max_version.get();
        if !speaks.contains(&memif::VERSION) {
            return Err("unsupported version".into());
        }
        let most = [hello.max_to_master, hello.max_to_slave].map(|n| usize::from(n.get()) + 1);
        let counts = [0, 1].map(|direction| self.wish.rings[direction].min(most[direction]));
        let log2 = self.wish.log2_ring_size.min(hello.max_log2_ring_size);
        self.name = hello.name.to_string();
        let made = Made::new(counts, log2, self.wish.buffer_size)?;
        self.rest = made.0.said(&self.wish, made.1, log2).into_iter();
        self.made = Some(made.0);
        Ok(())
    }
}

impl Made {
    /// All rings, those to the master first, then the slots of each.
    fn new(counts: [usize; 2], log2: u8, buffer: u32) -> io::Result<(Self, OwnedFd)> {
        let (len, first_slot) = layout(counts, log2, buffer)?;
        let (region, file) = Region::create(len)?;
        let region = Arc::new(region);
        let mut numbers = 0..;
        let mut rings = |count| {
            let ring = |number: usize| {
                let bell = Bell::new()?;
                let offset = number * (RING_HEADER + (DESCRIPTOR << log2));
                // The master looks at them before the slave uses them.
                Ring::new(Arc::clone(&region), offset, log2).iter().for_each(Ring::begin);
                let offset = offset as u32;
                Ok(Offered { region: 0, offset, log2, bell })
            };
            numbers.by_ref().take(count).map(ring).collect::<io::Result<Vec<_>>>()
        };
        let rings = [rings(counts[0])?, rings(counts[1])?];
        let slots = Slots { start: first_slot, size: buffer };
        Ok((Self { regions: [region].into(), rings, slots }, file))
    }
    /// Messages about it.
    fn said(&self, wish: &Wish, file: OwnedFd, log2: u8) -> Vec<(Message, Option<Arc<OwnedFd>>)> {
        let init = Message::Init(Init {
            version: memif::VERSION.into(),
            id: wish.id.into(),
            mode: wish.mode,
            secret: Text::of(&wish.secret),
            name: Text::of(NAME),
        });
        let size = self.regions[0].size() as u64;
        let region = Message::AddRegion(AddRegion { index: 0.into(), size: size.into() });
        let mut said = vec![(init, None), (region, Some(Arc::new(file)))];
        for (rings, flags) in self.rings.iter().zip([memif::TO_MASTER, 0]) {
            said.extend(rings.iter().enumerate().map(|(index, ring)| {
                let ring_said = Message::AddRing(AddRing {
                    flags: flags.into(),
                    index: (index as u16).into(),
                    region: 0.into(),
                    offset: ring.offset.into(),
                    log2_ring_size: log2,
                    private_header: 0.into(),
                });
                (ring_said, Some(Arc::clone(ring.bell.descriptor())))
            }));
        }
        said.push((Message::Connect(Text::of(&wish.interface)), None));
        said
    }
}

/// Bytes of the memory that so many rings need, and where their slots begin.
///
/// # Errors
/// More than descriptors can address.
pub fn layout(counts: [usize; 2], log2: u8, buffer: u32) -> io::Result<(usize, u32)> {
    let rings = counts[0] + counts[1];
    let first = rings * (RING_HEADER + (DESCRIPTOR << log2));
    let len = first as u64 + ((rings as u64) << log2) * u64::from(buffer);
    let fits = u32::try_from(len).is_ok();
    let why = "rings and buffers of more than 4 GB";
    if !fits {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok((len as usize, first as u32))
}

/// Makes the ends of all rings. `slots` are the slave's.
fn link(
    regions: Regions,
    rings: &Rings,
    slots: Option<Slots>,
    (name, interface): (String, String),
) -> Result<Linked, Refused> {
    let mut number = 0;
    let mut line = |offered: &Offered| {
        let region = regions.get(usize::from(offered.region)).ok_or("ring outside all regions")?;
        let ring = Ring::new(Arc::clone(region), offered.offset as usize, offered.log2);
        let ring = ring.ok_or("ring outside of its region")?;
        let end = match slots {
            Some(Slots { start, size }) => {
                let first = number << offered.log2;
                number += 1;
                End::Slave(Slots { start: start + first * size, size })
            }
            None if !ring.is_begun() => return Err("wrong cookie".into()),
            None => End::Master,
        };
        Ok(Line { ring, regions: Arc::clone(&regions), end, bell: offered.bell.clone() })
    };
    let to_master = rings[0].iter().map(&mut line).collect::<Result<Vec<_>, Refused>>()?;
    let to_slave = rings[1].iter().map(&mut line).collect::<Result<Vec<_>, Refused>>()?;
    let (received, sent) =
        if slots.is_some() { (to_slave, to_master) } else { (to_master, to_slave) };
    let receiver = |line: Line| {
        let bell = line.bell.clone();
        (Receiver::new(line), bell)
    };
    let receivers = received.into_iter().map(receiver).collect();
    let senders = sent.into_iter().map(Sender::new).collect();
    Ok(Linked { receivers, senders, regions, name, interface })
}

#[cfg(test)]
mod tests;
