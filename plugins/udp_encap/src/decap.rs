//! Decapsulations: UDP ports behind whose header there is a packet to be forwarded.

use graph::Edge;
use net::prelude::*;
use net::tunnel::forget_outer;

use super::{Decap, Encaps, Error};

control::numbers! {
    /// Payload type after the UDP header.
    pub enum UdpDecapNextProto: u32 = "udp_decap_next_proto" in "" {
        IP4 = 0 => "UDP_API_DECAP_PROTO_IP4",
        IP6 = 1 => "UDP_API_DECAP_PROTO_IP6",
        MPLS = 2 => "UDP_API_DECAP_PROTO_MPLS",
    }
}

/// The nodes that ports lead to.
pub const NODES: [&str; 3] = ["udp-decap-ip4", "udp-decap-ip6", "udp-decap-mpls"];
/// The nodes that they lead to.
const INPUTS: [&str; 3] = ["ip4-input", "ip6-input", "mpls-input"];

/// Leaves the outer headers behind.
#[derive(Clone)]
struct Open<const PLACE: usize>;

/// The edge of [`Open`].
#[derive(Clone, Copy)]
struct Next<const PLACE: usize>;

impl<const PLACE: usize> graph::Next for Next<PLACE> {
    const EDGES: &'static [Edge] = &[Edge { to: INPUTS[PLACE], payload: "" }];
    #[inline(always)]
    fn slot(self, _: &graph::arc::Along<'_>, _: &mut graph::Buffer<'_>) -> u32 {
        0
    }
}

impl<const PLACE: usize> Node for Open<PLACE> {
    const NAME: &'static str = NODES[PLACE];
    const EXPLAINABLE: bool = true;
    type Next = Next<PLACE>;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            forget_outer(p);
            Ok(Next)
        });
    }
}

/// Adds the nodes.
pub fn add_nodes(router: &mut Router) -> Result<(), BuildError> {
    router.engine.add(Open::<0>)?;
    router.engine.add(Open::<1>)?;
    router.engine.add(Open::<2>)?;
    Ok(())
}

/// Forwards the payload of UDP packets to a port.
///
/// # Errors
/// [`Error::Taken`], [`Error::Protocol`]; nothing has changed then.
pub fn add(router: &mut Router, at: Decap, next: UdpDecapNextProto) -> Result<(), Error> {
    let node = NODES.get(next.0 as usize).ok_or(Error::Protocol)?;
    router.lead_tunnel_port(at.version, at.port, Some(node)).map_err(Error::Taken)?;
    router.own_mut::<Encaps>().decaps.insert(at, next);
    Ok(())
}

/// Stops forwarding them.
///
/// # Errors
/// [`Error::NoDecap`].
pub fn remove(router: &mut Router, at: Decap) -> Result<(), Error> {
    router.own_mut::<Encaps>().decaps.remove(&at).ok_or(Error::NoDecap(at.port))?;
    router.lead_tunnel_port(at.version, at.port, None).map_err(Error::Taken)
}
