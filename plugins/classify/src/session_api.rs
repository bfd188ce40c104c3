//! Messages of the module `classify` about sessions.

use net::prelude::*;

use super::tables::{Classifier, NewSession, SessionAction};

control::numbers! {
    /// Session actions.
    pub enum ClassifyAction: u8 = "classify_action" in "" {
        NONE = 0 => "CLASSIFY_API_ACTION_NONE",
        SET_IP4_FIB_INDEX = 1 => "CLASSIFY_API_ACTION_SET_IP4_FIB_INDEX",
        SET_IP6_FIB_INDEX = 2 => "CLASSIFY_API_ACTION_SET_IP6_FIB_INDEX",
        SET_METADATA = 3 => "CLASSIFY_API_ACTION_SET_METADATA",
        MARK_FLOW = 4 => "CLASSIFY_API_ACTION_MARK_FLOW" later,
    }
}

/// Add or delete a session of a table.
#[derive(Message)]
pub struct ClassifyAddDelSession {
    /// true to add, false to delete
    pub is_add: bool,
    /// table ID
    pub table_index: u32,
    #[preset(4294967295)]
    /// next node on a match: 0 to drop, 4294967295 to continue
    pub hit_next_index: u32,
    #[preset(4294967295)]
    /// opaque value for the user of the table
    pub opaque_index: u32,
    #[preset(0)]
    /// bytes to advance the packet, may be negative
    pub advance: i32,
    #[preset(0)]
    /// action
    pub action: ClassifyAction,
    #[preset(0)]
    /// FIB table or other argument of the action
    pub metadata: u32,
    #[counted(match_len: u32)]
    #[name("match")]
    /// match data: skipped bytes, then the bytes to match
    pub matched: Vec<u8>,
}

/// List the sessions of a table.
#[derive(Message)]
#[details(ClassifySessionDetails)]
pub struct ClassifySessionDump {
    /// table ID
    pub table_id: u32,
}

/// A session.
#[derive(Message)]
pub struct ClassifySessionDetails {
    /// always 0
    pub retval: i32,
    /// table ID
    pub table_id: u32,
    /// next node on a match
    pub hit_next_index: u32,
    /// bytes to advance the packet, may be negative
    pub advance: i32,
    /// opaque value for the user of the table
    pub opaque_index: u32,
    #[counted(match_length: u32)]
    #[name("match")]
    /// match data
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
