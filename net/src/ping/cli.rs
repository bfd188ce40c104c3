//! The command `ping`.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use control::cli::{ArgInfo, Args, Cli, Command, Error, Kind, Task, Word};

use super::packet;
use super::source;
use super::task::{Ping, Plan};
use crate::fib::{Ip4, Ip6};
use crate::router::Router;

/// `ping`, as typed.
struct PingCommand {
    dst: IpAddr,
    source: Option<Word>,
    size: usize,
    interval: f64,
    repeat: u32,
    burst: u32,
    table: u32,
}

const fn arg(name: &'static str, keywords: &'static [&'static str], help: &'static str) -> ArgInfo {
    ArgInfo { name, keywords, help, kind: Kind::Optional, values: "", range: "" }
}

impl Command for PingCommand {
    const PATHS: &'static [&'static str] = &["ping"];
    const ABOUT: &'static str = "Ask a host for an echo and show how long it takes";
    const ARGS: &'static [ArgInfo] = &[
        arg("ip-addr", &[], "the host"),
        arg("ip4-addr", &["ipv4"], "the host's IPv4 address"),
        arg("ip6-addr", &["ipv6"], "the host's IPv6 address"),
        ArgInfo { values: "interface", ..arg("interface", &["source"], "ask from its address") },
        arg("pktsize:60", &["size"], "bytes of data"),
        arg("sec:1", &["interval"], "seconds between two bursts"),
        arg("cnt:5", &["repeat"], "bursts"),
        arg("id:0", &["table-id"], "look the host up in this table"),
        arg("count:1", &["burst"], "requests in a burst"),
        ArgInfo { kind: Kind::Flag, ..arg("verbose", &["verbose"], "accepted for compatibility") },
    ];

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut dst = None;
        let (mut source, mut table) = (None, 0);
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
                    return Err(start.error("not an interval"));
                }
            } else if args.keyword("repeat") {
                repeat = args.value("repeat")?;
            } else if args.keyword("table-id") {
                table = args.value("table-id")?;
            } else if args.keyword("burst") {
                burst = args.value("burst")?;
                if !(1..=256).contains(&burst) {
                    return Err(start.error("not from 1 to 256"));
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
    let interface = match &c.source {
        Some(name) => {
            let found = router.interfaces.named(name).map(|i| i.index);
            Some(found.ok_or_else(|| name.unknown("interface"))?)
        }
        None => None,
    };
    let (table, lookup) = match c.dst {
        IpAddr::V4(_) => (router.fib.table::<Ip4>(c.table), "ip4-lookup"),
        IpAddr::V6(_) => (router.fib.table::<Ip6>(c.table), "ip6-lookup"),
    };
    let table = table.ok_or_else(|| Error::new(format!("Nonexistent table id {}", c.table)))?;
    if let IpAddr::V6(addr) = c.dst
        && addr.is_unicast_link_local()
        && interface.is_none()
    {
        return Err(Error::new("a link-local address needs a source interface"));
    }
    let src = source::choose(router, c.dst, table, interface);
    let src = src.ok_or_else(|| Error::new("no source address or no route to the host"))?;
    let node = router.engine.index_of(lookup).expect("the graph has a lookup");
    let PingCommand { dst, size, interval, repeat, burst, .. } = c;
    let plan = Plan { src, dst, interface, fib: table.0, node, size, interval, repeat, burst };
    let task = Ping::start(plan, router).expect("the feature put its state in");
    Ok(Box::new(task))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(ping);
}
