//! `icmp6-router-solicitation`: hosts look for routers (RFC 4861 section 6.1.1, 6.2.6). Control
//! decides about the answer, and sends advertisements from this node, where they are counted.

use net::arp::source_of;
use net::icmp::{Count6, Error6};
use net::ip::Headers;
use net::neighbor::{Evidence, Learned, OnLink};
use net::prelude::*;
use wire::nd::{self, NdOption};

/// Tells control who asked.
#[derive(Clone)]
pub struct RouterSolicitation {
    pub(super) on_link: OnLink<Ip6>,
    pub(super) answers: Reader<Vec<bool>>,
    pub(super) solicited: EventSender<Solicited>,
    pub(super) learned: EventSender<Learned>,
}

/// Edges of [`RouterSolicitation`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// An advertisement, to the output of the interface.
    #[to("interface-output")]
    Output,
}

/// The sender of a solicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicited {
    /// Interface.
    pub interface: InterfaceIndex,
    /// Its address; unspecified while it has none.
    pub addr: Ipv6Addr,
    /// MAC address.
    pub mac: MacAddr,
}

impl Event for Solicited {}

impl Node for RouterSolicitation {
    const NAME: &'static str = "icmp6-router-solicitation";
    const COUNTED_AT: &'static str = V6::NODES.icmp_input;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error6;
    type Count = Count6;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let Self { on_link, answers, solicited, learned } = self;
        let answers = answers.read(epoch);
        frame.consume(|p| {
            p.trace(Headers::<V6>::of);
            let interface = InterfaceIndex(p.rx());
            let (addr, told) = asker(p)?;
            if !addr.is_unspecified() && !on_link.has(p.rx(), addr, epoch) {
                return Err(Error6::RouterSolicitationSourceNotOnLink);
            }
            if let Some(mac) = told {
                let how = Evidence { creates: true, replaces: true };
                learned.send(Learned { interface, addr: addr.into(), mac, how });
            }
            match answers.get(interface.0 as usize) {
                Some(true) => (),
                Some(false) => return Err(Error6::RouterSolicitationRadvNotConfig),
                None => return Err(Error6::RouterSolicitationUnsupportedIntf),
            }
            let mac = told.or_else(|| source_of(p)).ok_or(Error6::Drop)?;
            solicited.send(Solicited { interface, addr, mac });
            Ok(())
        });
    }
}

/// Sender of a solicitation: its address, and the address of layer 2 that it gave.
fn asker(p: &Buffer<'_>) -> Result<(Ipv6Addr, Option<MacAddr>), Error6> {
    let addr = p.header::<ip6::Header>().ok_or(Error6::LengthTooSmallForType)?.src_addr();
    let message = nd::RouterSolicitation::ref_from_prefix(p.bytes_from(p.l4_offset()));
    let (_, rest) = message.map_err(|_| Error6::LengthTooSmallForType)?;
    let mut told = None;
    for option in nd::options(rest) {
        match option.map_err(|nd::Malformed| Error6::OptionWithZeroLength)? {
            NdOption::SourceLinkLayer(_) if addr.is_unspecified() => return Err(Error6::Drop),
            NdOption::SourceLinkLayer(mac) if !mac.is_multicast() => told = told.or(Some(mac)),
            _ => (),
        }
    }
    Ok((addr, told))
}

impl RouterSolicitation {
    /// Sends an advertisement that control made. For control.
    pub(super) fn send<On: graph::Cpu>(
        frame: &mut Frame<'_, Self, On>,
        interface: InterfaceIndex,
        bytes: &[u8],
    ) {
        let sent = frame.fresh().is_some_and(|mut new| {
            let fits = new.append(bytes).is_some();
            new.set_tx(interface.0);
            new.add_flags(Flags::LOCAL);
            if fits {
                new.send(Next::Output);
            }
            fits
        });
        frame.count(Count6::RouterAdvertisementsTx, u64::from(sent));
    }
}
