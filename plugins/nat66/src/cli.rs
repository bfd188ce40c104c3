//! `nat66 plugin`, `nat66 add static mapping`, `set interface nat66` and what shows them.

use net::interface;
use net::prelude::*;

use super::{Nat, Sides};

/// Enable or disable NAT66.
#[derive(Command, Print, Debug, PartialEq)]
#[command("nat66 plugin")]
#[undo("nat66 plugin disable")]
#[stage(Objects)]
struct SetPlugin {
    /// enable
    enable: bool,
    /// outside table
    outside_vrf: Option<u32>,
    /// disable
    disable: bool,
}

/// `nat66 add static mapping local A external A [vrf N] [del]`.
#[derive(Debug, PartialEq)]
struct SetMapping {
    local: Ipv6Addr,
    external: Ipv6Addr,
    vrf: u32,
    del: bool,
}

impl Command for SetMapping {
    const PATHS: &'static [&'static str] = &["nat66 add static mapping"];
    const ABOUT: &'static str = "Add or delete a mapping of an inside address to an outside \
        address";
    const USAGE: &'static str = "local <ip6-addr> external <ip6-addr> [vrf <table-id>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut local, mut external, mut vrf, mut del) = (None, None, 0, false);
        while !args.is_empty() {
            if args.keyword("local") {
                local = Some(args.value("address")?);
            } else if args.keyword("external") {
                external = Some(args.value("address")?);
            } else if args.keyword("vrf") || args.keyword("vfr") {
                // The usage line that operators know spells it the second way.
                vrf = args.value("table id")?;
            } else if args.keyword("del") {
                del = true;
            } else {
                return Err(args.unknown());
            }
        }
        let local = local.ok_or_else(|| args.error("expected local"))?;
        let external = external.ok_or_else(|| args.error("expected external"))?;
        Ok(Self { local, external, vrf, del })
    }
}

impl Print for SetMapping {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("local", &self.local).keyword("external", &self.external);
        line.option("vrf", Some(&self.vrf).filter(|vrf| **vrf != 0)).flag("del", self.del);
    }
}

/// Set the inside and outside interfaces
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface nat66")]
#[stage(Attachments)]
struct SetSides {
    #[flatten]
    sides: interface::Sides,
    /// delete
    del: bool,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some((vrf, _)) = router.own::<Nat>().enabled {
        let outside_vrf = Some(vrf).filter(|vrf| *vrf != 0);
        lines.push(&SetPlugin { enable: true, outside_vrf, disable: false });
    }
    for (interface, sides) in router.settings::<Sides>() {
        for (is_inside, _) in [(true, sides.inside), (false, sides.outside)].iter().filter(|s| s.1)
        {
            lines.push(&SetSides {
                sides: interface::Sides(vec![(interface, *is_inside)]),
                del: false,
            });
        }
    }
    for (m, _) in super::mappings(router) {
        let super::Mapping { local, external, vrf, .. } = *m;
        lines.push(&SetMapping { local, external, vrf, del: false });
    }
}

/// Show inside and outside interfaces.
#[derive(Command)]
#[command("show nat66 interfaces")]
struct ShowInterfaces;

/// Show mappings.
#[derive(Command)]
#[command("show nat66 static mappings")]
struct ShowMappings;

#[derive(Serialize)]
struct SideRow {
    interface: String,
    inside: bool,
    outside: bool,
}

fn write_side_rows(rows: &[SideRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "NAT66 interfaces:")?;
    rows.iter().try_for_each(|SideRow { interface, inside, outside }| {
        let word = match (inside, outside) {
            (true, true) => "in out",
            (true, false) => "in",
            _ => "out",
        };
        writeln!(f, " {interface} {word}")
    })
}

#[derive(Serialize)]
struct MappingRow {
    local: Ipv6Addr,
    external: Ipv6Addr,
    vrf: u32,
    packets: u64,
    bytes: u64,
}

fn write_mapping_rows(rows: &[MappingRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "NAT66 static mappings:")?;
    rows.iter().try_for_each(|MappingRow { local, external, vrf, packets, bytes }| {
        writeln!(f, " local {local} external {external} vrf {vrf}")?;
        writeln!(f, "  total pkts {packets}, total bytes {bytes}")
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetPlugin| {
        let done = match (c.enable, c.disable) {
            (true, false) => super::enable(router, c.outside_vrf.unwrap_or(0)),
            (false, true) => super::disable(router),
            _ => return Err(Error::new("expected enable or disable")),
        };
        Ok(done?)
    });
    cli.command(|router: &mut Router, c: SetMapping| {
        let change = if c.del { super::remove } else { super::add };
        Ok(change(router, c.local, c.external, c.vrf)?)
    });
    cli.command(|router: &mut Router, c: SetSides| {
        Ok(c.sides.apply(router, !c.del, super::set_side)?)
    });
    cli.command(|router: &mut Router, _: ShowInterfaces| {
        let row = |(interface, sides): (InterfaceIndex, &Sides)| SideRow {
            interface: router.interfaces.name(interface.0).to_owned(),
            inside: sides.inside,
            outside: sides.outside,
        };
        Ok(Output::rows(router.settings::<Sides>().map(row), write_side_rows))
    });
    cli.command(|router: &mut Router, _: ShowMappings| {
        let row = |(m, volume): (&super::Mapping, infra::counter::Volume)| MappingRow {
            local: m.local,
            external: m.external,
            vrf: m.vrf,
            packets: volume.packets,
            bytes: volume.bytes,
        };
        Ok(Output::rows(super::mappings(router).map(row), write_mapping_rows))
    });
}
