//! `adl interface`, `adl allowlist`; scripts know both by the names of their messages as well.

use net::prelude::*;

use super::Lists;

/// Enable or disable source checks on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("adl interface", "binary-api adl_interface_enable_disable")]
#[stage(Attachments)]
struct SetInterface {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// disable
    disable: bool,
}

/// Set the table of allowed sources of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("adl allowlist", "binary-api adl_allowlist_enable_disable")]
#[stage(Attachments)]
struct SetLists {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// check IPv4 sources
    ip4: bool,
    /// check IPv6 sources
    ip6: bool,
    /// allow packets of other protocols
    default: bool,
    /// table
    #[default]
    fib_id: u32,
    /// allow all sources
    disable: bool,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, lists) in router.settings::<Lists>() {
        if lists.is_on {
            lines.push(&SetInterface { interface, disable: false });
        }
        let versions = lists.tables.map(|table| table.is_some());
        let id = lists.tables.iter().flatten().next().map_or(0, |(id, _)| *id);
        let has_default = lists.has_default;
        if versions != [false; 2] || has_default {
            let ([ip4, ip6], default) = (versions, has_default);
            lines.push(&SetLists { interface, ip4, ip6, default, fib_id: id, disable: false });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetInterface| {
        Ok(super::enable(router, c.interface, !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetLists| {
        let (versions, default) = ([c.ip4, c.ip6].map(|on| on && !c.disable), c.default);
        if versions == [false; 2] && !default && !c.disable {
            return Err(Error::new("missing ip4, ip6, default or disable"));
        }
        Ok(super::set_lists(router, c.interface, c.fib_id, versions, default && !c.disable)?)
    });
}
