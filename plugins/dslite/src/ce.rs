//! `dslite-ce-encap`: IPv4 packets of the customer go into the tunnel to the AFTR;
//! `dslite-ce-decap`: what comes out of it goes on.

use net::drops::Problem;
use net::prelude::*;

use crate::core::{Core, Error};
use crate::tunnel::{Inside, enclose, inside, open};

/// Puts packets into the tunnel.
#[derive(Clone)]
pub struct Encap(pub Core);

/// Edges of [`Encap`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum NextEncap {
    /// In the tunnel.
    #[to("ip6-lookup")]
    Lookup,
    /// The sender gets time exceeded.
    #[to("ip4-icmp-error", payload = Problem)]
    Icmp,
}

impl Node for Encap {
    const NAME: &'static str = "dslite-ce-encap";
    const EXPLAINABLE: bool = true;
    type Next = NextEncap;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let config = self.0.config.read(frame.epoch());
        let ends = config.b4.zip(config.aftr);
        let mut sent = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let (b4, aftr) = ends.ok_or(Error::NoTranslation)?;
                if p.header::<ip4::Header>().is_some_and(|h| h.ttl <= 1) {
                    let code = icmp4::code::TTL_EXCEEDED;
                    p.set_payload(Problem::ip4(icmp4::Type::TIME_EXCEEDED, code, 0));
                    return Ok(NextEncap::Icmp);
                }
                enclose(p, b4, aftr)?;
                sent += 1;
                Ok(NextEncap::Lookup)
            },
        );
        frame.count_as(Error::Encap, sent);
    }
}

/// Takes packets out of the tunnel.
#[derive(Clone)]
pub struct Decap(pub Core);

/// Edges of [`Decap`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum NextDecap {
    /// Out of the tunnel.
    #[to("ip4-lookup")]
    Lookup,
    /// A message for this router.
    #[to("ip6-receive")]
    Local,
    /// Put together, and looked up again (RFC 6333 section 5.3).
    #[to("ip6-full-reassembly-custom")]
    Reassemble,
}

impl Node for Decap {
    const NAME: &'static str = "dslite-ce-decap";
    const EXPLAINABLE: bool = true;
    type Next = NextDecap;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let config = self.0.config.read(frame.epoch());
        let mut received = 0;
        frame.each(
            #[inline(always)]
            |p| match inside(p)? {
                Inside::Message => Ok(NextDecap::Local),
                Inside::Fragment => Ok(NextDecap::Reassemble),
                // Only the AFTR has packets for the customer.
                Inside::Packet(src, _) if Some(src) != config.aftr => Err(Error::NoTranslation),
                Inside::Packet(_, offset) => {
                    open(p, offset)?;
                    received += 1;
                    Ok(NextDecap::Lookup)
                }
            },
        );
        frame.count_as(Error::Decap, received);
    }
}
