//! `stn rule`, `show stn rules`.

use std::fmt;
use std::net::IpAddr;

use control::cli::{Cli, Command, Error, Output, Word};
use serde::Serialize;

use super::Rule;
use crate::router::Router;

/// Hand packets for an address that nobody here listens for to an interface.
#[derive(Command)]
#[command("stn rule")]
struct SetRule {
    /// whom they are for
    address: IpAddr,
    /// where they leave as they came
    #[values("interface")]
    interface: Word,
    /// no longer
    del: bool,
}

/// Show which packets are handed to which interface.
#[derive(Command)]
#[command("show stn rules")]
struct ShowRules;

#[derive(Serialize)]
struct Row {
    rule_index: u32,
    address: IpAddr,
    iface: String,
    sw_if_index: u32,
    next_node: String,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Rows(Vec<Row>);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|row| {
            writeln!(f, "- rule_index: {}", row.rule_index)?;
            writeln!(f, "  address: {}", row.address)?;
            writeln!(f, "  iface: {} ({})", row.iface, row.sw_if_index)?;
            writeln!(f, "  next_node: {}", row.next_node)
        })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetRule| {
        let found = router.interfaces.named(&c.interface).map(|i| i.index);
        let interface = found.ok_or_else(|| c.interface.unknown("interface"))?;
        let rule = Rule { addr: c.address, interface };
        let done =
            if c.del { router.remove_stn_rule(rule.addr) } else { router.add_stn_rule(rule) };
        done.map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router: &mut Router, _: ShowRules| {
        let row = |(rule_index, Rule { addr, interface }): (u32, Rule)| {
            let output = router.interfaces.at(interface).map(|i| router.engine.name_of(i.output));
            Row {
                rule_index,
                address: addr,
                iface: router.interfaces.name(interface.0).to_owned(),
                sw_if_index: interface.0,
                next_node: output.unwrap_or_default().to_owned(),
            }
        };
        Ok(Output::of(Rows(router.stn_rules().map(row).collect())))
    });
}
