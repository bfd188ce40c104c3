//! Sessions of the classifier along paths.

use ip_session_redirect::*;
use net::testing::whole::{Bench, packet, packet6};

fn bench() -> Bench {
    let mut b = Bench::plugged(&[classify::FEATURE, FEATURE]);
    for host in ["10.0.1.2", "2001:db8:1::2"] {
        run(&mut b, &format!("set ip neighbor pg1 {host} 02:00:00:00:00:01 static"));
    }
    b
}

fn run(b: &mut Bench, line: &str) -> String {
    b.attempt(line).unwrap_or_else(|why| panic!("{line}: {why}"))
}

/// A table over the destinations of a version, at the interface or at what is punted, which drops
/// what it does not find; returns the match of a destination.
fn table(b: &mut Bench, v: u8) -> impl Fn(&str) -> String + use<> {
    let (at, len) = if v == 4 { (16, 4) } else { (24, 16) };
    let hex = move |bytes: &[u8]| {
        let front = "00".repeat(at);
        let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let whole = (at + len).next_multiple_of(16);
        format!("{front}{bytes}{}", "00".repeat(whole - at - len))
    };
    let mask = hex(&vec![0xff; len]);
    run(b, &format!("classify table mask hex {mask} miss-next drop current-data-flag 1"));
    move |host: &str| match host.parse().unwrap() {
        std::net::IpAddr::V4(host) => hex(&host.octets()),
        std::net::IpAddr::V6(host) => hex(&host.octets()),
    }
}

/// Number of packets that leave by pg1.
fn left(b: &mut Bench, frames: &[Vec<u8>]) -> usize {
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.receive(pg0, frames).iter().filter(|c| c.tx == pg1.0).count()
}

#[test]
fn packets_of_a_session_leave_by_its_paths_of_either_version() {
    for (v, near, other, hops) in [
        (4, "203.0.113.9", "203.0.113.10", ["10.0.1.2", "2001:db8:1::2"]),
        (6, "2001:db8:99::9", "2001:db8:99::10", ["2001:db8:1::2", "10.0.1.2"]),
    ] {
        let mut b = bench();
        let to = |host: &str| if v == 4 { packet(host) } else { packet6(host) };
        let of = table(&mut b, v);
        run(&mut b, &format!("set interface input acl intfc pg0 ip{v}-table 0"));
        let set = |host: &str, hop: &str| {
            format!("ip session redirect add ip{v} table 0 match hex {} via {hop} pg1", of(host))
        };
        run(&mut b, &set(other, hops[0]));
        assert_eq!(left(&mut b, &[to(near)]), 0);
        for hop in hops {
            run(&mut b, &set(near, hop));
            assert_eq!(left(&mut b, &[to(near), to(near)]), 2, "{hop}");
            let kind = if v == 4 { [8, 0] } else { [0x86, 0xdd] };
            let (pg0, pg1) = (b.pg0, b.pg1);
            let out = b.receive(pg0, &[to(near)]);
            let kinds: Vec<_> =
                out.iter().filter(|c| c.tx == pg1.0).map(|c| &c.bytes[12..14]).collect();
            assert_eq!(kinds, [&kind[..]], "{hop}");
        }
        assert_eq!(all(&b.router, Some(0)).count(), 2);
        assert_eq!(all(&b.router, Some(1)).count(), 0);
        let shown = run(&mut b, &format!("show ip session redirect table 0 acl ip{v}"));
        assert!(shown.contains(&of(near)) && shown.contains(hops[1]), "{shown}");
        for (words, count) in [
            (format!("match hex {}", of(near)), 1),
            (format!("max 5 match hex {}", of(near)), 1),
            ("max 1".to_owned(), 1),
            ("max 0".to_owned(), 0),
            ("match hex ff".to_owned(), 0),
        ] {
            let shown = run(&mut b, &format!("show ip session redirect table 0 {words}"));
            assert_eq!(shown.matches("match").count(), count, "{words}: {shown}");
        }
        run(&mut b, &set(near, hops[1]).replace(" via", " opaque-index 7 via"));
        assert!(run(&mut b, "show ip session redirect").contains("opaque_index 7"));
        let clash = format!("classify session table-index 0 match hex {}", of(near));
        assert!(b.attempt(&clash).unwrap_err().contains("redirects packets"));
        assert!(b.attempt(&format!("{clash} del")).unwrap_err().contains("redirects packets"));
        for host in [near, other] {
            let end = format!("ip session redirect del table 0 match hex {}", of(host));
            run(&mut b, &end);
            assert!(b.attempt(&end).unwrap_err().contains("no such session"));
        }
        assert_eq!(left(&mut b, &[to(near)]), 0);
        run(&mut b, &clash);
        assert!(b.attempt(&set(near, hops[0])).unwrap_err().contains("has this match"));
    }
}

#[test]
fn a_redirection_goes_with_the_interface_of_its_last_path_and_keeps_its_table() {
    let mut b = bench();
    let pg2 = b.add_interface("pg2", net::interface::Kind::Ethernet, 3);
    run(&mut b, "set interface ip address pg2 10.0.2.1/24");
    let of = table(&mut b, 4);
    for (host, via) in
        [("203.0.113.9", "via 10.0.2.2 pg2"), ("203.0.113.10", "via 10.0.2.2 pg2 via 10.0.1.2 pg1")]
    {
        let line = format!("ip session redirect punt table 0 match hex {} {via}", of(host));
        run(&mut b, &line);
    }
    let paths = |b: &Bench| all(&b.router, None).map(|r| r.paths.len()).collect::<Vec<_>>();
    assert_eq!(paths(&b), [1, 2]);
    assert!(b.attempt("classify table del table 0").unwrap_err().contains("in use"));
    b.connected(|rig| rig.router.remove_interface(pg2));
    assert_eq!(paths(&b), [1]);
    let end = format!("ip session redirect del table 0 match hex {}", of("203.0.113.10"));
    run(&mut b, &end);
    run(&mut b, "classify table del table 0");
}

#[test]
fn wrong_words_are_refused() {
    let mut b = bench();
    let _ = table(&mut b, 4);
    for (line, why) in [
        ("ip session redirect match hex 00 via 10.0.1.2 pg1", "expected table"),
        ("ip session redirect table 0 via 10.0.1.2 pg1", "expected match"),
        ("ip session redirect table 0 match hex 00", "expected via"),
        ("ip session redirect table 9 match hex 00 via 10.0.1.2 pg1", "no such table"),
        ("ip session redirect table 0 match hex 00 via 10.0.1.2 pg9", "pg9"),
        ("ip session redirect del table 0 match hex 00 x", "x"),
    ] {
        let said = b.attempt(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    assert_eq!(all(&b.router, None).count(), 0);
}
