//! `ethernet-input`: destination check, VLAN tags and dispatch by type.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use graph::{Buffer, Flags, Frame, Lent, Names, Node, Passes, Record, Slot};
use infra::rcu::{Epoch, Reader, Shared, SlabReader};
use wire::ethernet::{EtherType, Header};
use wire::{MacAddr, print};

use super::ethertypes::{Edges, EtherTypes};
use crate::interface::{Briefs, BriefsView, Counters, Interfaces, Mode, Port, SubTable, Tagged};

/// Nodes ahead that usual packets pass while this one has them in its hands. What it leaves goes
/// node by node.
pub trait FastPath: Clone + Send + 'static {
    /// Takes frames without tags for the address of their interface, as many as it can. Says
    /// whether it went over all packets: those that are left are marked so.
    fn take<N: Node, On: graph::Cpu>(
        &mut self,
        packets: &mut Passes<'_, N>,
        on: (On, Epoch<'_>, usize),
    ) -> bool;
}

/// Without a fast path.
#[derive(Clone, Copy, Debug)]
pub struct NodeByNode;

impl FastPath for NodeByNode {
    #[inline(always)]
    fn take<N: Node, On: graph::Cpu>(
        &mut self,
        _: &mut Passes<'_, N>,
        _: (On, Epoch<'_>, usize),
    ) -> bool {
        false
    }
}

/// Checks the destination of frames and sends them to their protocol, layer 2 header stripped.
#[derive(Clone)]
pub struct EthernetInput<F: FastPath> {
    fast: F,
    ports: SlabReader<Port>,
    briefs: Briefs,
    types: Reader<Edges>,
    /// The next node of bridged frames.
    layer2: Reader<Option<Slot>>,
    /// Processes them further.
    bridging: Reader<Option<Lent<Self>>>,
    counters: Arc<Counters>,
}

/// Edges of [`EthernetInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// IPv4.
    #[to("ip4-input")]
    Ip4,
    /// IPv6.
    #[to("ip6-input")]
    Ip6,
    /// ARP.
    #[to("arp-input")]
    Arp,
    /// The interface punts.
    #[to("error-punt")]
    Punt,
    /// Another protocol.
    #[dynamic]
    Other(Slot),
}

/// Drops of [`EthernetInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no error.
    #[name("no error")]
    None,
    /// l3 mac mismatch.
    #[name("l3 mac mismatch")]
    MacMismatch,
    /// unknown ethernet type.
    #[name("unknown ethernet type")]
    UnknownType,
    /// unknown vlan.
    #[name("unknown vlan")]
    UnknownVlan,
    /// subinterface down.
    #[name("subinterface down")]
    Down,
    /// frame shorter than its header.
    #[name("too short")]
    TooShort,
    /// nothing bridges frames.
    #[name("no bridging")]
    NoBridging,
}

/// Name of [`EthernetInput`].
pub(super) const NAME: &str = "ethernet-input";

impl<F: FastPath> EthernetInput<F> {
    pub(super) fn new(
        interfaces: &Interfaces,
        edges: &EtherTypes,
        bridging: &Bridging<F>,
        fast: F,
    ) -> Self {
        let (types, layer2) = (edges.reader(), edges.layer2());
        let (ports, briefs) = (interfaces.ports(), interfaces.briefs());
        let (bridging, counters) = (bridging.0.reader(), interfaces.counters());
        Self { fast, ports, briefs, types, layer2, bridging, counters }
    }
}

/// Processes bridged frames inside the node.
pub(super) struct Bridging<F: FastPath>(pub Shared<Option<Lent<EthernetInput<F>>>>);

/// The bits of an address in the first eight bytes of a frame, read as a little-endian number.
const ADDRESS: u64 = (1 << 48) - 1;
/// No address: an interface that takes nothing without a closer look.
pub const NOBODY: u64 = u64::MAX;

/// The type of a frame without tags whose destination is `own`, as [`own_untagged`] gives it.
#[inline(always)]
pub fn for_own(frame: &[u8], own: u64) -> Option<EtherType> {
    let header = frame.first_chunk::<{ size_of::<Header>() }>()?;
    if u64::from_le_bytes(*header.first_chunk()?) & ADDRESS != own {
        return None;
    }
    Some(EtherType::new(u16::from_be_bytes(*header.last_chunk()?)))
}

/// The address of an interface that is up, as [`ADDRESS`] cuts it out of a frame. Where all frames
/// are punted each needs a closer look.
fn own_address(port: &Port) -> u64 {
    let [a, b, c, d, e, f] = port.mac.0;
    if port.up && !port.punts { u64::from_le_bytes([a, b, c, d, e, f, 0, 0]) } else { NOBODY }
}

/// The address of an interface that is up, for [`for_own`]: [`NOBODY`] where frames without tags
/// are bridged or for a sub-interface.
pub fn own_untagged(port: &Port) -> u64 {
    let has_other = port.subs.as_ref().is_some_and(|subs| subs.has_untagged());
    if has_other || port.mode != Mode::Layer3 { NOBODY } else { own_address(port) }
}

/// The pass that suits most packets of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Most {
    /// Without tags, for the interface itself.
    Plain,
    /// Without tags, bridged; on an interface without sub-interfaces others are, too.
    Bridged { all: bool },
    /// Others.
    Any,
}

/// Whether frames without tags are all bridged.
fn bridges_untagged(port: &Port) -> bool {
    let has_other = port.subs.as_ref().is_some_and(|subs| subs.has_untagged());
    !has_other && port.mode != Mode::Layer3 && own_address(port) != NOBODY
}

/// Fields of the last packet's interface, for the pass over frames with tags and bridged ones.
struct Known<'e> {
    rx: u32,
    own: u64,
    subs: Option<&'e SubTable>,
}

impl<F: FastPath> Node for EthernetInput<F> {
    const NAME: &'static str = NAME;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, cpu) = (frame.epoch(), frame.thread(), frame.cpu());
        // The first packet decides which pass handles most of them.
        let (mut known, mut own, mut most) = (u32::MAX, NOBODY, Most::Any);
        frame.look_first(|p| {
            known = p.rx();
            let port = self.ports.read(known, epoch);
            own = port.map_or(NOBODY, own_untagged);
            most = match port {
                Some(_) if is_tagged(p.bytes()) => Most::Any,
                Some(_) if own != NOBODY => Most::Plain,
                Some(port) if bridges_untagged(port) => Most::Bridged { all: port.subs.is_none() },
                _ => Most::Any,
            };
        });
        // In line whatever its size: out of line it is compiled for any processor of the kind. And
        // in two calls: what a part gets hold of is slower to work with.
        if let Most::Bridged { all } = most
            && let Some(layer2) = *self.layer2.read(epoch)
        {
            let lent = self.bridging.read(epoch).as_ref().filter(|_| all);
            frame.passes(
                #[inline(always)]
                |packets| {
                    let is_tried = lent.is_some_and(|lent| lent.take(cpu, packets, epoch, layer2));
                    if is_tried && !packets.are_left(packets.all()) {
                        return;
                    }
                    let verdict = |_, p: &mut Buffer<'_>| {
                        let header = p.bytes().first_chunk::<{ size_of::<Header>() }>()?;
                        let kind = EtherType::new(u16::from_be_bytes(*header.last_chunk()?));
                        if p.rx() != known || kind.is_vlan() {
                            return None;
                        }
                        note_headers(p, size_of::<Header>());
                        Some(Next::Other(layer2))
                    };
                    match is_tried {
                        true => packets.rest(packets.all(), verdict),
                        false => packets.usual(packets.all(), verdict),
                    }
                    self.take_left(packets, (epoch, thread));
                },
            );
            return;
        }
        frame.passes(
            #[inline(always)]
            |packets| {
                if most != Most::Plain {
                    packets.leave(packets.all());
                    return self.take_left(packets, (epoch, thread));
                }
                let is_tried = self.fast.take(packets, (cpu, epoch, thread));
                if is_tried && !packets.are_left(packets.all()) {
                    return;
                }
                let (ports, other) = (&self.ports, self.other(packets, epoch));
                let verdict = |_, p: &mut Buffer<'_>| {
                    to_own(p, ports, (&mut known, &mut own), (epoch, other))
                };
                match is_tried {
                    true => packets.rest(packets.all(), verdict),
                    false => packets.usual(packets.all(), verdict),
                }
                self.take_left(packets, (epoch, thread));
            },
        );
    }
}

/// A protocol beside the usual ones, and its edge.
type Other = Option<(EtherType, Slot)>;

/// A frame without tags for its interface's own address, of a usual protocol or another that is
/// known. `None` for others.
#[inline(always)]
fn to_own(
    p: &mut Buffer<'_>,
    ports: &SlabReader<Port>,
    (known, own): (&mut u32, &mut u64),
    (epoch, other): (Epoch<'_>, Other),
) -> Option<Next> {
    let rx = p.rx();
    if rx != *known {
        let port = ports.read(rx, epoch);
        (*known, *own) = (rx, port.map_or(NOBODY, own_untagged));
    }
    let next = usual(for_own(p.bytes(), *own)?, other)?;
    strip(p, size_of::<Header>())?;
    Some(next)
}

/// The edges of the usual protocols.
#[inline(always)]
pub(super) fn protocol(ethertype: EtherType) -> Option<Next> {
    match ethertype {
        EtherType::IP4 => Some(Next::Ip4),
        EtherType::IP6 => Some(Next::Ip6),
        EtherType::ARP => Some(Next::Arp),
        _ => None,
    }
}

/// The edges of the usual protocols, and of another one.
#[inline(always)]
fn usual(ethertype: EtherType, other: Other) -> Option<Next> {
    let is_it = |other: &(EtherType, Slot)| other.0 == ethertype;
    protocol(ethertype).or_else(|| Some(Next::Other(other.filter(is_it)?.1)))
}

/// Whether a frame begins with a tag.
fn is_tagged(frame: &[u8]) -> bool {
    let header = frame.first_chunk::<{ size_of::<Header>() }>();
    let kind = header.and_then(|header| header.last_chunk());
    kind.is_some_and(|kind| EtherType::new(u16::from_be_bytes(*kind)).is_vlan())
}

/// Notes where the headers of layers 2 and 3 are: the first one, of `len` bytes with its tags,
/// stays.
#[inline(always)]
pub fn note_headers(p: &mut Buffer<'_>, len: usize) {
    let offset = p.offset();
    p.set_l2_offset(offset);
    p.set_l3_offset(offset + len as i16);
    p.add_flags(Flags::L2.with(Flags::L3));
}

/// Takes the layer 2 header off.
#[inline(always)]
fn strip(p: &mut Buffer<'_>, len: usize) -> Option<()> {
    note_headers(p, len);
    p.advance(len)
}

impl<F: FastPath> EthernetInput<F> {
    /// Sends packets on that are left: bridged ones, those with tags, of other protocols, and
    /// unusual ones.
    #[inline(always)]
    fn take_left(&self, packets: &mut Passes<'_, Self>, (epoch, thread): (Epoch<'_>, usize)) {
        if !packets.are_left(packets.all()) {
            return;
        }
        let mut known = Known { rx: u32::MAX, own: NOBODY, subs: None };
        let (briefs, layer2) = (self.briefs.read(epoch), *self.layer2.read(epoch));
        let other = self.other(packets, epoch);
        packets.rest(packets.all(), |_, p| {
            self.to_any(p, (&mut known, epoch), (briefs, layer2, other), thread)
        });
        packets.others(packets.all(), |_, p| {
            let rx = p.rx();
            p.trace(|p| Received { rx, bytes: p.bytes()[..p.len().min(64)].to_vec() });
            self.look_closer(p, epoch, thread)
        });
    }
    /// The protocol of the first packet, if that is none of the usual ones.
    #[inline(always)]
    fn other<N: Node>(&self, packets: &mut Passes<'_, N>, epoch: Epoch<'_>) -> Other {
        let mut kind = None;
        packets.look(0..packets.all().end.min(1), |_, p| {
            kind = Tagged::read_few(p.bytes()).map(|tagged| tagged.ethertype);
        });
        let kind = kind.filter(|kind| protocol(*kind).is_none())?;
        Some((kind, self.edge(kind, epoch)?))
    }
    /// The edge of a protocol.
    #[inline(never)]
    fn edge(&self, kind: EtherType, epoch: Epoch<'_>) -> Option<Slot> {
        let edges = self.types.read(epoch);
        let at = edges.binary_search_by_key(&kind.or_length(), |e| e.0).ok()?;
        Some(edges[at].1)
    }
    /// A frame with at most two tags, for an interface or one of its sub-interfaces: of a usual
    /// protocol, or another that is known, for its own address, or bridged. `None` for others.
    #[inline(always)]
    fn to_any<'e>(
        &'e self,
        p: &mut Buffer<'_>,
        (known, epoch): (&mut Known<'e>, Epoch<'e>),
        (briefs, layer2, other): (BriefsView<'_>, Option<Slot>, Other),
        thread: usize,
    ) -> Option<Next> {
        let rx = p.rx();
        if rx != known.rx {
            let port = self.ports.read(rx, epoch);
            let own = port.map_or(NOBODY, own_address);
            let subs = port.filter(|_| own != NOBODY).and_then(|port| port.subs.as_deref());
            *known = Known { rx, own, subs };
        }
        let tagged = Tagged::read_few(p.bytes())?;
        let sub = known.subs.and_then(|subs| subs.find(&tagged));
        let to = briefs.of(sub.unwrap_or(rx));
        let next = if to.bridges() {
            note_headers(p, tagged.header_len());
            Next::Other(layer2?)
        } else {
            let is_for_us = u64::from_le_bytes(*p.bytes().first_chunk()?) & ADDRESS == known.own;
            let is_known = sub.is_some() || tagged.is_untagged();
            let next = usual(tagged.ethertype, other).filter(|_| is_for_us && is_known)?;
            if !to.routes() {
                return None;
            }
            strip(p, tagged.header_len())?;
            next
        };
        if let Some(sub) = sub {
            let len = p.bytes_from(p.l2_offset()).len();
            self.counters.rx.row(thread)[sub as usize].add(1, len as u64);
            p.set_rx(sub);
        }
        Some(next)
    }
    /// A frame that is not simply IP or ARP for the interface's own address.
    #[inline(never)]
    fn look_closer(
        &self,
        p: &mut Buffer<'_>,
        epoch: Epoch<'_>,
        thread: usize,
    ) -> Result<Next, Error> {
        let port = self.ports.read(p.rx(), epoch);
        let main = port.filter(|p| p.up).ok_or(Error::Down)?;
        if main.punts {
            return Ok(Next::Punt);
        }
        let tagged = Tagged::read(p.bytes()).ok_or(Error::TooShort)?;
        let sub = main.subs.as_ref().and_then(|subs| subs.find(&tagged));
        let mut mode = main.mode;
        if let Some(sub) = sub {
            let bytes = p.total_len() as u64;
            self.counters.rx.row(thread)[sub as usize].add(1, bytes);
            p.set_rx(sub);
            let port = self.ports.read(sub, epoch);
            if port.is_some_and(|s| s.detailed) {
                self.counters.count_kind(false, thread, sub, p);
            }
            if !port.is_some_and(|s| s.up) {
                return Err(Error::Down);
            }
            if port.is_some_and(|s| s.punts) {
                return Ok(Next::Punt);
            }
            mode = port.map_or(mode, |s| s.mode);
        } else if !tagged.is_untagged() && mode == Mode::Layer3 {
            return Err(Error::UnknownVlan);
        }
        if mode != Mode::Layer3 {
            note_headers(p, tagged.header_len());
            return self.layer2.read(epoch).map(Next::Other).ok_or(Error::NoBridging);
        }
        let dst = p.header::<Header>().ok_or(Error::TooShort)?.dst;
        if !takes(main, dst) {
            return Err(Error::MacMismatch);
        }
        let next = match protocol(tagged.ethertype) {
            Some(next) => next,
            None => Next::Other(self.edge(tagged.ethertype, epoch).ok_or(Error::UnknownType)?),
        };
        strip(p, tagged.header_len()).ok_or(Error::TooShort)?;
        Ok(next)
    }
}

/// Whether frames for an address are routed; others, of promiscuous devices, are only bridged.
pub(super) fn takes(port: &Port, dst: MacAddr) -> bool {
    dst == port.mac || dst.is_multicast() || port.takes_all || port.secondary.contains(&dst)
}

struct Received {
    rx: u32,
    bytes: Vec<u8>,
}

impl Record for Received {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  frame: flags 0x1, hw-if-index {0}, sw-if-index {0}", self.rx)?;
        write!(f, "{}", print::ethernet_header(&self.bytes, 2))
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
