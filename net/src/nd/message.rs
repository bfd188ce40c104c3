//! The layout that solicitations and advertisements share, and making the one into the other.
#![forbid(unsafe_code)]

use std::net::Ipv6Addr;

use graph::{Buffer, Packet};
use wire::nd::{self, NdOption};
use wire::{MacAddr, Protocol, checksum, ethernet, icmp6, ip6};
use zerocopy::{FromBytes, IntoBytes};

use crate::arp::{as_made_here, source_of};
use crate::icmp::Error6;
use crate::neighbor::NdFrame;

/// All nodes on the link (RFC 4291 section 2.7.1).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// A frame with an ICMPv6 message that stays on its link (hop limit 255), with its checksum.
pub fn frame(
    (mac, source): (MacAddr, Ipv6Addr),
    (to, dst): (MacAddr, Ipv6Addr),
    mut message: Vec<u8>,
) -> Vec<u8> {
    let mut ip = ip6::Header::new(source, dst, Protocol::ICMP6, message.len() as u16);
    ip.hop_limit = 255;
    let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, message.len() as u32);
    let sum = pseudo.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(sum.as_bytes());
    let ethernet = ethernet::Header::new(to, mac, ethernet::EtherType::IP6);
    [ethernet.as_bytes(), ip.as_bytes(), &message].concat()
}

/// A solicitation or an advertisement, checked (RFC 4861 section 7.1.1, 7.1.2).
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
    /// The message of a packet whose current bytes start at the IPv6 header; `l4` is where the
    /// message is, and `told` picks the option that matters.
    ///
    /// # Errors
    /// What is malformed.
    pub fn of(
        p: &Buffer<'_>,
        l4: i16,
        told: fn(&NdOption<'_>) -> Option<MacAddr>,
    ) -> Result<Self, Error6> {
        let ip = p.header::<ip6::Header>().ok_or(Error6::LengthTooSmallForType)?;
        // An advertisement, or a solicitation, which is the same with flags of zero.
        let message = nd::NeighborAdvertisement::ref_from_prefix(p.bytes_from(l4));
        let (message, rest) = message.map_err(|_| Error6::LengthTooSmallForType)?;
        let (target, mut mac) = (message.target_addr(), None);
        if target.is_multicast() {
            return Err(Error6::Drop);
        }
        for option in nd::options(rest) {
            let option = option.map_err(|nd::Malformed| Error6::OptionWithZeroLength)?;
            mac = mac.or(told(&option).filter(|m| !m.is_multicast() && *m != MacAddr::ZERO));
        }
        let is_solicitation = message.icmp.kind == icmp6::Type::NEIGHBOR_SOLICITATION;
        let flags = if is_solicitation { 0 } else { message.flags.get() };
        Ok(Self { src: ip.src_addr(), dst: ip.dst_addr(), target, flags, mac })
    }
    /// A solicitation, which tells its sender's address of layer 2.
    ///
    /// # Errors
    /// What is malformed.
    pub fn solicitation(p: &Buffer<'_>, l4: i16) -> Result<Self, Error6> {
        Self::of(p, l4, |option| match option {
            NdOption::SourceLinkLayer(mac) => Some(*mac),
            _ => None,
        })
    }
}

/// Makes a packet with a solicitation its answer, with a layer 2 header in front: the target is at
/// `ours`. The packet's current bytes start at its IPv6 header, `l4` is the place of the message.
///
/// # Errors
/// What is malformed; [`Error6::Drop`] where the asker's address of layer 2 is not known or there
/// is no room.
pub fn answer_for<N>(p: &mut Packet<'_, N>, l4: i16, ours: MacAddr) -> Result<(), Error6> {
    let asked = Message::solicitation(p, l4)?;
    answer(p, &asked, ours)
}

/// Makes a solicitation its answer, with a layer 2 header in front: the target is at `ours`.
///
/// # Errors
/// [`Error6::Drop`] where the asker's address of layer 2 is not known or there is no room.
pub(super) fn answer<N>(
    p: &mut Packet<'_, N>,
    asked: &Message,
    ours: MacAddr,
) -> Result<(), Error6> {
    let answer = if asked.src.is_unspecified() {
        let to = MacAddr::for_ip6_group(ALL_NODES);
        NdFrame::advertisement(ours, to, asked.target, ALL_NODES, nd::ROUTER | nd::OVERRIDE)
    } else {
        let to = asked.mac.or_else(|| source_of(p)).ok_or(Error6::Drop)?;
        let flags = nd::ROUTER | nd::SOLICITED | nd::OVERRIDE;
        NdFrame::advertisement(ours, to, asked.target, asked.src, flags)
    };
    p.prepend(size_of::<ethernet::Header>()).ok_or(Error6::Drop)?;
    p.truncate_chain(0);
    p.append(answer.as_bytes()).ok_or(Error6::Drop)?;
    as_made_here(p);
    Ok(())
}
