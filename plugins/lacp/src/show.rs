//! `show lacp`.

use control::cli::Word;
use net::prelude::*;
use wire::lacp::{Party, state};

use super::{Ports, Speaking};

/// Show LACP members and their partners.
#[derive(Command)]
#[command("show lacp")]
struct Show {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interface: Vec<Word>,
    /// in detail
    details: bool,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    sw_if_index: u32,
    bond: String,
    actor: End,
    partner: End,
    rx: &'static str,
    tx: &'static str,
    mux: &'static str,
    ptx: &'static str,
    selected: bool,
}

#[derive(Serialize)]
struct End {
    system_priority: u16,
    system: String,
    key: u16,
    port_priority: u16,
    port: u16,
    state: u8,
}

impl End {
    fn of(party: &Party) -> Self {
        Self {
            system_priority: party.system_priority.get(),
            system: party.system.to_string(),
            key: party.key.get(),
            port_priority: party.port_priority.get(),
            port: party.port.get(),
            state: party.state,
        }
    }
    /// As an identifier of the link has it.
    fn id(&self) -> String {
        let Self { system_priority, system, key, port_priority, port, .. } = self;
        let system = system.replace(':', "-");
        format!("({system_priority:04x},{system},{key:04x},{port_priority:04x},{port:04x})")
    }
}

fn row(router: &Router, interface: InterfaceIndex, of: &Speaking) -> Row {
    let port = &of.port;
    Row {
        interface: router.interfaces.name(interface.0).to_owned(),
        sw_if_index: interface.0,
        bond: router.interfaces.name(of.bond.0).to_owned(),
        actor: End::of(&port.actor),
        partner: End::of(&port.partner),
        rx: port.rx.word(),
        tx: "TRANSMIT",
        mux: port.mux.word(),
        ptx: port.transmission().word(),
        selected: port.is_selected,
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| -> Result<Output, Error> {
        let all = &router.own::<Ports>().0;
        let mut rows = Vec::new();
        for word in &c.interface {
            let i = router.interfaces.named(word);
            let i = i.ok_or_else(|| Error::new(format!("unknown interface `{word}'")))?.index;
            rows.push(row(router, i, all.get(&i).ok_or(super::Error::NoPort)?));
        }
        if c.interface.is_empty() {
            rows = all.iter().map(|(i, of)| row(router, *i, of)).collect();
        }
        Ok(Output::rows(rows, if c.details { write_details } else { write_rows }))
    });
}

/// Bits of a state as they are listed, with their short words.
const BITS: [(u8, &str); 8] = [
    (state::EXPIRED, "exp"),
    (state::DEFAULTED, "def"),
    (state::DISTRIBUTING, "dis"),
    (state::COLLECTING, "col"),
    (state::SYNCHRONIZATION, "syn"),
    (state::AGGREGATION, "agg"),
    (state::TIMEOUT, "tim"),
    (state::ACTIVITY, "act"),
];

fn bits(end: &End) -> String {
    let bit = |(bit, _): (u8, _)| if end.state & bit > 0 { "1" } else { "0" };
    BITS.map(bit).join("   ")
}

fn write_details(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| detail(f, row))
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let words = BITS.map(|(_, word)| word).join("/");
    writeln!(f, "{:55} {:31}  partner state", "", "actor state")?;
    let head = ["interface name", "sw_if_index", "bond interface"];
    writeln!(f, "{:<25} {:<12} {:<16} {words}  {words}", head[0], head[1], head[2])?;
    rows.iter().try_for_each(|row| {
        let (actor, partner) = (bits(&row.actor), bits(&row.partner));
        let (name, index, bond) = (&row.interface, row.sw_if_index, &row.bond);
        writeln!(f, "{name:<25} {index:<12} {bond:<16}   {actor}    {partner}")?;
        writeln!(f, "  LAG ID: [{}, {}]", row.actor.id(), row.partner.id())?;
        let Row { rx, tx, mux, ptx, .. } = row;
        writeln!(f, "  RX-state: {rx}, TX-state: {tx}, MUX-state: {mux}, PTX-state: {ptx}")
    })
}

fn detail(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    writeln!(f, "  {}", row.interface)?;
    for (what, end) in [("Actor", &row.actor), ("Partner", &row.partner)] {
        writeln!(f, "    {what}")?;
        writeln!(f, "      system: {}", end.system)?;
        writeln!(f, "      system priority: {}", end.system_priority)?;
        writeln!(f, "      key: {}", end.key)?;
        writeln!(f, "      port priority: {}", end.port_priority)?;
        writeln!(f, "      port number: {}", end.port)?;
        writeln!(f, "      state: {:#x}", end.state)?;
    }
    writeln!(f, "    RX-state: {}", row.rx)?;
    writeln!(f, "    TX-state: {}", row.tx)?;
    writeln!(f, "    MUX-state: {}", row.mux)?;
    writeln!(f, "    PTX-state: {}", row.ptx)?;
    writeln!(f, "    selected: {}", row.selected)
}
