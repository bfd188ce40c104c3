//! Commands about MSS clamping.

use net::prelude::*;

use super::{Both, Clamping};

/// `set interface tcp-mss-clamp INTERFACE ip4 [enable|disable|rx|tx] ip4-mss SIZE ip6 ...`.
#[derive(Debug, PartialEq)]
struct SetClamp {
    interface: InterfaceIndex,
    /// Directions of IPv4 and IPv6, as far as they are named.
    directions: [Option<(bool, bool)>; 2],
    mss: [Option<u16>; 2],
}

impl Command for SetClamp {
    const PATHS: &'static [&'static str] = &["set interface tcp-mss-clamp"];
    const ABOUT: &'static str = "Set or disable the TCP MSS clamp of an interface";
    const USAGE: &'static str = concat!(
        "<interface> [ip4 [enable|disable|rx|tx]] [ip4-mss <size:1-65535>] ",
        "[ip6 [enable|disable|rx|tx]] [ip6-mss <size:1-65535>]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut interface, mut directions, mut mss) = (None, [None; 2], [None; 2]);
        while !args.is_empty() {
            if args.keyword("ip4-mss") {
                mss[0] = Some(args.value("ip4-mss")?);
            } else if args.keyword("ip6-mss") {
                mss[1] = Some(args.value("ip6-mss")?);
            } else if args.keyword("ip4") {
                directions[0] = Some(direction(args));
            } else if args.keyword("ip6") {
                directions[1] = Some(direction(args));
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        Ok(Self { interface, directions, mss })
    }
}

impl Print for SetClamp {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str =
        "=set interface tcp-mss-clamp {1} ip4 disable ip4-mss 0 ip6 disable ip6-mss 0";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface);
        for (n, (version, mss)) in [("ip4", "ip4-mss"), ("ip6", "ip6-mss")].into_iter().enumerate()
        {
            let named = |(_, d): &&(&str, _)| Some(*d) == self.directions[n];
            let word = DIRECTIONS.iter().find(named).map(|(word, _)| word);
            line.option(version, word).option(mss, self.mss[n].as_ref());
        }
    }
}

/// Whether received and sent packets are clamped.
const DIRECTIONS: [(&str, (bool, bool)); 4] = [
    ("enable", (true, true)),
    ("disable", (false, false)),
    ("rx", (true, false)),
    ("tx", (false, true)),
];

/// Packets that are clamped: in both directions when none is named.
fn direction(args: &mut Args<'_>) -> (bool, bool) {
    let found = DIRECTIONS.iter().find(|(word, _)| args.keyword(word));
    found.map_or((true, true), |(_, direction)| *direction)
}

/// The interfaces with clamping.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, both) in router.settings::<Both>() {
        let directions = both.map(|c| Some((c.rx, c.tx)).filter(|d| *d != (false, false)));
        let mss = both.map(|c| Some(c.mss).filter(|mss| *mss != 0));
        lines.push(&SetClamp { interface, directions, mss });
    }
}

/// Show TCP MSS clamps.
#[derive(Command)]
#[command("show interface tcp-mss-clamp")]
struct ShowClamp {
    /// only this one
    #[positional]
    interface: Option<InterfaceIndex>,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetClamp| {
        let mut both = router.setting::<Both>(set.interface);
        for ((clamping, directions), mss) in both.iter_mut().zip(set.directions).zip(set.mss) {
            (clamping.rx, clamping.tx) = directions.unwrap_or((clamping.rx, clamping.tx));
            clamping.mss = mss.unwrap_or(clamping.mss);
        }
        Ok(super::set(router, set.interface, both)?)
    });
    cli.command(|router: &mut Router, show: ShowClamp| {
        let meant =
            super::all(router).filter(|(i, _)| show.interface.is_none_or(|only| only == *i));
        let rows = meant.map(|(i, [ip4, ip6])| Row {
            interface: router.interfaces.name(i.0).to_owned(),
            ip4: Shown::of(ip4),
            ip6: Shown::of(ip6),
        });
        Ok(Output::rows(rows, write_rows))
    });
}

#[derive(Serialize)]
struct Shown {
    direction: &'static str,
    mss: u16,
}

impl Shown {
    fn of(clamping: Clamping) -> Self {
        let direction = match (clamping.rx, clamping.tx) {
            (true, true) => "RX/TX",
            (true, false) => "RX",
            (false, true) => "TX",
            (false, false) => "NONE",
        };
        Self { direction, mss: clamping.mss }
    }
}

#[derive(Serialize)]
struct Row {
    interface: String,
    ip4: Shown,
    ip6: Shown,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Row { interface, ip4, ip6 }| {
        writeln!(f, "{interface}:")?;
        writeln!(f, "  ip4: dir {} mss {}", ip4.direction, ip4.mss)?;
        writeln!(f, "  ip6: dir {} mss {}", ip6.direction, ip6.mss)
    })
}
