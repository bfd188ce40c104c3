//! `srv6-am-localsid`: packets go to the service under their last segment; `srv6-am-rewrite`: what
//! returns goes on to the segment that is next.

use net::prelude::*;
use wire::srh;

use super::proxy::{Proxy, To};

/// The node of local SIDs.
pub const NAME: &str = "srv6-am-localsid";
/// The node for what returns.
pub const BACK: &str = "srv6-am-rewrite";

/// Gives packets to the service.
#[derive(Clone)]
struct Mask(SlabReader<Proxy>);

/// Edges of [`Mask`].
#[derive(Clone, Copy, graph::Next)]
enum Next {
    /// Without segments left.
    #[to("error-drop")]
    Drop,
    /// To the service.
    #[to("ip6-load-balance")]
    Service,
}

/// Makes a segment the destination of a packet: the last, with one segment fewer left, or the one
/// that is next.
fn set_segment(p: &mut Buffer<'_>, is_masked: bool) -> Option<()> {
    let place = srh::find(p.bytes())?;
    let left = match is_masked {
        true => place.segments_left.checked_sub(1)?,
        false => place.segments_left,
    };
    place.segment(left)?;
    let at = place.segment(if is_masked { 0 } else { left })?;
    let bytes = p.bytes_mut();
    bytes.copy_within(at..at + srh::SEGMENT, std::mem::offset_of!(ip6::Header, dst));
    *bytes.get_mut(place.left_at())? = left;
    Some(())
}

impl Node for Mask {
    const NAME: &'static str = NAME;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let Some(Proxy { to: To::Packets(_, balance), .. }) = self.0.read(p.adjacency(), epoch)
            else {
                return Ok(Next::Drop);
            };
            let is_masked = set_segment(p, true).is_some();
            p.trace(Shown::of);
            if !is_masked {
                return Ok(Next::Drop);
            }
            p.set_adjacency(*balance);
            Ok(Next::Service)
        });
    }
}

struct Shown(std::net::Ipv6Addr);

impl Shown {
    fn of(p: &Buffer<'_>) -> Self {
        let none = std::net::Ipv6Addr::UNSPECIFIED;
        Self(p.header::<ip6::Header>().map_or(none, ip6::Header::dst_addr))
    }
}

impl Record for Shown {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  SRv6 masquerading proxy: destination {}", self.0)
    }
}

/// Drops of [`Unmask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// (Error) No SRH.
    #[name("(Error) No SRH.")]
    NoHeader,
}

/// Counters of [`Unmask`].
#[derive(Clone, Copy, graph::Count)]
enum Count {
    /// srv6-am rewritten packets.
    #[name("srv6-am rewritten packets")]
    Rewritten,
}

/// Takes what the service returns.
#[derive(Clone)]
struct Unmask;

/// The edge of [`Unmask`].
#[derive(Clone, Copy, graph::Next)]
enum Onward {
    /// To the segment that is next.
    #[to("ip6-lookup")]
    Lookup,
}

impl Node for Unmask {
    const NAME: &'static str = BACK;
    const EXPLAINABLE: bool = true;
    type Next = Onward;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut count = 0;
        frame.each(|p| {
            set_segment(p, false).ok_or(Error::NoHeader)?;
            p.trace(Shown::of);
            count += 1;
            Ok(Onward::Lookup)
        });
        frame.count(Count::Rewritten, count);
    }
}

/// Adds the nodes.
pub fn add(router: &mut Router, proxies: SlabReader<Proxy>) -> Result<(), BuildError> {
    router.engine.add(Mask(proxies))?;
    router.engine.add_feature(&IP6_UNICAST, Unmask)?;
    Ok(())
}
