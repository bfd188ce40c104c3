//! `arp-term-l2bd`: answers ARP requests and neighbour solicitations for addresses whose owner the
//! domain knows, so that they need not be flooded (RFC 826, RFC 4861).

use net::prelude::*;
use wire::arp::{self, Operation};
use wire::checksum;
use wire::ethernet::Header;
use wire::nd::{NeighborAdvertisement, NeighborSolicitation, OVERRIDE, SOLICITED};

use super::packet::{self, FrameTrace, Layer2};
use super::state::Tables;

/// Answers for the owners of addresses.
#[derive(Clone)]
pub struct Terminate {
    pub(super) tables: Tables,
    pub(super) heard: EventSender<Heard>,
}

/// A host that speaks about its own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// MAC address.
    pub ip: IpAddr,
    /// MAC address.
    pub mac: MacAddr,
    /// The interface it is on.
    pub interface: InterfaceIndex,
}

impl Event for Heard {}

/// Edges of [`Terminate`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// For others to answer.
    #[along]
    Others,
    /// Reply.
    #[to("l2-output")]
    Output,
    /// The answer to this router.
    #[to("l2-fwd")]
    Forward,
}

/// Drops of [`Terminate`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// L2 type not ethernet.
    #[name("L2 type not ethernet")]
    NotEthernet,
    /// ARP hw addr does not match L2 frame src addr.
    #[name("ARP hw addr does not match L2 frame src addr")]
    Mismatch,
    /// IP4 source address not local to subnet.
    #[name("IP4 source address not local to subnet")]
    Source,
}

/// Counters of [`Terminate`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// ARP replies sent.
    #[name("ARP replies sent")]
    Replies,
}

impl Node for Terminate {
    const NAME: &'static str = "arp-term-l2bd";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, mut replies) = (frame.epoch(), 0);
        frame.each(
            #[inline(always)]
            |p| {
                let rx = p.rx();
                p.trace(|p| FrameTrace::of("arp-term-l2bd", rx, p));
                let is_answered = match packet::ethertype(p) {
                    Some(EtherType::ARP) => self.arp(p, epoch)?,
                    Some(EtherType::IP6) => self.discovery(p, epoch).unwrap_or(false),
                    _ => false,
                };
                replies += u64::from(is_answered);
                Ok(if is_answered { self.back(p, epoch) } else { Next::Others })
            },
        );
        frame.count(Count::Replies, replies);
    }
}

impl Terminate {
    /// Owner of an address in the domain of a frame.
    fn owner(&self, p: &Buffer<'_>, addr: IpAddr, epoch: Epoch<'_>) -> Option<MacAddr> {
        let domain = self.tables.domains.read(p.payload::<Layer2>().domain.into(), epoch)?;
        domain.owners.get(&addr).copied()
    }
    /// The way of an answer: back where the request came from, whatever its group.
    fn back(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Next {
        let rx = p.rx();
        let payload = Layer2 { group: 0, ..p.payload() };
        p.set_payload(payload);
        p.set_tx(rx);
        let is_bvi = self.tables.ports.read(rx, epoch).is_some_and(|port| port.is_bvi);
        if is_bvi { Next::Forward } else { Next::Output }
    }
    fn arp(&mut self, p: &mut Packet<'_, Self>, epoch: Epoch<'_>) -> Result<bool, Error> {
        let at = packet::header_len(p);
        let source = p.header::<Header>().ok_or(Error::NotEthernet)?.src;
        let bytes = p.bytes().get(at..).unwrap_or(&[]);
        let (request, _) = arp::Header::ref_from_prefix(bytes).map_err(|_| Error::NotEthernet)?;
        let request = *request;
        if ![Operation::REQUEST, Operation::REPLY].contains(&request.operation) {
            return Ok(false);
        }
        if !request.is_ethernet_ip4() {
            return Err(Error::NotEthernet);
        }
        let sender = request.sender;
        if sender.mac != source || source.is_multicast() {
            return Err(Error::Mismatch);
        }
        if sender.addr().is_multicast() || sender.addr().is_broadcast() {
            return Err(Error::Source);
        }
        let (ip, interface) = (sender.addr().into(), InterfaceIndex(p.rx()));
        self.heard.send(Heard { ip, mac: source, interface });
        let target = request.target.addr();
        // All are to hear of one that announces its own address.
        if request.operation != Operation::REQUEST || target == sender.addr() {
            return Ok(false);
        }
        let owner = self.owner(p, target.into(), epoch).filter(|mac| *mac != sender.mac);
        let Some(mac) = owner else { return Ok(false) };
        let reply = request.reply(mac);
        answer(p, mac, source);
        let place = p.bytes_mut().get_mut(at..at + size_of::<arp::Header>());
        place.into_iter().for_each(|place| place.copy_from_slice(reply.as_bytes()));
        Ok(true)
    }
    /// `None` where it is no message about neighbours that is right in every respect.
    fn discovery(&mut self, p: &mut Packet<'_, Self>, epoch: Epoch<'_>) -> Option<bool> {
        let at = packet::header_len(p);
        let source = p.header::<Header>()?.src;
        let (ip, rest) = ip6::Header::ref_from_prefix(p.bytes().get(at..)?).ok()?;
        let (asked, _) = NeighborSolicitation::ref_from_prefix(rest).ok()?;
        let is_right = ip.next_header == Protocol::ICMP6 && ip.hop_limit == 255;
        let (target, asker, kind) = (asked.target_addr(), ip.src_addr(), asked.icmp.kind);
        let tells = [icmp6::Type::NEIGHBOR_SOLICITATION, icmp6::Type::NEIGHBOR_ADVERTISEMENT];
        // One that looks for duplicates has no address yet: its owner is to hear of it.
        if !tells.contains(&kind) || !is_right || target.is_multicast() || asker.is_unspecified() {
            return Some(false);
        }
        // Clients get the address of the asking host, unless it is link-local.
        if !asker.is_unicast_link_local() {
            let interface = InterfaceIndex(p.rx());
            self.heard.send(Heard { ip: asker.into(), mac: source, interface });
        }
        if kind != icmp6::Type::NEIGHBOR_SOLICITATION {
            return Some(false);
        }
        let owner = self.owner(p, target.into(), epoch).filter(|mac| *mac != source);
        let Some(mac) = owner else { return Some(false) };
        let packet = advertisement(target, asker, mac, SOLICITED | OVERRIDE);
        answer(p, mac, source);
        p.truncate_chain(at);
        p.append(&packet)?;
        Some(true)
    }
}

/// Turns a frame around.
fn answer(p: &mut Buffer<'_>, from: MacAddr, to: MacAddr) {
    if let Some(header) = p.header_mut::<Header>() {
        (header.src, header.dst) = (from, to);
    }
}

/// Length of [`advertisement`]: header, message, option.
const ADVERTISEMENT: usize = 40 + 24 + 8;

/// A neighbour advertisement with the address of layer 2, complete from its IPv6 header on.
fn advertisement(target: Ipv6Addr, to: Ipv6Addr, mac: MacAddr, flags: u32) -> [u8; ADVERTISEMENT] {
    let len = ADVERTISEMENT - size_of::<ip6::Header>();
    let mut header = ip6::Header::new(target, to, Protocol::ICMP6, len as u16);
    header.hop_limit = 255;
    let mut packet = [0; ADVERTISEMENT];
    let (front, body) = packet.split_at_mut(size_of::<ip6::Header>());
    front.copy_from_slice(header.as_bytes());
    let (message, option) = body.split_at_mut(size_of::<NeighborAdvertisement>());
    message.copy_from_slice(NeighborAdvertisement::new(target, flags).as_bytes());
    option[..2].copy_from_slice(&[2, 1]);
    option[2..].copy_from_slice(&mac.0);
    let pseudo = checksum::ip6_pseudo(header.src, header.dst, Protocol::ICMP6, len as u32);
    let sum = pseudo.add_bytes(body).checksum();
    body[2..4].copy_from_slice(sum.as_bytes());
    packet
}
