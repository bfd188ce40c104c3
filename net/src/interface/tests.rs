use std::sync::{Arc, Mutex};

use control::cli::Cli;
use control::log::Log;
use graph::{Flags, Settings};

use super::output::LocalTx;
use super::*;

struct Bench {
    router: Router,
    cli: Cli<Router>,
}

fn bench() -> Bench {
    bench_of(1)
}

/// With so many threads.
fn bench_of(threads: usize) -> Bench {
    let settings = Settings { buffers: 4096, most_workers: threads - 1, ..Settings::default() };
    let router = Router::new(settings, Log::new());
    let mut parts = crate::Assembly::new(router.unwrap());
    for feature in [crate::drops::FEATURE, FEATURE] {
        parts.add(&feature).unwrap();
    }
    let crate::Assembly { mut router, cli, .. } = parts;
    cli.check().unwrap();
    router.engine.build().unwrap();
    router.engine.start_inline_threads(threads);
    Bench { router, cli }
}

impl Bench {
    fn run(&mut self, line: &str) -> String {
        self.cli.run(&mut self.router, line).text()
    }
    fn add(&mut self, name: &str) -> InterfaceIndex {
        let new = NewInterface {
            name: name.to_owned(),
            kind: Kind::Ethernet,
            hardware: "pg",
            mac: MacAddr([2, 0, 0, 0, 0, 0xaa]),
            mtu: 9000,
            offloads: Offloads::default(),
            link_follows_admin: true,
        };
        self.router.add_interface(new, LocalTx).unwrap()
    }
}

#[test]
fn interfaces_have_the_columns_that_scripts_know() {
    let mut b = bench();
    let pg0 = b.add("pg0");
    b.add("loop0");
    b.run("set interface state pg0 up");
    b.router.interfaces.counters().rx.row(0)[pg0.0 as usize].add(9, 638);
    b.router.interfaces.counters().drops.row(0)[0].add(1);
    let head = concat!(
        "              Name               Idx    State  MTU (L3/IP4/IP6/MPLS)     ",
        "Counter          Count     \n"
    );
    let rows = [
        "local0                            0     down          0/0/0/0       drops          ",
        "                1\n",
        "loop0                             2     down         9000/0/0/0     \n",
        "pg0                               1      up          9000/0/0/0     rx packets     ",
        "                9\n",
        "                                                                    rx bytes       ",
        "              638\n",
    ];
    assert_eq!(b.run("show interface"), format!("{head}{}", rows.concat()));
    assert_eq!(b.run("sh int loop0"), format!("{head}{}", rows[2]));
    assert_eq!(b.run("show interface nosuch"), "show interface: unknown interface `nosuch'\n");

    b.run("clear interfaces");
    assert!(!b.run("show interface").contains("rx packets"));
}

#[test]
fn clients_see_counters_by_interface_and_by_node() {
    use control::stats::reader::{Reader, Sample};

    let mut b = bench();
    let reader = Reader::new(b.router.stats.readable().unwrap()).unwrap();
    let pg0 = b.add("pg0/1");
    let names = reader.names().unwrap();
    let of_pg0 = |n: &String| n.starts_with("/interfaces/pg0_1/");
    assert_eq!(names.keys().filter(|n| of_pg0(n)).count(), 17);
    for missing in ["rx-unicast", "tx-broadcast", "mpls", "rx-no-buf"] {
        assert!(names.contains_key(&format!("/if/{missing}")), "{missing}");
    }
    assert!(names.contains_key("/err/pg0/1-output/interface is down"));
    b.router.interfaces.counters().rx.row(0)[pg0.0 as usize].add(9, 638);
    let read = |name: &str| reader.read(name).unwrap();
    assert_eq!(read("/if/rx").unwrap().sum(1), 9);
    assert_eq!(read("/interfaces/pg0_1/rx").unwrap().sum(0), 9);
    let named = |names: [&str; 2]| Some(Sample::Names(names.map(|n| Some(n.to_owned())).into()));
    assert_eq!(read("/if/names"), named(["local0", "pg0/1"]));
    b.run("clear interfaces");
    assert_eq!(read("/interfaces/pg0_1/rx").unwrap().sum(0), 0);

    b.router.interfaces.counters().rx.row(0)[pg0.0 as usize].add(1, 1);
    b.router.remove_interface(pg0);
    assert_eq!(read("/if/names"), named(["local0", "deleted"]));
    let names = reader.names().unwrap();
    assert!(!names.keys().any(|n| n.contains("pg0")), "{names:?}");
}

#[test]
fn interfaces_that_come_and_go_leave_nothing() {
    let mut b = bench();
    let round = |b: &mut Bench| {
        let index = b.add("pg0");
        b.router.interfaces.counters().rx.row(0)[index.0 as usize].add(1, 1);
        b.router.remove_interface(index);
        b.router.stats.iter().count()
    };
    let before = (0..10).map(|_| round(&mut b)).last();
    let after = (0..10_000).map(|_| round(&mut b)).last();
    assert_eq!(before, after);
    let index = b.add("pg0");
    assert_eq!(b.router.interfaces.values(index), Values::default());
}

#[test]
fn what_happens_to_interfaces_is_noted() {
    let mut b = bench();
    let index = b.add("pg0");
    b.run("set interface state pg0 up\nset interface mtu 1400 pg0\nset interface name pg0 wan");
    b.router.remove_interface(index);
    let noted = b.router.event_log.newest(99).into_iter().map(|event| event.text);
    let mut noted: Vec<_> = noted.filter(|text| text.starts_with("interface")).collect();
    // The link's and that of layer 3, one after the other.
    noted.retain(|text| !text.contains("9000"));
    noted.dedup();
    let expected = [
        "interface pg0 (1): added",
        "interface pg0: admin up, link up",
        "interface pg0: MTU 1400, link 1400",
        "interface 1: renamed wan",
        "interface wan (1): deleted",
    ];
    assert_eq!(noted, expected);
}

#[test]
fn devices_have_the_columns_that_scripts_know() {
    let mut b = bench();
    b.add("pg0");
    b.run("set interface state pg0 up");
    let expected = "              Name                Idx   Link  Hardware
local0                             0    down  local0
  Link speed: unknown
  local
pg0                                1     up   pg0
  Link speed: unknown
  Ethernet address 02:00:00:00:00:aa
";
    assert_eq!(b.run("show hardware-interfaces"), expected);
    assert_eq!(b.run("show hardware-interfaces brief").lines().count(), 5);
    assert_eq!(b.run("show hardware").lines().count(), 7);
    assert_eq!(b.run("show hardware-interfaces brief pg0").lines().count(), 3);
    assert_eq!(b.run("show hardware pg0 brief"), b.run("show hardware-interfaces brief pg0"));
    assert_eq!(b.run("show hardware pg0 verbose"), b.run("show hardware verbose pg0"));
}

#[test]
fn state_mac_and_mtu_are_set() {
    let mut b = bench();
    let pg0 = b.add("pg0");
    assert_eq!(b.run("set int state pg0 up"), "");
    assert!(b.router.interfaces.port(pg0).unwrap().up);
    assert_eq!(b.run("set interface state pg0 down"), "");
    assert!(!b.router.interfaces.at(pg0).unwrap().admin_up);

    assert_eq!(b.run("set interface mac address pg0 02:00:00:00:00:bb"), "");
    assert_eq!(b.router.interfaces.port(pg0).unwrap().mac, MacAddr([2, 0, 0, 0, 0, 0xbb]));

    assert_eq!(b.run("set interface mtu 1500 pg0"), "");
    assert_eq!(b.run("set interface mtu ip4 1400 pg0"), "");
    let mtu = b.router.interfaces.at(pg0).unwrap().mtu;
    assert_eq!((mtu.l3, mtu.ip4, mtu.for_ip6()), (1500, 1400, 1500));
    assert_eq!(b.run("set interface mtu packet 9000 pg0"), "");
    assert_eq!(b.router.interfaces.at(pg0).unwrap().mtu, Mtu { l3: 9000, ..mtu });

    assert_eq!(b.run("set interface promiscuous on pg0"), "");
    assert!(b.router.interfaces.port(pg0).unwrap().promiscuous);
    assert_eq!(b.run("set interface promiscuous off pg0"), "");
    assert!(!b.router.interfaces.port(pg0).unwrap().promiscuous);

    assert_eq!(b.run("test interface link-state pg0 up"), "");
    assert!(b.router.interfaces.at(pg0).unwrap().link_up);
}

#[test]
fn wrong_input_changes_nothing() {
    let mut b = bench();
    b.add("pg0");
    let before = b.run("show interface") + &b.run("show hardware-interfaces");
    let wrong = [
        ("set interface state nosuch up", "set interface state: unknown interface `nosuch up'\n"),
        ("set interface state pg0", "set interface state: missing state\n"),
        ("set interface state pg0 sideways", "set interface state: unknown input `sideways'\n"),
        ("set interface state pg0 up down", "set interface state: expected only one of them\n"),
        ("set interface mtu pg0 1500", "set interface mtu: invalid mtu `pg0 1500'\n"),
        ("set interface mtu 0 pg0", "set interface mtu: the layer 3 MTU cannot be 0\n"),
        ("set interface mtu 70000 pg0", "set interface mtu: an MTU is at most 65535 bytes\n"),
        ("set interface promiscuous pg0", "set interface promiscuous: missing state\n"),
        (
            "set interface mac address pg0 ff:ff:ff:ff:ff:ff",
            "set interface mac address: an interface cannot have a multicast address\n",
        ),
        (
            "set interface mac address pg0 02:00",
            "set interface mac address: unknown input `02:00'\n",
        ),
    ];
    for (line, text) in wrong {
        assert_eq!(b.run(line), text);
    }
    assert_eq!(b.run("show interface") + &b.run("show hardware-interfaces"), before);
}

#[derive(Clone)]
struct Nothing;

#[derive(Clone, Copy, graph::Next)]
enum ToDrop {
    #[to("error-drop")]
    #[allow(dead_code)]
    Drop,
}

impl graph::Input for Nothing {
    const NAME: &'static str = "nothing-input";
    type Next = ToDrop;
    type Error = std::convert::Infallible;
    type Count = std::convert::Infallible;
    const STATE: graph::InputState = graph::InputState::Adaptive;

    fn poll<On: graph::Cpu>(&mut self, _: &mut graph::Intake<'_, Self, On>) {}
}

#[test]
fn receive_queues_are_shown_and_set() {
    let mut b = bench();
    let pg0 = b.add("pg0");
    assert_eq!(b.run("show interface rx-placement"), "");
    let node = b.router.engine.add_input(Nothing).unwrap();
    b.router.set_rx_queues(pg0, vec![RxQueue::new(0, node, |_, _, _, _| Ok(())); 2]);
    let expected = "Thread 0 (vpp_main):\n  node nothing-input:\n    \
                    pg0 queue 0 (adaptive)\n    pg0 queue 1 (adaptive)\n";
    assert_eq!(b.run("show interface rx-placement"), expected);
    assert_eq!(b.run("set interface rx-mode pg0 queue 1 polling"), "");
    assert!(b.run("show interface rx-placement").contains("pg0 queue 1 (polling)"));
    let wrong = "set interface rx-mode: the interface has no such receive queue\n";
    assert_eq!(b.run("set interface rx-mode pg0 queue 2 polling"), wrong);
    assert_eq!(b.run("set interface rx-mode local0 interrupt"), "", "there is no queue to set");
    assert!(b.run("set interface rx-mode pg0 sometimes").contains("unknown input `sometimes"));
    let state = |b: &mut Bench| b.router.engine.input_state(0, node).unwrap().unwrap();
    assert_eq!(state(&mut b), graph::InputState::Polling, "the most demanding queue decides");
    assert_eq!(b.run("set interface rx-mode pg0 interrupt"), "");
    assert_eq!(state(&mut b), graph::InputState::Interrupt);
}

#[test]
fn receive_queues_go_to_the_threads_that_are_named() {
    let mut b = bench_of(3);
    let pg0 = b.add("pg0");
    let node = b.router.engine.add_input(Nothing).unwrap();
    let threads = b.router.threads_for_queues(pg0, 4);
    assert_eq!(threads, [0, 1, 2, 0]);
    let place = |_: &mut Router, _, queue, _| {
        if queue == 3 { Err("stuck".to_owned()) } else { Ok(()) }
    };
    let queues = threads.into_iter().map(|thread| RxQueue::new(thread, node, place)).collect();
    b.router.set_rx_queues(pg0, queues);
    assert_eq!(b.router.threads_for_queues(pg0, 1), [1]);
    assert_eq!(b.run("set interface rx-placement pg0 queue 1 worker 1"), "");
    assert_eq!(b.run("set interface rx-placement pg0 queue 2 main"), "");
    let modes = (0..3).map(|t| b.router.engine.input_state(t, node).unwrap().unwrap());
    let [on, off] = [graph::InputState::Adaptive, graph::InputState::Disabled];
    assert_eq!(modes.collect::<Vec<_>>(), [on, off, on]);
    let expected = "Thread 0 (vpp_main):\n  node nothing-input:\n    \
                    pg0 queue 0 (adaptive)\n    pg0 queue 2 (adaptive)\n    \
                    pg0 queue 3 (adaptive)\n\
                    Thread 2 (vpp_main):\n  node nothing-input:\n    \
                    pg0 queue 1 (adaptive)\n";
    assert_eq!(b.run("show interface rx-placement"), expected);
    let mut refused = |what: &str, why: &str| {
        let text = b.run(&format!("set interface rx-placement pg0 {what}"));
        assert_eq!(text, format!("set interface rx-placement: {why}\n"));
    };
    refused("queue 4 main", "the interface has no such receive queue");
    refused("worker 2", "no worker 2");
    refused("queue 3 worker 0", "stuck");
    refused("queue 1", "expected `worker <number>', `main' or `default'");
    assert!(b.run("show interface rx-placement").contains("pg0 queue 3"));
}

#[test]
fn a_queue_that_was_placed_stays_when_the_threads_change() {
    let mut b = bench_of(3);
    let pg0 = b.add("pg0");
    let node = b.router.engine.add_input(Nothing).unwrap();
    let queues = (0..3).map(|thread| RxQueue::new(thread, node, |_, _, _, _| Ok(())));
    b.router.set_rx_queues(pg0, queues.collect());
    assert_eq!(b.run("set interface rx-placement pg0 queue 0 worker 1"), "");
    let mut among = |count: usize| {
        let plans = vec![graph::Plan { cpu: None, shares: true }; count];
        b.router.set_threads(0, &plans).unwrap();
        let queues = &b.router.interfaces.at(pg0).unwrap().queues;
        let threads = queues.iter().map(|q| q.thread).collect::<Vec<_>>();
        (threads, queues.iter().filter(|q| q.is_placed).count())
    };
    assert_eq!(among(3), (vec![2, 0, 1], 1));
    assert_eq!(among(1).0, [0, 0, 0]);
}

#[test]
fn threads_send_on_the_queues_they_are_placed_on() {
    let mut b = bench_of(3);
    let pg0 = b.add("pg0");
    let wrong = "set interface tx-queue: the interface has no such transmit queue\n";
    assert_eq!(b.run("set interface tx-queue pg0 queue 0 threads 0"), wrong);
    let queues = TxQueues::new(2, 3);
    let choice = queues.choice();
    b.router.interfaces.set_tx_queues(pg0, queues);
    let mut me = infra::rcu::Participant::join();
    let mut chosen = || {
        me.quiescent();
        [0, 1, 2, 7].map(|thread| choice.of(thread, me.epoch()).map(|c| c.to_vec()))
    };
    let on = |queues: &[u16]| Some(queues.to_vec());
    assert_eq!(chosen(), [on(&[0]), on(&[1]), on(&[0]), None]);
    let shown = "  TX Queues:\n    queue shared thread(s)      \n    \
                 0     yes    0,2\n    1     no     1\n";
    assert!(b.run("show hardware-interfaces pg0").contains(shown));
    assert_eq!(b.run("set interface tx-queue pg0 queue 1 threads 0-2"), "");
    assert_eq!(b.run("set interface tx-queue pg0 queue 0 threads 1"), "");
    assert_eq!(chosen(), [on(&[1]), on(&[0, 1]), on(&[1]), None]);
    assert!(b.run("show hardware-interfaces pg0").contains("    1     yes    0-2\n"));
    assert_eq!(b.run("set interface tx-queue pg0 queue 1"), "");
    assert_eq!(chosen(), [None, on(&[0]), None, None]);
    let refused = b.run("set interface tx-queue pg0 queue 1 threads 3");
    assert_eq!(refused, "set interface tx-queue: no transmitting thread 3\n");
    assert!(b.run("set interface tx-queue pg0").contains("missing `queue <number>'"));
}

#[test]
fn flows_are_spread_over_the_queues_of_a_thread() {
    use crate::ip::testing::Bench;
    use crate::ip::testing::packets::*;
    let mut b = Bench::new();
    let mut queues = TxQueues::new(3, 1);
    let (all, one) = (queues.choice(), Arc::new(Mutex::new(Vec::new())));
    queues.place(1, &[0]);
    queues.place(2, &[0]);
    // Of each packet its queue, looked at where it lies behind an Ethernet header.
    let mut queue_of = |packets: &[Vec<u8>], hash: Option<u32>| {
        let (all, seen) = (all.clone(), Arc::clone(&one));
        b.send_as("error-drop", packets, move |p| {
            let me = infra::rcu::Participant::join();
            p.set_l3_offset(p.offset());
            p.add_flags(Flags::L3);
            p.prepend(14).unwrap();
            if let Some(hash) = hash {
                p.set_flow_hash(hash);
                p.add_flags(Flags::HASH);
            }
            seen.lock().unwrap().push(all.of(0, me.epoch()).unwrap().queue(p));
        });
        std::mem::take(&mut *one.lock().unwrap())
    };
    for flows in [
        (0..256).map(|port| udp4(HOST4, "10.0.1.2", port, &[])).collect::<Vec<_>>(),
        (0..256).map(|port| udp6(HOST6, "2001:db8:1::2", port, &[])).collect(),
    ] {
        let chosen = queue_of(&flows, None);
        for queue in 0..3 {
            let share = chosen.iter().filter(|q| **q == queue).count();
            assert!((40..150).contains(&share), "queue {queue} has {share} of 256 flows");
        }
        assert_eq!(queue_of(&flows, None), chosen, "a flow stays where it is");
    }
    // What chose one of two ways here does not leave queues without anything.
    let packet = [udp4(HOST4, "10.0.1.2", 1, &[])];
    let chosen: Vec<_> = (0..64).flat_map(|n| queue_of(&packet, Some(n * 6))).collect();
    assert!((0..3).all(|queue| chosen.contains(&queue)), "{chosen:?}");
    // One that is sent alone is looked at twice.
    assert_eq!(queue_of(&[vec![0; 40]], None), [0, 0], "no IP");
}

#[test]
fn names_complete_commands() {
    let mut b = bench();
    b.add("pg0");
    let words = b.cli.complete(&b.router, "set interface state p");
    assert!(words.iter().any(|c| c.word == "pg0"));
}

#[test]
fn features_before_the_device_lead_back_to_it() {
    let mut b = bench();
    let pg0 = b.add("pg0");
    b.run("set interface state pg0 up");
    let end = b.router.engine.index_of(INTERFACE_OUTPUT.end).unwrap();
    b.router.engine.inject(0, end, vec![0; 64], move |p| p.set_tx(pg0.0));
    b.router.engine.run_inline(10);
    let errors = b.router.engine.errors();
    let moved: Vec<_> = errors.iter().map(|e| (e.1.as_str(), e.3)).collect();
    assert_eq!(moved, [("pg0-tx", 1)]);
}

#[test]
fn sub_interfaces_are_made_by_command() {
    let mut b = bench();
    b.add("pg0");
    assert_eq!(b.run("create sub-interfaces pg0 100"), "pg0.100\n");
    assert_eq!(b.run("create sub-interfaces pg0 7-9"), "pg0.7\npg0.8\npg0.9\n");
    let more = ["1 default", "2 untagged", "3 dot1ad 5 inner-dot1q any exact-match", "4 dot1q any"];
    for (what, name) in more.iter().zip(["1", "2", "3", "4"]) {
        assert_eq!(b.run(&format!("create sub-interfaces pg0 {what}")), format!("pg0.{name}\n"));
    }
    let row = "pg0.100                           2     down          0/0/0/0       \n";
    assert!(b.run("show interface pg0.100").ends_with(row));
    let wrong = [
        ("create sub-interfaces pg0 100", "sub-interface 100 exists"),
        ("create sub-interfaces pg0 101 dot1q 100 exact-match", "these tags exists"),
        ("create sub-interfaces pg0 5000", "a VLAN ID is 1 to 4095"),
        ("create sub-interfaces pg0 0", "a VLAN ID is 1 to 4095"),
        ("create sub-interfaces pg0.100 5", "not supported by this interface"),
        ("create sub-interfaces local0 5", "not supported by this interface"),
        ("create sub-interfaces pg0 9-8", "invalid sub-interface ID"),
        ("create sub-interfaces pg0 50 sideways", "expected default, untagged, dot1q or dot1ad"),
        ("create sub-interfaces pg0 50 dot1q", "missing vlan"),
        ("delete sub-interface pg0", "not supported by this interface"),
        ("delete sub-interface pg9", "unknown interface `pg9'"),
    ];
    for (line, text) in wrong {
        let got = b.run(line);
        assert!(got.contains(text), "{line}: {got}");
    }
    assert_eq!(b.run("delete sub-interface pg0.100"), "");
    assert!(b.router.interfaces.named("pg0.100").is_none());
    assert_eq!(b.run("create sub-interfaces pg0 50 dot1q 100 exact-match"), "pg0.50\n");
}

#[test]
fn what_an_interface_is_called() {
    let mut b = bench();
    let pg0 = b.add("pg0");
    b.add("pg2");
    b.run("create sub-interfaces pg0 5");
    assert_eq!(b.run("set interface tag pg0 uplink"), "");
    assert_eq!(b.run("show interface tag pg0"), "pg0: uplink\n");
    b.run("clear interface tag pg0");
    assert_eq!(b.run("show interface tag pg0"), "pg0: (none)\n");
    assert_eq!(b.run("set interface name pg0 wan"), "");
    assert_eq!(b.router.interfaces.named("wan").unwrap().index, pg0);
    assert!(b.router.interfaces.named("wan.5").is_some());
    assert!(b.router.engine.index_of("wan-output").is_some());
    assert!(b.router.engine.index_of("pg0-tx").is_none());
    assert!(b.run("set interface name wan pg2").contains("`pg2' is in use"));
    assert!(b.run("renumber interface wan 7").contains("not supported"));
    assert_eq!(b.run("renumber interface pg2 7"), "");
    assert_eq!(b.run("renumber interface pg7 7"), "");
    assert_eq!(b.run("set interface secondary-mac-address wan 02:00:00:00:00:77"), "");
    let shown = b.run("show interface secondary-mac-address");
    assert!(shown.ends_with("wan (dn):\n  02:00:00:00:00:77\n"), "{shown}");
    assert_eq!(b.run("set interface secondary-mac-address wan 02:00:00:00:00:77 del"), "");
    assert_eq!(b.run("show interface secondary-mac-address wan"), "");
}

#[test]
fn a_link_has_the_speed_of_its_device_and_no_other_can_be_chosen() {
    let mut b = bench();
    let pg0 = b.add("pg0");
    b.run("create sub-interfaces pg0 5");
    b.router.interfaces.follow_device_speed(pg0, 10_000_000);
    assert!(b.run("show hardware-interfaces pg0").contains("Link speed: 10 Gbps"));
    for interface in ["pg0", "pg0.5", "local0"] {
        let set = b.run(&format!("set interface link-speed {interface} 1000"));
        assert!(set.contains("link speed change not supported by its device"), "{set}");
        let shown = b.run(&format!("show interface link-speed-capa {interface}"));
        assert!(shown.starts_with(&format!("no speed capabilities reported for {interface} ")));
        assert!(shown.contains("no link speed capabilities"), "{shown}");
    }
    assert!(b.run("show interface link-speed-capa pg7").contains("pg7"));
    assert_eq!(b.router.interfaces.at(pg0).unwrap().link_speed, 10_000_000);
    b.router.interfaces.offer_speeds(pg0, &[1_000_000, 10_000_000]);
    let shown = b.run("show interface link-speed-capa pg0.5");
    assert_eq!(shown, "pg0.5: 1000000 10000000 kbps\n");
    let refused = b.run("set interface link-speed pg0 2");
    assert!(refused.contains("the link does not support 2 kilobits per second"), "{refused}");
    assert_eq!(b.run("set interface link-speed pg0 1000000"), "");
    assert_eq!(b.router.interfaces.at(pg0).unwrap().link_speed, 1_000_000);
}

#[test]
fn sub_interfaces_follow_their_parent() {
    let mut b = bench();
    let pg0 = b.add("pg0");
    b.run("create sub-interfaces pg0 5");
    b.run("set interface state pg0.5 up");
    let sub = b.router.interfaces.named("pg0.5").unwrap().index;
    assert!(!b.router.interfaces.port(sub).unwrap().up);
    b.run("set interface state pg0 up");
    assert!(b.router.interfaces.port(sub).unwrap().up);
    assert!(b.router.interfaces.at(sub).unwrap().link_up);
    assert_eq!(b.router.interfaces.mtu_of(sub, Mtu::for_ip4), 9000);
    b.run("set interface mtu ip4 1400 pg0");
    assert_eq!(b.router.interfaces.mtu_of(sub, Mtu::for_ip4), 1400);
    b.run("set interface mtu 1300 pg0.5");
    assert_eq!(b.router.interfaces.mtu_of(sub, Mtu::for_ip4), 1300);
    b.router.remove_interface(pg0);
    assert!(b.router.interfaces.at(sub).is_none());
}

#[test]
fn a_setting_has_a_type_of_its_own() {
    let mut b = bench();
    b.router.attach::<[u32; 2]>().unwrap();
    let refused = b.router.attach::<[u32; 2]>().err().unwrap();
    assert_eq!(refused.to_string(), "interfaces already have a setting [u32; 2]");
}
