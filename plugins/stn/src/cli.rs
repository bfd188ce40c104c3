//! `stn rule`, `show stn rules`.

use net::prelude::*;

use super::Rule;

/// Add or delete a rule that sends punted packets to an address out of an interface unchanged.
#[derive(Command, Print, Debug, PartialEq)]
#[command("stn rule")]
#[stage(Attachments)]
struct SetRule {
    /// destination address
    address: IpAddr,
    /// outgoing interface
    interface: InterfaceIndex,
    /// delete the rule
    del: bool,
}

/// Show punt rules.
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

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        writeln!(f, "- rule_index: {}", row.rule_index)?;
        writeln!(f, "  address: {}", row.address)?;
        writeln!(f, "  iface: {} ({})", row.iface, row.sw_if_index)?;
        writeln!(f, "  next_node: {}", row.next_node)
    })
}

/// The rules, in the order of their numbers.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (_, Rule { addr, interface }) in super::all(router) {
        lines.push(&SetRule { address: addr, interface, del: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetRule| {
        let SetRule { address: addr, interface, del } = c;
        let done = if del {
            super::remove(router, addr)
        } else {
            super::add(router, Rule { addr, interface })
        };
        Ok(done?)
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
        Ok(Output::rows(super::all(router).map(row), write_rows))
    });
}
