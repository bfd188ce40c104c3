//! Random changes of routes, next hops and interfaces, compared after each with a model that knows
//! nothing of lists, load balances or back-walks: it follows each route from the start.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Where a path of the model leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum To {
    /// A neighbour on an interface.
    Neighbor(usize),
    /// The n-th address that routes resolve through.
    Through(usize),
}

/// One step.
#[derive(Clone, Debug)]
enum Step {
    /// A route to the n-th prefix over these paths; over none is no route.
    Route(usize, Vec<To>),
    /// An interface goes up or down.
    Interface(usize, bool),
}

const INTERFACES: [&str; 3] = ["pg0", "pg1", "pg2"];

/// Prefixes and the addresses inside that paths lead to, and neighbours, of one family.
struct Names {
    prefixes: [&'static str; 6],
    addrs: [&'static str; 4],
    neighbors: [&'static str; 3],
}

const FOUR: Names = Names {
    prefixes: ["0.0.0.0/0", "16.0.0.0/8", "16.0.0.0/16", "16.0.0.1/32", "17.0.0.0/8", "18.0.0.0/8"],
    addrs: ["16.0.0.1", "16.0.9.1", "17.0.0.1", "18.0.0.1"],
    neighbors: ["10.0.0.2", "10.0.1.2", "10.0.2.2"],
};

const SIX: Names = Names {
    prefixes: ["::/0", "2a16::/16", "2a16::/32", "2a16::1/128", "2a17::/16", "2a18::/16"],
    addrs: ["2a16::1", "2a16:1::1", "2a17::1", "2a18::1"],
    neighbors: ["2001:db8::2", "2001:db8:1::2", "2001:db8:2::2"],
};

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let to = prop_oneof![(0..3usize).prop_map(To::Neighbor), (0..4usize).prop_map(To::Through)];
    let paths = prop::collection::btree_set(to, 0..4).prop_map(|p| p.into_iter().collect());
    let route = (0..6usize, paths).prop_map(|(prefix, paths)| Step::Route(prefix, paths));
    let interface = (0..3usize, any::<bool>()).prop_map(|(i, up)| Step::Interface(i, up));
    prop::collection::vec(prop_oneof![5 => route, 1 => interface], 1..40)
}

/// All routes and interfaces, and nothing derived.
struct Model<'n> {
    names: &'n Names,
    routes: BTreeMap<usize, Vec<To>>,
    up: [bool; 3],
}

impl Model<'_> {
    /// Paths of the best route to an address.
    fn route_to(&self, addr: &str) -> &[To] {
        let addr = addr.parse::<IpAddr>().unwrap();
        let covers = |n: &&usize| prefix(self.names.prefixes[**n]).contains(addr);
        let best = self.routes.keys().filter(covers);
        let best = best.max_by_key(|n| prefix(self.names.prefixes[**n]).prefix_len());
        best.map_or(&[], |n| &self.routes[n])
    }
    /// Whether paths lead, step by step, to these paths again.
    fn reaches(&self, from: &[To], goal: &[To], seen: &mut BTreeSet<Vec<To>>) -> bool {
        from == goal
            || seen.insert(from.to_vec())
                && from.iter().any(|to| match to {
                    To::Through(n) => self.reaches(self.route_to(self.names.addrs[*n]), goal, seen),
                    To::Neighbor(_) => false,
                })
    }
    /// The interfaces that packets over these paths leave by.
    fn ends(&self, paths: &[To]) -> BTreeSet<usize> {
        let end = |to: &To| match *to {
            To::Neighbor(i) => self.up[i].then_some(i).into_iter().collect(),
            To::Through(n) => {
                let next = self.route_to(self.names.addrs[n]);
                let is_cycle = self.reaches(next, paths, &mut BTreeSet::new());
                if is_cycle { BTreeSet::new() } else { self.ends(next) }
            }
        };
        paths.iter().flat_map(end).collect()
    }
}

fn check(names: &Names, steps: &[Step]) {
    let mut b = bench();
    let before = b.in_use();
    let mut model = Model { names, routes: BTreeMap::new(), up: [true; 3] };
    for step in steps {
        match step {
            Step::Interface(i, up) => {
                let interface = b.interface(INTERFACES[*i]);
                b.control(|r| r.set_admin(interface, *up));
                model.up[*i] = *up;
            }
            Step::Route(n, paths) => {
                let text = names.prefixes[*n];
                if model.routes.remove(n).is_some() {
                    b.set(&format!("ip route del {text}"));
                }
                if !paths.is_empty() {
                    let via = |to: &To| match to {
                        To::Neighbor(i) => {
                            format!(" via {} {}", names.neighbors[*i], INTERFACES[*i])
                        }
                        To::Through(n) => format!(" via {}", names.addrs[*n]),
                    };
                    let via: String = paths.iter().map(via).collect();
                    b.set(&format!("ip route add {text}{via}"));
                    model.routes.insert(*n, paths.clone());
                }
            }
        }
        for dst in names.addrs {
            let mut got = BTreeSet::new();
            for via in b.leads(dst) {
                let Via::Adjacency(adjacency) = via else {
                    assert_eq!(via, Via::Drop);
                    continue;
                };
                let interface = b.router.adjacencies.at(adjacency).unwrap().interface;
                let name = b.router.interfaces.name(interface.0);
                got.extend(INTERFACES.iter().position(|i| *i == name));
            }
            let want = model.ends(model.route_to(dst));
            assert_eq!(got, want, "{dst} after {step:?}; routes {:?}", model.routes);
        }
    }
    for name in INTERFACES {
        let interface = b.interface(name);
        b.control(|r| r.set_admin(interface, true));
    }
    for n in model.routes.keys() {
        b.set(&format!("ip route del {}", names.prefixes[*n]));
    }
    assert_eq!(b.in_use(), before, "nothing is left behind");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn routes_lead_where_a_walk_from_the_start_ends(steps in steps()) {
        check(&FOUR, &steps);
        check(&SIX, &steps);
    }
}
