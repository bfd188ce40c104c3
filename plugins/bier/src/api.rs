//! Messages of the module `bier`.

use control::api::Record;
use net::fib::types::{FibPath, FibPathNhProto, FibPathType};
use net::fib::{Path, RouteOf};
use net::prelude::*;

use super::table::{self, BierPath, TableId};
use super::{Bier, Error, dispose, impose};

/// Labels are below this.
const LABELS: u32 = wire::mpls::LABELS;
/// Most paths in a message.
const MOST_PATHS: usize = 255;

/// Identifier of a table.
#[derive(Clone, Copy, Debug, Default, Record)]
#[file("")]
pub struct BierTableId {
    /// set of positions
    pub bt_set: u8,
    /// sub-domain
    pub bt_sub_domain: u8,
    /// code of the length of bit strings: 0 for 64 bits, 1 for 128, …
    pub bt_hdr_len_id: u8,
}

/// The paths of a position.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub struct BierRoute {
    /// bit position, from 1
    pub br_bp: u32,
    /// table ID
    pub br_tbl_id: BierTableId,
    /// paths
    #[counted(br_n_paths: u8)]
    pub br_paths: Vec<FibPath>,
}

/// Add or delete a table.
#[derive(Message)]
pub struct BierTableAddDel {
    /// table ID
    pub bt_tbl_id: BierTableId,
    /// MPLS label; 1048576 or more for none
    pub bt_label: u32,
    /// true to add, false to delete
    pub bt_is_add: bool,
}

/// List tables.
#[derive(Message)]
#[details(BierTableDetails)]
pub struct BierTableDump {}

/// A table.
#[derive(Message)]
pub struct BierTableDetails {
    /// MPLS label; 1048576 for none
    pub bt_label: u32,
    /// table ID
    pub bt_tbl_id: BierTableId,
}

/// Add or delete paths of a bit position.
#[derive(Message)]
pub struct BierRouteAddDel {
    /// true to add, false to delete; without paths deletes all
    pub br_is_add: bool,
    /// true to replace the existing paths
    pub br_is_replace: bool,
    /// bit position and paths
    pub br_route: BierRoute,
}

/// List the bit positions of a table.
#[derive(Message)]
#[details(BierRouteDetails)]
pub struct BierRouteDump {
    /// table ID
    pub br_tbl_id: BierTableId,
}

/// A bit position.
#[derive(Message)]
pub struct BierRouteDetails {
    /// bit position and paths
    pub br_route: BierRoute,
}

/// Add an imposition header for multicast routes.
#[derive(Message)]
#[reply(BierImpAddReply)]
pub struct BierImpAdd {
    /// table to look packets up in
    pub bi_tbl_id: BierTableId,
    /// BFR ID of this router
    pub bi_src: u16,
    /// bit string
    #[counted(bi_n_bytes: u8)]
    pub bi_bytes: Vec<u8>,
}

/// Header.
#[derive(Message)]
pub struct BierImpAddReply {
    /// index
    pub bi_index: u32,
}

/// Delete a header.
#[derive(Message)]
pub struct BierImpDel {
    /// index
    pub bi_index: u32,
}

/// List headers.
#[derive(Message)]
#[details(BierImpDetails)]
pub struct BierImpDump {}

/// A header.
#[derive(Message)]
pub struct BierImpDetails {
    /// table to look packets up in
    pub bi_tbl_id: BierTableId,
    /// BFR ID of this router
    pub bi_src: u16,
    /// bit string
    #[counted(bi_n_bytes: u8)]
    pub bi_bytes: Vec<u8>,
}

/// Add or delete a disposition table.
#[derive(Message)]
pub struct BierDispTableAddDel {
    /// index
    pub bdt_tbl_id: u32,
    /// true to add, false to delete
    pub bdt_is_add: bool,
}

/// List disposition tables.
#[derive(Message)]
#[details(BierDispTableDetails)]
pub struct BierDispTableDump {}

/// A disposition table.
#[derive(Message)]
pub struct BierDispTableDetails {
    /// index
    pub bdt_tbl_id: u32,
}

/// Add or delete the forwarding of a source's payload.
#[derive(Message)]
pub struct BierDispEntryAddDel {
    /// source; 0 for sources without an entry of their own
    pub bde_bp: u16,
    /// table ID
    pub bde_tbl_id: u32,
    /// true to add, false to delete
    pub bde_is_add: bool,
    /// payload type
    pub bde_payload_proto: u8,
    /// paths
    #[counted(bde_n_paths: u8)]
    pub bde_paths: Vec<FibPath>,
}

/// List the entries of a disposition table.
#[derive(Message)]
#[details(BierDispEntryDetails)]
pub struct BierDispEntryDump {
    /// table ID
    pub bde_tbl_id: u32,
}

/// An entry of a disposition table.
#[derive(Message)]
pub struct BierDispEntryDetails {
    /// source
    pub bde_bp: u16,
    /// table ID
    pub bde_tbl_id: u32,
    /// always
    pub bde_is_add: bool,
    /// payload type
    pub bde_payload_proto: u8,
    /// paths
    #[counted(bde_n_paths: u8)]
    pub bde_paths: Vec<FibPath>,
}

impl From<BierTableId> for TableId {
    fn from(id: BierTableId) -> Self {
        Self { set: id.bt_set, sub_domain: id.bt_sub_domain, length: id.bt_hdr_len_id }
    }
}

impl From<TableId> for BierTableId {
    fn from(id: TableId) -> Self {
        Self { bt_set: id.set, bt_sub_domain: id.sub_domain, bt_hdr_len_id: id.length }
    }
}

/// Forwarding of a position along a path.
fn affinity_of(router: &Router, path: &FibPath) -> Result<BierPath, Retval> {
    let is_own = path.proto == FibPathNhProto::BIER && path.kind == FibPathType::NORMAL;
    if is_own {
        return Ok(BierPath::Disposition(path.table_id));
    }
    Ok(BierPath::Out(path.native_of(router, RouteOf::Link(Link::Mpls))?))
}

fn path_of(router: &Router, path: &BierPath) -> FibPath {
    match path {
        BierPath::Out(path) => FibPath::of_link(router, Link::Mpls, path),
        BierPath::Disposition(table_id) => FibPath {
            sw_if_index: u32::MAX,
            table_id: *table_id,
            weight: 1,
            proto: FibPathNhProto::BIER,
            ..FibPath::default()
        },
    }
}

impl BierRouteAddDel {
    fn carry_out(&self, router: &mut Router) -> Result<(), Retval> {
        let (id, position) = (self.br_route.br_tbl_id.into(), self.br_route.br_bp);
        let new = self.br_route.br_paths.iter().map(|p| affinity_of(router, p));
        let new = new.collect::<Result<Vec<BierPath>, Retval>>()?;
        if self.br_is_add && new.is_empty() {
            return Err(Retval::NO_PATHS_IN_ROUTE);
        }
        let done = match self.br_is_add && self.br_is_replace {
            true => table::set_route(router, id, position, new),
            false => table::change_route(router, id, position, new, self.br_is_add),
        };
        Ok(done?)
    }
}

impl BierDispEntryAddDel {
    fn carry_out(&self, router: &mut Router) -> Result<(), Retval> {
        let link = dispose::link_of(self.bde_payload_proto).ok_or(Error::Payload)?;
        let proto = match link {
            Link::Ip4 => FibPathNhProto::IP4,
            Link::Ip6 => FibPathNhProto::IP6,
            Link::Mpls => FibPathNhProto::MPLS,
            Link::Ethernet => FibPathNhProto::ETHERNET,
        };
        let path = |p: &FibPath| {
            // Without a next hop, clients name no family, and the interface that has no neighbours.
            let is_lookup = p.kind == FibPathType::NORMAL && p.nh.address == Default::default();
            let mut p = *p;
            if is_lookup && (p.sw_if_index == 0 || p.proto == FibPathNhProto::BIER) {
                (p.proto, p.sw_if_index) = (proto, u32::MAX);
            }
            p.native_of(router, RouteOf::Label(link))
        };
        let new = self.bde_paths.iter().map(path).collect::<Result<Vec<Path>, Retval>>()?;
        if self.bde_is_add && new.is_empty() {
            return Err(Retval::NO_PATHS_IN_ROUTE);
        }
        let (id, source, payload) = (self.bde_tbl_id, self.bde_bp, self.bde_payload_proto);
        Ok(dispose::change(router, id, source, payload, &new, self.bde_is_add)?)
    }
}

fn entries(router: &Router, id: u32) -> Vec<BierDispEntryDetails> {
    let table = router.own::<Bier>().dispositions.all.get(&id);
    let entries = table.into_iter().flat_map(|t| &t.entries);
    let payloads =
        entries.flat_map(|(source, e)| e.payloads.iter().map(move |payload| (*source, payload)));
    let details = payloads.map(|(bde_bp, (payload, (paths, _)))| {
        let link = dispose::link_of(*payload).unwrap_or(Link::Ip4);
        let paths = paths.iter().take(MOST_PATHS);
        BierDispEntryDetails {
            bde_bp,
            bde_tbl_id: id,
            bde_is_add: true,
            bde_payload_proto: *payload,
            bde_paths: paths.map(|p| FibPath::of_link(router, link, p)).collect(),
        }
    });
    details.collect()
}

fn routes(router: &Router, id: TableId) -> Vec<BierRouteDetails> {
    let table = router.own::<Bier>().tables.all.get(&id);
    let routes = table.into_iter().flat_map(|t| &t.routes);
    let route = routes.map(|(br_bp, paths)| BierRoute {
        br_bp: *br_bp,
        br_tbl_id: id.into(),
        br_paths: paths.iter().take(MOST_PATHS).map(|(path, _)| path_of(router, path)).collect(),
    });
    route.map(|br_route| BierRouteDetails { br_route }).collect()
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("bier", "1.2.1")
        .call(|router: &mut Router, m: BierTableAddDel| {
            let id = m.bt_tbl_id.into();
            let label = Some(m.bt_label).filter(|label| *label < LABELS);
            Ok(if m.bt_is_add { table::add(router, id, label) } else { table::remove(router, id) }?)
        })
        .dump(|router, _: BierTableDump| {
            let all = router.own::<Bier>().tables.all.iter();
            let details = |(id, t): (&TableId, &table::Table)| {
                let bt_label = t.label.unwrap_or(LABELS);
                BierTableDetails { bt_label, bt_tbl_id: (*id).into() }
            };
            all.map(details).collect()
        })
        .call(|router, m: BierRouteAddDel| m.carry_out(router))
        .dump(|router, m: BierRouteDump| routes(router, m.br_tbl_id.into()))
        .call(|router, m: BierImpAdd| {
            let bi_index = impose::add(router, None, m.bi_tbl_id.into(), m.bi_src, &m.bi_bytes)?;
            Ok(BierImpAddReply { bi_index })
        })
        .call(|router, m: BierImpDel| Ok(impose::remove(router, m.bi_index)?))
        .dump(|router, _: BierImpDump| {
            let bier = router.own::<Bier>();
            let all = bier.imposed.iter().filter_map(|index| bier.impositions.at(*index));
            let details = all.map(|i| BierImpDetails {
                bi_tbl_id: i.table.into(),
                bi_src: i.source,
                bi_bytes: i.string.to_vec(),
            });
            details.collect()
        })
        .call(|router, m: BierDispTableAddDel| {
            let id = m.bdt_tbl_id;
            Ok(if m.bdt_is_add { dispose::add(router, id) } else { dispose::remove(router, id) }?)
        })
        .dump(|router, _: BierDispTableDump| {
            let all = router.own::<Bier>().dispositions.all.keys();
            all.map(|id| BierDispTableDetails { bdt_tbl_id: *id }).collect()
        })
        .call(|router, m: BierDispEntryAddDel| m.carry_out(router))
        .dump(|router, m: BierDispEntryDump| entries(router, m.bde_tbl_id));
}
