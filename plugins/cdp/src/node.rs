//! `cdp-input`: announcements of neighbors.

use net::prelude::*;
use wire::cdp::{self, Bad, FRONT};
use wire::ethernet::Header;

pub(super) const NAME: &str = "cdp-input";

/// Bytes of a text that are kept.
const LONGEST: usize = 64;

/// A text written by a neighbor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    bytes: [u8; LONGEST],
    len: u8,
}

impl Said {
    fn of(text: &[u8]) -> Self {
        let mut bytes = [0; LONGEST];
        let len = text.len().min(LONGEST);
        bytes[..len].copy_from_slice(&text[..len]);
        Self { bytes, len: len as u8 }
    }
    /// Printable part of it.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes[..usize::from(self.len)]);
        text.chars().filter(|c| !c.is_control()).collect()
    }
}

/// Message of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Interface.
    pub interface: InterfaceIndex,
    /// Name of the station.
    pub device: Said,
    /// Name of its port.
    pub port: Said,
    /// Its platform.
    pub platform: Said,
    /// Hold time in seconds.
    pub ttl: u8,
}

impl Event for Heard {
    const ROOM: usize = 64;
}

/// Hears what the other ends say.
#[derive(Clone)]
pub struct Input {
    is_on: Reader<bool>,
    events: EventSender<Heard>,
    /// The last message, which many say again and again.
    last: Option<Heard>,
}

/// Reason why a message is not taken.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// cdp packets with bad TLVs.
    #[name("cdp packets with bad TLVs")]
    BadTlv,
    /// cdp packets with bad protocol versions.
    #[name("cdp packets with bad protocol versions")]
    BadVersion,
    /// cdp packets with bad checksums.
    #[name("cdp packets with bad checksums")]
    BadChecksum,
    /// cdp packets received on disabled interfaces.
    #[name("cdp packets received on disabled interfaces")]
    Disabled,
}

impl From<Bad> for Error {
    fn from(bad: Bad) -> Self {
        match bad {
            Bad::Version => Self::BadVersion,
            Bad::Sum => Self::BadChecksum,
            Bad::Element => Self::BadTlv,
        }
    }
}

/// Counters of [`Input`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// good cdp packets (processed).
    #[name("good cdp packets (processed)")]
    Processed,
    /// good cdp packets (cache hit).
    #[name("good cdp packets (cache hit)")]
    CacheHit,
}

impl Input {
    pub(super) fn new(is_on: Reader<bool>, events: EventSender<Heard>) -> Self {
        Self { is_on, events, last: None }
    }
}

/// The message without what fills its frame up: the length of the frame says where it ends.
fn message(frame: &[u8], bytes: usize) -> Option<usize> {
    let (header, _) = Header::ref_from_prefix(frame).ok()?;
    let len = usize::from(header.ethertype.get());
    Some(len.checked_sub(FRONT.len())?.min(bytes))
}

impl Node for Input {
    const NAME: &'static str = NAME;
    type Next = Infallible;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let is_on = *self.is_on.read(frame.epoch());
        let mut counted = [0; 2];
        frame.consume(|p| {
            if !is_on {
                return Err(Error::Disabled);
            }
            let len = message(p.bytes_from(p.l2_offset()), p.len()).unwrap_or(p.len());
            let said = cdp::parse(&p.bytes()[..len])?;
            let [device, port, platform] = [said.device, said.port, said.platform].map(Said::of);
            let interface = InterfaceIndex(p.rx());
            let heard = Heard { interface, device, port, platform, ttl: said.ttl };
            p.trace(|_| heard);
            self.events.send(heard);
            counted[usize::from(self.last == Some(heard))] += 1;
            self.last = Some(heard);
            Ok(())
        });
        frame.count(Count::Processed, counted[0]);
        frame.count(Count::CacheHit, counted[1]);
    }
}

impl Record for Heard {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, port) = (self.device.text(), self.port.text());
        write!(f, "  device {device} port {port} ttl {}", self.ttl)
    }
}
