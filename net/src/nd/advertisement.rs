//! `icmp6-neighbor-advertisement`: learns from advertisements of neighbors (RFC 4861 section
//! 7.2.5), also that an address we want is theirs (RFC 4862 section 5.4.4).
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::net::Ipv6Addr;

use graph::{Frame, Node};
use infra::rcu::Reader;
use wire::nd::{self, NdOption};

use super::Duplicate;
use super::message::Message;
use crate::address::AddressReader;
use crate::events::EventSender;
use crate::fib::Ip6;
use crate::icmp::{Count6, Error6};
use crate::interface::InterfaceIndex;
use crate::ip::{Headers, V6, Version};
use crate::neighbor::{Evidence, Learned, Messages, OnLink, count};

/// Learns.
#[derive(Clone)]
pub struct NeighborAdvertisement {
    pub(super) addresses: AddressReader,
    pub(super) on_link: OnLink<Ip6>,
    pub(super) tentative: Reader<Vec<(InterfaceIndex, Ipv6Addr)>>,
    pub(super) heard: Messages,
    pub(super) learned: EventSender<Learned>,
    pub(super) duplicates: EventSender<Duplicate>,
}

impl Node for NeighborAdvertisement {
    const NAME: &'static str = "icmp6-neighbor-advertisement";
    const COUNTED_AT: &'static str = V6::NODES.icmp_input;
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = Error6;
    type Count = Count6;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            let (on, interface) = (p.rx(), InterfaceIndex(p.rx()));
            let told = Message::of(p, p.l4_offset(), |option| match option {
                NdOption::TargetLinkLayer(mac) => Some(*mac),
                _ => None,
            })?;
            let is_solicited = told.flags & nd::SOLICITED != 0;
            let counter = if is_solicited { &self.heard.replies } else { &self.heard.gratuitous };
            count(counter, thread, on);
            if is_solicited && told.dst.is_multicast() {
                return Err(Error6::Drop);
            }
            if self.addresses.owns6(on, told.target, epoch) {
                if self.tentative.read(epoch).binary_search(&(interface, told.target)).is_ok() {
                    self.duplicates.send(Duplicate { interface, addr: told.target });
                }
                return Err(Error6::Drop);
            }
            if !self.on_link.has(on, told.target, epoch) {
                return Err(Error6::NeighborSolicitationSourceNotOnLink);
            }
            let replaces = told.flags & nd::OVERRIDE != 0;
            // One for us alone answers what we asked, even without the flag (RFC 4861 section
            // 7.2.5, incomplete entries).
            let how = Evidence { creates: !told.dst.is_multicast(), replaces };
            if let Some(mac) = told.mac
                && (how.creates || how.replaces)
            {
                let addr = told.target.into();
                self.learned.send(Learned { interface, addr, mac, how });
            }
            Err(Error6::NeighborAdvertisementsRx)
        });
    }
}
