//! Statistics by thread: `show session stats`, `show tcp stats`, `show segment-manager`,
//! `show session lookup`, and the commands that clear them.

use std::fmt::Write;

use control::cli::{Cli, Command, Error, Output};
use net::Router;
use net::engine::no_answer;
use serde::Serialize;
use wire::IpVersion;

use super::super::{Control, apps, check_enabled, namespaces};
use crate::data::endpoint::Transport;
use crate::data::show::{self, Totals};

/// Show statistics of the session layer by thread.
#[derive(Command)]
#[command("show session stats")]
struct ShowStats;

/// Show TCP statistics of the host stack by thread.
#[derive(Command)]
#[command("show tcp stats")]
struct ShowTcp;

/// Show memory used for session FIFOs by thread.
#[derive(Command)]
#[command("show segment-manager")]
struct ShowMemory {
    /// accepted: the chunks of a thread are one segment
    #[keyword("segments")]
    _segments: bool,
    /// only the segment with this index: that of a thread
    index: Option<usize>,
    /// accepted; the output is the same
    #[keyword("verbose")]
    _verbose: bool,
}

/// Show session tables: routing tables, their namespaces and listeners.
#[derive(Command)]
#[command("show session lookup")]
struct ShowLookup {
    /// only the routing tables with this ID
    table: Option<u32>,
}

/// Show UDP ports used by the host stack.
#[derive(Command)]
#[command("show udp transport ports")]
struct ShowPorts {
    /// IP version
    #[positional]
    #[words]
    version: Option<IpVersion>,
    /// only this port
    #[positional]
    port: Option<u16>,
}

/// Reset a session, or all sessions of a thread.
#[derive(Command)]
#[command("clear session")]
struct Clear {
    /// thread
    thread: Option<usize>,
    /// session
    session: Option<u32>,
    /// all sessions of the thread
    all: bool,
}

/// Clear statistics of the session layer.
#[derive(Command)]
#[command("clear session stats")]
struct ClearStats;

/// Clear TCP statistics of the host stack.
#[derive(Command)]
#[command("clear tcp stats")]
struct ClearTcp;

/// Named numbers of a thread.
#[derive(Serialize)]
struct Numbers {
    thread: usize,
    #[serde(serialize_with = "as_map")]
    numbers: Vec<(&'static str, u64)>,
}

fn as_map<S: serde::Serializer>(numbers: &[(&'static str, u64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(numbers.iter().copied())
}

/// Output with a title for each thread.
fn output(all: Vec<Numbers>, is_whole: bool) -> Output {
    let mut out = String::new();
    for Numbers { thread, numbers } in &all {
        // A String takes all text.
        let _ = writeln!(out, "Thread {thread}:");
        for (name, number) in numbers {
            if is_whole || *number > 0 {
                let _ = writeln!(out, " {number} {name}");
            }
        }
    }
    Output::both(out, all)
}

fn session_numbers(totals: &Totals) -> Vec<(&'static str, u64)> {
    let refusals = totals.refusals;
    vec![
        ("sessions", totals.sessions as u64),
        ("pending timers", totals.timers as u64),
        ("most tries for a port", totals.port_tries.into()),
        ("refused: no room for sessions", refusals.sessions),
        ("refused: no room for connections being set up", refusals.half_open),
        ("refused: no free port", refusals.ports),
        ("answers not sent", refusals.replies),
    ]
}

fn tcp_numbers(totals: &Totals) -> Vec<(&'static str, u64)> {
    let tcp = totals.tcp;
    vec![
        ("pending timers", totals.timers as u64),
        ("timer expirations", tcp.timer_expirations),
        ("segments retransmitted", tcp.rxt_segs),
        ("retransmission timeouts", tcp.tr_events),
        ("timeouts of establishment", tcp.to_establish),
        ("timeouts of closed windows", tcp.to_persist),
        ("timeouts in CLOSE_WAIT", tcp.to_closewait),
        ("timeouts in CLOSE_WAIT after close", tcp.to_closewait2),
        ("timeouts in FIN_WAIT_1", tcp.to_finwait1),
        ("timeouts in FIN_WAIT_2", tcp.to_finwait2),
        ("timeouts in LAST_ACK", tcp.to_lastack),
        ("timeouts in CLOSING", tcp.to_closing),
        ("connections given up", tcp.tr_abort),
        ("resets because of unread data", tcp.rst_unread),
        ("segments without a buffer", tcp.no_buffer),
        ("active opens", tcp.active_opens),
        ("passive opens", tcp.passive_opens),
        ("failed attempts", tcp.attempt_fails),
        ("connections reset", tcp.estab_resets),
        ("segments received", tcp.in_segs),
        ("segments sent", tcp.out_segs),
        ("resets sent", tcp.out_rsts),
        ("loss recoveries", tcp.recoveries),
        ("recoveries undone", tcp.undone),
        ("tail loss probes", tcp.tail_loss_probes),
        ("window probes", tcp.window_probes),
        ("keepalive probes", tcp.keepalive_probes),
        ("delayed acknowledgments", tcp.delayed_acks),
        ("duplicates reported", tcp.duplicates_reported),
        ("challenge acknowledgments", tcp.challenges),
        ("challenge acknowledgments withheld", tcp.challenges_withheld),
        ("SYN cookies sent", tcp.cookies_sent),
        ("SYN cookies accepted", tcp.cookies_accepted),
        ("SYN cookies refused", tcp.cookies_refused),
        ("segments dropped: too many holes", tcp.holes_exhausted),
        ("segments shortened: too large for the path", tcp.too_big),
        ("sends delayed: too many segments in flight", tcp.blocks_exhausted),
    ]
}

fn memory_numbers(totals: &Totals) -> Vec<(&'static str, u64)> {
    vec![("chunks used", totals.chunks.0 as u64), ("chunks at most", totals.chunks.1 as u64)]
}

type Pick = fn(&Totals) -> Vec<(&'static str, u64)>;

fn numbers(router: &mut Router, pick: Pick) -> Result<Vec<Numbers>, Error> {
    let all = show::totals(router).map_err(no_answer)?;
    let of = |totals: &Totals| Numbers { thread: totals.thread, numbers: pick(totals) };
    Ok(all.iter().map(of).collect())
}

fn totals(router: &mut Router, pick: Pick, is_whole: bool) -> Result<Output, Error> {
    Ok(output(numbers(router, pick)?, is_whole))
}

#[derive(Serialize)]
struct TableRow {
    version: &'static str,
    table_id: u32,
    namespaces: Vec<String>,
    listeners: usize,
    rules: usize,
    deny_rules: usize,
}

fn lookup(router: &Router, c: &ShowLookup) -> Output {
    let listeners = show::listeners(router);
    let mut rows = Vec::new();
    for ((version, table), global) in &router.own::<Control>().tables.global {
        let Some(table_id) = router.fib.table_id_for(*version, *table) else { continue };
        if c.table.is_some_and(|only| only != table_id) {
            continue;
        }
        let id = |index: &u32| namespaces::at(router, *index).map(|n| n.of.id.clone());
        rows.push(TableRow {
            version: version.name(),
            table_id,
            namespaces: global.namespaces.iter().filter_map(|index| id(index).ok()).collect(),
            listeners: (listeners.iter())
                .filter(|l| IpVersion::from(l.endpoint.address) == *version && l.fib == table.0)
                .count(),
            rules: global.rules.count(),
            deny_rules: global.deny.as_ref().map_or(0, |list| list.len()),
        });
    }
    let mut out = String::new();
    for row in &rows {
        let TableRow { version, table_id, namespaces, listeners, rules, deny_rules } = row;
        let names = namespaces.join(" ");
        // A String takes all text.
        let _ = writeln!(
            out,
            "{version} table {table_id}: listeners {listeners}, rules {rules}, \
             deny rules {deny_rules}, appns {names}"
        );
    }
    Output::both(out, rows)
}

fn ports(router: &Router, c: &ShowPorts) -> Output {
    let all = show::listeners(router).into_iter();
    let all = all.filter(|l| l.endpoint.transport == Transport::Udp);
    let all = all.filter(|l| c.port.is_none_or(|port| port == l.endpoint.port));
    let of = |addr| IpVersion::from(addr);
    let all = all.filter(|l| c.version.is_none_or(|version| version == of(l.endpoint.address)));
    let mut out = String::new();
    let mut rows = Vec::new();
    for listener in all {
        let app = apps::at(router, listener.app).map(|app| app.name.clone()).unwrap_or_default();
        // A String takes all text.
        let _ = writeln!(out, "{:<48}{app}", listener.endpoint.socket());
        rows.push((listener.endpoint.to_string(), app));
    }
    Output::both(out, rows)
}

fn clear(router: &mut Router, c: &Clear) -> Result<(), Error> {
    check_enabled(router)?;
    let thread = c.thread.unwrap_or_else(|| router.engine.data_threads().start);
    let index = match (c.all, c.session) {
        (true, None) => None,
        (false, Some(index)) => Some(index),
        _ => return Err(Error::new("expected session or all")),
    };
    let count = show::reset(router, thread, index).map_err(no_answer)?;
    match (count, index) {
        (0, Some(index)) => Err(Error::new(format!("no session {index} on thread {thread}"))),
        _ => Ok(()),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, _: ShowStats| totals(router, session_numbers, true));
    cli.command(|router: &mut Router, _: ShowTcp| totals(router, tcp_numbers, false));
    cli.command(|router: &mut Router, c: ShowMemory| {
        let all = numbers(router, memory_numbers)?;
        let is_shown = |of: &Numbers| c.index.is_none_or(|only| only == of.thread);
        Ok(output(all.into_iter().filter(is_shown).collect(), true))
    });
    cli.command(|router: &mut Router, c: ShowLookup| Ok(lookup(router, &c)));
    cli.command(|router: &mut Router, c: ShowPorts| Ok(ports(router, &c)));
    cli.command(|router: &mut Router, c: Clear| clear(router, &c));
    for_both(cli);
}

/// Registers both commands that clear the counters of threads.
fn for_both(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, _: ClearStats| show::clear(router).map_err(no_answer));
    cli.command(|router: &mut Router, _: ClearTcp| show::clear(router).map_err(no_answer));
}
