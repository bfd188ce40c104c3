//! Commands about neighbours.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use control::cli::{Cli, Command, Error, Output, Print, Step, Task, Word, centred};
use control::configuration::Lines;
use serde::Serialize;
use wire::{IpVersion, MacAddr};

use super::{Config, Key, release, table};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Rows of `show ip neighbors` that are made in one slice.
const ROWS: usize = 1000;

/// Add or delete neighbors.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set ip neighbor", "ip neighbor")]
#[stage(Routes)]
struct SetNeighbor {
    /// interface
    #[positional]
    intfc: InterfaceIndex,
    /// IP address; optional with flush
    #[positional]
    ip_address: Option<IpAddr>,
    /// MAC address; optional with del
    #[positional]
    mac_address: Option<MacAddr>,
    /// neither updated by received packets nor aged
    #[keyword("static")]
    is_static: bool,
    /// without a host route
    no_fib_entry: bool,
    /// number of neighbors; IP and MAC addresses count up
    count: Option<u32>,
    /// delete
    #[alias("delete")]
    del: bool,
    /// delete all neighbors on the interface
    flush: bool,
}

struct SetMany {
    command: SetNeighbor,
    done: u32,
}

impl Task<Router> for SetMany {
    fn step(&mut self, router: &mut Router, _: &mut Output) -> Step {
        let c = &self.command;
        let ended = self.done == c.count.unwrap_or(1);
        let result = if ended { Ok(()) } else { self.one(router) };
        self.done += 1;
        if ended || result.is_err() || self.done.is_multiple_of(256) {
            release(router);
        }
        if ended || result.is_err() { Step::Done(result) } else { Step::Again }
    }
}

impl SetMany {
    fn one(&self, router: &mut Router) -> Result<(), Error> {
        let c = &self.command;
        if c.flush && c.ip_address.is_none() {
            IpVersion::ALL
                .into_iter()
                .for_each(|version| router.flush_neighbors(version, Some(c.intfc)));
            return Ok(());
        }
        let first = c.ip_address.ok_or_else(|| Error::new("missing ip-address"))?;
        let addr = offset(first, self.done);
        let addr = addr.ok_or_else(|| Error::new("count exceeds the address space"))?;
        let key = (c.intfc, addr);
        let done = if c.del || c.flush {
            router.remove_neighbor(key)
        } else {
            let mac = c.mac_address.ok_or_else(|| Error::new("missing mac-address"))?;
            let [a, b, rest @ ..] = mac.0;
            let rest = u32::from_be_bytes(rest).wrapping_add(self.done).to_be_bytes();
            let mac = MacAddr([a, b, rest[0], rest[1], rest[2], rest[3]]);
            router.set_neighbor(key, mac, c.is_static, !c.no_fib_entry)
        };
        done.map_err(|e| Error::new(format!("{addr}: {e}")))
    }
}

fn offset(addr: IpAddr, by: u32) -> Option<IpAddr> {
    match addr {
        IpAddr::V4(a) => a.to_bits().checked_add(by).map(|b| Ipv4Addr::from_bits(b).into()),
        IpAddr::V6(a) => a.to_bits().checked_add(by.into()).map(|b| Ipv6Addr::from_bits(b).into()),
    }
}

/// Set the limits of the neighbor table.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set ip neighbor-config")]
#[undo("=set ip neighbor-config {1} limit 50000 age 0 norecycle")]
struct SetConfig {
    /// `ip4` or `ipv4`, `ip6` or `ipv6`
    #[positional]
    #[words]
    family: IpVersion,
    /// maximum neighbors
    limit: Option<usize>,
    /// seconds after which a silent neighbor is probed and then deleted; 0 for never
    age: Option<u32>,
    /// replace the oldest neighbor when the table is full
    recycle: bool,
    /// refuse new neighbors when the table is full
    norecycle: bool,
}

fn set_config(router: &mut Router, c: SetConfig) -> Result<(), Error> {
    let now = router.neighbors().table.configs[c.family as usize];
    let new = Config {
        limit: c.limit.unwrap_or(now.limit),
        age: c.age.map_or(now.age, f64::from),
        recycles: (now.recycles || c.recycle) && !c.norecycle,
    };
    router.configure_neighbors(c.family, new);
    Ok(())
}

/// Show the limits of the neighbor table.
#[derive(Clone, Debug, Command)]
#[command("show ip neighbor-config")]
struct ShowConfig;

#[derive(Serialize)]
struct Configs(Vec<ConfigRow>);

#[derive(Serialize)]
struct ConfigRow {
    family: &'static str,
    limit: usize,
    age: f64,
    recycle: bool,
    count: usize,
    refused: u64,
}

impl fmt::Display for Configs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|c| {
            writeln!(f, "{}:", c.family)?;
            write!(f, "  limit:{}, age:{}, recycle:{}, ", c.limit, c.age, u8::from(c.recycle))?;
            writeln!(f, "count:{}, refused:{}", c.count, c.refused)
        })
    }
}

fn show_config(router: &mut Router, _: ShowConfig) -> Result<Output, Error> {
    let table = &router.neighbors().table;
    let row = |version: IpVersion| {
        let (of, family) = (version as usize, version.name());
        let Config { limit, age, recycles: recycle } = table.configs[of];
        let (count, refused) = (table.count(of), table.refused[of]);
        ConfigRow { family, limit, age, recycle, count, refused }
    };
    Ok(Output::of(Configs(IpVersion::ALL.into_iter().map(row).collect())))
}

/// Show neighbors.
#[derive(Clone, Debug, Command)]
#[command()]
struct Show {
    /// only on this interface
    #[positional]
    #[values("interface")]
    interface: Option<Word>,
}

/// The neighbours of one slice of the table.
#[derive(Serialize)]
struct Rows {
    #[serde(skip)]
    is_first: bool,
    neighbors: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    /// Seconds since last heard.
    age: f64,
    ip: IpAddr,
    flags: String,
    mac: String,
    interface: String,
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_first {
            let (age, ip) = (centred("Age", 12), centred("IP", 40));
            let (flags, mac) = (centred("Flags", 6), centred("Ethernet", 20));
            writeln!(f, "{age}{ip}{flags}{mac}{}", centred("Interface", 24))?;
        }
        self.neighbors.iter().try_for_each(|n| {
            let (ip, flags) = (centred(n.ip, 40), centred(&n.flags, 6));
            writeln!(f, "{:>12.4}{ip}{flags}{}{}", n.age, centred(&n.mac, 20), n.interface)
        })
    }
}

struct ShowTask {
    interface: Option<InterfaceIndex>,
    /// Only this one.
    family: Option<IpVersion>,
    after: Option<Key>,
    is_first: bool,
}

impl Task<Router> for ShowTask {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let (now, table) = (router.now(), &router.neighbors().table);
        let mut slice: Vec<_> = table.iter(self.after).take(ROWS).collect();
        let is_last = slice.len() < ROWS;
        self.after = slice.last().map(|(key, _)| *key);
        slice.retain(|((on, addr), _)| {
            self.interface.is_none_or(|i| i == *on)
                && self.family.is_none_or(|of| of == IpVersion::from(*addr))
        });
        let row = |((on, ip), n): (Key, &table::Neighbor)| Row {
            age: now - n.updated,
            ip,
            flags: [if n.is_static { "S" } else { "D" }, if n.has_route { "" } else { "N" }]
                .concat(),
            mac: n.mac.to_string(),
            interface: router.interfaces.name(on.0).to_owned(),
        };
        let neighbors: Vec<_> = slice.into_iter().map(row).collect();
        if !neighbors.is_empty() {
            let is_first = std::mem::replace(&mut self.is_first, false);
            out.append(Output::of(Rows { is_first, neighbors }));
        }
        if is_last { Step::Done(Ok(())) } else { Step::Again }
    }
}

fn show(
    router: &Router,
    interface: Option<Word>,
    family: Option<IpVersion>,
) -> Result<Box<dyn Task<Router>>, Error> {
    let interface = interface.map(|name| find(router, &name)).transpose()?;
    Ok(Box::new(ShowTask { interface, family, after: None, is_first: true }))
}

pub(super) fn find(router: &Router, name: &Word) -> Result<InterfaceIndex, Error> {
    let found = router.interfaces.named(name).map(|i| i.index);
    found.ok_or_else(|| name.unknown("interface"))
}

/// Bounds of the table, and neighbours that are set for good.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let table = &router.neighbors().table;
    for (family, config) in IpVersion::ALL.into_iter().zip(&table.configs) {
        if *config != Config::default() {
            let Config { limit, age, recycles } = *config;
            let (limit, age) = (Some(limit), Some(age as u32));
            lines.push(&SetConfig { family, limit, age, recycle: recycles, norecycle: !recycles });
        }
    }
    for ((intfc, addr), n) in table.iter(None).filter(|(_, n)| n.is_static) {
        lines.push(&SetNeighbor {
            intfc,
            ip_address: Some(addr),
            mac_address: Some(n.mac),
            is_static: true,
            no_fib_entry: !n.has_route,
            count: None,
            del: false,
            flush: false,
        });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(
        |_: &mut Router, command: SetNeighbor| Ok(Box::new(SetMany { command, done: 0 }) as _),
    );
    cli.command(set_config);
    cli.command(show_config);
    for (family, about, paths) in [
        (None, "Show neighbors", &["show ip neighbors", "show ip neighbor", "show ip arp"]),
        (
            Some(IpVersion::V4),
            "Show IPv4 neighbors",
            &["show ip4 neighbors", "show ip4 neighbor", "show ip4 neighbor-sorted"],
        ),
        (
            Some(IpVersion::V6),
            "Show IPv6 neighbors",
            &["show ip6 neighbors", "show ip6 neighbor", "show ip6 neighbor-sorted"],
        ),
    ] {
        for path in paths {
            let show = move |router: &mut Router, c: Show| show(router, c.interface, family);
            cli.task_at(path, about, show);
        }
    }
}
