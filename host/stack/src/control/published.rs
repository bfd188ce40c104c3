//! State for the data plane: namespaces, and filters for connections.
//!
//! The filter of a routing table is applied to incoming connections in [`Policy::arriving`], and to
//! connections opened by applications in [`Policy::connecting`], which also applies the filter of
//! the namespace. Without rules, each costs one load.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use infra::rcu::{Epoch, Reader, SlabReader};
use infra::table::rules::Rules;
use net::InterfaceIndex;
use net::fib::{Family, Ip4, Ip6, LpmReader, TableIndex};
use wire::IpVersion;

use super::settings::Settings;
use super::sources::Pools;

/// Transports that rules distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    /// All transports, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Tcp, Self::Udp];

    /// Its keyword.
    pub const fn word(self) -> &'static str {
        ["tcp", "udp"][self as usize]
    }
}

/// Backends for filtering connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Rules by local and remote prefixes and ports.
    RuleTable,
    /// No filter.
    None,
    /// The source deny list.
    Sdl,
}

/// The endpoints of a connection as seen by the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Transport.
    pub transport: Transport,
    /// The local endpoint.
    pub local: SocketAddr,
    /// The remote endpoint, of the same IP version.
    pub remote: SocketAddr,
}

/// Verdict of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No rule matches: a listener decides.
    Unsaid,
    /// Allowed: a listener decides.
    Allow,
    /// Refused.
    Drop,
    /// Redirected to the application with this number, whatever it listens on.
    Redirect(u32),
}

impl Verdict {
    /// The verdict for a rule's action.
    pub fn of(action: u32) -> Self {
        match action {
            super::rules::NONE => Self::Unsaid,
            super::rules::DROP => Self::Drop,
            super::rules::ALLOW => Self::Allow,
            app => Self::Redirect(app),
        }
    }
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// IPv4 and IPv6 routing table.
    pub tables: [Option<TableIndex>; 2],
    /// The interface whose addresses its applications use; `None` for all addresses of the tables.
    pub interface: Option<InterfaceIndex>,
}

/// Rules of one IP version and transport in matching order, and their actions.
#[derive(Debug, Default)]
pub(crate) struct List<const W: usize> {
    pub(crate) rules: Rules<W>,
    pub(crate) actions: Vec<u32>,
}

impl<const W: usize> List<W> {
    fn find(&self, key: &[u64; W]) -> Option<Verdict> {
        let place = self.rules.find(key, 0)? as usize;
        self.actions.get(place).map(|action| Verdict::of(*action))
    }
}

/// Rules of a table, by transport.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) ip4: [Arc<List<2>>; 2],
    pub(crate) ip6: [Arc<List<5>>; 2],
}

/// Lookup key of a [`List`]: both addresses, then the ports.
pub(crate) fn key4(local: u32, remote: u32, ports: [u16; 2]) -> [u64; 2] {
    [u64::from(local) << 32 | u64::from(remote), port_word(ports)]
}

/// Lookup key for IPv6.
pub(crate) fn key6(local: u128, remote: u128, ports: [u16; 2]) -> [u64; 5] {
    let [a, b, c, d] = [local >> 64, local, remote >> 64, remote].map(|half| half as u64);
    [a, b, c, d, port_word(ports)]
}

fn port_word([local, remote]: [u16; 2]) -> u64 {
    u64::from(local) << 16 | u64::from(remote)
}

impl Filter {
    fn find(&self, flow: &Flow) -> Option<Verdict> {
        let (local, remote) = (flow.local, flow.remote);
        let ports = [local.port(), remote.port()];
        match (local.ip(), remote.ip()) {
            (IpAddr::V4(l), IpAddr::V4(r)) => {
                let list = &self.ip4[flow.transport as usize];
                list.find(&key4(l.to_bits(), r.to_bits(), ports))
            }
            (IpAddr::V6(l), IpAddr::V6(r)) => {
                let list = &self.ip6[flow.transport as usize];
                list.find(&key6(l.to_bits(), r.to_bits(), ports))
            }
            _ => None,
        }
    }
}

/// Leaf values of the source deny list.
pub(crate) mod leaf {
    /// Sources in the prefix are refused.
    pub(crate) const DENY: u32 = 1;
    /// Sources in the prefix are permitted.
    pub(crate) const PASS: u32 = 2;
}

/// Filters and namespaces for data-plane threads.
#[derive(Clone)]
pub struct Policy {
    pub(crate) backend: Reader<Option<Backend>>,
    pub(crate) namespaces: SlabReader<Namespace>,
    /// Filters by IP version and routing table index.
    pub(crate) global: [SlabReader<Filter>; 2],
    /// Filters by namespace number.
    pub(crate) local: SlabReader<Filter>,
    pub(crate) deny4: SlabReader<<Ip4 as Family>::LpmReader>,
    pub(crate) deny6: SlabReader<<Ip6 as Family>::LpmReader>,
    pub(crate) sources: Reader<Pools>,
    pub(crate) settings: Reader<Settings>,
}

impl Policy {
    /// The backend; `None` while the layer is disabled.
    #[inline(always)]
    pub fn backend(&self, epoch: Epoch<'_>) -> Option<Backend> {
        *self.backend.read(epoch)
    }

    /// A namespace by its number.
    pub fn namespace<'e>(&'e self, index: u32, epoch: Epoch<'e>) -> Option<&'e Namespace> {
        self.namespaces.read(index, epoch)
    }

    /// Source addresses for connections through a routing table, used round robin; empty for that
    /// of the interface.
    pub fn sources<'e>(
        &'e self,
        version: IpVersion,
        table: TableIndex,
        epoch: Epoch<'e>,
    ) -> &'e [IpAddr] {
        self.sources.read(epoch).get(&(version, table)).map_or(&[], |pool| pool)
    }

    /// Settings of transports.
    pub fn settings<'e>(&'e self, epoch: Epoch<'e>) -> &'e Settings {
        self.settings.read(epoch)
    }

    /// The verdict on an incoming connection in a routing table.
    pub fn arriving(&self, table: TableIndex, flow: &Flow, epoch: Epoch<'_>) -> Verdict {
        let verdict = match self.backend(epoch) {
            Some(Backend::RuleTable) => self.by_rules(table, flow, epoch),
            Some(Backend::Sdl) => self.is_denied(table, flow.remote.ip(), epoch),
            _ => None,
        };
        verdict.unwrap_or(Verdict::Unsaid)
    }

    /// The verdict on a connection within a namespace.
    pub fn connecting_local(&self, namespace: u32, flow: &Flow, epoch: Epoch<'_>) -> Verdict {
        if self.backend(epoch) != Some(Backend::RuleTable) {
            return Verdict::Unsaid;
        }
        let filter = self.local.read(namespace, epoch);
        filter.and_then(|filter| filter.find(flow)).unwrap_or(Verdict::Unsaid)
    }

    /// The verdict on an outgoing connection through a routing table. An unknown local address or
    /// port is 0.
    pub fn connecting(&self, table: TableIndex, flow: &Flow, epoch: Epoch<'_>) -> Verdict {
        if self.backend(epoch) != Some(Backend::RuleTable) {
            return Verdict::Unsaid;
        }
        self.by_rules(table, flow, epoch).unwrap_or(Verdict::Unsaid)
    }

    fn by_rules(&self, table: TableIndex, flow: &Flow, epoch: Epoch<'_>) -> Option<Verdict> {
        let version = IpVersion::from(flow.remote.ip()) as usize;
        self.global[version].read(u32::from(table.0), epoch)?.find(flow)
    }

    fn is_denied(&self, table: TableIndex, peer: IpAddr, epoch: Epoch<'_>) -> Option<Verdict> {
        let slot = u32::from(table.0);
        let leaf = match peer {
            IpAddr::V4(addr) => self.deny4.read(slot, epoch)?.lookup(addr.to_bits(), epoch),
            IpAddr::V6(addr) => self.deny6.read(slot, epoch)?.lookup(addr.to_bits(), epoch),
        };
        match leaf {
            leaf::DENY => Some(Verdict::Drop),
            leaf::PASS => Some(Verdict::Allow),
            _ => None,
        }
    }
}
