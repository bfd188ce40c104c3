//! Commands about MACIP lists.

use net::prelude::*;

use super::macip::{self, MacIp, MacRule};
use super::words::{self, Named};

/// `set acl-plugin macip acl RULE, RULE … [tag TEXT]`.
#[derive(Debug, PartialEq)]
pub(super) struct SetList(pub Named<MacRule>);

impl Command for SetList {
    const PATHS: &'static [&'static str] = &["set acl-plugin macip acl"];
    const ABOUT: &'static str = "Add or replace a MACIP list";
    const USAGE: &'static str = "[index <idx> [create]] [count <n>] <permit|deny|action N> \
        {ip|src} <PREFIX> \
        mac <MAC> mask <MAC> [tag FOO] {use comma separated list for multiple rules}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        words::list(args, words::mac_rule).map(Self)
    }
}

impl Print for SetList {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=delete acl-plugin macip acl index {index}";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0);
    }
}

/// Delete a MACIP list and remove it from interfaces.
#[derive(Command)]
#[command("delete acl-plugin macip acl")]
struct Delete {
    /// access list
    index: u32,
}

/// Apply a MACIP list to an interface, or remove it.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set acl-plugin macip interface")]
#[stage(Attachments)]
pub(super) struct Apply {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// apply it; the default
    #[keyword("add")]
    pub _add: bool,
    /// the list; any that is taken off if not given
    pub acl: Option<u32>,
    /// take it off
    pub del: bool,
}

/// Show MACIP lists.
#[derive(Command)]
#[command("show acl-plugin macip acl")]
struct ShowLists {
    /// only this one
    index: Option<u32>,
}

/// Show the interfaces with MACIP lists.
#[derive(Command)]
#[command("show acl-plugin macip interface")]
struct ShowInterfaces;

#[derive(Serialize)]
struct List {
    index: u32,
    tag: String,
    rules: Vec<String>,
}

fn write_shown(rows: &[List], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for List { index, tag, rules } in rows {
        writeln!(f, "MACIP acl_index: {index}, count: {} tag {{{tag}}}", rules.len())?;
        for (number, rule) in rules.iter().enumerate() {
            writeln!(f, "    rule {number}: {rule}")?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Interface {
    sw_if_index: u32,
    acl: u32,
}

fn write_interfaces(rows: &[Interface], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Interface { sw_if_index, acl }| {
        writeln!(f, "  sw_if_index {sw_if_index}: {acl}")
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, SetList(list): SetList| {
        let Named { index, create, rules, tag } = list;
        let index = macip::put(router, index, create, &tag, rules)?;
        Ok(Output::text(format!("ACL index:{index}")))
    });
    cli.command(|router: &mut Router, c: Delete| Ok(macip::delete(router, c.index)?));
    cli.command(|router: &mut Router, c: Apply| {
        match c.del {
            false => macip::apply(router, c.interface, c.acl.ok_or("missing acl")?)?,
            true => macip::take_off(router, c.interface)?,
        }
        Ok::<(), Error>(())
    });
    cli.command(|router: &mut Router, c: ShowLists| {
        let all = macip::all(router).iter();
        let meant = all.filter(|(index, _)| c.index.is_none_or(|only| only == *index));
        let list = |(index, list): (u32, &macip::MacList)| List {
            index,
            tag: list.tag.clone(),
            rules: list.rules.iter().map(ToString::to_string).collect(),
        };
        Ok(Output::rows(meant.map(list), write_shown))
    });
    cli.command(|router: &mut Router, _: ShowInterfaces| {
        let all = router.settings::<MacIp>();
        let row = |(i, list): (InterfaceIndex, &MacIp)| {
            Some(Interface { sw_if_index: i.0, acl: list.0? })
        };
        Ok(Output::rows(all.filter_map(row), write_interfaces))
    });
}
