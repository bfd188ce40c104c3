//! Bridging and cross-connects: tests with packets.

use std::net::IpAddr;

use control::api::Retval;
use graph::testing as graph_testing;
use l2::macs::{self, Target};
use l2::state::{Bridging, DEFAULT_LIMIT, share};
use l2::*;
use net::interface::SubInterface;
use net::testing::{Bench, packets};
use net::{InterfaceIndex, Router, ethernet, fast_path};
use wire::{MacAddr, arp, icmp6};
use zerocopy::IntoBytes;

const ALL: [u8; 6] = [0xff; 6];

/// A host's address.
fn mac(n: u8) -> [u8; 6] {
    [2, 0, 0, 1, 0, n]
}

/// A frame with these tags, each as type and VLAN.
fn frame(dst: [u8; 6], src: [u8; 6], tags: &[(u16, u16)], payload: &[u8]) -> Vec<u8> {
    let tags = tags.iter().flat_map(|(kind, vlan)| [kind.to_be_bytes(), vlan.to_be_bytes()]);
    let header = [&dst[..], &src, &tags.collect::<Vec<_>>().concat(), &[8, 0]];
    [&header.concat(), payload].concat()
}

fn plain(dst: [u8; 6], src: [u8; 6]) -> Vec<u8> {
    frame(dst, src, &[], &[7; 46])
}

/// A bench with `pg0` to `pg3`, all in domain 1.
fn bridge() -> Bench {
    let mut bench = Bench::featuring(&[fast_path::FEATURE, FEATURE], 1, |_| (), |_| ());
    bench.add_interface("pg2", net::interface::Kind::Ethernet, 0xac);
    bench.add_interface("pg3", net::interface::Kind::Ethernet, 0xad);
    for n in 0..4 {
        bench.set(&format!("set interface l2 bridge pg{n} 1"));
    }
    bench
}

/// Sends frames received on an interface; returns which interfaces send what, in order of both.
fn send(bench: &mut Bench, on: &str, frames: &[Vec<u8>]) -> Vec<(String, Vec<u8>)> {
    let rx = bench.interface(on).0;
    let caught = bench.send_as("ethernet-input", frames, move |p| p.set_rx(rx));
    let name = |index: u32| bench.router.interfaces.name(index).to_owned();
    let seen = |c: graph_testing::Caught| match c.at.as_str() {
        "sent" => (name(c.tx), c.bytes),
        at => (format!("{at} of {}", name(c.rx)), c.bytes),
    };
    let mut sent: Vec<_> = caught.into_iter().map(seen).collect();
    sent.sort();
    sent
}

fn outputs(sent: &[(String, Vec<u8>)]) -> Vec<&str> {
    sent.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn addresses_are_learned_and_frames_forwarded() {
    let mut b = bridge();
    let hello = plain(ALL, mac(1));
    let sent = send(&mut b, "pg0", std::slice::from_ref(&hello));
    assert_eq!(outputs(&sent), ["pg1", "pg2", "pg3"]);
    assert!(sent.iter().all(|(_, bytes)| *bytes == hello));
    b.expect(&[
        ("l2-input", "L2 input packets", 1),
        ("l2-learn", "L2 learn packets", 1),
        ("l2-learn", "L2 learn misses", 1),
        ("l2-flood", "L2 flood packets", 1),
        ("l2-output", "L2 output packets", 3),
    ]);
    for count in [1, 3, 4, 255, 256] {
        let frames: Vec<_> = (0..count).map(|_| plain(mac(1), mac(2))).collect();
        let sent = send(&mut b, "pg1", &frames);
        assert!(
            sent.len() == count && sent.iter().all(|s| *s == ("pg0".into(), frames[0].clone()))
        );
        let (n, is_first) = (count as u64, count == 1);
        let mut moved =
            vec![("l2-input", "L2 input packets", n), ("l2-learn", "L2 learn packets", n)];
        moved.extend(is_first.then_some(("l2-learn", "L2 learn misses", 1)));
        moved.push(("l2-fwd", "L2 forward packets", n));
        moved.push(("l2-fwd", "L2 forward hits", n));
        moved.push(("l2-output", "L2 output packets", n));
        b.expect(&moved);
    }
    let fib = b.run("show l2fib verbose").unwrap();
    assert!(fib.contains("02:00:00:01:00:01") && fib.contains("entries: 2/2"), "{fib}");
}

#[test]
fn unknown_addresses_are_flooded_or_not_as_the_domain_says() {
    let mut b = bridge();
    let unknown = [plain(mac(9), mac(1))];
    assert_eq!(outputs(&send(&mut b, "pg0", &unknown)), ["pg1", "pg2", "pg3"]);
    b.set("set bridge-domain uu-flood 1 disable");
    assert!(send(&mut b, "pg0", &unknown).is_empty());
    assert_eq!(send(&mut b, "pg0", &[plain(ALL, mac(1))]).len(), 3, "that is no broadcast's");
    b.set("set interface l2 bridge pg3 1 uu-fwd");
    assert_eq!(outputs(&send(&mut b, "pg0", &unknown)), ["pg3"]);
    assert_eq!(outputs(&send(&mut b, "pg0", &[plain(ALL, mac(1))])), ["pg1", "pg2"]);
    b.graph.moved_counters();
    for to in [ALL, mac(9), mac(1)] {
        assert!(send(&mut b, "pg3", &[plain(to, mac(5))]).is_empty(), "nothing comes from there");
    }
    b.expect(&[("l2-input", "L2 input drops", 3), ("l2-input", "L2 input packets", 3)]);
    b.set("set bridge-domain flood 1 disable");
    assert!(send(&mut b, "pg0", &[plain(ALL, mac(1))]).is_empty());
    b.set("set interface l2 forward pg0 disable");
    assert_eq!(outputs(&send(&mut b, "pg0", &[plain(mac(1), mac(2))])), ["pg3"]);
    b.set("set interface l3 pg1");
    assert_eq!(b.run("show mode pg1 pg3").unwrap(), "l3 pg1\nl2 bridge pg3 bd_id 1 uu-fwd shg 0\n");
    let shown = b.run("show interface address pg1 pg3").unwrap();
    assert!(shown.ends_with(":\n  L2 bridge bd-id 1 idx 1 shg 0 uu-fwd\n"), "{shown}");
    assert_eq!(shown.matches("  L2 ").count(), 1, "{shown}");
    assert!(b.run("show bridge-domain 1 detail").unwrap().contains("uu-fwd"));
}

#[test]
fn where_nothing_is_looked_up_frames_are_flooded_as_those_for_groups() {
    let mut b = bridge();
    let one = [plain(mac(9), mac(1))];
    b.set("set bridge-domain forward 1 disable");
    b.set("set bridge-domain uu-flood 1 disable");
    assert_eq!(outputs(&send(&mut b, "pg0", &one)), ["pg1", "pg2", "pg3"]);
    b.set("set bridge-domain flood 1 disable");
    assert!(send(&mut b, "pg0", &one).is_empty());
    b.set("set bridge-domain uu-flood 1");
    assert_eq!(outputs(&send(&mut b, "pg0", &one)), ["pg1", "pg2", "pg3"]);
}

#[test]
fn members_of_a_split_horizon_group_do_not_reach_each_other() {
    let mut b = bridge();
    for port in ["pg0", "pg1"] {
        b.set(&format!("set interface l2 bridge {port} 1 7"));
    }
    assert_eq!(outputs(&send(&mut b, "pg0", &[plain(ALL, mac(1))])), ["pg2", "pg3"]);
    assert_eq!(send(&mut b, "pg2", &[plain(ALL, mac(3))]).len(), 3);
    b.graph.expect_counters(&[
        ("l2-input", "L2 input packets", 2),
        ("l2-learn", "L2 learn packets", 2),
        ("l2-learn", "L2 learn misses", 2),
        ("l2-flood", "L2 flood packets", 2),
        ("l2-output", "L2 output packets", 5),
    ]);
    assert!(send(&mut b, "pg1", &[plain(mac(1), mac(2))]).is_empty());
    b.expect(&[
        ("l2-input", "L2 input packets", 1),
        ("l2-learn", "L2 learn packets", 1),
        ("l2-learn", "L2 learn misses", 1),
        ("l2-fwd", "L2 forward packets", 1),
        ("l2-fwd", "L2 forward hits", 1),
        ("l2-output", "L2 split horizon drops", 1),
        ("l2-output", "L2 output packets", 1),
    ]);
}

#[test]
fn a_tunnel_to_a_group_floods_for_those_to_single_ends() {
    let mut b = bridge();
    b.control(|r| r.set_flooding(InterfaceIndex(2), net::interface::Flooding::WithoutMaster));
    b.set("set interface l2 bridge pg1 1");
    assert_eq!(outputs(&send(&mut b, "pg0", &[plain(ALL, mac(1))])), ["pg1", "pg2", "pg3"]);
    b.control(|r| r.set_flooding(InterfaceIndex(3), net::interface::Flooding::Master));
    b.set("set interface l2 bridge pg2 1");
    assert_eq!(outputs(&send(&mut b, "pg0", &[plain(ALL, mac(1))])), ["pg2", "pg3"]);
    b.set("set interface l3 pg2");
    assert_eq!(outputs(&send(&mut b, "pg0", &[plain(ALL, mac(1))])), ["pg1", "pg3"]);
}

#[test]
fn what_is_flushed_or_has_left_counts_no_longer() {
    let mut b = bridge();
    let to_1 = [plain(mac(1), mac(2))];
    let teach = |b: &mut Bench| drop(send(b, "pg0", &[plain(ALL, mac(1))]));
    for flush in ["all", "bridge-domain 1", "interface pg0"] {
        teach(&mut b);
        assert_eq!(outputs(&send(&mut b, "pg1", &to_1)), ["pg0"]);
        b.set(&format!("l2fib flush-mac {flush}"));
        assert_eq!(send(&mut b, "pg1", &to_1).len(), 3, "{flush}");
    }
    teach(&mut b);
    b.set("set interface l2 bridge pg0 2");
    assert_eq!(outputs(&send(&mut b, "pg1", &to_1)), ["pg2", "pg3"]);
    b.set("set interface l2 bridge pg0 1");
    teach(&mut b);
    b.control(|r| {
        let pg0 = r.interfaces.named("pg0").unwrap().index;
        r.remove_interface(pg0);
    });
    assert_eq!(outputs(&send(&mut b, "pg1", &to_1)), ["pg2", "pg3"]);
    b.set("clear l2fib");
    assert!(b.run("show l2fib").unwrap().contains("entries: 0/0"));
}

#[test]
fn addresses_move_unless_they_are_set() {
    let mut b = bridge();
    send(&mut b, "pg0", &[plain(ALL, mac(1))]);
    send(&mut b, "pg1", &[plain(ALL, mac(1))]);
    assert_eq!(outputs(&send(&mut b, "pg2", &[plain(mac(1), mac(3))])), ["pg1"]);
    assert_eq!(send(&mut b, "pg1", &[plain(mac(1), mac(4))]), [], "it is there itself");
    b.set("l2fib add 02:00:00:01:00:01 1 pg3 static");
    b.set("l2fib add 02:00:00:01:00:05 1 filter");
    b.graph.expect_counters(&[
        ("l2-input", "L2 input packets", 4),
        ("l2-learn", "L2 learn packets", 4),
        ("l2-learn", "L2 learn misses", 3),
        ("l2-learn", "L2 mac moves", 1),
        ("l2-fwd", "Reflection Drop", 1),
        ("l2-fwd", "L2 forward packets", 2),
        ("l2-fwd", "L2 forward hits", 2),
        ("l2-flood", "L2 flood packets", 2),
        ("l2-output", "L2 output packets", 7),
    ]);
    assert_eq!(send(&mut b, "pg1", &[plain(ALL, mac(1)), plain(ALL, mac(5))]), []);
    assert_eq!(send(&mut b, "pg1", &[plain(mac(5), mac(4))]), []);
    assert_eq!(outputs(&send(&mut b, "pg1", &[plain(mac(1), mac(4))])), ["pg3"]);
    b.expect(&[
        ("l2-input", "L2 input packets", 4),
        ("l2-learn", "L2 mac move violations", 1),
        ("l2-learn", "L2 filter mac drops", 1),
        ("l2-learn", "L2 learn packets", 4),
        ("l2-fwd", "Filter Mac Drop", 1),
        ("l2-fwd", "L2 forward packets", 2),
        ("l2-fwd", "L2 forward hits", 2),
        ("l2-output", "L2 output packets", 1),
    ]);
}

#[test]
fn no_more_is_learned_than_the_limits_allow() {
    let mut b = bridge();
    b.set("set bridge-domain learn-limit 1 3");
    let hosts: Vec<_> = (1..=5).map(|n| plain(ALL, mac(n))).collect();
    assert_eq!(send(&mut b, "pg0", &hosts).len(), 15, "they are flooded all the same");
    let learned = |b: &Bench| b.router.state::<Bridging>().unwrap().learned.at(0);
    assert_eq!(learned(&b), 3);
    b.set("set bridge-domain default-learn-limit 2");
    b.set("set interface l2 bridge pg2 2");
    b.set("set interface l2 bridge pg3 2");
    send(&mut b, "pg2", &hosts);
    assert_eq!(learned(&b), 5);
    b.talk(|local, router| {
        let set = |learn_limit| WantL2MacsEvents {
            learn_limit,
            scan_delay: 1,
            max_macs_in_event: 1,
            enable_disable: true,
            pid: 5,
        };
        local.call(router, &set(4)).unwrap();
    });
    b.set("clear l2fib");
    b.set("set bridge-domain learn-limit 1 100");
    send(&mut b, "pg0", &hosts);
    assert_eq!(learned(&b), 4, "in all");
    b.set("clear l2fib");
    assert_eq!(learned(&b), 0);
}

#[test]
fn no_domain_learns_all_that_there_is_room_for() {
    assert!(share(DEFAULT_LIMIT, DEFAULT_LIMIT) <= DEFAULT_LIMIT / 2);
    assert_eq!(share(10, DEFAULT_LIMIT), DEFAULT_LIMIT, "the operator's limit is what counts");
    assert_eq!(share(DEFAULT_LIMIT, 7), 7);
}

#[test]
fn a_domain_made_again_under_its_number_begins_anew() {
    let mut b = bridge();
    let hosts: Vec<_> = (1..=5).map(|n| plain(ALL, mac(n))).collect();
    let learned = |b: &Bench| b.router.state::<Bridging>().unwrap().learned.at(0);
    for round in 0..4 {
        b.set("set bridge-domain learn-limit 1 2");
        b.set("set bridge-domain uu-flood 1 disable");
        b.set(&format!("set bridge-domain arp entry 1 10.0.0.9 02:00:00:00:00:0{round}"));
        assert_eq!(send(&mut b, "pg0", &hosts).len(), 15);
        assert_eq!(learned(&b), 2, "round {round}");
        for n in 0..4 {
            b.set(&format!("set interface l3 pg{n}"));
        }
        b.set("create bridge-domain 1 del");
        assert!(b.run("create bridge-domain 1 del").is_err());
        b.talk(|local, router| {
            let all = BridgeDomainDump { bd_id: 1, sw_if_index: InterfaceIndex(u32::MAX) };
            assert!(local.dump(router, &all).is_empty());
        });
        if round % 2 == 1 {
            look_through(&mut b);
        }
        assert_eq!(b.run("create bridge-domain 1").unwrap(), "bridge-domain 1\n");
        for n in 0..4 {
            b.set(&format!("set interface l2 bridge pg{n} 1"));
        }
        let known = [plain(mac(1), mac(6))];
        assert_eq!(send(&mut b, "pg1", &known).len(), 3, "nobody is where it was");
        assert_eq!(send(&mut b, "pg0", &hosts).len(), 15);
        // Those of the old one are taken out in slices.
        (0..10).for_each(|_| look_through(&mut b));
        assert_eq!(learned(&b), 6, "and the limits are those of a new one");
        assert_eq!(outputs(&send(&mut b, "pg1", &known)), ["pg0"]);
        let shown = b.run("show bridge-domain 1 arp").unwrap();
        assert!(!shown.contains("10.0.0.9"), "{shown}");
        b.set("clear l2fib");
    }
}

#[test]
fn old_addresses_are_forgotten_and_clients_told() {
    let mut b = bridge();
    b.set("set bridge-domain mac-age 1 2");
    let hello = plain(ALL, mac(1));
    let told = b.talk(|local, router| {
        let want =
            |enable_disable| WantL2MacsEvents2 { max_macs_in_event: 1, enable_disable, pid: 9 };
        local.call(router, &want(true)).unwrap();
        let node = router.engine.index_of("ethernet-input").unwrap();
        router.engine.inject(0, node, hello, |p| p.set_rx(1));
        router.engine.run_inline(1000);
        let mut told = Vec::new();
        for _ in 0..3 {
            router.engine.clock().adjust(65.0);
            for _ in 0..40 {
                router.engine.clock().adjust(0.0011);
                router.run_due();
            }
            told.extend(local.events::<L2MacsEvent>());
        }
        local.call(router, &want(false)).unwrap();
        local.call(router, &want(false)).unwrap();
        told
    });
    let actions: Vec<_> =
        told.iter().flat_map(|e| &e.mac).map(|m| (m.mac_addr.0, m.action)).collect();
    assert_eq!(actions, [(mac(1), MacEventAction::ADD), (mac(1), MacEventAction::DELETE)]);
    assert!(b.run("show l2fib").unwrap().contains("entries: 0/0"));
}

/// Makes control scan the addresses, as it does all the time beside the threads.
fn look_through(b: &mut Bench) {
    b.control(|router| {
        router.handle_events();
        for _ in 0..40 {
            router.engine.clock().adjust(0.0011);
            router.run_due();
        }
    });
}

#[test]
fn storms_in_one_domain_leave_others_alone() {
    const HOSTS: u16 = 12_000;
    let host = |n: u16| [2, 0, 0, 2, (n >> 8) as u8, n as u8];
    let mut b = bridge();
    b.set("set interface l2 bridge pg2 2");
    b.set("set interface l2 bridge pg3 2");
    b.set("set bridge-domain mac-age 1 1");
    send(&mut b, "pg2", &[plain(ALL, mac(1))]);
    send(&mut b, "pg3", &[plain(ALL, mac(2))]);
    let undisturbed = |b: &mut Bench| {
        let there = send(b, "pg2", &[plain(mac(2), mac(1))]);
        assert_eq!(there, [("pg3".to_owned(), plain(mac(2), mac(1)))]);
        assert_eq!(outputs(&send(b, "pg3", &[plain(mac(1), mac(2))])), ["pg2"]);
    };
    let all: Vec<u16> = (0..HOSTS).collect();
    b.graph.moved_counters();
    // Learned on one port while the table grows, then all of them on the other: no frame is lost.
    for (from, to, what) in [("pg0", "pg1", "L2 learn misses"), ("pg1", "pg0", "L2 mac moves")] {
        for some in all.chunks(256) {
            let frames: Vec<_> = some.iter().map(|n| plain(mac(9), host(*n))).collect();
            let sent = send(&mut b, from, &frames);
            assert!(sent.len() == some.len() && sent.iter().all(|(name, _)| name == to));
            look_through(&mut b);
        }
        undisturbed(&mut b);
        let moved = b.graph.moved_counters();
        let found = moved.iter().find(|(node, text, _)| node == "l2-learn" && *text == what);
        assert_eq!(found.map(|found| found.2), Some(HOSTS.into()), "{what}");
    }
    let learned = |b: &Bench| b.router.state::<Bridging>().unwrap().learned.at(0);
    assert_eq!(learned(&b), u64::from(HOSTS) + 2);
    let raw = b.run("show l2fib raw").unwrap();
    assert!(raw.contains("room for 32768, "), "{raw}");
    for _ in 0..10 {
        let storm = vec![plain(ALL, host(1)); 256];
        assert_eq!(send(&mut b, "pg0", &storm).len(), 256);
        undisturbed(&mut b);
    }
    // All of the domain age out in time; the other one keeps all.
    for _ in 0..3 {
        b.graph.engine.clock().adjust(65.0);
        look_through(&mut b);
    }
    assert_eq!(learned(&b), 2);
    undisturbed(&mut b);
}

#[test]
fn the_router_is_a_port_by_its_virtual_interface() {
    let mut b = bridge();
    assert_eq!(b.run("bvi create").unwrap(), "bvi0\n");
    b.set("set interface state bvi0 up");
    b.set("set interface ip address bvi0 10.9.0.1/24");
    b.set("set interface l2 bridge bvi0 1 bvi");
    let own = [0xb0, 0xb0, 0, 0, 0, 0];
    let packet = packets::udp4("10.9.0.2", "10.0.1.2", 80, &[1; 20]);
    let to_router = frame(own, mac(1), &[], &packet);
    let at = send(&mut b, "pg0", std::slice::from_ref(&to_router));
    assert_eq!(outputs(&at), ["ip4-lookup of bvi0"]);
    assert_eq!(at[0].1.len(), packet.len());
    b.set("set interface ip address bvi0 2001:db8:9::1/64");
    let packet = packets::udp6("2001:db8:9::2", "2001:db8:1::2", 80, &[1; 20]);
    let mut to_router6 = frame(own, mac(1), &[], &packet);
    to_router6[12..14].copy_from_slice(&[0x86, 0xdd]);
    assert_eq!(outputs(&send(&mut b, "pg0", &[to_router6])), ["ip6-lookup of bvi0"]);
    let ask = arp_request(mac(1), "10.9.0.2", "10.9.0.1");
    assert_eq!(outputs(&send(&mut b, "pg0", &[ask])), ["arp-input of bvi0", "pg1", "pg2", "pg3"]);
    // What the router sends there is switched as any port's.
    let sent = send(&mut b, "bvi0", &[plain(mac(1), own)]);
    assert_eq!(outputs(&sent), ["pg0"]);
    assert_eq!(send(&mut b, "bvi0", &[plain(ALL, own)]).len(), 4);
    b.set("set interface mac address bvi0 02:00:00:00:bb:bb");
    assert_eq!(outputs(&send(&mut b, "pg0", &[to_router])), ["pg1", "pg2", "pg3"]);
    b.run("bvi create").unwrap();
    let refused = b.run("set interface l2 bridge bvi1 1 bvi");
    assert!(refused.unwrap_err().contains("has a BVI"));
    b.set("bvi delete bvi0");
    assert!(b.run("bvi delete pg0").is_err());
    assert!(b.run("show bridge-domain 1").unwrap().contains("N/A"));
    let shown = b.run("show bridge-domain 1 det").unwrap();
    assert_eq!(b.run("show bridge-domain arp detail 1").unwrap(), shown, "in any order");
    assert_eq!(b.run("create bridge-domain learn 0 bd-tag x").unwrap(), "bridge-domain 2\n");
    assert!(b.run("show bridge-domain bd-tag 2").unwrap().contains("BD-Tag: x"));
    assert!(b.run("create bridge-domain").unwrap_err().contains("missing bridge-domain-id"));
}

fn arp_request(src: [u8; 6], from: &str, target: &str) -> Vec<u8> {
    let peer = arp::Peer::new(MacAddr(src), from.parse().unwrap());
    let request = arp::Header::request(peer, target.parse().unwrap());
    let mut bytes = plain(ALL, src);
    bytes[12..14].copy_from_slice(&[8, 6]);
    bytes[14..42].copy_from_slice(request.as_bytes());
    bytes
}

/// Lines as the columns of the listings have them.
const DOMAINS: &str = "  BD-ID   Index   BSN  Age(min)  Learning  U-Forwrd   UU-Flood   Flooding  \
    ARP-Term  arp-ufwd Learn-co Learn-li   BVI-Intf  \n";
const DOMAIN: &str = "    5       2      0      5         on        on       flood        \
    on        on       off        0    16777216     N/A     \n";
const PORTS: &str = "\n           Interface           If-idx ISN  SHG  BVI  TxFlood        \
    VLAN-Tag-Rewrite       \n";
const PORT: &str = "          push-1 dot1q 7        \n";
const OWNERS: &str = "\n  IP4/IP6 to MAC table for ARP Termination\n                \
    10.0.0.77                =>   02:00:00:00:00:77 \n\n  BD-Tag: foo\n";
const ENTRIES: &str = "    Mac-Address     BD-Idx If-Idx BSN-ISN Age(min) \
    static filter bvi         Interface-Name        \n \
    02:00:00:00:00:13    2      -1     0/0      no      *      *     -                \
    N/A             \nL2FIB total/learned entries: 1/0  \
    Last scan time: 0.0000e0sec  Learn limit: 16777216 \n";

#[test]
fn listings_have_their_columns() {
    let mut b = bridge();
    b.run("create bridge-domain 5 learn 1 arp-term 1 mac-age 5 bd-tag foo").unwrap();
    b.set("set bridge-domain arp entry 5 10.0.0.77 02:00:00:00:00:77");
    b.set("l2fib add 02:00:00:00:00:13 5 filter");
    assert_eq!(b.run("show bridge-domain 5").unwrap(), format!("{DOMAINS}{DOMAIN}"));
    assert_eq!(b.run("show l2fib all").unwrap(), ENTRIES);
    b.set("set interface l2 bridge pg1 5 1");
    b.set("set interface l2 tag-rewrite pg1 push dot1q 7");
    let shown = b.run("show bridge-domain 5 detail").unwrap();
    assert!(
        shown.contains("             SPAN (span-l2-input)\n   INPUT_CLASSIFY (l2-input-"),
        "{shown}"
    );
    assert!(
        shown.contains("\n            FLOOD (l2-flood)\n         XCONNECT (l2-output)\n"),
        "{shown}"
    );
    assert!(shown.contains(PORTS) && shown.contains(PORT) && shown.ends_with(OWNERS), "{shown}");
}

#[test]
fn requests_are_answered_where_the_owner_is_known() {
    let mut b = bridge();
    b.set("set bridge-domain arp term 1");
    b.set("set bridge-domain arp entry 1 10.9.0.5 02:00:00:01:00:05");
    b.set("set bridge-domain arp entry 1 2001:db8:9::5 02:00:00:01:00:05");
    let sent = send(&mut b, "pg0", &[arp_request(mac(1), "10.9.0.1", "10.9.0.5")]);
    assert_eq!(outputs(&sent), ["pg0"]);
    let bytes = &sent[0].1;
    assert_eq!(bytes[..14], *[&mac(1)[..], &mac(5), &[8, 6]].concat());
    assert_eq!(
        bytes[20..42],
        *[&[0, 2][..], &mac(5), &[10, 9, 0, 5], &mac(1), &[10, 9, 0, 1]].concat()
    );
    assert_eq!(send(&mut b, "pg0", &[arp_request(mac(1), "10.9.0.1", "10.9.0.6")]).len(), 3);
    let mut liar = arp_request(mac(1), "10.9.0.1", "10.9.0.5");
    liar[6..12].copy_from_slice(&mac(2));
    assert_eq!(send(&mut b, "pg0", &[liar]), []);
    let target: std::net::Ipv6Addr = "2001:db8:9::5".parse().unwrap();
    let rest = [&[0; 4][..], &target.octets(), &[1, 1], &mac(1)].concat();
    let ask = packets::icmp6(
        "2001:db8:9::1",
        "ff02::1:ff00:5",
        icmp6::Type::NEIGHBOR_SOLICITATION,
        &rest,
    );
    let ask = packets::changed6(ask, |h| h.hop_limit = 255);
    let mut ask = frame([0x33, 0x33, 0xff, 0, 0, 5], mac(1), &[], &ask);
    ask[12..14].copy_from_slice(&[0x86, 0xdd]);
    let sent = send(&mut b, "pg0", &[ask]);
    assert_eq!((outputs(&sent), sent[0].1[14 + 40]), (vec!["pg0"], 136));
    let packet = &sent[0].1[14..];
    assert!(packets::sum6(packet).is_valid() && packet[packet.len() - 6..] == mac(5));
    b.set("set bridge-domain arp entry 1 del-all");
    assert_eq!(send(&mut b, "pg0", &[arp_request(mac(1), "10.9.0.1", "10.9.0.5")]).len(), 3);
    b.talk(|local, router| {
        let dump = BdIpMacDump { bd_id: 1 };
        assert!(local.dump(router, &dump).is_empty());
        let ip: IpAddr = "10.9.0.7".parse().unwrap();
        let entry = BdIpMac { bd_id: 1, ip: ip.into(), mac: MacAddr(mac(7)) };
        local.call(router, &BdIpMacAddDel { is_add: true, entry }).unwrap();
        assert_eq!(local.dump(router, &dump).len(), 1);
        local.call(router, &BdIpMacAddDel { is_add: false, entry }).unwrap();
        let gone = local.call(router, &BdIpMacAddDel { is_add: false, entry }).err();
        assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
    });
}

/// A message about neighbours with the link-layer address of its sender.
fn discovery(from: &str, to: &str, kind: icmp6::Type, target: &str) -> Vec<u8> {
    let target: std::net::Ipv6Addr = target.parse().unwrap();
    let rest = [&[0; 4][..], &target.octets(), &[1, 1], &mac(1)].concat();
    let message = packets::changed6(packets::icmp6(from, to, kind, &rest), |h| h.hop_limit = 255);
    let mut bytes = frame([0x33, 0x33, 0xff, 0, 0, 5], mac(1), &[], &message);
    bytes[12..14].copy_from_slice(&[0x86, 0xdd]);
    bytes
}

#[test]
fn announcements_and_probes_go_to_all_and_their_hosts_are_heard_of() {
    let (solicitation, advertisement) =
        (icmp6::Type::NEIGHBOR_SOLICITATION, icmp6::Type::NEIGHBOR_ADVERTISEMENT);
    let mut reply = arp_request(mac(1), "10.9.0.8", "10.9.0.5");
    reply[21] = 2;
    for (what, is_heard) in [
        (arp_request(mac(1), "10.9.0.5", "10.9.0.5"), true),
        (reply, true),
        (discovery("::", "ff02::1:ff00:5", solicitation, "2001:db8:9::5"), false),
        (discovery("2001:db8:9::7", "ff02::1", advertisement, "2001:db8:9::7"), true),
        (discovery("fe80::7", "ff02::1", advertisement, "2001:db8:9::7"), false),
    ] {
        let mut b = bridge();
        b.set("set bridge-domain arp term 1");
        b.set("set bridge-domain arp entry 1 10.9.0.5 02:00:00:01:00:05");
        b.set("set bridge-domain arp entry 1 2001:db8:9::5 02:00:00:01:00:05");
        assert_eq!(outputs(&send(&mut b, "pg0", &[what])), ["pg1", "pg2", "pg3"]);
        b.talk(|local, router| {
            local.call(router, &WantL2ArpTermEvents { enable: true, pid: 7 }).unwrap();
            router.handle_events();
            assert_eq!(router.clients.waiting(local.index()) > 0, is_heard);
        });
    }
}

#[test]
fn clients_hear_once_of_each_host_that_asks_while_they_want_to() {
    let mut b = bridge();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let want = |enable| WantL2ArpTermEvents { enable, pid: 7 };
        let told = |router: &mut Router, ip: &str, interface, n| {
            let (ip, mac) = (ip.parse().unwrap(), MacAddr(mac(n)));
            router.events.sender().send(Heard { ip, mac, interface });
            router.handle_events();
            let is_told = router.clients.waiting(local.index()) > 0;
            router.clients.take(local.index());
            is_told
        };
        assert!(!told(router, "10.9.0.1", pg0, 1), "nobody wants to");
        local.call(router, &want(true)).unwrap();
        for ip in ["10.9.0.1", "2001:db8:9::1"] {
            assert_eq!(
                [1, 1, 2, 2, 1].map(|n| told(router, ip, pg0, n)),
                [true, false, true, false, true]
            );
            assert!(told(router, ip, pg1, 1), "it has moved");
        }
        assert!(!told(router, "10.9.0.1", pg1, 1), "by ARP nobody else has asked meanwhile");
        [false, true].into_iter().for_each(|on| local.call(router, &want(on)).unwrap());
        assert!(told(router, "10.9.0.1", pg1, 1), "it is new to whoever begins to listen");
        local.call(router, &want(false)).unwrap();
        for ip in ["10.9.0.1", "2001:db8:9::1"] {
            assert!(!told(router, ip, pg0, 3));
        }
    });
}

#[test]
fn a_domain_is_made_again_with_the_number_of_one_just_deleted() {
    let mut b = bridge();
    b.set("set bridge-domain arp entry 1 10.9.0.5 02:00:00:01:00:05");
    for _ in 0..3 {
        send(&mut b, "pg0", &[plain(mac(2), mac(1))]);
        for n in 0..4 {
            b.set(&format!("set interface l3 pg{n}"));
        }
        b.set("create bridge-domain 1 del");
        let made = b.run("create bridge-domain 1 learn 1 forward 1 uu-flood 1 flood 1 arp-term 1");
        assert_eq!(made.unwrap(), "bridge-domain 1\n");
        for n in 0..4 {
            b.set(&format!("set interface l2 bridge pg{n} 1"));
        }
        let asked = send(&mut b, "pg1", &[arp_request(mac(3), "10.9.0.1", "10.9.0.5")]);
        assert_eq!(outputs(&asked), ["pg0", "pg2", "pg3"], "no owner is known any more");
        let sent = send(&mut b, "pg1", &[plain(mac(1), mac(2))]);
        assert_eq!(outputs(&sent), ["pg0", "pg2", "pg3"], "no address either");
        b.set("set bridge-domain arp entry 1 10.9.0.5 02:00:00:01:00:05");
    }
}

#[test]
fn tags_are_rewritten_and_the_other_way_back() {
    const Q: u16 = 0x8100;
    const AD: u16 = 0x88a8;
    let mut b = bridge();
    b.control(|r| {
        let pg0 = r.interfaces.named("pg0").unwrap().index;
        let sub = SubInterface {
            inner: Some(100),
            tags: 2,
            is_dot1ad: true,
            ..SubInterface::dot1q(1, 200)
        };
        let sub = r.add_sub_interface(pg0, sub).unwrap();
        r.set_admin(sub, true);
    });
    b.set("set interface l2 xconnect pg0.1 pg1");
    b.set("set interface l2 xconnect pg1 pg0.1");
    let own: &[(u16, u16)] = &[(AD, 200), (Q, 100)];
    type Case = (&'static str, &'static [(u16, u16)]);
    let cases: [Case; 12] = [
        ("disable", &[(AD, 200), (Q, 100)]),
        ("pop 1", &[(Q, 100)]),
        ("pop 2", &[]),
        ("push dot1ad 300", &[(AD, 300), (AD, 200), (Q, 100)]),
        ("push dot1q 300 7", &[(Q, 300), (Q, 7), (AD, 200), (Q, 100)]),
        ("translate 1-1 dot1ad 300", &[(AD, 300), (Q, 100)]),
        ("translate 1-1 dot1q 300", &[(Q, 300), (Q, 100)]),
        ("translate 1-2 dot1ad 300 7", &[(AD, 300), (Q, 7), (Q, 100)]),
        ("translate 2-1 dot1ad 300", &[(AD, 300)]),
        ("translate 2-1 dot1q 300", &[(Q, 300)]),
        ("translate 2-2 dot1q 300 7", &[(Q, 300), (Q, 7)]),
        ("translate 2-2 dot1ad 300 7", &[(AD, 300), (Q, 7)]),
    ];
    for (words, tags) in cases {
        b.set(&format!("set interface l2 tag-rewrite pg0.1 {words}"));
        let outside = frame(mac(2), mac(1), own, &[7; 46]);
        let inside = frame(mac(2), mac(1), tags, &[7; 46]);
        let sent = send(&mut b, "pg0", std::slice::from_ref(&outside));
        assert_eq!(sent, [("pg1".to_owned(), inside.clone())], "{words}");
        assert_eq!(send(&mut b, "pg1", &[inside]), [("pg0.1".to_owned(), outside)], "{words}");
    }
    // Without the tags that are to be taken out a frame cannot leave.
    b.graph.expect_counters(&{
        let mut moved = vec![("l2-input", "L2 input packets", 24)];
        moved.push(("l2-input-vtr", "L2 inverter packets", 11));
        moved.push(("l2-output", "L2 output packets", 24));
        moved
    });
    assert_eq!(send(&mut b, "pg1", &[plain(mac(2), mac(1))]), []);
    b.expect(&[
        ("l2-input", "L2 input packets", 1),
        ("l2-output", "L2 output tag rewrite drops", 1),
        ("l2-output", "L2 output packets", 1),
    ]);
    for (words, error) in [
        ("pg1 pop 1", "does not match so many tags"),
        ("pg0.1 push dot1q 5000", "at most 4095"),
        ("pg0.1 push vlan 5", "dot1q or dot1ad"),
        ("pg0.1 pop 3", "1 or 2"),
    ] {
        let text = b.run(&format!("set interface l2 tag-rewrite {words}")).unwrap_err();
        assert!(text.contains(error), "{words}: {text}");
    }
}

#[test]
fn tags_are_rewritten_where_frames_may_have_more_of_them() {
    const Q: u16 = 0x8100;
    let mut b = bridge();
    b.control(|r| {
        let pg0 = r.interfaces.named("pg0").unwrap().index;
        let sub = SubInterface { is_exact: false, ..SubInterface::dot1q(1, 200) };
        let sub = r.add_sub_interface(pg0, sub).unwrap();
        r.set_admin(sub, true);
    });
    b.set("set interface l2 xconnect pg0.1 pg1");
    b.set("set interface l2 xconnect pg1 pg0.1");
    for more in [&[][..], &[(Q, 7)], &[(Q, 7), (Q, 8)]] {
        let outside = frame(mac(2), mac(1), &[&[(Q, 200)], more].concat(), &[7; 46]);
        for (words, push) in
            [("pop 1", &[][..]), ("translate 1-1 dot1q 9", &[(Q, 9)]), ("push dot1q 9", &[(Q, 9)])]
        {
            b.set(&format!("set interface l2 tag-rewrite pg0.1 {words}"));
            let kept = if words.starts_with("push") { &[(Q, 200)][..] } else { &[] };
            let inside = frame(mac(2), mac(1), &[push, kept, more].concat(), &[7; 46]);
            let sent = send(&mut b, "pg0", std::slice::from_ref(&outside));
            assert_eq!(sent, [("pg1".to_owned(), inside.clone())], "{words}");
            let sent = send(&mut b, "pg1", &[inside]);
            assert_eq!(sent, [("pg0.1".to_owned(), outside.clone())], "{words}");
        }
    }
    let text = b.run("set interface l2 tag-rewrite pg0.1 pop 2").unwrap_err();
    assert!(text.contains("does not match so many tags"), "{text}");
}

#[test]
fn backbone_headers_are_put_in_front_and_taken_off() {
    let mut b = bridge();
    b.set("set interface l2 xconnect pg0 pg1");
    b.set("set interface l2 xconnect pg1 pg0");
    let inner = plain(mac(2), mac(1));
    let words = "dmac 02:00:00:01:00:07 smac 02:00:00:01:00:08 s_id 66051 b_vlanid 9";
    b.set(&format!("set interface l2 pbb-tag-rewrite pg0 push {words}"));
    let header = [&mac(7)[..], &mac(8), &[0x88, 0xa8, 0, 9, 0x88, 0xe7, 0, 1, 2, 3]].concat();
    let outer = [header, inner.clone()].concat();
    assert_eq!(send(&mut b, "pg0", std::slice::from_ref(&inner)), [("pg1".into(), outer.clone())]);
    assert_eq!(send(&mut b, "pg1", std::slice::from_ref(&outer)), [("pg0".into(), inner.clone())]);
    assert_eq!(send(&mut b, "pg1", std::slice::from_ref(&inner)), [], "it has no such header");
    assert_eq!(b.run("show interface pg0 vtr").unwrap(), "pg0:  VTR pbb push\n");
    b.set(&format!("set interface l2 pbb-tag-rewrite pop {words} pg0"));
    assert_eq!(b.run("show interface vtr pg0 pg1").unwrap(), "pg0:  VTR pbb pop\npg1:  VTR none\n");
    assert_eq!(send(&mut b, "pg0", std::slice::from_ref(&outer)), [("pg1".into(), inner.clone())]);
    assert_eq!(send(&mut b, "pg1", &[inner]), [("pg0".into(), outer)]);
}

#[test]
fn frames_leave_only_where_they_might_have_come_in() {
    let mut b = bridge();
    b.control(|r| {
        let pg0 = r.interfaces.named("pg0").unwrap().index;
        let sub = r.add_sub_interface(pg0, SubInterface::dot1q(5, 5)).unwrap();
        r.set_admin(sub, true);
    });
    b.set("set interface l2 bridge pg0.5 2");
    b.set("set interface l2 bridge pg1 2");
    let tagged = |vlan| frame(mac(2), mac(1), &[(0x8100, vlan)], &[7; 46]);
    assert_eq!(send(&mut b, "pg1", &[tagged(6), plain(mac(2), mac(1))]).len(), 2);
    b.set("set interface l2 efp-filter pg0.5");
    assert_eq!(send(&mut b, "pg1", &[tagged(6), plain(mac(2), mac(1))]), []);
    assert_eq!(outputs(&send(&mut b, "pg1", &[tagged(5)])), ["pg0.5"]);
    b.set("set interface l2 efp-filter pg0.5 disable");
    assert_eq!(send(&mut b, "pg1", &[tagged(6)]).len(), 1);
}

#[test]
fn interfaces_are_connected_and_patched() {
    let mut b = bridge();
    b.set("set interface l2 xconnect pg0 pg1");
    let any = [
        plain(ALL, mac(1)),
        plain(mac(9), mac(1)),
        frame(mac(9), mac(1), &[(0x8100, 9)], &[1; 46]),
    ];
    assert_eq!(outputs(&send(&mut b, "pg0", &any)), ["pg1"; 3]);
    b.expect(&[("l2-input", "L2 input packets", 3), ("l2-output", "L2 output packets", 3)]);
    assert!(b.run("set interface l2 xconnect pg0 pg0").is_err());
    b.talk(|local, router| {
        let (rx_sw_if_index, tx_sw_if_index) = (InterfaceIndex(1), InterfaceIndex(2));
        let rows = local.dump(router, &L2XconnectDump {});
        assert_eq!(
            (rows.len(), rows[0].rx_sw_if_index, rows[0].tx_sw_if_index),
            (1, rx_sw_if_index, tx_sw_if_index)
        );
        let set = |rx_sw_if_index, tx_sw_if_index, enable| SwInterfaceSetL2Xconnect {
            rx_sw_if_index,
            tx_sw_if_index,
            enable,
        };
        let nowhere = InterfaceIndex(99);
        let refused = [set(nowhere, tx_sw_if_index, true), set(rx_sw_if_index, nowhere, true)];
        let refused = refused.map(|m| local.call(router, &m).err());
        assert_eq!(
            refused,
            [Some(Retval::INVALID_SW_IF_INDEX), Some(Retval::INVALID_SW_IF_INDEX_2)]
        );
        local.call(router, &set(rx_sw_if_index, tx_sw_if_index, false)).unwrap();
        assert!(local.dump(router, &L2XconnectDump {}).is_empty());
        let patch = |is_add| L2PatchAddDel { rx_sw_if_index, tx_sw_if_index, is_add };
        local.call(router, &patch(true)).unwrap();
    });
    assert!(b.run("show l2patch").unwrap().contains("pg0 -> pg1"));
    let rx = b.pg0.0;
    let sent = b.send_as("l2-patch", &any, move |p| p.set_rx(rx));
    assert!(sent.len() == 3 && sent.iter().all(|c| c.at == "sent"));
    b.set("test l2patch rx pg0 tx pg1 del");
    assert_eq!(b.run("show l2patch").unwrap(), "no l2patch entries\n");
}

#[test]
fn clients_make_domains_and_are_refused() {
    let mut b = bridge();
    b.talk(|local, router| {
        let domain = |bd_id, is_add| BridgeDomainAddDelV2 {
            bd_id,
            domain: DomainFields {
                flood: true,
                uu_flood: false,
                forward: true,
                learn: true,
                arp_term: false,
                arp_ufwd: false,
                mac_age: 3,
                bd_tag: "seven".into(),
                is_add,
            },
        };
        assert_eq!(local.call(router, &domain(0x00ff_ffff, true)).unwrap().bd_id, 0x00ff_ffff);
        assert_eq!(local.call(router, &domain(u32::MAX, true)).unwrap().bd_id, 2);
        let refusals = [
            (domain(2, true), Retval::BD_ALREADY_EXISTS),
            (domain(0, true), Retval::BD_NOT_MODIFIABLE),
            (domain(0, false), Retval::BD_NOT_MODIFIABLE),
            (domain(1, false), Retval::BD_IN_USE),
            (domain(77, false), Retval::NO_SUCH_ENTRY),
            (domain(0x0100_0000, true), Retval::BD_ID_EXCEED_MAX),
        ];
        for (message, retval) in refusals {
            assert_eq!(local.call(router, &message).err(), Some(retval));
        }
        let dump = |bd_id, i| BridgeDomainDump { bd_id, sw_if_index: InterfaceIndex(i) };
        let rows = local.dump(router, &dump(u32::MAX, u32::MAX));
        let ids: Vec<_> = rows.iter().map(|r| (r.bd_id, r.sw_if_details.len())).collect();
        assert_eq!(ids, [(1, 4), (2, 0), (0x00ff_ffff, 0)]);
        assert!(rows[1].flood && !rows[1].uu_flood && rows[1].mac_age == 3);
        assert_eq!((&*rows[1].bd_tag, rows[1].bvi_sw_if_index.0), ("seven", u32::MAX));
        assert_eq!(local.dump(router, &dump(u32::MAX, 1)).len(), 1);
        assert_eq!(local.dump(router, &dump(2, u32::MAX)).len(), 1);
        local.call(router, &domain(2, false)).unwrap();
        let flags = BridgeFlags { bd_id: 1, is_set: false, flags: BdFlags::LEARN };
        let bits = local.call(router, &flags).unwrap().resulting_feature_bitmap;
        assert_eq!(bits & arcs::input::LEARN, 0);
        let i = InterfaceIndex(1);
        let set =
            L2InterfaceFeatFlagsSet { sw_if_index: i, is_set: false, flags: L2IntfFeatFlags::FWD };
        local.call(router, &set).unwrap();
        let flags = local.call(router, &L2InterfaceFeatFlagsGet { sw_if_index: i }).unwrap().flags;
        assert_eq!(flags.0 & 7, 5);
        let bits = local.call(router, &L2FlagsGet { sw_if_index: i }).unwrap();
        assert_eq!(
            bits.input_feature_bitmap & (arcs::input::FWD | arcs::input::LEARN),
            arcs::input::LEARN
        );
    });
}

#[test]
fn clients_set_and_list_addresses() {
    let mut b = bridge();
    b.talk(|local, router| {
        let set = |n, bd_id, i, is_add| L2fibAddDel {
            mac: MacAddr(mac(n)),
            bd_id,
            sw_if_index: InterfaceIndex(i),
            is_add,
            static_mac: true,
            filter_mac: false,
            bvi_mac: false,
        };
        local.call(router, &set(1, 1, 2, true)).unwrap();
        let rows = local.dump(router, &L2FibTableDump { bd_id: 1 });
        assert_eq!((rows.len(), rows[0].mac, rows[0].sw_if_index.0), (1, MacAddr(mac(1)), 2));
        assert!(rows[0].static_mac && !rows[0].filter_mac);
        assert!(local.dump(router, &L2FibTableDump { bd_id: 5 }).is_empty());
        let refusals = [
            (set(1, 5, 2, true), Retval::NO_SUCH_ENTRY),
            (set(1, 1, 99, true), Retval::INVALID_SW_IF_INDEX),
            (set(1, 1, 0, true), Retval::INVALID_SW_IF_INDEX),
            (set(2, 1, 2, false), Retval::NO_SUCH_ENTRY),
        ];
        for (message, retval) in refusals {
            assert_eq!(local.call(router, &message).err(), Some(retval));
        }
        local.call(router, &set(1, 1, 2, false)).unwrap();
        assert!(local.dump(router, &L2FibTableDump { bd_id: 1 }).is_empty());
        assert!(macs::add_mac(router, 1, MacAddr(ALL), Target::Filter).is_err());
    });
    b.set("test l2fib add mac 02:00:00:02:00:00 bd_id 1 intfc pg1 count 30000");
    b.talk(|_, router| (0..400).for_each(|_| _ = router.run_due()));
    assert_eq!(
        b.run("test l2fib check mac 02:00:00:02:00:00 bd_id 1 count 30000").unwrap(),
        "0 missing\n"
    );
    assert!(b.run("show l2fib raw").unwrap().contains("entries: 30000/30000"));
    b.set("test l2fib del mac 02:00:00:02:00:00 bd_id 1 count 30000");
    assert!(b.run("show l2fib").unwrap().contains("entries: 0/0"));
}

#[test]
fn a_feature_of_another_plugin_is_met_in_its_place() {
    #[derive(Clone)]
    struct Classify;
    impl graph::Node for Classify {
        const NAME: &'static str = "l2-input-acl";
        type Next = graph::Continue;
        type Error = std::convert::Infallible;
        type Count = std::convert::Infallible;
        #[inline(always)]
        fn process<On: graph::Cpu>(&mut self, frame: &mut graph::Frame<'_, Self, On>) {
            frame.each(|p| {
                let len = p.bytes().len();
                p.bytes_mut()[len - 1] = 99;
                Ok(graph::Continue)
            });
        }
    }
    let add = |r: &mut net::Router| {
        r.engine.add_feature(&ethernet::L2_INPUT, Classify).unwrap();
    };
    let mut b = Bench::featuring(&[fast_path::FEATURE, FEATURE], 1, |_| (), add);
    b.set("set interface l2 bridge pg0 1");
    b.set("set interface l2 bridge pg1 1");
    b.talk(|local, router| {
        let set = L2FlagsSet {
            sw_if_index: InterfaceIndex(1),
            is_set: true,
            input_feature_bitmap: 1 << 14,
            output_feature_bitmap: 0,
        };
        local.call(router, &set).unwrap();
        let bits = local.call(router, &L2FlagsGet { sw_if_index: InterfaceIndex(1) }).unwrap();
        assert_ne!(bits.input_feature_bitmap & 1 << 14, 0);
    });
    assert_eq!(send(&mut b, "pg0", &[plain(ALL, mac(1))])[0].1.last(), Some(&99));
    assert_eq!(send(&mut b, "pg1", &[plain(mac(1), mac(2))])[0].1.last(), Some(&7));
}

#[test]
fn there_are_no_virtual_paths() {
    let mut b = Bench::featuring(&[fast_path::FEATURE, FEATURE], 1, |_| (), |_| ());
    b.talk(|local, router| {
        let set =
            |index, enable| SwInterfaceSetVpath { sw_if_index: InterfaceIndex(index), enable };
        local.call(router, &set(1, false)).unwrap();
        assert_eq!(local.call(router, &set(1, true)).err(), Some(Retval::UNSUPPORTED));
        assert_eq!(local.call(router, &set(99, false)).err(), Some(Retval::INVALID_SW_IF_INDEX));
    });
}
