//! Commands that show messages about neighbours, and the clients that get events.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::IpAddr;

use control::cli::{Cli, Command, Output, Word};
use infra::counter::{Counter, Rows};
use serde::Serialize;

use super::cli::find;
use super::counters::Messages;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Show neighbor message counters.
#[derive(Clone, Debug, Command)]
#[command("show ip neighbor-stats")]
struct ShowStatistics {
    /// only on this interface
    #[positional]
    #[values("interface")]
    interface: Option<Word>,
}

/// Show the clients registered for neighbor events.
#[derive(Clone, Debug, Command)]
#[command("show ip neighbor-watcher", "show ip neighbor-watchers")]
struct ShowWatchers;

/// Messages of one direction.
#[derive(Serialize)]
struct Counted {
    requests: u64,
    replies: u64,
    gratuitous: u64,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    protocol: &'static str,
    rx: Counted,
    tx: Counted,
}

fn write_statistics(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut last = "";
    for Row { interface, protocol, rx, tx } in rows {
        if last != interface {
            writeln!(f, "  {interface}")?;
            last = interface;
        }
        write!(f, "    {:<4}", format!("{protocol}:"))?;
        for (direction, c) in [("rx", rx), ("tx", tx)] {
            let Counted { requests, replies, gratuitous } = c;
            write!(
                f,
                " {direction}:[reply:{replies} request:{requests} gratuitous:{gratuitous} ]"
            )?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn statistics(router: &Router, interfaces: &[InterfaceIndex]) -> Vec<Row> {
    let counters = &router.neighbors().counters;
    let row = |on: &InterfaceIndex, of: usize| {
        let counted = |m: &Messages| {
            let sum = |rows: &Rows<Counter>| rows.sum(on.0 as usize);
            let (requests, replies) = (sum(&m.requests), sum(&m.replies));
            Counted { requests, replies, gratuitous: sum(&m.gratuitous) }
        };
        Row {
            interface: router.interfaces.name(on.0).to_owned(),
            protocol: ["arp", "nd"][of],
            rx: counted(&counters[of].rx),
            tx: counted(&counters[of].tx),
        }
    };
    interfaces.iter().flat_map(|on| [row(on, 0), row(on, 1)]).collect()
}

#[derive(Serialize)]
struct Watching {
    client: u32,
    pid: u32,
    /// All when there is none.
    address: Option<IpAddr>,
    /// All when there is none.
    interface: Option<String>,
}

fn write_watchers(rows: &[Watching], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|w| {
        let address = w.address.map_or("all addresses".to_owned(), |a| a.to_string());
        let interface = w.interface.as_deref().unwrap_or("all interfaces");
        writeln!(f, "client:{} pid:{}: {address} on {interface}", w.client, w.pid)
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: ShowStatistics| {
        let chosen = match &c.interface {
            Some(name) => vec![find(router, name)?],
            None => router.interfaces.iter().map(|i| i.index).collect(),
        };
        Ok(Output::rows(statistics(router, &chosen), write_statistics))
    });
    cli.command(|router: &mut Router, _: ShowWatchers| {
        let name = |on: InterfaceIndex| router.interfaces.name(on.0).to_owned();
        let row = |w: &super::Watcher| Watching {
            client: w.client,
            pid: w.pid,
            address: w.addr,
            interface: w.interface.map(name),
        };
        Ok(Output::rows(router.neighbor_watchers().iter().map(row), write_watchers))
    });
}

#[cfg(test)]
mod tests {
    use super::super::Watcher;
    use crate::neighbor::testing::{Bench, HOST, bytes, request};

    #[test]
    fn messages_and_who_is_told_are_shown() {
        let mut b = Bench::new();
        b.receive(b.pg0, &[bytes(request(HOST, "10.0.0.2", "10.0.0.1"))]);
        let shown = b.cli("show ip neighbor-stats pg0");
        let none = "[reply:0 request:0 gratuitous:0 ]";
        let arp = "  pg0\n    arp: rx:[reply:0 request:1 gratuitous:0 ] tx:[reply:1 request:0 ";
        assert!(shown.starts_with(arp), "{shown}");
        assert!(shown.contains(&format!("]\n    nd:  rx:{none} tx:[")), "{shown}");
        assert!(b.cli("show ip neighbor-stats").contains(&format!("  pg1\n    arp: rx:{none} ")));
        assert_eq!(b.cli("show ip neighbor-watcher"), "");
        let pg1 = b.pg1;
        b.control(|router, _| {
            let all = Watcher { client: 1, pid: 7, addr: None, interface: None, is_v2: true };
            let addr = Some("10.0.1.2".parse().unwrap());
            router.watch_neighbors(all, true);
            router.watch_neighbors(Watcher { addr, interface: Some(pg1), ..all }, true);
        });
        let shown = "client:1 pid:7: all addresses on all interfaces\n\
                     client:1 pid:7: 10.0.1.2 on pg1\n";
        assert_eq!(b.cli("show ip neighbor-watcher"), shown);
    }
}
