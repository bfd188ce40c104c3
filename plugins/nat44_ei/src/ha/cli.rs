//! `nat44 ei ha …`.

use std::str::FromStr;

use net::prelude::*;
use translation::words::end;

use super::{Failover, Ha, Listener, PATH_MTU, REFRESH_INTERVAL, is_none};

/// An address with its port, and a number behind a keyword, in any order.
fn end_and<T: FromStr>(
    args: &mut Args<'_>,
    what: &str,
    keyword: &str,
) -> Result<((Ipv4Addr, u16), Option<T>), Error> {
    let before = args.keyword(keyword).then(|| args.value(keyword)).transpose()?;
    let at = end(args, what)?;
    let behind = args.keyword(keyword).then(|| args.value(keyword)).transpose()?;
    Ok((at, behind.or(before)))
}

/// `nat44 ei ha listener`.
struct SetListener(Option<Listener>);

impl Command for SetListener {
    const PATHS: &'static [&'static str] = &["nat44 ei ha listener"];
    const ABOUT: &'static str =
        "Set the HA listener, where the peer's messages are received; 0.0.0.0:0 removes it";
    const USAGE: &'static str = "<address:port> [path-mtu <bytes:84-65535>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (at, path_mtu) = end_and(args, "the listener", "path-mtu")?;
        let ((addr, port), path_mtu) = (at, path_mtu.unwrap_or(PATH_MTU));
        Ok(Self((!is_none(addr, port)).then_some(Listener { addr, port, path_mtu })))
    }
}

/// `nat44 ei ha failover`.
struct SetFailover(Option<Failover>);

impl Command for SetFailover {
    const PATHS: &'static [&'static str] = &["nat44 ei ha failover"];
    const ABOUT: &'static str = "Set the HA failover target, where sessions are sent; 0.0.0.0:0 \
        removes it";
    const USAGE: &'static str = "<address:port> [refresh-interval <seconds:0-4294967295>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (at, refresh_interval) = end_and(args, "the failover", "refresh-interval")?;
        let ((addr, port), refresh_interval) = (at, refresh_interval.unwrap_or(REFRESH_INTERVAL));
        Ok(Self((!is_none(addr, port)).then_some(Failover { addr, port, refresh_interval })))
    }
}

/// Flush pending session changes to the standby
#[derive(Command)]
#[command("nat44 ei ha flush")]
struct Flush {}

/// Send all sessions to the standby
#[derive(Command)]
#[command("nat44 ei ha resync")]
struct Resync {}

/// Show the state of HA session replication
#[derive(Command)]
#[command("show nat44 ei ha")]
struct Show {}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetListener| Ok(super::set_listener(router, set.0)?));
    cli.command(|router: &mut Router, set: SetFailover| Ok(super::set_failover(router, set.0)?));
    cli.command(|router: &mut Router, Flush {}| Ok(super::flush(router)?));
    cli.command(|router: &mut Router, Resync {}| Ok(super::resync(router, None)?));
    cli.command(|router: &mut Router, Show {}| {
        let ha = router.own::<Ha>();
        let listener = ha.listener.map_or_else(
            || "LISTENER: not set".to_owned(),
            |l| format!("LISTENER: {}:{} path-mtu {}", l.addr, l.port, l.path_mtu),
        );
        let failover = ha.failover.map_or_else(
            || "FAILOVER: not set".to_owned(),
            |f| {
                let Failover { addr, port, refresh_interval } = f;
                format!("FAILOVER: {addr}:{port} refresh-interval {refresh_interval}")
            },
        );
        let mut lines = vec![listener, failover];
        if let Some(resync) = &ha.resync {
            lines.push(format!("in resync, missed {}", resync.missed));
        }
        if let Some((addr, port)) = ha.peer {
            lines.push(format!("messages are taken from {addr}:{port}"));
        }
        lines.push(format!("{} messages or changes refused", ha.refused));
        lines.push(format!("{} messages not acknowledged", ha.sent.len()));
        let counts = ha.counters.iter().zip(super::COUNTERS);
        let value = |rows: &super::Rows<super::Counter>| {
            rows.row(0).first().map_or(0, super::Counter::value)
        };
        lines.extend(counts.map(|(rows, name)| format!("  {name} {}", value(rows))));
        Ok(Output::list(lines))
    });
}
