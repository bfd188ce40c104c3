//! `ip4-rewrite`, `ip6-rewrite`: one hop less (RFC 1812 section 5.3.1, RFC 8200 section 3), not too
//! big for the link, and the neighbour's layer 2 header in front.

use std::convert::Infallible;
use std::fmt;

use graph::arc::Start;
use graph::{Buffer, Flags, Frame, Names, Node, Packet, Record, Slot};
use infra::counter::{Rows, VolumeCounter};
use infra::rcu::SlabReader;
use wire::print;

use super::Version;
use crate::adjacency::{Adjacency, Link, Role};
use crate::drops::Problem;
use crate::fragment::Limit;
use crate::gso;

/// Length of an Ethernet header, the usual one to put in front.
const ETHERNET: usize = 14;
/// Bytes of a packet that its trace shows.
const SHOWN: usize = 60;

/// Sends packets over their adjacency.
#[derive(Clone)]
pub struct Rewrite<V> {
    /// Version.
    pub version: V,
    /// Adjacencies to neighbours.
    pub adjacencies: SlabReader<Adjacency>,
    /// Packets and bytes by adjacency.
    pub counters: Rows<VolumeCounter>,
}

/// Edges of [`Rewrite`] and [`super::RewriteMulticast`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Version> {
    /// The neighbour's address is to be asked for.
    #[to(V::NODES.resolve)]
    Resolve(V),
    /// An ICMP error to the sender.
    #[to(V::NODES.icmp_error, payload = Problem)]
    IcmpError(V),
    /// The adjacency is one of groups.
    #[to(V::NODES.rewrite_mcast)]
    Multicast(V),
    /// To be cut into fragments, which come back.
    #[to(V::NODES.fragment, payload = Limit)]
    Fragment(V),
    /// The adjacency leads into a tunnel.
    #[to(V::NODES.midchain)]
    Tunnel(V),
    /// The neighbour's address is to be asked for, and is of the other version.
    #[to(V::NODES.resolve_other)]
    ResolveOther(V),
    /// The interface's output, or a feature before it.
    #[dynamic]
    Output(Slot),
}

impl<V: Version> Node for Rewrite<V> {
    const NAME: &'static str = V::NODES.rewrite;
    const COUNTED_AT: &'static str = V::NODES.input;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<V>;
    type Error = V::Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, version) = (frame.epoch(), self.version);
        let arc = frame.start(V::OUTPUT_ARC);
        let counters = self.counters.row(frame.thread());
        // Neighbouring packets often go one way.
        let (mut known, mut usual) = (u32::MAX, None);
        frame.passes(|packets| {
            packets.usual(packets.all(), |_, p| {
                let index = p.adjacency();
                if index != known {
                    let a = self.adjacencies.read(index, epoch);
                    (known, usual) = (index, a.filter(|a| is_usual(a)));
                }
                let a = usual?;
                let is_special = p.flags().has(Flags::LOCAL.with(Flags::ONE_LINK));
                if is_special || p.headroom() < ETHERNET || !may_go::<V>(p, a.mtu) {
                    return None;
                }
                V::spend_hop(p);
                Some(send(p, a, counters, arc))
            });
            if !packets.are_left(packets.all()) {
                return;
            }
            // Headers made here, those of tunnels above all, keep their hops.
            let (mut known, mut usual) = (u32::MAX, None);
            packets.rest(packets.all(), |_, p| {
                let index = p.adjacency();
                if index != known {
                    let a = self.adjacencies.read(index, epoch);
                    (known, usual) = (index, a.filter(|a| is_usual(a)));
                }
                let a = usual.filter(|a| is_usual_own::<V>(p, a))?;
                Some(send(p, a, counters, arc))
            });
            packets.others(packets.all(), |_, p| {
                let index = p.adjacency();
                let a = self.adjacencies.read(index, epoch).ok_or(V::DROPPED)?;
                if !a.complete {
                    let is_own = a.link == Link::of(a.next_hop);
                    return Ok(if is_own {
                        Next::Resolve(version)
                    } else {
                        Next::ResolveOther(version)
                    });
                }
                match a.role {
                    Role::Neighbor => (),
                    Role::Midchain => return Ok(Next::Tunnel(version)),
                    Role::Multicast | Role::Glean => return Ok(Next::Multicast(version)),
                }
                if !may_leave::<V>(p, a) {
                    match look_closer::<V, _>(p, a) {
                        CheckResult::Good => (),
                        CheckResult::Bad(why) => return Err(why),
                        CheckResult::IcmpError => return Ok(Next::IcmpError(version)),
                        CheckResult::Big => return Ok(Next::Fragment(version)),
                    }
                }
                spend_hop::<V>(p);
                put_in_front(p, a).ok_or(V::DROPPED)?;
                if a.is_counted {
                    count(counters, p, index);
                }
                p.trace(|p| Rewritten::of(p, a));
                Ok(Next::Output(arc.first(a.interface.0).unwrap_or(a.output)))
            });
        });
    }
}

/// Whether a packet was made here, and nothing keeps it from a usual adjacency.
#[inline(always)]
fn is_usual_own<V: Version>(p: &Buffer<'_>, a: &Adjacency) -> bool {
    let is_own = p.flags().has(Flags::LOCAL) && !p.flags().has(Flags::ONE_LINK);
    is_own && fits_made(p, a) && V::hops(p).is_some()
}

/// Whether a packet with headers made here has room for that of a usual adjacency, and fits.
#[inline(always)]
pub(crate) fn fits_made(p: &Buffer<'_>, a: &Adjacency) -> bool {
    p.headroom() >= ETHERNET && p.total_len() <= usize::from(a.mtu)
}

/// Puts the header of a usual adjacency in front of a packet that has room for it.
#[inline(always)]
pub(crate) fn send_over(p: &mut Buffer<'_>, a: &Adjacency, counters: &[VolumeCounter]) {
    if let Some(room) = p.prepend(ETHERNET) {
        room.copy_from_slice(&a.header[..ETHERNET]);
    }
    leave(p, a);
    if a.is_counted {
        count(counters, p, p.adjacency());
    }
}

/// The same, and the next node.
#[inline(always)]
fn send<V: Version>(
    p: &mut Buffer<'_>,
    a: &Adjacency,
    counters: &[VolumeCounter],
    arc: Start<'_>,
) -> Next<V> {
    send_over(p, a, counters);
    if arc.is_used() {
        return Next::Output(arc.first(a.interface.0).unwrap_or(a.output));
    }
    Next::Output(a.output)
}

/// Whether an adjacency is a known neighbour behind an Ethernet header, as nearly all are.
pub(crate) fn is_usual(a: &Adjacency) -> bool {
    a.complete && a.role == Role::Neighbor && usize::from(a.header_len) == ETHERNET
}

/// Whether a packet has a hop left and fits, as nearly all do.
#[inline(always)]
pub(crate) fn may_go<V: Version>(p: &Buffer<'_>, mtu: u16) -> bool {
    V::hops(p).is_some_and(|hops| hops > 1) & (p.total_len() <= usize::from(mtu))
}

/// Whether a packet has a hop left, fits, and need not stay on its link.
#[inline(always)]
pub(super) fn may_leave<V: Version>(p: &Buffer<'_>, a: &Adjacency) -> bool {
    may_go::<V>(p, a.mtu) && !must_stay(p, a)
}

/// Whether a packet must not leave by the interface of an adjacency, as it was received on another.
#[inline(always)]
fn must_stay(p: &Buffer<'_>, a: &Adjacency) -> bool {
    let is_bound = p.flags().has(Flags::ONE_LINK) && !p.flags().has(Flags::LOCAL);
    is_bound && a.interface.0 != p.rx()
}

/// Outcome of a closer look at a packet. One byte: a pair as in a `Result` is returned by different
/// rules on different processors, which keeps the loop's closure from being compiled for each.
pub(super) enum CheckResult<E> {
    /// It may go.
    Good,
    /// A reason to drop it.
    Bad(E),
    /// It does not go on, and has the problem to tell its sender as payload.
    IcmpError,
    /// To be fragmented; the payload is the length of the fragments.
    Big,
}

/// Checks of a packet that needs a closer look.
#[cold]
#[inline(never)]
pub(super) fn look_closer<V: Version, N: Node<Error = V::Error>>(
    p: &mut Packet<'_, N>,
    a: &Adjacency,
) -> CheckResult<V::Error> {
    check::<V, N>(p, a).unwrap_or_else(CheckResult::Bad)
}

fn check<V: Version, N: Node<Error = V::Error>>(
    p: &mut Packet<'_, N>,
    a: &Adjacency,
) -> Result<CheckResult<V::Error>, V::Error> {
    if must_stay(p, a) {
        p.error(V::DROPPED);
        p.set_payload(V::SCOPE_PROBLEM.ok_or(V::DROPPED)?);
        return Ok(CheckResult::IcmpError);
    }
    let mtu = a.mtu;
    let hops = V::hops(p).ok_or(V::DROPPED)?;
    if hops <= 1 && !p.flags().has(Flags::LOCAL) {
        if hops > 0 {
            V::spend_hop(p); // as in VPP, the packet is quoted without its last hop
        }
        p.error(V::EXPIRED);
        p.set_payload(V::EXPIRED_PROBLEM);
        return Ok(CheckResult::IcmpError);
    }
    if p.total_len() > usize::from(mtu) && !fits_cut(p, mtu) {
        let Some(problem) = V::too_big_problem(p, mtu) else {
            if a.is_cut_behind {
                return Ok(CheckResult::Good);
            }
            p.set_payload(Limit { mtu });
            return Ok(CheckResult::Big);
        };
        if V::QUOTES_AS_SENT {
            spend_hop::<V>(p);
        }
        p.error(V::TOO_BIG);
        p.set_payload(problem);
        return Ok(CheckResult::IcmpError);
    }
    Ok(CheckResult::Good)
}

/// Counts a packet for its adjacency, as it leaves.
#[inline(always)]
pub(super) fn count(counters: &[VolumeCounter], p: &Buffer<'_>, index: u32) {
    if let Some(counter) = counters.get(index as usize) {
        counter.add(1, p.total_len() as u64);
    }
}

/// Takes one hop away, unless the packet was made here.
#[inline(always)]
pub(super) fn spend_hop<V: Version>(p: &mut Buffer<'_>) {
    if !p.flags().has(Flags::LOCAL) {
        V::spend_hop(p);
    }
}

/// Whether a packet that will be cut into segments fits then.
fn fits_cut(p: &Buffer<'_>, mtu: u16) -> bool {
    gso::longest_segment(p).is_some_and(|len| len <= usize::from(mtu))
}

/// Puts the layer 2 header in front; `None` without headroom.
pub(super) fn put_in_front(p: &mut Buffer<'_>, a: &Adjacency) -> Option<()> {
    p.prepend(usize::from(a.header_len))?.copy_from_slice(a.header());
    leave(p, a);
    Some(())
}

/// Notes where the layer 2 header is and which interface it is for.
#[inline(always)]
fn leave(p: &mut Buffer<'_>, a: &Adjacency) {
    let l2 = p.offset();
    p.set_l2_offset(l2);
    p.set_tx(a.interface.0);
}

/// The trace record of a rewrite node.
pub(super) struct Rewritten {
    index: u32,
    adjacency: Adjacency,
    flow: u32,
    bytes: Vec<u8>,
}

impl Rewritten {
    #[cold]
    #[inline(never)]
    pub(super) fn of(p: &Buffer<'_>, a: &Adjacency) -> Self {
        let flow = if p.flags().has(Flags::HASH) { p.flow_hash() } else { 0 };
        let bytes = p.bytes()[..p.len().min(SHOWN)].to_vec();
        Self { index: p.adjacency(), adjacency: a.clone(), flow, bytes }
    }
}

impl Record for Rewritten {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let a = &self.adjacency;
        let interface = names.name("interface", a.interface.0);
        let link = a.link.name();
        write!(f, "  tx_sw_if_index {} dpo-idx {} : {link}", a.interface.0, self.index)?;
        match a.role {
            Role::Multicast => write!(f, "-mcast: {interface}: ")?,
            Role::Neighbor | Role::Glean | Role::Midchain => {
                write!(f, " via {} {interface}: ", a.next_hop)?
            }
        }
        write!(f, "mtu:{} next:{} flags:[] ", a.mtu, a.output.0)?;
        let tunnel = a.hop.as_deref().map_or(&[][..], |hop| &hop.header);
        a.header().iter().chain(tunnel).try_for_each(|b| write!(f, "{b:02x}"))?;
        writeln!(f, " flow hash: {:#010x}", self.flow)?;
        write!(f, "{}", print::hex(&self.bytes, 2))
    }
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        let (a, index) = (&self.adjacency, self.index);
        let to = match a.role {
            Role::Multicast => "a group".to_owned(),
            Role::Neighbor | Role::Glean | Role::Midchain => a.next_hop.to_string(),
        };
        let interface = names.name("interface", a.interface.0);
        Some(vec![format!("adjacency {index}: {to} on {interface}, MTU {}", a.mtu)])
    }
}
