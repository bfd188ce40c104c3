//! `ikev2-ip4`, `ikev2-ip4-natt`, `ikev2-ip6`: pass IKE messages to the control thread. On port
//! 4500 a message follows four zero bytes, where ESP has its SPI (RFC 3948 section 2.2).

use net::prelude::*;

use super::codec::{self, Flaw};
use super::machine::NATT_PORT;

/// Longest accepted message in bytes.
pub const LONGEST: usize = 4096;

/// Names of the nodes.
pub const NODES: [&str; 3] = ["ikev2-ip4", "ikev2-ip4-natt", "ikev2-ip6"];

/// A received message.
#[derive(Clone, Copy)]
pub struct Arrived {
    /// Index of the node in [`NODES`].
    pub node: usize,
    /// The receiving interface.
    pub interface: u32,
    /// The sender.
    pub from: (IpAddr, u16),
    /// The destination address and port.
    pub to: (IpAddr, u16),
    len: u16,
    bytes: [u8; LONGEST],
}

impl Event for Arrived {
    const ROOM: usize = 64;
}

impl Arrived {
    /// The message.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

/// Drops of [`Input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// IKEv2 packets with a wrong length field.
    #[name("bad_length")]
    BadLength,
    /// malformed IKEv2 packets.
    #[name("malformed_packet")]
    Malformed,
    /// packets that are not IKEv2.
    #[name("not_ikev2")]
    NotIke,
    /// IKEv2 packets dropped because the queue to the control thread is full.
    #[name("no_buff_space")]
    NoRoom,
    /// IKEv2 packets dropped at handoff to another thread.
    #[name("handoff_congestion_drop")]
    Congestion,
}

/// Counters of [`Input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Count)]
pub enum Count {
    /// IKEv2 packets processed.
    #[name("processed")]
    Processed,
    /// IKE_SA_INIT requests retransmitted.
    #[name("ike_sa_init_retransmit")]
    InitRetransmit,
    /// IKE_SA_INIT requests ignored.
    #[name("ike_sa_init_ignore")]
    InitIgnored,
    /// IKE requests retransmitted.
    #[name("ike_req_retransmit")]
    Retransmit,
    /// IKE messages ignored.
    #[name("ike_req_ignore")]
    Ignored,
    /// IKEv2 packets handed to another thread.
    #[name("handoff")]
    Handoff,
    /// rekey requests.
    #[name("rekey_req")]
    Rekey,
    /// IKE_SA_INIT requests.
    #[name("init_sa_req")]
    Init,
    /// IKE_AUTH requests.
    #[name("ike_auth_req")]
    Auth,
    /// liveness checks.
    #[name("keepalive")]
    Keepalive,
}

/// Receives IKE messages; `AT` is an index in [`NODES`].
#[derive(Clone)]
pub struct Input<const AT: usize>(pub(super) EventSender<Arrived>);

/// A UDP datagram: source, destination, and offset and length of its data.
struct Datagram {
    from: (IpAddr, u16),
    to: (IpAddr, u16),
    at: usize,
    len: usize,
}

/// Parses a datagram; `front` begins with the IP header.
fn datagram(front: &[u8]) -> Option<Datagram> {
    let (src, dst, at): (IpAddr, IpAddr, usize) = match front.first()? >> 4 {
        4 => {
            let (h, _) = ip4::Header::ref_from_prefix(front).ok()?;
            let addr = |octets: [u8; 4]| IpAddr::from(octets);
            (addr(h.src), addr(h.dst), h.header_len())
        }
        _ => {
            let (h, _) = ip6::Header::ref_from_prefix(front).ok()?;
            let upper = ip6::upper_layer(front).filter(|u| u.protocol == Protocol::UDP)?;
            (h.src_addr().into(), h.dst_addr().into(), upper.offset)
        }
    };
    let (h, _) = udp::Header::ref_from_prefix(front.get(at..)?).ok()?;
    let len = usize::from(h.len.get()).checked_sub(size_of::<udp::Header>())?;
    let at = at + size_of::<udp::Header>();
    let (from, to) = ((src, h.src_port.get()), (dst, h.dst_port.get()));
    Some(Datagram { from, to, at, len })
}

fn taken(p: &Buffer<'_>, node: usize) -> Result<Arrived, Error> {
    let front = p.bytes_from(p.l3_offset());
    let found = datagram(front).ok_or(Error::BadLength)?;
    let Datagram { from, to, at, mut len } = found;
    let first = front.get(at..).ok_or(Error::BadLength)?;
    let (mut bytes, mut filled) = ([0; LONGEST], 0);
    for segment in std::iter::once(first).chain(p.segments().skip(1)) {
        let segment = segment.get(..len - filled).unwrap_or(segment);
        let place = bytes.get_mut(filled..filled + segment.len()).ok_or(Error::NoRoom)?;
        place.copy_from_slice(segment);
        filled += segment.len();
    }
    if filled != len {
        return Err(Error::BadLength);
    }
    if to.1 == NATT_PORT {
        if bytes.get(..4) != Some(&[0; 4]) || len < 4 {
            return Err(Error::NotIke);
        }
        bytes.copy_within(4..len, 0);
        len -= 4;
    }
    match codec::check(&bytes[..len]) {
        Ok(_) => (),
        Err(Flaw::Length) => return Err(Error::BadLength),
        Err(Flaw::Version) => return Err(Error::NotIke),
        Err(_) => return Err(Error::Malformed),
    }
    Ok(Arrived { node, interface: p.rx(), from, to, len: len as u16, bytes })
}

impl<const AT: usize> Node for Input<AT> {
    const NAME: &'static str = NODES[AT];
    type Next = std::convert::Infallible;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = if AT == 2 { "ip6-drop" } else { "ip4-drop" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut processed = 0;
        frame.consume(|p| {
            processed += 1;
            let arrived = taken(p, AT)?;
            self.0.send(arrived).then_some(()).ok_or(Error::NoRoom)
        });
        frame.count(Count::Processed, processed);
    }
}
