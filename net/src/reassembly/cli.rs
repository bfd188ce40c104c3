//! Commands about reassembly.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print};
use control::configuration::{Lines, Stage};
use serde::Serialize;

use super::{Config, Kind, OnInterface};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// `set interface reassembly INTERFACE on|off|ip4|ip6 [shallow]`.
#[derive(Debug, PartialEq)]
struct SetReassembly {
    interface: InterfaceIndex,
    on: [bool; 2],
    kind: Kind,
}

impl Command for SetReassembly {
    const PATHS: &'static [&'static str] = &["set interface reassembly"];
    const ABOUT: &'static str = "Enable or disable reassembly on an interface";
    const USAGE: &'static str = "<interface> {on|off|ip4|ip6} [shallow]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let named = VERSIONS.iter().find(|(word, _)| args.keyword(word));
        let (_, on) = named.ok_or_else(|| args.error("expected on, off, ip4 or ip6"))?;
        let kind = if args.keyword("shallow") { Kind::Shallow } else { Kind::Full };
        Ok(Self { interface, on: *on, kind })
    }
}

const VERSIONS: [(&str, [bool; 2]); 4] =
    [("on", [true, true]), ("off", [false, false]), ("ip4", [true, false]), ("ip6", [false, true])];

impl Print for SetReassembly {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=set interface reassembly {1} off[ {?shallow} shallow]";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface);
        for (word, on) in VERSIONS {
            line.flag(word, on == self.on);
        }
        line.flag("shallow", self.kind == Kind::Shallow);
    }
}

/// Set the limits of reassembly.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ip reassembly limits")]
#[undo(
    "=set ip reassembly limits [ip6 {?ip6}] shallow {?shallow} timeout-ms 100 reassemblies 1024 \
     fragments 64 walk-ms 50|set ip reassembly limits [ip6 {?ip6}] timeout-ms 200 \
     reassemblies 1024 fragments 64 walk-ms 50"
)]
struct SetLimits {
    /// IPv6; default IPv4
    ip6: bool,
    /// shallow reassembly; default full
    shallow: bool,
    /// reassembly timeout in milliseconds
    timeout_ms: u32,
    /// maximum concurrent reassemblies per thread
    reassemblies: u32,
    /// maximum fragments per packet
    fragments: u32,
    /// milliseconds between checks for expired reassemblies
    walk_ms: u32,
}

/// Reassemble packets to the router, for the given address families.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ip reassembly local")]
#[undo("=set ip reassembly local ip4 ip6")]
struct SetLocal {
    /// IPv4
    ip4: bool,
    /// IPv6
    ip6: bool,
}

/// `set ip reassembly extended [ip4|ip6] [on|off]`.
#[derive(Debug, PartialEq)]
struct SetExtended {
    /// The version; both without.
    family: Option<usize>,
    on: bool,
}

impl Command for SetExtended {
    const PATHS: &'static [&'static str] = &["set ip reassembly extended"];
    const ABOUT: &'static str =
        "Extended shallow reassembly: hold fragments for the first and the last";
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

impl Print for SetExtended {
    const STAGE: Stage = Stage::Settings;
    fn print(&self, line: &mut Line<'_>) {
        line.flag("ip4", self.family == Some(0)).flag("ip6", self.family == Some(1));
        line.word(if self.on { "on" } else { "off" });
    }
}

/// Limits, and where fragments are put together.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let ms = |seconds: f64| (seconds * 1e3).round() as u32;
    let usual = [(Kind::Full, Config::FULL), (Kind::Shallow, Config::SHALLOW)];
    for (family, (kind, usual)) in (0..2).flat_map(|family| usual.map(|usual| (family, usual))) {
        let Config { timeout, most, longest, walk } = router.reassembly(family, kind);
        if router.reassembly(family, kind) != usual {
            lines.push(&SetLimits {
                ip6: family == 1,
                shallow: kind == Kind::Shallow,
                timeout_ms: ms(timeout),
                reassemblies: most,
                fragments: longest,
                walk_ms: ms(walk),
            });
        }
    }
    let [ip4, ip6] = router.local_reassembly();
    if !ip4 || !ip6 {
        lines.push(&SetLocal { ip4, ip6 });
    }
    for (family, on) in router.extended_reassembly().into_iter().enumerate().filter(|(_, on)| *on) {
        lines.push(&SetExtended { family: Some(family), on });
    }
    for (interface, on) in router.settings::<OnInterface>() {
        for (kind, on) in [(Kind::Full, on.full), (Kind::Shallow, on.shallow)] {
            if on != [false; 2] {
                lines.push(&SetReassembly { interface, on, kind });
            }
        }
    }
}

/// Show packets under reassembly.
#[derive(Command)]
#[command()]
struct Show {
    /// list each packet
    details: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetReassembly| {
        let done = router.enable_reassembly(set.interface, set.kind, set.on);
        Ok(done?)
    });
    cli.command(|router: &mut Router, set: SetLimits| {
        let seconds = |ms: u32| f64::from(ms) / 1e3;
        let (timeout, walk) = (seconds(set.timeout_ms), seconds(set.walk_ms.max(1)));
        let config = Config { timeout, most: set.reassemblies, longest: set.fragments, walk };
        let kind = if set.shallow { Kind::Shallow } else { Kind::Full };
        let done = router.set_reassembly(set.ip6.into(), kind, config);
        Ok(done?)
    });
    cli.command(|router: &mut Router, set: SetLocal| {
        router.set_local_reassembly([set.ip4, set.ip6]);
        Ok(())
    });
    cli.command(|router: &mut Router, set: SetExtended| {
        let mut on = router.extended_reassembly();
        let meant = |family| set.family.is_none_or(|f| f == family);
        (0..2).filter(|f| meant(*f)).for_each(|family| on[family] = set.on);
        router.set_extended_reassembly(on);
        Ok(Output::none())
    });
    for (path, family, kind) in [
        ("show ip4-full-reassembly", 0, Kind::Full),
        ("show ip6-full-reassembly", 1, Kind::Full),
        ("show ip4-sv-reassembly", 0, Kind::Shallow),
        ("show ip6-sv-reassembly", 1, Kind::Shallow),
    ] {
        cli.command_at(path, move |router: &mut Router, c: Show| {
            Ok(show(router, family, kind, c.details))
        });
    }
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
        let line = "-".repeat(21);
        let family = title.split(' ').next_back().unwrap_or_default();
        writeln!(f, "{line}\n{family} reassembly status\n{line}")?;
        self.packets.iter().try_for_each(|packet| writeln!(f, "  {packet}"))?;
        let ms = |seconds: f64| (seconds * 1e3).round();
        // The word before the version stands for full reassembly of IPv4 alone.
        let counted = if *title == "full IP4" { title } else { family };
        writeln!(f, "{line}\nCurrent {counted} reassemblies count: {count}")?;
        let most = "Maximum configured";
        let Config { timeout, most: reassemblies, longest, walk } = config;
        writeln!(
            f,
            "{most} concurrent {title} reassemblies per worker-thread: {reassemblies}\n\
             {most} amount of fragments per {title} reassembly: {longest}"
        )?;
        writeln!(f, "{most} {title} reassembly timeout: {}ms", ms(*timeout))?;
        writeln!(f, "{most} {title} reassembly expire walk interval: {}ms", ms(*walk))?;
        writeln!(f, "Buffers in use: {fragments}")
    }
}
