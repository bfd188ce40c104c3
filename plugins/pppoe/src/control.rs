//! `pppoe-cp-dispatch`: discovery goes to the control plane, and its answers to clients.

use net::interface::{EdgesReader, Port};
use net::prelude::*;
use wire::pppoe::{Header, VERSION_TYPE};

use super::sessions::{SessionsReader, key};

pub(super) const NAME: &str = "pppoe-cp-dispatch";

/// A client was heard on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// Client.
    pub mac: MacAddr,
    /// Interface.
    pub interface: InterfaceIndex,
}

impl Event for Learned {}

/// State by which nodes send frames to the control plane and back.
#[derive(Clone)]
pub struct Control {
    pub(super) sessions: SessionsReader,
    edges: EdgesReader,
    ports: SlabReader<Port>,
    events: EventSender<Learned>,
}

impl Control {
    pub(super) fn new(
        sessions: &SessionsReader,
        edges: EdgesReader,
        ports: SlabReader<Port>,
        events: EventSender<Learned>,
    ) -> Self {
        Self { sessions: sessions.clone(), edges, ports, events }
    }
    /// Makes a packet the frame that it was, for the control plane or from there for a client;
    /// `None` when there is no control plane, or nothing is known of the client.
    pub(super) fn forward(&mut self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<Slot> {
        let (header, _) = ethernet::Header::ref_from_prefix(p.bytes_from(p.l2_offset())).ok()?;
        let mut header = *header;
        let (rx, control) = (p.rx(), *self.sessions.control.read(epoch));
        let table = self.sessions.table.read(epoch);
        let to = if rx == control {
            table.find(key(header.dst, 0)) as u32
        } else {
            let is_known = table.find(key(header.src, 0)) == u64::from(rx);
            if !is_known && !header.src.is_multicast() && header.src != MacAddr::ZERO {
                self.events.send(Learned { mac: header.src, interface: InterfaceIndex(rx) });
            }
            control
        };
        if to == 0 {
            return None;
        }
        let slot = self.edges.read(epoch).to(to)?;
        if rx == control {
            // A client sends the frames of its session to the address that answered: this router's.
            header.src = self.ports.read(to, epoch)?.mac;
        }
        // Tags are those of its receive interface.
        let ethertype = p.bytes_from(p.l3_offset() - 2).first_chunk::<2>().copied()?;
        let place = p.prepend(size_of::<ethernet::Header>())?;
        place.copy_from_slice(header.as_bytes());
        place[12..].copy_from_slice(&ethertype);
        p.set_tx(to);
        Some(slot)
    }
}

/// Sends discovery to the control plane, and its answers to clients.
#[derive(Clone)]
pub struct CpDispatch(pub(super) Control);

/// Edges of [`CpDispatch`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// `<interface>-output`.
    #[dynamic]
    Output(Slot),
}

/// Drops of [`CpDispatch`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// bad version and type in pppoe header.
    #[name("bad version and type in pppoe header")]
    BadVersion,
    /// no such sessions.
    #[name("no such sessions")]
    NoSession,
}

/// Counters of [`CpDispatch`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// control plane packet.
    #[name("control plane packet")]
    Control,
}

impl Node for CpDispatch {
    const NAME: &'static str = NAME;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, mut count) = (frame.epoch(), 0);
        frame.each(
            #[inline(always)]
            |p| {
                let header = p.header::<Header>().filter(|h| h.version_type == VERSION_TYPE);
                let header = *header.ok_or(Error::BadVersion)?;
                let slot = self.0.forward(p, epoch).ok_or(Error::NoSession)?;
                seen(p, &header);
                count += 1;
                Ok(Next::Output(slot))
            },
        );
        frame.count(Count::Control, count);
    }
}

/// Notes a frame of the control plane in its trace.
pub(super) fn seen<N>(p: &mut Packet<'_, N>, header: &Header) {
    let (from, to) = (p.rx(), p.tx());
    p.trace(|_| Seen { code: header.code, session: header.session.get(), from, to });
}

struct Seen {
    code: u8,
    session: u16,
    from: u32,
    to: u32,
}

impl Record for Seen {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|index| names.name("interface", index));
        write!(f, "  code {:#04x} session {}: {from} -> {to}", self.code, self.session)
    }
}
