//! `show session`: sessions and listeners.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use control::cli::{Args, Cli, Command, Error, Output};
use net::Router;
use net::engine::no_answer;
use net::fib::TableIndex;
use serde::Serialize;
use wire::IpVersion;

use super::super::{apps, backend, check_enabled, namespaces};
use crate::data::endpoint::{Endpoint, Transport};
use crate::data::session::Life;
use crate::data::show::{self, Shown};

/// Limit of sessions per thread that are listed without a filter.
const MOST: usize = 50;

/// An endpoint in a filter: an address, and a port if given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End(IpAddr, Option<u16>);

impl End {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let start = *args;
        let word: String = args.value("address")?;
        let bad = || start.error("expected an address, or one with a port");
        if let Ok(addr) = word.parse::<IpAddr>() {
            return Ok(Self(addr, None));
        }
        let found: SocketAddr = word.parse().map_err(|_| bad())?;
        Ok(Self(found.ip(), Some(found.port())))
    }
    fn is(self, end: SocketAddr) -> bool {
        self.0 == end.ip() && self.1.is_none_or(|port| port == end.port())
    }
}

/// Filter for the sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Filter {
    thread: Option<usize>,
    index: Option<u32>,
    transport: Option<Transport>,
    /// ID of the routing table.
    vrf: Option<u32>,
    state: Option<String>,
    local: Option<End>,
    remote: Option<End>,
    either: Option<End>,
    /// Range of indices on a thread.
    range: Option<(usize, usize)>,
}

impl Filter {
    fn passes(&self, router: &Router, shown: &Shown) -> bool {
        let vrf = |id: u32| {
            let version = IpVersion::from(shown.local.ip());
            router.fib.table_for(version, id) == Some(TableIndex(shown.fib))
        };
        let state = |word: &String| {
            shown.state.eq_ignore_ascii_case(word) || shown.life.to_string() == *word
        };
        let either = |end: End| end.is(shown.local) || end.is(shown.peer);
        self.index.is_none_or(|index| shown.id.index == index)
            && self.transport.is_none_or(|transport| shown.transport == transport)
            && self.vrf.is_none_or(vrf)
            && self.state.as_ref().is_none_or(state)
            && self.local.is_none_or(|end| end.is(shown.local))
            && self.remote.is_none_or(|end| end.is(shown.peer))
            && self.either.is_none_or(either)
    }
}

/// Type of list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum What {
    #[default]
    Sessions,
    Listeners,
    Transports,
    States,
    Backend,
}

/// `show session …`.
#[derive(Debug, Default, PartialEq)]
struct Show {
    what: What,
    verbose: Option<u32>,
    is_forced: bool,
    filter: Filter,
}

fn take_transport(args: &mut Args<'_>) -> Result<Transport, Error> {
    let all = [Transport::Tcp, Transport::Udp, Transport::Ct];
    let found = all.into_iter().find(|transport| args.keyword(&transport.to_string()));
    found.ok_or_else(|| args.error("expected tcp, udp or ct"))
}

impl Show {
    /// Parses `A:P->B:P`, if it is next.
    fn take_ends(&mut self, args: &mut Args<'_>) -> Result<bool, Error> {
        let Some((local, remote)) = args.peek().and_then(|word| word.split_once("->")) else {
            return Ok(false);
        };
        let end = |text: &str| {
            let found = text.parse::<SocketAddr>();
            found.map_err(|_| args.error("expected an address and port on each side of `->' in"))
        };
        let (local, remote) = (end(local)?, end(remote)?);
        let both = [local, remote].map(|end| Some(End(end.ip(), Some(end.port()))));
        [self.filter.local, self.filter.remote] = both;
        args.word();
        Ok(true)
    }
    /// Parses a condition, if one is next.
    fn take_filter(&mut self, args: &mut Args<'_>) -> Result<bool, Error> {
        let filter = &mut self.filter;
        if args.keyword("thread") {
            filter.thread = Some(args.value("thread")?);
        } else if args.keyword("index") {
            filter.index = Some(args.value("index")?);
        } else if args.keyword("proto") {
            filter.transport = Some(take_transport(args)?);
        } else if args.keyword("tcp") {
            filter.transport = Some(Transport::Tcp);
        } else if args.keyword("udp") {
            filter.transport = Some(Transport::Udp);
        } else if args.keyword("vrf") {
            filter.vrf = Some(args.value("table")?);
        } else if args.keyword("state") {
            filter.state = Some(args.value("state")?);
        } else if args.keyword("range") {
            let first = args.value("first")?;
            let count = args.optional::<usize>();
            filter.range = Some((first, count.unwrap_or(first + MOST)));
        } else if args.keyword("lcl") {
            filter.local = Some(End::take(args)?);
        } else if args.keyword("rmt") {
            filter.remote = Some(End::take(args)?);
        } else if args.keyword("ep") {
            filter.either = Some(End::take(args)?);
        } else {
            return self.take_ends(args);
        }
        Ok(true)
    }
}

impl Command for Show {
    const PATHS: &'static [&'static str] = &["show session"];
    const ABOUT: &'static str = "Show sessions, listeners, transports or the backend";
    const USAGE: &'static str = "[protos|transport|states|rt-backend] [verbose [<level>]] \
         [listeners [tcp|udp]] [thread <thread>] [index <index>] [proto tcp|udp|ct] \
         [vrf <id>] [state <state>] [range <first> [<last>]] [lcl <end>] [rmt <end>] [ep <end>] \
         [<local>-><remote>] [force-print]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut new = Self::default();
        while !args.is_empty() {
            if args.keyword("protos") || args.keyword("transport") {
                new.what = What::Transports;
            } else if args.keyword("states") {
                new.what = What::States;
            } else if args.keyword("rt-backend") {
                new.what = What::Backend;
            } else if args.keyword("verbose") {
                new.verbose = Some(args.optional().unwrap_or(1));
            } else if args.keyword("force-print") {
                new.is_forced = true;
            } else if args.keyword("listeners") {
                new.what = What::Listeners;
                new.filter.transport = take_transport(args).ok();
            } else if !new.take_filter(args)? {
                return Err(args.unknown());
            }
        }
        Ok(new)
    }
}

/// A session as a row.
#[derive(Serialize)]
struct Row {
    connection: String,
    state: String,
    rx: usize,
    tx: usize,
    app: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
}

fn cells(first: &str, others: [&str; 3]) -> String {
    let [state, rx, tx] = others;
    format!("{first:<60}{state:<15}{rx:<10}{tx:<10}").trim_end().to_owned() + "\n"
}

fn row(router: &Router, shown: &Shown) -> Row {
    let Shown { id, transport, local, peer, state, life, rx, tx, app, details, .. } = shown;
    let letter = transport.letter();
    let mut details = details.clone();
    if !details.is_empty() {
        details.push(format!("session: state: {life} app: {app}"));
    }
    Row {
        connection: format!("[{}:{}][{letter}] {local}->{peer}", id.thread, id.index),
        state: state.clone(),
        rx: *rx,
        tx: *tx,
        app: apps::at(router, *app).map(|app| app.name.clone()),
        details,
    }
}

/// Sessions of a thread.
#[derive(Serialize)]
struct Thread {
    thread: usize,
    sessions: usize,
    rows: Vec<Row>,
}

fn write_thread(out: &mut String, of: &Thread, verbose: u32) {
    for row in &of.rows {
        *out += &cells(&row.connection, [&row.state, &row.rx.to_string(), &row.tx.to_string()]);
        for line in row.details.iter().filter(|_| verbose > 1) {
            // Writing to a String cannot fail.
            let _ = writeln!(out, " {line}");
        }
    }
}

fn sessions(router: &mut Router, c: &Show) -> Result<Output, Error> {
    let verbose = c.verbose.unwrap_or(u32::from(c.filter != Filter::default()));
    let is_alone = c.filter.index.is_some();
    let level = if is_alone { verbose.max(2) } else { verbose };
    let all = show::sessions(router, level > 1).map_err(no_answer)?;
    let is_filtered = c.filter != Filter::default() || c.is_forced;
    let head = cells("Connection", ["State", "Rx-f", "Tx-f"]);
    let (mut out, mut threads) = (String::new(), Vec::new());
    if level > 0 && !is_filtered {
        out += &listening(router, level);
    }
    if !out.is_empty() {
        out.insert_str(0, &head);
    }
    for (thread, shown) in all {
        if c.filter.thread.is_some_and(|only| only != thread) {
            continue;
        }
        let count = shown.len();
        let passed = shown.iter().filter(|shown| c.filter.passes(router, shown));
        let (first, last) = c.filter.range.unwrap_or((0, usize::MAX));
        let passed = passed.skip(first).take(last.saturating_sub(first).saturating_add(1));
        let rows: Vec<_> = match level {
            0 => Vec::new(),
            _ => passed.map(|shown| row(router, shown)).collect(),
        };
        let is_suppressed = level > 0 && rows.len() > MOST && !is_filtered;
        let of = Thread { thread, sessions: count, rows };
        match (count, level) {
            (0, _) => writeln!(out, "Thread {thread}: no sessions"),
            (_, 0) => writeln!(out, "Thread {thread}: {count} sessions"),
            _ if is_suppressed => writeln!(
                out,
                "Thread {thread}: {count} sessions. Verbose output suppressed. \
                 For more details use filters."
            ),
            _ => {
                if out.is_empty() && !of.rows.is_empty() {
                    out += &head;
                }
                write_thread(&mut out, &of, level);
                writeln!(out, "Thread {thread}: active sessions {}", of.rows.len())
            }
        }
        .expect("writing to a String cannot fail");
        threads.push(of);
    }
    Ok(Output::both(out, threads))
}

/// A listener as sessions are named.
pub(super) fn listener_name(index: u32, endpoint: &Endpoint) -> String {
    let (transport, at) = (endpoint.transport, endpoint.socket());
    let any = SocketAddr::new(IpVersion::from(at.ip()).unspecified(), 0);
    format!("[L:{index}][{}] {at}->{any}", transport.letter())
}

/// Listeners as rows of sessions.
fn listening(router: &Router, level: u32) -> String {
    let mut out = String::new();
    let settings = super::super::settings::current(router);
    for listener in show::listeners(router) {
        let (transport, at) = (listener.endpoint.transport, listener.endpoint.socket());
        out += &cells(&listener_name(listener.index, &listener.endpoint), ["LISTEN", "0", "0"]);
        if level > 1 && transport == Transport::Tcp {
            let tcp = &settings.tcp;
            let header = if at.is_ipv4() { 40 } else { 60 };
            let mss = tcp.mtu.saturating_sub(header);
            let line = format!(" cong_algo: {} snd_mss: {mss}\n", tcp.algorithm);
            out += &line;
        }
    }
    out
}

#[derive(Serialize)]
struct ListenerRow {
    index: u32,
    endpoint: String,
    app: Option<String>,
    namespace: String,
    is_global: bool,
    is_local: bool,
}

fn listeners(router: &Router, c: &Show) -> Output {
    let all = show::listeners(router).into_iter();
    let shown = all.filter(|l| c.filter.transport.is_none_or(|t| t == l.endpoint.transport));
    let shown: Vec<_> = shown.collect();
    let names: Vec<_> = shown.iter().map(|l| listener_name(l.index, &l.endpoint)).collect();
    let rows = shown.into_iter().map(|listener| ListenerRow {
        index: listener.index,
        endpoint: listener.endpoint.to_string(),
        app: apps::at(router, listener.app).map(|app| app.name.clone()),
        namespace: namespaces::at(router, listener.namespace)
            .map_or_else(|_| String::new(), |namespace| namespace.of.id.clone()),
        is_global: listener.is_global,
        is_local: listener.is_local,
    });
    let rows: Vec<_> = rows.collect();
    let mut out = format!("{:<60}{:<24}\n", "Listener", "App");
    for (row, name) in rows.iter().zip(names) {
        let app = row.app.as_deref().unwrap_or("-");
        out += &format!("{name:<60}{app:<24}\n");
    }
    Output::both(out, rows)
}

fn names(rows: &[(String, String)]) -> Output {
    let mut out = String::new();
    for (name, what) in rows {
        out += format!("{name:<10}{what}").trim_end();
        out.push('\n');
    }
    Output::both(out, rows)
}

/// Transports with their numbers and letters.
pub(super) fn transports() -> Output {
    let all = [Transport::Tcp, Transport::Udp, Transport::Ct];
    let row = |t: &Transport| (t.to_string(), format!("{} {}", t.number(), t.letter()));
    names(&all.iter().map(row).collect::<Vec<_>>())
}

fn show(router: &mut Router, c: &Show) -> Result<Output, Error> {
    check_enabled(router)?;
    let text = |words: &[&str]| {
        let row = |word: &&str| ((*word).to_owned(), String::new());
        names(&words.iter().map(row).collect::<Vec<_>>())
    };
    Ok(match c.what {
        What::Sessions => sessions(router, c)?,
        What::Listeners => listeners(router, c),
        What::Transports => transports(),
        What::States => {
            let all = [
                Life::Created,
                Life::Listening,
                Life::Connecting,
                Life::Accepting,
                Life::Ready,
                Life::TransportClosing,
                Life::AppClosed,
                Life::Closed,
            ];
            names(&all.iter().map(|life| (life.to_string(), String::new())).collect::<Vec<_>>())
        }
        What::Backend => text(&[backend(router).map_or("none", |backend| backend.word())]),
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| show(router, &c));
}
