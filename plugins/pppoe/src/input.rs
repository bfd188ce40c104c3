//! `pppoe-input`: packets of clients in their sessions.

use net::interface::{Counters, Port};
use net::prelude::*;
use wire::pppoe::{PPP_IP4, PPP_IP6, SessionHeader, VERSION_TYPE};

use super::control::{self, Control};
use super::sessions::key;

pub(super) const NAME: &str = "pppoe-input";

/// Takes packets out of sessions.
#[derive(Clone)]
pub struct Input {
    control: Control,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
}

impl Input {
    pub(super) fn new(
        control: Control,
        (ports, counters): (SlabReader<Port>, Arc<Counters>),
    ) -> Self {
        Self { control, ports, counters }
    }
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// IPv4.
    #[to("ip4-input")]
    Ip4,
    /// IPv6.
    #[to("ip6-input")]
    Ip6,
    /// `<interface>-output`, to the control plane or from there.
    #[dynamic]
    Output(Slot),
}

/// Drops of [`Input`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// bad version and type in pppoe header.
    #[name("bad version and type in pppoe header")]
    BadVersion,
    /// no such sessions.
    #[name("no such sessions")]
    NoSession,
    /// header length exceeds the packet, or is zero.
    #[name("bad length in pppoe header")]
    BadLength,
}

/// Counters of [`Input`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// good packets decapsulated.
    #[name("good packets decapsulated")]
    Decapsulated,
    /// control plane packet.
    #[name("control plane packet")]
    Control,
}

impl Node for Input {
    const NAME: &'static str = NAME;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let (mut taken, mut forwarded) = (0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let header = *p.header::<SessionHeader>().ok_or(Error::BadVersion)?;
                if (header.pppoe.version_type, header.pppoe.code) != (VERSION_TYPE, 0) {
                    return Err(Error::BadVersion);
                }
                let rx = p.rx();
                let next = match header.ppp.get() {
                    _ if rx == *self.control.sessions.control.read(epoch) => None,
                    PPP_IP4 => Some(Next::Ip4),
                    PPP_IP6 => Some(Next::Ip6),
                    _ => None,
                };
                let Some(next) = next else {
                    let slot = self.control.forward(p, epoch).ok_or(Error::NoSession)?;
                    control::seen(p, &header.pppoe);
                    forwarded += 1;
                    return Ok(Next::Output(slot));
                };
                let frame = ethernet::Header::ref_from_prefix(p.bytes_from(p.l2_offset()));
                let src = frame.map_err(|_| Error::NoSession)?.0.src;
                let number = header.pppoe.session.get();
                let found = self.control.sessions.table.read(epoch).find(key(src, number));
                let (over, session) = ((found >> 32) as u32, found as u32);
                let is_up = self.ports.read(session, epoch).is_some_and(|port| port.up);
                if number == 0 || found == 0 || over != rx || !is_up {
                    return Err(Error::NoSession);
                }
                // Short frames are filled up.
                let len = header.total_len().filter(|len| *len <= p.total_len());
                p.truncate_chain(len.ok_or(Error::BadLength)?);
                p.advance(size_of::<SessionHeader>()).ok_or(Error::BadLength)?;
                p.set_rx(session);
                self.counters.rx.row(thread)[session as usize].add(1, p.total_len() as u64);
                p.trace(|_| Taken { session, number });
                taken += 1;
                Ok(next)
            },
        );
        frame.count(Count::Decapsulated, taken);
        frame.count(Count::Control, forwarded);
    }
}

struct Taken {
    session: u32,
    number: u16,
}

impl Record for Taken {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  session {} of {}", self.number, names.name("interface", self.session))
    }
}
