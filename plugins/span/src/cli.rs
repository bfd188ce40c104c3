//! `set interface span`, `show interface span`.

use net::prelude::*;

use super::{Directions, MirrorPoint};

/// `set interface span INTERFACE [l2] {disable | destination INTERFACE [both|rx|tx]}`.
#[derive(Debug, PartialEq)]
struct SetSpan {
    from: InterfaceIndex,
    is_l2: bool,
    to: Option<InterfaceIndex>,
    which: Directions,
}

impl Command for SetSpan {
    const PATHS: &'static [&'static str] = &["set interface span"];
    const ABOUT: &'static str = "Mirror an interface's received or transmitted packets to another";
    const USAGE: &'static str =
        "<interface> [l2] {disable | destination <interface> [both|rx|tx|disable]}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut from = None;
        let (mut is_l2, mut to, mut which) = (false, None, None);
        while !args.is_empty() {
            if args.keyword("l2") {
                is_l2 = true;
            } else if args.keyword("destination") {
                to = Some(args.value("interface")?);
            } else if args.keyword("disable") {
                which = Some(Directions::default());
            } else if args.keyword("both") {
                which = Some(Directions { rx: true, tx: true });
            } else if args.keyword("rx") {
                which = Some(Directions { rx: true, tx: false });
            } else if args.keyword("tx") {
                which = Some(Directions { rx: false, tx: true });
            } else if from.is_none() {
                from = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let from = from.ok_or_else(|| args.error("expected an interface"))?;
        if to.is_none() && which != Some(Directions::default()) {
            return Err(args.error("expected disable or destination"));
        }
        Ok(Self { from, is_l2, to, which: which.unwrap_or(Directions { rx: true, tx: true }) })
    }
}

impl Print for SetSpan {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.from).flag("l2", self.is_l2).option("destination", self.to.as_ref());
        line.word(match self.which {
            Directions { rx: true, tx: true } => "both",
            Directions { rx: true, .. } => "rx",
            Directions { tx: true, .. } => "tx",
            _ => "disable",
        });
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (at, is_l2) in [(MirrorPoint::Device, false), (MirrorPoint::Layer2, true)] {
        for (from, to, which) in super::all(router, at) {
            lines.push(&SetSpan { from, is_l2, to: Some(to), which });
        }
    }
}

/// Show mirroring.
#[derive(Command)]
#[command("show interface span")]
struct ShowSpan;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetSpan| {
        let at = if c.is_l2 { MirrorPoint::Layer2 } else { MirrorPoint::Device };
        Ok(super::set(router, c.from, c.to, at, c.which)?)
    });
    cli.command(|router: &mut Router, _: ShowSpan| {
        let mut pairs = BTreeMap::<_, [Directions; 2]>::new();
        for at in [MirrorPoint::Device, MirrorPoint::Layer2] {
            for (from, to, which) in super::all(router, at) {
                pairs.entry((from, to)).or_default()[at as usize] = which;
            }
        }
        let name = |i: InterfaceIndex| router.interfaces.name(i.0).to_owned();
        let row = |((from, to), which): (_, [Directions; 2])| {
            let [device, l2] = which.map(word);
            Row { source: name(from), destination: name(to), device, l2 }
        };
        Ok(Output::rows(pairs.into_iter().map(row), write_rows))
    });
}

fn word(which: Directions) -> &'static str {
    match (which.rx, which.tx) {
        (true, true) => "both",
        (true, false) => "rx",
        (false, true) => "tx",
        (false, false) => "none",
    }
}

#[derive(Serialize)]
struct Row {
    source: String,
    destination: String,
    device: &'static str,
    l2: &'static str,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "{:<32} {:<32}  {:>6}  {:>7}", "Source", "Destination", "Device", "L2")?;
    rows.iter().try_for_each(|Row { source, destination, device, l2 }| {
        writeln!(f, "{source:<32} {destination:<32} ({device:>6}) ({l2:>6})")
    })
}
