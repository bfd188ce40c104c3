//! Translations as the nodes find them: the address and port of a service, and the ends that its
//! connections are spread over.

use infra::table::exact::{Change, Exact, ExactReader};
use net::fib::{FlowHash, flow_of};
use net::prelude::*;
use sessions::{Flow6, Key};

/// Translations at most.
pub const MOST: usize = 1 << 20;

/// A target of the connections of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The address.
    pub addr: IpAddr,
    /// Port.
    pub port: u16,
    /// The source that packets get; their own without one.
    pub src: Option<IpAddr>,
    /// The port of that source; 0 for a free one.
    pub src_port: u16,
    /// The load balance by which packets go there as they are; 0 when they are translated.
    pub balance: u32,
}

/// A translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Index.
    pub id: u32,
    /// The address.
    pub addr: IpAddr,
    /// Port.
    pub port: u16,
    /// Protocol.
    pub protocol: Protocol,
    /// Whether only interfaces with the feature on have it.
    pub is_local: bool,
    /// Whether sources get another port.
    pub allocates_port: bool,
    /// Whether answers are not translated.
    pub is_one_way: bool,
    /// The fields of packets that choose a backend.
    pub hash: FlowHash,
    /// Targets of connections.
    pub backends: Vec<Backend>,
    /// Places of a Maglev table, each with the place of a backend; empty for equal shares.
    pub maglev: Vec<u16>,
}

impl Service {
    /// The backend for a packet that begins a connection.
    pub fn choose(&self, packet: &[u8]) -> Option<&Backend> {
        let hash = flow_of(packet, self.hash) as usize;
        match self.maglev.as_slice() {
            [] => self.backends.get(hash.checked_rem(self.backends.len())?),
            places => self.backends.get(usize::from(places[hash % places.len()])),
        }
    }
}

/// The Maglev table (Eisenbud et al., NSDI 2016, section 3.4) of `len` places, a prime number: each
/// backend has an order of its own in which it wants places, and they take turns. So equal shares
/// come out, and a backend that goes leaves the places of others nearly as they were, on any
/// router that has the same backends.
pub fn maglev(backends: &[Backend], len: usize) -> Vec<u16> {
    const FREE: u16 = u16::MAX;
    let wish = |b: &Backend| {
        let bytes = match b.addr {
            IpAddr::V4(addr) => addr.to_ipv6_mapped().octets(),
            IpAddr::V6(addr) => addr.octets(),
        };
        let flow = Flow6::new((bytes, b.port), ([0; 16], 0), Protocol(0), 0);
        let (offset, skip) = (flow.hash(0x6d61_676c), flow.hash(0x6576_0001));
        (offset as usize % len, skip as usize % (len - 1) + 1)
    };
    let mut all: Vec<(usize, usize)> = backends.iter().map(wish).collect();
    let (mut places, mut left) = (vec![FREE; len], len);
    // The order of configuration does not count, that of the wishes does.
    let mut turns: Vec<usize> = (0..all.len()).collect();
    turns.order_by_key(|n| (backends[*n].addr, backends[*n].port));
    while left > 0 && !all.is_empty() {
        for &n in turns.iter().take(left) {
            let (at, skip) = &mut all[n];
            while places[*at] != FREE {
                *at = (*at + *skip) % len;
            }
            places[*at] = n as u16;
            left -= 1;
        }
    }
    places
}

/// All translations, in control's hands.
pub struct Services {
    all: SharedSlab<Service>,
    /// By address, port and protocol: number and one more.
    by_end: Exact,
    /// By address, port and protocol of backends: how many translations have it.
    backends: Exact,
}

/// All translations, for nodes.
#[derive(Clone)]
pub struct ServiceReader {
    all: SlabReader<Service>,
    by_end: ExactReader,
    backends: ExactReader,
}

/// A hash that is not 0, the same in every table. The tables have seeds of their own.
fn key(addr: IpAddr, port: u16, protocol: Protocol) -> u64 {
    let (bytes, version) = match addr {
        IpAddr::V4(addr) => (addr.to_ipv6_mapped().octets(), 4),
        IpAddr::V6(addr) => (addr.octets(), 6),
    };
    Flow6::new((bytes, port), ([0; 16], 0), protocol, version).hash(SEED).max(1)
}

const SEED: u64 = 0x636e_6174;

impl Services {
    /// None.
    pub fn new() -> io::Result<Self> {
        let tables = [Exact::new(1024)?, Exact::new(1024)?];
        let [by_end, backends] = tables;
        Ok(Self { all: SharedSlab::new(MOST)?, by_end, backends })
    }
    /// For nodes.
    pub fn reader(&self) -> ServiceReader {
        ServiceReader {
            all: self.all.reader(),
            by_end: self.by_end.reader(),
            backends: self.backends.reader(),
        }
    }
    /// A translation, if it is in use.
    pub fn at(&self, id: u32) -> Option<&Service> {
        self.all.at(id)
    }
    /// Whether another one has the address, port and protocol.
    pub fn is_taken(&self, id: u32, addr: IpAddr, port: u16, protocol: Protocol) -> bool {
        let found = self.by_end.view().find(key(addr, port, protocol));
        found != 0 && found != u64::from(id) + 1
    }
    /// Sets a translation, or takes it out of use.
    pub fn set(&mut self, id: u32, new: Option<Service>) {
        let old = self.all.at(id).cloned();
        // What comes is there before what it replaces goes.
        if let Some(new) = &new {
            for b in &new.backends {
                let count = |now| Change::Set(now + 1);
                let _ = self.backends.change(key(b.addr, b.port, new.protocol), count);
            }
        }
        let end = |s: &Service| key(s.addr, s.port, s.protocol);
        let (was, is) = (old.as_ref().map(end), new.as_ref().map(end));
        self.all.put(id, new);
        if let Some(is) = is {
            let _ = self.by_end.change(is, |_| Change::Set(u64::from(id) + 1));
        }
        if let Some(was) = was.filter(|was| Some(*was) != is) {
            let _ = self.by_end.change(was, |_| Change::Remove);
        }
        for b in old.iter().flat_map(|old| &old.backends) {
            let protocol = old.as_ref().map_or(Protocol(0), |old| old.protocol);
            let uncount = |now| if now > 1 { Change::Set(now - 1) } else { Change::Remove };
            let _ = self.backends.change(key(b.addr, b.port, protocol), uncount);
        }
    }
}

impl ServiceReader {
    /// The translation of an address, port and protocol.
    #[inline(always)]
    pub fn find<'e>(
        &'e self,
        addr: IpAddr,
        port: u16,
        protocol: Protocol,
        epoch: Epoch<'e>,
    ) -> Option<&'e Service> {
        let found = self.by_end.read(epoch).find(key(addr, port, protocol));
        let service = self.all.read(u32::try_from(found.checked_sub(1)?).ok()?, epoch)?;
        let is_it = (service.addr, service.port, service.protocol) == (addr, port, protocol);
        is_it.then_some(service)
    }
    /// Whether connections are sent to an address, port and protocol.
    #[inline(always)]
    pub fn is_backend(
        &self,
        addr: IpAddr,
        port: u16,
        protocol: Protocol,
        epoch: Epoch<'_>,
    ) -> bool {
        self.backends.read(epoch).find(key(addr, port, protocol)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(n: u8) -> Backend {
        let addr = IpAddr::from([10, 0, 0, n]);
        Backend { addr, port: 80, src: None, src_port: 0, balance: 0 }
    }

    fn shares(places: &[u16], count: usize) -> Vec<usize> {
        let mut shares = vec![0; count];
        places.iter().for_each(|n| shares[usize::from(*n)] += 1);
        shares
    }

    #[test]
    fn a_maglev_table_has_equal_shares_whatever_the_order_and_keeps_places() {
        let all: Vec<_> = (1..=7).map(backend).collect();
        let places = maglev(&all, 1009);
        assert!(shares(&places, 7).iter().all(|share| (144..=145).contains(share)));
        // The same from the other end.
        let back: Vec<_> = all.iter().rev().copied().collect();
        let same = maglev(&back, 1009);
        let is_same = |(a, b): (&u16, &u16)| all[usize::from(*a)] == back[usize::from(*b)];
        assert!(places.iter().zip(&same).all(is_same));
        // One goes: few places of the others change.
        let fewer = maglev(&all[..6], 1009);
        let moved = places.iter().zip(&fewer).filter(|(a, b)| **a != 6 && a != b).count();
        assert!(moved < 1009 / 5, "{moved}");
        assert!(maglev(&[], 1009).iter().all(|place| *place == u16::MAX));
    }
}
