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
    cli.command(|router: &mut Router, Show {}| Ok(Output::list(show(router.own::<Ha>()))));
}

/// The state in lines, those of the original first.
fn show(ha: &Ha) -> Vec<String> {
    let Some(Listener { addr, port, path_mtu }) = &ha.listener else {
        return vec!["NAT HA disabled".to_owned()];
    };
    let failover = ha.failover.as_ref().map_or_else(
        || "  NA".to_owned(),
        |Failover { addr, port, refresh_interval }| {
            format!("  {addr}:{port} refresh-interval {refresh_interval}sec")
        },
    );
    let resync = match &ha.resync {
        Some(resync) => format!("  in progress ({} ACK missed)", resync.missed),
        None => format!("  completed ({} ACK missed)", ha.resync_missed),
    };
    let head = |text: &str| text.to_owned();
    let listener = format!("  {addr}:{port} path-mtu {path_mtu}");
    let mut lines = vec![head("LISTENER:"), listener, head("FAILOVER:"), failover];
    lines.extend([head("RESYNC:"), resync]);
    if let Some((addr, port)) = ha.peer {
        lines.push(format!("messages are taken from {addr}:{port}"));
    }
    lines.push(format!("{} messages or changes refused", ha.refused));
    lines.push(format!("{} messages not acknowledged", ha.sent.len()));
    let counts = ha.counters.iter().zip(super::COUNTERS);
    let value =
        |rows: &super::Rows<super::Counter>| rows.row(0).first().map_or(0, super::Counter::value);
    lines.extend(counts.map(|(rows, name)| format!("  {name} {}", value(rows))));
    lines
}
