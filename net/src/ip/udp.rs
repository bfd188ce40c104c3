//! `ip4-udp-lookup`, `ip6-udp-lookup`: the listeners of ports (RFC 768, RFC 1122 section 4.1.3.1).

use std::convert::Infallible;

use graph::{Frame, Node};
use infra::rcu::Reader;
use wire::udp;
use zerocopy::FromBytes;

use super::dispatch::Edges;
use super::local::Delivery;
use super::{Headers, Version};

/// Passes UDP packets for this router to the node that is registered for their port.
#[derive(Clone)]
pub struct UdpLookup<V> {
    /// Version.
    pub version: V,
    /// Nodes by port.
    pub ports: Reader<Edges>,
}

/// Drops of [`UdpLookup`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no listener for dst port.
    NoListener,
    /// UDP packets with length errors.
    LengthError,
}

impl<V: Version> Node for UdpLookup<V> {
    const NAME: &'static str = V::NODES.udp_lookup;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Delivery<V>;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let ports = self.ports.read(frame.epoch());
        frame.each(|p| {
            p.trace(Headers::<V>::of);
            let l4 = p.l4_offset();
            let header = udp::Header::ref_from_prefix(p.bytes_from(l4)).ok();
            let port = header.ok_or(Error::LengthError)?.0.dst_port;
            let Some(listener) = ports.find(port.get().into()) else {
                p.error(Error::NoListener);
                p.set_payload(V::PORT_PROBLEM);
                return Ok(Delivery::IcmpError(self.version));
            };
            let headers = (l4 - p.offset()) as usize + size_of::<udp::Header>();
            p.advance(headers).ok_or(Error::LengthError)?;
            Ok(Delivery::To(listener))
        });
    }
}
