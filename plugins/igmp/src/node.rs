//! The nodes: they check messages and hand them to control.

use net::prelude::*;
use wire::igmp;

use super::ThreadState;

pub(super) const NAME: &str = "igmp-input";

/// Longest message.
const LONGEST: usize = 1480;

/// A received message.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Where.
    pub interface: InterfaceIndex,
    /// Sender.
    pub from: Ipv4Addr,
    /// Whether it is a report, and no query.
    pub is_report: bool,
    len: u16,
    bytes: [u8; LONGEST],
}

impl Event for Arrived {
    const ROOM: usize = 256;
}

impl Arrived {
    /// The message.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

/// Reasons why a message is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// unspecified error: control has no room for more messages.
    #[name("unspecified error")]
    NoRoom,
    /// invalid ip4 protocol.
    #[name("invalid ip4 protocol")]
    Protocol,
    /// bad checksum.
    #[name("bad checksum")]
    Checksum,
    /// bad length.
    #[name("bad length")]
    Length,
    /// unknown igmp message type.
    #[name("unknown igmp message type")]
    Kind,
    /// IGMP not enabled on this interface.
    #[name("IGMP not enabled on this interface")]
    Off,
}

/// Further counters.
#[derive(Clone, Copy, Debug, graph::Count)]
pub enum Count {
    /// valid igmp packets.
    #[name("valid igmp packets")]
    Valid,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// A query.
    #[to("igmp-parse-query")]
    Query,
    /// A report.
    #[to("igmp-parse-report")]
    Report,
}

/// `igmp-input`: tells messages apart.
#[derive(Clone)]
pub struct Input {
    pub(super) ports: SlabReader<ThreadState>,
}

impl Node for Input {
    const NAME: &'static str = NAME;
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, mut valid) = (frame.epoch(), 0);
        frame.each(|p| {
            p.trace(|p| Seen { kind: message(p).first().copied().unwrap_or(0) });
            if p.header::<ip4::Header>().is_none_or(|ip| ip.protocol != wire::Protocol::IGMP) {
                return Err(Error::Protocol);
            }
            if !self.ports.read(p.rx(), epoch).is_some_and(|port| port.is_on) {
                return Err(Error::Off);
            }
            let message = message(p);
            if message.len() < 8 {
                return Err(Error::Length);
            }
            if !igmp::is_whole(message) {
                return Err(Error::Checksum);
            }
            let next = match message[0] {
                igmp::QUERY => Next::Query,
                igmp::REPORT => Next::Report,
                _ => return Err(Error::Kind),
            };
            valid += 1;
            Ok(next)
        });
        frame.count(Count::Valid, valid);
    }
}

/// `igmp-parse-query`: hands queries to control.
#[derive(Clone)]
pub struct ParseQuery {
    pub(super) events: EventSender<Arrived>,
}

/// `igmp-parse-report`: hands reports to control.
#[derive(Clone)]
pub struct ParseReport {
    pub(super) events: EventSender<Arrived>,
}

macro_rules! parser {
    ($node:ident, $name:literal, $is_report:literal, $is_good:expr) => {
        impl Node for $node {
            const NAME: &'static str = $name;
            type Next = std::convert::Infallible;
            type Error = Error;
            type Count = Count;
            const DROP: &'static str = "ip4-drop";

            #[inline(always)]
            fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
                let mut valid = 0;
                frame.consume(|p| {
                    let is_good: fn(&[u8]) -> bool = $is_good;
                    hand_over(p, $is_report, is_good, &mut self.events)?;
                    valid += 1;
                    Ok(())
                });
                frame.count(Count::Valid, valid);
            }
        }
    };
}

parser!(ParseQuery, "igmp-parse-query", false, |m| igmp::query(m).is_some());
parser!(ParseReport, "igmp-parse-report", true, |m| igmp::report(m, |_| ()).is_some());

fn hand_over(
    p: &Buffer<'_>,
    is_report: bool,
    is_good: fn(&[u8]) -> bool,
    events: &mut EventSender<Arrived>,
) -> Result<(), Error> {
    let from = p.header::<ip4::Header>().map(|ip| ip.src.into()).ok_or(Error::Length)?;
    let interface = InterfaceIndex(p.rx());
    let message = message(p);
    let len = message.len();
    let mut bytes = [0; LONGEST];
    bytes.get_mut(..len).ok_or(Error::Length)?.copy_from_slice(message);
    if !is_good(message) {
        return Err(Error::Length);
    }
    events.send(Arrived { interface, from, is_report, len: len as u16, bytes });
    Ok(())
}

/// The bytes behind the IP header, without padding of the link.
fn message<'p>(p: &'p Buffer<'_>) -> &'p [u8] {
    p.bytes_from(p.l4_offset())
}

/// The trace record of [`Input`].
struct Seen {
    kind: u8,
}

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            igmp::QUERY => f.write_str("  IGMP query"),
            igmp::REPORT => f.write_str("  IGMP report"),
            kind => write!(f, "  IGMP message of type {kind:#04x}"),
        }
    }
}
