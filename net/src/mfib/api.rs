//! Messages about multicast routes.

use std::net::IpAddr;
use std::ops::Bound;

use control::api::types::{AddressFamily, AddressUnion, Mprefix};
use control::api::{Api, Message, Record, Retval};

use super::kind::Multicast;
use super::routes::prefix;
use super::signal::KEPT;
use super::table::{Entry, MKey};
use super::types::{MfibEntryFlags, MfibItfFlags, MfibPath};
use super::{EntryFlags, Error, ItfFlags, MPath, MPrefix};
use crate::fib::api::{IP_VERSION, IpTable};
use crate::fib::types::FibPath;
use crate::fib::{Ip4, Ip6, Source, TableIndex};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Most paths of a route in a message.
const MOST_PATHS: usize = 255;

/// A multicast route.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub(super) struct IpMroute {
    /// table
    pub table_id: u32,
    /// flags of the route
    pub entry_flags: MfibEntryFlags,
    /// RPF ID
    pub rpf_id: u32,
    /// group and source
    pub prefix: Mprefix,
    /// paths
    #[counted(n_paths: u8)]
    pub paths: Vec<MfibPath>,
}

/// Add or delete a multicast route, or some of its paths.
#[derive(Message)]
#[reply(IpMrouteAddDelReply)]
pub(super) struct IpMrouteAddDel {
    /// true to add paths, false to delete them; deleting without paths deletes the route
    #[preset(true)]
    pub is_add: bool,
    /// ignored: paths are always added to the existing ones
    pub is_multipath: bool,
    pub route: IpMroute,
}

/// The resulting route.
#[derive(Message)]
pub(super) struct IpMrouteAddDelReply {
    /// index of its counters in `/net/mroute`
    pub stats_index: u32,
}

/// List the multicast routes of a table.
#[derive(Message)]
#[details(IpMrouteDetails)]
pub(super) struct IpMrouteDump {
    pub table: IpTable,
}

/// A multicast route.
#[derive(Message)]
pub(super) struct IpMrouteDetails {
    pub route: IpMroute,
}

/// List all multicast tables.
#[derive(Message)]
#[details(IpMtableDetails)]
pub(super) struct IpMtableDump {}

/// A multicast table.
#[derive(Message)]
#[head(request)]
pub(super) struct IpMtableDetails {
    pub table: IpTable,
}

/// Read packets signalled by routes and interfaces.
#[derive(Message)]
#[details(MfibSignalDetails)]
pub(super) struct MfibSignalDump {}

/// A signalled packet.
#[derive(Message)]
pub(super) struct MfibSignalDetails {
    /// receive interface
    pub sw_if_index: InterfaceIndex,
    pub table_id: u32,
    /// matching route
    pub prefix: Mprefix,
    /// number of bytes that follow
    pub ip_packet_len: u16,
    /// first bytes
    pub ip_packet_data: [u8; KEPT],
}

impl MPrefix {
    /// A group and source as a message has them: a source makes the whole group count.
    fn of_message(m: Mprefix) -> Result<Self, Retval> {
        let (group, source) = (m.grp_address.read(m.af)?, m.src_address.read(m.af)?);
        let source = Some(source).filter(|s| !s.is_unspecified());
        let bits = if group.is_ipv4() { 32 } else { 128 };
        let len = if source.is_some() { bits } else { m.grp_address_length };
        if len > bits {
            return Err(Retval::INVALID_VALUE);
        }
        Ok(Self { group, len: len as u8, source })
    }
    fn message(self) -> Mprefix {
        let af = if self.group.is_ipv4() { AddressFamily::IP4 } else { AddressFamily::IP6 };
        let len = u16::from(self.len);
        Mprefix {
            af,
            grp_address_length: if self.source.is_some() { len * 2 } else { len },
            grp_address: self.group.into(),
            src_address: self.source.map_or_else(AddressUnion::default, Into::into),
        }
    }
}

impl IpMroute {
    fn of<F: Multicast>(router: &Router, table_id: u32, key: MKey<F>, entry: &Entry) -> Self {
        let route = entry.best();
        let path = |p: &MPath| MfibPath {
            itf_flags: MfibItfFlags(p.flags.0),
            path: FibPath::of::<F>(router, &p.path),
        };
        Self {
            table_id,
            entry_flags: MfibEntryFlags(route.flags.0),
            rpf_id: route.rpf_id,
            prefix: prefix::<F>(key).message(),
            paths: route.paths.iter().take(MOST_PATHS).map(path).collect(),
        }
    }
    fn add_del<F: Multicast>(
        &self,
        router: &mut Router,
        prefix: MPrefix,
        is_add: bool,
    ) -> Result<u32, Retval> {
        let table = router.fib.table::<F>(self.table_id).ok_or(Retval::NO_SUCH_FIB)?;
        let path = |p: &MfibPath| {
            let flags = ItfFlags(p.itf_flags.0).known();
            Ok(MPath { path: p.path.native::<F>(router)?, flags })
        };
        let paths = self.paths.iter().map(path).collect::<Result<Vec<_>, Retval>>()?;
        let source = Source::API;
        if is_add {
            let of_all = (EntryFlags(self.entry_flags.0).known(), self.rpf_id);
            return Ok(router.update_mroute(table, prefix, source, of_all, &paths)?);
        }
        match router.remove_mroute(table, prefix, source, &paths) {
            // A missing one is deleted already.
            Ok(()) | Err(Error::NoRoute) => Ok(0),
            Err(e) => Err(e.into()),
        }
    }
}

/// A walk through a table, one route at a time.
struct Walk<F: Multicast> {
    table: Option<TableIndex>,
    id: u32,
    last: Option<MKey<F>>,
}

impl<F: Multicast> Walk<F> {
    fn of(router: &Router, id: u32) -> Self {
        Self { table: router.fib.table::<F>(id), id, last: None }
    }
    fn next(&mut self, router: &Router) -> Option<IpMrouteDetails> {
        let t = F::mtables(&router.mfib).at(self.table?)?;
        let start = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let (key, entry) = t.entries.range((start, Bound::Unbounded)).next()?;
        self.last = Some(*key);
        Some(IpMrouteDetails { route: IpMroute::of::<F>(router, self.id, *key, entry) })
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", IP_VERSION)
        .dump(|router, _: IpMtableDump| {
            IpTable::all(router).into_iter().map(|table| IpMtableDetails { table }).collect()
        })
        .call(|router, m: IpMrouteAddDel| {
            let prefix = MPrefix::of_message(m.route.prefix)?;
            let stats_index = match prefix.group {
                IpAddr::V4(_) => m.route.add_del::<Ip4>(router, prefix, m.is_add)?,
                IpAddr::V6(_) => m.route.add_del::<Ip6>(router, prefix, m.is_add)?,
            };
            Ok(IpMrouteAddDelReply { stats_index })
        })
        .dump_each(|router: &mut Router, m: IpMrouteDump| {
            let mut four = Walk::<Ip4>::of(router, m.table.table_id);
            let mut six = Walk::<Ip6>::of(router, m.table.table_id);
            move |router: &mut Router| {
                if m.table.is_ip6 { six.next(router) } else { four.next(router) }
            }
        })
        .dump(|router: &mut Router, _: MfibSignalDump| {
            let signals = router.take_signals();
            let signal = |s: super::Signal| {
                let id = router.fib.table_id_for(s.prefix.group, s.table);
                let mut ip_packet_data = [0; KEPT];
                ip_packet_data[..s.bytes.len()].copy_from_slice(&s.bytes);
                MfibSignalDetails {
                    sw_if_index: s.interface,
                    table_id: id.unwrap_or_default(),
                    prefix: s.prefix.message(),
                    ip_packet_len: s.bytes.len() as u16,
                    ip_packet_data,
                }
            };
            signals.into_iter().map(signal).collect()
        });
}
