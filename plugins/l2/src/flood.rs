//! `l2-flood`: a copy of a frame for every port of its domain but the one it came from and those of
//! its split horizon group. `l2-uu-fwd`: frames for unknown addresses to the one interface for
//! them.

use net::gso;
use net::interface::{Counters, Port};
use net::prelude::*;

use super::packet::{self, FrameTrace, Layer2, NotOurs, Protocol};
use super::state::Tables;

/// Floods frames.
#[derive(Clone)]
pub struct Flood {
    pub(super) tables: Tables,
    pub(super) interfaces: SlabReader<Port>,
    pub(super) counters: Arc<Counters>,
    /// Receivers of the frame under way.
    pub(super) targets: Vec<u32>,
}

/// Edges of [`Flood`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To an interface.
    #[to("l2-output")]
    Output,
    /// To this router.
    #[to("ip4-input")]
    Ip4,
    /// To this router.
    #[to("ip6-input")]
    Ip6,
    /// To this router.
    #[to("arp-input")]
    Arp,
}

impl From<Protocol> for Next {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Ip4 => Self::Ip4,
            Protocol::Ip6 => Self::Ip6,
            Protocol::Arp => Self::Arp,
        }
    }
}

/// Drops of [`Flood`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// L2 replication failures.
    #[name("L2 replication failures")]
    Replication,
    /// L2 replication complete.
    #[name("L2 replication complete")]
    Complete,
    /// BVI L3 mac mismatch.
    #[name("BVI L3 mac mismatch")]
    BviMac,
    /// BVI packet with unhandled ethertype.
    #[name("BVI packet with unhandled ethertype")]
    BviType,
}

impl From<NotOurs> for Error {
    fn from(why: NotOurs) -> Self {
        match why {
            NotOurs::Mac => Self::BviMac,
            NotOurs::Type => Self::BviType,
        }
    }
}

/// Counters of [`Flood`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// L2 flood packets.
    #[name("L2 flood packets")]
    Packets,
}

impl Node for Flood {
    const NAME: &'static str = "l2-flood";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, count) = (frame.epoch(), frame.thread(), frame.len() as u64);
        frame.each(
            #[inline(always)]
            |p| self.flood(p, epoch, thread),
        );
        frame.count(Count::Packets, count);
    }
}

impl Flood {
    #[inline(never)]
    fn flood(
        &mut self,
        p: &mut Packet<'_, Self>,
        epoch: Epoch<'_>,
        thread: usize,
    ) -> Result<Next, Error> {
        let (rx, of) = (p.rx(), p.payload::<Layer2>());
        p.trace(|p| FrameTrace::of("l2-flood", rx, p));
        let domain = self.tables.domains.read(of.domain.into(), epoch).ok_or(Error::Complete)?;
        let gets = |m: &&(u32, u8)| m.0 != rx && (of.group == 0 || m.1 != of.group);
        self.targets.clear();
        self.targets.extend(domain.members.iter().filter(gets).map(|m| m.0));
        // The router's own port is the last one: what it gets is no frame any more.
        let (last, others) = self.targets.split_last().ok_or(Error::Complete)?;
        if !others.is_empty() {
            copies(p, others);
        }
        if domain.bvi != Some(*last) {
            p.set_tx(*last);
            return Ok(Next::Output);
        }
        let port = self.interfaces.read(*last, epoch).ok_or(Error::BviMac)?;
        match packet::receive(p, *last, port, (&self.counters, thread)) {
            Ok(protocol) => Ok(protocol.into()),
            // Others have got it.
            Err(NotOurs::Mac | NotOurs::Type) if !others.is_empty() => Err(Error::Complete),
            Err(why) => Err(why.into()),
        }
    }
}

/// Sends a copy of a frame to each of some interfaces.
fn copies(p: &mut Packet<'_, Flood>, to: &[u32]) {
    let done = gso::with_bytes(p, |p, bytes| {
        for interface in to {
            if copy(p, bytes, *interface).is_none() {
                p.error(Error::Replication);
            }
        }
    });
    if done.is_none() {
        to.iter().for_each(|_| p.error(Error::Replication));
    }
}

fn copy(p: &mut Packet<'_, Flood>, bytes: &[u8], to: u32) -> Option<()> {
    let (payload, header_len) = (p.payload::<Layer2>(), packet::header_len(p) as i16);
    let mut new = gso::copy(p, bytes)?;
    let offset = new.offset();
    new.set_l2_offset(offset);
    new.set_l3_offset(offset + header_len);
    new.add_flags(graph::Flags::L2.with(graph::Flags::L3));
    new.set_payload(payload);
    new.set_tx(to);
    new.send(Next::Output);
    Some(())
}

/// Forwards frames to unknown destinations.
#[derive(Clone)]
pub struct UnknownForward {
    pub(super) tables: Tables,
}

/// Edges of [`UnknownForward`].
#[derive(Clone, Copy, graph::Next)]
pub enum UnknownNext {
    /// To the interface.
    #[to("l2-output")]
    Output,
    /// It came from there.
    #[along]
    Others,
}

/// Counters of [`UnknownForward`].
#[derive(Clone, Copy, graph::Count)]
pub enum UnknownCount {
    /// L2 UU fwd.
    #[name("L2 UU fwd")]
    Packets,
}

impl Node for UnknownForward {
    const NAME: &'static str = "l2-uu-fwd";
    const EXPLAINABLE: bool = true;
    type Next = UnknownNext;
    type Error = std::convert::Infallible;
    type Count = UnknownCount;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, mut count) = (frame.epoch(), 0);
        frame.each(|p| {
            let domain = self.tables.domains.read(p.payload::<Layer2>().domain.into(), epoch);
            let rx = p.rx();
            p.trace(|p| FrameTrace::of("l2-uu-fwd", rx, p));
            Ok(match domain.and_then(|d| d.unknown).filter(|to| *to != rx) {
                Some(to) => {
                    p.set_tx(to);
                    count += 1;
                    UnknownNext::Output
                }
                None => UnknownNext::Others,
            })
        });
        frame.count(UnknownCount::Packets, count);
    }
}
