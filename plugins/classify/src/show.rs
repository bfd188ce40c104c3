//! `show classify tables`, `show classify filter`.

use control::cli::hex;
use net::prelude::*;

use super::filter::FilterOwner;
use super::table::{Action, From, NONE};
use super::tables::{Classifier, Info};

/// `show classify tables [index N] [verbose [N]]`.
struct ShowTables {
    index: Option<u32>,
    is_verbose: bool,
}

impl Command for ShowTables {
    const PATHS: &'static [&'static str] = &["show classify tables"];
    const ABOUT: &'static str = "Show classifier tables";
    const USAGE: &'static str = "[index <n>] [verbose [<n>]]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self { index: None, is_verbose: false };
        while !args.is_empty() {
            if args.keyword("index") {
                show.index = Some(args.value("index")?);
            } else if args.keyword("verbose") {
                show.is_verbose = true;
                let _ = args.optional::<u32>();
            } else {
                return Err(args.unknown());
            }
        }
        Ok(show)
    }
}

/// `show classify filter [verbose [N]]`.
struct ShowFilter {
    is_verbose: bool,
}

impl Command for ShowFilter {
    const PATHS: &'static [&'static str] = &["show classify filter"];
    const ABOUT: &'static str = "Show the filters of packet traces and captures";
    const USAGE: &'static str = "[verbose [<n>]]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_verbose = args.keyword("verbose");
        let _ = args.optional::<u32>();
        Ok(Self { is_verbose })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: ShowTables| {
        let all = router.own::<Classifier>();
        if show.index.is_some_and(|number| all.table(number).is_none()) {
            return Err(super::Error::NoTable.into());
        }
        let is_meant = |number: &u32| show.index.is_none_or(|only| only == *number);
        let meant = all.numbers().filter(is_meant);
        let rows = meant.filter_map(|n| Some(Row::of(n, &all.table(n)?, show.is_verbose)));
        Ok(Output::rows(rows, write_rows))
    });
    cli.command(|router: &mut Router, show: ShowFilter| {
        let all = router.own::<Classifier>();
        let filter = |used_by, of| Filter {
            used_by,
            tables: all.filters.first(of).map(|first| all.chain(first)).unwrap_or_default(),
        };
        let mut filters = vec![
            filter("packet tracer:".to_owned(), FilterOwner::Trace),
            filter("pcap rx/tx/drop:".to_owned(), FilterOwner::Captures),
        ];
        for (of, _) in all.filters.iter() {
            if let FilterOwner::Interface(interface) = of {
                filters.push(filter(format!("{}:", router.interfaces.name(interface.0)), of));
            }
        }
        let tables = filters.iter().flat_map(|f| &f.tables).filter(|_| show.is_verbose);
        let tables = tables.filter_map(|n| Some(Row::of(*n, &all.table(*n)?, true))).collect();
        Ok(Output::of(Shown { filters, tables }))
    });
}

#[derive(Serialize)]
struct Row {
    index: u32,
    sessions: usize,
    most_sessions: usize,
    next_table: i64,
    miss_next: i64,
    buckets: u32,
    memory: u64,
    skip: usize,
    vectors: usize,
    is_current: bool,
    offset: i16,
    mask: String,
    /// Of those asked for.
    entries: Option<Vec<Entry>>,
}

#[derive(Serialize)]
struct Entry {
    number: u32,
    next: i64,
    advance: i32,
    opaque: i64,
    action: &'static str,
    metadata: u32,
    key: String,
    hits: u64,
    last_heard: f64,
}

/// A number of which all bits set stand for none.
fn signed(number: u32) -> i64 {
    if number == NONE { -1 } else { number.into() }
}

impl Row {
    fn of(index: u32, info: &Info<'_>, is_verbose: bool) -> Self {
        let Info { table, sessions, buckets, memory } = info;
        let entry = |(number, session): (u32, &super::Session)| {
            let (hits, last_heard) = sessions.seen(number, session);
            let (action, metadata) = match session.action {
                Action::None => ("none", 0),
                Action::Table { version: IpVersion::V4, id, .. } => ("set-ip4-fib-id", id),
                Action::Table { id, .. } => ("set-ip6-fib-id", id),
                Action::Metadata(number) => ("set-metadata", number),
                Action::Mark(number) => ("mark-flow", number),
                Action::Redirect(balance) => ("redirect", balance),
            };
            let (next, opaque) = (signed(session.hit_next), signed(session.opaque));
            let key = hex(&session.key.bytes(&table.mask));
            let advance = session.advance;
            Entry { number, next, advance, opaque, action, metadata, key, hits, last_heard }
        };
        let (is_current, offset) = match table.from {
            From::Layer2 => (false, 0),
            From::Current(offset) => (true, offset),
        };
        Self {
            index,
            sessions: sessions.count(),
            most_sessions: sessions.most(),
            next_table: signed(table.next),
            miss_next: signed(table.miss_next),
            buckets: *buckets,
            memory: *memory,
            skip: table.skip,
            vectors: table.mask.vectors(),
            is_current,
            offset,
            mask: hex(&table.mask.bytes()),
            entries: is_verbose.then(|| sessions.iter().map(entry).collect()),
        }
    }
}

/// Bytes in hexadecimal, as they are shown behind `name`: from 32 on in lines with their offset.
fn dump(name: &str, digits: &str) -> String {
    const LINE: usize = 64;
    if digits.len() <= LINE {
        return format!("{name}{digits}\n");
    }
    let lines = digits.as_bytes().chunks(LINE).enumerate().map(|(n, line)| {
        let name = if n == 0 { name } else { &" ".repeat(name.len()) };
        format!("{name}{:08x}: {}\n", n * LINE / 2, String::from_utf8_lossy(line))
    });
    lines.collect()
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, sessions, next_table, miss_next, .. } = self;
        writeln!(f, "{index:>10}{sessions:>10}{next_table:>10}{miss_next:>10}")?;
        let Self { memory, most_sessions, .. } = self;
        writeln!(f, "  Heap: size {memory}, at most {most_sessions} sessions, name 'classify'")?;
        let Self { buckets, skip, vectors, is_current, offset, .. } = self;
        let flag = u8::from(*is_current);
        writeln!(
            f,
            "  nbuckets {buckets}, skip {skip} match {vectors} flag {flag} offset {offset}"
        )?;
        f.write_str(&dump("  mask ", &self.mask))?;
        let Some(entries) = &self.entries else { return Ok(()) };
        writeln!(f)?;
        for Entry { number, next, advance, opaque, action, metadata, key, hits, last_heard } in
            entries
        {
            let actions = ["none", "set-ip4-fib-id", "set-ip6-fib-id", "set-metadata"];
            let code = actions.iter().position(|name| name == action);
            let action = code.map_or_else(|| (*action).to_owned(), |code| code.to_string());
            write!(f, "    {number}: next_index {next} advance {advance} opaque {opaque} ")?;
            writeln!(f, "action {action} metadata {metadata}")?;
            f.write_str(&dump("        k: ", key))?;
            writeln!(f, "        hits {hits}, last_heard {last_heard:.2}\n")?;
        }
        writeln!(f, "    {sessions} active elements")
    }
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "No classifier tables configured");
    }
    rows.iter().try_for_each(|row| {
        let names = ["TableIdx", "Sessions", "NextTbl", "NextNode"];
        writeln!(f, "\n{}", names.map(|name| format!("{name:>10}")).concat())?;
        write!(f, "{row}")
    })
}

#[derive(Serialize)]
struct Filter {
    used_by: String,
    tables: Vec<u32>,
}

#[derive(Serialize)]
struct Shown {
    filters: Vec<Filter>,
    tables: Vec<Row>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<30} Table(s)", "Filter Used By")?;
        writeln!(f, "{:<30} --------", "--------------")?;
        for Filter { used_by, tables } in &self.filters {
            write!(f, "{used_by:<30} first table ")?;
            match tables.first() {
                Some(first) => writeln!(f, "{first}")?,
                None => writeln!(f, "none")?,
            }
        }
        if self.tables.is_empty() {
            return Ok(());
        }
        writeln!(f)?;
        write_rows(&self.tables, f)
    }
}
