//! `lacp-input`: frames of the partner.

use net::prelude::*;
use wire::lacp::{LACP, MARKER, Marker, Party, Pdu};

use super::Seen;

pub(super) const NAME: &str = "lacp-input";

/// A received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Description of both ends.
    Pdu {
        /// Interface.
        interface: InterfaceIndex,
        /// The message.
        pdu: Pdu,
        /// The same as a number.
        hash: u64,
    },
    /// A request to be answered.
    Marker {
        /// Interface.
        interface: InterfaceIndex,
        /// The request.
        marker: Marker,
    },
}

impl Event for Heard {
    const ROOM: usize = 128;
}

/// Hears what the other ends say.
#[derive(Clone)]
pub struct Input {
    pub(super) ports: SlabReader<Seen>,
    pub(super) events: EventSender<Heard>,
}

/// Reasons why a frame is not heard.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// unsupported slow protocol packets.
    #[name("unsupported slow protocol packets")]
    Unsupported,
    /// bad lacp packets -- packet too small.
    #[name("bad lacp packets -- packet too small")]
    TooSmall,
    /// bad lacp packets -- bad TLV length.
    #[name("bad lacp packets -- bad TLV length")]
    BadLength,
    /// lacp packets received on disabled interfaces.
    #[name("lacp packets received on disabled interfaces")]
    Disabled,
    /// loopback port.
    #[name("loopback port")]
    Loopback,
}

/// Counters of [`Input`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// good lacp packets -- consumed.
    #[name("good lacp packets -- consumed")]
    Consumed,
    /// good lacp packets -- cache hit.
    #[name("good lacp packets -- cache hit")]
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
            let seen = self.ports.read(interface.0, epoch);
            let known = seen.and_then(|seen| Some((seen.system?, seen.last)));
            let (system, last) = known.ok_or(Error::Disabled)?;
            match p.bytes().first() {
                Some(&LACP) => {
                    let pdu = *p.header::<Pdu>().ok_or(Error::TooSmall)?;
                    p.trace(|_| Said { actor: pdu.actor, partner: pdu.partner });
                    if !pdu.is_well_formed() {
                        return Err(Error::BadLength);
                    }
                    if pdu.actor.system == system {
                        return Err(Error::Loopback);
                    }
                    let parties = [pdu.actor, pdu.partner];
                    let hash = hash(zerocopy::IntoBytes::as_bytes(&parties));
                    self.events.send(Heard::Pdu { interface, pdu, hash });
                    counted[usize::from(hash == last)] += 1;
                    Ok(())
                }
                Some(&MARKER) => {
                    let marker = *p.header::<Marker>().ok_or(Error::TooSmall)?;
                    p.trace(|_| Marked(marker));
                    if marker.kind != Marker::REQUEST {
                        return Err(Error::Unsupported);
                    }
                    if marker.len != 16 {
                        return Err(Error::BadLength);
                    }
                    self.events.send(Heard::Marker { interface, marker });
                    counted[0] += 1;
                    Ok(())
                }
                _ => Err(Error::Unsupported),
            }
        });
        frame.count(Count::Consumed, counted[0]);
        frame.count(Count::CacheHit, counted[1]);
    }
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The trace record of the node.
struct Said {
    actor: Party,
    partner: Party,
}

/// The trace record of a request of the marker protocol, or of an answer.
struct Marked(Marker);

impl Record for Marked {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Marker { version, kind, len, port, system, transaction, .. } = self.0;
        let name = if kind == Marker::ANSWER { "Marker Response" } else { "Marker Information" };
        writeln!(f, "  Markerv{version}")?;
        writeln!(f, "  {name} TLV: type {kind}\n  {name} TLV: length {len}")?;
        writeln!(f, "  Requester port: {port}")?;
        writeln!(f, "  Requester system: {system}")?;
        write!(f, "  Requester transaction ID: {transaction}")
    }
}

impl Record for Said {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut party = |what, party: &Party| {
            let Party { system, key, port, state, .. } = party;
            write!(f, "  {what} system {system} key {key} port {port} state {state:#04x}")
        };
        party("actor", &self.actor)?;
        party("partner", &self.partner)
    }
}
