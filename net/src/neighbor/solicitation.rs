//! `icmp6-neighbor-solicitation`: answers who asks for an address of ours, and learns who asked
//! (RFC 4861 section 7.2.3 and 7.2.4, duplicate address detection: RFC 4862 section 5.4).
//!
//! Packets come with current bytes at the IPv6 header, `l4_offset` at the message; hop limit,
//! code, length and checksum are checked.
#![forbid(unsafe_code)]

use std::net::Ipv6Addr;

use graph::{Buffer, Frame, Node};
use infra::rcu::SlabReader;
use wire::nd::{self, NdOption};
use wire::{MacAddr, ethernet, icmp6, ip6};
use zerocopy::{FromBytes, IntoBytes};

use super::Evidence;
use super::arp_reply::{as_made_here, source_of};
use super::family::NdFrame;
use crate::address::AddressReader;
use crate::interface::{InterfaceIndex, Port};
use crate::ip::{Headers, V6};
use crate::punt::{Event, EventSender};

/// All nodes on the link (RFC 4291 section 2.7.1).
pub(super) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Answers and learns.
#[derive(Clone)]
pub struct NeighborSolicitation {
    pub(super) ports: SlabReader<Port>,
    pub(super) addresses: AddressReader,
    pub(super) events: EventSender,
}

/// Edges of [`NeighborSolicitation`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// An advertisement, to the output of the interface.
    #[to("interface-output")]
    Output,
}

/// Drops of the neighbour discovery nodes.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// payload length too small for type.
    LengthTooSmallForType,
    /// option has zero length.
    OptionWithZeroLength,
    /// target address is a multicast group.
    MulticastTarget,
    /// solicited, but sent to a group.
    SolicitedToGroup,
    /// source address unspecified, but not duplicate address detection.
    UnspecifiedSource,
    /// source address is ours.
    SourceIsLocal,
    /// neighbor solicitations from source not on link.
    NeighborSolicitationSourceNotOnLink,
    /// neighbor solicitations for unknown targets.
    NeighborSolicitationSourceUnknown,
    /// neighbor advertisements about targets not on link.
    TargetNotOnLink,
    /// neighbor advertisements received.
    #[severity("info")]
    NeighborAdvertisementsRx,
    /// the interface cannot answer.
    Drop,
}

/// What [`NeighborSolicitation`] counts.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// neighbor advertisements sent.
    NeighborAdvertisementsTx,
}

impl Node for NeighborSolicitation {
    const NAME: &'static str = "icmp6-neighbor-solicitation";
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut sent = 0;
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            let on = p.rx();
            let asked = Message::of(p, |option| match option {
                NdOption::SourceLinkLayer(mac) => Some(*mac),
                _ => None,
            })?;
            let (src, target) = (asked.src, asked.target);
            if src.is_unspecified() {
                if asked.mac.is_some() || asked.dst != ip6::solicited_node(target) {
                    return Err(Error::UnspecifiedSource);
                }
            } else if self.addresses.owns6(on, src, epoch) {
                return Err(Error::SourceIsLocal);
            } else if !is_on_link(&self.addresses, on, src, epoch) {
                return Err(Error::NeighborSolicitationSourceNotOnLink);
            }
            if !self.addresses.owns6(on, target, epoch) {
                return Err(Error::NeighborSolicitationSourceUnknown);
            }
            let ours = self.ports.read(on, epoch).ok_or(Error::Drop)?.mac;
            let answer = if src.is_unspecified() {
                let to = MacAddr::for_ip6_group(ALL_NODES);
                NdFrame::advertisement(ours, to, target, ALL_NODES, nd::ROUTER | nd::OVERRIDE)
            } else {
                let to = asked.mac.or_else(|| source_of(p)).ok_or(Error::Drop)?;
                if let Some(mac) = asked.mac {
                    let how = Evidence { creates: true, replaces: true };
                    self.events.send(Event::Learned {
                        interface: InterfaceIndex(on),
                        addr: src.into(),
                        mac,
                        how,
                    });
                }
                let flags = nd::ROUTER | nd::SOLICITED | nd::OVERRIDE;
                NdFrame::advertisement(ours, to, target, src, flags)
            };
            p.prepend(size_of::<ethernet::Header>()).ok_or(Error::Drop)?;
            p.truncate_chain(0);
            p.append(answer.as_bytes()).ok_or(Error::Drop)?;
            as_made_here(p);
            sent += 1;
            Ok(Next::Output)
        });
        frame.count(Count::NeighborAdvertisementsTx, sent);
    }
}

/// Whether `addr` can be one of a neighbour: link-local, or of a network of ours there.
pub(super) fn is_on_link(
    ours: &AddressReader,
    on: u32,
    addr: Ipv6Addr,
    epoch: infra::rcu::Epoch<'_>,
) -> bool {
    ours.covering6(on, addr, epoch).is_some()
}

/// What solicitations and advertisements have in common, checked (RFC 4861 section 7.1.1, 7.1.2).
pub(super) struct Message {
    pub src: Ipv6Addr,
    pub dst: Ipv6Addr,
    pub target: Ipv6Addr,
    /// Zero in a solicitation.
    pub flags: u32,
    /// The link-layer address it tells.
    pub mac: Option<MacAddr>,
}

impl Message {
    /// The message of a packet; `told` picks the option that matters.
    pub(super) fn of(
        p: &Buffer<'_>,
        told: fn(&NdOption<'_>) -> Option<MacAddr>,
    ) -> Result<Self, Error> {
        let ip = p.header::<ip6::Header>().ok_or(Error::LengthTooSmallForType)?;
        // An advertisement, or a solicitation, which is the same with flags of zero.
        let message = nd::NeighborAdvertisement::ref_from_prefix(p.bytes_from(p.l4_offset()));
        let (message, rest) = message.map_err(|_| Error::LengthTooSmallForType)?;
        let (target, mut mac) = (message.target_addr(), None);
        if target.is_multicast() {
            return Err(Error::MulticastTarget);
        }
        for option in nd::options(rest) {
            let option = option.map_err(|nd::Malformed| Error::OptionWithZeroLength)?;
            mac = mac.or(told(&option).filter(|m| !m.is_multicast() && *m != MacAddr::ZERO));
        }
        let is_solicitation = message.icmp.kind == icmp6::Type::NEIGHBOR_SOLICITATION;
        let flags = if is_solicitation { 0 } else { message.flags.get() };
        Ok(Self { src: ip.src_addr(), dst: ip.dst_addr(), target, flags, mac })
    }
}
