//! Messages of the module `classify` about sessions.

use control::api::{Api, Message, Retval};
use net::Router;

use super::tables::{Classifier, NewSession, SessionAction};

control::numbers! {
    /// Actions on a packet that has a session.
    pub enum ClassifyAction: u8 = "classify_action" in "" {
        NONE = 0 => "CLASSIFY_API_ACTION_NONE",
        SET_IP4_FIB_INDEX = 1 => "CLASSIFY_API_ACTION_SET_IP4_FIB_INDEX",
        SET_IP6_FIB_INDEX = 2 => "CLASSIFY_API_ACTION_SET_IP6_FIB_INDEX",
        SET_METADATA = 3 => "CLASSIFY_API_ACTION_SET_METADATA",
        MARK_FLOW = 4 => "CLASSIFY_API_ACTION_MARK_FLOW" later,
    }
}

/// Add a session to a table, or take it out.
#[derive(Message)]
pub struct ClassifyAddDelSession {
    /// added, else taken out
    pub is_add: bool,
    /// the table
    pub table_index: u32,
    #[preset(4294967295)]
    /// what becomes of a packet: 0 for drop, 4294967295 for going on
    pub hit_next_index: u32,
    #[preset(4294967295)]
    /// a number for whom the table is for
    pub opaque_index: u32,
    #[preset(0)]
    /// bytes that the packet moves on, or back
    pub advance: i32,
    #[preset(0)]
    /// what is done with it
    pub action: ClassifyAction,
    #[preset(0)]
    /// the routing table or the number that the action needs
    pub metadata: u32,
    #[counted(match_len: u32)]
    #[name("match")]
    /// bytes of a packet from where the table looks: those left out, then those that are compared
    pub matched: Vec<u8>,
}

/// List the sessions of a table.
#[derive(Message)]
#[details(ClassifySessionDetails)]
pub struct ClassifySessionDump {
    /// the table
    pub table_id: u32,
}

/// A session.
#[derive(Message)]
pub struct ClassifySessionDetails {
    /// always 0
    pub retval: i32,
    /// the table
    pub table_id: u32,
    /// what becomes of a packet
    pub hit_next_index: u32,
    /// bytes that the packet moves on, or back
    pub advance: i32,
    /// a number for whom the table is for
    pub opaque_index: u32,
    #[counted(match_length: u32)]
    #[name("match")]
    /// the bytes that are compared
    pub matched: Vec<u8>,
}

fn add_del(router: &mut Router, m: ClassifyAddDelSession) -> Result<(), Retval> {
    if !m.is_add {
        return Ok(super::remove_session(router, m.table_index, &m.matched)?);
    }
    let action = match m.action {
        ClassifyAction::NONE => SessionAction::None,
        ClassifyAction::SET_IP4_FIB_INDEX => SessionAction::Table4(m.metadata),
        ClassifyAction::SET_IP6_FIB_INDEX => SessionAction::Table6(m.metadata),
        ClassifyAction::SET_METADATA => SessionAction::Metadata(m.metadata),
        ClassifyAction::MARK_FLOW => SessionAction::Mark(m.metadata),
        _ => return Err(Retval::INVALID_VALUE),
    };
    let new = NewSession {
        matched: m.matched,
        hit_next: m.hit_next_index,
        opaque: m.opaque_index,
        advance: m.advance,
        action,
    };
    Ok(super::add_session(router, m.table_index, &new)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    super::api::module(api)
        .call(|router: &mut Router, m: ClassifyAddDelSession| add_del(router, m))
        .dump_each(|_, m: ClassifySessionDump| {
            let mut next = 0;
            move |router: &mut Router| {
                let info = router.own::<Classifier>().table(m.table_id)?;
                let (number, session) = info.sessions.from(next)?;
                next = number + 1;
                Some(ClassifySessionDetails {
                    retval: 0,
                    table_id: m.table_id,
                    hit_next_index: session.hit_next,
                    advance: session.advance,
                    opaque_index: session.opaque,
                    matched: session.key.bytes(&info.table.mask),
                })
            }
        });
}
