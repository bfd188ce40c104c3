//! Commands about sources and ports.

use net::prelude::*;
use wire::prefix::IpPrefix;

use super::{Checks, Lists, Ports, Vrfs};

/// `set ip source-and-port-range-check vrf ID PREFIX {port N | range N - N} [del]`.
#[derive(Debug, PartialEq)]
struct SetRanges {
    vrf: u32,
    prefix: Ip4Prefix,
    ranges: Vec<Ports>,
    on: bool,
}

impl Command for SetRanges {
    const PATHS: &'static [&'static str] = &["set ip source-and-port-range-check"];
    const ABOUT: &'static str = "Set the allowed port ranges of source prefixes";
    const USAGE: &'static str =
        "vrf <table-id> <ip-addr>/<mask> {port nn | range <nn> - <nn> | none} [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut vrf, mut prefix, mut ranges, mut on) = (None, None, Vec::new(), true);
        let mut is_none = false;
        while !args.is_empty() {
            if args.keyword("vrf") {
                vrf = Some(args.value("table id")?);
            } else if args.keyword("port") {
                let port = args.value("port")?;
                ranges.push(port..=port);
            } else if args.keyword("range") {
                ranges.push(range(args)?);
            } else if args.keyword("none") {
                is_none = true;
            } else if args.keyword("del") {
                on = false;
            } else {
                prefix = Some(args.value("prefix")?);
            }
        }
        if ranges.is_empty() != is_none {
            return Err(args.error("expected port or range"));
        }
        Ok(Self {
            vrf: vrf.ok_or_else(|| args.error("expected vrf"))?,
            prefix: prefix.ok_or_else(|| args.error("expected a prefix"))?,
            ranges,
            on,
        })
    }
}

impl Print for SetRanges {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("vrf", &self.vrf).value(&self.prefix);
        for ports in &self.ranges {
            line.keyword("range", &format_args!("{} - {}", ports.start(), ports.end()));
        }
        line.flag("none", self.ranges.is_empty()).flag("del", !self.on);
    }
}

/// `N - N` or `N-N`.
fn range(args: &mut Args<'_>) -> Result<Ports, Error> {
    let (low, high) = args.range("port")?;
    Ok(low..=high.ok_or_else(|| args.error("expected -"))?)
}

/// `set interface ip source-and-port-range-check INTERFACE [tcp-out-vrf ID] ... [del]`.
#[derive(Debug, PartialEq)]
struct SetInterface {
    interface: InterfaceIndex,
    vrfs: Vrfs,
}

impl Command for SetInterface {
    const PATHS: &'static [&'static str] = &["set interface ip source-and-port-range-check"];
    const ABOUT: &'static str = "Enable or disable source and port range checks on an interface";
    const USAGE: &'static str = "<interface> [tcp-out-vrf <table-id>] [udp-out-vrf <table-id>] \
        [tcp-in-vrf <table-id>] [udp-in-vrf <table-id>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut interface, mut vrfs, mut on) = (None, Vrfs::default(), true);
        while !args.is_empty() {
            if args.keyword("tcp-out-vrf") {
                vrfs.tcp_out = Some(args.value("table id")?);
            } else if args.keyword("udp-out-vrf") {
                vrfs.udp_out = Some(args.value("table id")?);
            } else if args.keyword("tcp-in-vrf") {
                vrfs.tcp_in = Some(args.value("table id")?);
            } else if args.keyword("udp-in-vrf") {
                vrfs.udp_in = Some(args.value("table id")?);
            } else if args.keyword("del") {
                on = false;
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        if on && vrfs == Vrfs::default() {
            return Err(args.error("expected a table"));
        }
        Ok(Self { interface, vrfs: if on { vrfs } else { Vrfs::default() } })
    }
}

impl Print for SetInterface {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        let Vrfs { tcp_out, udp_out, tcp_in, udp_in } = self.vrfs;
        line.value(&self.interface).option("tcp-out-vrf", tcp_out.as_ref());
        line.option("udp-out-vrf", udp_out.as_ref()).option("tcp-in-vrf", tcp_in.as_ref());
        line.option("udp-in-vrf", udp_in.as_ref()).flag("del", self.vrfs == Vrfs::default());
    }
}

/// The lists, and the interfaces that have some.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Checks { by_vrf, lists } = router.own();
    let lists = lists.current();
    let by_number: BTreeMap<u16, u32> = by_vrf.iter().map(|(vrf, at)| (*at, *vrf)).collect();
    for (at, vrf) in &by_number {
        let Some(list) = lists.get(usize::from(*at)) else { continue };
        let mut push = |prefix, ranges| {
            lines.push(&SetRanges { vrf: *vrf, prefix, ranges, on: true });
        };
        if list.ranges.is_empty() {
            push(IpPrefix::host(Ipv4Addr::UNSPECIFIED), Vec::new());
        }
        let sorted: BTreeMap<_, _> = list.ranges.iter().collect();
        sorted.into_iter().for_each(|(prefix, ranges)| push(*prefix, ranges.clone()));
    }
    for (interface, [rx, tx]) in router.settings::<Lists>() {
        let vrf = |list: Option<u16>| by_number.get(&list?).copied();
        let ([tcp_out, udp_out], [tcp_in, udp_in]) = (rx.map(vrf), tx.map(vrf));
        let vrfs = Vrfs { tcp_out, udp_out, tcp_in, udp_in };
        lines.push(&SetInterface { interface, vrfs });
    }
}

/// `show ip source-and-port-range-check vrf ID ADDRESS [port N]`.
struct Show {
    vrf: u32,
    source: Ipv4Addr,
    port: Option<u16>,
}

impl Command for Show {
    const PATHS: &'static [&'static str] = &["show ip source-and-port-range-check"];
    const ABOUT: &'static str = "Show the allowed port ranges of sources";
    const USAGE: &'static str = "vrf <table-id> <ip-addr> [port <n>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut vrf, mut source, mut port) = (None, None, None);
        while !args.is_empty() {
            if args.keyword("vrf") {
                vrf = Some(args.value("table id")?);
            } else if args.keyword("port") {
                port = Some(args.value("port")?);
            } else {
                source = Some(args.value("address")?);
            }
        }
        let vrf = vrf.ok_or_else(|| args.error("expected vrf"))?;
        let source = source.ok_or_else(|| args.error("expected an address"))?;
        Ok(Self { vrf, source, port })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetRanges| {
        if set.ranges.is_empty() && !set.on {
            return Ok(super::forget(router, set.vrf)?);
        }
        Ok(super::set_ranges(router, set.vrf, set.prefix, &set.ranges, set.on)?)
    });
    cli.command(|router: &mut Router, set: SetInterface| {
        Ok(super::check(router, set.interface, set.vrfs)?)
    });
    cli.command(|router: &mut Router, show: Show| {
        let ranges = super::ranges_of(router, show.vrf, show.source)?;
        let passes = show.port.map(|port| ranges.iter().any(|r| r.contains(&port)));
        let ranges = ranges.iter().map(|r| (*r.start(), *r.end())).collect();
        Ok(Output::of(Shown { source: show.source, port: show.port, passes, ranges }))
    });
}

#[derive(Serialize)]
struct Shown {
    source: Ipv4Addr,
    port: Option<u16>,
    passes: Option<bool>,
    ranges: Vec<(u16, u16)>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, port, passes, ranges } = self;
        if let (Some(port), Some(passes)) = (port, passes) {
            let verdict = if *passes { "PASS" } else { "FAIL" };
            return writeln!(f, "{source} port {port} {verdict}");
        }
        write!(f, "{source}:")?;
        for (n, (low, high)) in ranges.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            if low == high {
                write!(f, "{comma} {low}")?;
            } else {
                write!(f, "{comma} {low} - {high}")?;
            }
        }
        f.write_str("\n")
    }
}
