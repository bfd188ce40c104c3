//! `tcp-mss-clamping-ip4-in`, `-out` and those of IPv6.

use graph::arc::FeatureArc;
use net::adjacency::Adjacency;
use net::prelude::*;

use super::Both;

/// A version whose TCP packets are clamped.
pub trait Clamped: Version {
    /// Names of the nodes for received and sent packets.
    const NAMES: [&'static str; 2];
    /// Start of the TCP header in an IP packet, in bytes, if it has one here.
    fn tcp_at(packet: &[u8]) -> Option<usize>;
}

impl Clamped for V4 {
    const NAMES: [&'static str; 2] = ["tcp-mss-clamping-ip4-in", "tcp-mss-clamping-ip4-out"];
    #[inline(always)]
    fn tcp_at(packet: &[u8]) -> Option<usize> {
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        let is_here = header.protocol == Protocol::TCP && header.fragment_offset() == 0;
        is_here.then(|| header.header_len())
    }
}

impl Clamped for V6 {
    const NAMES: [&'static str; 2] = ["tcp-mss-clamping-ip6-in", "tcp-mss-clamping-ip6-out"];
    #[inline(always)]
    fn tcp_at(packet: &[u8]) -> Option<usize> {
        let upper = ip6::upper_layer(packet)?;
        let is_first = upper.fragment.is_none_or(|f| f.offset() == 0);
        (upper.protocol == Protocol::TCP && is_first).then_some(upper.offset)
    }
}

/// Lowers the maximum segment size of received TCP packets, or of transmitted ones (`OUT`).
#[derive(Clone)]
pub struct Clamp<V, const OUT: bool> {
    version: PhantomData<V>,
    settings: SlabReader<Both>,
    adjacencies: SlabReader<Adjacency>,
}

/// Counters of [`Clamp`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// clamped.
    Clamped,
}

pub(super) fn add<V: Clamped>(
    router: &mut Router,
    arcs: [&'static FeatureArc; 2],
    settings: &SlabReader<Both>,
) -> Result<(), BuildError> {
    let (version, adjacencies) = (PhantomData, router.adjacencies.reader());
    let (settings, engine) = (settings.clone(), &mut router.engine);
    let rx = Clamp::<V, false> { version, settings, adjacencies };
    let tx = Clamp::<V, true> {
        version,
        settings: rx.settings.clone(),
        adjacencies: rx.adjacencies.clone(),
    };
    engine.add_feature(arcs[0], rx)?;
    engine.add_feature(arcs[1], tx)?;
    Ok(())
}

impl<V: Clamped, const OUT: bool> Node for Clamp<V, OUT> {
    const NAME: &'static str = V::NAMES[OUT as usize];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut clamped = 0;
        frame.each(|p| {
            let interface = if OUT { p.tx() } else { p.rx() };
            let most = self.settings.read(interface, epoch).map_or(0, |both| both[V::INDEX].mss);
            // On output the headers of the adjacency are in front.
            let l3 = match self.adjacencies.read(p.adjacency(), epoch) {
                Some(a) if OUT => a.front(),
                _ => 0,
            };
            clamped += u64::from(clamp::<V, OUT>(p, l3, most));
            Ok(Continue)
        });
        frame.count(Count::Clamped, clamped);
    }
}

/// Lowers the MSS of one packet, whose IP header is `l3` bytes from its start; says whether it did.
#[inline(always)]
fn clamp<V: Clamped, const OUT: bool>(
    p: &mut Packet<'_, Clamp<V, OUT>>,
    l3: usize,
    most: u16,
) -> bool {
    let Some(at) = p.bytes().get(l3..).and_then(V::tcp_at) else { return false };
    let Some(bytes) = p.bytes().get(l3 + at..) else { return false };
    let is_syn = |h: &tcp::Header| h.flags.contains(tcp::Flags::SYN);
    let Ok((header, _)) = tcp::Header::ref_from_prefix(bytes) else { return false };
    is_syn(header) && rewrite(p, l3 + at, most)
}

/// Lowers the MSS that the options of a TCP header tell.
#[cold]
#[inline(never)]
fn rewrite<V: Clamped, const OUT: bool>(
    p: &mut Packet<'_, Clamp<V, OUT>>,
    at: usize,
    most: u16,
) -> bool {
    let is_summed = !p.flags().has(Flags::CHECKSUM_TODO);
    let Some(segment) = p.bytes_mut().get_mut(at..) else { return false };
    let Some(told) = tcp::clamp_mss(segment, most, is_summed) else { return false };
    p.trace(|_| Lowered { told, most });
    true
}

/// Trace of a packet that the node changed.
struct Lowered {
    told: u16,
    most: u16,
}

impl Record for Lowered {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  tcp-mss-clamping: mss {} clamped to {}", self.told, self.most)
    }
}
