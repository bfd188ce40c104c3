//! Reasons for which features punt packets, and `punt-dispatch`, which gives them to those who
//! asked.
//!
//! A feature that punts registers a reason ([`Router::punt_reason`]) and sends packets to
//! `punt-dispatch` with a [`Reason`] on the edge. For each reason packets go to nodes of features,
//! to the punted packets of IP, to a socket, to several of these (all but one get a copy) or,
//! without a registration, to the drop.

use std::fmt;

use control::stats::Columns;
use graph::{BuildError, Flags, Frame, Names, Node, Packet, Payload, Record, Slot};
use infra::counter::{Rows, Volume, VolumeCounter};
use infra::rcu::{Reader, Shared};
use wire::IpVersion;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::socket::PacketBuffer;
use crate::router::Router;

/// Reasons at most.
const MOST: usize = 1024;
const COLUMNS: Columns = Columns::growing("punt reason", MOST);

/// The reason why a packet is punted; number of a reason. On the edge to `punt-dispatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct Reason(pub u32);

impl Payload for Reason {
    const NAME: &'static str = "punt reason";
}

/// A reason and its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonInfo {
    /// Name.
    pub name: &'static str,
    /// The feature that punts for it.
    pub client: &'static str,
    /// Whether its packets are of IPv6, and not of IPv4.
    pub version: IpVersion,
}

/// The receivers of a reason's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receivers {
    /// A socket.
    pub socket: bool,
    /// The receivers of what IP punts.
    pub punt: bool,
    /// Nodes of features, with the edges to them.
    nodes: Vec<(Slot, String)>,
    version: IpVersion,
}

/// The state of control. Number 0 is no reason.
pub(super) struct Reasons {
    list: Vec<(ReasonInfo, Receivers)>,
    /// The receivers of packets, by reason.
    next: Shared<Vec<Vec<Next>>>,
    counters: Rows<VolumeCounter>,
}

/// There are as many reasons as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MOST} punt reasons")
    }
}
impl std::error::Error for TooMany {}

impl Router {
    /// Makes a reason for which `client` punts packets of an IP version.
    ///
    /// # Errors
    /// [`TooMany`].
    pub fn punt_reason(
        &mut self,
        client: &'static str,
        name: &'static str,
        version: IpVersion,
    ) -> Result<Reason, TooMany> {
        let reasons = self.own_mut::<Reasons>();
        let number = reasons.list.len() as u32 + 1;
        if number as usize >= MOST {
            return Err(TooMany);
        }
        let takers = Receivers { version, ..Receivers::default() };
        reasons.list.push((ReasonInfo { name, client, version }, takers));
        reasons.publish();
        let counters = reasons.counters.clone();
        self.count_from_zero(&counters, COLUMNS, number, "punt reasons");
        Ok(Reason(number))
    }
    /// All reasons, who gets their packets, and how many there were.
    pub fn punt_reasons(&self) -> impl Iterator<Item = (Reason, &ReasonInfo, &Receivers, Volume)> {
        let reasons = self.state::<Reasons>().into_iter();
        reasons.flat_map(|r| {
            let numbered = r.list.iter().zip(1..);
            numbered.map(move |((info, takers), i)| {
                (Reason(i), info, takers, r.counters.sum(i as usize))
            })
        })
    }
    /// The reason of this name.
    pub fn punt_reason_named(&self, name: &str) -> Option<Reason> {
        self.punt_reasons().find(|(_, info, ..)| info.name == name).map(|(reason, ..)| reason)
    }
    /// Changes who gets the packets of a reason; false when there is no such reason.
    pub(super) fn set_takers(&mut self, reason: Reason, set: impl FnOnce(&mut Receivers)) -> bool {
        let reasons = self.own_mut::<Reasons>();
        let at = (reason.0 as usize).checked_sub(1).and_then(|at| reasons.list.get_mut(at));
        let Some((_, takers)) = at else { return false };
        set(takers);
        reasons.publish();
        true
    }
    /// Starts or stops giving packets of a punt reason to a node of a feature as well.
    ///
    /// # Errors
    /// The node does not exist.
    pub fn give_to(&mut self, reason: Reason, node: &str, on: bool) -> Result<(), BuildError> {
        let slot = if on { Some(self.engine.connect(Dispatch::NAME, node)?) } else { None };
        self.set_takers(reason, |takers| {
            takers.nodes.retain(|(_, name)| name != node);
            takers.nodes.extend(slot.map(|slot| (slot, node.to_owned())));
        });
        Ok(())
    }
}

impl Reasons {
    fn publish(&mut self) {
        let takers = self.list.iter().map(|(_, takers)| takers.next());
        self.next.publish([Vec::new()].into_iter().chain(takers).collect());
    }
}

/// Gives packets to those who asked for their reason.
#[derive(Clone)]
pub struct Dispatch {
    next: Reader<Vec<Vec<Next>>>,
    counters: Rows<VolumeCounter>,
    room: PacketBuffer,
}

/// Edges of [`Dispatch`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// A socket.
    #[to("exception-punt-socket", payload = Reason)]
    Socket,
    /// With what IPv4 punts.
    #[to("ip4-punt")]
    Punt4,
    /// With what IPv6 punts.
    #[to("ip6-punt")]
    Punt6,
    /// A node of a feature.
    #[dynamic]
    Node(Slot),
}

/// Drops of [`Dispatch`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// No registrations.
    #[name("No registrations")]
    Unwanted,
    /// No such punt reason.
    #[name("No such punt reason")]
    Unknown,
    /// Replication Failure.
    #[name("Replication Failure")]
    Uncopied,
}

/// Counters of [`Dispatch`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// dispatched.
    Dispatched,
}

impl Receivers {
    /// Next nodes of packets, the socket last: it cannot have a copy.
    fn next(&self) -> Vec<Next> {
        let mut next: Vec<_> = self.nodes.iter().map(|(slot, _)| Next::Node(*slot)).collect();
        if self.punt {
            next.push([Next::Punt4, Next::Punt6][self.version as usize]);
        }
        if self.socket {
            next.push(Next::Socket);
        }
        next
    }
    /// The nodes that get packets.
    pub(super) fn nodes(&self) -> Vec<&str> {
        let punt = ["ip4-punt", "ip6-punt"][self.version as usize];
        let fixed = [(self.socket, "exception-punt-socket"), (self.punt, punt)];
        let fixed = fixed.into_iter().filter(|(is_on, _)| *is_on).map(|(_, node)| node);
        fixed.chain(self.nodes.iter().map(|(_, node)| &**node)).collect()
    }
}

impl Node for Dispatch {
    const NAME: &'static str = "punt-dispatch";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const INPUT: &'static str = Reason::NAME;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let all = self.next.read(frame.epoch());
        let counters = self.counters.row(frame.thread());
        let room = &mut self.room;
        let mut dispatched = 0;
        frame.each(|p| {
            let Reason(reason) = p.payload();
            p.trace(|_| Dispatched(reason));
            let next = all.get(reason as usize).filter(|_| reason != 0).ok_or(Error::Unknown)?;
            if let Some(counter) = counters.get(reason as usize) {
                counter.add(1, p.total_len() as u64);
            }
            let (last, others) = next.split_last().ok_or(Error::Unwanted)?;
            for other in others {
                copy(p, room, *other).ok_or(Error::Uncopied)?;
            }
            dispatched += next.len() as u64;
            Ok(*last)
        });
        frame.count(Count::Dispatched, dispatched);
    }
}

/// Sends a copy of a packet; `None` when there are no buffers for one.
#[cold]
fn copy(p: &mut Packet<'_, Dispatch>, room: &mut PacketBuffer, to: Next) -> Option<()> {
    let bytes = room.gather(p, 0)?;
    let mut new = p.fresh()?;
    new.extend(bytes)?;
    let at = new.offset();
    new.set_l3_offset(at);
    new.add_flags(Flags::L3);
    new.send(to);
    Some(())
}

struct Dispatched(u32);

impl Record for Dispatched {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  reason: [{}]", self.0)
    }
}

/// Reasons of IPsec. They are here so that their numbers, which clients have, are the same in every
/// router; features that punt for them find them by name.
const IPSEC: [(&str, IpVersion); 4] = [
    ("ipsec4-spi-o-udp-0", IpVersion::V4),
    ("ipsec4-no-such-tunnel", IpVersion::V4),
    ("ipsec6-no-such-tunnel", IpVersion::V6),
    ("ipsec6-spi-o-udp-0", IpVersion::V6),
];

pub(super) fn add(router: &mut Router) -> Result<(), BuildError> {
    let counters = router.stats.combined("/net/punt", COLUMNS);
    let counters = counters.expect("an unused name, in a segment with room for it");
    let next = Shared::new(vec![Vec::new()]);
    router.engine.add(Dispatch {
        next: next.reader(),
        counters: counters.clone(),
        room: PacketBuffer::new(),
    })?;
    router.insert(Reasons { list: Vec::new(), next, counters });
    for (name, version) in IPSEC {
        let made = router.punt_reason("ipsec", name, version);
        made.expect("these are the first ones");
    }
    Ok(())
}
