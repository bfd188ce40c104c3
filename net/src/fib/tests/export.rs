//! Networks of an interface routed to from another table than its own.

use super::*;
use crate::adjacency::Link;

/// Hosts of these that were imported into a table.
fn imported<'h>(b: &Rig, id: u32, hosts: &[&'h str]) -> Vec<&'h str> {
    fn of<F: Family>(b: &Rig, id: u32, addr: IpAddr) -> Option<u32> {
        let table = F::tables(&b.router.fib).at(b.router.fib.table::<F>(id)?)?;
        let entry = table.entries.get(&(F::bits(addr)?, F::BITS))?;
        entry.list_of(Source::ATTACHED_EXPORT)
    }
    let is_there = |host: &&&str| {
        let addr = host.parse().unwrap();
        of::<Ip4>(b, id, addr).or_else(|| of::<Ip6>(b, id, addr)).is_some()
    };
    hosts.iter().filter(is_there).copied().collect()
}

#[test]
fn hosts_come_and_go_with_the_route_to_their_network() {
    let cases = [
        (false, "10.1.0.1/24", "10.1.0.0/24", ["10.1.0.1", "10.1.0.2", "10.1.0.3"], "/32"),
        (
            true,
            "2001:db8:1::1/64",
            "2001:db8:1::/64",
            ["2001:db8:1::1", "2001:db8:1::2", "2001:db8:1::3"],
            "/128",
        ),
    ];
    for (is_ip6, address, network, [own, two, three], len) in cases {
        let mut b = bench();
        let ip = if is_ip6 { "ip6" } else { "ip" };
        let hosts = [own, two, three];
        b.set(&format!("{ip} table add 7\nset interface ip address pg1 {address}"));
        let link = if is_ip6 { Link::Ip6 } else { Link::Ip4 };
        let seven = b.router.fib.table_for(link, 7).unwrap();
        let before = b.in_use();
        b.neighbor("pg1", two);
        b.set(&format!("ip route add {network} table 7 via pg1"));
        assert_eq!(imported(&b, 7, &hosts), vec![own, two]);
        assert_eq!(b.leads_in(seven, two), b.leads(two));
        assert_eq!(b.leads_in(seven, own), b.leads(own));
        // A neighbour that comes later, and one that goes.
        b.neighbor("pg1", three);
        assert_eq!(imported(&b, 7, &hosts), vec![own, two, three]);
        let (pg1, addr) = (b.interface("pg1"), two.parse().unwrap());
        b.control(|router| router.fib_remove_neighbor(pg1, addr));
        assert_eq!(imported(&b, 7, &hosts), vec![own, three]);
        // Routes with a source of their own count; those of others are not imported.
        b.set(&format!("ip route add {three}{len} table 7 via drop"));
        assert_eq!(b.leads_in(seven, three), [Via::Drop]);
        b.set(&format!("ip route del {three}{len} table 7"));
        assert_eq!(b.leads_in(seven, three), b.leads(three));
        b.set(&format!("ip route add {two}{len} via drop"));
        assert_eq!(imported(&b, 7, &hosts), vec![own, three]);
        b.set(&format!("ip route del {two}{len}"));
        // Without its address the interface has no host route of its own.
        b.set(&format!("set interface ip address del pg1 {address}"));
        assert_eq!(imported(&b, 7, &hosts), vec![three]);
        b.set(&format!("set interface ip address pg1 {address}"));
        assert_eq!(imported(&b, 7, &hosts), vec![own, three]);
        // In the interface's own table nothing is imported.
        b.set(&format!("ip route add {network} via pg1"));
        assert_eq!(imported(&b, 0, &hosts), [""; 0]);
        b.set(&format!("ip route del {network}\nip route del {network} table 7"));
        assert_eq!(imported(&b, 7, &hosts), [""; 0]);
        assert!(b.router.fib.attached.is_empty());
        let addr = three.parse().unwrap();
        b.control(|router| router.fib_remove_neighbor(pg1, addr));
        assert_eq!(b.in_use(), before);
    }
}

#[test]
fn an_interface_that_changes_its_table_takes_its_hosts_along() {
    let mut b = bench();
    let hosts = ["10.1.0.1", "10.1.0.2"];
    b.set("ip table add 7\nip table add 8\nset interface ip table pg1 8");
    b.set("set interface ip address pg1 10.1.0.1/24\nip route add 10.1.0.0/24 table 7 via pg1");
    b.neighbor("pg1", "10.1.0.2");
    assert_eq!(imported(&b, 7, &hosts), hosts);
    let pg1 = b.interface("pg1");
    b.control(|router| router.fib_remove_neighbor(pg1, "10.1.0.2".parse().unwrap()));
    b.set("set interface ip address del pg1 10.1.0.1/24\nset interface ip table pg1 7");
    assert_eq!(imported(&b, 7, &hosts), [""; 0]);
    b.set("set interface ip address pg1 10.1.0.1/24");
    assert_eq!(imported(&b, 7, &hosts), [""; 0], "it is the table's own");
    b.set("set interface ip address del pg1 10.1.0.1/24\nset interface ip table pg1 0");
    b.set("set interface ip address pg1 10.1.0.1/24");
    assert_eq!(imported(&b, 7, &hosts), ["10.1.0.1"]);
    b.control(|router| router.remove_interface(pg1));
    assert_eq!(imported(&b, 7, &hosts), [""; 0]);
}
