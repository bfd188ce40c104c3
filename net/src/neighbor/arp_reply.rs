//! `arp-reply`: answers who asks for an address of ours, and learns from what others say (RFC 826;
//! probes and announcements: RFC 5227).
#![forbid(unsafe_code)]

use graph::{Buffer, Flags, Frame, Node};
use infra::rcu::SlabReader;
use wire::MacAddr;
use wire::arp::{self, Operation};
use wire::ethernet::{self, EtherType};
use zerocopy::{FromBytes, IntoBytes};

use super::Evidence;
use super::arp_input::Packet;
use super::family::ArpFrame;
use crate::address::AddressReader;
use crate::interface::{InterfaceIndex, Port};
use crate::punt::{Event, EventSender};

/// Answers and learns.
#[derive(Clone)]
pub struct ArpReply {
    pub(super) ports: SlabReader<Port>,
    pub(super) addresses: AddressReader,
    pub(super) events: EventSender,
}

/// Edges of [`ArpReply`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// Who is asked for is not here: other features may answer.
    #[along]
    Along,
    /// An answer, to the output of the interface.
    #[to("interface-output")]
    Output,
}

/// Drops of [`ArpReply`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// ARP hw addr does not match L2 frame src addr.
    L2AddressMismatch,
    /// IP4 source address matches local interface.
    L3SrcAddressIsLocal,
    /// IP4 source address not local to subnet.
    L3SrcAddressNotLocal,
    /// IP4 destination address not local to subnet.
    L3DstAddressNotLocal,
    /// ARP probe or announcement dropped.
    GratuitousArp,
    /// ARP replies received.
    #[severity("info")]
    RepliesReceived,
    /// ARP opcode not request.
    OpcodeNotRequest,
    /// Interface is not IP enabled.
    InterfaceNotIpEnabled,
}

/// What [`ArpReply`] counts.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// ARP replies sent.
    RepliesSent,
    /// ARP request IP4 source address learned.
    L3SrcAddressLearned,
}

impl Node for ArpReply {
    const NAME: &'static str = "arp-reply";
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (mut sent, mut learned) = (0, 0);
        let Self { ports, addresses: ours, events } = self;
        frame.each(|p| {
            p.trace(Packet::of);
            let on = p.rx();
            let arp = *p.header::<arp::Header>().ok_or(Error::OpcodeNotRequest)?;
            let (sender, target) = (arp.sender.addr(), arp.target.addr());
            if arp.operation != Operation::REQUEST && arp.operation != Operation::REPLY {
                return Err(Error::OpcodeNotRequest);
            }
            if source_of(p) != Some(arp.sender.mac) || arp.sender.mac.is_multicast() {
                return Err(Error::L2AddressMismatch);
            }
            if ours.owns4(on, sender, epoch) {
                return Err(Error::L3SrcAddressIsLocal);
            }
            let is_probe = sender.is_unspecified();
            if !is_probe && ours.covering4(on, sender, epoch).is_none() {
                return Err(Error::L3SrcAddressNotLocal);
            }
            let is_for_us = ours.owns4(on, target, epoch);
            if !is_probe {
                let how = Evidence { creates: is_for_us, replaces: true };
                let (addr, mac) = (sender.into(), arp.sender.mac);
                events.send(Event::Learned { interface: InterfaceIndex(on), addr, mac, how });
            }
            match arp.operation {
                _ if arp.is_gratuitous() => Err(Error::GratuitousArp),
                Operation::REPLY => Err(Error::RepliesReceived),
                Operation::REQUEST if is_for_us => {
                    let port = ports.read(on, epoch).ok_or(Error::InterfaceNotIpEnabled)?;
                    answer(p, &arp, port.mac).ok_or(Error::InterfaceNotIpEnabled)?;
                    p.truncate_chain(size_of::<ArpFrame>());
                    sent += 1;
                    learned += u64::from(!is_probe);
                    Ok(Next::Output)
                }
                _ => {
                    p.error(Error::L3DstAddressNotLocal);
                    Ok(Next::Along)
                }
            }
        });
        frame.count(Count::RepliesSent, sent);
        frame.count(Count::L3SrcAddressLearned, learned);
    }
}

/// The sender's address of layer 2.
pub(super) fn source_of(p: &Buffer<'_>) -> Option<MacAddr> {
    let header = ethernet::Header::ref_from_prefix(p.bytes_from(p.l2_offset()));
    header.ok().filter(|_| p.flags().has(Flags::L2)).map(|(h, _)| h.src)
}

/// Turns a request into its answer, with a layer 2 header in front; `None` without room for that.
fn answer(p: &mut Buffer<'_>, request: &arp::Header, mac: MacAddr) -> Option<()> {
    let answer = ArpFrame {
        ethernet: ethernet::Header::new(request.sender.mac, mac, EtherType::ARP),
        arp: request.reply(mac),
    };
    p.prepend(size_of::<ethernet::Header>())?;
    p.bytes_mut().get_mut(..size_of::<ArpFrame>())?.copy_from_slice(answer.as_bytes());
    as_made_here(p);
    Some(())
}

/// Makes a received packet one of our own, whose current bytes start at its layer 2 header.
pub(super) fn as_made_here(p: &mut Buffer<'_>) {
    let (rx, offset) = (p.rx(), p.offset());
    p.set_tx(rx);
    p.set_l2_offset(offset);
    p.set_l3_offset(offset + size_of::<ethernet::Header>() as i16);
    let stale = Flags::GSO.with(Flags::CHECKSUM_TODO).with(Flags::HASH).with(Flags::L4);
    p.clear_flags(stale);
    p.add_flags(Flags::LOCAL.with(Flags::L2).with(Flags::L3));
}
