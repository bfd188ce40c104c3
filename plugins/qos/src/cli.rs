//! `qos record`, `qos store`, `qos egress map`, `qos mark` and what shows them.

use std::ops::RangeInclusive;

use net::prelude::*;

use super::{Map, Source};

/// Enable or disable recording of QoS marks of received packets.
#[derive(Command, Print, Debug, PartialEq)]
#[command("qos record")]
#[stage(Attachments)]
struct SetRecord {
    /// QoS source
    #[positional]
    #[words]
    source: Source,
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// disable
    #[opposite("enable")]
    disable: bool,
}

/// Assign a fixed QoS mark to an interface's received packets, or stop.
#[derive(Command, Print, Debug, PartialEq)]
#[command("qos store")]
#[stage(Attachments)]
struct SetStore {
    /// QoS source of the mark
    #[positional]
    #[words]
    source: Source,
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// mark
    value: Option<u8>,
    /// disable
    #[opposite("enable")]
    disable: bool,
}

/// Enable or disable marking of transmitted packets.
#[derive(Command, Print, Debug, PartialEq)]
#[command("qos mark")]
#[stage(Attachments)]
struct SetMark {
    /// QoS source
    #[positional]
    #[words]
    source: Source,
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// egress map
    id: Option<u32>,
    /// disable
    #[opposite("enable")]
    disable: bool,
}

/// Marks recorded that have one output: `[SOURCE][INPUT]=OUTPUT`, `[SOURCE][FIRST-LAST]=OUTPUT`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    source: Source,
    inputs: RangeInclusive<u8>,
    output: u8,
}

impl Entry {
    /// The entries of a word, one or several.
    fn all(word: &str) -> Option<Vec<Self>> {
        let starts = word.match_indices('[').map(|(at, _)| at).step_by(2);
        let ends = starts.clone().skip(1).chain([word.len()]);
        let all: Option<Vec<_>> =
            starts.zip(ends).map(|(at, end)| Self::parse(&word[at..end])).collect();
        all.filter(|all| !all.is_empty() && word.starts_with('['))
    }
    fn parse(word: &str) -> Option<Self> {
        let (source, rest) = word.strip_prefix('[')?.split_once(']')?;
        let (inputs, output) = rest.strip_prefix('[')?.split_once("]=")?;
        let (first, last) = inputs.split_once('-').unwrap_or((inputs, inputs));
        let inputs = first.parse().ok()?..=last.parse().ok()?;
        if inputs.is_empty() {
            return None;
        }
        Some(Self { source: source.parse().ok()?, inputs, output: output.parse().ok()? })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.inputs.start(), self.inputs.end());
        write!(f, "[{}][{first}", self.source)?;
        if last > first {
            write!(f, "-{last}")?;
        }
        write!(f, "]={}", self.output)
    }
}

/// `qos egress map id N [delete] {[SOURCE][INPUT]=OUTPUT}`.
#[derive(Debug, PartialEq)]
struct SetMap {
    id: u32,
    delete: bool,
    entries: Vec<Entry>,
}

impl Command for SetMap {
    const PATHS: &'static [&'static str] = &["qos egress map"];
    const ABOUT: &'static str = "Add, change or delete an egress map";
    const USAGE: &'static str = "id <id> [delete|del] [<[ext|vlan|mpls|ip][input]=output>]...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut id, mut delete, mut entries) = (None, false, Vec::new());
        while !args.is_empty() {
            if args.keyword("id") {
                id = Some(args.value("id")?);
            } else if args.keyword("delete") || args.keyword("del") {
                delete = true;
            } else {
                let of_word = args.peek().and_then(Entry::all);
                entries.append(&mut of_word.ok_or_else(|| args.unknown())?);
                args.word();
            }
        }
        let id = id.ok_or_else(|| args.error("expected id"))?;
        if delete && !entries.is_empty() {
            return Err(args.error("del takes no outputs"));
        }
        Ok(Self { id, delete, entries })
    }
}

impl Print for SetMap {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "qos egress map id {id} delete";
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("id", &self.id).flag("delete", self.delete).values(&self.entries);
    }
}

/// The outputs of a map that are not 0, neighbours with the same one together.
fn entries(map: &Map) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (source, row) in Source::ALL.into_iter().zip(&map.0) {
        for (input, output) in (0..=u8::MAX).zip(*row) {
            match entries.last_mut() {
                Some(last)
                    if last.source == source
                        && last.output == output
                        && last.inputs.end().checked_add(1) == Some(input) =>
                {
                    last.inputs = *last.inputs.start()..=input;
                }
                _ if output != 0 => entries.push(Entry { source, inputs: input..=input, output }),
                _ => (),
            }
        }
    }
    entries
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (id, map) in super::maps(router) {
        lines.push(&SetMap { id, delete: false, entries: entries(map) });
    }
    for (interface, source) in super::records(router) {
        lines.push(&SetRecord { source, interface, disable: false });
    }
    for (interface, source, value) in super::stores(router) {
        lines.push(&SetStore { source, interface, value: Some(value), disable: false });
    }
    for (interface, source, id) in super::marks(router) {
        lines.push(&SetMark { source, interface, id: Some(id), disable: false });
    }
}

/// Show interfaces with QoS recording.
#[derive(Command)]
#[command("show qos record")]
struct ShowRecord {
    /// only this one
    #[positional]
    interface: Option<InterfaceIndex>,
}

/// Show interfaces with a fixed QoS mark.
#[derive(Command)]
#[command("show qos store")]
struct ShowStore {
    /// only this one
    #[positional]
    interface: Option<InterfaceIndex>,
}

/// Show interfaces with QoS marking.
#[derive(Command)]
#[command("show qos mark")]
struct ShowMark {
    /// only this one
    #[positional]
    interface: Option<InterfaceIndex>,
}

/// Show egress maps.
#[derive(Command)]
#[command("show qos egress map")]
struct ShowMap {
    /// only this one
    id: Option<u32>,
}

/// Numbers by interface and source.
type Table = BTreeMap<String, BTreeMap<String, Option<u32>>>;

fn table(
    router: &Router,
    between: &'static str,
    only: Option<InterfaceIndex>,
    rows: impl Iterator<Item = (InterfaceIndex, Source, Option<u32>)>,
) -> Output {
    let mut table = Table::new();
    for (interface, source, number) in rows.filter(|(i, ..)| only.is_none_or(|o| o == *i)) {
        let name = router.interfaces.name(interface.0).to_owned();
        table.entry(name).or_default().insert(source.to_string(), number);
    }
    Output::written(table, move |table, f| write_table(table, between, f))
}

/// A source as listings have it.
fn capitals(source: &str) -> String {
    if source == "ext" { source.to_owned() } else { source.to_uppercase() }
}

/// Sources and their numbers, with `between` in between.
fn write_table(all: &Table, between: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (name, rows) in all {
        writeln!(f, " {name}:")?;
        for (source, number) in rows {
            match number {
                Some(number) => writeln!(f, "  {}{between}{number}", capitals(source))?,
                None => writeln!(f, "  {}", capitals(source))?,
            }
        }
    }
    Ok(())
}

/// A map with its identifier, as rows of outputs.
#[derive(Serialize)]
struct Shown {
    id: u32,
    rows: BTreeMap<String, Vec<u8>>,
}

fn write_shown_maps(rows: &[Shown], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Shown { id, rows } in rows {
        writeln!(f, " Map-ID:{id}")?;
        for (source, outputs) in rows {
            let outputs: Vec<_> = outputs.iter().map(u8::to_string).collect();
            writeln!(f, "  {}:[{}]", capitals(source), outputs.join(","))?;
        }
    }
    Ok(())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetRecord| {
        Ok(super::record(router, c.interface, c.source, !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetStore| {
        let mark = match (c.value, c.disable) {
            (_, true) => None,
            (None, false) => return Err(Error::new("missing value")),
            (value, false) => value,
        };
        Ok(super::store(router, c.interface, c.source, mark)?)
    });
    cli.command(|router: &mut Router, c: SetMark| {
        let map = match (c.id, c.disable) {
            (_, true) => None,
            (None, false) => return Err(Error::new("missing id")),
            (id, false) => id,
        };
        Ok(super::mark(router, c.interface, c.source, map)?)
    });
    cli.command(|router: &mut Router, c: SetMap| {
        if c.delete {
            return Ok(super::remove_map(router, c.id)?);
        }
        let mut map = super::map(router, c.id).cloned().unwrap_or_default();
        for Entry { source, inputs, output } in c.entries {
            inputs.for_each(|input| map.0[source as usize][usize::from(input)] = output);
        }
        Ok(super::set_map(router, c.id, map)?)
    });
    cli.command(|router: &mut Router, c: ShowRecord| {
        let rows = super::records(router).map(|(i, source)| (i, source, None));
        Ok(table(router, ": map:", c.interface, rows))
    });
    cli.command(|router: &mut Router, c: ShowStore| {
        let rows = super::stores(router).map(|(i, source, mark)| (i, source, Some(mark.into())));
        Ok(table(router, " -> ", c.interface, rows))
    });
    cli.command(|router: &mut Router, c: ShowMark| {
        let rows = super::marks(router).map(|(i, source, id)| (i, source, Some(id)));
        Ok(table(router, ": map:", c.interface, rows))
    });
    cli.command(|router: &mut Router, c: ShowMap| {
        if let Some(id) = c.id.filter(|id| super::map(router, *id).is_none()) {
            return Err(super::Error::NoMap(id).into());
        }
        let meant = super::maps(router).filter(|(id, _)| c.id.is_none_or(|only| only == *id));
        let shown = |(id, map): (u32, &Map)| {
            let row = |s: Source| (s.to_string(), map.0[s as usize].to_vec());
            Shown { id, rows: Source::ALL.into_iter().map(row).collect() }
        };
        Ok(Output::rows(meant.map(shown), write_shown_maps))
    });
}
