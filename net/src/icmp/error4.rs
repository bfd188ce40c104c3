//! ICMP errors (RFC 792, RFC 1812 section 4.3.2).

use graph::Buffer;
use infra::rcu::Epoch;
use wire::ip4::{Header, VERSION_IHL};
use wire::{Protocol, checksum, icmp4};
use zerocopy::FromBytes;
use zerocopy::byteorder::network_endian::U16;

use super::error::{ErrorSender, HOPS};
use super::{Problem, become_ours, came_to_group};
use crate::address::AddressReader;
use crate::ip::V4;

/// Longest ICMP error, IP header included, in bytes.
const LONGEST: usize = 576;

/// Messages that `ip4-icmp-error` sent.
#[derive(Clone, Copy, graph::Count)]
pub enum Sent4 {
    /// destination unreachable response sent.
    #[name("dest_unreach_sent")]
    Unreachable,
    /// hop limit exceeded response sent.
    #[name("ttl_expire_sent")]
    Expired,
    /// parameter problem response sent.
    #[name("param_problem_sent")]
    Parameter,
}

impl ErrorSender for V4 {
    const LOOKUP: &'static str = "ip4-lookup";
    const QUOTED: usize = LONGEST - size_of::<Header>() - size_of::<icmp4::Error>();
    type Sent = Sent4;
    const SENT: &'static [Sent4] = &[Sent4::Unreachable, Sent4::Expired, Sent4::Parameter];

    fn sent(kind: u8) -> Sent4 {
        match icmp4::Type(kind) {
            icmp4::Type::DESTINATION_UNREACHABLE => Sent4::Unreachable,
            icmp4::Type::TIME_EXCEEDED => Sent4::Expired,
            _ => Sent4::Parameter,
        }
    }
    /// RFC 1812 section 4.3.2.7.
    fn may_send(p: &Buffer<'_>, _: Problem) -> bool {
        let Some(header) = p.header::<Header>() else { return false };
        let is_host = |a: [u8; 4]| a[0] < 224;
        let is_first = header.fragment_offset() == 0;
        let has_one_sender = is_host(header.src) && header.src[0] != 0 && header.src[0] != 127;
        let is_about_error = header.protocol == Protocol::ICMP && {
            let message = p.bytes().get(header.header_len()..).unwrap_or(&[]);
            icmp4::Type::ref_from_prefix(message).ok().is_none_or(|(kind, _)| kind.is_error())
        };
        is_first && has_one_sender && is_host(header.dst) && !is_about_error && !came_to_group(p)
    }
    fn make_error(
        p: &mut Buffer<'_>,
        problem: Problem,
        addresses: &AddressReader,
        epoch: Epoch<'_>,
    ) -> Option<()> {
        let dst = p.header::<Header>()?.src;
        let src = addresses.source4(p.rx(), epoch)?;
        let icmp = icmp4::Header::new(icmp4::Type(problem.kind), problem.code);
        let mut error = icmp4::Error { icmp, pointer: [0; 2], mtu: U16::ZERO };
        match icmp.kind {
            icmp4::Type::PARAMETER_PROBLEM => error.pointer[0] = problem.data as u8,
            _ => error.mtu = U16::new(problem.data.min(u16::MAX.into()) as u16),
        }
        p.prepend_header(&error)?;
        let sum = checksum::Sum::ZERO.add_bytes(p.bytes()).checksum();
        p.header_mut::<icmp4::Header>()?.checksum = sum;
        let header = Header {
            version_ihl: VERSION_IHL,
            tos: 0,
            total_len: U16::new((size_of::<Header>() + p.len()) as u16),
            id: U16::ZERO, // at most 576 bytes: never cut
            fragment: U16::ZERO,
            ttl: HOPS,
            protocol: Protocol::ICMP,
            checksum: U16::ZERO,
            src: src.octets(),
            dst,
        };
        p.prepend_header(&header.with_checksum())?;
        become_ours(p);
        p.set_rx(0); // from here on it is local0's
        Some(())
    }
}
