//! `ip6-icmp-echo-request`: answers pings (RFC 4443 section 4.2) in the request's buffer, without
//! its extension headers.

use std::convert::Infallible;

use graph::{Buffer, Frame, Node};
use infra::rcu::Epoch;
use wire::ip6::{DEFAULT_HOP_LIMIT, Header};
use wire::{Protocol, checksum, icmp6};
use zerocopy::byteorder::network_endian::U16;

use super::become_ours;
use crate::address::AddressReader;
use crate::ip::{Headers, V6};

/// Makes echo requests echo replies.
#[derive(Clone)]
pub struct EchoRequest6 {
    /// Our addresses, for requests to a group.
    pub addresses: AddressReader,
}

/// Edges of [`EchoRequest6`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To find the way back.
    #[to("ip6-lookup")]
    Lookup,
}

/// Drops of [`EchoRequest6`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// echo request without an address to answer from.
    Drop,
}

impl Node for EchoRequest6 {
    const NAME: &'static str = "ip6-icmp-echo-request";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            // The interface stays: the way to a link-local address begins there.
            self.reply(p, epoch).ok_or(Error::Drop)?;
            Ok(Next::Lookup)
        });
    }
}

impl EchoRequest6 {
    fn reply(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> Option<()> {
        let request = *p.header::<Header>()?;
        let rx = p.rx();
        let src = match request.dst_addr() {
            group if group.is_multicast() => {
                self.addresses.source6(rx, request.src_addr(), epoch)?
            }
            asked => asked,
        };
        let before = usize::try_from(p.l4_offset() - p.offset()).ok()?;
        let total = size_of::<Header>() + usize::from(request.payload_len.get());
        let len = total.checked_sub(before)?;
        p.advance(before)?;
        let icmp = p.header_mut::<icmp6::Header>()?;
        let asked = U16::from_bytes([icmp.kind.0, icmp.code]);
        icmp.kind = icmp6::Type::ECHO_REPLY;
        let answer = U16::from_bytes([icmp.kind.0, icmp.code]);
        let sum = checksum::update(icmp.checksum, asked, answer);
        // Both addresses count in the sum; it notices only if ours is another one.
        icmp.checksum = checksum::update_bytes(sum, &request.dst, &src.octets());
        let header = Header {
            payload_len: U16::new(len as u16),
            next_header: Protocol::ICMP6,
            hop_limit: DEFAULT_HOP_LIMIT,
            src: src.octets(),
            dst: request.src,
            ..request
        };
        p.prepend_header(&header)?;
        become_ours(p);
        Some(())
    }
}
