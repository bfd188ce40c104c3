//! `lldp-input`: announcements of neighbors.

use net::prelude::*;
use wire::lldp;

use super::ThreadState;

pub(super) const NAME: &str = "lldp-input";

/// Bytes of an identifier at most.
const LONGEST: usize = 255;

/// An identifier of a station or a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    /// Kind of the bytes.
    pub subtype: u8,
    /// Their number.
    pub len: u8,
    /// The bytes, and zeros behind them.
    pub bytes: [u8; LONGEST],
}

impl Id {
    fn of(id: lldp::Id<'_>) -> Self {
        let mut bytes = [0; LONGEST];
        let len = id.bytes.len().min(LONGEST);
        bytes[..len].copy_from_slice(&id.bytes[..len]);
        Self { subtype: id.subtype, len: len as u8, bytes }
    }
    /// The bytes.
    pub fn get(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Message of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Interface.
    pub interface: InterfaceIndex,
    /// Identifier of the station.
    pub chassis: Id,
    /// Identifier of its port.
    pub port: Id,
    /// Hold time in seconds.
    pub ttl: u16,
    /// All of it as a number.
    pub(super) hash: u64,
}

impl Event for Heard {
    const ROOM: usize = 64;
}

/// Hears what the other ends say.
#[derive(Clone)]
pub struct Input {
    pub(super) ports: SlabReader<ThreadState>,
    pub(super) events: EventSender<Heard>,
}

/// Reasons why a frame is not heard.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// lldp packets with bad TLVs.
    #[name("lldp packets with bad TLVs")]
    BadTlv,
    /// lldp packets received on disabled interfaces.
    #[name("lldp packets received on disabled interfaces")]
    Disabled,
}

/// Counters of [`Input`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// good lldp packets (processed).
    #[name("good lldp packets (processed)")]
    Processed,
    /// good lldp packets (cache hit).
    #[name("good lldp packets (cache hit)")]
    CacheHit,
}

impl Node for Input {
    const NAME: &'static str = NAME;
    type Next = Infallible;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut counted = [0; 2];
        frame.consume(|p| {
            let interface = InterfaceIndex(p.rx());
            let seen = self.ports.read(interface.0, epoch).filter(|seen| seen.is_on);
            let Some(seen) = seen else { return Err(Error::Disabled) };
            let said = lldp::parse(p.bytes()).ok_or(Error::BadTlv)?;
            let hash = p.bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            });
            let (chassis, port, ttl) = (Id::of(said.chassis), Id::of(said.port), said.ttl);
            p.trace(|_| Read { chassis, port, ttl });
            self.events.send(Heard { interface, chassis, port, ttl, hash });
            counted[usize::from(hash == seen.last)] += 1;
            Ok(())
        });
        frame.count(Count::Processed, counted[0]);
        frame.count(Count::CacheHit, counted[1]);
    }
}

/// The trace record of the node.
struct Read {
    chassis: Id,
    port: Id,
    ttl: u16,
}

impl Record for Read {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chassis, port) = (super::show::chassis(&self.chassis), super::show::port(&self.port));
        write!(f, "  chassis {chassis} port {port} ttl {}", self.ttl)
    }
}
