//! `set tcp`, `set udp`, `show tcp config`, `tcp src-address`.

use std::fmt;
use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print};
use control::configuration::{Lines, Stage};
use net::Router;

use super::super::Control;
use super::super::settings::{self, Tcp};
use super::super::sources::{self, Range};

/// Text for settings without effect.
const CHECKSUMS: &str = "no effect: checksums are computed where a device does not";

/// `set tcp [csum-offload|byte-tracker|dsack enable|disable] [mtu N] [initial-cwnd-multiplier N]`.
#[derive(Debug, Default, PartialEq)]
struct SetTcp {
    /// Accepted and ignored.
    csum_offload: Option<bool>,
    /// Accepted and ignored.
    byte_tracker: Option<bool>,
    dsack: Option<bool>,
    mtu: Option<u32>,
    multiplier: Option<u32>,
}

/// Parses enable or disable; the default is enable.
fn switched(args: &mut Args<'_>) -> Option<bool> {
    let is_off = args.keyword("disable") || args.keyword("off");
    let _ = is_off || args.keyword("enable") || args.keyword("on");
    Some(!is_off)
}

impl Command for SetTcp {
    const PATHS: &'static [&'static str] = &["set tcp"];
    const ABOUT: &'static str = "Set parameters of TCP in the host stack; csum-offload and \
         byte-tracker are accepted without effect";
    const USAGE: &'static str = "[csum-offload [enable|disable|on|off]] \
         [byte-tracker [enable|disable|on|off]] [dsack [enable|disable|on|off]] \
         [mtu <bytes>] [initial-cwnd-multiplier <n>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut new = Self::default();
        if args.is_empty() {
            return Err(args.error("expected a parameter"));
        }
        while !args.is_empty() {
            if args.keyword("csum-offload") {
                new.csum_offload = switched(args);
            } else if args.keyword("byte-tracker") {
                new.byte_tracker = switched(args);
            } else if args.keyword("dsack") {
                new.dsack = switched(args);
            } else if args.keyword("mtu") {
                new.mtu = Some(args.value("mtu")?);
            } else if args.keyword("initial-cwnd-multiplier") {
                new.multiplier = Some(args.value("multiplier")?);
            } else {
                return Err(args.unknown());
            }
        }
        Ok(new)
    }
}

fn set_tcp(router: &mut Router, c: &SetTcp) -> Result<Output, Error> {
    settings::change(router, |settings| {
        let tcp = &mut settings.tcp;
        tcp.has_dsack = c.dsack.unwrap_or(tcp.has_dsack);
        tcp.mtu = c.mtu.unwrap_or(tcp.mtu);
        tcp.initial_cwnd_multiplier = c.multiplier.unwrap_or(tcp.initial_cwnd_multiplier);
    })
    .map_err(Error::new)?;
    let mut out = String::new();
    if c.csum_offload.is_some() {
        out += &format!("TCP csum offload: {CHECKSUMS}\n");
    }
    if c.byte_tracker.is_some() {
        out += "TCP byte tracker: no effect: congestion control measures what it needs\n";
    }
    if let Some(on) = c.dsack {
        out += &format!("TCP dsack: {}\n", if on { "enabled" } else { "disabled" });
    }
    for (name, number) in [("default mtu", c.mtu), ("initial cwnd multiplier", c.multiplier)] {
        if let Some(number) = number {
            out += &format!("TCP {name}: {number}\n");
        }
    }
    Ok(Output::text(out))
}

/// `set udp csum-offload [enable|disable]`.
#[derive(Debug, PartialEq)]
struct SetUdp;

impl Command for SetUdp {
    const PATHS: &'static [&'static str] = &["set udp"];
    const ABOUT: &'static str = "Accepted and ignored";
    const USAGE: &'static str = "csum-offload [enable|disable|on|off]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if !args.keyword("csum-offload") {
            return Err(args.unknown());
        }
        switched(args);
        Ok(Self)
    }
}

/// Show TCP parameters of the host stack.
#[derive(Command)]
#[command("show tcp config")]
struct ShowConfig;

fn parameters(tcp: &Tcp) -> [(&'static str, String); 14] {
    let state = |on: bool| if on { "enabled" } else { "disabled" }.to_owned();
    let time = |seconds: u32| format!("{seconds}s");
    [
        ("max rx fifo size", format!("{} bytes", tcp.max_rx_fifo)),
        ("default mtu", tcp.mtu.to_string()),
        ("initial cwnd multiplier", tcp.initial_cwnd_multiplier.to_string()),
        ("max gso size", tcp.max_gso_size.to_string()),
        ("tso", state(tcp.has_tso)),
        ("checksum offload", state(true)),
        ("dsack", state(tcp.has_dsack)),
        ("congestion control algorithm", tcp.algorithm.to_string()),
        ("syn-rcvd time", time(tcp.syn_rcvd_time)),
        ("finwait1 time", time(tcp.finwait1_time)),
        ("finwait2 time", time(tcp.finwait2_time)),
        ("closing time", time(tcp.closing_time)),
        ("lastack time", time(tcp.lastack_time)),
        ("timewait time", time(tcp.timewait_time)),
    ]
}

fn write_parameters(rows: &[(&'static str, String)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let rule = "-".repeat(40);
    writeln!(f, "{rule}\ntcp config\n{rule}")?;
    for (name, value) in rows {
        writeln!(f, "{:<32}{value}", format!("{name}:"))?;
    }
    Ok(())
}

/// `tcp src-address FIRST [- LAST] [fib-table N] [del]`.
#[derive(Debug, PartialEq)]
struct SetSources {
    range: Range,
    is_add: bool,
}

impl Command for SetSources {
    const PATHS: &'static [&'static str] = &["tcp src-address"];
    const ABOUT: &'static str = "Add or delete source addresses of outgoing connections";
    const USAGE: &'static str = "<first-address> [- <last-address>] [fib-table <id>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let first: IpAddr = args.value("first address")?;
        let mut range = Range { vrf: 0, first, last: first };
        let mut is_add = true;
        while !args.is_empty() {
            if args.keyword("-") {
                range.last = args.value("last address")?;
            } else if args.keyword("fib-table") {
                range.vrf = args.value("table")?;
            } else if args.keyword("del") {
                is_add = false;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self { range, is_add })
    }
}

impl Print for SetSources {
    const STAGE: Stage = Stage::Settings;
    fn print(&self, line: &mut Line<'_>) {
        let Range { vrf, first, last } = self.range;
        line.value(&first);
        if last != first {
            line.keyword("-", &last);
        }
        line.option("fib-table", Some(&vrf).filter(|vrf| **vrf != 0));
        line.flag("del", !self.is_add);
    }
}

/// TCP parameters as the commands that set them.
fn words(tcp: &Tcp) -> [String; 3] {
    let dsack = if tcp.has_dsack { "enable" } else { "disable" };
    [
        format!("set tcp dsack {dsack}"),
        format!("set tcp mtu {}", tcp.mtu),
        format!("set tcp initial-cwnd-multiplier {}", tcp.initial_cwnd_multiplier),
    ]
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let control = router.own::<Control>();
    let (now, start) = (control.settings.current(), &control.startup);
    for (now, start) in words(&now.tcp).into_iter().zip(words(&start.tcp)) {
        if now != start {
            lines.push_undone(Stage::Settings, &now, &start);
        }
    }
    for range in sources::all(router) {
        lines.push(&SetSources { range: *range, is_add: true });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTcp| set_tcp(router, &c));
    cli.command(|_: &mut Router, _: SetUdp| {
        Ok(Output::text(format!("UDP csum offload: {CHECKSUMS}")))
    });
    cli.command(|router: &mut Router, _: ShowConfig| {
        Ok(Output::rows(parameters(&settings::current(router).tcp), write_parameters))
    });
    cli.command(|router: &mut Router, c: SetSources| {
        let change = if c.is_add { sources::add } else { sources::remove };
        Ok(change(router, c.range)?)
    });
}
