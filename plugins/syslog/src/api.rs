//! Messages of the module `syslog`.

use net::prelude::*;

use super::{Sender, Severity};

control::numbers! {
    /// Syslog severities.
    pub enum SyslogSeverity: u32 = "syslog_severity" in "" {
        EMERG = 0 => "SYSLOG_API_SEVERITY_EMERG",
        ALERT = 1 => "SYSLOG_API_SEVERITY_ALERT",
        CRIT = 2 => "SYSLOG_API_SEVERITY_CRIT",
        ERR = 3 => "SYSLOG_API_SEVERITY_ERR",
        WARN = 4 => "SYSLOG_API_SEVERITY_WARN",
        NOTICE = 5 => "SYSLOG_API_SEVERITY_NOTICE",
        INFO = 6 => "SYSLOG_API_SEVERITY_INFO",
        DBG = 7 => "SYSLOG_API_SEVERITY_DBG",
    }
}

/// Set the syslog destination.
#[derive(Message)]
pub struct SyslogSetSender {
    /// source address
    pub src_address: Ipv4Addr,
    /// collector address
    pub collector_address: Ipv4Addr,
    #[preset(514)]
    /// collector port
    pub collector_port: u16,
    /// table; 4294967295 for the default one
    pub vrf_id: u32,
    #[preset(480)]
    /// maximum message length in bytes
    pub max_msg_size: u32,
}

/// Get the syslog destination.
#[derive(Message)]
#[reply(SyslogGetSenderReply)]
pub struct SyslogGetSender {}

/// Reply; all zero without a destination.
#[derive(Message)]
pub struct SyslogGetSenderReply {
    /// source address
    pub src_address: Ipv4Addr,
    /// collector address
    pub collector_address: Ipv4Addr,
    /// collector port
    pub collector_port: u16,
    /// table; 4294967295 for the default one
    pub vrf_id: u32,
    /// maximum message length in bytes
    pub max_msg_size: u32,
}

/// Set the minimum severity of events sent.
#[derive(Message)]
pub struct SyslogSetFilter {
    /// severity
    pub severity: SyslogSeverity,
}

/// Get the minimum severity of events sent.
#[derive(Message)]
#[reply(SyslogGetFilterReply)]
pub struct SyslogGetFilter {}

/// Reply.
#[derive(Message)]
pub struct SyslogGetFilterReply {
    /// severity
    pub severity: SyslogSeverity,
}

fn set(router: &mut Router, m: &SyslogSetSender) -> Result<(), Retval> {
    let sender = Sender {
        collector: m.collector_address,
        port: m.collector_port,
        src: m.src_address,
        vrf: Some(m.vrf_id).filter(|id| *id != u32::MAX),
        longest: m.max_msg_size,
    };
    Ok(super::set_sender(router, sender)?)
}

fn told(router: &Router) -> SyslogGetSenderReply {
    let none = Ipv4Addr::UNSPECIFIED;
    let sender = super::sender(router);
    let reply = |s: Sender| SyslogGetSenderReply {
        src_address: s.src,
        collector_address: s.collector,
        collector_port: s.port,
        vrf_id: s.vrf.unwrap_or(u32::MAX),
        max_msg_size: s.longest,
    };
    let unset = SyslogGetSenderReply {
        src_address: none,
        collector_address: none,
        collector_port: 0,
        vrf_id: u32::MAX,
        max_msg_size: 0,
    };
    sender.map_or(unset, reply)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("syslog", "1.0.0")
        .call(|router: &mut Router, m: SyslogSetSender| set(router, &m))
        .call(|router: &mut Router, _: SyslogGetSender| Ok(told(router)))
        .call(|router: &mut Router, m: SyslogSetFilter| {
            super::set_filter(router, Severity::try_from(m.severity)?);
            Ok(())
        })
        .call(|router: &mut Router, _: SyslogGetFilter| {
            Ok(SyslogGetFilterReply { severity: super::filter(router).into() })
        });
}
