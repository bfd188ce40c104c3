//! `set npt66 binding`, `show npt66`.

use net::prelude::*;
use wire::prefix::Ip6Prefix;

use super::Bindings;

/// Add or delete a prefix translation on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set npt66 binding")]
#[stage(Attachments)]
struct SetBinding {
    /// outside interface
    interface: InterfaceIndex,
    /// inside prefix
    internal: Ip6Prefix,
    /// outside prefix
    external: Ip6Prefix,
    /// delete
    del: bool,
}

/// Show prefix translations.
#[derive(Command)]
#[command("show npt66 bindings", "show npt66")]
struct Show;

#[derive(Serialize)]
struct Row {
    interface: String,
    internal: String,
    external: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Row { interface, internal, external }| {
        writeln!(f, "{interface} internal: {internal} external: {external}")
    })
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, bindings) in router.settings::<Bindings>() {
        for b in bindings {
            let (internal, external) = (b.internal, b.external);
            lines.push(&SetBinding { interface, internal, external, del: false });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetBinding| {
        let change = if c.del { super::remove } else { super::add };
        Ok(change(router, c.interface, c.internal, c.external)?)
    });
    cli.command(|router: &mut Router, _: Show| {
        let rows = router.settings::<Bindings>().flat_map(|(interface, bindings)| {
            let name = router.interfaces.name(interface.0);
            bindings.iter().map(move |b| Row {
                interface: name.to_owned(),
                internal: b.internal.to_string(),
                external: b.external.to_string(),
            })
        });
        Ok(Output::rows(rows, write_rows))
    });
}
