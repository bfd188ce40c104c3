//! Commands.

use control::cli::Error as CliError;
use net::prelude::*;

use super::device::{self, Device, Devices, Terms};
use super::week::{Range, time_of_week};
use super::{Watched, watch};

/// Enable or disable device filtering on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("mactime enable-disable")]
#[stage(Attachments)]
struct SetWatched {
    /// interface, by name or `sw_if_index` and its number
    #[positional]
    interface: InterfaceIndex,
    /// disable
    disable: bool,
}

/// `set mactime device`.
#[derive(Debug, PartialEq)]
struct SetDevice {
    mac: MacAddr,
    /// `None` to delete it.
    terms: Option<Terms>,
}

impl Command for SetDevice {
    const PATHS: &'static [&'static str] = &["set mactime device"];
    const ABOUT: &'static str = "Add or delete a device: allowed or dropped always, or in ranges \
        of the week, in seconds since Saturday midnight";
    const USAGE: &'static str = "<mac> [name <name>] [allow|drop] [range <start> <end>]... \
        [quota <bytes>] [no-udp-10001] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let mac: MacAddr = args.value("mac")?;
        let (mut action, mut is_gone) = (None, false);
        let mut terms = Terms {
            name: mac.to_string(),
            drops: false,
            ranges: Vec::new(),
            quota: None,
            no_udp_10001: false,
        };
        while !args.is_empty() {
            if args.keyword("name") {
                terms.name = args.value("name")?;
            } else if args.keyword("allow") {
                action = Some(false);
            } else if args.keyword("drop") {
                action = Some(true);
            } else if args.keyword("range") {
                let (start, end) = (args.value("start")?, args.value("end")?);
                terms.ranges.push(Range { start, end });
            } else if args.keyword("quota") {
                terms.quota = Some(args.value("bytes")?);
            } else if args.keyword("no-udp-10001") {
                terms.no_udp_10001 = true;
            } else if args.keyword("del") {
                is_gone = true;
            } else {
                return Err(args.unknown());
            }
        }
        if is_gone {
            return Ok(Self { mac, terms: None });
        }
        terms.drops = action.ok_or_else(|| args.error("expected allow or drop"))?;
        Ok(Self { mac, terms: Some(terms) })
    }
}

impl Print for SetDevice {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "set mactime device {1} del";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.mac);
        let Some(terms) = &self.terms else {
            line.word("del");
            return;
        };
        line.word("name").word(&terms.name).word(if terms.drops { "drop" } else { "allow" });
        for range in &terms.ranges {
            line.word("range").word(range.start).word(range.end);
        }
        line.option("quota", terms.quota.as_ref()).flag("no-udp-10001", terms.no_udp_10001);
    }
}

/// Show devices and their counters
#[derive(Command)]
#[command("show mactime")]
struct Show {
    /// include time ranges
    verbose: bool,
}

/// Clear the counters of devices; quotas restart
#[derive(Command)]
#[command("clear mactime")]
struct Clear;

/// Test known times of the week
#[derive(Command)]
#[command("test time-range")]
struct Test;

/// Seconds since 1970, hours from UTC, and the time of the week.
const KNOWN: [(u64, f64, &str); 4] = [
    (0, 0.0, "Thu 00:00:00"),
    (951_868_799, 0.0, "Tue 23:59:59"),
    (1_795_521_600, 5.5, "Tue 17:30:00"),
    (1_795_910_400, -1.0, "Sat 23:00:00"),
];

fn try_times() -> String {
    let lines = KNOWN.map(|(unix, hours, expected)| {
        let time = time_of_week(Duration::from_secs(unix), hours);
        let (shown, day) = (moment(time), (time / 86_400.0).floor() * 86_400.0);
        let of_day = Range { start: day, end: day + 86_400.0 };
        let is_right = shown == expected && of_day.has(time);
        let said = if is_right { "OK" } else { "FAILED" };
        format!("{unix} at {hours:+} hours is {shown}: {said}\n")
    });
    lines.concat()
}

#[derive(Serialize)]
struct Row {
    name: String,
    mac: String,
    status: &'static str,
    allowed_packets: u64,
    allowed_bytes: u64,
    dropped_packets: u64,
    ranges: Option<Vec<[f64; 2]>>,
    quota: Option<u64>,
    used: u64,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (name, addr, status) = ("Device Name", "Addresses", "Status");
    write!(f, "{name:<15} {addr:>18} {status:>14}")?;
    writeln!(f, "{:>11} {:>11} {:>13}", "AllowPkt", "AllowByte", "DropPkt")?;
    rows.iter().try_for_each(|row| {
        let (mac, status) = (row.mac.to_string(), row.status.to_string());
        write!(f, "{:<15} {mac:>18} {status:>14}", row.name)?;
        write!(f, "{:>11} {:>11}", row.allowed_packets, row.allowed_bytes)?;
        writeln!(f, " {:>13}", row.dropped_packets)?;
        for [start, end] in row.ranges.iter().flatten() {
            writeln!(f, "  range {} - {}", moment(*start), moment(*end))?;
        }
        match (row.quota, &row.ranges) {
            (Some(quota), Some(_)) => writeln!(f, "  used {} of {quota} bytes", row.used),
            _ => Ok(()),
        }
    })
}

/// A time of the week: `Mon 09:00:00`.
fn moment(time: f64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    let second = time as u32;
    let day = DAYS[(second / 86_400) as usize % 7];
    let (hour, minute) = (second / 3600 % 24, second / 60 % 60);
    format!("{day} {hour:02}:{minute:02}:{:02}", second % 60)
}

fn status(device: &Device) -> &'static str {
    let Terms { ranges, drops, .. } = &device.terms;
    match (ranges.is_empty(), *drops, device.is_in_range) {
        (true, true, _) => "static drop",
        (true, false, _) => "static allow",
        (false, drops, is_in_range) if drops == is_in_range => "dynamic drop",
        _ => "dynamic allow",
    }
}

fn rows(router: &Router, verbose: bool) -> Vec<Row> {
    let devices = router.own::<Devices>();
    let row = |(mac, device): (&MacAddr, &Device)| {
        let allowed = devices.counters.allowed.sum(device.column as usize);
        let ranges = device.terms.ranges.iter().map(|range| [range.start, range.end]);
        Row {
            name: device.terms.name.clone(),
            mac: mac.to_string(),
            status: status(device),
            allowed_packets: allowed.packets,
            allowed_bytes: allowed.bytes,
            dropped_packets: devices.counters.dropped.sum(device.column as usize).packets,
            ranges: verbose.then(|| ranges.collect()),
            quota: device.terms.quota,
            used: devices.used(device),
        }
    };
    devices.all.iter().map(row).collect()
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (mac, device) in &router.own::<Devices>().all {
        lines.push(&SetDevice { mac: *mac, terms: Some(device.terms.clone()) });
    }
    for (interface, watched) in router.settings::<Watched>() {
        if watched.0 {
            lines.push(&SetWatched { interface, disable: false });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetWatched| Ok(watch(router, c.interface, !c.disable)?));
    cli.command(|router: &mut Router, c: SetDevice| {
        Ok(match c.terms {
            Some(terms) => device::put(router, c.mac, terms),
            None => device::remove(router, c.mac),
        }?)
    });
    cli.command(|router: &mut Router, c: Show| {
        Ok(Output::rows(rows(router, c.verbose), write_rows))
    });
    cli.command(|_: &mut Router, _: Test| Ok(Output::text(try_times())));
    cli.command(|router: &mut Router, _: Clear| {
        device::clear(router);
        Ok(())
    });
}
