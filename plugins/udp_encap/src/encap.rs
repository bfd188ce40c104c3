//! `udp4o4-encap` and its siblings: the headers of an encapsulation put in front of IP packets;
//! `udp4-encap`, `udp6-encap`: in front of labelled packets and of packets with a BIER header.

use infra::counter::Rows;
use net::adjacency::chain::Hop;
use net::ip::Stacked;
use net::prelude::*;

/// Kinds of packets that are carried.
pub const CARRIED: [Link; 3] = [Link::Ip4, Link::Ip6, Link::Mpls];
/// The nodes for each, over IPv4 and over IPv6.
pub const NODES: [[&str; 3]; 2] = [
    ["udp4o4-encap", "udp6o4-encap", "udp4-encap"],
    ["udp4o6-encap", "udp6o6-encap", "udp6-encap"],
];

/// The headers of an encapsulation for each kind of packets, with the edges of that kind's node.
#[derive(Clone, Debug)]
pub struct Fronts {
    /// In the order of [`CARRIED`].
    pub hops: [Hop; 3],
    /// The edge of each node to itself.
    pub again: [Slot; 3],
}

/// Drops of [`Encap`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no such encapsulation, or no headroom.
    #[name("udp encap cannot take it")]
    NoEncap,
}

/// The edge of [`Encap`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// As the route to the far end leads.
    #[dynamic]
    To(Slot),
}

/// Puts the headers in front of packets of one kind, by its place in [`CARRIED`].
#[derive(Clone)]
pub struct Encap<const PLACE: usize> {
    fronts: SlabReader<Fronts>,
    counters: Rows<VolumeCounter>,
    stacked: Stacked,
}

impl<const PLACE: usize> Node for Encap<PLACE> {
    const NAME: &'static str = NODES[0][PLACE];
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = ["ip4-drop", "ip6-drop", "mpls-drop"][PLACE];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, this) = (frame.epoch(), &*self);
        let counters = this.counters.row(frame.thread());
        let (mut known, mut fronts) = (u32::MAX, None);
        // What comes behind a packet that was cut stays behind its segments.
        let mut is_behind = false;
        frame.each(
            #[inline(always)]
            |p| {
                let index = p.adjacency();
                if index != known {
                    (known, fronts) = (index, this.fronts.read(index, epoch));
                }
                let to = fronts.ok_or(Error::NoEncap)?;
                let hop = &to.hops[PLACE];
                let again = hop.comes_again(p, |_| false, &mut is_behind);
                if again.map_err(|_| Error::NoEncap)? {
                    return Ok(Next::To(to.again[PLACE]));
                }
                let len = p.total_len() as u64;
                hop.enclose(p).ok_or(Error::NoEncap)?;
                if let Some(counter) = counters.get(index as usize) {
                    counter.add(1, len);
                }
                p.clear_flags(Flags::POPPED);
                p.trace(|_| Put { index });
                Ok(Next::To(this.stacked.onward(hop, epoch).take(p)))
            },
        );
    }
}

/// Adds all nodes.
pub fn add(
    router: &mut Router,
    fronts: &[SlabReader<Fronts>; 2],
    counters: &Rows<VolumeCounter>,
) -> Result<(), BuildError> {
    for (names, fronts) in NODES.iter().zip(fronts) {
        add_one::<0>(router, names, fronts, counters)?;
        add_one::<1>(router, names, fronts, counters)?;
        add_one::<2>(router, names, fronts, counters)?;
    }
    Ok(())
}

fn add_one<const PLACE: usize>(
    router: &mut Router,
    names: &[&str; 3],
    fronts: &SlabReader<Fronts>,
    counters: &Rows<VolumeCounter>,
) -> Result<(), BuildError> {
    let (fronts, counters) = (fronts.clone(), counters.clone());
    let node = Encap::<PLACE> { fronts, counters, stacked: Stacked::new(router) };
    router.engine.add_named(names[PLACE], node).map(drop)
}

/// Trace record of [`Encap`].
struct Put {
    index: u32,
}

impl Record for Put {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  udp-encap:[{}]", self.index)
    }
}
