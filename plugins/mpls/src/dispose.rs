//! `ip4-mpls-label-disposition-pipe` and its siblings: packets whose last label was popped. They
//! are checked like received ones, and follow a path, a table or a multicast route.

use graph::arc::Along;
use graph::{Edge, Payload};
use net::fib::{Family, Forwarding, Headers, Popped, Via};
use net::icmp::Problem;
use net::interface::Port;
use net::ip::SourceFamily;
use net::prelude::*;

use super::objects::{AfterPop, Disposition};

/// A version whose packets are below labels.
pub trait Below: Version<Family: Headers> {
    /// The nodes, for the pipe and the uniform model.
    const NAMES: [&'static str; 2];
    /// The node that looks destinations up.
    const LOOKUP: &'static str;
    /// The node that looks groups up.
    const MULTICAST: &'static str;
    /// Whether its packets are for a group.
    fn is_group(p: &Buffer<'_>) -> bool;
    /// Checks the header; says how long the packet is.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(p: &Buffer<'_>) -> Result<usize, Self::Error>;
    /// Gives the packet time to live and traffic class of its label.
    fn take(p: &mut Buffer<'_>, ttl: u8, exp: u8) -> Option<()>;
}

impl Below for V4 {
    const NAMES: [&'static str; 2] =
        ["ip4-mpls-label-disposition-pipe", "ip4-mpls-label-disposition-uniform"];
    const LOOKUP: &'static str = "ip4-lookup";
    const MULTICAST: &'static str = "ip4-mfib-forward-lookup";
    fn is_group(p: &Buffer<'_>) -> bool {
        p.header::<ip4::Header>().is_some_and(|h| h.dst[0] & 0xf0 == 0xe0)
    }
    fn check(p: &Buffer<'_>) -> Result<usize, Self::Error> {
        use net::ip4::Error;
        let header = p.header::<ip4::Header>().ok_or(Error::TooShort)?;
        if header.version() != 4 {
            return Err(Error::Version);
        }
        let len = header.header_len();
        let options = p.bytes().get(size_of::<ip4::Header>()..len).ok_or(Error::HdrTooShort)?;
        if !header.is_checksum_valid_with(options) {
            return Err(Error::BadChecksum);
        }
        let total = usize::from(header.total_len.get());
        let fits = (len..=p.total_len()).contains(&total);
        if fits { Ok(total) } else { Err(Error::BadLength) }
    }
    fn take(p: &mut Buffer<'_>, ttl: u8, exp: u8) -> Option<()> {
        let header = p.header_mut::<ip4::Header>()?;
        (header.ttl, header.tos) = (ttl, exp << 5);
        let len = header.header_len();
        let options = p.bytes().get(size_of::<ip4::Header>()..len)?.to_vec();
        p.header_mut::<ip4::Header>()?.update_checksum_with(&options);
        Some(())
    }
}

impl Below for V6 {
    const NAMES: [&'static str; 2] =
        ["ip6-mpls-label-disposition-pipe", "ip6-mpls-label-disposition-uniform"];
    const LOOKUP: &'static str = "ip6-lookup";
    const MULTICAST: &'static str = "ip6-mfib-forward-lookup";
    fn is_group(p: &Buffer<'_>) -> bool {
        p.header::<ip6::Header>().is_some_and(|h| h.dst[0] == 0xff)
    }
    fn check(p: &Buffer<'_>) -> Result<usize, Self::Error> {
        use net::ip6::Error;
        let header = p.header::<ip6::Header>().ok_or(Error::TooShort)?;
        if header.version() != 6 {
            return Err(Error::Version);
        }
        let total = size_of::<ip6::Header>() + usize::from(header.payload_len.get());
        if total <= p.total_len() { Ok(total) } else { Err(Error::BadLength) }
    }
    fn take(p: &mut Buffer<'_>, ttl: u8, exp: u8) -> Option<()> {
        let header = p.header_mut::<ip6::Header>()?;
        header.hop_limit = ttl;
        header.set_traffic_class(exp << 5);
        Some(())
    }
}

/// Sends packets on without their last label, with the time to live and class of the label if they
/// are to take it (`UNIFORM`).
#[derive(Clone)]
pub struct Dispose<V: Below, const UNIFORM: bool> {
    dispositions: SlabReader<Disposition>,
    forwarding: Forwarding<V::Family>,
    ports: SlabReader<Port>,
    version: PhantomData<V>,
}

type BalanceNext<V> = <<V as Version>::Family as Headers>::BalanceNext;

/// Edges of [`Dispose`].
#[derive(Clone, Copy)]
pub enum Next<V: Below> {
    /// The target of a path.
    Forward(BalanceNext<V>),
    /// By a table.
    Lookup,
    /// By a multicast table.
    Multicast,
    /// An ICMP error to the sender.
    Problem,
}

/// Number of edges of a path.
const fn count<V: Below>() -> usize {
    <BalanceNext<V> as graph::Next>::EDGES.len()
}

impl<V: Below> graph::Next for Next<V> {
    // Those of a path first, so that they have their own numbers; what is left over leads to the
    // lookup.
    const EDGES: &'static [Edge] = &{
        let mut all = [Edge { to: "", payload: "" }; 16];
        let own = <BalanceNext<V> as graph::Next>::EDGES;
        let mut i = 0;
        while i < all.len() {
            all[i] = if i < own.len() { own[i] } else { Edge { to: V::LOOKUP, payload: "" } };
            i += 1;
        }
        all[own.len() + 1] = Edge { to: V::MULTICAST, payload: "" };
        all[own.len() + 2] = Edge { to: V::NODES.icmp_error, payload: Problem::NAME };
        all
    };
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::Forward(next) => next.slot(along, p),
            Self::Lookup => count::<V>() as u32,
            Self::Multicast => count::<V>() as u32 + 1,
            Self::Problem => count::<V>() as u32 + 2,
        }
    }
}

impl<V: Below, const UNIFORM: bool> Node for Dispose<V, UNIFORM> {
    const NAME: &'static str = V::NAMES[UNIFORM as usize];
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next<V>;
    type Error = V::Error;
    type Count = std::convert::Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(
            #[inline(always)]
            |p| {
                let found = self.dispositions.read(p.adjacency(), epoch).ok_or(V::DROPPED)?;
                let popped = Popped::of(p).ok_or(V::DROPPED)?;
                if found.has_control_word {
                    p.advance(4).ok_or(V::DROPPED)?;
                }
                let at = p.offset();
                p.set_l3_offset(at);
                p.add_flags(Flags::L3);
                let len = V::check(p)?;
                p.truncate_chain(len);
                if UNIFORM {
                    V::take(p, popped.ttl, popped.exp).ok_or(V::DROPPED)?;
                }
                p.trace(net::ip::Forwarding::<V>::of);
                if V::hops(p).is_none_or(|hops| hops <= 1) && found.rpf_id != 0 {
                    p.error(V::EXPIRED);
                    p.set_payload(V::EXPIRED_PROBLEM);
                    let port = self.ports.read(p.rx(), epoch);
                    p.set_fib(port.and_then(V::Family::table).unwrap_or(0));
                    return Ok(Next::Problem);
                }
                Ok(self.onward(p, found, popped, epoch))
            },
        );
    }
}

impl<V: Below, const UNIFORM: bool> Dispose<V, UNIFORM> {
    fn onward(
        &self,
        p: &mut Packet<'_, Self>,
        found: &Disposition,
        popped: Popped,
        epoch: infra::rcu::Epoch<'_>,
    ) -> Next<V> {
        match found.then {
            AfterPop::OwnTable => {
                let port = self.ports.read(p.rx(), epoch);
                p.set_fib(port.and_then(V::Family::table).unwrap_or(0));
                p.clear_flags(Flags::POPPED);
                if V::is_group(p) { Next::Multicast } else { Next::Lookup }
            }
            AfterPop::Via(Via::Lookup(table)) => {
                p.set_fib(table);
                if found.rpf_id == 0 {
                    p.clear_flags(Flags::POPPED);
                    return Next::Lookup;
                }
                p.set_payload(Popped { rpf_id: found.rpf_id, ..popped });
                Next::Multicast
            }
            AfterPop::Via(via) => {
                // Receivers of errors are looked up in the table of the receive interface.
                let port = self.ports.read(p.rx(), epoch);
                p.set_fib(port.and_then(V::Family::table).unwrap_or(0));
                p.clear_flags(Flags::POPPED);
                Next::Forward(self.forwarding.lead(p, via, epoch))
            }
        }
    }
}

fn add_one<V: Below, const UNIFORM: bool>(
    router: &mut Router,
    dispositions: &SlabReader<Disposition>,
) -> Result<(), BuildError> {
    let link = <V::Family as Family>::LINK;
    router.add_forwarder(link, V::NAMES[usize::from(UNIFORM)], |router, objects| Dispose::<
        V,
        UNIFORM,
    > {
        dispositions: dispositions.clone(),
        forwarding: router.fib.forwarding::<V::Family>().leading_to(objects),
        ports: router.interfaces.ports(),
        version: PhantomData,
    })?;
    Ok(())
}

/// Adds the nodes of both versions.
pub(super) fn add(
    router: &mut Router,
    dispositions: &SlabReader<Disposition>,
) -> Result<(), BuildError> {
    add_one::<V4, false>(router, dispositions)?;
    add_one::<V4, true>(router, dispositions)?;
    add_one::<V6, false>(router, dispositions)?;
    add_one::<V6, true>(router, dispositions)
}
