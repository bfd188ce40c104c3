//! API messages for session rules.

use control::api::types::Prefix as PrefixField;
use control::api::{Api, Message, Retval, Text};
use net::Router;

use super::super::filters::{self, RuleRow, RuleRows, Scope};
use super::super::namespaces;
use super::super::published::Transport;
use super::super::rules::{Match, Rule};
use super::super::{Error, Place, check_enabled};

control::numbers! {
    /// Transport protocols.
    pub enum TransportProto: u8 = "transport_proto" in "" {
        TCP = 0 => "TRANSPORT_PROTO_API_TCP",
        UDP = 1 => "TRANSPORT_PROTO_API_UDP",
        NONE = 2 => "TRANSPORT_PROTO_API_NONE",
        TLS = 3 => "TRANSPORT_PROTO_API_TLS",
        QUIC = 4 => "TRANSPORT_PROTO_API_QUIC",
    }
    /// Tables that contain a rule.
    pub enum SessionRuleScope: u32 = "session_rule_scope" in "" {
        GLOBAL = 0 => "SESSION_RULE_SCOPE_API_GLOBAL",
        LOCAL = 1 => "SESSION_RULE_SCOPE_API_LOCAL",
        BOTH = 2 => "SESSION_RULE_SCOPE_API_BOTH",
    }
}

/// Add or delete a session rule.
#[derive(Message)]
pub struct SessionRuleAddDel {
    /// transport
    pub transport_proto: TransportProto,
    /// local prefix
    pub lcl: PrefixField,
    /// remote prefix
    pub rmt: PrefixField,
    /// local port; 0 for any
    pub lcl_port: u16,
    /// remote port; 0 for any
    pub rmt_port: u16,
    /// application index; 4294967294 to refuse, 4294967293 to allow
    pub action_index: u32,
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// namespace index
    pub appns_index: u32,
    /// tables that contain the rule
    pub scope: SessionRuleScope,
    /// tag
    pub tag: Text<64>,
}

/// List session rules.
#[derive(Message)]
#[details(SessionRulesDetails)]
#[option("deprecated")]
pub struct SessionRulesDump {}

/// A session rule.
#[derive(Message)]
#[option("deprecated")]
pub struct SessionRulesDetails {
    /// transport
    pub transport_proto: TransportProto,
    /// local prefix
    pub lcl: PrefixField,
    /// remote prefix
    pub rmt: PrefixField,
    /// local port; 0 for any
    pub lcl_port: u16,
    /// remote port; 0 for any
    pub rmt_port: u16,
    /// application index; 4294967294 to refuse, 4294967293 to allow, 4294967295 for no action
    pub action_index: u32,
    /// index of the first namespace that uses the table
    pub appns_index: u32,
    /// table
    pub scope: SessionRuleScope,
    /// tag
    pub tag: Text<64>,
}

/// List session rules with all namespaces that use their tables.
#[derive(Message)]
#[details(SessionRulesV2Details)]
pub struct SessionRulesV2Dump {}

/// A session rule.
#[derive(Message)]
pub struct SessionRulesV2Details {
    /// transport
    pub transport_proto: TransportProto,
    /// local prefix
    pub lcl: PrefixField,
    /// remote prefix
    pub rmt: PrefixField,
    /// local port; 0 for any
    pub lcl_port: u16,
    /// remote port; 0 for any
    pub rmt_port: u16,
    /// application index; 4294967294 to refuse, 4294967293 to allow, 4294967295 for no action
    pub action_index: u32,
    /// table
    pub scope: SessionRuleScope,
    /// tag
    pub tag: Text<64>,
    /// indices of namespaces that use the table
    #[counted(count: u32)]
    pub appns_index: Vec<u32>,
}

fn proto(transport: Transport) -> TransportProto {
    match transport {
        Transport::Tcp => TransportProto::TCP,
        Transport::Udp => TransportProto::UDP,
    }
}

fn scope_of(place: Place) -> SessionRuleScope {
    match place {
        Place::Global(..) => SessionRuleScope::GLOBAL,
        Place::Local(_) => SessionRuleScope::LOCAL,
    }
}

fn change(router: &mut Router, m: &SessionRuleAddDel) -> Result<(), Retval> {
    check_enabled(router)?;
    namespaces::at(router, m.appns_index)?;
    let transport = match m.transport_proto {
        TransportProto::TCP => Transport::Tcp,
        TransportProto::UDP => Transport::Udp,
        _ => return Err(Error::BadTransport.into()),
    };
    let scope = match m.scope {
        SessionRuleScope::GLOBAL => Scope::Global,
        SessionRuleScope::LOCAL => Scope::Local,
        SessionRuleScope::BOTH => Scope::All,
        _ => return Err(Retval::INVALID_VALUE),
    };
    let prefixes = [m.lcl.native()?, m.rmt.native()?];
    let found = Match::new(transport, prefixes, [m.lcl_port, m.rmt_port])?;
    if !m.is_add {
        return Ok(filters::remove_rule(router, m.appns_index, scope, found)?);
    }
    let rule = Rule { action: m.action_index, tag: m.tag.to_string() };
    Ok(filters::add_rule(router, m.appns_index, scope, (found, rule))?)
}

fn details(row: RuleRow) -> SessionRulesDetails {
    let RuleRow { place, found, rule, namespaces } = row;
    SessionRulesDetails {
        transport_proto: proto(found.transport),
        lcl: found.local.into(),
        rmt: found.remote.into(),
        lcl_port: found.ports[0],
        rmt_port: found.ports[1],
        action_index: rule.action,
        appns_index: namespaces.first().copied().unwrap_or(u32::MAX),
        scope: scope_of(place),
        tag: rule.tag.into(),
    }
}

fn details_v2(row: RuleRow) -> SessionRulesV2Details {
    let RuleRow { place, found, rule, namespaces } = row;
    SessionRulesV2Details {
        transport_proto: proto(found.transport),
        lcl: found.local.into(),
        rmt: found.remote.into(),
        lcl_port: found.ports[0],
        rmt_port: found.ports[1],
        action_index: rule.action,
        scope: scope_of(place),
        tag: rule.tag.into(),
        appns_index: namespaces,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("session", super::VERSION)
        .call(|router: &mut Router, m: SessionRuleAddDel| change(router, &m))
        .dump_each(|router: &mut Router, _: SessionRulesDump| {
            let mut rows = RuleRows::of(router);
            move |router: &mut Router| rows.next(router).map(details)
        })
        .dump_each(|router: &mut Router, _: SessionRulesV2Dump| {
            let mut rows = RuleRows::of(router);
            move |router: &mut Router| rows.next(router).map(details_v2)
        });
}
