//! `arp-disabled`: ARP packets on interfaces without IPv4 end here.
#![forbid(unsafe_code)]

use std::convert::Infallible;

use graph::{Frame, Node};

use super::input::Seen;
use super::reason::{Count, Error};

/// Drops.
#[derive(Clone)]
pub struct ArpDisabled;

impl Node for ArpDisabled {
    const NAME: &'static str = "arp-disabled";
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(Seen::of);
            Err(Error::Disabled)
        });
    }
}
