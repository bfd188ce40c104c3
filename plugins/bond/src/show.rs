//! `show bond`.

use net::prelude::*;

use super::{Bond, Bonds, Mode};

/// Show bond interfaces.
#[derive(Command)]
#[command("show bond")]
struct Show {
    /// include members
    details: bool,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    sw_if_index: u32,
    device_instance: usize,
    interface_id: u32,
    mode: &'static str,
    load_balance: &'static str,
    numa_only: bool,
    gso: bool,
    active_members: Vec<Shown>,
    members: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    interface: String,
    passive: bool,
    long_timeout: bool,
    weight: u32,
}

/// Choice of members, in the words of `show bond`.
pub(super) fn balance(bond: &Bond) -> &'static str {
    match bond.config.mode {
        Mode::RoundRobin => "round-robin",
        Mode::ActiveBackup => "active-backup",
        Mode::Broadcast => "broadcast",
        Mode::Xor | Mode::Lacp => bond.config.balance.word(),
    }
}

fn row(router: &Router, at: usize, (index, bond): (&InterfaceIndex, &Bond)) -> Row {
    let member = |index: &InterfaceIndex| {
        let of = &router.own::<Bonds>().members[index];
        let interface = router.interfaces.name(index.0).to_owned();
        let (passive, long_timeout) = (of.is_passive, of.is_long_timeout);
        Shown { interface, passive, long_timeout, weight: of.weight }
    };
    Row {
        interface: router.interfaces.name(index.0).to_owned(),
        sw_if_index: index.0,
        device_instance: at,
        interface_id: bond.id,
        mode: bond.config.mode.word(),
        load_balance: balance(bond),
        numa_only: bond.config.numa_only,
        gso: bond.config.gso,
        active_members: bond.active.iter().map(member).collect(),
        members: bond.members.iter().map(member).collect(),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| {
        let all = router.own::<Bonds>().bonds.iter().enumerate();
        let rows = all.map(|(at, bond)| row(router, at, bond));
        Ok(Output::rows(rows, if c.details { write_details } else { write_rows }))
    });
}

fn write_details(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| detail(f, row))
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let line = |f: &mut fmt::Formatter<'_>, cells: [&dyn fmt::Display; 6]| {
        let [interface, index, mode, balance, active, members] = cells;
        // Widths are for strings: numbers are texts by now.
        let [index, active] = [index, active].map(ToString::to_string);
        let cells = format!("{interface:<16} {index:<12} {mode:<13} {balance:<13} {active:<14}");
        writeln!(f, "{cells} {members}")
    };
    let head: [&dyn fmt::Display; 6] = [
        &"interface name",
        &"sw_if_index",
        &"mode",
        &"load balance",
        &"active members",
        &"members",
    ];
    line(f, head)?;
    rows.iter().try_for_each(|r| {
        let counts = (r.active_members.len(), r.members.len());
        let cells: [&dyn fmt::Display; 6] =
            [&r.interface, &r.sw_if_index, &r.mode, &r.load_balance, &counts.0, &counts.1];
        line(f, cells)
    })
}

fn detail(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    writeln!(f, "{}", row.interface)?;
    writeln!(f, "  mode: {}", row.mode)?;
    let numa = if row.numa_only { "  numa-only" } else { "" };
    writeln!(f, "  load balance: {}{numa}", row.load_balance)?;
    if row.gso {
        writeln!(f, "  gso enable")?;
    }
    writeln!(f, "  number of active members: {}", row.active_members.len())?;
    row.active_members.iter().try_for_each(|member| {
        writeln!(f, "    {}", member.interface)?;
        if row.mode == Mode::ActiveBackup.word() {
            writeln!(f, "      weight: {}", member.weight)?;
        }
        Ok(())
    })?;
    writeln!(f, "  number of members: {}", row.members.len())?;
    row.members.iter().try_for_each(|member| writeln!(f, "    {}", member.interface))?;
    writeln!(f, "  device instance: {}", row.device_instance)?;
    writeln!(f, "  interface id: {}", row.interface_id)?;
    writeln!(f, "  sw_if_index: {}", row.sw_if_index)?;
    writeln!(f, "  hw_if_index: {}", row.sw_if_index)
}
