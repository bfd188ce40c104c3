//! `ip6-icmp-error`: tells senders what is wrong with their packets (RFC 4443 sections 2.2 to 2.4).

use graph::{Buffer, Flags, Frame, Node};
use infra::rcu::Epoch;
use wire::ip6::{self, Header};
use wire::{Protocol, checksum, icmp6};
use zerocopy::FromBytes;

use super::{ERROR_HOPS, Limit, Problem, become_ours, came_to_group};
use crate::address::AddressReader;
use crate::ip::{Headers, V6};

/// Longest ICMP error, IP header included, in bytes.
const LONGEST: usize = 1280;
/// Bytes of a packet that it quotes at most.
const QUOTED: usize = LONGEST - size_of::<Header>() - size_of::<icmp6::Error>();

/// Makes packets ICMP errors about themselves.
#[derive(Clone)]
pub struct IcmpError6 {
    addresses: AddressReader,
    limit: Limit,
}

/// Edges of [`IcmpError6`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To find the way back.
    #[to("ip6-lookup")]
    Lookup,
}

/// Drops of [`IcmpError6`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// error message dropped.
    Drop,
}

/// What [`IcmpError6`] sent.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
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

impl IcmpError6 {
    pub(super) fn new(addresses: AddressReader) -> Self {
        Self { addresses, limit: Limit::new() }
    }
}

impl Node for IcmpError6 {
    const NAME: &'static str = "ip6-icmp-error";
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const INPUT: &'static str = <Problem as graph::Payload>::NAME;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        self.limit.fill(frame.now());
        let (mut unreachable, mut big, mut expired, mut other) = (0, 0, 0, 0);
        frame.each(|p| {
            p.trace(Headers::<V6>::of);
            let problem = p.payload::<Problem>();
            if !may_tell(p, problem) || !self.limit.take() {
                return Err(Error::Drop);
            }
            // What the first segment has is enough, cut to what an error may quote.
            p.truncate_chain(QUOTED.min(p.len()));
            self.tell(p, problem, epoch).ok_or(Error::Drop)?;
            match icmp6::Type(problem.kind) {
                icmp6::Type::DESTINATION_UNREACHABLE => unreachable += 1,
                icmp6::Type::PACKET_TOO_BIG => big += 1,
                icmp6::Type::TIME_EXCEEDED => expired += 1,
                _ => other += 1,
            }
            Ok(Next::Lookup)
        });
        frame.count(Count::Unreachable, unreachable);
        frame.count(Count::TooBig, big);
        frame.count(Count::Expired, expired);
        frame.count(Count::Parameter, other);
    }
}

impl IcmpError6 {
    fn tell(&self, p: &mut Buffer<'_>, problem: Problem, epoch: Epoch<'_>) -> Option<()> {
        let sender = p.header::<Header>()?.src_addr();
        let src = self.addresses.source6(p.rx(), sender, epoch)?;
        let icmp = icmp6::Header::new(icmp6::Type(problem.kind), problem.code);
        p.prepend_header(&icmp6::Error { icmp, value: problem.data.into() })?;
        let len = p.len() as u16;
        let mut header = Header::new(src, sender, Protocol::ICMP6, len);
        header.hop_limit = ERROR_HOPS;
        let pseudo = checksum::ip6_pseudo(header.src, header.dst, Protocol::ICMP6, len.into());
        let sum = pseudo.add_bytes(p.bytes()).checksum();
        p.header_mut::<icmp6::Header>()?.checksum = sum;
        p.prepend_header(&header)?;
        // The interface stays: the way to a link-local address begins there.
        become_ours(p);
        Some(())
    }
}

/// Whether the sender of a packet may be told of a problem (RFC 4443 section 2.4 e). That a packet
/// is too big is told about groups and later fragments as well.
fn may_tell(p: &Buffer<'_>, problem: Problem) -> bool {
    let Some(header) = p.header::<Header>() else { return false };
    let Some(upper) = ip6::upper_layer(p.bytes()) else { return false };
    let (src, is_too_big) = (header.src_addr(), problem.kind == icmp6::Type::PACKET_TOO_BIG.0);
    let has_one_sender = !src.is_multicast() && !src.is_unspecified() && !src.is_loopback();
    let is_first = upper.fragment.is_none_or(|f| f.offset() == 0);
    let is_for_one = !header.dst_addr().is_multicast() && !came_to_group(p);
    let is_about_error = is_first && upper.protocol == Protocol::ICMP6 && {
        let message = p.bytes().get(upper.offset..).unwrap_or(&[]);
        let kind = icmp6::Type::ref_from_prefix(message).ok();
        kind.is_none_or(|(kind, _)| kind.is_error() || *kind == icmp6::Type::REDIRECT)
    };
    has_one_sender
        && (is_first && is_for_one || is_too_big)
        && !is_about_error
        && !p.flags().has(Flags::LOCAL)
}
