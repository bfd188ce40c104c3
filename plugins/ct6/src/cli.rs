//! `set ct6`, `show ip6 connection-tracker`, `test ip6 connection-tracker`.

use net::prelude::*;
use sessions::slices::{self, Gather};
use sessions::{Flow6, Sessions};

use super::Sides;
use super::state::{self, Here};

/// Enable or disable IPv6 connection tracking on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ct6")]
#[stage(Attachments)]
struct Set {
    /// side that initiates connections
    #[alias("in")]
    inside: bool,
    /// side that answers
    #[alias("out")]
    outside: bool,
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// disable
    disable: bool,
}

/// Show tracked IPv6 connections
#[derive(Command)]
#[command("show ip6 connection-tracker")]
struct Show {
    /// list each one
    verbose: bool,
}

/// Test the replacement order of connections, in a table of its own
#[derive(Command)]
#[command("test ip6 connection-tracker")]
struct Test {
    /// connections that begin
    #[default(4)]
    num_sessions: u8,
    /// connections that there is room for
    #[default(3)]
    max_sessions: u8,
}

#[derive(Serialize)]
struct Connection {
    src: Ipv6Addr,
    src_port: u16,
    dst: Ipv6Addr,
    dst_port: u16,
    protocol: String,
    state: Option<&'static str>,
    packets: u64,
    bytes: u64,
    silent_s: f64,
}

#[derive(Serialize)]
struct Thread {
    thread: usize,
    connections: usize,
    limit: usize,
    created: u64,
    recycled: u64,
    expired: u64,
    all: Vec<Connection>,
}

fn write_threads(rows: &[Thread], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for t in rows {
        writeln!(
            f,
            "Thread {}: {} connections of at most {}, {} created, {} recycled, {} expired",
            t.thread, t.connections, t.limit, t.created, t.recycled, t.expired
        )?;
        for c in &t.all {
            write!(f, "  {} [{}]:{} -> [{}]:{}", c.protocol, c.src, c.src_port, c.dst, c.dst_port)?;
            write!(f, " packets {} bytes {} silent {:.1}s", c.packets, c.bytes, c.silent_s)?;
            writeln!(f, "{}", c.state.map_or(String::new(), |state| format!(" {state}")))?;
        }
    }
    Ok(())
}

fn show(router: &mut Router, all: &[(usize, state::Connection)]) -> Vec<Thread> {
    let now = router.now();
    let threads = state::usage(router).into_iter().enumerate();
    let threads = threads.filter(|(thread, usage)| *thread == 0 || usage.made > 0);
    let shown = |s: &state::Connection| Connection {
        src: s.forward.src.into(),
        src_port: s.forward.src_port,
        dst: s.forward.dst.into(),
        dst_port: s.forward.dst_port,
        protocol: s.forward.protocol().to_string(),
        state: (s.forward.protocol() == Protocol::TCP).then(|| s.data.tcp.name()),
        packets: s.packets,
        bytes: s.bytes,
        silent_s: (now - s.heard()).max(0.0),
    };
    let rows = threads.map(|(thread, usage)| Thread {
        thread,
        connections: usage.sessions,
        limit: usage.limit,
        created: usage.made,
        recycled: usage.evicted,
        expired: usage.expired,
        all: all.iter().filter(|(at, _)| *at == thread).map(|(_, s)| shown(s)).collect(),
    });
    rows.collect()
}

/// Inserts `count` connections into a table of `limit` places; returns the connections that the
/// table holds before and after the last one is inserted.
fn test(router: &Router, count: u8, limit: u8) -> Result<Vec<String>, Error> {
    if limit == 0 {
        return Err(Error::new("max-sessions is 0"));
    }
    let all: state::All = Sessions::new(router, limit.into(), &state::classes())
        .map_err(|e| Error::bare(e.to_string()))?;
    let mut table = all.lend(0).ok_or_else(|| Error::bare("no table"))?;
    let flow = |n: u8| Flow6::new(([n; 16], 1), ([99; 16], 2), Protocol::UDP, 0);
    let mut states = Vec::new();
    for n in 1..=count {
        if n == count {
            states.push(format!("Start state: {}", there(&table, count, flow)));
        }
        let new = table.insert(state::begun(flow(n)), n.into(), |_, _| ());
        new.map_err(|_| Error::bare(format!("no room for connection {n}")))?;
    }
    states.push(format!("End state: {}", there(&table, count, flow)));
    Ok(states)
}

/// Lists the numbers of the connections in a table.
fn there(table: &Here, count: u8, flow: impl Fn(u8) -> Flow6) -> String {
    let there = (1..=count).filter(|n| table.find(&flow(*n)).is_some());
    there.map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, sides) in router.settings::<Sides>() {
        for (is_inside, on) in [(true, sides.inside), (false, sides.outside)] {
            if on {
                let (inside, outside) = (is_inside, !is_inside);
                lines.push(&Set { inside, outside, interface, disable: false });
            }
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| {
        if c.inside == c.outside {
            return Err(Error::new("expected inside or outside"));
        }
        Ok(super::set_side(router, c.interface, c.inside, !c.disable)?)
    });
    cli.task(|router: &mut Router, c: Show| {
        let all = if c.verbose { state::slices(router) } else { slices::nothing() };
        Ok(Box::new(Gather::first(all, |router, found| {
            let found = found.map_err(|why| Error::bare(why.to_string()))?;
            Ok(Output::rows(show(router, &found), write_threads))
        })) as _)
    });
    cli.command(|router: &mut Router, c: Test| {
        let states = test(router, c.num_sessions, c.max_sessions)?;
        Ok(Output::list(states))
    });
}
