//! `npt66-input`: gives destinations of received packets the internal prefix; `npt66-output`: gives
//! sources of sent packets the external one.

use graph::arc::Beside;
use net::adjacency::Adjacency;
use net::drops::Problem;
use net::icmp::Restore;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;
use wire::checksum;

use super::Bindings;
use super::prefix::{Binding, NotMappable};

/// For received packets, and for sent ones.
pub(super) const NAMES: [&str; 2] = ["npt66-input", "npt66-output"];
/// Bytes of an ICMPv6 error in front of the packet that it is about.
const QUOTE: usize = 8;

/// Translates received packets, or sent ones (`OUT`).
#[derive(Clone)]
pub struct Translate<const OUT: bool> {
    bindings: SlabReader<Bindings>,
    adjacencies: SlabReader<Adjacency>,
}

/// Edges of [`Translate`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The sender gets time exceeded: about the packet as it sent it.
    #[to("ip6-icmp-error", payload = Problem)]
    Icmp,
    /// Along the arc.
    #[along]
    Along,
}

/// Drops of [`Translate`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// NPTv6 translation failed.
    #[name("translation")]
    Translation,
    /// ICMP6 checksum validation failed.
    #[name("icmp6_checksum")]
    Icmp6Checksum,
    /// ICMP6 truncated.
    #[name("icmp6_truncated")]
    Icmp6Truncated,
}

/// Counters of [`Translate`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets translated from external to internal.
    #[name("rx")]
    Rx,
    /// packets translated from internal to external.
    #[name("tx")]
    Tx,
}

impl<const OUT: bool> Node for Translate<OUT> {
    const NAME: &'static str = NAMES[OUT as usize];
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut translated = 0;
        frame.each(|p| {
            let interface = if OUT { p.tx() } else { p.rx() };
            let Some(bindings) = self.bindings.read(interface, epoch) else {
                return Ok(Next::Along);
            };
            if !OUT && expires(bindings, p) {
                p.set_payload(V6::EXPIRED_PROBLEM);
                return Ok(Next::Icmp);
            }
            // On output the headers of the adjacency are in front.
            let l3 = match self.adjacencies.read(p.adjacency(), epoch) {
                Some(a) if OUT => a.front(),
                _ => 0,
            };
            let is_whole = !p.flags().has(Flags::CHAINED.with(Flags::CHECKSUM_TODO));
            let bytes = p.bytes_mut().get_mut(l3..).unwrap_or_default();
            if let Some((from, to)) = translate::<OUT>(bindings, bytes, is_whole)? {
                translated += 1;
                p.trace(|_| Translated { from, to });
            }
            Ok(Next::Along)
        });
        frame.count(if OUT { Count::Tx } else { Count::Rx }, translated);
    }
}

/// Whether a packet for an external prefix has been on its way too long.
#[inline(always)]
fn expires(bindings: &[Binding], p: &Buffer<'_>) -> bool {
    let header = p.header::<ip6::Header>().filter(|header| header.hop_limit <= 1);
    header.is_some_and(|header| bindings.iter().any(|b| b.is_external(header.dst_addr())))
}

/// Translates an IPv6 packet, and the one that it quotes; the address before and after, if there is
/// a binding for it.
#[inline(always)]
fn translate<const OUT: bool>(
    bindings: &[Binding],
    packet: &mut [u8],
    is_whole: bool,
) -> Result<Option<(Ipv6Addr, Ipv6Addr)>, Error> {
    let Ok((header, _)) = ip6::Header::mut_from_prefix(packet) else { return Ok(None) };
    let from = if OUT { header.src_addr() } else { header.dst_addr() };
    let covers = |b: &&Binding| if OUT { b.is_internal(from) } else { b.is_external(from) };
    let Some(binding) = bindings.iter().find(covers) else { return Ok(None) };
    let to = if OUT { binding.outside(from) } else { binding.inside(from) };
    let to = to.map_err(|NotMappable| Error::Translation)?;
    *if OUT { &mut header.src } else { &mut header.dst } = to.octets();
    if header.next_header == Protocol::ICMP6 || header.next_header == Protocol::FRAGMENT {
        translate_quoted::<OUT>(binding, packet, is_whole)?;
    }
    Ok(Some((from, to)))
}

/// Translates the packet that an ICMPv6 error quotes: it went the other way. The translation of an
/// address leaves the checksum of the error right.
#[cold]
#[inline(never)]
fn translate_quoted<const OUT: bool>(
    binding: &Binding,
    packet: &mut [u8],
    is_whole: bool,
) -> Result<(), Error> {
    let Some(upper) = ip6::upper_layer(packet) else { return Ok(()) };
    let is_later = upper.fragment.is_some_and(|f| f.offset() != 0);
    if upper.protocol != Protocol::ICMP6 || is_later {
        return Ok(());
    }
    let is_whole = is_whole && upper.fragment.is_none();
    let sum = sum(packet, upper.offset);
    let message = packet.get_mut(upper.offset..).unwrap_or_default();
    let Ok((icmp, _)) = icmp6::Header::ref_from_prefix(message) else {
        return Err(Error::Icmp6Truncated);
    };
    if !icmp.kind.is_error() {
        return Ok(());
    }
    if is_whole && !sum.is_some_and(checksum::Sum::is_valid) {
        return Err(Error::Icmp6Checksum);
    }
    let quoted = message.get_mut(QUOTE..).ok_or(Error::Icmp6Truncated)?;
    let (header, _) = ip6::Header::mut_from_prefix(quoted).map_err(|_| Error::Icmp6Truncated)?;
    let field = if OUT { &mut header.dst } else { &mut header.src };
    let addr = Ipv6Addr::from(*field);
    let new = match OUT {
        true if binding.is_internal(addr) => binding.outside(addr),
        false if binding.is_external(addr) => binding.inside(addr),
        _ => return Ok(()),
    };
    *field = new.map_err(|NotMappable| Error::Translation)?.octets();
    Ok(())
}

/// The sum of an ICMPv6 message and its pseudo header; `None` when the packet is cut off.
fn sum(packet: &[u8], at: usize) -> Option<checksum::Sum> {
    let (header, rest) = ip6::Header::ref_from_prefix(packet).ok()?;
    let len = size_of_val(header) + usize::from(header.payload_len.get());
    rest.get(..len - size_of_val(header))?;
    let message = packet.get(at..len)?;
    let len = message.len() as u32;
    let pseudo = checksum::ip6_pseudo(header.src, header.dst, Protocol::ICMP6, len);
    Some(pseudo.add_bytes(message))
}

/// The trace record of the nodes.
struct Translated {
    from: Ipv6Addr,
    to: Ipv6Addr,
}

impl Record for Translated {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  npt66: {} translated to {}", self.from, self.to)
    }
}

/// Gives packets from outside the external prefix back, when an error is about them. What is sent
/// is translated behind all that could be wrong with it.
fn restore(bindings: SlabReader<Bindings>) -> Restore {
    Arc::new(move |p, _, epoch| {
        let bindings = bindings.read(p.rx(), epoch).map_or(&[][..], |bindings| bindings);
        let Some(header) = p.header_mut::<ip6::Header>() else { return };
        let dst = header.dst_addr();
        let found = bindings.iter().find(|binding| binding.is_internal(dst));
        if let Some(Ok(outside)) = found.map(|binding| binding.outside(dst)) {
            header.dst = outside.octets();
        }
    })
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, bindings: &SlabReader<Bindings>) -> Result<(), BuildError> {
    let adjacencies = router.adjacencies.reader();
    let bindings = bindings.clone();
    router.restore_before_errors(restore(bindings.clone()));
    let received =
        Translate::<false> { bindings: bindings.clone(), adjacencies: adjacencies.clone() };
    let engine = &mut router.engine;
    engine.place_beside(&IP6_UNICAST, NAMES[0], Beside::After("nat66-in2out"))?;
    engine.add(received)?;
    // Behind the checks of what is sent, which know internal addresses.
    engine.place_beside(&IP6_OUTPUT, NAMES[1], Beside::Before("hsi6-out"))?;
    engine.add(Translate::<true> { bindings, adjacencies })?;
    Ok(())
}
