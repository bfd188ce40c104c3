//! Messages of the module `mpls`.

use control::api::Record;
use control::api::types::Prefix;
use net::fib::types::{FibPath, FibPathNhProto};
use net::fib::{Path, RouteOf, Source};
use net::prelude::*;

use super::table::{self, Entry, Key, Route};
use super::tunnel::{self, NewTunnel, Tunnel};
use super::{Enabled, Error, Mpls, bind};

/// No interface.
const NONE: InterfaceIndex = InterfaceIndex(u32::MAX);
/// Most paths in a message.
const MOST_PATHS: usize = 255;

/// A label table.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub struct MplsTable {
    /// number
    pub mt_table_id: u32,
    /// name; empty for one derived from the ID
    pub mt_name: Text<64>,
}

/// Route of a label.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub struct MplsRoute {
    /// table
    pub mr_table_id: u32,
    /// label
    pub mr_label: u32,
    /// end of stack
    pub mr_eos: u8,
    /// payload of end-of-stack packets: IPv4, IPv6, MPLS, Ethernet
    pub mr_eos_proto: u8,
    /// true for multicast: replicate to all paths
    pub mr_is_multicast: bool,
    /// paths
    #[counted(mr_n_paths: u8)]
    pub mr_paths: Vec<FibPath>,
}

/// An MPLS tunnel.
#[derive(Clone, Debug, Record)]
#[file("")]
pub struct MplsTunnel {
    /// tunnel interface; 4294967295 for a new one
    pub mt_sw_if_index: InterfaceIndex,
    /// index
    pub mt_tunnel_index: u32,
    /// true to carry Ethernet frames
    pub mt_l2_only: bool,
    /// true for multicast: replicate to all paths
    pub mt_is_multicast: bool,
    /// operator-defined tag
    pub mt_tag: Text<64>,
    /// paths
    #[counted(mt_n_paths: u8)]
    pub mt_paths: Vec<FibPath>,
}

/// Bind a label to a prefix, or unbind it.
#[derive(Message)]
pub struct MplsIpBindUnbind {
    /// label table
    pub mb_mpls_table_id: u32,
    /// label
    pub mb_label: u32,
    /// table of the prefix
    pub mb_ip_table_id: u32,
    /// true to bind, false to unbind
    pub mb_is_bind: bool,
    /// prefix
    pub mb_prefix: Prefix,
}

/// Add or change an MPLS tunnel, or delete paths; deleted with its last path.
#[derive(Message)]
#[reply(MplsTunnelAddDelReply)]
pub struct MplsTunnelAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub mt_is_add: bool,
    /// tunnel interface
    pub mt_tunnel: MplsTunnel,
}

/// Tunnel interface.
#[derive(Message)]
pub struct MplsTunnelAddDelReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub tunnel_index: u32,
}

/// List MPLS tunnels.
#[derive(Message)]
#[details(MplsTunnelDetails)]
pub struct MplsTunnelDump {
    /// only this interface
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message)]
pub struct MplsTunnelDetails {
    /// tunnel interface
    pub mt_tunnel: MplsTunnel,
}

/// List interfaces with MPLS enabled.
#[derive(Message)]
#[details(MplsInterfaceDetails)]
pub struct MplsInterfaceDump {
    /// only this one
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// An interface with MPLS enabled.
#[derive(Message)]
pub struct MplsInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a label table.
#[derive(Message)]
pub struct MplsTableAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub mt_is_add: bool,
    /// table ID
    pub mt_table: MplsTable,
}

/// List label tables.
#[derive(Message)]
#[details(MplsTableDetails)]
pub struct MplsTableDump {}

/// A label table.
#[derive(Message)]
pub struct MplsTableDetails {
    /// table ID
    pub mt_table: MplsTable,
}

/// Add or delete a label entry.
#[derive(Message)]
#[reply(MplsRouteAddDelReply)]
pub struct MplsRouteAddDel {
    /// true to add, false to delete
    pub mr_is_add: bool,
    /// true to add or delete paths of an existing entry
    pub mr_is_multipath: bool,
    /// the multicast route
    pub mr_route: MplsRoute,
}

/// Reply: index of its counters.
#[derive(Message)]
pub struct MplsRouteAddDelReply {
    /// index of its counters in `/net/route`
    pub stats_index: u32,
}

/// List the labels of a table.
#[derive(Message)]
#[details(MplsRouteDetails)]
pub struct MplsRouteDump {
    /// table
    pub table: MplsTable,
}

/// A label.
#[derive(Message)]
pub struct MplsRouteDetails {
    /// the multicast route
    pub mr_route: MplsRoute,
}

/// Enable or disable MPLS on an interface.
#[derive(Message)]
pub struct SwInterfaceSetMplsEnable {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    #[preset(true)]
    pub enable: bool,
}

/// Kind of packets for a protocol number in a message.
fn link_of(proto: u8) -> Result<Link, Retval> {
    match FibPathNhProto(proto.into()) {
        FibPathNhProto::IP4 => Ok(Link::Ip4),
        FibPathNhProto::IP6 => Ok(Link::Ip6),
        FibPathNhProto::MPLS => Ok(Link::Mpls),
        FibPathNhProto::ETHERNET => Ok(Link::Ethernet),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn number_of(link: Link) -> u8 {
    match link {
        Link::Ip4 => 0,
        Link::Ip6 => 1,
        Link::Mpls => 2,
        Link::Ethernet => 3,
    }
}

fn paths_of(router: &Router, paths: &[FibPath], of: RouteOf) -> Result<Vec<Path>, Retval> {
    paths.iter().map(|p| p.native_of(router, of)).collect()
}

impl MplsRoute {
    fn of(router: &Router, id: u32, (label, is_last): Key, e: &Entry) -> Option<Self> {
        let route = e.routes.first()?;
        let link = table::route_of((label, is_last), route.of).link();
        let paths = route.paths.iter().take(MOST_PATHS);
        Some(Self {
            mr_table_id: id,
            mr_label: label,
            mr_eos: is_last.into(),
            mr_eos_proto: number_of(route.of),
            mr_is_multicast: route.is_multicast,
            mr_paths: paths.map(|p| FibPath::of_link(router, link, p)).collect(),
        })
    }
    fn change(&self, router: &mut Router, is_add: bool, is_multipath: bool) -> Result<u32, Retval> {
        let id = self.mr_table_id;
        let at = router.own::<Mpls>().tables.named(id).ok_or(Retval::NO_SUCH_FIB)?;
        if self.mr_label >= wire::mpls::LABELS {
            return Err(Retval::INVALID_VALUE);
        }
        let (key, of) = ((self.mr_label, self.mr_eos != 0), link_of(self.mr_eos_proto)?);
        let new = paths_of(router, &self.mr_paths, table::route_of(key, of))?;
        if is_add && new.is_empty() {
            return Err(Retval::NO_PATHS_IN_ROUTE);
        }
        let entry = router.own::<Mpls>().tables.at(at).and_then(|t| t.entries.get(&key));
        let (source, is_multicast) = (Source::API, self.mr_is_multicast);
        let had = entry.and_then(|e| e.routes.iter().find(|r| r.source == source));
        let had: Vec<Path> = had.map_or_else(Vec::new, |r| r.paths.clone());
        let balance = entry.map_or(0, |e| e.followed.load_balance());
        let others = || had.iter().filter(|p| new.iter().all(|n| n.target != p.target));
        let paths: Vec<Path> = match (is_add, is_multipath) {
            (true, true) => others().chain(&new).cloned().collect(),
            (true, false) => new,
            (false, true) if !new.is_empty() => others().cloned().collect(),
            (false, _) => Vec::new(),
        };
        if paths.is_empty() {
            // A missing one is deleted already.
            let _ = table::take(router, at, key, source);
            return Ok(balance);
        }
        let route = Route { source, of, paths, is_multicast, bound: None };
        Ok(table::set(router, at, key, route)?)
    }
}

impl MplsTunnel {
    fn of(router: &Router, interface: InterfaceIndex, t: &Tunnel) -> Self {
        let link = tunnel::route_of(t.is_l2).link();
        let paths = t.paths.iter().take(MOST_PATHS);
        Self {
            mt_sw_if_index: interface,
            mt_tunnel_index: t.instance,
            mt_l2_only: t.is_l2,
            mt_is_multicast: t.is_multicast,
            mt_tag: t.tag.as_str().into(),
            mt_paths: paths.map(|p| FibPath::of_link(router, link, p)).collect(),
        }
    }
    fn add(&self, router: &mut Router) -> Result<(InterfaceIndex, u32), Retval> {
        let at = self.mt_sw_if_index;
        let known = router.own::<Mpls>().tunnels.all.get(&at);
        let is_l2 = known.map_or(self.mt_l2_only, |t| t.is_l2);
        let instance = known.map(|t| t.instance);
        let paths = paths_of(router, &self.mt_paths, tunnel::route_of(is_l2))?;
        if paths.is_empty() {
            return Err(Retval::NO_PATHS_IN_ROUTE);
        }
        if at == NONE {
            let (tag, is_multicast) = (self.mt_tag.to_string(), self.mt_is_multicast);
            let new = NewTunnel { tag, paths, is_multicast, is_l2, instance: None };
            return Ok(tunnel::add(router, new)?);
        }
        let instance = instance.ok_or(Error::NoTunnel)?;
        tunnel::add_paths(router, at, paths)?;
        Ok((at, instance))
    }
    fn del(&self, router: &mut Router) -> Result<(InterfaceIndex, u32), Retval> {
        let at = self.mt_sw_if_index;
        let known = router.own::<Mpls>().tunnels.all.get(&at).ok_or(Error::NoTunnel)?;
        let (instance, is_l2, mut left) = (known.instance, known.is_l2, known.paths.clone());
        let gone = paths_of(router, &self.mt_paths, tunnel::route_of(is_l2))?;
        left.retain(|p| !gone.is_empty() && gone.iter().all(|g| g.target != p.target));
        if left.is_empty() {
            tunnel::remove(router, at)?;
        } else {
            tunnel::set_paths(router, at, left)?;
        }
        Ok((at, instance))
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("mpls", "1.1.1")
        .call(|router: &mut Router, m: MplsIpBindUnbind| {
            let label = (m.mb_mpls_table_id, m.mb_label);
            if m.mb_label >= wire::mpls::LABELS {
                return Err(Retval::INVALID_VALUE);
            }
            match m.mb_is_bind {
                true => bind::bind(router, label, (m.mb_ip_table_id, m.mb_prefix.native()?))?,
                false => bind::unbind(router, label)?,
            }
            Ok(())
        })
        .call(|router, m: MplsTunnelAddDel| {
            let done = if m.mt_is_add { m.mt_tunnel.add(router) } else { m.mt_tunnel.del(router) };
            let (sw_if_index, tunnel_index) = done?;
            Ok(MplsTunnelAddDelReply { sw_if_index, tunnel_index })
        })
        .dump(|router, m: MplsTunnelDump| {
            let all = router.own::<Mpls>().tunnels.all.iter();
            let meant = all.filter(|(i, _)| m.sw_if_index == NONE || m.sw_if_index == **i);
            let details = meant.map(|(i, t)| MplsTunnel::of(router, *i, t));
            details.map(|mt_tunnel| MplsTunnelDetails { mt_tunnel }).collect()
        })
        .dump(|router, m: MplsInterfaceDump| {
            let all = router.settings::<Enabled>().filter(|(_, e)| e.0.is_some());
            let meant = all.filter(|(i, _)| m.sw_if_index == NONE || m.sw_if_index == *i);
            meant.map(|(sw_if_index, _)| MplsInterfaceDetails { sw_if_index }).collect()
        })
        .call(|router, m: MplsTableAddDel| {
            let (id, name) = (m.mt_table.mt_table_id, m.mt_table.mt_name.to_string());
            if m.mt_is_add {
                return Ok(table::add(router, id, &name)?);
            }
            // A missing one counts as deleted.
            match table::remove(router, id) {
                Err(net::fib::Error::NoTable) => Ok(()),
                done => Ok(done?),
            }
        })
        .dump(|router, _: MplsTableDump| {
            let all = router.own::<Mpls>().tables.iter();
            let details =
                all.map(|(_, t)| MplsTable { mt_table_id: t.id, mt_name: t.name.as_str().into() });
            details.map(|mt_table| MplsTableDetails { mt_table }).collect()
        })
        .call(|router, m: MplsRouteAddDel| {
            let stats_index = m.mr_route.change(router, m.mr_is_add, m.mr_is_multipath)?;
            Ok(MplsRouteAddDelReply { stats_index })
        })
        .dump_each(|_, m: MplsRouteDump| {
            let (id, mut last) = (m.table.mt_table_id, None::<Key>);
            move |router: &mut Router| {
                let all = &router.own::<Mpls>().tables;
                let t = all.at(all.named(id)?)?;
                let from = last.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                let mut rest = t.entries.range((from, std::ops::Bound::Unbounded));
                let (key, mr_route) =
                    rest.find_map(|(key, e)| Some((*key, MplsRoute::of(router, id, *key, e)?)))?;
                last = Some(key);
                Some(MplsRouteDetails { mr_route })
            }
        })
        .call(|router, m: SwInterfaceSetMplsEnable| {
            Ok(super::enable(router, m.sw_if_index, m.enable)?)
        });
}
