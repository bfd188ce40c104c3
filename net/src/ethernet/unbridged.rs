//! `ethernet-input-not-l2`: frames that bridging gives back, received as if their interface were
//! not bridged.

use std::convert::Infallible;

use graph::{Buffer, Flags, Frame, Node};
use infra::rcu::{Epoch, SlabReader};
use wire::ethernet::{EtherType, Header};

use super::input::{Error, Next, takes};
use crate::interface::{Interfaces, Port};

/// Length of the header of a bridged frame, tags included, and the type of its payload.
#[inline(always)]
pub fn bridged_header(p: &Buffer<'_>) -> Option<(usize, EtherType)> {
    let len = i32::from(p.l3_offset()) - i32::from(p.offset());
    let len = usize::try_from(len).ok().filter(|len| *len >= size_of::<Header>())?;
    let kind = p.bytes().get(len - 2..len)?.first_chunk()?;
    Some((len, EtherType::new(u16::from_be_bytes(*kind))))
}

/// Takes the layer 2 header off bridged frames of the usual protocols for an interface's address.
#[derive(Clone)]
pub struct Unbridged {
    ports: SlabReader<Port>,
}

impl Unbridged {
    pub(super) fn new(interfaces: &Interfaces) -> Self {
        Self { ports: interfaces.ports() }
    }
    fn receive(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Result<Next, Error> {
        let port = self.ports.read(p.rx(), epoch).filter(|port| port.up).ok_or(Error::Down)?;
        let main = self.ports.read(port.sup.0, epoch).ok_or(Error::Down)?;
        if !takes(main, p.header::<Header>().ok_or(Error::TooShort)?.dst) {
            return Err(Error::MacMismatch);
        }
        let header = bridged_header(p).filter(|_| p.flags().has(Flags::L2.with(Flags::L3)));
        let (len, kind) = header.ok_or(Error::TooShort)?;
        let next = super::input::protocol(kind).ok_or(Error::UnknownType)?;
        p.advance(len).ok_or(Error::TooShort)?;
        Ok(next)
    }
}

impl Node for Unbridged {
    const NAME: &'static str = "ethernet-input-not-l2";
    const COUNTED_AT: &'static str = "ethernet-input";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(
            #[inline(always)]
            |p| self.receive(p, epoch),
        );
    }
}
