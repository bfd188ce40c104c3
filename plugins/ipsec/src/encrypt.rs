//! `esp4-encrypt`, `ah4-encrypt` and their siblings: encrypt packets (RFC 4303 section 3.3, RFC
//! 4302 section 3.3). The policy nodes have already selected the SA; for protected tunnels it is
//! found by adjacency.

use graph::arc::Along;
use graph::{BLOCK, Edge, HandOff, HandsOff, Passes, Payload};
use infra::cpu;
use net::adjacency::Adjacency;
use net::adjacency::chain::Hop;
use net::drops::Problem;
use net::gso::{self, UNDONE};
use net::ip::Stacked;
use net::prelude::*;

use super::cut::cut;
use super::outside::spend_hop;
use super::protect::Sealing;
use super::runs::{self, Leave, MOST, Onwards, Run, To};
use super::sa::Sa;
use super::said::Said;
use super::seal::{Fit, Plan, seal, too_long};
use super::select::{OUTPUT, SEALED};
use super::selector::Limits;
use super::{Associations, Work};

/// The nodes.
pub const NODES: [&str; 7] = [
    "esp4-encrypt",
    "esp6-encrypt",
    "ah4-encrypt",
    "ah6-encrypt",
    "esp4-encrypt-tun",
    "esp6-encrypt-tun",
    "esp-mpls-encrypt-tun",
];
/// The nodes that hand packets to the thread of their SA.
pub const HANDOFFS: [&str; 7] = [
    "esp4-encrypt-handoff",
    "esp6-encrypt-handoff",
    "ah4-encrypt-handoff",
    "ah6-encrypt-handoff",
    "esp4-encrypt-tun-handoff",
    "esp6-encrypt-tun-handoff",
    "esp-mpls-encrypt-tun-handoff",
];
/// First index of the nodes for tunnels.
pub const TUNNELS: usize = 4;
/// Indices of the nodes for AH.
const AH: [usize; 2] = [2, 3];
/// Index of the node for MPLS packets.
const LABELLED: usize = 6;
/// Edges to the nodes that follow an adjacency and a load balance, for IPv4 and IPv6.
pub const ONWARD: [[Slot; 2]; 2] = [[Slot(2), Slot(3)], [Slot(4), Slot(5)]];
/// Flags that are valid only before encryption.
pub const CLEAR: Flags = Flags::L3.with(Flags::L4).with(Flags::CHECKSUM_OK).with(Flags::HASH);

/// Edges of [`Encrypt`].
#[derive(Clone, Copy)]
pub enum Next<const AT: usize> {
    /// The SA belongs to another thread.
    HandOff,
    /// To the outgoing interface of the packet.
    Sealed,
    /// Along the route to the peer.
    To(Slot),
    /// The packet was segmented, and the segments are processed one by one.
    Again,
    /// An ICMP error to the sender: the encrypted packet does not fit and must not be fragmented.
    Icmp,
}

impl<const AT: usize> graph::Next for Next<AT> {
    const EDGES: &'static [Edge] = &[
        Edge { to: HANDOFFS[AT], payload: if AT < TUNNELS { Work::NAME } else { "" } },
        Edge { to: if AT < TUNNELS { OUTPUT[AT % 2] } else { "adj-midchain-tx" }, payload: "" },
        Edge { to: "ip4-rewrite", payload: "" },
        Edge { to: "ip4-load-balance", payload: "" },
        Edge { to: "ip6-rewrite", payload: "" },
        Edge { to: "ip6-load-balance", payload: "" },
        Edge { to: NODES[AT], payload: if AT < TUNNELS { Work::NAME } else { "" } },
        Edge { to: ["ip4-icmp-error", "ip6-icmp-error"][AT % 2], payload: Problem::NAME },
    ];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        match self {
            Self::HandOff => 0,
            Self::Sealed => 1,
            Self::To(slot) => slot.0,
            Self::Again => 6,
            Self::Icmp => 7,
        }
    }
}

/// Drops of [`Encrypt`].
#[derive(Clone, Copy, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// sequence number cycled (packet dropped).
    #[name("seq_cycled")]
    Cycled,
    /// crypto engine error (packet dropped).
    #[name("crypto_engine_error")]
    Engine,
    /// no buffers (packet dropped).
    #[name("no_buffers")]
    NoBuffers,
    /// no protecting SA (packet dropped).
    #[name("no_protection")]
    NoProtection,
    /// no Encrypting SA (packet dropped).
    #[name("no_encryption")]
    NoEncryption,
    /// packet outside the traffic selectors (dropped).
    #[name("not_selected")]
    NotSelected,
}

/// Counters of [`Encrypt`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// pkts received.
    #[name("rx_pkts")]
    Received,
    /// Hand-off.
    #[name("handoff")]
    HandOff,
}

/// The node that encrypts packets.
pub struct Encrypt<const AT: usize> {
    pub(super) all: Associations,
    /// SAs of tunnels by adjacency.
    pub(super) protecting: SlabReader<Sealing>,
    pub(super) stacked: Stacked,
    pub(super) adjacencies: SlabReader<Adjacency>,
    /// The path of common packets after encryption.
    pub(super) onwards: Onwards,
    /// State of the sequence of IPv4 identifications.
    pub(super) sequence: u64,
}

/// The beginning of a run.
struct First<'e> {
    work: Work,
    run: Run<'e>,
    sa: &'e Sa,
    limits: Limits<'e>,
    /// Number of its path.
    number: u32,
    to: To<'e>,
}

/// Counts of a frame.
#[derive(Default)]
struct Tally {
    received: u64,
    elsewhere: u64,
    /// Whether a packet was segmented: later packets must stay behind its segments.
    is_behind: bool,
}

/// Each thread has its own sequence.
impl<const AT: usize> Clone for Encrypt<AT> {
    fn clone(&self) -> Self {
        Self {
            all: self.all.clone(),
            protecting: self.protecting.clone(),
            stacked: self.stacked.clone(),
            adjacencies: self.adjacencies.clone(),
            onwards: self.onwards.clone(),
            sequence: infra::cpu::time_stamp().unwrap_or_default(),
        }
    }
}

/// Sends an ICMP error to the sender of a packet after `front` bytes of layer 2.
#[cold]
fn tell<const AT: usize>(
    p: &mut Buffer<'_>,
    front: usize,
    problem: Problem,
) -> Result<Next<AT>, Error> {
    p.advance(front).ok_or(Error::Engine)?;
    p.clear_flags(Flags::L2);
    p.set_payload(problem);
    Ok(Next::Icmp)
}

/// Sends an encrypted packet to its interface, fragmented if it does not fit.
#[inline(always)]
fn leave<N: Node>(
    p: &mut Packet<'_, N>,
    (front, is_6): (usize, bool),
    fit: &Fit,
    sequence: &mut u64,
) -> Result<(), Error> {
    p.add_flags(SEALED);
    match fit {
        Fit::Cut(mtu) => cut(p, front, (*mtu, is_6), SEALED, sequence),
        _ => Ok(()),
    }
    .map_err(|_| Error::NoBuffers)
}

impl<const AT: usize> Encrypt<AT> {
    /// Whether a packet of a policy fits the link after encryption: that of the interface in
    /// transport mode, or the one towards the tunnel's remote address.
    #[inline(always)]
    fn fit(&self, p: &Buffer<'_>, sa: &Sa, plan: &Plan, front: usize, epoch: Epoch<'_>) -> Fit {
        let is_tunnel = sa.outside.is_tunnel();
        if is_tunnel && !sa.outside.forbids_cutting(&plan.inside) {
            return Fit::Whole;
        }
        let over = match is_tunnel {
            true => self.stacked.onward(&sa.hop, epoch).neighbor().map(|a| a.0),
            false => Some(p.adjacency()),
        };
        let mtu = over.and_then(|over| self.adjacencies.read(over, epoch)).map_or(0, |a| a.mtu);
        let len = p.total_len() - front;
        if mtu == 0 || plan.sealed(sa, front, len) <= mtu.into() {
            return Fit::Whole;
        }
        too_long(p, sa, plan, (front, len, mtu))
    }
    #[inline(always)]
    fn work<'e>(&'e self, p: &Buffer<'_>, epoch: Epoch<'e>) -> Option<(Work, Option<&'e Hop>)> {
        if AT < TUNNELS {
            return Some((p.payload::<Work>(), None));
        }
        let Sealing { sa, is_bare, hop } = self.protecting.read(p.adjacency(), epoch)?;
        Some((Work { sa: *sa, front: 0, via: (*is_bare).into() }, hop.as_ref()))
    }
    /// Destination of encrypted packets like this one.
    #[inline(always)]
    fn to<'e>(
        &'e self,
        p: &Buffer<'_>,
        (sa, hop): (&'e Sa, Option<&'e Hop>),
        epoch: Epoch<'e>,
    ) -> Option<(u32, To<'e>)> {
        const SEALED_EDGE: Slot = Slot(1);
        if AT >= TUNNELS {
            let index = p.adjacency();
            if let Some(hop) = hop {
                return Some((index, To::Route(hop)));
            }
            let a = self.adjacencies.read(index, epoch)?;
            let hop = a.hop.as_deref()?;
            return Some((index, To::Chained(SEALED_EDGE, hop, a.interface.0)));
        }
        let to = if sa.outside.is_tunnel() { To::Route(&sa.hop) } else { To::Edge(SEALED_EDGE) };
        Some((p.payload::<Work>().sa, to))
    }
    /// Whether a packet of a policy fits the link after encryption.
    #[inline(always)]
    fn fits(&self, p: &Buffer<'_>, sa: &Sa, front: usize, epoch: Epoch<'_>) -> bool {
        if AT >= TUNNELS {
            return true;
        }
        let plan = Plan::of(sa, p, front, false);
        plan.is_some_and(|plan| matches!(self.fit(p, sa, &plan, front, epoch), Fit::Whole))
    }
    /// Prefetches the SAs of packets if there are several.
    #[inline(always)]
    fn prefetch(&self, packets: &mut Passes<'_, Self>, epoch: Epoch<'_>) {
        if AT < TUNNELS {
            return;
        }
        let (mut first, mut are_alike) = (None, true);
        packets.look(0..packets.all().end.min(3), |_, p| {
            are_alike &= *first.get_or_insert(p.adjacency()) == p.adjacency();
        });
        if are_alike {
            return;
        }
        let sealing = |p: &Buffer<'_>| self.protecting.read(p.adjacency(), epoch);
        let sa = |p: &Buffer<'_>| self.all.sas.read(sealing(p)?.sa, epoch);
        let end = packets.all().end;
        for start in (0..end).step_by(BLOCK) {
            let block = start..end.min(start + BLOCK);
            packets.look(block.clone(), |_, p| sealing(p).into_iter().for_each(cpu::prefetch));
            packets.look(block.clone(), |_, p| sa(p).into_iter().for_each(Sa::prefetch));
            packets.look(block.clone(), |_, p| sa(p).into_iter().for_each(Sa::prefetch_parts));
            packets.look(block, |_, p| {
                sa(p).into_iter().for_each(|sa| sa.keys.cipher.prefetch());
            });
        }
    }
    /// Encrypts the run of common packets of one SA at the beginning of the given packets; returns
    /// their number.
    #[inline(always)]
    fn seal_run(
        &self,
        packets: &mut Passes<'_, Self>,
        places: Range<usize>,
        (leave, tally): (&mut Leave<'_>, &mut Tally),
        (epoch, thread): (Epoch<'_>, usize),
    ) -> usize {
        if AT == LABELLED || AH.contains(&AT) {
            return 0;
        }
        let mut first = None;
        packets.look(places.start..places.start + 1, |_, p| first = self.begin(p, thread, epoch));
        let Some(First { work, run, sa, limits, number, to }) = first else { return 0 };
        let mut count = 1;
        // Most runs have either one packet or many.
        for end in [2, MOST] {
            let more = places.start + count..places.end.min(places.start + end);
            let (mut is_over, so_far) = (false, count);
            packets.look(
                more.clone(),
                #[inline(always)]
                |_, p| {
                    let is_same = match AT < TUNNELS {
                        true => p.payload::<Work>() == work,
                        false => p.adjacency() == work.via,
                    };
                    let front = work.front as usize;
                    is_over = is_over || !is_same || !run.has(p) || !self.fits(p, sa, front, epoch);
                    is_over = is_over || !limits.may_leave(p);
                    count += usize::from(!is_over);
                },
            );
            if count < so_far + more.len() {
                break;
            }
        }
        leave.begin(packets, number, to);
        leave.flags = runs::flags(sa.outside.is_tunnel(), AT < TUNNELS);
        let places = places.start..places.start + count;
        let sealed = run.seal(packets.apart(places).1, count, leave);
        let Some(sealed) = sealed else { return 0 };
        leave.end_run(to, sealed);
        tally.received += sealed.packets;
        self.all.count_all(thread, work.sa, sealed);
        count
    }
    /// Starts a run with a packet, and finds its SA; for tunnels, the adjacency identifies the
    /// tunnel.
    #[inline(always)]
    fn begin<'e>(&'e self, p: &Buffer<'_>, thread: usize, epoch: Epoch<'e>) -> Option<First<'e>> {
        let (mut work, hop) = self.work(p, epoch)?;
        let sa = self.all.sas.read(work.sa, epoch)?;
        let is_bare = AT >= TUNNELS && work.via > 0;
        let run = Run::begin(p, sa, (work.front as usize, is_bare))?;
        let fits = self.fits(p, sa, work.front as usize, epoch);
        let limits = Limits::of_run(sa.limits().filter(|_| AT >= TUNNELS), p, is_bare);
        if !fits || !limits.may_leave(p) || self.all.thread_of(sa, thread, epoch) != thread {
            return None;
        }
        let (number, to) = self.to(p, (sa, hop), epoch)?;
        if AT >= TUNNELS {
            work.via = p.adjacency();
        }
        Some(First { work, run, sa, limits, number, to })
    }
    /// Encrypts one packet and adds its headers and trailer.
    #[inline(always)]
    fn seal_one(
        &self,
        p: &mut Packet<'_, Self>,
        (tally, sequence): (&mut Tally, &mut u64),
        (epoch, thread): (Epoch<'_>, usize),
    ) -> Result<Next<AT>, Error> {
        // Packets of policies have been segmented before the policy check.
        if AT >= TUNNELS && p.flags().has(UNDONE) {
            gso::apply(UNDONE, p).map_err(|_| Error::NoBuffers)?;
            tally.is_behind = true;
        }
        if tally.is_behind {
            return Ok(Next::Again);
        }
        let (work, hop) = self.work(p, epoch).ok_or(Error::NoProtection)?;
        let sa = self.all.sas.read(work.sa, epoch).ok_or(Error::NoProtection)?;
        if self.all.thread_of(sa, thread, epoch) != thread {
            tally.elsewhere += 1;
            p.set_payload(work);
            return Ok(Next::HandOff);
        }
        tally.received += 1;
        let len = p.total_len() as u64;
        let refuse = |why: Error| {
            self.all.refuse(thread, work.sa, why);
            why
        };
        let is_bare = AT >= TUNNELS && work.via > 0;
        if sa.protects_nothing() && !is_bare {
            return Err(refuse(Error::NoEncryption));
        }
        // The first word of an MPLS packet is a label, unless headers are in front.
        let is_labelled = AT == LABELLED && is_bare;
        let limits = Limits { selectors: sa.limits().filter(|_| AT >= TUNNELS), is_bare };
        if !limits.may_leave(p) || is_labelled && limits.selectors.is_some() {
            return Err(refuse(Error::NotSelected));
        }
        if is_bare && !is_labelled && !p.flags().has(Flags::LOCAL) {
            spend_hop(p);
        }
        let front = work.front as usize;
        let plan = Plan::of(sa, p, front, is_labelled);
        let plan = plan.ok_or_else(|| refuse(Error::Engine))?;
        let fit = match AT < TUNNELS {
            true => self.fit(p, sa, &plan, front, epoch),
            false => Fit::Whole,
        };
        if let Fit::Not(problem) = fit {
            return tell(p, front, problem);
        }
        let number = seal(p, sa, &plan, front).map_err(refuse)?;
        self.all.count(thread, work.sa, len - u64::from(work.front));
        p.clear_flags(CLEAR);
        if sa.outside.is_tunnel() {
            // The outer header is created here: its TTL is complete, and it may be fragmented.
            p.add_flags(Flags::LOCAL);
        }
        p.trace(|_| Said::of(work.sa, sa, number));
        if AT >= TUNNELS {
            let onward = |hop| Next::To(self.stacked.onward(hop, epoch).take(p));
            return Ok(hop.map_or(Next::Sealed, onward));
        }
        if !sa.outside.is_tunnel() {
            leave(p, (front, plan.is_6), &fit, sequence).map_err(refuse)?;
            return Ok(Next::Sealed);
        }
        Ok(Next::To(self.stacked.onward(&sa.hop, epoch).take(p)))
    }
}

impl<const AT: usize> Node for Encrypt<AT> {
    const NAME: &'static str = NODES[AT];
    const INPUT: &'static str = if AT < TUNNELS { Work::NAME } else { "" };
    const HOT: bool = true;
    type Next = Next<AT>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = match AT {
        LABELLED => "mpls-drop",
        _ => ["ip4-drop", "ip6-drop"][AT % 2],
    };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut sequence = self.sequence;
        let (at, this, mut tally) = ((frame.epoch(), frame.thread()), &*self, Tally::default());
        frame.passes(
            #[inline(always)]
            |packets| {
                let is_watched = packets.are_watched();
                let mut leave = Leave::new(&this.onwards, &this.stacked, at);
                this.prefetch(packets, at.0);
                let (mut place, end) = (0, packets.all().end);
                while place < end {
                    let places = place..(place + MOST).min(end);
                    if !is_watched && !tally.is_behind {
                        let sealed = this.seal_run(packets, places, (&mut leave, &mut tally), at);
                        place += sealed;
                        if sealed > 0 {
                            continue;
                        }
                    }
                    packets.leave(place..place + 1);
                    packets.others(place..place + 1, |_, p| {
                        this.seal_one(p, (&mut tally, &mut sequence), at)
                    });
                    place += 1;
                }
                leave.end(packets);
            },
        );
        frame.count(Count::Received, tally.received);
        frame.count(Count::HandOff, tally.elsewhere);
        self.sequence = sequence;
    }
}

/// Hands packets to the thread of their SA.
#[derive(Clone)]
pub struct ByAssociation<const AT: usize>(pub Encrypt<AT>);

impl<const AT: usize> HandsOff for ByAssociation<AT> {
    const NAME: &'static str = HANDOFFS[AT];
    const TO: &'static str = NODES[AT];
    const DROP: &'static str = Encrypt::<AT>::DROP;
    const INPUT: &'static str = if AT < TUNNELS { Work::NAME } else { "" };
    const OUTPUT: &'static str = Self::INPUT;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, On, AT> {
        let (epoch, thread, this) = (frame.epoch(), frame.thread(), &self.0);
        move |p| {
            let work = this.work(p, epoch);
            let sa = work.and_then(|(work, _)| this.all.sas.read(work.sa, epoch));
            sa.map_or(thread, |sa| this.all.thread_of(sa, thread, epoch))
        }
    }
}
