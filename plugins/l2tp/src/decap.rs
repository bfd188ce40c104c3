//! `l2tp-decap-local`: packets of sessions for an address of this router; `l2tp-decap`: on an
//! interface, whatever address they are for. What is no session's goes on there.

use net::interface::{Counters, Port};
use net::prelude::*;
use net::tunnel::forget_outer;

use super::{By, DECAP, L2TP};

/// Bytes of number and cookie, and of the layer 2 sublayer.
const HEADER: usize = 12;
const SUBLAYER: usize = 4;

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Interface.
    pub interface: u32,
    /// Index.
    pub session: u32,
    /// Cookies that its packets may have.
    pub cookies: [u64; 2],
    /// Whether the layer 2 sublayer follows the cookie.
    pub has_sublayer: bool,
}

/// All sessions.
#[derive(Default)]
pub struct Sessions {
    /// By what they are known.
    pub by: By,
    /// The sessions.
    pub all: HashMap<u128, Known>,
}

/// Takes frames out of packets of sessions.
#[derive(Clone)]
pub struct Decap<const IS_FEATURE: bool> {
    sessions: Reader<Sessions>,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
}

/// Edges of [`Decap`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<const IS_FEATURE: bool> {
    /// A frame came out.
    #[to("ethernet-input")]
    Frame,
    /// On with the features of the interface.
    #[along]
    Continue,
}

/// Drops of [`Decap`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// l2tpv3 session not found.
    #[name("l2tpv3 session not found")]
    NoSession,
    /// l2tpv3 local session id mismatches.
    #[name("l2tpv3 local session id mismatches")]
    WrongSession,
    /// l2tpv3 local cookie mismatches.
    #[name("l2tpv3 local cookie mismatches")]
    WrongCookie,
    /// l2tpv3 tunnel is down.
    #[name("l2tpv3 tunnel is down")]
    Down,
}

/// Counters of [`Decap`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// L2TP user (ip6) to L2 network pkts.
    #[name("L2TP user (ip6) to L2 network pkts")]
    Taken,
}

impl<const IS_FEATURE: bool> Decap<IS_FEATURE> {
    pub(super) fn new(
        sessions: Reader<Sessions>,
        (ports, counters): (SlabReader<Port>, Arc<Counters>),
    ) -> Self {
        Self { sessions, ports, counters }
    }
    /// Offset of the header of a packet in its current bytes; `None` for another protocol.
    #[inline(always)]
    fn start(p: &Buffer<'_>) -> Option<usize> {
        if !IS_FEATURE {
            return usize::try_from(p.l4_offset() - p.offset()).ok();
        }
        let upper = V6::upper(p).ok().filter(|upper| upper.protocol == L2TP)?;
        (!V6::is_fragment(p)).then_some(upper.offset)
    }
    /// The session of a packet, and the bytes in front of its frame.
    #[inline(always)]
    fn open(p: &Buffer<'_>, start: usize, sessions: &Sessions) -> Result<(Known, usize), Error> {
        let l3 = if IS_FEATURE { p.offset() } else { p.l3_offset() };
        let (outer, _) =
            ip6::Header::ref_from_prefix(p.bytes_from(l3)).map_err(|_| Error::NoSession)?;
        let header = p.bytes().get(start..).and_then(|bytes| bytes.first_chunk::<HEADER>());
        let [a, b, c, d, cookie @ ..] = *header.ok_or(Error::NoSession)?;
        let (session, cookie) = (u32::from_be_bytes([a, b, c, d]), u64::from_be_bytes(cookie));
        let (client, our) = (u128::from_be_bytes(outer.src), u128::from_be_bytes(outer.dst));
        let key = sessions.by.key(client, our, session);
        let known = *sessions.all.get(&key).ok_or(Error::NoSession)?;
        if known.session != session {
            return Err(Error::WrongSession);
        }
        if !known.cookies.contains(&cookie) {
            return Err(Error::WrongCookie);
        }
        Ok((known, start + HEADER + if known.has_sublayer { SUBLAYER } else { 0 }))
    }
}

impl<const IS_FEATURE: bool> Node for Decap<IS_FEATURE> {
    const NAME: &'static str = DECAP[!IS_FEATURE as usize];
    const EXPLAINABLE: bool = true;
    type Next = Next<IS_FEATURE>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, this) = (frame.epoch(), &*self);
        let sessions = this.sessions.read(epoch);
        let received = this.counters.rx.row(frame.thread());
        let mut taken = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let Some(start) = Self::start(p) else { return Ok(Next::Continue) };
                let (known, front) = match Self::open(p, start, sessions) {
                    Err(Error::NoSession) if IS_FEATURE => return Ok(Next::Continue),
                    opened => opened?,
                };
                let interface = known.interface;
                if !this.ports.read(interface, epoch).is_some_and(|port| port.up) {
                    return Err(Error::Down);
                }
                p.advance(front).ok_or(Error::NoSession)?;
                forget_outer(p);
                p.set_rx(interface);
                if let Some(counter) = received.get(interface as usize) {
                    counter.add(1, p.total_len() as u64);
                }
                taken += 1;
                p.trace(|_| Taken { interface, session: known.session });
                Ok(Next::Frame)
            },
        );
        frame.count(Count::Taken, taken);
    }
}

struct Taken {
    interface: u32,
    session: u32,
}

impl Record for Taken {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  session {} of {}", self.session, names.name("interface", self.interface))
    }
}
