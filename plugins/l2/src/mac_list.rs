//! `show l2fib`.

use net::prelude::*;

use super::fib::{self, Entry};
use super::state::Bridging;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: ShowFib| Ok(Output::of(show_fib(router, &show))));
}

/// `show l2fib [verbose | all] [bd_id N | bd_index N] [learn | add] [raw]`.
#[derive(Default)]
struct ShowFib {
    is_verbose: bool,
    id: Option<u32>,
    index: Option<u16>,
    learned: Option<bool>,
    is_raw: bool,
}

impl Command for ShowFib {
    const PATHS: &'static [&'static str] = &["show l2fib"];
    const ABOUT: &'static str = "Show the MAC addresses of bridge domains";
    const USAGE: &'static str = "[verbose | all] [bd_id <nn> | bd_index <nn>] [learn | add] [raw]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self::default();
        while !args.is_empty() {
            if args.keyword("verbose") || args.keyword("all") {
                show.is_verbose = true;
            } else if args.keyword("bd_id") {
                show.id = Some(args.value("bridge domain")?);
            } else if args.keyword("bd_index") {
                show.index = Some(args.value("index")?);
            } else if args.keyword("learn") {
                show.learned = Some(true);
            } else if args.keyword("add") {
                show.learned = Some(false);
            } else if args.keyword("raw") {
                show.is_raw = true;
            } else {
                return Err(args.unknown());
            }
        }
        show.is_verbose |= show.id.is_some() || show.index.is_some() || show.learned.is_some();
        Ok(show)
    }
}

#[derive(Serialize)]
struct FibRow {
    mac: String,
    index: u16,
    interface_index: u32,
    sequence: [u8; 2],
    age: String,
    is_static: bool,
    is_filter: bool,
    is_bvi: bool,
    interface: String,
}

#[derive(Serialize)]
struct FibShown {
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<FibRow>>,
    total: usize,
    learned: u64,
    last_scan_seconds: f64,
    limit: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<(usize, usize)>,
}

fn show_fib(router: &mut Router, show: &ShowFib) -> FibShown {
    let minute = fib::minute(router.now());
    let found = if show.is_verbose { super::api::entries(router, show.index) } else { Vec::new() };
    let bridging = router.own::<Bridging>();
    let is_meant = |(id, _, entry): &(u32, _, Entry)| {
        show.id.is_none_or(|only| only == *id)
            && show.learned.is_none_or(|learned| learned != entry.has(fib::STATIC))
    };
    let row = |(id, mac, entry): (u32, wire::MacAddr, Entry)| {
        let domain = bridging.domains.get(&id);
        let age = match entry.has(fib::STATIC) {
            _ if domain.is_none_or(|d| d.mac_age == 0) || entry.has(fib::STATIC) => "no".to_owned(),
            _ => entry.age(minute).to_string(),
        };
        FibRow {
            mac: mac.to_string(),
            index: domain.map_or(0, |d| d.index),
            interface_index: entry.interface(),
            sequence: entry.sequence().to_be_bytes(),
            age,
            is_static: entry.has(fib::STATIC),
            is_filter: entry.has(fib::FILTER),
            is_bvi: entry.has(fib::BVI),
            interface: match entry.has(fib::FILTER) {
                true => "N/A".to_owned(),
                false => router.interfaces.name(entry.interface()).to_owned(),
            },
        }
    };
    let mut rows: Vec<_> = found.into_iter().filter(is_meant).map(row).collect();
    rows.sort_by(|a, b| (a.index, &a.mac).cmp(&(b.index, &b.mac)));
    FibShown {
        entries: show.is_verbose.then_some(rows),
        total: bridging.fib.view().len(),
        learned: bridging.learned.at(0),
        last_scan_seconds: bridging.scan.last,
        limit: bridging.limit,
        raw: show.is_raw.then(|| (bridging.fib.view().room(), bridging.fib.bytes())),
    }
}

impl fmt::Display for FibShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |on: bool| if on { '*' } else { '-' };
        if let Some(rows) = self.entries.as_ref().filter(|rows| !rows.is_empty()) {
            const WIDTHS: [usize; 9] = [19, 7, 7, 8, 9, 7, 7, 5, 30];
            let names = [
                "Mac-Address",
                "BD-Idx",
                "If-Idx",
                "BSN-ISN",
                "Age(min)",
                "static",
                "filter",
                "bvi",
                "Interface-Name",
            ];
            writeln!(f, "{}", in_columns(WIDTHS, names.each_ref().map(|name| name as _)))?;
            for row in rows {
                let FibRow { mac, index, age, interface, sequence: [domain, port], .. } = row;
                let marks = [row.is_static, row.is_filter, row.is_bvi].map(mark);
                let (sequence, at) = (format!("{domain}/{port}"), row.interface_index as i32);
                let values: [&dyn fmt::Display; 9] =
                    [mac, index, &at, &sequence, age, &marks[0], &marks[1], &marks[2], interface];
                writeln!(f, "{}", in_columns(WIDTHS, values))?;
            }
        }
        write!(f, "L2FIB total/learned entries: {}/{}  ", self.total, self.learned)?;
        let (scan, limit) = (self.last_scan_seconds, self.limit);
        writeln!(f, "Last scan time: {scan:.4e}sec  Learn limit: {limit} ")?;
        match self.raw {
            Some((room, bytes)) => writeln!(f, "room for {room}, {bytes} bytes"),
            None => Ok(()),
        }
    }
}
