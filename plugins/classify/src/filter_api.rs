//! Messages of the module `classify` about filters of traces and captures.

use control::api::{Api, Fields, Message, Retval};
use net::{InterfaceIndex, Router};

use super::filter::{self, FilterOwner};
use super::tables::Classifier;
use super::{Error, NONE};

/// A table.
#[derive(Fields)]
pub struct TableReply {
    /// table; 4294967295 for none
    pub table_index: u32,
}

/// Tables.
#[derive(Fields)]
pub struct TablesReply {
    /// table indexes, in lookup order
    #[counted(count: u32)]
    pub indices: Vec<u32>,
}

/// Find the table with a given mask in a capture filter.
#[derive(Message)]
#[replies(TableReply)]
pub struct ClassifyPcapLookupTable {
    #[preset(4294967295)]
    /// interface of the filter; 4294967295 for the one of all interfaces
    pub sw_if_index: InterfaceIndex,
    #[preset(0)]
    /// 16-byte vectors to skip before the mask
    pub skip_n_vectors: u32,
    #[preset(1)]
    /// 16-byte vectors in the mask
    pub match_n_vectors: u32,
    #[counted(mask_len: u32)]
    /// mask
    pub mask: Vec<u8>,
}

/// Set the first table of a capture filter.
#[derive(Message)]
#[replies(TableReply)]
pub struct ClassifyPcapSetTable {
    /// interface of the filter; 4294967295 for the one of all interfaces
    pub sw_if_index: InterfaceIndex,
    #[preset(4294967295)]
    /// table; 4294967295 for no filter
    pub table_index: u32,
    #[preset(0)]
    /// sort the tables of the chain, the most specific first
    pub sort_masks: bool,
}

/// List the tables of a capture filter.
#[derive(Message)]
#[replies(TablesReply)]
pub struct ClassifyPcapGetTables {
    /// interface of the filter; 4294967295 for the one of all interfaces
    pub sw_if_index: InterfaceIndex,
}

/// Find the table with a given mask in the trace filter.
#[derive(Message)]
#[replies(TableReply)]
pub struct ClassifyTraceLookupTable {
    #[preset(0)]
    /// 16-byte vectors to skip before the mask
    pub skip_n_vectors: u32,
    #[preset(1)]
    /// 16-byte vectors in the mask
    pub match_n_vectors: u32,
    #[counted(mask_len: u32)]
    /// mask
    pub mask: Vec<u8>,
}

/// Set the first table of the trace filter.
#[derive(Message)]
#[replies(TableReply)]
pub struct ClassifyTraceSetTable {
    #[preset(4294967295)]
    /// table; 4294967295 for no filter
    pub table_index: u32,
    #[preset(0)]
    /// sort the tables of the chain, the most specific first
    pub sort_masks: bool,
}

/// List the tables of the trace filter.
#[derive(Message)]
#[replies(TablesReply)]
pub struct ClassifyTraceGetTables {}

/// The filter of captures on an interface, or on all.
fn of(router: &Router, interface: InterfaceIndex) -> Result<FilterOwner, Retval> {
    match interface {
        InterfaceIndex(NONE | 0) => Ok(FilterOwner::Captures),
        _ if router.interfaces.at(interface).is_none() => Err(Retval::INVALID_SW_IF_INDEX),
        _ => Ok(FilterOwner::Interface(interface)),
    }
}

fn lookup(
    router: &Router,
    of: FilterOwner,
    (skip, vectors): (u32, u32),
    mask: &[u8],
) -> Result<u32, Retval> {
    if mask.len() as u64 != u64::from(vectors) * 16 {
        return Err(Retval::INVALID_VALUE);
    }
    let first = router.own::<Classifier>().filters.first(of);
    Ok(filter::lookup(router, first, skip, mask).unwrap_or(NONE))
}

fn set(router: &mut Router, of: FilterOwner, table: u32, sorts: bool) -> Result<u32, Retval> {
    if table == NONE {
        filter::set_first(router, of, None)?;
        return Ok(NONE);
    }
    router.own::<Classifier>().table(table).ok_or(Error::NoTable)?;
    let first = if sorts { filter::sort(router, table) } else { table };
    filter::set_first(router, of, Some(first))?;
    Ok(first)
}

fn tables(router: &Router, of: FilterOwner) -> Vec<u32> {
    let all = router.own::<Classifier>();
    all.filters.first(of).map(|first| all.chain(first)).unwrap_or_default()
}

pub(super) fn register(api: &mut Api<Router>) {
    super::api::module(api)
        .call(|router: &mut Router, m: ClassifyPcapLookupTable| {
            let vectors = (m.skip_n_vectors, m.match_n_vectors);
            let table_index = lookup(router, of(router, m.sw_if_index)?, vectors, &m.mask)?;
            Ok(TableReply { table_index })
        })
        .call(|router, m: ClassifyPcapSetTable| {
            let of = of(router, m.sw_if_index)?;
            let table_index = set(router, of, m.table_index, m.sort_masks)?;
            Ok(TableReply { table_index })
        })
        .call(|router, m: ClassifyPcapGetTables| {
            let indices = tables(router, of(router, m.sw_if_index)?);
            Ok(TablesReply { indices })
        })
        .call(|router, m: ClassifyTraceLookupTable| {
            let vectors = (m.skip_n_vectors, m.match_n_vectors);
            let table_index = lookup(router, FilterOwner::Trace, vectors, &m.mask)?;
            Ok(TableReply { table_index })
        })
        .call(|router, m: ClassifyTraceSetTable| {
            let table_index = set(router, FilterOwner::Trace, m.table_index, m.sort_masks)?;
            Ok(TableReply { table_index })
        })
        .call(|router, _: ClassifyTraceGetTables| {
            Ok(TablesReply { indices: tables(router, FilterOwner::Trace) })
        });
}
