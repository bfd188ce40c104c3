//! `l2 rewrite entry`, `set interface l2 rewrite`, `show l2 rewrite`.

use control::cli::{Hex, hex};
use net::prelude::*;

use super::{Entry, NONE, Rewritten};

/// Add, change or delete a rewrite entry.
#[derive(Command, Print, Debug, PartialEq)]
#[command("l2 rewrite entry")]
#[stage(Objects)]
struct SetEntry {
    /// entry index; default a new one
    index: Option<u32>,
    /// bits to rewrite
    mask: Option<Hex>,
    /// new value
    value: Option<Hex>,
    /// bytes to skip
    #[default]
    skip: usize,
    /// delete
    del: bool,
}

/// Enable or disable rewriting on a bridged interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface l2 rewrite")]
#[stage(Attachments)]
struct SetInterface {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// classifier table whose sessions select entries
    table: Option<u32>,
    /// entry for frames without a session
    miss_index: Option<u32>,
}

/// Show rewrite entries.
#[derive(Command)]
#[command("show l2 rewrite entries")]
struct ShowEntries {}

/// Show interfaces with rewriting.
#[derive(Command)]
#[command("show l2 rewrite interfaces")]
struct ShowInterfaces {}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (index, Entry { skip, mask, value }) in super::entries(router) {
        lines.push(&SetEntry {
            index: Some(index),
            mask: Some(Hex(mask.clone())),
            value: Some(Hex(value.clone())),
            skip: *skip,
            del: false,
        });
    }
    for (interface, set) in router.settings::<Rewritten>() {
        let some = |number| Some(number).filter(|number| *number != NONE);
        let (table, miss_index) = (some(set.table), some(set.miss));
        lines.push(&SetInterface { interface, table, miss_index });
    }
}

fn set_entry(router: &mut Router, c: SetEntry) -> Result<Output, Error> {
    if c.del {
        let index = c.index.ok_or("expected index")?;
        super::remove_entry(router, index)?;
        return Ok(Output::none());
    }
    let (Some(Hex(mask)), Some(Hex(value))) = (c.mask, c.value) else {
        return Err(Error::new("expected mask and value"));
    };
    let index = super::set_entry(router, c.index, Entry { skip: c.skip, mask, value })?;
    Ok(Output::text(format!("rwe-index {index}\n")))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(set_entry);
    cli.command(|router: &mut Router, c: SetInterface| {
        let (table, miss) = (c.table.unwrap_or(NONE), c.miss_index.unwrap_or(NONE));
        Ok(super::set(router, c.interface, Rewritten { table, miss })?)
    });
    cli.command(|router: &mut Router, _: ShowEntries| {
        let row = |(index, entry): (u32, &Entry)| EntryRow {
            index,
            skip: entry.skip,
            mask: hex(&entry.mask),
            value: hex(&entry.value),
        };
        Ok(Output::rows(super::entries(router).map(row), write_entries))
    });
    cli.command(|router: &mut Router, _: ShowInterfaces| {
        let row = |(interface, set): (InterfaceIndex, &Rewritten)| InterfaceRow {
            interface: router.interfaces.name(interface.0).to_owned(),
            table: signed(set.table),
            miss: signed(set.miss),
        };
        Ok(Output::rows(router.settings::<Rewritten>().map(row), write_interfaces))
    });
}

/// A number of which all bits set stand for none.
fn signed(number: u32) -> i64 {
    if number == NONE { -1 } else { number.into() }
}

#[derive(Serialize)]
struct EntryRow {
    index: u32,
    skip: usize,
    mask: String,
    value: String,
}

fn write_entries(rows: &[EntryRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|EntryRow { index, skip, mask, value }| {
        writeln!(f, "{index} - mask:{mask} value:{value} skip:{skip}")
    })
}

#[derive(Serialize)]
struct InterfaceRow {
    interface: String,
    table: i64,
    miss: i64,
}

fn write_interfaces(rows: &[InterfaceRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|InterfaceRow { interface, table, miss }| {
        writeln!(f, "{interface} - classify-table {table} miss-index {miss}")
    })
}
