//! Commands of deterministic NAT.

use std::fmt::Write;

use control::cli::Error as CliError;
use control::configuration::Lines as Configuration;
use net::interface;
use net::prelude::*;
use sessions::slices::Gather;
use translation::session::{NatSession, Timeouts};
use translation::words::{below, end};

use crate::map::Map;
use crate::state::{self, Error, Role, Side, settings};

/// `det44 plugin`.
enum Plugin {
    Enable([u32; 2]),
    Disable,
}

impl Command for Plugin {
    const PATHS: &'static [&'static str] = &["det44 plugin"];
    const ABOUT: &'static str =
        "Enable or disable deterministic NAT; disabling deletes its settings and sessions";
    const USAGE: &'static str = "enable|disable [inside vrf <table>] [outside vrf <table>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut vrfs, mut is_on) = ([0; 2], None);
        while !args.is_empty() {
            let words = [["inside vrf", "inside-vrf"], ["outside vrf", "outside-vrf"]];
            if args.keyword("enable") {
                is_on = Some(true);
            } else if args.keyword("disable") {
                is_on = Some(false);
            } else {
                let at = words.iter().position(|both| both.iter().any(|word| args.keyword(word)));
                vrfs[at.ok_or_else(|| args.unknown())?] = args.value("table")?;
            }
        }
        match is_on {
            Some(true) => Ok(Self::Enable(vrfs)),
            Some(false) => Ok(Self::Disable),
            None => Err("expected enable or disable".into()),
        }
    }
}

/// `det44 add`.
struct AddMap {
    inside: Ip4Prefix,
    outside: Ip4Prefix,
    is_add: bool,
}

impl Command for AddMap {
    const PATHS: &'static [&'static str] = &["det44 add"];
    const ABOUT: &'static str = "Add or delete a mapping of an inside network to an outside \
        network";
    const USAGE: &'static str = "in <prefix> out <prefix> [del]";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut inside, mut outside, mut is_add) = (None, None, true);
        while !args.is_empty() {
            if args.keyword("in") {
                inside = Some(args.value("in")?);
            } else if args.keyword("out") {
                outside = Some(args.value("out")?);
            } else if args.keyword("del") {
                is_add = false;
            } else {
                return Err(args.unknown());
            }
        }
        let inside = inside.ok_or_else(|| CliError::from("expected in and a prefix"))?;
        let outside = outside.ok_or_else(|| CliError::from("expected out and a prefix"))?;
        Ok(Self { inside, outside, is_add })
    }
}

/// Set the inside and outside interfaces, or remove them
#[derive(Command)]
#[command("set interface det44")]
struct SetSides {
    #[flatten]
    sides: interface::Sides<true>,
    /// remove
    del: bool,
}

/// Show the outside address and ports of a host
#[derive(Command)]
#[command("det44 forward")]
struct Forward {
    /// the host
    #[positional]
    host: Ipv4Addr,
}

/// `det44 reverse`.
struct Reverse((Ipv4Addr, u16));

impl Command for Reverse {
    const PATHS: &'static [&'static str] = &["det44 reverse"];
    const ABOUT: &'static str = "Show the inside host of an outside address and port";
    const USAGE: &'static str = "<end>";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Ok(Self(end(args, "what is outside")?))
    }
}

/// `det44 close session in`, `out`.
struct Close<const OUTSIDE: bool>(state::End, state::End);

impl<const OUTSIDE: bool> Command for Close<OUTSIDE> {
    const PATHS: &'static [&'static str] =
        if OUTSIDE { &["det44 close session out"] } else { &["det44 close session in"] };
    const ABOUT: &'static str = "Close a session, given two of its endpoints";
    const USAGE: &'static str = "<end> <far-end>";

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Ok(Self(end(args, "the end")?, end(args, "the far end")?))
    }
}

/// `set det44 timeouts`.
struct SetTimeouts {
    udp: Option<u32>,
    established: Option<u32>,
    transitory: Option<u32>,
    icmp: Option<u32>,
    reset: bool,
}

impl Command for SetTimeouts {
    const PATHS: &'static [&'static str] = &["set det44 timeouts"];
    const ABOUT: &'static str = "Set session timeouts, in seconds";
    const USAGE: &'static str = concat!(
        "[udp <seconds:1-4294967295>] [tcp established|transitory <seconds:1-4294967295>] ",
        "[icmp <seconds:1-4294967295>] [reset]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let mut set =
            Self { udp: None, established: None, transitory: None, icmp: None, reset: false };
        while !args.is_empty() {
            let place = if args.keyword("udp") {
                &mut set.udp
            } else if args.keyword("icmp") {
                &mut set.icmp
            } else if args.keyword("tcp") {
                if args.keyword("established") {
                    &mut set.established
                } else if args.keyword("transitory") {
                    &mut set.transitory
                } else {
                    return Err(args.error("expected established or transitory"));
                }
            } else if args.keyword("reset") {
                set.reset = true;
                continue;
            } else {
                return Err(args.unknown());
            };
            *place = Some(args.value("seconds")?);
        }
        Ok(set)
    }
}

macro_rules! shows {
    ($($(#[$doc:meta])* $name:ident, $path:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Command)]
        #[command($path)]
        struct $name {}
    )*};
}

shows! {
    /// Show inside and outside interfaces
    Interfaces, "show det44 interfaces";
    /// Show mappings
    Mappings, "show det44 mappings";
    /// Show sessions
    Sessions, "show det44 sessions";
    /// Show session timeouts
    ShowTimeouts, "show det44 timeouts";
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, plugin: Plugin| match plugin {
        Plugin::Enable([inside, outside]) => Ok(state::enable(router, inside, outside)?),
        Plugin::Disable => Ok(state::disable(router)?),
    });
    cli.command(|router: &mut Router, add: AddMap| {
        Ok(state::set_map(router, add.inside, add.outside, add.is_add)?)
    });
    cli.command(|router: &mut Router, set: SetSides| {
        Ok(set.sides.apply(router, !set.del, |router, interface, is_inside, is_add| {
            let side = if is_inside { Side::Inside } else { Side::Outside };
            state::set_side(router, interface, side, is_add)
        })?)
    });
    cli.command(|router: &mut Router, set: SetTimeouts| {
        let now = settings(router)?.timeouts;
        let now = if set.reset { Timeouts::default() } else { now };
        let new = Timeouts {
            udp: set.udp.unwrap_or(now.udp),
            established: set.established.unwrap_or(now.established),
            transitory: set.transitory.unwrap_or(now.transitory),
            icmp: set.icmp.unwrap_or(now.icmp),
        };
        Ok(state::set_timeouts(router, new)?)
    });
    let answer = |done: Result<(), Error>| Ok(done.map(|()| Output::none())?);
    cli.task(move |router: &mut Router, close: Close<true>| {
        Ok(Box::new(state::close(router, close.0, close.1, true, answer)?) as _)
    });
    cli.task(move |router: &mut Router, close: Close<false>| {
        Ok(Box::new(state::close(router, close.0, close.1, false, answer)?) as _)
    });
    cli.command(|router: &mut Router, Forward { host }| {
        let map = state::map_of(router, host)?;
        let (addr, ports) = map.forward(host).ok_or(Error::NoMapFor(host))?;
        let (first, last) = ports.into_inner();
        Ok(Output::list(vec![format!("{addr}:<{first}-{last}>")]))
    });
    cli.command(|router: &mut Router, Reverse((addr, port))| {
        let host = state::host_of(router, addr, port)?;
        Ok(Output::list(vec![host.to_string()]))
    });
    cli.command(|router: &mut Router, Interfaces {}| Ok(Output::list(interfaces(router))));
    cli.task(|router: &mut Router, Mappings {}| {
        let answer = |found: Result<Vec<_>, _>| {
            Ok(Output::list(mappings(&found.map_err(|_| Error::NoAnswer)?)))
        };
        Ok(Box::new(Gather::all(crate::api::maps(router), move |_, found| answer(found))) as _)
    });
    cli.task(|router: &mut Router, Sessions {}| {
        let all = state::slices(router, |_| true);
        Ok(Box::new(Gather::first(all, |router, found| {
            Ok(Output::list(sessions(router.now(), &found.map_err(|_| Error::NoAnswer)?)))
        })) as _)
    });
    cli.command(|router: &mut Router, ShowTimeouts {}| {
        let t = settings(router).map_or_else(|_| Timeouts::default(), |s| s.timeouts);
        let line = |name: &str, seconds: u32| format!("{name} timeout: {seconds}sec");
        Ok(Output::list(vec![
            line("udp", t.udp),
            line("tcp established", t.established),
            line("tcp transitory", t.transitory),
            line("icmp", t.icmp),
        ]))
    });
}

fn word(side: Side) -> &'static str {
    if side == Side::Inside { "in" } else { "out" }
}

fn interfaces(router: &Router) -> Vec<String> {
    let all = router.settings::<Role>();
    let line = |(interface, role): (InterfaceIndex, &Role)| {
        format!(" {} {}", router.interfaces.name(interface.0), word(role.side))
    };
    below("DET44 interfaces:", all.map(line))
}

fn mappings(all: &[(Map, u32)]) -> Vec<String> {
    let mut lines = vec!["NAT44 deterministic mappings:".to_owned()];
    for (map, sessions) in all {
        lines.push(format!(" in {} out {}", map.inside, map.outside));
        lines.push(format!("  outside address sharing ratio: {}", map.sharing_ratio()));
        lines.push(format!("  number of ports per inside host: {}", map.ports_per_host()));
        lines.push(format!("  sessions number: {sessions}"));
    }
    lines
}

fn sessions(now: f64, all: &[(NatSession, Timeouts)]) -> Vec<String> {
    let addr = |addr: [u8; 4]| Ipv4Addr::from(addr);
    let line = |(s, timeouts): &(NatSession, Timeouts)| {
        let (f, r) = (&s.forward, &s.reverse);
        let far_port = if f.protocol() == Protocol::ICMP { 0 } else { r.src_port };
        let mut line = format!(
            "  in {}:{} out {}:{} external host {}:{}",
            addr(f.src),
            f.src_port,
            addr(r.dst),
            r.dst_port,
            addr(r.src),
            far_port
        );
        let state = match f.protocol() {
            Protocol::TCP => format!("tcp-{}", s.data.tcp.name()),
            Protocol::UDP => "udp-active".to_owned(),
            _ => "icmp-active".to_owned(),
        };
        let left = s.heard() + f64::from(timeouts.of(s)) - now;
        let _ = write!(line, " state: {state} expire: {left:.0}");
        line
    };
    below("NAT44 deterministic sessions:", all.iter().map(line))
}

pub(super) fn configuration(router: &Router, lines: &mut Configuration<'_>) {
    let Ok(s) = settings(router) else { return };
    let mut plugin = "det44 plugin enable".to_owned();
    for (word, vrf) in [("inside vrf", s.inside_vrf), ("outside vrf", s.outside_vrf)] {
        if vrf != 0 {
            let _ = write!(plugin, " {word} {vrf}");
        }
    }
    lines.push_undone(Stage::Settings, &plugin, "det44 plugin disable");
    let Timeouts { udp, established, transitory, icmp } = s.timeouts;
    if s.timeouts != Timeouts::default() {
        let tcp = format!("tcp established {established} tcp transitory {transitory}");
        let line = format!("set det44 timeouts udp {udp} {tcp} icmp {icmp}");
        lines.push_undone(Stage::Attachments, &line, "=set det44 timeouts reset");
    }
    for map in s.maps.iter() {
        let line = format!("det44 add in {} out {}", map.inside, map.outside);
        lines.push_undone(Stage::Attachments, &line, "{} del");
    }
    for (interface, role) in router.settings::<Role>() {
        let name = router.interfaces.name(interface.0);
        let line = format!("set interface det44 {}side {name}", word(role.side));
        lines.push_undone(Stage::Attachments, &line, "{} del");
    }
}
