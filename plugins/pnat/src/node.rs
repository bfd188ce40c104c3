//! `pnat-input`, `pnat-output`: rewrite packets that a binding matches.

use graph::Ports;
use net::adjacency::Adjacency;
use net::ip4::IP4_OUTPUT;
use net::prelude::*;

use super::Ends;
use super::packet::{TooShort, rewrite};
use super::tuple::{Binding, Mask, Match, has_ports};

/// For received packets, and for sent ones.
pub(super) const NAMES: [&str; 2] = ["pnat-input", "pnat-output"];

/// Rewrites received packets, or sent ones (`OUT`).
#[derive(Clone)]
pub struct Translate<const OUT: bool> {
    ends: SlabReader<Ends>,
    bindings: SlabReader<Binding>,
    adjacencies: SlabReader<Adjacency>,
}

/// Drops of [`Translate`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// packets too short to rewrite.
    #[name("tooshort")]
    #[severity("info")]
    TooShort,
}

/// Counters of [`Translate`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets without a matching binding.
    #[name("none")]
    None,
    /// packets rewritten.
    #[name("rewrite")]
    #[severity("error")]
    Rewrite,
}

impl<const OUT: bool> Node for Translate<OUT> {
    const NAME: &'static str = NAMES[OUT as usize];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (mut unmatched, mut rewritten) = (0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let interface = if OUT { p.tx() } else { p.rx() };
                // On output the headers of the adjacency are in front.
                let l3 = match self.adjacencies.read(p.adjacency(), epoch) {
                    Some(a) if OUT => a.front(),
                    _ => 0,
                };
                let attached = self.ends.read(interface, epoch).map(|ends| &ends[usize::from(OUT)]);
                let number = attached.and_then(|attached| {
                    let fields = fields(p, l3, attached.mask)?;
                    attached.flows.get(&fields.key()).copied()
                });
                p.trace(|_| Matched(number));
                let binding = number.and_then(|number| self.bindings.read(number, epoch));
                let Some(binding) = binding else {
                    unmatched += 1;
                    return Ok(Continue);
                };
                let is_partial = p.flags().has(Flags::CHECKSUM_TODO);
                let packet = p.bytes_mut().get_mut(l3..).unwrap_or_default();
                rewrite(packet, is_partial, &binding.rewrite)
                    .map_err(|TooShort| Error::TooShort)?;
                rewritten += 1;
                Ok(Continue)
            },
        );
        frame.count(Count::None, unmatched);
        frame.count(Count::Rewrite, rewritten);
    }
}

/// The fields of a packet, whose IP header is `l3` bytes from its start.
#[inline(always)]
fn fields(p: &Buffer<'_>, l3: usize, mask: Mask) -> Option<Match> {
    let packet = p.bytes().get(l3..)?;
    let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    let mut found = Ports { src: 0, dst: 0 };
    if mask.has_ports() {
        found = ports(p, packet, header)?;
    }
    Some(Match {
        src: header.src_addr(),
        dst: header.dst_addr(),
        protocol: header.protocol,
        sport: found.src,
        dport: found.dst,
        mask,
    })
}

/// The ports of a packet of TCP or UDP, or of the one that it is a fragment of.
#[inline(always)]
fn ports(p: &Buffer<'_>, packet: &[u8], header: &ip4::Header) -> Option<Ports> {
    if !has_ports(header.protocol) {
        return None;
    }
    if header.fragment_offset() != 0 {
        return p.ports();
    }
    let upper = packet.get(header.header_len()..)?;
    let (first, _) = <[[u8; 2]; 2]>::read_from_prefix(upper).ok()?;
    let [src, dst] = first.map(u16::from_be_bytes);
    Some(Ports { src, dst })
}

/// The trace record of the nodes.
struct Matched(Option<u32>);

impl Record for Matched {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(f, "  pnat: index {number}"),
            None => f.write_str("  pnat: no match"),
        }
    }
}

/// Adds the nodes.
pub(super) fn add(
    router: &mut Router,
    ends: &SlabReader<Ends>,
    bindings: &SlabReader<Binding>,
) -> Result<(), BuildError> {
    let adjacencies = router.adjacencies.reader();
    let (ends, bindings) = (ends.clone(), bindings.clone());
    let input = Translate::<false> {
        ends: ends.clone(),
        bindings: bindings.clone(),
        adjacencies: adjacencies.clone(),
    };
    router.engine.add_feature(&IP4_UNICAST, input)?;
    router.engine.add_feature(&IP4_OUTPUT, Translate::<true> { ends, bindings, adjacencies })?;
    Ok(())
}
