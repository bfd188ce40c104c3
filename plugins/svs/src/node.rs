//! `svs-ip4`, `svs-ip6`: choose the routing table of a packet by its source.

use net::prelude::*;

use super::Chosen;

/// For IPv4 and IPv6.
pub(super) const NAMES: [&str; 2] = ["svs-ip4", "svs-ip6"];

/// The routing tables of prefixes: bits of both versions begin at the top.
#[derive(Clone, Default)]
pub struct Sources {
    by_prefix: HashMap<(u8, u128), u16>,
    /// Lengths that there are, longest first.
    lens: Vec<u8>,
}

impl Sources {
    /// From prefixes with their lengths and routing tables.
    pub(super) fn of(routes: impl Iterator<Item = (u128, u8, u16)>) -> Self {
        let by_prefix: HashMap<_, _> = routes.map(|(bits, len, fib)| ((len, bits), fib)).collect();
        let mut lens: Vec<u8> = by_prefix.keys().map(|(len, _)| *len).collect();
        lens.sort_unstable_by(|a, b| b.cmp(a));
        lens.dedup();
        Self { by_prefix, lens }
    }
    /// The routing table of the longest prefix that a source is in.
    #[inline(always)]
    fn find(&self, source: u128) -> Option<u16> {
        self.lens.iter().find_map(|len| {
            let mask = u128::MAX.checked_shl(128 - u32::from(*len)).unwrap_or(0);
            self.by_prefix.get(&(*len, source & mask)).copied()
        })
    }
}

/// Chooses tables of packets of IPv4 (`V` 0) or IPv6 (1).
#[derive(Clone)]
pub struct Choose<const V: usize> {
    chosen: SlabReader<Chosen>,
    sources: SlabReader<Sources>,
}

#[inline(always)]
fn source<const V: usize>(p: &Buffer<'_>) -> Option<u128> {
    match V {
        0 => p.header::<ip4::Header>().map(|h| u128::from(u32::from_be_bytes(h.src)) << 96),
        _ => p.header::<ip6::Header>().map(|h| u128::from_be_bytes(h.src)),
    }
}

impl<const V: usize> Node for Choose<V> {
    const NAME: &'static str = NAMES[V];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = ["ip4-drop", "ip6-drop"][V];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (mut known, mut sources) = (u32::MAX, None);
        frame.each(|p| {
            let rx = p.rx();
            if rx != known {
                let slot = self.chosen.read(rx, epoch).and_then(|chosen| chosen.0[V]);
                (known, sources) = (rx, slot.and_then(|slot| self.sources.read(slot, epoch)));
            }
            let found = sources.zip(source::<V>(p)).and_then(|(s, source)| s.find(source));
            p.trace(|_| Chose(found));
            if let Some(fib) = found {
                p.set_fib(fib);
            }
            Ok(Continue)
        });
    }
}

/// The trace record of the nodes.
struct Chose(Option<u16>);

impl Record for Chose {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(fib) => write!(f, "  fib_index {fib}"),
            None => f.write_str("  fib of the interface"),
        }
    }
}

/// Adds the nodes.
pub(super) fn add(
    router: &mut Router,
    chosen: &SlabReader<Chosen>,
    sources: &SlabReader<Sources>,
) -> Result<(), BuildError> {
    let four = Choose::<0> { chosen: chosen.clone(), sources: sources.clone() };
    router.engine.add_feature(&IP4_UNICAST, four)?;
    let six = Choose::<1> { chosen: chosen.clone(), sources: sources.clone() };
    router.engine.add_feature(&IP6_UNICAST, six)?;
    Ok(())
}
