//! `dslite-out2in`: translates packets to addresses of the pool and puts them into the tunnel to
//! their B4.

use net::drops::Problem;
use net::prelude::*;
use sessions::{Direction, Flow4, Kind, Look};
use translation::handoff::Threads;
use translation::rewrite::rewrite;

use crate::core::{Core, Error, affinity_of_end, has_ports, host_of, note, outside_end};
use crate::tunnel::{enclose, is_fragment};

/// Translates packets from outside.
#[derive(Clone)]
pub struct Out2In(pub Core);

/// Edges of [`Out2In`].
#[derive(Clone, Copy, Debug, graph::Next)]
pub enum Next {
    /// In its tunnel.
    #[to("ip6-lookup")]
    Lookup,
    /// On the thread that has the port.
    #[to("dslite-out2in")]
    Again,
    /// The sender gets time exceeded.
    #[to("ip4-icmp-error", payload = Problem)]
    Icmp,
    /// Put together, and looked up again.
    #[to("ip4-full-reassembly-custom")]
    Reassemble,
}

impl Node for Out2In {
    const NAME: &'static str = "dslite-out2in";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now, thread) = (frame.epoch(), frame.now(), frame.thread());
        let (config, all) = (self.0.config.read(epoch), self.0.all.read(epoch));
        let (threads, strays) = (Threads::of(frame), all.sessions.strays(epoch));
        let mut lent = all.sessions.lend(thread);
        let mut translated = 0;
        frame.hand_off(Error::Unknown, |p| {
            if is_fragment(p, 0) {
                return Ok((thread, Next::Reassemble));
            }
            let table = lent.as_mut().ok_or(Error::NoTranslation)?;
            let aftr = config.aftr.ok_or(Error::NoTranslation)?;
            let seen = <[u8; 4]>::look(p.bytes(), p.ports(), 0).ok_or(Error::Unknown)?;
            let (flow, protocol) = (seen.flow, seen.flow.protocol());
            if seen.kind == Kind::Icmp {
                return Err(Error::IcmpType);
            }
            if !has_ports(protocol) {
                return Err(Error::Protocol);
            }
            let way = affinity_of_end((flow.dst, flow.dst_port), protocol, table.seed());
            let owner = threads.to(way, Some(strays));
            if owner != thread {
                return Ok((owner, Next::Again));
            }
            let found = table.find_reverse(&outside_end((flow.dst, flow.dst_port), protocol));
            let at = found.filter(|at| !table.is_over(*at, now)).ok_or(Error::NoTranslation)?;
            if p.header::<ip4::Header>().is_some_and(|h| h.ttl <= 1) {
                let code = icmp4::code::TTL_EXCEEDED;
                p.set_payload(Problem::ip4(icmp4::Type::TIME_EXCEEDED, code, 0));
                return Ok((thread, Next::Icmp));
            }
            let session = table.at(at).ok_or(Error::NoTranslation)?;
            let (b4, host, port) = host_of(&session.forward);
            let far_port = if protocol == Protocol::ICMP { port } else { flow.src_port };
            let new = Flow4::new((flow.src, far_port), (host.octets(), port), protocol, 0);
            note(table, at, Direction::Reverse, &seen, p.total_len(), now);
            rewrite(p, 0, &seen, &new, Direction::Reverse).ok_or(Error::Unknown)?;
            enclose(p, aftr, b4)?;
            translated += 1;
            Ok((thread, Next::Lookup))
        });
        frame.count_as(Error::Out2In, translated);
    }
}
