//! Commands about reassembly.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output, Word};
use serde::Serialize;

use super::{Config, Kind};
use crate::router::Router;

/// `set interface reassembly INTERFACE [on|off|ip4|ip6]`.
struct SetReassembly {
    interface: Word,
    on: [bool; 2],
}

impl Command for SetReassembly {
    const PATHS: &'static [&'static str] = &["set interface reassembly"];
    const ABOUT: &'static str = "Have an interface put fragments together";
    const USAGE: &'static str = "<interface> [on|off|ip4|ip6]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let on = match args.peek() {
            Some("on") => [true, true],
            Some("off") => [false, false],
            Some("ip4") => [true, false],
            Some("ip6") => [false, true],
            _ => return Err(args.error("expected on, off, ip4 or ip6")),
        };
        args.word();
        Ok(Self { interface, on })
    }
}

/// `set ip reassembly extended [ip4|ip6] [on|off]`.
struct SetExtended {
    /// The version; both without.
    family: Option<usize>,
    on: bool,
}

impl Command for SetExtended {
    const PATHS: &'static [&'static str] = &["set ip reassembly extended"];
    const ABOUT: &'static str =
        "Have fragments wait for the last one as well as the first in shallow reassembly";
    const USAGE: &'static str = "[ip4|ip6] [on|off]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut family, mut on) = (None, true);
        while !args.is_empty() {
            match args.peek() {
                Some("ip4") => family = Some(0),
                Some("ip6") => family = Some(1),
                Some(word @ ("on" | "off")) => on = word == "on",
                _ => return Err(args.error("expected ip4, ip6, on or off")),
            }
            args.word();
        }
        Ok(Self { family, on })
    }
}

/// Show packets that are being put together.
#[derive(Command)]
#[command("show ip4-full-reassembly")]
struct ShowFull4 {
    /// each packet
    details: bool,
}

/// Show packets that are being put together.
#[derive(Command)]
#[command("show ip6-full-reassembly")]
struct ShowFull6 {
    /// each packet
    details: bool,
}

/// Show packets whose fragments come.
#[derive(Command)]
#[command("show ip4-sv-reassembly")]
struct ShowShallow4 {
    /// each packet
    details: bool,
}

/// Show packets whose fragments come.
#[derive(Command)]
#[command("show ip6-sv-reassembly")]
struct ShowShallow6 {
    /// each packet
    details: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetReassembly| {
        let found = router.interfaces.named(&set.interface);
        let interface = found.ok_or_else(|| set.interface.unknown("interface"))?.index;
        let done = router.enable_reassembly(interface, Kind::Full, set.on);
        done.map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router: &mut Router, set: SetExtended| {
        let mut on = router.extended_reassembly();
        let meant = |family| set.family.is_none_or(|f| f == family);
        (0..2).filter(|f| meant(*f)).for_each(|family| on[family] = set.on);
        router.set_extended_reassembly(on);
        Ok(Output::none())
    });
    cli.command(|router: &mut Router, c: ShowFull4| Ok(show(router, 0, Kind::Full, c.details)));
    cli.command(|router: &mut Router, c: ShowFull6| Ok(show(router, 1, Kind::Full, c.details)));
    cli.command(|router: &mut Router, c: ShowShallow4| {
        Ok(show(router, 0, Kind::Shallow, c.details))
    });
    cli.command(|router: &mut Router, c: ShowShallow6| {
        Ok(show(router, 1, Kind::Shallow, c.details))
    });
}

fn show(router: &mut Router, family: usize, kind: Kind, details: bool) -> Output {
    let usage = router.reassembly_usage(family, kind);
    let title = match (family, kind) {
        (0, Kind::Full) => "full IP4",
        (_, Kind::Full) => "full IP6",
        (0, Kind::Shallow) => "shallow virtual IP4",
        (_, Kind::Shallow) => "shallow virtual IP6",
    };
    let config = router.reassembly(family, kind);
    let (count, fragments) = (usage.contexts.len(), usage.fragments);
    let packets = if details { usage.contexts } else { Vec::new() };
    Output::of(Shown { title, packets, count, fragments, config })
}

#[derive(Serialize)]
struct Shown {
    #[serde(skip)]
    title: &'static str,
    packets: Vec<String>,
    count: usize,
    fragments: usize,
    config: Config,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, count, fragments, config, .. } = self;
        self.packets.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        let ms = |seconds: f64| (seconds * 1e3).round();
        writeln!(f, "Number of {title} reassemblies: {count}")?;
        writeln!(f, "Fragments held: {fragments}")?;
        let what = format!("Maximum configured {title} reassemblies per thread");
        writeln!(f, "{what}: {}", config.most)?;
        let what = format!("Maximum configured fragments of a {title} reassembly");
        writeln!(f, "{what}: {}", config.longest)?;
        writeln!(f, "Configured {title} reassembly timeout: {}ms", ms(config.timeout))?;
        write!(f, "Configured {title} expire walk interval: {}ms", ms(config.walk))
    }
}
