//! Messages of the module `classify` about tables and where they are used.

use net::prelude::*;

use super::tables::{Classifier, Info, NewTable};
use super::uses::{self, Kind, Tables, Use};
use super::{From, NONE};

/// The current data flag: bytes begin at the header that a packet is at.
const CURRENT: u8 = 1;

control::numbers! {
    /// Kinds of packets.
    pub enum PolicerClassifyTable: u8 = "policer_classify_table" in "" {
        IP4 = 0 => "POLICER_CLASSIFY_API_TABLE_IP4",
        IP6 = 1 => "POLICER_CLASSIFY_API_TABLE_IP6",
        L2 = 2 => "POLICER_CLASSIFY_API_TABLE_L2",
    }
    /// Types of flows.
    pub enum FlowClassifyTable: u8 = "flow_classify_table" in "" {
        IP4 = 0 => "FLOW_CLASSIFY_API_TABLE_IP4",
        IP6 = 1 => "FLOW_CLASSIFY_API_TABLE_IP6",
    }
}

/// Add, change or delete a classifier table.
#[derive(Message)]
#[reply(ClassifyAddDelTableReply)]
pub struct ClassifyAddDelTable {
    /// true to add or change, false to delete
    pub is_add: bool,
    /// delete the tables chained to it as well
    pub del_chain: bool,
    #[preset(4294967295)]
    /// table; 4294967295 for a new one
    pub table_index: u32,
    #[preset(2)]
    /// hash buckets; not a limit
    pub nbuckets: u32,
    #[preset(2097152)]
    /// memory in bytes; limits the number of sessions
    pub memory_size: u32,
    #[preset(0)]
    /// 16-byte vectors to skip before the mask
    pub skip_n_vectors: u32,
    #[preset(1)]
    /// 16-byte vectors in the mask
    pub match_n_vectors: u32,
    #[preset(4294967295)]
    /// table to try on a miss; 4294967295 for none
    pub next_table_index: u32,
    #[preset(4294967295)]
    /// next node on a miss: 0 to drop, 4294967295 to continue
    pub miss_next_index: u32,
    #[preset(0)]
    /// 1 to match from the current header, 0 from the Ethernet header
    pub current_data_flag: u8,
    #[preset(0)]
    /// offset in bytes from there
    pub current_data_offset: i16,
    #[counted(mask_len: u32)]
    /// mask
    pub mask: Vec<u8>,
}

/// The table created or changed.
#[derive(Message)]
pub struct ClassifyAddDelTableReply {
    /// index
    pub new_table_index: u32,
    /// vectors to skip
    pub skip_n_vectors: u32,
    /// 16-byte vectors in the mask
    pub match_n_vectors: u32,
}

/// List the indexes of all tables.
#[derive(Message)]
#[reply(ClassifyTableIdsReply)]
pub struct ClassifyTableIds {}

/// Indexes of all tables.
#[derive(Message)]
pub struct ClassifyTableIdsReply {
    #[counted(count: u32)]
    /// table indexes
    pub ids: Vec<u32>,
}

/// Get the input tables of an interface.
#[derive(Message)]
#[reply(ClassifyTableByInterfaceReply)]
pub struct ClassifyTableByInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Input tables of an interface; 4294967295 for none.
#[derive(Message)]
pub struct ClassifyTableByInterfaceReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table for bridged frames
    pub l2_table_id: u32,
    /// IPv4
    pub ip4_table_id: u32,
    /// true for IPv6
    pub ip6_table_id: u32,
}

/// Get a table.
#[derive(Message)]
#[reply(ClassifyTableInfoReply)]
pub struct ClassifyTableInfo {
    /// index
    pub table_id: u32,
}

/// A table.
#[derive(Message)]
pub struct ClassifyTableInfoReply {
    /// index
    pub table_id: u32,
    /// buckets
    pub nbuckets: u32,
    /// 16-byte vectors in the mask
    pub match_n_vectors: u32,
    /// vectors to skip
    pub skip_n_vectors: u32,
    /// sessions
    pub active_sessions: u32,
    /// next table
    pub next_table_index: u32,
    /// next node on a miss
    pub miss_next_index: u32,
    #[counted(mask_length: u32)]
    /// mask
    pub mask: Vec<u8>,
}

/// Set or remove the input ACL tables of an interface.
#[derive(Message)]
pub struct InputAclSetInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table; 4294967295 to leave unchanged
    pub ip4_table_index: u32,
    /// true for IPv6
    pub ip6_table_index: u32,
    /// table for bridged frames
    pub l2_table_index: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// Set or remove the output ACL tables of an interface.
#[derive(Message)]
pub struct OutputAclSetInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table; 4294967295 to leave unchanged
    pub ip4_table_index: u32,
    /// true for IPv6
    pub ip6_table_index: u32,
    /// table for bridged frames
    pub l2_table_index: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// Set or remove the flow tables of an interface.
#[derive(Message)]
pub struct FlowClassifySetInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table; 4294967295 to leave unchanged
    pub ip4_table_index: u32,
    /// true for IPv6
    pub ip6_table_index: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List interfaces with flow tables.
#[derive(Message)]
#[details(FlowClassifyDetails)]
pub struct FlowClassifyDump {
    #[name("type")]
    /// type of flows
    pub kind: FlowClassifyTable,
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// Flow table of an interface.
#[derive(Message)]
pub struct FlowClassifyDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table ID
    pub table_index: u32,
}

/// Set or remove the policer tables of an interface.
#[derive(Message)]
pub struct PolicerClassifySetInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table; 4294967295 to leave unchanged
    pub ip4_table_index: u32,
    /// true for IPv6
    pub ip6_table_index: u32,
    /// table for bridged frames
    pub l2_table_index: u32,
    /// true to add, false to delete
    pub is_add: bool,
}

/// List interfaces with policer tables.
#[derive(Message)]
#[details(PolicerClassifyDetails)]
pub struct PolicerClassifyDump {
    #[name("type")]
    /// type of packets
    pub kind: PolicerClassifyTable,
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// Policer table of an interface.
#[derive(Message)]
pub struct PolicerClassifyDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table ID
    pub table_index: u32,
}

/// Set the table for packets to an interface's own addresses.
#[derive(Message)]
pub struct ClassifySetInterfaceIpTable {
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table; 4294967295 for none
    pub table_index: u32,
}

/// Set the classifier tables of a bridged interface.
#[derive(Message)]
pub struct ClassifySetInterfaceL2Tables {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table for IPv4 frames; 4294967295 for none
    pub ip4_table_index: u32,
    /// table for IPv6 frames
    pub ip6_table_index: u32,
    /// table for other frames
    pub other_table_index: u32,
    /// true for received frames, false for transmitted ones
    pub is_input: bool,
}

/// Set or remove the ACL tables of punted packets.
#[derive(Message)]
pub struct PuntAclAddDel {
    #[preset(4294967295)]
    /// IPv4 table; 4294967295 to leave unchanged
    pub ip4_table_index: u32,
    #[preset(4294967295)]
    /// true for IPv6
    pub ip6_table_index: u32,
    #[preset("true")]
    /// true to add, false to delete
    pub is_add: bool,
}

/// Get the ACL tables of punted packets.
#[derive(Message)]
#[reply(PuntAclGetReply)]
pub struct PuntAclGet {}

/// ACL tables of punted packets; 4294967295 for none.
#[derive(Message)]
pub struct PuntAclGetReply {
    /// IPv4
    pub ip4_table_index: u32,
    /// true for IPv6
    pub ip6_table_index: u32,
}

pub(super) fn module(api: &mut Api<Router>) -> control::api::Module<'_, Router> {
    api.core("classify", "3.1.0")
}

fn add_del(
    router: &mut Router,
    m: &ClassifyAddDelTable,
) -> Result<ClassifyAddDelTableReply, Retval> {
    let number = match (m.is_add, m.table_index) {
        (true, NONE) => {
            if m.mask.len() as u64 != u64::from(m.match_n_vectors) * 16 {
                return Err(Retval::INVALID_VALUE);
            }
            let is_current = m.current_data_flag == CURRENT;
            let from = if is_current { From::Current(m.current_data_offset) } else { From::Layer2 };
            let new = NewTable {
                index: None,
                mask: m.mask.clone(),
                skip: m.skip_n_vectors,
                buckets: m.nbuckets,
                memory: m.memory_size.into(),
                next: m.next_table_index,
                miss_next: m.miss_next_index,
                from,
            };
            super::add_table(router, &new)?
        }
        (true, number) => {
            super::set_next(router, number, m.next_table_index)?;
            number
        }
        (false, number) => {
            super::remove_table(router, number, m.del_chain)?;
            NONE
        }
    };
    let info = router.own::<Classifier>().table(number);
    let vectors = info.map(|i| (i.table.skip as u32, i.table.mask.vectors() as u32));
    let (skip_n_vectors, match_n_vectors) = vectors.unwrap_or((NONE, NONE));
    Ok(ClassifyAddDelTableReply { new_table_index: number, skip_n_vectors, match_n_vectors })
}

fn info(router: &Router, table_id: u32) -> Result<ClassifyTableInfoReply, Retval> {
    let found = router.own::<Classifier>().table(table_id);
    let Info { table, sessions, buckets, .. } = found.ok_or(Retval::CLASSIFY_TABLE_NOT_FOUND)?;
    Ok(ClassifyTableInfoReply {
        table_id,
        nbuckets: buckets,
        match_n_vectors: table.mask.vectors() as u32,
        skip_n_vectors: table.skip as u32,
        active_sessions: sessions.count() as u32,
        next_table_index: table.next,
        miss_next_index: table.miss_next,
        mask: table.mask.bytes(),
    })
}

fn policers(router: &Router, m: &PolicerClassifyDump) -> Vec<PolicerClassifyDetails> {
    let kind = match m.kind {
        PolicerClassifyTable::IP4 => Kind::Ip4,
        PolicerClassifyTable::IP6 => Kind::Ip6,
        PolicerClassifyTable::L2 => Kind::Layer2,
        _ => return Vec::new(),
    };
    let all = uses::of(router, Use::Police, kind);
    let meant = all.filter(|(i, _)| [*i, InterfaceIndex(NONE)].contains(&m.sw_if_index));
    meant
        .map(|(sw_if_index, table_index)| PolicerClassifyDetails { sw_if_index, table_index })
        .collect()
}

pub(super) fn register(api: &mut Api<Router>) {
    module(api)
        .call(|router: &mut Router, m: ClassifyAddDelTable| add_del(router, &m))
        .call(|router, _: ClassifyTableIds| {
            let ids = router.own::<Classifier>().numbers().collect();
            Ok(ClassifyTableIdsReply { ids })
        })
        .call(|router, m: ClassifyTableByInterface| {
            let sw_if_index = m.sw_if_index;
            router.interfaces.at(sw_if_index).ok_or(Retval::INVALID_SW_IF_INDEX)?;
            let Tables(all) = router.setting::<Tables>(sw_if_index);
            let [ip4_table_id, ip6_table_id, l2_table_id] = all[Use::Input as usize];
            Ok(ClassifyTableByInterfaceReply {
                sw_if_index,
                l2_table_id,
                ip4_table_id,
                ip6_table_id,
            })
        })
        .call(|router, m: ClassifyTableInfo| info(router, m.table_id))
        .call(|router, m: InputAclSetInterface| {
            let tables = [m.ip4_table_index, m.ip6_table_index, m.l2_table_index];
            Ok(uses::set(router, m.sw_if_index, Use::Input, tables, m.is_add)?)
        })
        .call(|router, m: OutputAclSetInterface| {
            let tables = [m.ip4_table_index, m.ip6_table_index, m.l2_table_index];
            Ok(uses::set(router, m.sw_if_index, Use::Output, tables, m.is_add)?)
        })
        .call(|router, m: FlowClassifySetInterface| {
            let tables = [m.ip4_table_index, m.ip6_table_index, NONE];
            Ok(uses::set(router, m.sw_if_index, Use::Flow, tables, m.is_add)?)
        })
        .dump(|router, m: FlowClassifyDump| {
            let kind = match m.kind {
                FlowClassifyTable::IP4 => Kind::Ip4,
                FlowClassifyTable::IP6 => Kind::Ip6,
                _ => return Vec::new(),
            };
            let all = uses::of(router, Use::Flow, kind);
            let meant = all.filter(|(i, _)| [*i, InterfaceIndex(NONE)].contains(&m.sw_if_index));
            let row = |(sw_if_index, table_index)| FlowClassifyDetails { sw_if_index, table_index };
            meant.map(row).collect()
        })
        .call(|router, m: PolicerClassifySetInterface| {
            let tables = [m.ip4_table_index, m.ip6_table_index, m.l2_table_index];
            Ok(uses::set(router, m.sw_if_index, Use::Police, tables, m.is_add)?)
        })
        .dump(|router, m: PolicerClassifyDump| policers(router, &m))
        .call(|router, m: ClassifySetInterfaceIpTable| {
            Ok(super::set_own(router, m.sw_if_index, m.is_ipv6, m.table_index)?)
        })
        .call(|router, m: ClassifySetInterfaceL2Tables| {
            let tables = [m.ip4_table_index, m.ip6_table_index, m.other_table_index];
            let of = if m.is_input { Use::InputFrames } else { Use::OutputFrames };
            Ok(uses::set_frames(router, m.sw_if_index, of, tables)?)
        })
        .call(|router, m: PuntAclAddDel| {
            let tables = [m.ip4_table_index, m.ip6_table_index];
            Ok(uses::set_punted(router, tables, m.is_add)?)
        })
        .call(|router, _: PuntAclGet| {
            let [ip4_table_index, ip6_table_index] = uses::punted(router);
            Ok(PuntAclGetReply { ip4_table_index, ip6_table_index })
        });
}
