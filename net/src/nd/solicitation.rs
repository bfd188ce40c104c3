//! `icmp6-neighbor-solicitation`: answers solicitations for our addresses, and learns their senders
//! (RFC 4861 section 7.2.3 and 7.2.4, duplicate address detection: RFC 4862 section 5.4).
//!
//! Packets come with current bytes at the IPv6 header, `l4_offset` at the message; hop limit,
//! code, length and checksum are checked.
#![forbid(unsafe_code)]

use std::net::Ipv6Addr;

use graph::{Frame, Node};
use infra::rcu::{Epoch, Reader, SlabReader};
use wire::ip6;

use super::Duplicate;
use super::message::{Message, answer};
use super::proxy::Answered;
use crate::address::AddressReader;
use crate::arp::source_of;
use crate::events::EventSender;
use crate::fib::Ip6;
use crate::icmp::{Count6, Error6};
use crate::interface::{InterfaceIndex, Port};
use crate::ip::{Headers, V6, Version};
use crate::neighbor::{Counters, Evidence, Learned, OnLink, count};

/// Answers and learns.
#[derive(Clone)]
pub struct NeighborSolicitation {
    pub(super) ports: SlabReader<Port>,
    pub(super) addresses: AddressReader,
    pub(super) on_link: OnLink<Ip6>,
    pub(super) answered: Reader<Answered>,
    pub(super) tentative: Reader<Vec<(InterfaceIndex, Ipv6Addr)>>,
    pub(super) counters: Counters,
    pub(super) learned: EventSender<Learned>,
    pub(super) duplicates: EventSender<Duplicate>,
}

/// Edges of [`NeighborSolicitation`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// An advertisement, to the output of the interface.
    #[to("interface-output")]
    Output,
}

impl Node for NeighborSolicitation {
    const NAME: &'static str = "icmp6-neighbor-solicitation";
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
        frame.each(
            #[inline(always)]
            |p| {
                p.trace(Headers::<V6>::of);
                let on = p.rx();
                let asked = Message::solicitation(p, p.l4_offset())?;
                count(&self.counters.rx.requests, thread, on);
                let ours = self.ports.read(on, epoch).ok_or(Error6::Drop)?.mac;
                let is_neighbor = self.check_source(on, &asked, epoch)?;
                if self.is_tentative(on, asked.target, epoch) {
                    let is_other = source_of(p) != Some(ours);
                    if asked.src.is_unspecified() && is_other {
                        let (interface, addr) = (InterfaceIndex(on), asked.target);
                        self.duplicates.send(Duplicate { interface, addr });
                    }
                    return Err(Error6::Drop);
                }
                if !self.answers_for(on, &asked, epoch) && !self.serves(on, &asked, epoch) {
                    return Err(Error6::NeighborSolicitationSourceUnknown);
                }
                if let Some(mac) = asked.mac.filter(|_| is_neighbor) {
                    let (interface, addr) = (InterfaceIndex(on), asked.src.into());
                    let how = Evidence { creates: true, replaces: true };
                    self.learned.send(Learned { interface, addr, mac, how });
                }
                answer(p, &asked, ours)?;
                count(&self.counters.tx.replies, thread, on);
                sent += 1;
                Ok(Next::Output)
            },
        );
        frame.count(Count6::NeighborAdvertisementsTx, sent);
    }
}

impl NeighborSolicitation {
    /// Whether it comes from a neighbour, to be learned. Others are answered as well: the only host
    /// behind an unnumbered interface, and those that ask from an address of another link.
    fn check_source(&self, on: u32, asked: &Message, epoch: Epoch<'_>) -> Result<bool, Error6> {
        if asked.src.is_unspecified() {
            let is_detection =
                asked.mac.is_none() && asked.dst == ip6::solicited_node(asked.target);
            return if is_detection { Ok(false) } else { Err(Error6::Drop) };
        }
        let ours = &self.addresses;
        if ours.owns6(on, asked.src, epoch) {
            return Err(Error6::Drop);
        }
        if self.on_link.has(on, asked.src, epoch) || ours.shares6(on, asked.src, epoch) {
            return Ok(true);
        }
        let is_alone = ours.is_unnumbered(on, epoch) && ours.owns6(on, asked.target, epoch);
        let may_ask = is_alone
            || self.answers_for(on, asked, epoch) && self.on_link.answers(on, asked.src, epoch);
        may_ask.then_some(false).ok_or(Error6::NeighborSolicitationSourceNotOnLink)
    }
    /// Whether it comes from a host that is answered for elsewhere, for an address of ours: one of
    /// the link that the host believes to be on.
    fn serves(&self, on: u32, asked: &Message, epoch: Epoch<'_>) -> bool {
        self.answered.read(epoch).is_behind(on, asked.src)
            && self.on_link.is_of_router(on, asked.target, epoch)
    }
    fn is_tentative(&self, on: u32, target: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        let tentative = self.tentative.read(epoch);
        tentative.binary_search(&(InterfaceIndex(on), target)).is_ok()
    }
    /// Whether we answer for the address that is asked for: it is ours, or one of a host that is
    /// answered for.
    fn answers_for(&self, on: u32, asked: &Message, epoch: Epoch<'_>) -> bool {
        let target = asked.target;
        let answered = self.answered.read(epoch);
        self.addresses.owns6(on, target, epoch)
            || self.on_link.is_ours(on, target, epoch)
            || answered.has(&self.ports, (on, asked.src), target, epoch)
    }
}
