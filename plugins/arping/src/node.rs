//! `arping-input`, `arping6-input`: answers to requests in progress.

use net::prelude::*;
use wire::arp::{self, Operation};
use wire::nd;

use super::{Answered, Target};
use net::arp::source_of;
use net::ip::Headers;

/// Sees ARP replies.
#[derive(Clone)]
pub struct AnswersArp {
    pub(super) asked: Reader<Vec<Target>>,
    pub(super) events: EventSender<Answered>,
}

/// Sees neighbour advertisements.
#[derive(Clone)]
pub struct AnswersNd {
    pub(super) asked: Reader<Vec<Target>>,
    pub(super) events: EventSender<Answered>,
}

impl Node for AnswersArp {
    const NAME: &'static str = "arping-input";
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let asked = self.asked.read(frame.epoch());
        let events = &mut self.events;
        frame.each(|p| {
            let reply = p.header::<arp::Header>().filter(|a| a.operation == Operation::REPLY);
            if let Some((addr, mac)) = reply.map(|a| (a.sender.addr().into(), a.sender.mac)) {
                tell(p, addr, mac, asked, events);
            }
            Ok(Continue)
        });
    }
}

impl Node for AnswersNd {
    const NAME: &'static str = "arping6-input";
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let asked = self.asked.read(frame.epoch());
        let events = &mut self.events;
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            if let Some((addr, mac)) = advertised(p) {
                tell(p, addr, mac, asked, events);
            }
            Ok(Continue)
        });
    }
}

/// The address of an advertisement, and its owner.
fn advertised(p: &Buffer<'_>) -> Option<(IpAddr, MacAddr)> {
    let upper = ip6::upper_layer(p.bytes()).filter(|u| u.protocol == Protocol::ICMP6)?;
    let message = p.bytes().get(upper.offset..)?;
    let (message, _) = nd::NeighborAdvertisement::ref_from_prefix(message).ok()?;
    let is_one = message.icmp.kind == icmp6::Type::NEIGHBOR_ADVERTISEMENT;
    is_one.then(|| Some((message.target_addr().into(), source_of(p)?)))?
}

#[inline(always)]
fn tell(
    p: &Buffer<'_>,
    addr: IpAddr,
    mac: MacAddr,
    asked: &[Target],
    events: &mut EventSender<Answered>,
) {
    let interface = InterfaceIndex(p.rx());
    if asked.contains(&(interface, addr)) {
        events.send(Answered { interface, addr, mac });
    }
}
