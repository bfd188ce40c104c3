//! ICMPv6 errors (RFC 4443 sections 2.2 to 2.4).

use graph::{Buffer, Flags};
use infra::rcu::Epoch;
use wire::ip6::{self, Header};
use wire::{Protocol, checksum, icmp6};
use zerocopy::FromBytes;

use super::error::{ErrorSender, HOPS};
use super::{Problem, become_ours, came_to_group};
use crate::address::AddressReader;
use crate::ip::V6;

/// Longest ICMP error, IP header included, in bytes.
const LONGEST: usize = 1280;

/// Messages that `ip6-icmp-error` sent.
#[derive(Clone, Copy, graph::Count)]
pub enum Sent6 {
    /// destination unreachable response sent.
    #[name("dest_unreach_sent")]
    Unreachable,
    /// packet too big response sent.
    #[name("packet_too_big_sent")]
    TooBig,
    /// hop limit exceeded response sent.
    #[name("ttl_expire_sent")]
    Expired,
    /// parameter problem response sent.
    #[name("param_problem_sent")]
    Parameter,
}

impl ErrorSender for V6 {
    const LOOKUP: &'static str = "ip6-lookup";
    const QUOTED: usize = LONGEST - size_of::<Header>() - size_of::<icmp6::Error>();
    type Sent = Sent6;
    const SENT: &'static [Sent6] =
        &[Sent6::Unreachable, Sent6::TooBig, Sent6::Expired, Sent6::Parameter];

    fn sent(kind: u8) -> Sent6 {
        match icmp6::Type(kind) {
            icmp6::Type::DESTINATION_UNREACHABLE => Sent6::Unreachable,
            icmp6::Type::PACKET_TOO_BIG => Sent6::TooBig,
            icmp6::Type::TIME_EXCEEDED => Sent6::Expired,
            _ => Sent6::Parameter,
        }
    }
    /// RFC 4443 section 2.4 e. Packet Too Big is sent about groups as well.
    fn may_send(p: &Buffer<'_>, problem: Problem) -> bool {
        let Some(header) = p.header::<Header>() else { return false };
        // Where the headers are cut off nothing says that it is an error.
        let upper = ip6::upper_layer(p.bytes());
        let src = header.src_addr();
        let has_one_sender = !src.is_multicast() && !src.is_unspecified() && !src.is_loopback();
        // Packets with labels were sent to this router alone.
        let is_below_labels = p.flags().has(Flags::POPPED);
        let is_for_one = is_below_labels || !header.dst_addr().is_multicast() && !came_to_group(p);
        let is_too_big = problem.kind == icmp6::Type::PACKET_TOO_BIG.0;
        let is_about_error = upper.is_some_and(|upper| {
            let message = p.bytes().get(upper.offset..).unwrap_or(&[]);
            let kind = icmp6::Type::ref_from_prefix(message).ok();
            let is_first = upper.fragment.is_none_or(|f| f.offset() == 0);
            is_first
                && upper.protocol == Protocol::ICMP6
                && kind.is_none_or(|(kind, _)| kind.is_error() || *kind == icmp6::Type::REDIRECT)
        });
        has_one_sender && (is_for_one || is_too_big) && !is_about_error
    }
    fn make_error(
        p: &mut Buffer<'_>,
        problem: Problem,
        addresses: &AddressReader,
        epoch: Epoch<'_>,
    ) -> Option<()> {
        let sender = p.header::<Header>()?.src_addr();
        let src = addresses.source6(p.rx(), sender, epoch)?;
        let icmp = icmp6::Header::new(icmp6::Type(problem.kind), problem.code);
        p.prepend_header(&icmp6::Error { icmp, value: problem.data.into() })?;
        let len = p.len() as u16;
        let mut header = Header::new(src, sender, Protocol::ICMP6, len);
        header.hop_limit = HOPS;
        let pseudo = checksum::ip6_pseudo(header.src, header.dst, Protocol::ICMP6, len.into());
        let sum = pseudo.add_bytes(p.bytes()).checksum();
        p.header_mut::<icmp6::Header>()?.checksum = sum;
        p.prepend_header(&header)?;
        // The interface stays: the way to a link-local address begins there.
        become_ours(p);
        Some(())
    }
}
