//! Commands that say where tables are used, and show it.

use control::cli::PrintValue;
use net::prelude::*;

use super::NONE;
use super::uses::{self, Kind, Tables, Use};

/// Arguments of all commands that set tables.
#[derive(Arguments, Debug, PartialEq)]
struct Chosen {
    /// table for IPv4 packets
    #[default(NONE)]
    ip4_table: u32,
    /// table for IPv6 packets
    #[default(NONE)]
    ip6_table: u32,
    /// table for frames
    #[default(NONE)]
    l2_table: u32,
    /// remove
    del: bool,
}

/// Arguments of commands that set tables of an interface.
#[derive(Arguments, Debug, PartialEq)]
struct OnInterface {
    /// interface
    #[keyword("intfc")]
    #[alias("interface")]
    interface: InterfaceIndex,
    #[flatten]
    chosen: Chosen,
}

/// Set or remove the input ACL tables of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface input acl")]
#[stage(Attachments)]
struct SetInput {
    #[flatten]
    to: OnInterface,
}

/// Set or remove the output ACL tables of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface output acl")]
#[stage(Attachments)]
struct SetOutput {
    #[flatten]
    to: OnInterface,
}

/// Set or remove the flow tables of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set flow classify")]
#[stage(Attachments)]
struct SetFlow {
    #[flatten]
    to: OnInterface,
}

/// Set or remove the policer tables of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set policer classify")]
#[stage(Attachments)]
struct SetPolicer {
    #[flatten]
    to: OnInterface,
}

/// Tables of the classifier that frames are sorted by; none for those not named.
#[derive(Arguments, Debug, PartialEq)]
struct Sorting {
    /// interface
    #[keyword("intfc")]
    #[alias("interface")]
    interface: InterfaceIndex,
    /// table for IPv4 frames
    #[default(NONE)]
    ip4_table: u32,
    /// table for IPv6 frames
    #[default(NONE)]
    ip6_table: u32,
    /// table for other frames
    #[default(NONE)]
    other_table: u32,
}

/// Set the input classifier tables of a bridged interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface l2 input classify")]
#[stage(Attachments)]
struct SortInput {
    #[flatten]
    to: Sorting,
}

/// Set the output classifier tables of a bridged interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface l2 output classify")]
#[stage(Attachments)]
struct SortOutput {
    #[flatten]
    to: Sorting,
}

/// Set the classifier table for packets to an interface's own IPv4 addresses.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ip classify")]
#[stage(Attachments)]
struct SetOwn4 {
    /// interface
    intfc: InterfaceIndex,
    /// table; -1 for none
    table_index: TableOrNone,
}

/// Set the classifier table for packets to an interface's own IPv6 addresses.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ip6 classify")]
#[stage(Attachments)]
struct SetOwn6 {
    /// interface
    intfc: InterfaceIndex,
    /// table; -1 for none
    table_index: TableOrNone,
}

/// The number of a table, or -1.
#[derive(Debug, PartialEq)]
struct TableOrNone(u32);

impl Value for TableOrNone {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let place = *args;
        match args.value::<i64>(what)? {
            -1 => Ok(Self(NONE)),
            number => u32::try_from(number).map(Self).map_err(|_| place.error("invalid table")),
        }
    }
}

impl PrintValue for TableOrNone {
    fn print(&self, line: &mut Line<'_>) {
        line.word(self.0);
    }
}

/// Set or remove the ACL tables of punted packets.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set punt acl")]
#[stage(Attachments)]
struct SetPunt {
    #[flatten]
    chosen: Chosen,
}

/// Show the input ACL tables of interfaces.
#[derive(Command)]
#[command("show inacl")]
struct ShowInput {
    /// type of packets
    #[keyword("type")]
    #[words]
    kind: Kind,
}

/// Show the output ACL tables of interfaces.
#[derive(Command)]
#[command("show outacl")]
struct ShowOutput {
    /// type of packets
    #[keyword("type")]
    #[words]
    kind: Kind,
}

/// Show the flow tables of interfaces.
#[derive(Command)]
#[command("show classify flow")]
struct ShowFlow {
    /// type of packets
    #[keyword("type")]
    #[words]
    kind: Kind,
}

/// Show the policer tables of interfaces.
#[derive(Command)]
#[command("show classify policer")]
struct ShowPolicer {
    /// type of packets
    #[keyword("type")]
    #[words]
    kind: Kind,
}

impl Sorting {
    fn of(interface: InterfaceIndex, tables: &[u32; 3]) -> Option<Self> {
        let [ip4_table, ip6_table, other_table] = *tables;
        let is_any = *tables != [NONE; 3];
        is_any.then_some(Self { interface, ip4_table, ip6_table, other_table })
    }
    fn set(&self, router: &mut Router, of: Use) -> Result<(), Error> {
        let tables = [self.ip4_table, self.ip6_table, self.other_table];
        Ok(uses::set_frames(router, self.interface, of, tables)?)
    }
}

impl Chosen {
    fn of([ip4_table, ip6_table, l2_table]: [u32; 3]) -> Option<Self> {
        let is_any = [ip4_table, ip6_table, l2_table] != [NONE; 3];
        is_any.then_some(Self { ip4_table, ip6_table, l2_table, del: false })
    }
    fn tables(&self) -> Result<[u32; 3], Error> {
        let tables = [self.ip4_table, self.ip6_table, self.l2_table];
        if tables == [NONE; 3] { Err(Error::new("expected a table")) } else { Ok(tables) }
    }
}

fn set(router: &mut Router, of: Use, to: &OnInterface) -> Result<(), Error> {
    Ok(uses::set(router, to.interface, of, to.chosen.tables()?, !to.chosen.del)?)
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, Tables(all)) in router.settings::<Tables>() {
        let [input, output, flow, police, received, sent] = all;
        let to = |tables: &[u32; 3]| Some(OnInterface { interface, chosen: Chosen::of(*tables)? });
        to(input).into_iter().for_each(|to| lines.push(&SetInput { to }));
        to(output).into_iter().for_each(|to| lines.push(&SetOutput { to }));
        to(flow).into_iter().for_each(|to| lines.push(&SetFlow { to }));
        to(police).into_iter().for_each(|to| lines.push(&SetPolicer { to }));
        let sorted = |tables| Sorting::of(interface, tables);
        sorted(received).into_iter().for_each(|to| lines.push(&SortInput { to }));
        sorted(sent).into_iter().for_each(|to| lines.push(&SortOutput { to }));
    }
    for (intfc, [ip4, ip6]) in super::own_tables(router) {
        if ip4 != NONE {
            lines.push(&SetOwn4 { intfc, table_index: TableOrNone(ip4) });
        }
        if ip6 != NONE {
            lines.push(&SetOwn6 { intfc, table_index: TableOrNone(ip6) });
        }
    }
    let [ip4, ip6] = uses::punted(router);
    let punted = Chosen::of([ip4, ip6, NONE]);
    punted.into_iter().for_each(|chosen| lines.push(&SetPunt { chosen }));
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, c: SetInput| set(router, Use::Input, &c.to));
    cli.command(|router, c: SetOutput| set(router, Use::Output, &c.to));
    cli.command(|router, c: SetFlow| set(router, Use::Flow, &c.to));
    cli.command(|router, c: SetPolicer| set(router, Use::Police, &c.to));
    cli.command(|router: &mut Router, c: SortInput| c.to.set(router, Use::InputFrames));
    cli.command(|router: &mut Router, c: SortOutput| c.to.set(router, Use::OutputFrames));
    cli.command(|router: &mut Router, c: SetOwn4| {
        Ok(super::set_own(router, c.intfc, false, c.table_index.0)?)
    });
    cli.command(|router: &mut Router, c: SetOwn6| {
        Ok(super::set_own(router, c.intfc, true, c.table_index.0)?)
    });
    cli.command(|router: &mut Router, c: SetPunt| {
        let [ip4, ip6, layer2] = c.chosen.tables()?;
        if layer2 != NONE {
            return Err(super::Error::NoLayer2.into());
        }
        Ok(uses::set_punted(router, [ip4, ip6], !c.chosen.del)?)
    });
    cli.command(move |router: &mut Router, c: ShowInput| {
        Ok(shown(router, Use::Input, c.kind, "No input ACL tables configured"))
    });
    cli.command(move |router: &mut Router, c: ShowOutput| {
        Ok(shown(router, Use::Output, c.kind, "No output ACL tables configured"))
    });
    cli.command(move |router: &mut Router, c: ShowFlow| {
        Ok(shown(router, Use::Flow, c.kind, "No tables configured."))
    });
    cli.command(move |router: &mut Router, c: ShowPolicer| {
        Ok(shown(router, Use::Police, c.kind, "No tables configured."))
    });
}

#[derive(Serialize)]
struct Row {
    interface: String,
    sw_if_index: u32,
    table: u32,
}

fn shown(router: &Router, of: Use, kind: Kind, none: &'static str) -> Output {
    let row = |(InterfaceIndex(sw_if_index), table)| {
        let interface = router.interfaces.name(sw_if_index).to_owned();
        Row { interface, sw_if_index, table }
    };
    Output::rows(uses::of(router, of, kind).map(row), move |rows, f| {
        if rows.is_empty() {
            return writeln!(f, "{none}");
        }
        writeln!(f, " Intfc idx      Classify table\t\tInterface name")?;
        rows.iter().try_for_each(|Row { interface, sw_if_index, table }| {
            writeln!(f, "{sw_if_index:>10}{table:>20}\t\t{interface}")
        })
    })
}
