//! UDP ports of the protocol, taken while there are sessions: without any, a program on the host
//! may have them.

use net::prelude::*;
use wire::bfd;

use super::node::Carried;
use super::{Bfd, Error};

/// Ports that are taken: those of one hop, and that of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    single_hop: bool,
    multihop: bool,
}

/// Takes the ports that are needed, and gives up the others. `more` is a session that is to come.
pub(super) fn follow(router: &mut Router, more: Option<bool>) -> Result<(), Error> {
    let bfd = router.own::<Bfd>();
    let is_used = |is_multihop| {
        let mut all = bfd.by_key.keys();
        all.any(|key| key.is_multihop() == is_multihop) || more == Some(is_multihop)
    };
    let wanted =
        Taken { single_hop: is_used(false), multihop: is_used(true) || bfd.wants_multihop };
    let now = bfd.ports;
    if wanted.single_hop != now.single_hop {
        let nodes = wanted.single_hop;
        lead(router, bfd::SINGLE_HOP, [V4::CONTROL, V6::CONTROL], nodes)?;
        lead(router, bfd::ECHO, [V4::ECHO, V6::ECHO], nodes)?;
    }
    if wanted.multihop != now.multihop {
        lead(router, bfd::MULTIHOP, [V4::CONTROL, V6::CONTROL], wanted.multihop)?;
    }
    router.own_mut::<Bfd>().ports = wanted;
    Ok(())
}

fn lead(router: &mut Router, port: u16, nodes: [&str; 2], is_on: bool) -> Result<(), Error> {
    let lookups = [V4::NODES.udp_lookup, V6::NODES.udp_lookup];
    for (at, node) in lookups.into_iter().zip(nodes) {
        let done = router.redispatch(at, port, is_on.then_some(node));
        done.map_err(|_| Error::PortTaken(port))?;
    }
    Ok(())
}
