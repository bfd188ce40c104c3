//! `ip4-rewrite-mcast`, `ip6-rewrite-mcast`: as [`super::Rewrite`], to the MAC address of the
//! packet's group (RFC 1112 section 6.4, RFC 2464 section 7), but never to its receive interface:
//! another router there would send it back.

use std::convert::Infallible;

use graph::{Flags, Frame, Node};
use infra::counter::{Rows, VolumeCounter};
use infra::rcu::SlabReader;
use wire::ethernet;

use super::Version;
use super::rewrite::{
    CheckResult, Next, Rewritten, count, look_closer, may_leave, put_in_front, spend_hop,
};
use crate::adjacency::{Adjacency, Role};
use crate::interface::EdgesReader;

/// Sends packets to groups.
#[derive(Clone)]
pub struct RewriteMulticast<V> {
    /// Version.
    pub version: V,
    /// Adjacencies of multicast groups.
    pub adjacencies: SlabReader<Adjacency>,
    /// Packets and bytes by adjacency.
    pub counters: Rows<VolumeCounter>,
    /// Edges by interface.
    pub outputs: EdgesReader,
}

impl<V: Version> Node for RewriteMulticast<V> {
    const NAME: &'static str = V::NODES.rewrite_mcast;
    const COUNTED_AT: &'static str = V::NODES.input;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<V>;
    type Error = V::Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, version) = (frame.epoch(), self.version);
        let arc = frame.start(V::OUTPUT_ARC);
        let outputs = self.outputs.read(epoch);
        let counters = self.counters.row(frame.thread());
        frame.each(|p| {
            let a = self.adjacencies.read(p.adjacency(), epoch).filter(|a| a.complete);
            let a = a.ok_or(V::DROPPED)?;
            let tx = a.interface.0;
            if tx == p.rx() && !p.flags().has(Flags::LOCAL) {
                return Err(V::SAME_INTERFACE);
            }
            if a.role == Role::Midchain {
                return Ok(Next::Tunnel(version));
            }
            let output = outputs.to(tx).ok_or(V::DROPPED)?;
            if !may_leave::<V>(p, a) {
                match look_closer::<V, _>(p, a) {
                    CheckResult::Good => (),
                    CheckResult::Bad(why) => return Err(why),
                    CheckResult::IcmpError => return Ok(Next::IcmpError(version)),
                    CheckResult::Big => return Ok(Next::Fragment(version)),
                }
            }
            spend_hop::<V>(p);
            let group = V::group_mac(p);
            put_in_front(p, a).ok_or(V::DROPPED)?;
            if let Some(header) = p.header_mut::<ethernet::Header>().filter(|_| a.header_len > 0) {
                header.dst = group;
            }
            if a.is_counted {
                count(counters, p, p.adjacency());
            }
            p.trace(|p| Rewritten::of(p, a));
            Ok(Next::Output(arc.first(tx).unwrap_or(output)))
        });
    }
}
