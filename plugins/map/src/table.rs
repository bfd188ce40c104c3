//! Tables in which the nodes find domains, and reasons of their drops.

use infra::counter::Rows;
use net::interface::Port;
use net::prelude::*;

use super::domain::Domain;
use super::params::Params;
use super::prefixes::Prefixes;

/// Domains by the addresses they are for.
#[derive(Clone, Default)]
pub struct Table {
    /// By customers' IPv4 addresses.
    pub by4: Prefixes,
    /// By customers' IPv6 addresses.
    pub by6: Prefixes,
    /// By relays' IPv6 addresses.
    pub relays: Prefixes,
}

/// Bits of an IPv4 address as tables of prefixes have them.
#[inline(always)]
pub fn bits4(addr: Ipv4Addr) -> u128 {
    u128::from(addr.to_bits()) << 96
}

/// Settings of all domains.
#[derive(Clone, Default)]
pub struct Settings {
    /// The parameters.
    pub params: Params,
    /// Load balances of the next hops of IPv4 and IPv6.
    pub balances: [Option<u32>; 2],
}

/// Places in the totals: packets to customers and from them whose address or port is not theirs,
/// and fragments of IPv4.
pub const REFUSED_TO: usize = 0;
/// As [`REFUSED_TO`].
pub const REFUSED_FROM: usize = 1;
/// As [`REFUSED_TO`].
pub const FRAGMENTS4: usize = 2;

/// Tables that nodes read.
#[derive(Clone)]
pub struct Readers {
    /// The domains.
    pub domains: SlabReader<Domain>,
    /// Domains by address.
    pub table: Reader<Arc<Table>>,
    /// Parameters.
    pub settings: Reader<Settings>,
    /// Packets from customers and to them, by domain.
    pub counters: [Rows<VolumeCounter>; 2],
    /// Totals.
    pub totals: Rows<VolumeCounter>,
    /// Tables of interfaces.
    pub ports: SlabReader<Port>,
}

impl Readers {
    /// A domain by its number.
    #[inline(always)]
    pub fn domain<'e>(&'e self, number: u32, epoch: Epoch<'e>) -> Option<(u32, &'e Domain)> {
        Some((number, self.domains.read(number, epoch)?))
    }
    /// The domain of a customer's IPv4 address.
    #[inline(always)]
    pub fn by4<'e>(&'e self, addr: Ipv4Addr, epoch: Epoch<'e>) -> Option<(u32, &'e Domain)> {
        self.domain(self.table.read(epoch).by4.find(bits4(addr))?, epoch)
    }
    /// The domain of a packet between a customer's IPv6 address and one of a relay.
    #[inline(always)]
    pub fn by6<'e>(
        &'e self,
        (customer, relay): (Ipv6Addr, Ipv6Addr),
        epoch: Epoch<'e>,
    ) -> Option<(u32, &'e Domain)> {
        let fits = |(_, d): &(u32, &Domain)| d.ip6_src.contains(relay);
        let addr = Ipv4Addr::from_bits((customer.to_bits() >> 16) as u32);
        let shared = self.by4(addr, epoch).filter(|(_, d)| d.ip6_prefix.contains(customer));
        let found = || self.domain(self.table.read(epoch).by6.find(customer.to_bits())?, epoch);
        shared.filter(fits).or_else(|| found().filter(fits))
    }
    /// Whether an address is one of a relay.
    #[inline(always)]
    pub fn is_relay(&self, addr: Ipv6Addr, epoch: Epoch<'_>) -> bool {
        self.table.read(epoch).relays.find(addr.to_bits()).is_some()
    }
    /// The routing table for packets of the other version (0 for IPv4) of a packet's interface.
    #[inline(always)]
    pub fn fib(&self, rx: u32, family: usize, epoch: Epoch<'_>) -> u16 {
        let port = self.ports.read(rx, epoch);
        let table = port.and_then(|port| if family == 0 { port.ip4 } else { port.ip6 });
        table.unwrap_or(0)
    }
    /// Counts a packet of a domain, from customers (0) or to them (1).
    #[inline(always)]
    pub fn count(&self, thread: usize, direction: usize, number: u32, len: usize) {
        if let Some(counter) = self.counters[direction].row(thread).get(number as usize) {
            counter.add(1, len as u64);
        }
    }
    /// Counts a packet in the totals.
    #[inline(always)]
    pub fn count_total(&self, thread: usize, place: usize, len: usize) {
        if let Some(counter) = self.totals.row(thread).get(place) {
            counter.add(1, len as u64);
        }
    }
}

/// Drops of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// valid MAP packets.
    #[name("none")]
    #[severity("info")]
    None,
    /// bad protocol.
    #[name("bad_protocol")]
    BadProtocol,
    /// security check failed.
    #[name("sec_check")]
    SecCheck,
    /// encap security check failed.
    #[name("encap_sec_check")]
    EncapSecCheck,
    /// decap security check failed.
    #[name("decap_sec_check")]
    DecapSecCheck,
    /// unable to translate ICMP.
    #[name("icmp")]
    Icmp,
    /// unable to relay ICMP.
    #[name("icmp_relay")]
    IcmpRelay,
    /// unknown.
    #[name("unknown")]
    Unknown,
    /// no binding.
    #[name("no_binding")]
    NoBinding,
    /// no domain.
    #[name("no_domain")]
    NoDomain,
    /// packet is a fragment.
    #[name("fragmented")]
    Fragmented,
    /// could not cache fragment.
    #[name("fragment_memory")]
    FragmentMemory,
    /// fragment has unexpected format.
    #[name("fragment_malformed")]
    FragmentMalformed,
    /// dropped cached fragment.
    #[name("fragment_dropped")]
    FragmentDropped,
    /// malformed packet.
    #[name("malformed")]
    Malformed,
    /// can't fragment, DF set.
    #[name("df_set")]
    DfSet,
    /// time exceeded.
    #[name("time_exceeded")]
    TimeExceeded,
}

impl From<net::fragment::Error> for Error {
    fn from(error: net::fragment::Error) -> Self {
        match error {
            net::fragment::Error::Memory => Self::FragmentMemory,
            _ => Self::FragmentMalformed,
        }
    }
}

impl From<wire::siit::Error> for Error {
    fn from(error: wire::siit::Error) -> Self {
        match error {
            wire::siit::Error::Malformed => Self::Malformed,
            wire::siit::Error::Dropped => Self::Icmp,
            wire::siit::Error::NoAddresses => Self::NoBinding,
        }
    }
}

/// Ports of a packet (of IPv4 or IPv6 by `find`), or of the one that it is a fragment of.
#[inline(always)]
pub fn ports(p: &Buffer<'_>, found: Option<(u16, u16)>) -> Option<(u16, u16)> {
    found.or_else(|| p.ports().map(|ports| (ports.src, ports.dst)))
}

/// Lowers the maximum segment size in a TCP packet that asks for a connection.
#[inline(always)]
pub fn clamp<N: graph::Node>(p: &mut Packet<'_, N>, most: u16) {
    if most > 0 {
        clamp_some(p, most);
    }
}

#[inline(never)]
fn clamp_some(p: &mut Buffer<'_>, most: u16) {
    let is_summed = !p.flags().has(Flags::CHECKSUM_TODO);
    let packet = p.bytes_mut();
    let at = match packet.first().map(|b| b >> 4) {
        Some(4) => ip4::Header::ref_from_prefix(packet).ok().and_then(|(h, _)| {
            let is_first = h.protocol == Protocol::TCP && h.fragment_offset() == 0;
            is_first.then(|| h.header_len())
        }),
        _ => ip6::upper_layer(packet).and_then(|at| {
            let is_first = at.fragment.is_none_or(|f| f.offset() == 0);
            (at.protocol == Protocol::TCP && is_first).then_some(at.offset)
        }),
    };
    if let Some(segment) = at.and_then(|at| packet.get_mut(at..)) {
        tcp::clamp_mss(segment, most, is_summed);
    }
}
