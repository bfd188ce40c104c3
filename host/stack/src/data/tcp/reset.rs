//! `tcp4-reset`, `tcp6-reset`: reply to segments without a connection (RFC 9293 section 3.10.7.1),
//! by turning the packet itself into a reset.

use std::convert::Infallible;

use graph::{Flags, Frame, Node, Packet};
use net::ip::Headers;
use tcp_machine::{MAX_HEADER, reset_for};
use wire::Protocol;

use super::super::version::{HostVersion, LONGEST, write_header};
use super::counted::Counted;
use super::{ports_of, segment_of};

/// Answers segments with resets.
#[derive(Clone)]
pub struct Reset<V>(pub V);

/// Edges of [`Reset`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: HostVersion> {
    /// The reset.
    #[to(super::OUTPUT[V::INDEX])]
    Output(V),
}

impl<V: HostVersion> Node for Reset<V> {
    const NAME: &'static str = ["tcp4-reset", "tcp6-reset"][V::INDEX];
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = super::DROPS[V::INDEX];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            answer::<V, Self>(p)?;
            p.error(Counted::RstSent);
            p.trace(Headers::<V>::of);
            Ok(Next::Output(self.0))
        });
    }
}

/// Turns a segment into the reset that answers it.
fn answer<V: HostVersion, N>(p: &mut Packet<'_, N>) -> Result<(), Counted> {
    let (segment, _) = segment_of(p).ok_or(Counted::Length)?;
    let ports = ports_of(p).ok_or(Counted::Length)?;
    let key = V::key(p, ports, Protocol::TCP).ok_or(Counted::InvalidConnection)?;
    let out = reset_for(&segment).ok_or(Counted::RstRcvd)?;
    let mut header = [0; MAX_HEADER];
    let len = out.segment.write_header(ports[1], ports[0], &mut header);
    let mut ip = [0; LONGEST];
    let (ip_len, sum) = write_header(&key, len, true, &mut ip);
    header[16..18].copy_from_slice(&sum.to_be_bytes());
    p.truncate_chain(ip_len + len);
    let bytes = p.bytes_mut().get_mut(..ip_len + len).ok_or(Counted::Length)?;
    bytes[..ip_len].copy_from_slice(&ip[..ip_len]);
    bytes[ip_len..].copy_from_slice(&header[..len]);
    let l3 = p.offset();
    p.set_l3_offset(l3);
    p.set_l4_offset(l3 + ip_len as i16);
    p.set_gso_size(0);
    p.clear_flags(Flags::GSO.with(Flags::CHECKSUM_OK).with(Flags::HASH));
    p.add_flags(Flags::LOCAL.with(Flags::L3).with(Flags::L4).with(Flags::CHECKSUM_TODO));
    Ok(())
}
