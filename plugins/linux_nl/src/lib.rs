//! The Linux mirror: routes, neighbours, addresses, states and MTUs that Linux has for the devices
//! of interface pairs (`linux_cp`) become the router's, so that routing daemons of Linux route for
//! it.
//!
//! A thread in each namespace with pairs listens to the kernel and notifies control. When messages
//! were lost, or the state is doubtful for another reason, everything is read again and state that
//! is not reported is removed: unchanged state stays untouched.
#![forbid(unsafe_code)]

mod apply;
mod cli;
mod diff;
mod listener;
mod look;
mod message;

use std::collections::hash_map::Entry;
use std::time::Instant;

use control::process::Event;
use net::fib::Source;
use net::neighbor;
use net::prelude::*;

use listener::{Listener, Told};
use message::{Key, MAIN, News, Route};

/// The Linux mirror.
pub const FEATURE: Feature = Feature {
    name: "linux_nl",
    about: "linux Control Plane - Netlink listener",
    origin: Origin::Plugin,
    default_enabled: false,
    requires: &["linux_cp"],
    register,
    configuration: Configuration::None("what it mirrors is in the configuration of Linux"),
};

/// Names and priorities of the sources of routes: of operators of Linux, and of routing daemons.
const SOURCES: [(&str, u8); 2] = [("lcp-rt", 0x50), ("lcp-rt-dynamic", 0x51)];
/// Seconds between two readings of all, which repair what went apart unseen, and those that each
/// route adds.
const REREAD: f64 = 60.0;
const REREAD_ROUTE: f64 = 0.001;
/// Work after which others get their turn.
const SLICE: Duration = Duration::from_millis(2);

/// All routes to a prefix.
#[derive(Debug, Default)]
struct Place {
    /// The routes, with the round in which they were last reported.
    routes: Vec<(Route, u32)>,
    /// Where the best of them is in the router.
    installed: Option<(TableIndex, Source)>,
    /// Hash of its paths there.
    paths: u64,
}

/// Routes by the nexthop objects that they follow.
#[derive(Debug, Default)]
struct Objects(HashMap<u32, u32>);

impl Objects {
    /// Whether routes follow an object.
    fn has(&self, id: u32) -> bool {
        self.0.contains_key(&id)
    }
    /// Changes the routes to a prefix.
    fn edit(&mut self, place: &mut Place, change: impl FnOnce(&mut Place)) {
        for id in place.routes.iter().filter_map(|(route, _)| route.object) {
            if let Entry::Occupied(mut users) = self.0.entry(id) {
                *users.get_mut() -= 1;
                if *users.get() == 0 {
                    users.remove();
                }
            }
        }
        change(place);
        for id in place.routes.iter().filter_map(|(route, _)| route.object) {
            *self.0.entry(id).or_default() += 1;
        }
    }
}

/// The state of Linux in a namespace.
struct Mirror {
    listener: Listener,
    places: BTreeMap<Key, Place>,
    /// Tables of the router that are held, by version and number, with the number of routes there.
    tables: BTreeMap<(IpVersion, u32), (TableIndex, usize)>,
    objects: Objects,
    /// Known neighbors, with the round in which they were last reported.
    neighbors: BTreeMap<(u32, IpAddr), u32>,
    /// Number of complete readings.
    round: u32,
    /// At least one complete reading.
    is_complete: bool,
    /// Batches taken apart in part.
    waiting: std::vec::IntoIter<News>,
    /// Work to be done before those.
    sweep: Option<Sweep>,
}

/// State removed in slices, with the last item visited: known state that was missing from a
/// complete reading, or the routes of a deleted nexthop object.
#[derive(Clone, Copy, Debug)]
enum Sweep {
    Routes(Option<Key>),
    Neighbors(Option<(u32, IpAddr)>),
    Object(u32, Option<Key>),
}

/// All that control keeps.
struct Mirrors {
    all: BTreeMap<String, Mirror>,
    sources: [Source; 2],
    told: EventSender<Told>,
    /// Left-over routes of an earlier start are removed.
    is_swept: bool,
    /// More work is due already.
    is_due: bool,
    /// Times that news was lost.
    lost: u64,
    /// Bytes that may wait in the kernel.
    room: usize,
}

/// Mirrored devices of a namespace.
struct Devices {
    /// Interfaces by the numbers of their devices.
    all: HashMap<u32, InterfaceIndex>,
    /// Numbers of the router's tables for the main table of Linux, of IPv4 and of IPv6.
    main: [u32; 2],
}

impl Devices {
    /// Those in a namespace but for one.
    fn without(router: &Router, namespace: &str, device: u32) -> Self {
        let here = linux_cp::all(router).filter(|p| p.device != 0 && p.namespace == namespace);
        let here = here.filter(|pair| pair.device != device);
        let all: HashMap<_, _> = here.map(|pair| (pair.device, pair.phy)).collect();
        let main = [IpVersion::V4, IpVersion::V6].map(|version| {
            let mut tables = all.values().map(|phy| router.addresses.of(*phy).table_for(version));
            // That of all interfaces, or the default one when they are in several.
            let first = tables.next().filter(|first| tables.all(|table| table == *first));
            first.and_then(|table| router.fib.table_id_for(version, table)).unwrap_or_default()
        });
        Self { all, main }
    }
    fn get(&self, device: u32) -> Option<InterfaceIndex> {
        self.all.get(&device).copied()
    }
    /// Number of the router's table for a route of Linux.
    fn table_of(&self, route: &Route) -> u32 {
        match (route.table, route.prefix.addr().is_ipv4()) {
            (MAIN, true) => self.main[0],
            (MAIN, false) => self.main[1],
            (table, _) => table,
        }
    }
}

fn devices(router: &Router, namespace: &str) -> Devices {
    Devices::without(router, namespace, 0)
}

/// Starts to mirror a namespace, or has all of it read again.
fn begin(router: &mut Router, namespace: &str) {
    let mirrors = router.own_mut::<Mirrors>();
    if let Some(mirror) = mirrors.all.get(namespace) {
        return mirror.listener.tell_all();
    }
    match Listener::begin(namespace, mirrors.room, mirrors.told.clone()) {
        Ok(listener) => {
            let mirror = Mirror {
                listener,
                places: BTreeMap::new(),
                tables: BTreeMap::new(),
                objects: Objects::default(),
                neighbors: BTreeMap::new(),
                round: 0,
                is_complete: false,
                waiting: Vec::new().into_iter(),
                sweep: None,
            };
            mirrors.all.insert(namespace.to_owned(), mirror);
        }
        Err(e) => {
            let log = router.log.class("linux-nl", "nl");
            log.warn(format_args!("cannot listen in namespace '{namespace}': {e}"));
        }
    }
}

/// Follows pairs that come and go.
fn follow(router: &mut Router, phy: InterfaceIndex, is_there: bool) {
    let Some(pair) = linux_cp::of(router, phy).filter(|pair| pair.device != 0) else { return };
    let (namespace, device) = (pair.namespace.clone(), pair.device);
    if is_there {
        return begin(router, &namespace);
    }
    let left = Devices::without(router, &namespace, device);
    router.with(|mirrors: &mut Mirrors, router| {
        let Some(mirror) = mirrors.all.get_mut(&namespace) else { return };
        mirror.neighbors.retain(|(of, _), _| *of != device);
        apply::without(router, mirror, &left, mirrors.sources, device);
        if left.all.is_empty() {
            mirrors.all.remove(&namespace);
        }
    });
}

/// Handles messages, for as long as others can wait.
fn take(router: &mut Router) {
    let end = Instant::now() + SLICE;
    let names: Vec<_> = router.own::<Mirrors>().all.keys().cloned().collect();
    let mut is_more = false;
    for name in names {
        is_more |= take_of(router, &name, end);
    }
    neighbor::release(router);
    if is_more && !std::mem::replace(&mut router.own_mut::<Mirrors>().is_due, true) {
        router.after(0.0, due, 0);
    }
}

fn due(router: &mut Router, _: u64) {
    router.own_mut::<Mirrors>().is_due = false;
    take(router);
}

/// Handles messages of a namespace until the time is over; returns whether there are more.
fn take_of(router: &mut Router, name: &str, end: Instant) -> bool {
    let mut known = devices(router, name);
    loop {
        // A look may have ended the mirror.
        let Some(mirror) = router.own_mut::<Mirrors>().all.get_mut(name) else { return false };
        if mirror.waiting.len() == 0 && mirror.sweep.is_none() {
            let Some(batch) = mirror.listener.next() else { return false };
            let has_changed = batch.contains(&News::Look);
            mirror.waiting = batch.into_iter();
            if has_changed {
                look::look(router, name);
                known = devices(router, name);
            }
        }
        let done = router.with(|mirrors: &mut Mirrors, router| {
            let sources = mirrors.sources;
            let Some(mirror) = mirrors.all.get_mut(name) else { return true };
            loop {
                if mirror.sweep.is_some() {
                    apply::sweep(router, mirror, &known, sources);
                } else if let Some(news) = mirror.waiting.next() {
                    mirrors.lost += u64::from(news == News::Lost);
                    apply::news(router, mirror, &known, sources, news);
                } else {
                    return true;
                }
                if Instant::now() >= end {
                    return false;
                }
            }
        });
        if done != Some(true) {
            return true;
        }
        sweep(router);
        if Instant::now() >= end {
            return true;
        }
    }
}

/// Once all namespaces are known, takes back what an earlier life of the mirror left.
fn sweep(router: &mut Router) {
    let mirrors = router.own::<Mirrors>();
    if mirrors.is_swept || mirrors.all.values().any(|mirror| !mirror.is_complete) {
        return;
    }
    let mut stale = Vec::new();
    for source in mirrors.sources {
        for (id, prefix) in router.fib.routes_of(source) {
            let Some(table) = router.fib.table_for(net::adjacency::Link::of(prefix.addr()), id)
            else {
                continue;
            };
            let is_here = |m: &Mirror| {
                let places = |of| m.places.get(&(of, prefix));
                let is_it = |place: &Place| place.installed == Some((table, source));
                [MAIN, id].into_iter().filter_map(places).any(is_it)
            };
            if !mirrors.all.values().any(is_here) {
                stale.push((table, prefix, source));
            }
        }
    }
    for (table, prefix, source) in stale {
        // It was there just now.
        let _ = router.remove_route(table, prefix, source, &[]);
    }
    router.own_mut::<Mirrors>().is_swept = true;
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let room = parts.startup("linux-nl", "nl-rx-buffer-size")?.unwrap_or(listener::WAITING);
    let router = &mut *parts.router;
    let mut sources = [Source::API; 2];
    for (source, (name, priority)) in sources.iter_mut().zip(SOURCES) {
        let made = router.fib.sources.add_own(name, priority);
        *source = made.ok_or_else(|| refuse("no more sources of routes"))?;
    }
    let told = router.events.sender::<Told>();
    let (is_swept, is_due) = (false, false);
    let all = BTreeMap::new();
    router.insert(Mirrors { all, sources, told, is_swept, is_due, lost: 0, room });
    router.events.handle(|router, _: Told| take(router));
    linux_cp::observe(router, follow);
    router.processes.spawn(
        "linux-nl-reread",
        Box::new(|router: &mut Router, event| {
            let mirrors = router.own::<Mirrors>();
            if event == Event::Timeout {
                mirrors.all.values().for_each(|mirror| mirror.listener.tell_all());
            }
            let routes: usize = mirrors.all.values().map(|mirror| mirror.places.len()).sum();
            Wake::After(Duration::from_secs_f64(REREAD + REREAD_ROUTE * routes as f64))
        }),
    );
    let mut there: Vec<_> = linux_cp::all(router)
        .filter(|pair| pair.device != 0)
        .map(|pair| pair.namespace.clone())
        .collect();
    there.dedup();
    there.iter().for_each(|namespace| begin(router, namespace));
    cli::register(&mut parts.cli);
    Ok(())
}
