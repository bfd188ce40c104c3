//! `icmp6-router-advertisement`: advertisements of other routers (RFC 4861 section 6.1.2), for
//! control.

use net::prelude::*;
use wire::nd::{self, NdOption};

use super::received::{Advertised, ReceivedPrefix};
use net::icmp::{Count6, Error6};
use net::ip::Headers;
use net::neighbor::{Evidence, Learned};

/// Tells control.
#[derive(Clone)]
pub struct RouterAdvertisement {
    pub(super) advertised: EventSender<Advertised>,
    pub(super) learned: EventSender<Learned>,
}

impl Node for RouterAdvertisement {
    const NAME: &'static str = "icmp6-router-advertisement";
    const COUNTED_AT: &'static str = V6::NODES.icmp_input;
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = Error6;
    type Count = Count6;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            let heard = read(p)?;
            if let Some(mac) = heard.mac {
                let (interface, addr) = (heard.interface, heard.router.into());
                let how = Evidence { creates: true, replaces: true };
                self.learned.send(Learned { interface, addr, mac, how });
            }
            self.advertised.send(heard);
            Err(Error6::RouterAdvertisementsRx)
        });
    }
}

fn read(p: &Buffer<'_>) -> Result<Advertised, Error6> {
    let router = p.header::<ip6::Header>().ok_or(Error6::LengthTooSmallForType)?.src_addr();
    if !router.is_unicast_link_local() {
        return Err(Error6::RouterAdvertisementSourceNotLinkLocal);
    }
    let message = nd::RouterAdvertisement::ref_from_prefix(p.bytes_from(p.l4_offset()));
    let (message, rest) = message.map_err(|_| Error6::LengthTooSmallForType)?;
    let mut heard = Advertised::new(InterfaceIndex(p.rx()), router);
    heard.hop_limit = message.hop_limit;
    heard.flags = message.flags;
    heard.lifetime = message.router_lifetime.get();
    heard.reachable_ms = message.reachable_time.get();
    heard.retransmit_ms = message.retrans_timer.get();
    for option in nd::options(rest) {
        match option.map_err(|nd::Malformed| Error6::OptionWithZeroLength)? {
            NdOption::SourceLinkLayer(mac) if !mac.is_multicast() && mac != MacAddr::ZERO => {
                heard.mac = Some(mac);
            }
            NdOption::Mtu(mtu) => heard.mtu = mtu,
            NdOption::Prefix(p) if p.prefix_len <= 128 => heard.push(ReceivedPrefix {
                addr: p.prefix.into(),
                len: p.prefix_len,
                flags: p.flags,
                valid: p.valid_lifetime.get(),
                preferred: p.preferred_lifetime.get(),
            }),
            _ => (),
        }
    }
    Ok(heard)
}
