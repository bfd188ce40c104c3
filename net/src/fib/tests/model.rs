//! Random changes of routes of several sources, next hops, tables and interfaces of both families,
//! compared after each with a model that knows nothing of lists, load balances or back-walks: it
//! follows each route from the start.

mod walk;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::adjacency::Link;
use walk::{End, Model, PLACES, PathSpec, Place, To};

const INTERFACES: [&str; 3] = ["pg0", "pg1", "pg2"];

/// Of IPv4 and IPv6: what routes are for, addresses inside that paths lead to, neighbours.
const PREFIXES: [[&str; 8]; 2] = [
    [
        "0.0.0.0/0",
        "16.0.0.0/8",
        "16.0.0.0/16",
        "16.0.0.1/32",
        "17.0.0.0/8",
        "18.0.0.0/8",
        "10.0.0.0/24",
        "10.0.0.9/32",
    ],
    [
        "::/0",
        "2a16::/16",
        "2a16::/32",
        "2a16::1/128",
        "2a17::/16",
        "2a18::/16",
        "2001:db8::/64",
        "2001:db8::9/128",
    ],
];
const ADDRS: [[&str; 5]; 2] = [
    ["16.0.0.1", "16.0.9.1", "17.0.0.1", "18.0.0.1", "10.0.0.9"],
    ["2a16::1", "2a16:1::1", "2a17::1", "2a18::1", "2001:db8::9"],
];
const NEIGHBORS: [[&str; 3]; 2] =
    [["10.0.0.2", "10.0.1.2", "10.0.2.2"], ["2001:db8::2", "2001:db8:1::2", "fe80::2"]];

const SOURCES: [Source; 4] = [Source::INTERFACE, Source::API, Source::CLI, Source::ADJACENCY];

/// The number of the table beside the one that is always there.
const OTHER: u32 = 10;

/// One step.
#[derive(Clone, Debug)]
enum Step {
    /// A source has these paths for the n-th prefix, and no others.
    Set(Place, usize, Source, Vec<PathSpec>),
    /// A source has these paths, too.
    Add(Place, usize, Source, Vec<PathSpec>),
    /// A source no longer has one of its paths, or any.
    Take(Place, usize, Source, Option<usize>),
    /// An interface goes up or down.
    Interface(usize, bool),
    /// An interface is deleted, and another one has its name.
    Renew(usize),
    /// A source gives up all in a table.
    Flush(Place, Source),
    /// Clients begin to replace their routes in a table.
    Begin(Place),
    /// Clients have replaced them.
    End(Place),
    /// The other table of a family is added or deleted.
    Table(Link, bool),
}

fn places() -> impl Strategy<Value = Place> {
    // Nearly all that matters can happen in existing tables.
    prop_oneof![
        3 => prop::sample::select(vec![PLACES[0], PLACES[2]]),
        1 => prop::sample::select(PLACES.to_vec()),
    ]
}

fn specs() -> impl Strategy<Value = Vec<PathSpec>> {
    let through = [Through::Any, Through::Any, Through::Any, Through::Host, Through::Attached];
    let through = prop::sample::select(through.to_vec());
    let to = prop_oneof![
        4 => (0..2usize, 0..3usize)
            .prop_map(|(family, i)| To::Neighbor(i, NEIGHBORS[family][i].parse().unwrap())),
        1 => (0..3usize).prop_map(To::Attached),
        6 => (places(), 0..ADDRS[0].len(), through).prop_map(|(at, n, t)| To::Through(at, n, t)),
        1 => any::<bool>().prop_map(To::Lookup),
        1 => prop::sample::select(vec![To::Receive, To::Drop]),
    ];
    let all = prop::collection::btree_map(to, (1..4u16, 0..2u8), 1..4);
    let spec = |(to, (weight, preference))| PathSpec { to, weight, preference };
    all.prop_map(move |all| all.into_iter().map(spec).collect())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || (places(), 0..PREFIXES[0].len(), prop::sample::select(SOURCES.to_vec()));
    let link = prop::sample::select(vec![Link::Ip4, Link::Ip6]);
    let source = prop::sample::select(SOURCES.to_vec());
    let step = prop_oneof![
        12 => (key(), specs()).prop_map(|((at, n, source), specs)| Step::Set(at, n, source, specs)),
        6 => (key(), specs()).prop_map(|((at, n, source), specs)| Step::Add(at, n, source, specs)),
        10 => (key(), prop::option::of(0..3usize))
            .prop_map(|((at, n, source), which)| Step::Take(at, n, source, which)),
        3 => (0..3usize, any::<bool>()).prop_map(|(i, is_up)| Step::Interface(i, is_up)),
        1 => (0..3usize).prop_map(Step::Renew),
        1 => (places(), source).prop_map(|(at, source)| Step::Flush(at, source)),
        1 => places().prop_map(Step::Begin),
        1 => places().prop_map(Step::End),
        2 => (link, any::<bool>()).prop_map(|(link, is_there)| Step::Table(link, is_there)),
    ];
    prop::collection::vec(step, 1..60)
}

/// Runs the same code for a table of either family.
macro_rules! of {
    ($link:expr, $f:ident => $work:expr) => {
        match $link {
            Link::Ip4 => {
                type $f = Ip4;
                $work
            }
            _ => {
                type $f = Ip6;
                $work
            }
        }
    };
}

fn of_family(link: Link) -> usize {
    usize::from(link == Link::Ip6)
}

/// A router, and what it should be like.
struct Both {
    b: Rig,
    model: Model,
    /// Whether the other table is to be there, and whether it is.
    is_wanted: [bool; 2],
    is_there: [bool; 2],
    /// Routes of clients that were not added again yet, where clients replace them.
    stale: BTreeMap<Place, BTreeSet<Prefix>>,
    /// Routes that found no room.
    refused: usize,
}

impl Both {
    fn new() -> Self {
        Self {
            b: bench(),
            model: Model { routes: BTreeMap::new(), is_up: [true; 3] },
            is_wanted: [false; 2],
            is_there: [false; 2],
            stale: BTreeMap::new(),
            refused: 0,
        }
    }
    fn is_there(&self, place: Place) -> bool {
        !place.is_other || self.is_there[of_family(place.link)]
    }
    fn table(&self, place: Place) -> TableIndex {
        let id = if place.is_other { OTHER } else { 0 };
        self.b.router.fib.table_for(place.link, id).unwrap()
    }
    /// The paths of a route in a table, as the router accepts them; none if one leads to a missing
    /// table.
    fn paths(&self, place: Place, specs: &[PathSpec]) -> Option<Vec<Path>> {
        let target = |to| {
            Some(match to {
                To::Neighbor(i, addr) => {
                    Target::neighbor(place.link, self.b.interface(INTERFACES[i]), addr)
                }
                To::Attached(i) => {
                    let interface = self.b.interface(INTERFACES[i]);
                    // With an address of ours, or a host's route leads to that host.
                    let own = walk::address(place.link, 0);
                    Target::Attached { interface, own }
                }
                To::Through(at, n, through) => {
                    let (table, addr) = (self.place(at)?, walk::address(at.link, n));
                    Target::Recursive { to: Gateway { link: place.link, table, addr }, through }
                }
                To::Lookup(is_other) => {
                    let table = self.place(Place { is_other, ..place })?;
                    Target::Lookup { link: place.link, table }
                }
                To::Receive => Target::Receive { interface: None, addr: None },
                To::Drop => Target::Drop,
            })
        };
        let path = |spec: &PathSpec| {
            let (weight, preference) = (spec.weight, spec.preference);
            Some(Path { weight, preference, ..Path::to(target(spec.to)?) })
        };
        specs.iter().map(path).collect()
    }
    fn place(&self, place: Place) -> Option<TableIndex> {
        self.is_there(place).then(|| self.table(place))
    }
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Set(at, n, source, specs) | Step::Add(at, n, source, specs) => {
                let adds = matches!(step, Step::Add(..));
                self.give(*at, *n, *source, specs, adds);
            }
            Step::Take(at, n, source, which) => self.take(*at, *n, *source, *which),
            Step::Interface(i, is_up) => {
                let interface = self.b.interface(INTERFACES[*i]);
                self.b.control(|r| r.set_admin(interface, *is_up));
                self.model.is_up[*i] = *is_up;
            }
            Step::Renew(i) => {
                let interface = self.b.interface(INTERFACES[*i]);
                self.b.control(|r| r.remove_interface(interface));
                self.b.add_interface(INTERFACES[*i], Kind::Ethernet, 0xaa);
                self.model.is_up[*i] = true;
                self.sweep(|_, _, specs| specs.retain(|spec| !spec.names(*i)));
            }
            Step::Flush(at, source) if self.is_there(*at) => {
                let table = self.table(*at);
                let flush =
                    |r: &mut Router| of!(at.link, F => r.flush_table::<F>(table, &[*source]));
                assert_eq!(self.b.control(flush), Ok(()));
                self.sweep(|key, by, specs| {
                    if key.0 == *at && by == *source {
                        specs.clear();
                    }
                });
            }
            Step::Begin(at) if self.is_there(*at) => {
                let table = self.table(*at);
                let begin = |r: &mut Router| of!(at.link, F => r.begin_replace::<F>(table));
                assert_eq!(self.b.control(begin), Ok(()));
                let of_clients = self
                    .model
                    .routes
                    .iter()
                    .filter(|((place, _), by)| place == at && by.contains_key(&Source::API));
                self.stale.insert(*at, of_clients.map(|((_, prefix), _)| *prefix).collect());
            }
            Step::End(at) if self.is_there(*at) => {
                let table = self.table(*at);
                let end = |r: &mut Router| of!(at.link, F => r.end_replace::<F>(table));
                assert_eq!(self.b.control(end), Ok(()));
                let stale = self.stale.remove(at).unwrap_or_default();
                self.sweep(|key, by, specs| {
                    if key.0 == *at && by == Source::API && stale.contains(&key.1) {
                        specs.clear();
                    }
                });
            }
            Step::Flush(..) | Step::Begin(..) | Step::End(..) => (),
            Step::Table(link, is_there) => self.have_table(*link, *is_there),
        }
        self.reap();
    }
    fn give(&mut self, at: Place, n: usize, source: Source, specs: &[PathSpec], adds: bool) {
        let Some(paths) = self.paths(at, specs).filter(|_| self.is_there(at)) else { return };
        let (table, prefix) = (self.table(at), prefix(PREFIXES[of_family(at.link)][n]));
        let had = self.model.routes.entry((at, prefix)).or_default().entry(source).or_default();
        let before = had.clone();
        if !adds {
            had.clear();
        }
        for spec in specs {
            match had.iter_mut().find(|old| old.to == spec.to) {
                Some(same) => *same = spec.clone(),
                None => had.push(spec.clone()),
            }
        }
        let has_changed = *had != before;
        if source == Source::API {
            self.stale.entry(at).or_default().remove(&prefix);
        }
        let done = self.b.control(|r| match adds {
            true => r.add_route(table, prefix, source, &paths),
            false => r.set_route(table, prefix, source, &paths),
        });
        if done == Err(Error::Full) {
            self.refused += 1;
            self.model.routes.get_mut(&(at, prefix)).unwrap().insert(source, before);
            self.sweep(|_, _, _| ());
        } else {
            assert_eq!(done, Ok(has_changed));
        }
    }
    fn take(&mut self, at: Place, n: usize, source: Source, which: Option<usize>) {
        if !self.is_there(at) {
            return;
        }
        let (table, prefix) = (self.table(at), prefix(PREFIXES[of_family(at.link)][n]));
        let had = self.model.routes.get(&(at, prefix)).and_then(|by| by.get(&source));
        let gone = which.zip(had).map(|(n, had)| vec![had[n % had.len()].clone()]);
        let paths = self.paths(at, gone.as_deref().unwrap_or(&[])).unwrap();
        let want = if had.is_some() { Ok(()) } else { Err(Error::NoRoute) };
        let done = self.b.control(|r| r.remove_route(table, prefix, source, &paths));
        assert_eq!(done, want);
        self.sweep(|key, by, specs| {
            if *key == (at, prefix) && by == source {
                specs.retain(|spec| gone.as_ref().is_some_and(|gone| !gone.contains(spec)));
            }
        });
    }
    /// Changes the paths of all routes with `change`; those without any are deleted.
    fn sweep(&mut self, change: impl Fn(&(Place, Prefix), Source, &mut Vec<PathSpec>)) {
        for (key, by) in &mut self.model.routes {
            by.iter_mut().for_each(|(source, specs)| change(key, *source, specs));
            by.retain(|_, specs| !specs.is_empty());
        }
        self.model.routes.retain(|_, by| !by.is_empty());
    }
    fn have_table(&mut self, link: Link, is_there: bool) {
        let family = of_family(link);
        let done = self.b.control(|r| match is_there {
            true => of!(link, F => r.add_table::<F>(OTHER)).map(drop),
            false => of!(link, F => r.remove_table::<F>(OTHER)),
        });
        let want = match (is_there, self.is_there[family]) {
            (true, _) if self.is_wanted[family] => Err(Error::TableExists),
            (false, false) => Err(Error::NoTable),
            _ => Ok(()),
        };
        assert_eq!(done, want);
        self.is_wanted[family] = is_there;
        self.is_there[family] |= is_there;
        if !is_there {
            let place = Place { link, is_other: true };
            self.sweep(|key, by, specs| {
                if key.0 == place && by.is_client() {
                    specs.clear();
                }
            });
        }
    }
    /// Tables without sources are deleted, unless routes of other tables lead there.
    fn reap(&mut self) {
        for place in PLACES.into_iter().chain(PLACES).filter(|place| place.is_other) {
            let leads_there = |at: Place, spec: &PathSpec| match spec.to {
                To::Through(to, ..) => to == place,
                To::Lookup(is_other) => is_other && at.link == place.link,
                _ => false,
            };
            let others = self.model.routes.iter().filter(|((at, _), _)| *at != place);
            let mut specs =
                others.flat_map(|((at, _), by)| by.values().flatten().map(|w| (*at, w)));
            let is_needed = specs.any(|(at, spec)| leads_there(at, spec));
            if !is_needed && !self.is_wanted[of_family(place.link)] {
                self.is_there[of_family(place.link)] = false;
                self.model.routes.retain(|(at, _), _| *at != place);
                self.stale.remove(&place);
            }
        }
    }
    fn check(&self, step: &Step) {
        for place in PLACES {
            let id = if place.is_other { OTHER } else { 0 };
            let table = self.b.router.fib.table_for(place.link, id);
            assert_eq!(table.is_some(), self.is_there(place), "{place:?} after {step:?}");
            let Some(table) = table else { continue };
            assert_eq!(self.prefixes(place, table), self.wanted_prefixes(place), "after {step:?}");
            for n in 0..ADDRS[0].len() {
                let addr = walk::address(place.link, n);
                let (want, depth) = self.model.ends(place, addr);
                let mut got = BTreeMap::new();
                self.add_ends(self.b.found(table, addr), place.link, 1.0, &mut got);
                // The buckets of one load balance keep to the weights up to a tenth.
                let off: f64 = got.values().zip(want.values()).map(|(a, b)| (a - b).abs()).sum();
                let is_good = got.keys().eq(want.keys()) && off < 0.1 * depth as f64;
                let routes = &self.model.routes;
                assert!(is_good, "{addr}: {got:?}, not {want:?} after {step:?}; {routes:?}");
            }
        }
    }
    fn prefixes(&self, place: Place, table: TableIndex) -> BTreeSet<Prefix> {
        fn of<F: Family>(fib: &Fib, table: TableIndex) -> BTreeSet<Prefix> {
            F::tables(fib)
                .at(table)
                .unwrap()
                .entries
                .iter()
                .map(|(key, _)| F::prefix(*key))
                .collect()
        }
        of!(place.link, F => of::<F>(&self.b.router.fib, table))
    }
    fn wanted_prefixes(&self, place: Place) -> BTreeSet<Prefix> {
        let of_routes = self.model.routes.keys().filter(|key| key.0 == place).map(|key| key.1);
        let mut all: BTreeSet<_> = of_routes.collect();
        let bits = if place.link == Link::Ip4 { 32 } else { 128 };
        let tracked = self.model.tracked(place).into_iter();
        all.extend(tracked.map(|addr| Prefix::new(addr, bits).unwrap()));
        of!(place.link, F => all.extend(F::DEFAULTS.iter().map(|d| F::prefix((d.0, d.1)))));
        all
    }
    /// The targets of a load balance's buckets, each with its share.
    fn add_ends(&self, balance: u32, link: Link, share: f64, ends: &mut BTreeMap<End, f64>) {
        let router = &self.b.router;
        let balance = router.fib.balances.at(balance);
        let share = share / balance.buckets().len() as f64;
        for via in balance.buckets() {
            let end = match via {
                Via::LoadBalance(next) => {
                    self.add_ends(*next, link, share, ends);
                    continue;
                }
                Via::Adjacency(a) | Via::Glean(a) => {
                    let a = router.adjacencies.at(*a).unwrap();
                    let name = router.interfaces.name(a.interface.0);
                    let i = INTERFACES.iter().position(|i| *i == name).unwrap();
                    assert_eq!(a.link, link, "packets are of the adjacency's family");
                    match a.role {
                        Role::Glean => End::Glean(i, a.link),
                        _ => End::Neighbor(i, a.link, a.next_hop),
                    }
                }
                Via::Lookup(table) => End::Lookup(*table != 0),
                Via::Receive(_) => End::Receive,
                Via::Drop => End::Drop,
                other => panic!("{other:?}"),
            };
            *ends.entry(end).or_default() += share;
        }
    }
    /// Takes all away that was made.
    fn clear(&mut self) {
        for i in 0..INTERFACES.len() {
            self.apply(&Step::Interface(i, true));
        }
        let wanted = self.is_wanted;
        for link in [Link::Ip4, Link::Ip6].into_iter().filter(|l| wanted[of_family(*l)]) {
            self.apply(&Step::Table(link, false));
        }
        while let Some(((place, prefix), by)) = self.model.routes.first_key_value() {
            let (at, source) = (*place, *by.keys().next().unwrap());
            let of_family = PREFIXES[of_family(at.link)].iter();
            let n = of_family.clone().position(|text| super::prefix(text) == *prefix).unwrap();
            self.apply(&Step::Take(at, n, source, None));
        }
    }
}

/// Takes steps, in tables that have room for so many more prefixes than they have at first.
fn follow(steps: &[Step], room: Option<usize>) -> Both {
    let mut both = Both::new();
    let before = both.b.in_use();
    if let Some(room) = room {
        both.b.router.fib.ip4.at_mut(TableIndex::DEFAULT).unwrap().budget = before[3] + room;
        both.b.router.fib.ip6.at_mut(TableIndex::DEFAULT).unwrap().budget = before[4] + room;
    }
    for step in steps {
        both.apply(step);
        both.check(step);
    }
    both.clear();
    assert_eq!(both.b.in_use(), before, "nothing is left behind");
    both
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn routes_lead_where_a_walk_from_the_start_ends(steps in steps()) {
        let both = follow(&steps, None);
        prop_assert_eq!(both.refused, 0);
    }

    #[test]
    fn what_a_full_table_refuses_changes_nothing(steps in steps(), room in 0..8usize) {
        follow(&steps, Some(room));
    }
}
