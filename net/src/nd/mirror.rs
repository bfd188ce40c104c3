//! `ip6-unicast-nd-proxy`, `ip6-multicast-nd-proxy`: solicitations for other hosts are answered
//! with our own link-layer address, before the check whether they are addressed to this router.
//!
//! On interfaces the operator chose, that is all of them: it serves a host behind an unnumbered
//! interface that thinks it is on our network, with our own address. On the others, it is those for
//! hosts that are answered for.
#![forbid(unsafe_code)]

use std::marker::PhantomData;

use graph::{Buffer, Frame, Node};
use infra::rcu::{Reader, SlabReader};
use wire::{Protocol, checksum, icmp6, ip6, nd};
use zerocopy::FromBytes;

use super::message::{Message, answer};
use super::proxy::Answered;
use crate::address::AddressReader;
use crate::events::EventSender;
use crate::fib::Ip6;
use crate::icmp::{Count6, Error6};
use crate::interface::{InterfaceIndex, Port};
use crate::ip::{Headers, V6, Version};
use crate::neighbor::{Counters, Evidence, Learned, OnLink, count};

/// On which arc the node is.
pub trait Place: Copy + Send + 'static {
    /// Node name.
    const NAME: &'static str;
}

/// On packets for one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Unicast;
/// On packets for groups.
#[derive(Clone, Copy, Debug)]
pub struct Multicast;

impl Place for Unicast {
    const NAME: &'static str = "ip6-unicast-nd-proxy";
}
impl Place for Multicast {
    const NAME: &'static str = "ip6-multicast-nd-proxy";
}

/// Answers for others.
#[derive(Clone)]
pub struct Mirror<P> {
    readers: Readers,
    of: PhantomData<P>,
}

/// The state that the nodes read.
#[derive(Clone)]
pub(super) struct Readers {
    pub ports: SlabReader<Port>,
    pub addresses: AddressReader,
    pub on_link: OnLink<Ip6>,
    pub answered: Reader<Answered>,
    pub counters: Counters,
    pub learned: EventSender<Learned>,
}

/// Edges of [`Mirror`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The solicitation is for the router itself.
    #[along]
    Along,
    /// An advertisement, to the output of the interface.
    #[to("interface-output")]
    Output,
}

impl<P> Mirror<P> {
    pub(super) fn new(readers: Readers) -> Self {
        Self { readers, of: PhantomData }
    }
}

impl<P: Place> Node for Mirror<P> {
    const NAME: &'static str = P::NAME;
    const COUNTED_AT: &'static str = V6::NODES.icmp_input;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error6;
    type Count = Count6;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let mut sent = 0;
        let Readers { ports, addresses, on_link, answered, counters, learned } = &mut self.readers;
        let answered = answered.read(epoch);
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            let on = p.rx();
            let Some(l4) = solicitation(p) else { return Ok(Next::Along) };
            let asked = Message::solicitation(p, l4)?;
            let (src, target) = (asked.src, asked.target);
            let is_detection = src.is_unspecified() || src == target;
            let is_neighbor = on_link.has(on, src, epoch);
            let may_ask = is_neighbor || on_link.answers(on, src, epoch);
            let is_proxied = may_ask && answered.has(ports, (on, src), target, epoch);
            if is_detection || addresses.owns6(on, target, epoch) {
                return Ok(Next::Along);
            }
            if !is_proxied && !answered.is_mirrored(on) {
                return Ok(Next::Along);
            }
            if let Some(mac) = asked.mac.filter(|_| is_neighbor) {
                let how = Evidence { creates: true, replaces: true };
                let interface = InterfaceIndex(on);
                learned.send(Learned { interface, addr: src.into(), mac, how });
            }
            let ours = ports.read(on, epoch).ok_or(Error6::Drop)?.mac;
            answer(p, &asked, ours)?;
            count(&counters.rx.requests, thread, on);
            count(&counters.tx.replies, thread, on);
            sent += 1;
            Ok(Next::Output)
        });
        frame.count(Count6::NeighborAdvertisementsTx, sent);
    }
}

/// Start of the message of a packet that is a valid solicitation (RFC 4861 section 7.1.1).
fn solicitation(p: &Buffer<'_>) -> Option<i16> {
    let ip = p.header::<ip6::Header>()?;
    if ip.next_header != Protocol::ICMP6 || ip.hop_limit != 255 {
        return None;
    }
    let len = usize::from(ip.payload_len.get());
    let message = p.bytes().get(size_of::<ip6::Header>()..)?.get(..len)?;
    let (header, _) = nd::NeighborSolicitation::ref_from_prefix(message).ok()?;
    let is_one = header.icmp.kind == icmp6::Type::NEIGHBOR_SOLICITATION && header.icmp.code == 0;
    let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, len as u32);
    let is_valid = is_one && pseudo.add_bytes(message).is_valid();
    is_valid.then(|| p.offset() + size_of::<ip6::Header>() as i16)
}
