//! The command `ping`.

use control::cli::{ArgInfo, Kind, Task};
use net::prelude::*;

use super::origin::Origin;
use super::packet;
use super::task::{Ping, Plan};

/// Seconds that the command waits for the last echoes at least, however short the interval.
const LAST: f64 = 1.0;

/// `ping`, as typed.
struct PingCommand {
    dst: IpAddr,
    source: Option<InterfaceIndex>,
    size: usize,
    interval: f64,
    repeat: u32,
    burst: u32,
    table: Option<u32>,
}

/// An argument that may be left out.
pub const fn arg(
    name: &'static str,
    keywords: &'static [&'static str],
    help: &'static str,
) -> ArgInfo {
    ArgInfo::of(name, keywords, help, Kind::Optional)
}

impl Command for PingCommand {
    const PATHS: &'static [&'static str] = &["ping"];
    const ABOUT: &'static str = "Send echo requests to a host and show round-trip times";
    const ARGS: &'static [ArgInfo] = &[
        arg("ip-addr", &[], "the host"),
        arg("ip4-addr", &["ipv4"], "IPv4 address"),
        arg("ip6-addr", &["ipv6"], "IPv6 address"),
        ArgInfo { values: "interface", ..arg("interface", &["source"], "source interface") },
        arg("pktsize:60", &["size"], "bytes of data"),
        arg("sec:1", &["interval"], "seconds between bursts"),
        arg("cnt:5", &["repeat"], "bursts"),
        arg("table-id", &["table-id"], "table to look the host up in; default the interface's"),
        arg("count:1", &["burst"], "requests per burst"),
        ArgInfo { kind: Kind::Flag, ..arg("verbose", &["verbose"], "accepted for compatibility") },
    ];

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut dst = None;
        let (mut source, mut table) = (None, None);
        let (mut size, mut interval, mut repeat, mut burst) = (60, 1.0, 5, 1);
        while !args.is_empty() {
            let start = *args;
            if args.keyword("ipv4") {
                dst = Some(args.value::<Ipv4Addr>("ip4-addr")?.into());
            } else if args.keyword("ipv6") {
                dst = Some(args.value::<Ipv6Addr>("ip6-addr")?.into());
            } else if args.keyword("source") {
                source = Some(args.value("interface")?);
            } else if args.keyword("size") {
                size = args.value("size")?;
                if size > packet::MOST {
                    return Err(start.error(format_args!("at most {} bytes", packet::MOST)));
                }
            } else if args.keyword("interval") {
                interval = args.value("interval")?;
                if !(0.0..=86_400.0).contains(&interval) {
                    return Err(start.error("not a valid interval"));
                }
            } else if args.keyword("repeat") {
                repeat = args.value("repeat")?;
            } else if args.keyword("table-id") {
                table = Some(args.value("table-id")?);
            } else if args.keyword("burst") {
                burst = args.value("burst")?;
                if !(1..=256).contains(&burst) {
                    return Err(start.error("must be 1 to 256"));
                }
            } else if args.keyword("verbose") {
                // Replies are always shown one by one.
            } else if dst.is_none()
                && let Some(addr) = args.optional()
            {
                dst = Some(addr);
            } else {
                return Err(args.unknown());
            }
        }
        let dst = dst.ok_or_else(|| Error::new("expected an IPv4 or IPv6 address"))?;
        Ok(Self { dst, source, size, interval, repeat, burst, table })
    }
}

fn ping(router: &mut Router, c: PingCommand) -> Result<Box<dyn Task<Router>>, Error> {
    let origin = Origin::towards(c.dst, c.table, c.source, router)?;
    let PingCommand { size, interval, repeat, burst, .. } = c;
    let plan = Plan { origin, size, interval, repeat, burst, wait: interval.max(LAST) };
    Ok(Box::new(Ping::start(plan, router)))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(ping);
}
