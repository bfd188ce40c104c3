//! Messages of the module `classify` about tables and where they are used.

use control::api::{Api, Message, Retval};
use net::{InterfaceIndex, Router};

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
    /// Kinds of flows.
    pub enum FlowClassifyTable: u8 = "flow_classify_table" in "" {
        IP4 = 0 => "FLOW_CLASSIFY_API_TABLE_IP4",
        IP6 = 1 => "FLOW_CLASSIFY_API_TABLE_IP6",
    }
}

/// Make a table, change which one follows it, or delete it.
#[derive(Message)]
#[reply(ClassifyAddDelTableReply)]
pub struct ClassifyAddDelTable {
    /// made or changed, else deleted
    pub is_add: bool,
    /// deleted with all that follow it
    pub del_chain: bool,
    #[preset(4294967295)]
    /// the table; 4294967295 for a new one
    pub table_index: u32,
    #[preset(2)]
    /// buckets of its hash; they bound nothing
    pub nbuckets: u32,
    #[preset(2097152)]
    /// bytes, which bound the number of sessions
    pub memory_size: u32,
    #[preset(0)]
    /// vectors of 16 bytes left out before the mask
    pub skip_n_vectors: u32,
    #[preset(1)]
    /// vectors of the mask
    pub match_n_vectors: u32,
    #[preset(4294967295)]
    /// the table that is asked for what is not found; 4294967295 for none
    pub next_table_index: u32,
    #[preset(4294967295)]
    /// what becomes of what is not found: 0 for drop, 4294967295 for going on
    pub miss_next_index: u32,
    #[preset(0)]
    /// 1: bytes begin at the header that a packet is at, else at layer 2
    pub current_data_flag: u8,
    #[preset(0)]
    /// bytes from there
    pub current_data_offset: i16,
    #[counted(mask_len: u32)]
    /// the bits that count
    pub mask: Vec<u8>,
}

/// The table that was made or changed.
#[derive(Message)]
pub struct ClassifyAddDelTableReply {
    /// its number
    pub new_table_index: u32,
    /// vectors left out
    pub skip_n_vectors: u32,
    /// vectors of the mask
    pub match_n_vectors: u32,
}

/// List the numbers of all tables.
#[derive(Message)]
#[reply(ClassifyTableIdsReply)]
pub struct ClassifyTableIds {}

/// The numbers of all tables.
#[derive(Message)]
pub struct ClassifyTableIdsReply {
    #[counted(count: u32)]
    /// the numbers
    pub ids: Vec<u32>,
}

/// Show the tables that decide what an interface receives.
#[derive(Message)]
#[reply(ClassifyTableByInterfaceReply)]
pub struct ClassifyTableByInterface {
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// The tables that decide what an interface receives; 4294967295 for none.
#[derive(Message)]
pub struct ClassifyTableByInterfaceReply {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// of bridged frames
    pub l2_table_id: u32,
    /// of IPv4
    pub ip4_table_id: u32,
    /// of IPv6
    pub ip6_table_id: u32,
}

/// Show a table.
#[derive(Message)]
#[reply(ClassifyTableInfoReply)]
pub struct ClassifyTableInfo {
    /// its number
    pub table_id: u32,
}

/// A table.
#[derive(Message)]
pub struct ClassifyTableInfoReply {
    /// its number
    pub table_id: u32,
    /// buckets
    pub nbuckets: u32,
    /// vectors of the mask
    pub match_n_vectors: u32,
    /// vectors left out before it
    pub skip_n_vectors: u32,
    /// sessions
    pub active_sessions: u32,
    /// the table that is asked next
    pub next_table_index: u32,
    /// what becomes of what is not found
    pub miss_next_index: u32,
    #[counted(mask_length: u32)]
    /// the bits that count
    pub mask: Vec<u8>,
}

/// Have tables decide what an interface receives, or no longer.
#[derive(Message)]
pub struct InputAclSetInterface {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// of IPv4; 4294967295 for as it is
    pub ip4_table_index: u32,
    /// of IPv6
    pub ip6_table_index: u32,
    /// of bridged frames
    pub l2_table_index: u32,
    /// or no longer
    pub is_add: bool,
}

/// Have tables decide what an interface sends, or no longer.
#[derive(Message)]
pub struct OutputAclSetInterface {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// of IPv4; 4294967295 for as it is
    pub ip4_table_index: u32,
    /// of IPv6
    pub ip6_table_index: u32,
    /// of bridged frames
    pub l2_table_index: u32,
    /// or no longer
    pub is_add: bool,
}

/// Have flows that an interface receives counted by tables, or no longer.
#[derive(Message)]
pub struct FlowClassifySetInterface {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// of IPv4; 4294967295 for as it is
    pub ip4_table_index: u32,
    /// of IPv6
    pub ip6_table_index: u32,
    /// or no longer
    pub is_add: bool,
}

/// List the interfaces whose flows are counted.
#[derive(Message)]
#[details(FlowClassifyDetails)]
pub struct FlowClassifyDump {
    #[name("type")]
    /// which flows
    pub kind: FlowClassifyTable,
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// The table that flows of an interface are counted by.
#[derive(Message)]
pub struct FlowClassifyDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the table
    pub table_index: u32,
}

/// Have tables choose a policer for what an interface receives, or no longer.
#[derive(Message)]
pub struct PolicerClassifySetInterface {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// of IPv4; 4294967295 for as it is
    pub ip4_table_index: u32,
    /// of IPv6
    pub ip6_table_index: u32,
    /// of bridged frames
    pub l2_table_index: u32,
    /// or no longer
    pub is_add: bool,
}

/// List the interfaces whose tables choose policers.
#[derive(Message)]
#[details(PolicerClassifyDetails)]
pub struct PolicerClassifyDump {
    #[name("type")]
    /// of which packets
    pub kind: PolicerClassifyTable,
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// The table that chooses policers for what an interface receives.
#[derive(Message)]
pub struct PolicerClassifyDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the table
    pub table_index: u32,
}

/// Have packets for an interface's own addresses looked up in a table.
#[derive(Message)]
pub struct ClassifySetInterfaceIpTable {
    /// of IPv6, else of IPv4
    pub is_ipv6: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the table; 4294967295 for none
    pub table_index: u32,
}

/// Have tables sort the frames of a bridged interface.
#[derive(Message)]
pub struct ClassifySetInterfaceL2Tables {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// for those that carry IPv4; 4294967295 for none
    pub ip4_table_index: u32,
    /// for those that carry IPv6
    pub ip6_table_index: u32,
    /// for others
    pub other_table_index: u32,
    /// received ones, else those that are sent
    pub is_input: bool,
}

/// Have tables decide what is punted, or no longer.
#[derive(Message)]
pub struct PuntAclAddDel {
    #[preset(4294967295)]
    /// of IPv4; 4294967295 for as it is
    pub ip4_table_index: u32,
    #[preset(4294967295)]
    /// of IPv6
    pub ip6_table_index: u32,
    #[preset("true")]
    /// or no longer
    pub is_add: bool,
}

/// Show the tables that decide what is punted.
#[derive(Message)]
#[reply(PuntAclGetReply)]
pub struct PuntAclGet {}

/// The tables that decide what is punted; 4294967295 for none.
#[derive(Message)]
pub struct PuntAclGetReply {
    /// of IPv4
    pub ip4_table_index: u32,
    /// of IPv6
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
