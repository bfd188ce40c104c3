//! `pppoe_sessionN-tx`: puts packets into a session.

use net::prelude::*;
use wire::ethernet::Header;
use wire::pppoe::{PPP_IP4, PPP_IP6, SessionHeader};

/// Headers in front of packets, and the way on behind them.
#[derive(Clone, Debug)]
pub struct Encapsulation {
    pub dst: MacAddr,
    pub src: MacAddr,
    pub session: u16,
    /// The interface, and the edge to its output.
    pub to: (u32, Slot),
}

/// Puts packets into a session.
#[derive(Clone)]
pub struct Output {
    pub(super) sends: Reader<Encapsulation>,
}

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// `<interface>-output`.
    #[dynamic]
    To(Slot),
}

/// Drops of [`Output`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// neither IPv4 nor IPv6.
    #[name("neither IPv4 nor IPv6")]
    NoIp,
    /// no room for the headers of a session.
    #[name("no room for the headers of a session")]
    NoRoom,
}

/// Bytes of the headers.
const LEN: usize = size_of::<Header>() + size_of::<SessionHeader>();

impl Node for Output {
    const NAME: &'static str = "pppoe-tx";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let sends = self.sends.read(frame.epoch());
        let header = Header::new(sends.dst, sends.src, EtherType::PPPOE_SESSION);
        frame.each(|p| {
            let ppp = match p.bytes().first().map(|byte| byte >> 4) {
                Some(4) => PPP_IP4,
                Some(6) => PPP_IP6,
                _ => return Err(Error::NoIp),
            };
            // Both the number of PPP and the packet are counted in 16 bits.
            let len = u16::try_from(p.total_len()).ok().filter(|len| *len <= u16::MAX - 2);
            let session = SessionHeader::new(sends.session, ppp, len.ok_or(Error::NoRoom)?);
            let place = p.prepend(LEN).ok_or(Error::NoRoom)?;
            let (front, back) = place.split_at_mut(size_of::<Header>());
            front.copy_from_slice(header.as_bytes());
            back.copy_from_slice(session.as_bytes());
            p.set_tx(sends.to.0);
            p.trace(|_| Put { session: sends.session, to: sends.to.0 });
            Ok(Next::To(sends.to.1))
        });
    }
}

struct Put {
    session: u16,
    to: u32,
}

impl Record for Put {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  into session {} over {}", self.session, names.name("interface", self.to))
    }
}
