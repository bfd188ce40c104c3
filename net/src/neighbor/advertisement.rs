//! `icmp6-neighbor-advertisement`: learns what neighbours say of themselves (RFC 4861 section
//! 7.2.5).
#![forbid(unsafe_code)]

use std::convert::Infallible;

use graph::{Frame, Node};
use wire::nd::{self, NdOption};

use super::Evidence;
use super::solicitation::{Error, Message, is_on_link};
use crate::address::AddressReader;
use crate::interface::InterfaceIndex;
use crate::ip::{Headers, V6};
use crate::punt::{Event, EventSender};

/// Learns.
#[derive(Clone)]
pub struct NeighborAdvertisement {
    pub(super) addresses: AddressReader,
    pub(super) events: EventSender,
}

impl Node for NeighborAdvertisement {
    const NAME: &'static str = "icmp6-neighbor-advertisement";
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            let on = p.rx();
            let told = Message::of(p, |option| match option {
                NdOption::TargetLinkLayer(mac) => Some(*mac),
                _ => None,
            })?;
            let is_solicited = told.flags & nd::SOLICITED != 0;
            if is_solicited && told.dst.is_multicast() {
                return Err(Error::SolicitedToGroup);
            }
            if self.addresses.owns6(on, told.target, epoch) {
                return Err(Error::SourceIsLocal);
            }
            if !is_on_link(&self.addresses, on, told.target, epoch) {
                return Err(Error::TargetNotOnLink);
            }
            let replaces = told.flags & nd::OVERRIDE != 0;
            let how = Evidence { creates: is_solicited, replaces };
            if let Some(mac) = told.mac
                && (how.creates || how.replaces)
            {
                let addr = told.target.into();
                self.events.send(Event::Learned { interface: InterfaceIndex(on), addr, mac, how });
            }
            Err(Error::NeighborAdvertisementsRx)
        });
    }
}
