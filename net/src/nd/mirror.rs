//! `ip6-unicast-nd-proxy`, `ip6-multicast-nd-proxy`: on interfaces the operator chose, every
//! solicitation for somebody else is answered with our own address of layer 2. That serves a host
//! behind an unnumbered interface that thinks it is on our network, with our own address.
#![forbid(unsafe_code)]

use std::marker::PhantomData;

use graph::{Buffer, Frame, Node};
use infra::counter::{Counter, Rows};
use infra::rcu::SlabReader;
use wire::{Protocol, checksum, icmp6, ip6, nd};
use zerocopy::FromBytes;

use super::message::{Message, answer};
use crate::address::AddressReader;
use crate::icmp::{Count6, Error6};
use crate::interface::Port;
use crate::ip::{Headers, V6, Version};
use crate::neighbor::{Counters, count};

/// On which arc the node is.
pub trait Place: Copy + Send + 'static {
    /// Name of the node.
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

/// Answers for everybody else.
#[derive(Clone)]
pub struct Mirror<P> {
    ports: SlabReader<Port>,
    addresses: AddressReader,
    requests: Rows<Counter>,
    replies: Rows<Counter>,
    of: PhantomData<P>,
}

/// Edges of [`Mirror`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// It asks for nobody else.
    #[along]
    Along,
    /// An advertisement, to the output of the interface.
    #[to("interface-output")]
    Output,
}

impl<P> Mirror<P> {
    pub(super) fn new(
        ports: SlabReader<Port>,
        addresses: AddressReader,
        counters: &Counters,
    ) -> Self {
        let (requests, replies) = (counters.rx.requests.clone(), counters.tx.replies.clone());
        Self { ports, addresses, requests, replies, of: PhantomData }
    }
}

impl<P: Place> Node for Mirror<P> {
    const NAME: &'static str = P::NAME;
    const COUNTED_AT: &'static str = V6::NODES.icmp_input;
    type Next = Next;
    type Error = Error6;
    type Count = Count6;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let mut sent = 0;
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            let on = p.rx();
            let Some(l4) = solicitation(p) else { return Ok(Next::Along) };
            let asked = Message::solicitation(p, l4)?;
            let is_detection = asked.src.is_unspecified() || asked.src == asked.target;
            if is_detection || self.addresses.owns6(on, asked.target, epoch) {
                return Ok(Next::Along);
            }
            let ours = self.ports.read(on, epoch).ok_or(Error6::Drop)?.mac;
            answer(p, &asked, ours)?;
            count(&self.requests, thread, on);
            count(&self.replies, thread, on);
            sent += 1;
            Ok(Next::Output)
        });
        frame.count(Count6::NeighborAdvertisementsTx, sent);
    }
}

/// Where the message of a packet starts that is a valid solicitation (RFC 4861 section 7.1.1).
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
