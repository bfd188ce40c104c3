//! `icmp6-mld-query`: routers ask what groups have members on a link (RFC 3810 sections 5.1 and
//! 6.2). Control answers, after a while that the query bounds.

use net::icmp::{Count6, Error6};
use net::ip::Headers;
use net::prelude::*;
use wire::mld;

/// Tells control of queries.
#[derive(Clone)]
pub struct Queries {
    pub(super) events: EventSender<Query>,
}

/// The query of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Interface.
    pub interface: InterfaceIndex,
    /// For members of this group; unspecified: of all.
    pub group: Ipv6Addr,
    /// Within so many milliseconds.
    pub within_ms: u32,
    /// Whether it understands version 1 only.
    pub is_version1: bool,
}

impl Event for Query {}

impl Node for Queries {
    const NAME: &'static str = "icmp6-mld-query";
    const COUNTED_AT: &'static str = V6::NODES.icmp_input;
    type Next = std::convert::Infallible;
    type Error = Error6;
    type Count = Count6;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|p| {
            p.trace(Headers::<V6>::of);
            let query = read(p)?;
            self.events.send(query);
            Ok(())
        });
    }
}

/// Query of a neighbour (RFC 3810 section 5.1.14).
fn read(p: &Buffer<'_>) -> Result<Query, Error6> {
    let header = p.header::<ip6::Header>().ok_or(Error6::LengthTooSmallForType)?;
    let message = p.bytes_from(p.l4_offset());
    let query = mld::Version1::ref_from_prefix(message);
    let (query, _) = query.map_err(|_| Error6::LengthTooSmallForType)?;
    if header.hop_limit != 1 {
        return Err(Error6::InvalidHopLimitForType);
    }
    if !header.src_addr().is_unicast_link_local() || !mld::has_router_alert(p.bytes()) {
        return Err(Error6::Drop);
    }
    let is_version1 = message.len() < mld::VERSION2_QUERY;
    let code = query.max_response.get();
    let within_ms = if is_version1 { code.into() } else { mld::max_response_ms(code) };
    let interface = InterfaceIndex(p.rx());
    Ok(Query { interface, group: query.group.into(), within_ms, is_version1 })
}
