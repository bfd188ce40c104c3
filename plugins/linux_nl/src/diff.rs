//! `show lcp diff`: the state of Linux is read on a thread of its own, and compared in slices, so
//! that a million routes block nothing.

use std::ops::Bound;
use std::time::Instant;

use control::cli::{self, Step, Task};
use drivers::host::background::Background;
use drivers::host::namespace;
use drivers::host::netlink::Netlink;
use net::fib::Path;
use net::prelude::*;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::look::Seen;
use super::message::{Key, MAIN, News, Route, To};
use super::{Devices, Mirrors, SLICE, apply, devices};

/// Interval between checks whether Linux has answered.
const LOOK: Duration = Duration::from_millis(1);
/// Number of prefixes that are compared between two checks of the time.
const STEP: usize = 64;

/// The kernel's state of a namespace.
struct Kernel {
    name: String,
    seen: Seen,
    /// By prefix, those that count first.
    routes: Vec<Route>,
}

impl Kernel {
    fn ask(name: String) -> io::Result<Self> {
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
        routes.sort_by_key(|route| (route.key(), route.metric));
        Ok(Self { name, seen, routes })
    }
    /// The routes of a table to a prefix.
    fn to(&self, key: Key) -> &[Route] {
        let first = self.routes.partition_point(|route| route.key() < key);
        let rest = &self.routes[first..];
        &rest[..rest.partition_point(|route| route.key() == key)]
    }
}

/// Position of a comparison.
#[derive(Clone, Copy)]
enum At {
    Interfaces,
    /// Number of the next route of Linux that may be left out.
    LeftOut(usize),
    /// Number of the next route of Linux.
    Linux(usize),
    /// The last one that is mirrored and was compared.
    Mirror(Option<Key>),
    End,
}

/// `show lcp diff` on its way.
struct Comparison {
    asked: Option<Background<io::Result<Vec<Kernel>>>>,
    /// Namespaces left to compare, the next one last.
    kernels: Vec<Kernel>,
    at: At,
    /// Mirrored routes that the router has.
    found: usize,
    /// Whether routes differ.
    differs: bool,
}

/// Begins a comparison.
pub(super) fn begin(router: &mut Router) -> Box<dyn Task<Router>> {
    let names: Vec<_> = router.own::<Mirrors>().all.keys().rev().cloned().collect();
    let ask = || names.into_iter().map(Kernel::ask).collect();
    let asked = Some(Background::begin(ask));
    Box::new(Comparison {
        asked,
        kernels: Vec::new(),
        at: At::Interfaces,
        found: 0,
        differs: false,
    })
}

impl Task<Router> for Comparison {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        if let Some(asked) = &self.asked {
            let Some(answer) = asked.result() else { return Step::Sleep(LOOK) };
            match answer.flatten() {
                Ok(kernels) => (self.asked, self.kernels) = (None, kernels),
                Err(e) => return Step::Done(Err(Error::new(cli::io_text(&e).to_string()))),
            }
        }
        let end = Instant::now() + SLICE;
        let mut lines = String::new();
        let mut line = |what: String| lines += &(what + "\n");
        let mut is_done = false;
        while !is_done && Instant::now() < end {
            is_done = self.advance(router, &mut line);
        }
        out.append(Output::text(lines));
        if is_done && self.differs {
            // Differences are repaired: everything is read again.
            let mirrors = router.own_mut::<Mirrors>();
            mirrors.is_swept = false;
            mirrors.all.values().for_each(|mirror| mirror.listener.tell_all());
        }
        if is_done { Step::Done(Ok(())) } else { Step::Again }
    }
}

impl Comparison {
    /// Compares a little more; whether that was all.
    fn advance(&mut self, router: &Router, line: &mut impl FnMut(String)) -> bool {
        let differs = &mut self.differs;
        let mut about_route = |what: String| {
            *differs = true;
            line(what);
        };
        let Some(kernel) = self.kernels.last() else {
            strangers(router, self.found, &mut about_route);
            return true;
        };
        let known = devices(router, &kernel.name);
        self.at = match self.at {
            At::Interfaces => {
                interfaces(router, kernel, line);
                At::LeftOut(0)
            }
            At::LeftOut(first) => left_out(kernel, &known, first, line),
            At::Linux(first) => of_linux(router, kernel, &known, first, &mut about_route),
            At::Mirror(last) => {
                let (next, found) = of_mirror(router, kernel, &known, last, &mut about_route);
                self.found += found;
                next
            }
            At::End => {
                self.kernels.pop();
                At::Interfaces
            }
        };
        false
    }
}

/// Writes a line for each route over a mirrored device that is left out.
fn left_out(kernel: &Kernel, known: &Devices, first: usize, line: &mut impl FnMut(String)) -> At {
    let rest = kernel.routes.get(first..).unwrap_or_default();
    for route in rest.iter().take(STEP) {
        let (To::Hops(hops), Some(how)) = (&route.to, route.encapsulation) else { continue };
        if hops.iter().any(|hop| known.get(hop.device).is_some()) {
            let (route, how) = (named(route.key()), how.name());
            line(format!("{route}: ignored, it has an encapsulation ({how})"));
        }
    }
    if rest.len() > STEP { At::LeftOut(first + STEP) } else { At::Linux(0) }
}

/// Compares routes that Linux has.
fn of_linux(
    router: &Router,
    kernel: &Kernel,
    known: &Devices,
    mut first: usize,
    line: &mut impl FnMut(String),
) -> At {
    let mirrors = router.own::<Mirrors>();
    for _ in 0..STEP {
        let Some(key) = kernel.routes.get(first).map(Route::key) else {
            return At::Mirror(None);
        };
        let there = kernel.to(key);
        first += there.len();
        let wanted = apply::wanted(there.iter(), known, mirrors.sources);
        let Some((id, source, paths)) = wanted else { continue };
        let place = mirrors.all.get(&kernel.name).and_then(|mirror| mirror.places.get(&key));
        let is_here = |table: TableIndex| {
            place.is_some_and(|place| place.installed == Some((table, source)))
                && router.fib.has_route_of(source, table, key.1)
        };
        if !router.fib.table_for(key.1.addr(), id).is_some_and(is_here) {
            line(format!("{}: only in Linux", named(key)));
            continue;
        }
        let mirrored = place.and_then(|place| {
            let routes = place.routes.iter().map(|(route, _)| route);
            apply::wanted(routes, known, mirrors.sources)
        });
        if mirrored.is_none_or(|(_, _, mirrored)| !same(&mirrored, &paths)) {
            line(format!("{}: paths differ from Linux", named(key)));
        }
    }
    At::Linux(first)
}

/// A route, as it is named here.
fn named((table, prefix): Key) -> String {
    match table {
        MAIN => format!("route {prefix}"),
        _ => format!("route {prefix} table {table}"),
    }
}

/// Whether paths are the same but for their order.
fn same(a: &[Path], b: &[Path]) -> bool {
    let count = |all: &[Path], path| all.iter().filter(|p| *p == path).count();
    a == b || a.len() == b.len() && a.iter().all(|path| count(a, path) == count(b, path))
}

/// Compares routes that are mirrored; counts those that the router has.
fn of_mirror(
    router: &Router,
    kernel: &Kernel,
    known: &Devices,
    mut last: Option<Key>,
    line: &mut impl FnMut(String),
) -> (At, usize) {
    let mirrors = router.own::<Mirrors>();
    let Some(mirror) = mirrors.all.get(&kernel.name) else { return (At::End, 0) };
    let after = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
    let mut compared = 0;
    let mut found = 0;
    for (key, place) in mirror.places.range(after).take(STEP) {
        (last, compared) = (Some(*key), compared + 1);
        let Some((table, source)) = place.installed else { continue };
        if !router.fib.has_route_of(source, table, key.1) {
            continue;
        }
        found += 1;
        let wanted = apply::wanted(kernel.to(*key).iter(), known, mirrors.sources);
        let is_it = |id, s| router.fib.table_for(key.1.addr(), id) == Some(table) && s == source;
        if !wanted.is_some_and(|(id, s, _)| is_it(id, s)) {
            line(format!("{}: not in Linux", named(*key)));
        }
    }
    (if compared < STEP { At::End } else { At::Mirror(last) }, found)
}

/// Writes a line for each route that has the source of the mirrors and is in none. There are none
/// as long as the router has as many as were found.
fn strangers(router: &Router, found: usize, line: &mut impl FnMut(String)) {
    let mirrors = router.own::<Mirrors>();
    let count: usize = mirrors.sources.iter().map(|source| router.fib.count_of(*source)).sum();
    if count == found {
        return;
    }
    for source in mirrors.sources {
        for (id, prefix) in router.fib.routes_of(source) {
            let table = router.fib.table_for(Link::of(prefix.addr()), id);
            let installed = table.map(|table| (table, source));
            let places = mirrors.all.values().map(|mirror| &mirror.places);
            let mut places = places.flat_map(|all| [MAIN, id].map(|of| all.get(&(of, prefix))));
            if !places.any(|place| place.is_some_and(|place| place.installed == installed)) {
                line(format!("route {prefix}: not in Linux"));
            }
        }
    }
}

/// Writes a line for each difference about interfaces.
fn interfaces(router: &Router, kernel: &Kernel, line: &mut impl FnMut(String)) {
    for pair in linux_cp::all(router).filter(|p| p.device != 0 && p.namespace == kernel.name) {
        let Some(i) = router.interfaces.at(pair.phy) else { continue };
        let name = &i.name;
        let Some(link) = kernel.seen.links.iter().find(|link| link.number == pair.device) else {
            line(format!("{name}: Linux has no device {}", pair.name));
            continue;
        };
        if link.is_up != i.admin_up {
            let word = |up| if up { "up" } else { "down" };
            let (here, there) = (word(i.admin_up), word(link.is_up));
            line(format!("{name}: {here}, Linux {there}"));
        }
        let mtu = router.interfaces.mtu_of(pair.phy, |mtu| mtu.l3);
        if link.mtu.is_some_and(|there| there != mtu) {
            line(format!("{name}: MTU {mtu}, Linux {}", link.mtu.unwrap_or_default()));
        }
        let there = kernel.seen.addresses_of(pair.device);
        let here: Vec<_> = router.addresses.of(pair.phy).iter().collect();
        for address in here.iter().filter(|address| !there.contains(*address)) {
            line(format!("{name}: Linux lacks {address}"));
        }
        // A borrowed address may have been copied to the device.
        let borrowed = router.addresses.of(pair.phy).borrowed.as_ref();
        let is_lent = |address: &Prefix| match (address, borrowed) {
            (_, None) => false,
            (Prefix::Ip4(address), Some(lent)) => lent.ip4.contains(address),
            (Prefix::Ip6(address), Some(lent)) => lent.ip6.contains(address),
        };
        for address in there.iter().filter(|a| !here.contains(a) && !is_lent(a)) {
            line(format!("{name}: lacks {address} of Linux"));
        }
    }
}
