//! API messages for the source deny list.

use control::api::types::Prefix as PrefixField;
use control::api::{Api, Message, Record, Retval, Slice, Task, Text};
use net::Router;

use super::super::filters::{self, Denial, SdlRow, SdlRows};
use super::super::sdl::SdlRule;

/// Number of rules of a request that are checked or added per slice.
const SLICE: usize = 500;

/// A deny rule.
#[derive(Record)]
#[name("sdl_rule")]
pub struct SdlRuleV1 {
    /// peers
    pub lcl: PrefixField,
    /// 0 to refuse
    pub action_index: u32,
    /// tag
    pub tag: Text<64>,
}

/// A deny rule.
#[derive(Record)]
#[name("sdl_rule_v2")]
pub struct SdlRuleV2 {
    /// peers
    pub rmt: PrefixField,
    /// 0 to refuse
    pub action_index: u32,
    /// tag
    pub tag: Text<64>,
}

/// Add or delete deny rules.
#[derive(Message)]
#[option("deprecated")]
pub struct SessionSdlAddDel {
    /// namespace index
    pub appns_index: u32,
    /// true to add, false to delete
    pub is_add: bool,
    /// rules
    #[counted(count: u32)]
    pub r: Vec<SdlRuleV1>,
}

/// Add or delete deny rules.
#[derive(Message)]
pub struct SessionSdlAddDelV2 {
    /// namespace index
    pub appns_index: u32,
    /// true to add, false to delete
    pub is_add: bool,
    /// rules
    #[counted(count: u32)]
    pub r: Vec<SdlRuleV2>,
}

/// List deny rules.
#[derive(Message)]
#[details(SessionSdlDetails)]
#[option("deprecated")]
pub struct SessionSdlDump {}

/// A deny rule.
#[derive(Message)]
#[option("deprecated")]
pub struct SessionSdlDetails {
    /// peers
    pub lcl: PrefixField,
    /// 0 to refuse
    pub action_index: u32,
    /// index of the first namespace that uses the table
    pub appns_index: u32,
    /// tag
    pub tag: Text<64>,
}

/// List deny rules.
#[derive(Message)]
#[details(SessionSdlV2Details)]
#[option("deprecated")]
pub struct SessionSdlV2Dump {}

/// A deny rule.
#[derive(Message)]
#[option("deprecated")]
pub struct SessionSdlV2Details {
    /// peers
    pub rmt: PrefixField,
    /// 0 to refuse
    pub action_index: u32,
    /// index of the first namespace that uses the table
    pub appns_index: u32,
    /// tag
    pub tag: Text<64>,
}

/// List deny rules with all namespaces that use their tables.
#[derive(Message)]
#[details(SessionSdlV3Details)]
pub struct SessionSdlV3Dump {}

/// A deny rule.
#[derive(Message)]
pub struct SessionSdlV3Details {
    /// peers
    pub rmt: PrefixField,
    /// 0 to refuse
    pub action_index: u32,
    /// tag
    pub tag: Text<64>,
    /// indices of namespaces that use the table
    #[counted(count: u32)]
    pub appns_index: Vec<u32>,
}

/// Deny rules that are added in slices, after all of them have been checked.
struct Entering {
    namespace: u32,
    left: std::vec::IntoIter<Denial>,
}

impl Entering {
    fn of(
        router: &Router,
        namespace: u32,
        denials: Result<Vec<Denial>, Retval>,
    ) -> Result<Self, Retval> {
        let denials = denials?;
        filters::check_denials(router, namespace, &denials)?;
        Ok(Self { namespace, left: denials.into_iter() })
    }
}

impl Task<Router> for Entering {
    type Reply = ();

    fn step(&mut self, router: &mut Router) -> Slice<()> {
        for denial in self.left.by_ref().take(SLICE) {
            if let Err(why) = filters::change_denial(router, self.namespace, denial) {
                return Slice::Done(Err(why.into()));
            }
        }
        if self.left.len() == 0 { Slice::Done(Ok(())) } else { Slice::Again }
    }
}

fn denial(
    is_add: bool,
    peers: PrefixField,
    (action, tag): (u32, Text<64>),
) -> Result<Denial, Retval> {
    let peers = peers.native()?.network();
    let rule = SdlRule { action, tag: tag.to_string(), is_learned: false };
    Ok(Denial { peers, rule: is_add.then_some(rule) })
}

fn first(row: &SdlRow) -> u32 {
    row.namespaces.first().copied().unwrap_or(u32::MAX)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("session", super::VERSION)
        .task(|router: &mut Router, _, m: SessionSdlAddDel| {
            let denials = m.r.into_iter().map(|r| denial(m.is_add, r.lcl, (r.action_index, r.tag)));
            Entering::of(router, m.appns_index, denials.collect())
        })
        .task(|router: &mut Router, _, m: SessionSdlAddDelV2| {
            let denials = m.r.into_iter().map(|r| denial(m.is_add, r.rmt, (r.action_index, r.tag)));
            Entering::of(router, m.appns_index, denials.collect())
        })
        .dump_each(|_: &mut Router, _: SessionSdlDump| {
            let mut rows = SdlRows::default();
            move |router: &mut Router| {
                rows.next(router).map(|row| SessionSdlDetails {
                    lcl: row.peers.into(),
                    action_index: row.rule.action,
                    appns_index: first(&row),
                    tag: row.rule.tag.into(),
                })
            }
        })
        .dump_each(|_: &mut Router, _: SessionSdlV2Dump| {
            let mut rows = SdlRows::default();
            move |router: &mut Router| {
                rows.next(router).map(|row| SessionSdlV2Details {
                    rmt: row.peers.into(),
                    action_index: row.rule.action,
                    appns_index: first(&row),
                    tag: row.rule.tag.into(),
                })
            }
        })
        .dump_each(|_: &mut Router, _: SessionSdlV3Dump| {
            let mut rows = SdlRows::default();
            move |router: &mut Router| {
                rows.next(router).map(|row| SessionSdlV3Details {
                    rmt: row.peers.into(),
                    action_index: row.rule.action,
                    tag: row.rule.tag.into(),
                    appns_index: row.namespaces,
                })
            }
        });
}
