//! `ip4-icmp-error`: tells senders what is wrong with their packets (RFC 792, RFC 1812 section
//! 4.3.2).

use graph::{Buffer, Flags, Frame, Node};
use infra::rcu::Epoch;
use wire::ip4::{Header, VERSION_IHL};
use wire::{Protocol, checksum, icmp4};
use zerocopy::FromBytes;
use zerocopy::byteorder::network_endian::U16;

use super::{ERROR_HOPS, Limit, Problem, become_ours, came_to_group};
use crate::address::AddressReader;
use crate::ip::{Headers, V4};

/// Longest ICMP error, IP header included, in bytes.
const LONGEST: usize = 576;
/// Bytes of a packet that it quotes at most.
const QUOTED: usize = LONGEST - size_of::<Header>() - size_of::<icmp4::Error>();

/// Makes packets ICMP errors about themselves.
#[derive(Clone)]
pub struct IcmpError4 {
    addresses: AddressReader,
    limit: Limit,
}

/// Edges of [`IcmpError4`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To find the way back.
    #[to("ip4-lookup")]
    Lookup,
}

/// Drops of [`IcmpError4`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// error message dropped.
    Drop,
}

/// What [`IcmpError4`] sent.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
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

impl IcmpError4 {
    pub(super) fn new(addresses: AddressReader) -> Self {
        Self { addresses, limit: Limit::new() }
    }
}

impl Node for IcmpError4 {
    const NAME: &'static str = "ip4-icmp-error";
    type Next = Next;
    type Error = Error;
    type Count = Count;
    const INPUT: &'static str = <Problem as graph::Payload>::NAME;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        self.limit.fill(frame.now());
        let (mut unreachable, mut expired, mut other) = (0, 0, 0);
        frame.each(|p| {
            p.trace(Headers::<V4>::of);
            let problem = p.payload::<Problem>();
            if !may_tell(p) || !self.limit.take() {
                return Err(Error::Drop);
            }
            // What the first segment has is enough, cut to what an error may quote.
            p.truncate_chain(QUOTED.min(p.len()));
            self.tell(p, problem, epoch).ok_or(Error::Drop)?;
            match icmp4::Type(problem.kind) {
                icmp4::Type::DESTINATION_UNREACHABLE => unreachable += 1,
                icmp4::Type::TIME_EXCEEDED => expired += 1,
                _ => other += 1,
            }
            Ok(Next::Lookup)
        });
        frame.count(Count::Unreachable, unreachable);
        frame.count(Count::Expired, expired);
        frame.count(Count::Parameter, other);
    }
}

impl IcmpError4 {
    fn tell(&self, p: &mut Buffer<'_>, problem: Problem, epoch: Epoch<'_>) -> Option<()> {
        let dst = p.header::<Header>()?.src;
        let src = self.addresses.source4(p.rx(), epoch)?;
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
            ttl: ERROR_HOPS,
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

/// Whether the sender of a packet may be told of a problem (RFC 1812 section 4.3.2.7).
fn may_tell(p: &Buffer<'_>) -> bool {
    let Some(header) = p.header::<Header>() else { return false };
    let is_host = |a: [u8; 4]| a[0] < 224;
    let is_first = header.fragment_offset() == 0;
    let has_one_sender = is_host(header.src) && header.src[0] != 0 && header.src[0] != 127;
    let is_about_error = header.protocol == Protocol::ICMP && {
        let message = p.bytes().get(header.header_len()..).unwrap_or(&[]);
        icmp4::Type::ref_from_prefix(message).ok().is_none_or(|(kind, _)| kind.is_error())
    };
    is_first
        && has_one_sender
        && is_host(header.dst)
        && !is_about_error
        && !p.flags().has(Flags::LOCAL)
        && !came_to_group(p)
}
