//! `lb4-gre4` and the others that routes of VIPs lead to: packets go to a server of the VIP.

use net::prelude::*;
use sessions::{Address, Flow, Key, Seen};

use crate::core::{Core, KNOWN, NEW, NO_SERVER, PORT, ServerView, Sources, UNTRACKED, VipView};
use crate::maglev::FREE;
use crate::packet::{Spreadable, enclose4, enclose6, look, redirect, translate};
use crate::sticky::{Found, Table};
use crate::vip::{GRE4, GRE6, L3DSR};

/// A hash that goes the same way on every router that has the same servers.
const SEED: u64 = 0x6d61_676c_6576;
/// Distinguishes flows of one VIP from those of another where the flow does not.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Sends packets for VIPs to servers, in one way.
#[derive(Clone)]
pub struct Spread<V, const HOW: usize, const FOR: usize> {
    version: PhantomData<V>,
    core: Core,
}

impl<V: Spreadable, const HOW: usize, const FOR: usize> Spread<V, HOW, FOR> {
    /// Node.
    pub fn new(core: &Core) -> Self {
        Self { version: PhantomData, core: core.clone() }
    }
}

/// Edges of nodes that send packets to servers.
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum Next {
    /// As the load balance of the server says, in IPv4.
    #[to("ip4-load-balance")]
    Ip4,
    /// The same in IPv6.
    #[to("ip6-load-balance")]
    Ip6,
}

/// Drops of nodes that send packets to servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// protocol not supported.
    #[name("protocol not supported")]
    Protocol,
    /// no active server.
    #[name("no server")]
    NoServer,
    /// no source address for GRE.
    #[name("no source address")]
    NoSource,
}

/// Counters of nodes that send packets to servers.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// no error.
    #[name("no error")]
    Spread,
}

/// The server that was chosen for a packet.
#[derive(Clone, Copy)]
pub struct Chosen<'a> {
    /// VIP.
    number: u32,
    /// The counter of the packet.
    counted: usize,
    server: Option<&'a ServerView>,
}

impl Chosen<'_> {
    /// The trace record.
    pub fn traced(&self) -> Traced {
        Traced { vip: self.number, server: self.server.map(|server| server.addr) }
    }
}

/// Data of a node during a frame.
pub struct Visit<'a> {
    core: &'a Core,
    flows: Option<&'a mut Table>,
    timeout: u32,
    now: u32,
    counts: [&'a [VolumeCounter]; 4],
    sources: Sources,
    epoch: Epoch<'a>,
}

impl<'a> Visit<'a> {
    /// For a frame of a thread.
    #[inline(always)]
    pub fn new(
        core: &'a Core,
        flows: Option<&'a mut Table>,
        (thread, now): (usize, f64),
        epoch: Epoch<'a>,
    ) -> Self {
        let counts = core.counts.each_ref().map(|rows| rows.row(thread));
        let (timeout, sources) = (core.flows.read(epoch).timeout, *core.sources.read(epoch));
        Self { core, flows, timeout, now: now as u32, counts, sources, epoch }
    }
    /// A VIP.
    #[inline(always)]
    pub fn vip(&self, number: u32) -> Option<&'a VipView> {
        self.core.vips.read(number, self.epoch)
    }
    /// Sends a packet for a VIP to the server that was chosen.
    #[inline(always)]
    pub fn send<V: Spreadable, const HOW: usize>(
        &self,
        p: &mut Buffer<'_>,
        chosen: Chosen<'_>,
        vip: &VipView,
        seen: &Seen<V::Address>,
    ) -> Result<Next, Error> {
        let Chosen { number, counted, server } = chosen;
        if let Some(count) = self.counts[counted].get(number as usize) {
            count.add(1, p.total_len() as u64);
        }
        let server = server.ok_or(Error::NoServer)?;
        let next = send::<V, HOW>(p, vip, server, seen, &self.sources)?;
        p.set_adjacency(server.balance);
        p.set_fib(0);
        Ok(next)
    }
    /// The server for a packet of a flow.
    #[inline(always)]
    pub fn choose<A: Address>(&mut self, number: u32, vip: &VipView, flow: &Flow<A>) -> Chosen<'a> {
        let flow = match vip.is_sticky {
            true => Flow::new((flow.src, 0), (flow.src, 0), Protocol(0), 0),
            false => *flow,
        };
        // Who knows the hash that chooses a server cannot say which flows share a bucket.
        let key = flow.hash(self.core.secret) ^ u64::from(number).wrapping_mul(ODD);
        let (servers, epoch) = (&self.core.servers, self.epoch);
        let is_current = |at: u32, generation: u32| {
            servers.read(at, epoch).is_some_and(|server| server.generation == generation)
        };
        let found = match &mut self.flows {
            Some(flows) => flows.find(key, self.now, self.timeout, is_current),
            None => Found::NoRoom,
        };
        if let Found::Known(at) = found {
            return Chosen { number, counted: KNOWN, server: servers.read(at, epoch) };
        }
        let place = (flow.hash(SEED) >> 32) as usize & vip.places.len().wrapping_sub(1);
        let at = vip.places.get(place).copied().unwrap_or(FREE);
        let server = servers.read(at, epoch);
        let Some(&ServerView { generation, .. }) = server else {
            return Chosen { number, counted: NO_SERVER, server };
        };
        let counted = match (found, &mut self.flows) {
            (Found::New(room), Some(flows)) => {
                let until = self.now.saturating_add(self.timeout);
                flows.put(room, key, (at, generation), until);
                NEW
            }
            _ => UNTRACKED,
        };
        Chosen { number, counted, server }
    }
}

/// Makes a packet ready for a server.
#[inline(always)]
fn send<V: Spreadable, const HOW: usize>(
    p: &mut Buffer<'_>,
    vip: &VipView,
    server: &ServerView,
    seen: &Seen<V::Address>,
    sources: &Sources,
) -> Result<Next, Error> {
    match (HOW, server.addr) {
        (GRE4, IpAddr::V4(_)) if sources.ip4.is_unspecified() => Err(Error::NoSource),
        (GRE6, IpAddr::V6(_)) if sources.ip6.is_unspecified() => Err(Error::NoSource),
        (GRE4, IpAddr::V4(to)) => {
            enclose4(p, V::GRE, sources.ip4, to).ok_or(Error::Protocol)?;
            Ok(Next::Ip4)
        }
        (GRE6, IpAddr::V6(to)) => {
            enclose6(p, V::GRE, sources.ip6, to).ok_or(Error::Protocol)?;
            Ok(Next::Ip6)
        }
        (GRE4 | GRE6, _) => Err(Error::NoServer),
        (_, addr) => {
            let to = V::address(addr).ok_or(Error::NoServer)?;
            let done = match HOW {
                L3DSR => redirect(p, seen, to, vip.dscp),
                _ => translate(p, seen, (to, vip.target_port)),
            };
            done.ok_or(Error::Protocol)?;
            Ok(if V::INDEX == 0 { Next::Ip4 } else { Next::Ip6 })
        }
    }
}

impl<V: Spreadable, const HOW: usize, const FOR: usize> Node for Spread<V, HOW, FOR> {
    const NAME: &'static str = V::NAMES[HOW][FOR];
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, now) = (frame.epoch(), frame.thread(), frame.now());
        let core = &self.core;
        let mut lent = core.flows.read(epoch).lend(thread);
        let mut visit = Visit::new(core, lent.as_deref_mut(), (thread, now), epoch);
        let mut sent = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let prefix = core.prefixes.read(p.adjacency(), epoch).ok_or(Error::NoServer)?;
                let seen = look::<V>(p).ok_or(Error::Protocol)?;
                let number = match FOR {
                    PORT => prefix.of_port(seen.flow.protocol(), seen.flow.dst_port),
                    _ => prefix.whole,
                };
                let number = number.ok_or(Error::Protocol)?;
                let vip = visit.vip(number).ok_or(Error::NoServer)?;
                let chosen = visit.choose(number, vip, &seen.flow);
                p.trace(|_| chosen.traced());
                let next = visit.send::<V, HOW>(p, chosen, vip, &seen)?;
                sent += 1;
                Ok(next)
            },
        );
        frame.count(Count::Spread, sent);
    }
}

/// The trace record of the nodes.
pub struct Traced {
    vip: u32,
    server: Option<IpAddr>,
}

impl Record for Traced {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.server {
            Some(server) => write!(f, "  lb vip {} as {server}", self.vip),
            None => write!(f, "  lb vip {} without a server", self.vip),
        }
    }
}
