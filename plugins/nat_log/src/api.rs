//! `nat ipfix logging` and its message.

use net::prelude::*;

use crate::Translator;

/// The domain, unless another one is named.
const DOMAIN: u32 = 1;

/// Enable or disable IPFIX logging of NAT.
#[derive(Message)]
#[option("deprecated")]
pub struct NatIpfixEnableDisable {
    /// observation domain ID; 0 for 1
    pub domain_id: u32,
    /// source port; 0 for 4739
    pub src_port: u16,
    /// true to enable, false to disable
    pub enable: bool,
}

/// `nat ipfix logging`: the domain and the source port, or disable it.
#[derive(Debug, PartialEq)]
struct SetLogging(Option<(u32, u16)>);

impl Command for SetLogging {
    const PATHS: &'static [&'static str] = &["nat ipfix logging"];
    const ABOUT: &'static str = "Enable or disable IPFIX logging of NAT";
    const USAGE: &'static str = "disable|enable [domain <number>] [src-port <port>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut domain, mut src_port, mut is_on) = (DOMAIN, ipfix::PORT, None);
        while !args.is_empty() {
            if args.keyword("disable") {
                is_on = Some(false);
            } else if args.keyword("enable") {
                is_on = Some(true);
            } else if args.keyword("domain") {
                domain = args.value("domain")?;
            } else if args.keyword("src-port") {
                src_port = args.value("src-port")?;
            } else {
                return Err(args.unknown());
            }
        }
        let is_on = is_on.ok_or_else(|| args.error("expected enable or disable"))?;
        Ok(Self(is_on.then_some((domain, src_port))))
    }
}

impl Print for SetLogging {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=nat ipfix logging disable";
    fn print(&self, line: &mut Line<'_>) {
        let Some((domain, src_port)) = self.0 else {
            line.word("disable");
            return;
        };
        line.word("enable");
        line.option("domain", Some(&domain).filter(|n| **n != DOMAIN));
        line.option("src-port", Some(&src_port).filter(|n| **n != ipfix::PORT));
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(to) = super::exported(router) {
        lines.push(&SetLogging(Some(to)));
    }
}

pub(super) fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetLogging| {
        Ok(super::export(router, Translator::Nat44Ed, set.0)?)
    });
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("nat44_ed", "5.5.0").call(|router: &mut Router, m: NatIpfixEnableDisable| {
        let domain = if m.domain_id == 0 { DOMAIN } else { m.domain_id };
        let src_port = if m.src_port == 0 { ipfix::PORT } else { m.src_port };
        Ok(super::export(router, Translator::Nat44Ed, m.enable.then_some((domain, src_port)))?)
    });
}
