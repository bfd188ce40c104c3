//! `ipsec4-tun-input`, `ipsec6-tun-input`: find the protected tunnel of encrypted packets to this
//! router. Packets without a matching tunnel are punted.

use hashbrown::HashMap;
use net::interface::{Counters, Port};
use net::prelude::*;
use net::punt::Reason;

use super::Carried;
use crate::Work;

/// The nodes.
pub const NODES: [&str; 2] = ["ipsec4-tun-input", "ipsec6-tun-input"];

/// SA and tunnel number, by remote address and SPI.
pub type Known = HashMap<(u128, u32), (u32, u32)>;

/// Finds the tunnel of a packet.
#[derive(Clone)]
pub struct TunInput<const IS_6: bool> {
    pub(super) known: Reader<Known>,
    pub(super) carried: SlabReader<Carried>,
    pub(super) ports: SlabReader<Port>,
    pub(super) counters: Arc<Counters>,
    /// Punt reasons for packets without a tunnel, and for UDP packets that are not ESP (IKE).
    pub(super) reasons: [Reason; 2],
}

/// Edges of [`TunInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<const IS_6: bool> {
    /// Packets to decrypt.
    #[to(["esp4-decrypt-tun", "esp6-decrypt-tun"][IS_6 as usize], payload = Work)]
    Open,
    /// Punt packets without a tunnel.
    #[to("punt-dispatch", payload = Reason)]
    Punt,
}

/// Drops of [`TunInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// ipsec packets received on disabled interface.
    #[name("disabled")]
    Disabled,
    /// NAT keepalive.
    #[name("nat_keepalive")]
    Keepalive,
    /// Too Short.
    #[name("too_short")]
    TooShort,
}

/// Counters of [`TunInput`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// good packets received.
    #[name("rx")]
    Received,
    /// no matching tunnel.
    #[name("no_tunnel")]
    NoTunnel,
    /// SPI=0.
    #[name("spi_0")]
    NoSpi,
}

impl<const IS_6: bool> Node for TunInput<IS_6> {
    const NAME: &'static str = NODES[IS_6 as usize];
    const HOT: bool = true;
    type Next = Next<IS_6>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = ["ip4-drop", "ip6-drop"][IS_6 as usize];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, this) = (frame.epoch(), frame.thread(), &*self);
        let known = this.known.read(epoch);
        let (mut received, mut without_tunnel, mut without_spi) = (0, 0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let l3 = usize::try_from(i32::from(p.offset()) - i32::from(p.l3_offset()));
                p.prepend(l3.map_err(|_| Error::TooShort)?).ok_or(Error::TooShort)?;
                let (remote, protocol, front) =
                    outside::<IS_6>(p.bytes()).ok_or(Error::TooShort)?;
                let packet = p.bytes();
                let at = if protocol == Protocol::UDP {
                    let (h, data) = udp::Header::ref_from_prefix(&packet[front..])
                        .map_err(|_| Error::TooShort)?;
                    let len = usize::from(h.len.get()).saturating_sub(size_of::<udp::Header>());
                    if len == 1 && data.first() == Some(&0xff) {
                        return Err(Error::Keepalive);
                    }
                    front + size_of::<udp::Header>()
                } else {
                    front
                };
                let spi = packet.get(at..).and_then(<[u8]>::first_chunk::<4>);
                let spi = u32::from_be_bytes(*spi.ok_or(Error::TooShort)?);
                if spi == 0 {
                    without_spi += 1;
                    p.set_payload(this.reasons[usize::from(protocol == Protocol::UDP)]);
                    return Ok(Next::Punt);
                }
                let found = known.get(&(remote, spi));
                let found =
                    found.and_then(|(sa, via)| Some((*sa, *via, this.carried.read(*via, epoch)?)));
                let Some((sa, via, by)) = found else {
                    without_tunnel += 1;
                    p.set_payload(this.reasons[0]);
                    return Ok(Next::Punt);
                };
                let is_up = this.ports.read(by.interface.0, epoch).is_some_and(|port| port.up);
                if !is_up {
                    let row = this.counters.rx.row(thread);
                    if let Some(counter) = row.get(by.interface.0 as usize) {
                        counter.add(1, p.total_len() as u64);
                    }
                    return Err(Error::Disabled);
                }
                received += 1;
                p.set_payload(Work { sa, front: front as u32, via });
                Ok(Next::Open)
            },
        );
        frame.count(Count::Received, received);
        frame.count(Count::NoTunnel, without_tunnel);
        frame.count(Count::NoSpi, without_spi);
    }
}

/// `ipsecN-tx`: frames and other packets without an adjacency, which are unprotected.
#[derive(Clone)]
pub struct Nowhere;

/// Drops of [`Nowhere`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Unsent {
    /// tunnel carries no frames.
    #[name("tunnel carries no frames")]
    NoFrames,
}

impl Node for Nowhere {
    const NAME: &'static str = "ipsec-tx";
    const HOT: bool = true;
    type Next = std::convert::Infallible;
    type Error = Unsent;
    type Count = std::convert::Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Err(Unsent::NoFrames));
    }
}

/// Source, protocol and length of the headers of a packet.
#[inline(always)]
fn outside<const IS_6: bool>(packet: &[u8]) -> Option<(u128, Protocol, usize)> {
    if IS_6 {
        let (h, _) = ip6::Header::ref_from_prefix(packet).ok()?;
        let upper = ip6::upper_layer(packet)?;
        packet.get(upper.offset..)?;
        return Some((u128::from_be_bytes(h.src), upper.protocol, upper.offset));
    }
    let (h, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    packet.get(h.header_len()..)?;
    Some((u32::from_be_bytes(h.src).into(), h.protocol, h.header_len()))
}
