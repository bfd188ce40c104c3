//! `mpls-frag`: labelled packets that are too big for the link (RFC 3032 section 3.4): the IP
//! packet below the labels is cut and each fragment gets the labels, or its sender gets an ICMP
//! error.

use net::adjacency::{Adjacency, Role};
use net::fragment::{Cut, Error, Limit, Pieces, identification};
use net::icmp::Problem;
use net::prelude::*;
use wire::mpls::{Entry, stack};

/// Longest packet in bytes.
const LONGEST: usize = 40 + 65535;

/// Cuts labelled packets.
pub struct Fragment {
    adjacencies: SlabReader<Adjacency>,
    /// The IP packet at hand, in one piece.
    whole: Vec<u8>,
    /// State of the sequence that identifications are taken from.
    sequence: u64,
}

/// Each thread has a buffer and a sequence of its own.
impl Clone for Fragment {
    fn clone(&self) -> Self {
        let sequence = infra::cpu::time_stamp().unwrap_or_default();
        Self { adjacencies: self.adjacencies.clone(), whole: Vec::with_capacity(LONGEST), sequence }
    }
}

/// Edges of [`Fragment`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// On to the neighbour.
    #[to("mpls-output")]
    Output,
    /// On into the tunnel.
    #[to("mpls-midchain")]
    Midchain,
    /// To an ICMP error for the sender of an IPv4 packet.
    #[to("ip4-icmp-error", payload = Problem)]
    Problem4,
    /// To an ICMP error for the sender of an IPv6 packet.
    #[to("ip6-icmp-error", payload = Problem)]
    Problem6,
}

impl Node for Fragment {
    const NAME: &'static str = "mpls-frag";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = std::convert::Infallible;
    const INPUT: &'static str = <Limit as graph::Payload>::NAME;
    const DROP: &'static str = "mpls-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut sent = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let mtu = usize::from(p.payload::<Limit>().mtu);
                let a = self.adjacencies.read(p.adjacency(), epoch).ok_or(Error::Unknown)?;
                let on = if a.role == Role::Midchain { Next::Midchain } else { Next::Output };
                let labels = stack(p.bytes()).count() * size_of::<Entry>();
                let version = p.bytes().get(labels).ok_or(Error::Malformed)? >> 4;
                let room = mtu.saturating_sub(labels);
                p.trace(|_| FragmentTrace { mtu, labels });
                match version {
                    4 => match self.cut::<V4>(p, labels, room) {
                        Ok(count) => sent += count,
                        Err(Error::DontFragmentSet) => return tell::<V4>(p, labels, room),
                        Err(e) => return Err(e),
                    },
                    // Only its sender cuts a packet, which for those of tunnels is this router.
                    6 if p.flags().has(Flags::LOCAL) => sent += self.cut::<V6>(p, labels, room)?,
                    6 => return tell::<V6>(p, labels, room),
                    _ => return Err(Error::Malformed),
                }
                Ok(on)
            },
        );
        frame.count_as(Error::FragmentSent, sent);
    }
}

/// Sends the sender of a packet its MTU.
fn tell<V: Version>(
    p: &mut Packet<'_, Fragment>,
    labels: usize,
    room: usize,
) -> Result<Next, Error> {
    p.advance(labels).ok_or(Error::Malformed)?;
    let problem = V::too_big_problem(p, room as u16).ok_or(Error::Malformed)?;
    let l3 = p.offset();
    p.set_l3_offset(l3);
    p.error(Error::DontFragmentSet);
    p.set_payload(problem);
    Ok(if V::NODES.icmp_error == V4::NODES.icmp_error { Next::Problem4 } else { Next::Problem6 })
}

impl Fragment {
    /// Makes a packet its first fragment, followed by the others; says how many there are.
    fn cut<V: Cut>(
        &mut self,
        p: &mut Packet<'_, Self>,
        labels: usize,
        room: usize,
    ) -> Result<u64, Error> {
        if p.total_len() > LONGEST + labels {
            return Err(Error::Malformed);
        }
        let stack = p.bytes().get(..labels).ok_or(Error::Malformed)?.to_vec();
        self.whole.clear();
        p.segments().for_each(|s| self.whole.extend_from_slice(s));
        let whole = &self.whole[labels..];
        let pieces = Pieces::of::<V>(whole, room, identification(&mut self.sequence))?;
        let pieces = pieces.own(p.flags().has(Flags::LOCAL));
        for i in 1..pieces.count() {
            let header = pieces.header::<V>(whole, i)?;
            let mut new = p.fresh().ok_or(Error::Memory)?;
            new.append(&stack).ok_or(Error::Memory)?;
            new.append(header.bytes()).ok_or(Error::Memory)?;
            new.extend(&whole[pieces.range(i)]).ok_or(Error::Memory)?;
            new.follow().ok_or(Error::Memory)?;
        }
        let (header, first) = (pieces.header::<V>(whole, 0)?, pieces.range(0));
        p.truncate_chain(labels + first.end);
        p.advance(labels + first.start).ok_or(Error::CantFragmentHeader)?;
        p.prepend(header.bytes().len())
            .ok_or(Error::CantFragmentHeader)?
            .copy_from_slice(header.bytes());
        p.prepend(labels).ok_or(Error::CantFragmentHeader)?.copy_from_slice(&stack);
        Ok(pieces.count() as u64)
    }
}

struct FragmentTrace {
    mtu: usize,
    labels: usize,
}

impl Record for FragmentTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  mtu: {} label stack: {} bytes", self.mtu, self.labels)
    }
}

pub(super) fn add(router: &mut Router) -> Result<(), BuildError> {
    let adjacencies = router.adjacencies.reader();
    router.engine.add(Fragment { adjacencies, whole: Vec::new(), sequence: 0 })?;
    Ok(())
}
