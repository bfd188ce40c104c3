//! `sr-localsid`: on to the next segment (RFC 8986 sections 4.1 to 4.3, 4.16.1); `sr-localsid-un`
//! and `sr-localsid-un-perf`: to the next micro-SID (RFC 9800 section 4.1).

use infra::counter::Rows;
use net::prelude::*;
use wire::ip6::Header;
use wire::srh::{self, SEGMENT};

use super::sid::{Next as Then, Sid, Sids};

/// Node of segments.
pub const NAME: &str = "sr-localsid";
/// Node of micro-SIDs.
pub const MICRO: &str = "sr-localsid-un";
/// The same, for those without a routing header.
pub const MICRO_FAST: &str = "sr-localsid-un-perf";

/// Drops of the nodes of local SIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// (SR-Error) No more segments.
    #[name("(SR-Error) No more segments")]
    NoMore,
    /// (SR-Error) No SR header.
    #[name("(SR-Error) No SR header")]
    NoHeader,
    /// (SR-Error) PSP Not available (segments left > 0).
    #[name("(SR-Error) PSP Not available (segments left > 0)")]
    NoPsp,
    /// (SR-Error) Decaps not available (segments left > 0).
    #[name("(SR-Error) Decaps not available (segments left > 0)")]
    NoDecap,
    /// (SR-Error) SRv6 decapsulated a L2 frame without dest.
    #[name("(SR-Error) SRv6 decapsulated a L2 frame without dest")]
    NoOutput,
    /// (SR-Error) No inner IP header.
    #[name("(SR-Error) No inner IP header")]
    NoInner,
}

/// Edges of [`End`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Looked up.
    #[to("ip6-lookup")]
    Lookup,
    /// To a neighbour.
    #[to("ip6-load-balance")]
    Balance,
}

/// Kinds of [`End`].
const SEGMENTS: u8 = 0;
const MICROS: u8 = 1;
const FAST_MICROS: u8 = 2;

/// Goes on to the next segment.
#[derive(Clone)]
struct End<const KIND: u8> {
    sids: SlabReader<Sid>,
    counters: Rows<VolumeCounter>,
}

/// Place of the destination address in a packet.
const DST: usize = std::mem::offset_of!(Header, dst);

/// Makes the next segment the destination; with the last but one the header goes, if it is to.
pub fn next_segment(p: &mut Buffer<'_>, is_psp: bool) -> Result<(), Error> {
    let place = srh::find(p.bytes()).ok_or(Error::NoHeader)?;
    let left = place.segments_left.checked_sub(1).ok_or(Error::NoMore)?;
    let at = place.segment(left).ok_or(Error::NoHeader)?;
    let bytes = p.bytes_mut();
    bytes.copy_within(at..at + SEGMENT, DST);
    *bytes.get_mut(place.left_at()).ok_or(Error::NoHeader)? = left;
    if is_psp && left == 0 {
        take_out(p, &place).ok_or(Error::NoPsp)?;
    }
    Ok(())
}

/// Takes a routing header out of a packet.
pub fn take_out(p: &mut Buffer<'_>, place: &srh::Place) -> Option<()> {
    let bytes = p.bytes_mut();
    *bytes.get_mut(place.announced_at)? = place.next_header.0;
    bytes.copy_within(..place.offset, place.len);
    p.advance(place.len)?;
    let header = p.header_mut::<Header>()?;
    let len = usize::from(header.payload_len.get()).checked_sub(place.len)?;
    header.payload_len = (len as u16).into();
    let at = p.offset();
    p.set_l3_offset(at);
    Some(())
}

/// Puts the next micro-SID in the place of the one that led here; false when none is left.
fn shift(p: &mut Buffer<'_>, (block, end): (usize, usize)) -> bool {
    let Some(dst) = p.bytes_mut().get_mut(DST..DST + SEGMENT) else { return false };
    let len = end - block;
    let next = dst.get(end..(end + len).min(SEGMENT)).unwrap_or(&[]);
    if next.iter().all(|byte| *byte == 0) {
        return false;
    }
    dst.copy_within(end.., block);
    dst[SEGMENT - len..].fill(0);
    true
}

impl<const KIND: u8> Node for End<KIND> {
    const NAME: &'static str = match KIND {
        SEGMENTS => NAME,
        MICROS => MICRO,
        _ => MICRO_FAST,
    };
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let counters = self.counters.row(frame.thread());
        frame.each(
            #[inline(always)]
            |p| {
                let index = p.adjacency();
                let sid = self.sids.read(index, epoch).ok_or(Error::NoHeader)?;
                let len = p.total_len() as u64;
                let is_done = KIND != SEGMENTS && sid.micro.is_some_and(|micro| shift(p, micro));
                let done = if is_done { Ok(()) } else { next_segment(p, sid.is_psp) };
                let place = 2 * index as usize + usize::from(done.is_err());
                if let Some(counter) = counters.get(place) {
                    counter.add(1, len);
                }
                p.trace(|p| Visited::of(p, index));
                done?;
                Ok(match sid.next {
                    Then::Table(table) => {
                        p.set_fib(table);
                        Next::Lookup
                    }
                    Then::Balance(balance) => {
                        p.set_adjacency(balance);
                        Next::Balance
                    }
                    Then::Lookup | Then::Decap(_) => Next::Lookup,
                })
            },
        );
    }
}

/// Outcome for a packet.
pub struct Visited {
    index: u32,
    dst: std::net::Ipv6Addr,
    left: Option<u8>,
}

impl Visited {
    /// Of a packet that a local SID has done with.
    pub fn of(p: &Buffer<'_>, index: u32) -> Self {
        let dst = p.header::<Header>().map_or(std::net::Ipv6Addr::UNSPECIFIED, Header::dst_addr);
        Self { index, dst, left: srh::find(p.bytes()).map(|place| place.segments_left) }
    }
}

impl Record for Visited {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  SR-LOCALSID: localsid {} next segment {}", self.index, self.dst)?;
        self.left.map_or(Ok(()), |left| write!(f, " segments left {left}"))
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, sids: &Sids) -> Result<(), BuildError> {
    let (sids, counters) = (sids.reader(), sids.counters());
    let (micros, micro_counters) = (sids.clone(), counters.clone());
    let (fast, fast_counters) = (sids.clone(), counters.clone());
    router.engine.add(End::<SEGMENTS> { sids, counters })?;
    router.engine.add(End::<MICROS> { sids: micros, counters: micro_counters })?;
    router.engine.add(End::<FAST_MICROS> { sids: fast, counters: fast_counters })?;
    Ok(())
}
