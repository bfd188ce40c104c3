//! `l2-fwd`: sends a frame to the interface where its destination is known to be.

use graph::BLOCK;
use infra::table::exact::View;
use net::interface::{Counters, Port};
use net::prelude::*;

use super::fib::{self, Entry};
use super::packet::{self, FrameTrace, Layer2, NotOurs, Protocol};
use super::state::Tables;

/// Forwards frames.
#[derive(Clone)]
pub struct Forward {
    pub(super) tables: Tables,
    pub(super) interfaces: SlabReader<Port>,
    pub(super) counters: Arc<Counters>,
    /// Keys of the block under way and of the next one.
    pub(super) keys: [[u64; BLOCK]; 2],
}

/// Edges of [`Forward`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Unknown destination: treatment of such frames.
    #[along]
    Unknown,
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

/// Drops of [`Forward`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// BVI L3 MAC mismatch.
    #[name("BVI L3 MAC mismatch")]
    BviMac,
    /// BVI packet with unhandled ethertype.
    #[name("BVI packet with unhandled ethertype")]
    BviType,
    /// Filter Mac Drop.
    #[name("Filter Mac Drop")]
    Filter,
    /// Reflection Drop.
    #[name("Reflection Drop")]
    Reflection,
}

impl From<NotOurs> for Error {
    fn from(why: NotOurs) -> Self {
        match why {
            NotOurs::Mac => Self::BviMac,
            NotOurs::Type => Self::BviType,
        }
    }
}

/// Counters of [`Forward`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// L2 forward packets.
    #[name("L2 forward packets")]
    Packets,
    /// L2 forward hits.
    #[name("L2 forward hits")]
    Hits,
    /// L2 forward misses.
    #[name("L2 forward misses")]
    Misses,
}

#[inline(always)]
fn key(p: &Buffer<'_>) -> u64 {
    fib::key(p.payload::<Layer2>().domain, packet::destination(p.bytes()))
}

impl Tables {
    /// Interface that a usual frame goes on to.
    #[inline(always)]
    pub fn egress(&self, entry: Entry, rx: u32, domain: u16, epoch: Epoch<'_>) -> Option<u32> {
        entry.egress(rx).filter(|_| self.is_valid(entry, domain, epoch))
    }
    /// Whether what was learned still counts: flushed neither with its domain nor its interface,
    /// which is still a port of the domain.
    #[inline(always)]
    fn is_valid(&self, entry: Entry, domain: u16, epoch: Epoch<'_>) -> bool {
        let port = self.ports.read(entry.interface(), epoch);
        port.is_some_and(|port| {
            port.domain == domain && (entry.has(fib::STATIC) || port.sequence == entry.sequence())
        })
    }
}

impl Node for Forward {
    const NAME: &'static str = "l2-fwd";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, count) = (frame.epoch(), frame.thread(), frame.len() as u64);
        let view = self.tables.fib.read(epoch);
        let tables = &self.tables;
        let (mut keys, mut misses) = (self.keys, 0);
        frame.passes(
            #[inline(always)]
            |packets| {
                let end = packets.all().end;
                // Where the first and the last packet are of one flow, most of them are.
                let mut ends = [(0, 0); 2];
                let Some(last) = end.checked_sub(1) else { return };
                for (place, found) in [0, last].into_iter().zip(&mut ends) {
                    packets.look(place..place + 1, |_, p| *found = (key(p), p.rx()));
                }
                let [(host, rx), last] = ends;
                let to = (last == ends[0])
                    .then(|| tables.egress(Entry(view.find(host)), rx, host as u16, epoch));
                if let Some(to) = to.flatten() {
                    packets.usual(packets.all(), |_, p| {
                        if key(p) != host || p.rx() != rx {
                            return None;
                        }
                        p.set_tx(to);
                        Some(Next::Output)
                    });
                    if !packets.are_left(packets.all()) {
                        return;
                    }
                } else {
                    packets.leave(packets.all());
                }
                fib::look(packets, key, 0..end.min(BLOCK), view, &mut keys[0]);
                for (block, start) in (0..end).step_by(BLOCK).enumerate() {
                    let (here, next) = (start..end.min(start + BLOCK), start + BLOCK);
                    if next < end {
                        fib::look(
                            packets,
                            key,
                            next..end.min(next + BLOCK),
                            view,
                            &mut keys[(block + 1) % 2],
                        );
                    }
                    let keys = &keys[block % 2];
                    packets.rest(here.clone(), |place, p| {
                        let key = keys[place % BLOCK];
                        let to = tables.egress(Entry(view.find(key)), p.rx(), key as u16, epoch)?;
                        p.set_tx(to);
                        Some(Next::Output)
                    });
                    packets.others(
                        here,
                        #[inline(always)]
                        |_, p| {
                            let next = self.look_closer(p, view, epoch, thread);
                            misses += u64::from(matches!(next, Ok(Next::Unknown)));
                            next
                        },
                    );
                }
            },
        );
        frame.count(Count::Packets, count);
        frame.count(Count::Hits, count - misses);
        frame.count(Count::Misses, misses);
    }
}

impl Forward {
    #[inline(never)]
    fn look_closer(
        &self,
        p: &mut Packet<'_, Self>,
        view: View<'_>,
        epoch: Epoch<'_>,
        thread: usize,
    ) -> Result<Next, Error> {
        let (rx, domain) = (p.rx(), p.payload::<Layer2>().domain);
        p.trace(|p| FrameTrace::of("l2-fwd", rx, p));
        let entry = Entry(view.find(key(p)));
        let is_known = entry.0 != 0 && self.tables.is_valid(entry, domain, epoch);
        p.say(|p| {
            let host = packet::address(packet::destination(p.bytes()));
            move |names| match is_known {
                false => format!("unknown destination {host}"),
                true if entry.has(fib::FILTER) => format!("frames for {host} are dropped"),
                true => format!("{host} is on {}", names.name("interface", entry.interface())),
            }
        });
        let is_own = packet::source(p.bytes()) == packet::destination(p.bytes());
        if p.is_explained() && is_own && !(is_known && entry.interface() == rx) {
            p.stop_explaining("a frame to its own sender, which is learned on the way");
        }
        if entry.has(fib::FILTER) {
            return Err(Error::Filter);
        }
        if !is_known {
            return Ok(Next::Unknown);
        }
        let to = entry.interface();
        if to == rx {
            return Err(Error::Reflection);
        }
        if entry.has(fib::BVI) {
            let port = self.interfaces.read(to, epoch).ok_or(Error::BviMac)?;
            return Ok(packet::receive(p, to, port, (&self.counters, thread))?.into());
        }
        p.set_tx(to);
        Ok(Next::Output)
    }
}
