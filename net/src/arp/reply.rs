//! `arp-reply`: answers requests for our addresses, and learns from senders (RFC 826; probes and
//! announcements: RFC 5227).
#![forbid(unsafe_code)]

use std::net::Ipv4Addr;

use graph::{Buffer, Flags, Frame, Node, Packet};
use infra::counter::{Counter, Rows};
use infra::rcu::{Epoch, Reader, SlabReader};
use wire::MacAddr;
use wire::arp::{self, Operation};
use wire::ethernet::{self, EtherType};
use zerocopy::{FromBytes, IntoBytes};

use super::input::Seen;
use super::proxy::Answered;
use super::reason::{Count, Error};
use crate::address::AddressReader;
use crate::events::EventSender;
use crate::fib::Ip4;
use crate::interface::{InterfaceIndex, Port};
use crate::neighbor::{ArpFrame, Counters, Evidence, Heard, Learned, Messages, OnLink, count};

/// Answers and learns.
#[derive(Clone)]
pub struct ArpReply {
    pub(super) ports: SlabReader<Port>,
    pub(super) addresses: AddressReader,
    pub(super) on_link: OnLink<Ip4>,
    pub(super) answered: Reader<Answered>,
    pub(super) counters: Counters,
    /// Answers, and requests.
    pub(super) events: (EventSender<Learned>, EventSender<Heard>),
}

/// Edges of [`ArpReply`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The next feature, for addresses that are not this router's: `arp-proxy` may answer.
    #[along]
    Along,
    /// An answer, to the output of the interface.
    #[to("interface-output")]
    Output,
}

impl Node for ArpReply {
    const NAME: &'static str = "arp-reply";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (mut sent, mut learned) = (0, 0);
        let Self { ports, addresses: ours, on_link, answered, counters, events } = self;
        let thread = frame.thread();
        let answered = answered.read(epoch);
        frame.each(|p| {
            p.trace(Seen::of);
            let on = p.rx();
            let arp = *p.header::<arp::Header>().ok_or(Error::OpcodeNotRequest)?;
            let (sender, target) = (arp.sender.addr(), arp.target.addr());
            if arp.operation != Operation::REQUEST && arp.operation != Operation::REPLY {
                return Err(Error::OpcodeNotRequest);
            }
            count(received(&counters.rx, &arp), thread, on);
            if !is_sender(p, arp.sender.mac) {
                return Err(Error::L2AddressMismatch);
            }
            let is_request = arp.operation == Operation::REQUEST;
            if ours.owns4(on, sender, epoch) {
                // A host that has the address which its unnumbered interface uses asks the proxy.
                let is_mirror = is_request && ours.is_unnumbered(on, epoch) && sender != target;
                let may_answer = is_mirror && answered.is_on(on);
                return may_answer.then_some(Next::Along).ok_or(Error::L3SrcAddressIsLocal);
            }
            let is_probe = sender.is_unspecified();
            let is_for_us = ours.owns4(on, target, epoch) || on_link.is_ours(on, target, epoch);
            let is_neighbor = on_link.has(on, sender, epoch) || ours.shares4(on, sender, epoch);
            let may_ask = is_request && is_for_us && answers(ours, on_link, (on, sender), epoch);
            if !is_probe && !is_neighbor && !may_ask {
                // a proxy answers for addresses of other links, and to hosts behind unnumbered ones
                let is_for_others = is_request && !is_for_us;
                let may_answer = is_for_others && !arp.is_gratuitous() && answered.is_on(on);
                let is_near = is_for_us || on_link.has(on, target, epoch);
                let why = match is_near {
                    true => Error::L3SrcAddressNotLocal,
                    false => Error::L3DstAddressNotLocal,
                };
                return may_answer.then_some(Next::Along).ok_or(why);
            }
            if !is_probe && is_neighbor {
                let how = Evidence { creates: is_for_us, replaces: true };
                let (addr, mac) = (sender.into(), arp.sender.mac);
                let news = Learned { interface: InterfaceIndex(on), addr, mac, how };
                if is_request {
                    events.1.send(Heard(news))
                } else {
                    events.0.send(news)
                };
            }
            match arp.operation {
                _ if arp.is_gratuitous() => Err(Error::GratuitousArp),
                Operation::REPLY => Err(Error::RepliesReceived),
                Operation::REQUEST if is_for_us => {
                    let port = ports.read(on, epoch).ok_or(Error::InterfaceNoTable)?;
                    answer(p, &arp, port.mac).ok_or(Error::InterfaceNotIpEnabled)?;
                    count(&counters.tx.replies, thread, on);
                    sent += 1;
                    learned += u64::from(!is_probe && is_neighbor);
                    Ok(Next::Output)
                }
                _ if answered.is_on(on) => Ok(Next::Along),
                _ => Err(Error::L3DstAddressNotLocal),
            }
        });
        frame.count(Count::RepliesSent, sent);
        frame.count(Count::L3SrcAddressLearned, learned);
    }
}

/// Whether a host that is not a neighbor is answered, though not learned: the only one behind an
/// unnumbered interface, and one with an address of another link.
fn answers(
    ours: &AddressReader,
    on_link: &OnLink<Ip4>,
    (on, sender): (u32, Ipv4Addr),
    epoch: Epoch<'_>,
) -> bool {
    let is_of_another = ours.covering4(on, sender, epoch).is_none();
    ours.is_unnumbered(on, epoch) || is_of_another && on_link.answers(on, sender, epoch)
}

/// The counter that a packet belongs to.
fn received<'m>(all: &'m Messages, arp: &arp::Header) -> &'m Rows<Counter> {
    match arp.operation {
        _ if arp.is_gratuitous() => &all.gratuitous,
        Operation::REPLY => &all.replies,
        _ => &all.requests,
    }
}

/// Whether a packet comes from the address of layer 2 that its sender claims. Who shares an address
/// by VRRP answers with the virtual one from its own (RFC 5798 section 8.1.2).
fn is_sender(p: &Buffer<'_>, claimed: MacAddr) -> bool {
    let is_virtual = claimed.0[..5] == [0, 0, 0x5e, 0, 1];
    !claimed.is_multicast() && (is_virtual || source_of(p) == Some(claimed))
}

/// The sender's address of layer 2.
pub fn source_of(p: &Buffer<'_>) -> Option<MacAddr> {
    let header = ethernet::Header::ref_from_prefix(p.bytes_from(p.l2_offset()));
    header.ok().filter(|_| p.flags().has(Flags::L2)).map(|(h, _)| h.src)
}

/// Turns a request into its answer, with a layer 2 header in front; `None` without room for that.
pub fn answer<N>(p: &mut Packet<'_, N>, request: &arp::Header, mac: MacAddr) -> Option<()> {
    let answer = ArpFrame {
        ethernet: ethernet::Header::new(request.sender.mac, mac, EtherType::ARP),
        arp: request.reply(mac),
    };
    p.prepend(size_of::<ethernet::Header>())?;
    p.bytes_mut().get_mut(..size_of::<ArpFrame>())?.copy_from_slice(answer.as_bytes());
    p.truncate_chain(size_of::<ArpFrame>());
    as_made_here(p);
    Some(())
}

/// Makes a received packet one of our own, whose current bytes start at its layer 2 header.
pub(crate) fn as_made_here(p: &mut Buffer<'_>) {
    let (rx, offset) = (p.rx(), p.offset());
    p.set_tx(rx);
    p.set_l2_offset(offset);
    p.set_l3_offset(offset + size_of::<ethernet::Header>() as i16);
    let stale = Flags::GSO.with(Flags::CHECKSUM_TODO).with(Flags::HASH).with(Flags::L4);
    p.clear_flags(stale);
    p.add_flags(Flags::LOCAL.with(Flags::L2).with(Flags::L3));
}
