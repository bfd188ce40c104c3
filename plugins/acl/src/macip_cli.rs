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
    /// Interfaces with it.
    sw_if_indices: Vec<u32>,
}

fn write_shown(rows: &[List], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for List { index, tag, rules, sw_if_indices } in rows {
        let count = rules.len();
        write!(f, "MACIP acl_index: {index}, count: {count} (true len {count}) ")?;
        writeln!(f, "tag {{{tag}}} is free pool slot: 0")?;
        // Rules are in no classifier tables.
        for out in ["", "out_"] {
            let [ip4, ip6, l2] = ["ip4", "ip6", "l2"].map(|k| format!("{out}{k}_table_index -1"));
            writeln!(f, "  {ip4}, {ip6}, {l2}")?;
        }
        for (number, rule) in rules.iter().enumerate() {
            writeln!(f, "    rule {number}: {rule}")?;
        }
        if !sw_if_indices.is_empty() {
            let on: Vec<_> = sw_if_indices.iter().map(u32::to_string).collect();
            writeln!(f, "  applied on sw_if_index(s): {}", on.join(", "))?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Interface {
    sw_if_index: u32,
    acl: Option<u32>,
}

fn write_interfaces(rows: &[Interface], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Interface { sw_if_index, acl }| {
        let acl = acl.map_or(-1, i64::from);
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
            rules: list.rules.iter().map(words::whole_mac).collect(),
            sw_if_indices: router
                .settings::<MacIp>()
                .filter(|(_, on)| on.0 == Some(index))
                .map(|(interface, _)| interface.0)
                .collect(),
        };
        Ok(Output::rows(meant.map(list), write_shown))
    });
    cli.command(|router: &mut Router, _: ShowInterfaces| {
        // Those behind the last one with a list are left out.
        let last = router.settings::<MacIp>().filter(|(_, on)| on.0.is_some()).map(|(i, _)| i.0);
        let last = last.max();
        let all = router.interfaces.iter().map(|i| i.index).filter(|i| Some(i.0) <= last);
        let rows = all.map(|i| (i, router.setting::<MacIp>(i).0));
        let rows = rows.map(|(i, acl)| Interface { sw_if_index: i.0, acl });
        Ok(Output::rows(rows, write_interfaces))
    });
}
