//! Host routes of neighbors: for those whose network is connected to their interface, or to the one
//! whose addresses it uses. A neighbor that the operator sets stays while its network is added and
//! removed; learned ones are deleted with it.
#![forbid(unsafe_code)]

use std::net::IpAddr;
use std::sync::Arc;

use graph::Frame;
use wire::Prefix;

use super::table::{Key, Outcome};
use super::{Family, Neighbor, Resolver, Strict, flush, visit};
use crate::address::OnInterface;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Whether a neighbour's host route leads to where its network is.
pub(super) fn is_reachable(router: &Router, (interface, addr): Key) -> bool {
    if matches!(addr, IpAddr::V6(a) if a.is_unicast_link_local()) {
        return true;
    }
    let lender = router.addresses.of(interface).borrowed.as_ref().map_or(interface, |b| b.from);
    let route = router.neighbor_route(interface, addr);
    route.is_some_and(|route| router.is_connected(route, &[interface, lender]))
}

/// Follows the addresses of an interface, which had those of `before`: neighbours in networks that
/// are no longer ours are forgotten, or lose their host routes; others get theirs.
pub(super) fn follow_addresses(
    router: &mut Router,
    interface: InterfaceIndex,
    before: &OnInterface,
) {
    flush(router, interface, |router, (on, addr), n| {
        !n.is_static && covers(before, addr) && !covers(router.addresses.of(on), addr)
    });
    give_up_waiting(router, interface, before);
    let now = router.addresses.of(interface);
    let has_moved = |addr: IpAddr| match addr {
        IpAddr::V4(_) => now.table4 != before.table4,
        IpAddr::V6(_) => now.table6 != before.table6,
    };
    let all =
        router.neighbors().table.on(interface).filter(|(_, n): &(Key, &Neighbor)| n.has_route);
    let concerned = all
        .filter(|((_, addr), _)| has_moved(*addr) || covers(before, *addr) != covers(now, *addr));
    let concerned: Vec<_> = concerned.map(|(key, _)| (key, has_moved(key.1))).collect();
    for (key, has_moved) in concerned {
        if has_moved {
            let table = before.table_for(key.1);
            router.fib_remove_neighbor_from(table, key.0, key.1);
        }
        if !is_reachable(router, key) {
            router.fib_remove_neighbor(key.0, key.1);
        } else if let Err(why) = router.fib_add_neighbor(key.0, key.1) {
            router.log.class("ip", "neighbor").error(format_args!("{}: {why}", key.1));
        }
    }
}

/// Packets held on an interface are given up, all or those for neighbours in these networks.
#[derive(Clone)]
pub(super) struct Forgotten(pub InterfaceIndex, pub Option<Arc<[Prefix]>>);

impl super::Work for Forgotten {
    fn work<F: Family, W: super::resolve::ResolveTarget>(
        self,
        node: &mut Resolver<F, W>,
        frame: &mut Frame<'_, Resolver<F, W>>,
    ) {
        node.forget(frame, self.0, self.1.as_deref());
    }
}

/// Drops packets that wait for neighbors in networks that are no longer ours: a later owner of such
/// a network requests at once.
fn give_up_waiting(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    let now = router.addresses.of(interface);
    let gone = networks(before).filter(|network| networks(now).all(|other| other != *network));
    let gone: Arc<[Prefix]> = gone.collect();
    if !gone.is_empty() {
        visit(router, &Forgotten(interface, Some(gone)));
    }
}

/// Holds packets to the neighbors of an interface, and answers them with errors, while its link is
/// down: its connected routes have no neighbors. Learned neighbors are deleted, since the station
/// at the other end when the link returns may have another MAC address. Those that the operator set
/// stay, so packets to them are sent at once then.
pub(super) fn follow_link(router: &mut Router, interface: InterfaceIndex, is_up: bool) {
    if !is_up && !router.setting::<Strict>(interface).0 {
        flush(router, interface, |_, _, n| !n.is_static);
    }
    let neighbors = router.neighbors().table.on(interface);
    let all: Vec<_> = neighbors.map(|(key, n)| (key, *n)).collect();
    for (key, now) in all {
        if is_up {
            // Without room for its route it is forgotten.
            let _ = router.settle(key, now, Outcome::Same);
            router.neighbors_mut().known.push(key);
        } else if now.has_route {
            router.fib_remove_neighbor(key.0, key.1);
        }
        for index in router.adjacencies.of_neighbor(key.0, key.1) {
            match is_up {
                true => router.complete_adjacency(index, now.mac),
                false => router.forget_adjacency(index),
            }
        }
    }
}

fn networks(on: &OnInterface) -> impl Iterator<Item = Prefix> {
    let ip4 = on.ip4.iter().map(|p| Prefix::from(p.network()));
    ip4.chain(on.ip6.iter().map(|p| Prefix::from(p.network())))
}

pub(super) fn covers(on: &OnInterface, addr: IpAddr) -> bool {
    match addr {
        IpAddr::V6(a) if a.is_unicast_link_local() => on.link_local.is_some(),
        IpAddr::V4(a) => {
            let borrowed = on.borrowed.iter().flat_map(|b| &b.ip4);
            on.ip4.iter().chain(borrowed).any(|p| p.contains(a))
        }
        IpAddr::V6(a) => {
            let borrowed = on.borrowed.iter().flat_map(|b| &b.ip6);
            on.ip6.iter().chain(borrowed).any(|p| p.contains(a))
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::IpVersion;

    use crate::interface::InterfaceIndex;
    use crate::neighbor::testing::*;

    /// Interface and layer 2 address that a packet leaves by.
    fn sends(b: &mut Bench, frame: Vec<u8>) -> Option<(InterfaceIndex, [u8; 6])> {
        let out = b.receive(b.pg0, &[frame]);
        out.first().map(|c| (InterfaceIndex(c.tx), c.bytes[..6].try_into().unwrap()))
    }

    #[test]
    fn nobody_draws_packets_of_another_link_to_an_interface() {
        let mut b = Bench::new();
        b.cli("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01");
        b.cli("set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:01");
        for addr in ["10.0.1.2", "2001:db8:1::2", "100.1.1.1", "2001:db8:99::1"] {
            let line = format!("set ip neighbor pg0 {addr} 02:00:00:00:00:02 static");
            assert_eq!(b.cli(&line), "");
        }
        b.wait(0.0);
        let pg1 = b.pg1;
        assert_eq!(sends(&mut b, packet("10.0.1.2")), Some((pg1, HOST.0)));
        assert_eq!(sends(&mut b, packet6("2001:db8:1::2")), Some((pg1, HOST.0)));
        assert_eq!(b.cli("show ip neighbors pg0").lines().count(), 5, "they are known");
        for addr in ["100.1.1.1/32", "2001:db8:99::1/128"] {
            let ip6 = if addr.contains(':') { "6" } else { "" };
            let shown = b.cli(&format!("show ip{ip6} fib {addr}"));
            assert!(!shown.contains("adjacency refs"), "{shown}");
        }
        b.cli("set interface ip address pg0 100.1.1.9/24");
        b.cli("set interface ip address pg0 2001:db8:99::9/64");
        let pg0 = b.pg0;
        assert_eq!(sends(&mut b, packet("100.1.1.1")), Some((pg0, OTHER.0)));
        assert_eq!(sends(&mut b, packet6("2001:db8:99::1")), Some((pg0, OTHER.0)));
    }

    #[test]
    fn a_neighbour_the_operator_sets_follows_its_interface_into_another_table() {
        let mut b = Bench::new();
        for line in [
            "ip table add 7",
            "ip6 table add 7",
            "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01 static",
            "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:01 static",
            "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:01",
            "set ip neighbor pg1 2001:db8:1::3 02:00:00:00:00:01",
            "enable ip6 interface pg1",
            "set interface ip address del pg1 10.0.1.1/24",
            "set interface ip address del pg1 2001:db8:1::1/64",
        ] {
            b.set(line);
        }
        let routes = |b: &mut Bench, table: u32| {
            let ip4 = b.cli(&format!("show ip fib table {table} 10.0.1.2/32"));
            let ip6 = b.cli(&format!("show ip6 fib table {table} 2001:db8:1::2/128"));
            [ip4, ip6].map(|text| text.contains("adjacency refs"))
        };
        assert_eq!(routes(&mut b, 0), [false; 2], "their networks are gone");
        let shown = b.cli("show ip neighbors pg1");
        assert!(shown.contains("10.0.1.2") && shown.contains("2001:db8:1::2"), "{shown}");
        assert!(!shown.contains("10.0.1.3") && !shown.contains("2001:db8:1::3"), "{shown}");
        for line in [
            "set interface ip table pg1 7",
            "set interface ip6 table pg1 7",
            "set interface ip address pg1 10.0.1.1/24",
            "set interface ip address pg1 2001:db8:1::1/64",
        ] {
            b.set(line);
        }
        assert_eq!((routes(&mut b, 0), routes(&mut b, 7)), ([false; 2], [true; 2]));
    }

    #[test]
    fn a_host_route_to_an_interface_leads_to_a_neighbour_there() {
        let mut b = Bench::new();
        for line in ["ip route add 10.9.9.9/32 via pg1", "ip route add 2001:db8:9::9/128 via pg1"] {
            b.set(line);
        }
        let pg1 = b.pg1;
        let asked = b.receive(b.pg0, &[packet("10.9.9.9")]);
        assert_eq!(arp_of(&asked[0]).arp.target.addr(), ip("10.9.9.9"));
        assert_eq!(b.receive(b.pg0, &[packet6("2001:db8:9::9")]).len(), 1, "asked for as well");
        let answer = bytes(reply(HOST, "10.9.9.9", PG1, "10.0.1.1"));
        assert_eq!(sent(&b.receive(pg1, &[answer])).len(), 1, "what was held");
        b.cli("set ip neighbor pg1 2001:db8:9::9 02:00:00:00:00:01");
        b.wait(0.0);
        for frame in [packet("10.9.9.9"), packet6("2001:db8:9::9")] {
            assert_eq!(sends(&mut b, frame), Some((pg1, HOST.0)), "nobody is asked again");
        }
        for line in ["ip route del 10.9.9.9/32 via pg1", "ip route del 2001:db8:9::9/128 via pg1"] {
            b.set(line);
        }
    }

    #[test]
    fn the_host_behind_an_unnumbered_interface_is_answered_whatever_its_address() {
        let mut b = Bench::new();
        for line in [
            "set interface ip address del pg1 10.0.1.1/24",
            "set interface ip address del pg1 2001:db8:1::1/64",
            "set interface unnumbered pg1 use pg0",
        ] {
            b.set(line);
        }
        b.wait(0.0);
        let pg1 = b.pg1;
        let asked4 = |sender, target| bytes(request(HOST, sender, target));
        let asked6 = |sender, target| summed(&solicitation(sender, target), 0);
        for (far, near) in [
            (asked4("172.16.3.5", "10.0.0.1"), asked4("10.0.0.77", "10.0.0.1")),
            (asked6("2001:db8:99::5", "2001:db8::1"), asked6("2001:db8::77", "2001:db8::1")),
        ] {
            assert_eq!(b.receive(pg1, &[far]).len(), 1);
            assert_eq!(b.cli("show ip neighbors pg1"), "", "it is in no network of ours");
            assert_eq!(b.receive(pg1, &[near]).len(), 1);
            let shown = b.cli("show ip neighbors pg1");
            assert_eq!(shown.lines().count(), 2, "{shown}");
            b.control(|router, _| {
                IpVersion::ALL
                    .into_iter()
                    .for_each(|version| router.flush_neighbors(version, None));
            });
        }
        // The router answers only for those it represents.
        assert!(b.receive(pg1, &[asked4("172.16.3.5", "10.10.10.3")]).is_empty());
        assert!(b.receive(pg1, &[asked6("2001:db8:99::5", "2001:db8::9")]).is_empty());
        b.receive(pg1, &[asked4("10.0.0.77", "10.0.0.1")]);
        assert_eq!(sends(&mut b, packet("10.0.0.77")), Some((pg1, HOST.0)));
        b.cli("set interface unnumbered del pg1");
        assert_eq!(b.cli("show ip neighbors pg1"), "");
    }
}
