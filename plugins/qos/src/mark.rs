//! `ip4-qos-mark`, `vlan-ip4-qos-mark`, `mpls-qos-mark` and the others: write the mark of a packet
//! that is sent, as the egress map of its interface says.

use graph::arc::FeatureArc;
use mpls::MPLS_OUTPUT;
use net::adjacency::Adjacency;
use net::interface::{MARK, PacketMark, TAG_PRIORITY};
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;
use wire::ip;

use super::packet::set_mpls;
use super::{Map, Marked, Source};

/// Packets of one kind: of IPv4, IPv6 or with labels.
const ARCS: [&FeatureArc; 3] = [&IP4_OUTPUT, &IP6_OUTPUT, &MPLS_OUTPUT];
/// Nodes that write the mark of the packet itself, and that of its VLAN tag.
const NAMES: [[&str; 2]; 3] = [
    ["ip4-qos-mark", "vlan-ip4-qos-mark"],
    ["ip6-qos-mark", "vlan-ip6-qos-mark"],
    ["mpls-qos-mark", "vlan-mpls-qos-mark"],
];
const DROPS: [&str; 3] = ["ip4-drop", "ip6-drop", "mpls-drop"];

/// Marks packets of a kind, or their tags (`VLAN`).
#[derive(Clone)]
pub struct Mark<const KIND: usize, const VLAN: bool> {
    marked: SlabReader<Marked>,
    maps: SlabReader<Map>,
    adjacencies: SlabReader<Adjacency>,
}

/// The place of the mark that a node writes.
const fn output(kind: usize, is_vlan: bool) -> Source {
    match (kind, is_vlan) {
        (_, true) => Source::Vlan,
        (2, _) => Source::Mpls,
        _ => Source::Ip,
    }
}

impl<const KIND: usize, const VLAN: bool> Node for Mark<KIND, VLAN> {
    const NAME: &'static str = NAMES[KIND][VLAN as usize];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = DROPS[KIND];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let output = const { output(KIND, VLAN) };
        frame.each(|p| {
            let Some(PacketMark { source, mark }) = p.metadata(&MARK) else { return Ok(Continue) };
            let marked = self.marked.read(p.tx(), epoch);
            let slot = marked.and_then(|m| m.0[output as usize]);
            let map = slot.and_then(|slot| self.maps.read(slot, epoch));
            let row = map.and_then(|map| map.0.get(usize::from(source)));
            let Some(row) = row else { return Ok(Continue) };
            let new = row[usize::from(mark)];
            if VLAN {
                // A sub-interface puts its tags in last of all.
                p.set_metadata(&TAG_PRIORITY, new & 0xf);
                p.trace(|_| Marking { source, mark, new });
                return Ok(Continue);
            }
            // The headers of the adjacency are in front.
            let adjacency = self.adjacencies.read(p.adjacency(), epoch);
            let l3 = adjacency.map_or(0, Adjacency::front);
            let bytes = p.bytes_mut();
            match output {
                Source::Mpls => set_mpls(bytes.get_mut(l3..).unwrap_or_default(), new),
                _ => ip::set_traffic_class(bytes.get_mut(l3..).unwrap_or_default(), new),
            }
            p.trace(|_| Marking { source, mark, new });
            Ok(Continue)
        });
    }
}

/// The trace record of the nodes.
struct Marking {
    source: u8,
    mark: u8,
    new: u8,
}

impl Record for Marking {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, mark, new } = self;
        let source = Source::ALL.get(usize::from(*source)).copied().unwrap_or(Source::Ext);
        write!(f, "  qos: source {source} bits {mark} marked {new}")
    }
}

/// Arcs, nodes and the place that they mark.
pub(super) fn places() -> impl Iterator<Item = (&'static FeatureArc, &'static str, Source)> {
    ARCS.into_iter().zip(NAMES).enumerate().flat_map(|(kind, (arc, names))| {
        let node = move |is_vlan| (arc, names[usize::from(is_vlan)], output(kind, is_vlan));
        [node(false), node(true)]
    })
}

/// Adds the nodes.
pub(super) fn add(
    router: &mut Router,
    marked: &SlabReader<Marked>,
    maps: &SlabReader<Map>,
) -> Result<(), BuildError> {
    add_both::<0>(router, marked, maps)?;
    add_both::<1>(router, marked, maps)?;
    add_both::<2>(router, marked, maps)
}

fn add_both<const KIND: usize>(
    router: &mut Router,
    marked: &SlabReader<Marked>,
    maps: &SlabReader<Map>,
) -> Result<(), BuildError> {
    let (marked, maps) = (marked.clone(), maps.clone());
    let adjacencies = router.adjacencies.reader();
    let own = Mark::<KIND, false> {
        marked: marked.clone(),
        maps: maps.clone(),
        adjacencies: adjacencies.clone(),
    };
    router.engine.add_feature(ARCS[KIND], own)?;
    router.engine.add_feature(ARCS[KIND], Mark::<KIND, true> { marked, maps, adjacencies })?;
    Ok(())
}
