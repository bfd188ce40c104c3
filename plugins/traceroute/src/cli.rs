//! The command `traceroute`.

use control::cli::{ArgInfo, Kind as ArgKind, Step, Task};
use net::prelude::*;

use super::probe::Kind;
use super::task::{Plan, Trace};
use ping::{Origin, arg};

/// The port of the first probe, where others begin as well.
const PORT: u16 = 33434;
/// Longest probe in bytes.
const LONGEST: usize = 65_000;

/// `traceroute`, as typed.
struct Traceroute {
    dst: IpAddr,
    source: Option<InterfaceIndex>,
    table: Option<u32>,
    is_echo: bool,
    port: u16,
    first: u8,
    last: u8,
    queries: usize,
    wait: Option<f64>,
    size: usize,
}

impl Command for Traceroute {
    const PATHS: &'static [&'static str] = &["traceroute"];
    const ABOUT: &'static str = "Show the routers on the path to a host";
    const ARGS: &'static [ArgInfo] = &[
        arg("ip-addr", &[], "the host"),
        arg("ip4-addr", &["ipv4"], "IPv4 address"),
        arg("ip6-addr", &["ipv6"], "IPv6 address"),
        ArgInfo { values: "interface", ..arg("interface", &["source", "-i"], "source interface") },
        arg("id", &["table-id"], "table to look the host up in; default the interface's"),
        ArgInfo { kind: ArgKind::Flag, ..arg("icmp", &["icmp", "-I"], "send echo requests") },
        ArgInfo { kind: ArgKind::Flag, ..arg("udp", &["udp", "-U"], "send UDP, the default") },
        ArgInfo { kind: ArgKind::Flag, ..arg("-n", &["-n"], "accepted: names are never resolved") },
        arg("port:33434", &["port", "-p"], "UDP port of the first probe"),
        arg("hop:1", &["first", "-f"], "first hop"),
        arg("hops:30", &["max", "-m"], "maximum hops"),
        arg("count:3", &["queries", "-q"], "probes per hop"),
        arg(
            "sec:5",
            &["wait", "-w"],
            "seconds to wait for each reply; by default adapted to other replies",
        ),
        arg("pktsize:60", &["size"], "probe length in bytes, including headers"),
    ];

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut dst = None;
        let (mut source, mut table, mut is_echo, mut port) = (None, None, false, PORT);
        let (mut first, mut last, mut queries, mut wait, mut size) = (1, 30, 3, None, 60);
        while !args.is_empty() {
            let mut is = |words: &[&str]| words.iter().any(|word| args.keyword(word));
            if is(&["ipv4"]) {
                dst = Some(args.value::<Ipv4Addr>("ip4-addr")?.into());
            } else if is(&["ipv6"]) {
                dst = Some(args.value::<Ipv6Addr>("ip6-addr")?.into());
            } else if is(&["source", "-i"]) {
                source = Some(args.value("interface")?);
            } else if is(&["table-id"]) {
                table = Some(args.value("table-id")?);
            } else if is(&["icmp", "-I"]) {
                is_echo = true;
            } else if is(&["udp", "-U"]) {
                is_echo = false;
            } else if is(&["-n"]) {
                // Addresses are never looked up.
            } else if is(&["port", "-p"]) {
                port = within(args, "port", 1..=u16::MAX)?;
            } else if is(&["first", "-f"]) {
                first = within(args, "first", 1..=255)?;
            } else if is(&["max", "-m"]) {
                last = within(args, "max", 1..=255)?;
            } else if is(&["queries", "-q"]) {
                queries = within(args, "queries", 1..=10)?;
            } else if is(&["wait", "-w"]) {
                wait = Some(within(args, "wait", 0.0..=3600.0)?);
            } else if is(&["size"]) {
                size = within(args, "size", 0..=LONGEST)?;
            } else if dst.is_none()
                && let Some(addr) = args.optional()
            {
                dst = Some(addr);
            } else {
                return Err(args.unknown());
            }
        }
        let dst = dst.ok_or_else(|| Error::new("expected an IPv4 or IPv6 address"))?;
        if first > last {
            return Err(Error::new("`first' is more than `max'"));
        }
        Ok(Self { dst, source, table, is_echo, port, first, last, queries, wait, size })
    }
}

/// The next word, a number in `range`.
fn within<T>(
    args: &mut Args<'_>,
    name: &'static str,
    range: std::ops::RangeInclusive<T>,
) -> Result<T, Error>
where
    T: PartialOrd + fmt::Display + std::str::FromStr,
{
    let start = *args;
    let value = args.value(name)?;
    let (least, most) = (range.start(), range.end());
    let wrong = || start.error(format_args!("must be {least} to {most}"));
    range.contains(&value).then_some(value).ok_or_else(wrong)
}

/// The first line.
#[derive(Serialize)]
struct Head {
    dst: IpAddr,
    src: IpAddr,
    hops: u8,
    bytes: usize,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dst, src, hops, bytes } = self;
        write!(f, "traceroute to {dst} from {src}, {hops} hops max, {bytes} byte packets")
    }
}

/// A trace that still has to say what it does.
struct Headed(Option<Head>, Trace);

impl Task<Router> for Headed {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        if let Some(head) = self.0.take() {
            out.append(Output::of(head));
        }
        self.1.step(router, out)
    }
    fn cancel(&mut self, router: &mut Router, out: &mut Output) {
        self.1.cancel(router, out);
    }
}

fn traceroute(router: &mut Router, c: Traceroute) -> Result<Box<dyn Task<Router>>, Error> {
    if c.dst.is_multicast() {
        return Err(Error::new(format!("{} is a multicast address", c.dst)));
    }
    let origin = Origin::towards(c.dst, c.table, c.source, router)?;
    if origin.is_own {
        return Err(Error::new(format!("{} is an address of this router", c.dst)));
    }
    let kind = if c.is_echo { Kind::Echo } else { Kind::Udp(c.port) };
    let headers = kind.headers(c.dst);
    let data = c.size.saturating_sub(headers);
    let Traceroute { first, last, queries, wait, .. } = c;
    let head = Head { dst: c.dst, src: origin.src, hops: last, bytes: headers + data };
    let plan = Plan { origin, kind, first, last, queries, wait, data };
    let trace = Trace::start(plan, router).map_err(|e| Error::new(e.to_string()))?;
    Ok(Box::new(Headed(Some(head), trace)))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(traceroute);
}
