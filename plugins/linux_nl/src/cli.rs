//! `show lcp diff`, `lcp resync`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

use control::cli::{Cli, Command, Error, Output, Task};
use drivers::host::background::{Background, Pending};
use drivers::host::namespace;
use drivers::host::netlink::Netlink;
use net::Router;
use net::adjacency::Link;
use net::fib::Path;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::Serialize;
use wire::Prefix;

use super::look::Seen;
use super::message::{News, Route};
use super::{Mirrors, apply, devices};

/// Show where the router and Linux differ about mirrored interfaces and routes over them.
#[derive(Command)]
#[command("show lcp diff")]
struct Diff;

/// Have all that Linux knows of mirrored interfaces told anew.
#[derive(Command)]
#[command("lcp resync")]
struct Resync;

/// Show what is mirrored of Linux, by namespace.
#[derive(Command)]
#[command("show lcp mirror")]
struct Show;

#[derive(Serialize)]
struct Row {
    namespace: String,
    routes: usize,
    neighbors: usize,
    rounds: u32,
}

#[derive(Serialize)]
struct Shown {
    lost: u64,
    mirrors: Vec<Row>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.mirrors {
            let name = if row.namespace.is_empty() { "<own>" } else { &row.namespace };
            write!(f, "netns {name}: {} routes, {} neighbors", row.routes, row.neighbors)?;
            writeln!(f, ", read {} times", row.rounds)?;
        }
        writeln!(f, "news lost {} times", self.lost)
    }
}

/// What the kernel has in a namespace.
struct Kernel {
    name: String,
    seen: Seen,
    routes: Vec<Route>,
}

fn ask(name: String) -> io::Result<Kernel> {
    let file = Some(name.as_str()).filter(|name| !name.is_empty()).map(str::to_owned);
    let mut netlink = namespace::within(file.as_deref(), Netlink::open)?;
    let seen = Seen::of(&mut netlink)?;
    let mut routes = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        netlink.dump(RouteNetlinkMessage::GetRoute(message), |message| {
            if let Some(News::Route(route)) = News::of(&message) {
                routes.push(route);
            }
        })?;
    }
    Ok(Kernel { name, seen, routes })
}

/// Paths without their order.
fn sorted(paths: &[Path]) -> Vec<String> {
    let mut all: Vec<_> = paths.iter().map(|path| format!("{path:?}")).collect();
    all.sort();
    all
}

/// Writes a line for each difference about routes.
fn routes(router: &Router, kernel: &Kernel, line: &mut impl FnMut(fmt::Arguments<'_>)) {
    let mirrors = router.own::<Mirrors>();
    let known = devices(router, &kernel.name);
    let mut by_prefix = BTreeMap::<Prefix, Vec<&Route>>::new();
    for route in &kernel.routes {
        by_prefix.entry(route.prefix).or_default().push(route);
    }
    let here: BTreeSet<_> = mirrors
        .sources
        .into_iter()
        .flat_map(|source| router.routes_of(source).map(move |(id, prefix)| (source, id, prefix)))
        .collect();
    let mut wanted = BTreeSet::new();
    let places = mirrors.all.get(&kernel.name).map(|mirror| &mirror.places);
    for (prefix, routes) in &mut by_prefix {
        routes.sort_by_key(|route| route.metric);
        let best = |routes: &mut dyn Iterator<Item = &Route>| {
            apply::wanted(router, routes, &known, mirrors.sources)
        };
        let Some((table, source, paths)) = best(&mut routes.iter().copied()) else { continue };
        let id = router.table_id_of(Link::of(prefix.addr()), table).unwrap_or_default();
        let place = places.and_then(|places| places.get(prefix));
        let mirrored = place.and_then(|p| best(&mut p.routes.iter().map(|(route, _)| route)));
        if !here.contains(&(source, id, *prefix)) {
            line(format_args!("route {prefix}: only in Linux"));
        } else if mirrored.is_none_or(|(_, _, known)| sorted(&known) != sorted(&paths)) {
            line(format_args!("route {prefix}: other paths than in Linux"));
        }
        wanted.insert((source, id, *prefix));
    }
    // Those of other namespaces are compared with theirs.
    let is_others = |prefix: &Prefix| {
        let mut others = mirrors.all.iter().filter(|(name, _)| **name != kernel.name);
        others.any(|(_, m)| m.places.get(prefix).is_some_and(|p| p.installed.is_some()))
    };
    for (_, _, prefix) in here.difference(&wanted).filter(|(_, _, prefix)| !is_others(prefix)) {
        line(format_args!("route {prefix}: not in Linux"));
    }
}

/// Writes a line for each difference.
fn differences(router: &Router, kernel: &Kernel, out: &mut Vec<String>) {
    let mut line = |what: fmt::Arguments<'_>| out.push(format!("{what}\n"));
    for pair in linux_cp::all(router).filter(|p| p.device != 0 && p.namespace == kernel.name) {
        let Some(i) = router.interfaces.at(pair.phy) else { continue };
        let name = &i.name;
        let Some(link) = kernel.seen.links.iter().find(|link| link.number == pair.device) else {
            line(format_args!("{name}: Linux has no device {}", pair.name));
            continue;
        };
        if link.is_up != i.admin_up {
            let word = |up| if up { "up" } else { "down" };
            let (here, there) = (word(i.admin_up), word(link.is_up));
            line(format_args!("{name}: {here}, Linux {there}"));
        }
        let mtu = router.interfaces.mtu_of(pair.phy, |mtu| mtu.l3);
        if link.mtu.is_some_and(|there| there != mtu) {
            line(format_args!("{name}: MTU {mtu}, Linux {}", link.mtu.unwrap_or_default()));
        }
        let there = kernel.seen.addresses_of(pair.device);
        let here: Vec<_> = router.addresses.of(pair.phy).iter().collect();
        for address in here.iter().filter(|address| !there.contains(*address)) {
            line(format_args!("{name}: Linux lacks {address}"));
        }
        for address in there.iter().filter(|address| !here.contains(address)) {
            line(format_args!("{name}: lacks {address} of Linux"));
        }
    }
    routes(router, kernel, &mut line);
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, _: Diff| {
        let names: Vec<_> = router.own::<Mirrors>().all.keys().cloned().collect();
        let asked =
            Background::begin(move || names.into_iter().map(ask).collect::<io::Result<Vec<_>>>());
        let done = Pending::new(asked, |router: &mut Router, asked| {
            let system = |e: io::Error| Error::new(control::cli::io_text(&e).to_string());
            let mut out = Vec::new();
            for kernel in asked.and_then(|asked| asked).map_err(system)? {
                differences(router, &kernel, &mut out);
            }
            Ok::<_, Error>(out.concat().trim_end().to_owned())
        });
        Ok(Box::new(done) as Box<dyn Task<Router>>)
    });
    cli.command(|router: &mut Router, _: Show| {
        let mirrors = router.own::<Mirrors>();
        let row = |(name, mirror): (&String, &super::Mirror)| Row {
            namespace: name.clone(),
            routes: mirror.places.values().map(|place| place.routes.len()).sum(),
            neighbors: mirror.neighbors.len(),
            rounds: mirror.round,
        };
        let rows = mirrors.all.iter().map(row).collect();
        Ok(Output::of(Shown { lost: mirrors.lost, mirrors: rows }))
    });
    cli.command(|router: &mut Router, _: Resync| {
        let mirrors = router.own::<Mirrors>();
        mirrors.all.values().for_each(|mirror| mirror.listener.tell_all());
        Ok(())
    });
}
