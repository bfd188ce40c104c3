//! `ip4-icmp-echo-request`: answers pings (RFC 1812 section 4.3.3.6) in the request's buffer. The
//! reply comes from the requested address, or for a group from one of the interface, and carries no
//! options.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use graph::{Buffer, Frame, Node};
use wire::ip4::{DEFAULT_TTL, Header, VERSION_IHL};
use wire::{checksum, icmp4};
use zerocopy::byteorder::network_endian::U16;

use super::become_ours;
use crate::address::AddressReader;
use crate::ip::{Headers, V4};

/// Makes echo requests echo replies.
#[derive(Clone)]
pub struct EchoRequest4 {
    id: u16,
    /// Our addresses, for requests to a group.
    addresses: AddressReader,
}

/// Edges of [`EchoRequest4`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To find the way back.
    #[to("ip4-lookup")]
    Lookup,
}

/// Drops of [`EchoRequest4`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// echo request too short.
    LengthTooSmallForType,
    /// echo request without an address to answer from.
    Drop,
}

impl EchoRequest4 {
    /// With the addresses of all interfaces.
    pub fn new(addresses: AddressReader) -> Self {
        Self { id: 0, addresses }
    }
}

impl Node for EchoRequest4 {
    const NAME: &'static str = "ip4-icmp-echo-request";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            p.trace(Headers::<V4>::of);
            self.id = self.id.wrapping_add(1);
            let asked = p.header::<Header>().map(Header::dst_addr).ok_or(Error::Drop)?;
            let own = if asked.is_multicast() {
                self.addresses.source4(p.rx(), epoch)
            } else {
                Some(asked)
            };
            reply(p, self.id, own.ok_or(Error::Drop)?).ok_or(Error::LengthTooSmallForType)?;
            p.set_rx(0); // from here on it is local0's
            Ok(Next::Lookup)
        });
    }
}

fn reply(p: &mut Buffer<'_>, id: u16, src: Ipv4Addr) -> Option<()> {
    let request = *p.header::<Header>()?;
    let len = usize::from(request.total_len.get()).checked_sub(request.header_len())?;
    p.advance(request.header_len())?;
    let icmp = p.header_mut::<icmp4::Header>()?;
    let asked = U16::from_bytes([icmp.kind.0, icmp.code]);
    icmp.kind = icmp4::Type::ECHO_REPLY;
    icmp.checksum =
        checksum::update(icmp.checksum, asked, U16::from_bytes([icmp.kind.0, icmp.code]));
    let header = Header {
        version_ihl: VERSION_IHL,
        total_len: U16::new((size_of::<Header>() + len) as u16),
        id: id.into(),
        ttl: DEFAULT_TTL,
        src: src.octets(),
        dst: request.src,
        ..request
    };
    p.prepend_header(&header.with_checksum())?;
    become_ours(p);
    Some(())
}
