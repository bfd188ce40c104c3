//! Commands that set what an interface is called, its addresses, its link.

use std::fmt;

use control::cli::{Cli, Command, Output, Print, Word};
use serde::Serialize;
use wire::MacAddr;

use super::InterfaceIndex;
use super::cli::{chosen, find};
use crate::router::{Router, no_answer};

/// Set or clear the tag of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface tag")]
#[undo("=clear interface tag {1}")]
pub(super) struct SetTag {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// tag: the rest of the line
    #[rest]
    pub tag: String,
}

/// Clear the tag of an interface.
#[derive(Command)]
#[command("clear interface tag")]
struct ClearTag {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Show interface tags.
#[derive(Command)]
#[command("show interface tag")]
struct ShowTag {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
}

/// Add or delete a secondary MAC address of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface secondary-mac-address")]
pub(super) struct SetSecondary {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// the address
    #[positional]
    pub mac: MacAddr,
    /// add it; the default
    #[keyword("add")]
    pub _add: bool,
    /// delete
    pub del: bool,
}

/// Show secondary MAC addresses.
#[derive(Command)]
#[command("show interface secondary-mac-address")]
struct ShowSecondary {
    /// interface; default all
    #[positional]
    #[values("interface")]
    interface: Option<Word>,
}

/// Rename an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface name")]
#[undo("set interface name {2} {1}")]
#[stage(Interfaces)]
pub(super) struct SetName {
    /// interface
    #[positional]
    #[values("interface")]
    pub interface: Word,
    /// new name
    #[positional]
    pub name: String,
}

/// Change the instance number in an interface name.
#[derive(Command)]
#[command("renumber interface")]
struct Renumber {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// the number
    #[positional]
    number: u32,
}

/// Clear interface counters.
#[derive(Command)]
#[command("clear hardware-interfaces")]
struct ClearHardware {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secondary: Vec<String>,
    #[serde(skip)]
    is_up: bool,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for row in rows {
        match &row.tag {
            Some(tag) => writeln!(f, "{}: {tag}", row.interface)?,
            None => {
                let state = if row.is_up { "up" } else { "dn" };
                writeln!(f, "{} ({state}):", row.interface)?;
                row.secondary.iter().try_for_each(|mac| writeln!(f, "  {mac}"))?;
            }
        }
    }
    Ok(())
}

/// A name that ends in digits, without them.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

impl Router {
    /// Gives an interface another number in its name.
    ///
    /// # Errors
    /// As [`Router::rename_interface`].
    pub fn renumber_interface(
        &mut self,
        index: InterfaceIndex,
        number: u32,
    ) -> Result<(), super::Error> {
        let i = self.interfaces.at(index).ok_or(super::Error::Unknown)?;
        if i.is_sub() || stem(&i.name) == i.name {
            return Err(super::Error::Unfit);
        }
        let name = format!("{}{number}", stem(&i.name));
        if name == i.name { Ok(()) } else { self.rename_interface(index, &name) }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTag| Ok(router.set_tag(c.interface, &c.tag)?));
    cli.command(|router: &mut Router, c: ClearTag| Ok(router.set_tag(c.interface, "")?));
    cli.command(|router: &mut Router, c: ShowTag| {
        let tag = |tag: &str| if tag.is_empty() { "(none)".to_owned() } else { tag.to_owned() };
        let row = |i: &super::Interface| Row {
            interface: i.name.clone(),
            tag: Some(tag(&i.tag)),
            secondary: Vec::new(),
            is_up: i.admin_up,
        };
        Ok(Output::rows(chosen(router, &c.interfaces)?.into_iter().map(row), write_rows))
    });
    cli.command(|router: &mut Router, c: SetSecondary| {
        router.set_secondary_mac(c.interface, c.mac, !c.del)?;
        Ok(())
    });
    cli.command(|router: &mut Router, c: ShowSecondary| {
        let row = |i: &super::Interface| Row {
            interface: i.name.clone(),
            tag: None,
            secondary: i.port.secondary.iter().map(ToString::to_string).collect(),
            is_up: i.admin_up,
        };
        let chosen = chosen(router, c.interface.as_slice())?.into_iter();
        let rows = chosen.filter(|i| !i.port.secondary.is_empty()).map(row);
        Ok(Output::rows(rows, write_rows))
    });
    cli.command(|router: &mut Router, c: SetName| {
        let index = find(router, &c.interface)?;
        Ok(router.rename_interface(index, &c.name)?)
    });
    cli.command(|router: &mut Router, c: Renumber| {
        Ok(router.renumber_interface(c.interface, c.number)?)
    });
    cli.command(|router: &mut Router, c: ClearHardware| {
        let chosen: Vec<_> = chosen(router, &c.interfaces)?.iter().map(|i| i.index).collect();
        let mut clear = |i| router.clear_interface_counters(Some(i));
        chosen.into_iter().try_for_each(&mut clear).map_err(no_answer)
    });
}
