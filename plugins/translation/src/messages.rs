//! Fields of mappings, hosts and sessions that messages of several translators have.

use control::api::Fields;
use net::prelude::*;
use sessions::slices::{Rows, SLICE};

use crate::mapping::{Local, Mapping};
use crate::session::{BYPASS, NatSession, STATIC};
use crate::state::{Kind, Nat};

/// Interface, table or processor of messages for none.
pub const ANY: u32 = u32::MAX;

/// A thread with sessions.
#[derive(Fields)]
pub struct Worker {
    /// index
    pub worker_index: u32,
    /// CPU
    pub lcore_id: u32,
    /// name
    pub name: Text<64>,
}

/// A host that has sessions.
#[derive(Fields)]
pub struct User {
    /// table ID
    pub vrf_id: u32,
    /// the address
    pub ip_address: Ipv4Addr,
    /// dynamic sessions
    pub nsessions: u32,
    /// sessions of static mappings
    pub nstaticsessions: u32,
}

/// Buckets of a table of the original, as clients read it, for so many entries.
pub fn buckets(entries: u32) -> u32 {
    (entries.div_ceil(5) * 2).next_power_of_two()
}

/// Whether clients see a session: one without a far end that only lets packets pass is none.
fn is_listed<K: Kind>(s: &NatSession) -> bool {
    K::HAS_FAR_END || !s.data.is(BYPASS)
}

/// Requests of clients.
impl<K: Kind> Nat<K> {
    /// Workers that have sessions.
    pub fn worker_rows(router: &Router) -> impl Iterator<Item = Worker> {
        Self::worker_infos(router).into_iter().map(|t| Worker {
            worker_index: t.id as u32,
            lcore_id: t.cpu.map_or(ANY, |cpu| cpu as u32),
            name: t.name.into(),
        })
    }
    /// All hosts, for [`Module::dump_some`].
    pub fn users<R>(router: &Router, row: impl Fn(User) -> R + 'static) -> Rows<R> {
        let mut slices = Self::slices(router, is_listed::<K>);
        let mut hosts = BTreeMap::<(u16, [u8; 4]), [u32; 2]>::new();
        Box::new(move |router, rows| {
            if let Ok(Some(found)) = slices(router) {
                for (_, s) in found {
                    let count = hosts.entry((s.data.in_fib, s.forward.src)).or_default();
                    count[usize::from(s.data.is(STATIC))] += 1;
                }
                return true;
            }
            let some = std::iter::from_fn(|| hosts.pop_first()).take(SLICE);
            rows.extend(some.map(|((fib, host), [nsessions, nstaticsessions])| {
                row(User {
                    vrf_id: router.fib.table_id::<Ip4>(TableIndex(fib)).unwrap_or(0),
                    ip_address: host.into(),
                    nsessions,
                    nstaticsessions,
                })
            }));
            !hosts.is_empty()
        })
    }
    /// The sessions of a host, for [`Module::dump_some`].
    pub fn sessions_of<R: 'static>(
        router: &Router,
        host: Ipv4Addr,
        vrf: u32,
        row: impl Fn(&Router, &NatSession) -> R + 'static,
    ) -> Rows<R> {
        let table = router.fib.table::<Ip4>(vrf);
        let host = host.octets();
        let is_meant = move |s: &NatSession| {
            let is_of = table.is_some_and(|table| s.data.in_fib == table.0);
            is_listed::<K>(s) && s.forward.src == host && is_of
        };
        let mut slices = Self::slices(router, is_meant);
        let (mut all, mut is_whole) = (Vec::new(), false);
        Box::new(move |router, rows| {
            if let Ok(Some(found)) = slices(router) {
                all.extend(found.into_iter().map(|(_, session)| session));
                return true;
            }
            if !std::mem::replace(&mut is_whole, true) {
                // Those that were silent longest first.
                all.sort_by(|a: &NatSession, b| b.heard().total_cmp(&a.heard()));
            }
            let rest = all.len().saturating_sub(SLICE);
            rows.extend(all.drain(rest..).rev().map(|session| row(router, &session)));
            !all.is_empty()
        })
    }
    /// The mappings that are meant, each with one of its hosts: those of interfaces last, and
    /// before them once more with the address that they have now.
    pub fn mappings(
        router: &Router,
        is_meant: impl Fn(&Mapping) -> bool + 'static,
    ) -> impl Iterator<Item = (Mapping, Local)> {
        let found = Self::resolved_mappings(router).into_iter().filter(move |m| is_meant(m));
        let each = |m: Mapping| m.locals.clone().into_iter().map(move |local| (m.clone(), local));
        found.flat_map(each)
    }
    /// All mappings: those of interfaces last, and before them once more with the address that they
    /// have now.
    pub fn resolved_mappings(router: &Router) -> Vec<Mapping> {
        let all = Self::settings(router).map_or(&[][..], |s| &s.mappings);
        let (of_interfaces, mut found): (Vec<Mapping>, Vec<Mapping>) =
            all.iter().cloned().partition(|m| m.interface.is_some());
        let resolved = of_interfaces.iter().filter_map(|m| m.resolved(router));
        found.extend(resolved.map(|m| Mapping { interface: None, ..m }));
        found.extend(of_interfaces);
        found
    }
}

/// A static mapping, after its flags.
#[derive(Fields)]
pub struct StaticFields {
    /// the host
    pub local_ip_address: Ipv4Addr,
    /// outside address
    pub external_ip_address: Ipv4Addr,
    /// IP protocol number
    pub protocol: u8,
    /// inside port
    pub local_port: u16,
    /// outside port
    pub external_port: u16,
    /// interface whose address is used; 4294967295 for none
    pub external_sw_if_index: InterfaceIndex,
    /// table ID
    pub vrf_id: u32,
    /// tag
    pub tag: Text<64>,
}

/// An identity mapping, after its flags.
#[derive(Fields)]
pub struct IdentityFields {
    /// the address
    pub ip_address: Ipv4Addr,
    /// IP protocol number
    pub protocol: u8,
    /// port
    pub port: u16,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table ID
    pub vrf_id: u32,
    /// tag
    pub tag: Text<64>,
}

impl StaticFields {
    /// The mapping, of an address or of a port.
    pub fn mapping(&self, is_of_address: bool) -> Mapping {
        let port = |port: u16| if is_of_address { 0 } else { port };
        let vrf = if self.vrf_id == ANY { 0 } else { self.vrf_id };
        let (addr, local) = (self.local_ip_address, port(self.local_port));
        Mapping {
            locals: vec![Local { addr, port: local, probability: 0, vrf }],
            external: self.external_ip_address,
            port: port(self.external_port),
            protocol: (!is_of_address).then_some(Protocol(self.protocol)),
            interface: Some(self.external_sw_if_index.0).filter(|i| *i != ANY),
            tag: self.tag.to_string(),
            ..Mapping::default()
        }
    }
    /// Those of a mapping to one of its hosts.
    pub fn of(m: &Mapping, local: &Local) -> Self {
        Self {
            local_ip_address: local.addr,
            external_ip_address: m.external,
            protocol: m.protocol.map_or(0, |p| p.0),
            local_port: local.port,
            external_port: m.port,
            external_sw_if_index: InterfaceIndex(m.interface.unwrap_or(ANY)),
            vrf_id: local.vrf,
            tag: m.tag.as_str().into(),
        }
    }
}

impl IdentityFields {
    /// The mapping, of an address or of a port.
    pub fn mapping(&self, is_of_address: bool) -> Mapping {
        let port = if is_of_address { 0 } else { self.port };
        let vrf = if self.vrf_id == ANY { 0 } else { self.vrf_id };
        Mapping {
            locals: vec![Local { addr: self.ip_address, port, probability: 0, vrf }],
            external: self.ip_address,
            port,
            protocol: (!is_of_address).then_some(Protocol(self.protocol)),
            interface: Some(self.sw_if_index.0).filter(|i| *i != ANY),
            is_identity: true,
            tag: self.tag.to_string(),
            ..Mapping::default()
        }
    }
    /// Those of a mapping in one of its tables.
    pub fn of(m: &Mapping, local: &Local) -> Self {
        Self {
            ip_address: local.addr,
            protocol: m.protocol.map_or(0, |p| p.0),
            port: m.port,
            sw_if_index: InterfaceIndex(m.interface.unwrap_or(ANY)),
            vrf_id: local.vrf,
            tag: m.tag.as_str().into(),
        }
    }
}

/// The host of a session, outside and inside.
#[derive(Fields)]
pub struct SessionHost {
    /// translated address of the host
    pub outside_ip_address: Ipv4Addr,
    /// outside port
    pub outside_port: u16,
    /// the host
    pub inside_ip_address: Ipv4Addr,
    /// port
    pub inside_port: u16,
    /// IP protocol number
    pub protocol: u16,
}

/// Packets of a session, and its far end.
#[derive(Fields)]
pub struct SessionTraffic {
    /// bytes that passed
    pub total_bytes: u64,
    /// packets that passed
    pub total_pkts: u32,
    /// external host, for endpoint-dependent sessions
    pub ext_host_address: Ipv4Addr,
    /// port
    pub ext_host_port: u16,
}

impl SessionHost {
    /// That of a session.
    pub fn of(s: &NatSession) -> Self {
        Self {
            outside_ip_address: s.reverse.dst.into(),
            outside_port: s.reverse.dst_port,
            inside_ip_address: s.forward.src.into(),
            inside_port: s.forward.src_port,
            protocol: s.forward.protocol().0.into(),
        }
    }
}

impl SessionTraffic {
    /// That of a session; `has_far` if it is one with a far end.
    pub fn of(s: &NatSession, has_far: bool) -> Self {
        let (address, port) =
            if has_far { (s.reverse.src, s.reverse.src_port) } else { ([0; 4], 0) };
        Self {
            total_bytes: s.bytes,
            total_pkts: s.packets as u32,
            ext_host_address: address.into(),
            ext_host_port: port,
        }
    }
}
