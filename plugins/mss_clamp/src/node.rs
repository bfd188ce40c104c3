//! `tcp-mss-clamping-ip4-in`, `-out` and those of IPv6.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use graph::arc::FeatureArc;
use graph::{BuildError, Continue, Flags, Frame, Names, Node, Packet, Record};
use infra::rcu::SlabReader;
use net::Router;
use net::adjacency::Adjacency;
use net::ip::{V4, V6, Version};
use wire::{Protocol, checksum, ip4, ip6, tcp};
use zerocopy::FromBytes;
use zerocopy::byteorder::network_endian::U16;

use super::Both;

/// Option: nothing follows.
const END: u8 = 0;
/// Option: padding.
const NO_OPERATION: u8 = 1;
/// Option: maximum segment size.
const MSS: u8 = 2;

/// A version whose TCP packets are clamped.
pub trait Clamped: Version {
    /// Names of the nodes for what comes in and what goes out.
    const NAMES: [&'static str; 2];
    /// Position in [`Both`].
    const FAMILY: usize;
    /// Where the TCP header is in an IP packet, in bytes, if it has one here.
    fn tcp_at(packet: &[u8]) -> Option<usize>;
}

impl Clamped for V4 {
    const NAMES: [&'static str; 2] = ["tcp-mss-clamping-ip4-in", "tcp-mss-clamping-ip4-out"];
    const FAMILY: usize = 0;
    #[inline(always)]
    fn tcp_at(packet: &[u8]) -> Option<usize> {
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        let is_here = header.protocol == Protocol::TCP && header.fragment_offset() == 0;
        is_here.then(|| header.header_len())
    }
}

impl Clamped for V6 {
    const NAMES: [&'static str; 2] = ["tcp-mss-clamping-ip6-in", "tcp-mss-clamping-ip6-out"];
    const FAMILY: usize = 1;
    #[inline(always)]
    fn tcp_at(packet: &[u8]) -> Option<usize> {
        let upper = ip6::upper_layer(packet)?;
        let is_first = upper.fragment.is_none_or(|f| f.offset() == 0);
        (upper.protocol == Protocol::TCP && is_first).then_some(upper.offset)
    }
}

/// Lowers the maximum segment size of TCP packets that come in, or go `OUT`.
#[derive(Clone)]
pub struct Clamp<V, const OUT: bool> {
    version: PhantomData<V>,
    settings: SlabReader<Both>,
    adjacencies: SlabReader<Adjacency>,
}

/// What [`Clamp`] counts.
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
            let most = self.settings.read(interface, epoch).map_or(0, |both| both[V::FAMILY].mss);
            // On the way out the layer 2 header of the adjacency is in front.
            let l3 = match self.adjacencies.read(p.adjacency(), epoch) {
                Some(a) if OUT => a.header_len.into(),
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
    let Some(bytes) = p.bytes_mut().get_mut(at..) else { return false };
    let Ok((header, rest)) = tcp::Header::mut_from_prefix(bytes) else { return false };
    let len = header.header_len().saturating_sub(size_of::<tcp::Header>());
    let Some(options) = rest.get_mut(..len) else { return false };
    let Some(place) = mss_place(options) else { return false };
    let Some((before, [high, low, ..])) = options.split_at_mut_checked(place) else { return false };
    let told = u16::from_be_bytes([*high, *low]);
    if told <= most {
        return false;
    }
    [*high, *low] = most.to_be_bytes();
    if is_summed {
        // At an odd place the bytes of a word of the sum are swapped.
        let (mut old, mut new) = (told, most);
        if before.len() % 2 == 1 {
            (old, new) = (old.swap_bytes(), new.swap_bytes());
        }
        header.checksum = checksum::update(header.checksum, U16::new(old), U16::new(new));
    }
    p.trace(|_| Lowered { told, most });
    true
}

/// Where the MSS is in the options of a TCP header.
fn mss_place(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let len = match *options.get(at)? {
            END => return None,
            NO_OPERATION => 1,
            MSS if options.get(at + 1) == Some(&4) => return Some(at + 2),
            _ => usize::from(*options.get(at + 1)?).max(2),
        };
        at += len;
    }
}

/// What the node says of a traced packet that it changed.
struct Lowered {
    told: u16,
    most: u16,
}

impl Record for Lowered {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  tcp-mss-clamping: mss {} clamped to {}", self.told, self.most)
    }
}
