use control::cli::Cli;
use control::log::Log;
use graph::Settings;

use super::output::LocalTx;
use super::*;

struct Bench {
    router: Router,
    cli: Cli<Router>,
}

fn bench() -> Bench {
    let router = Router::new(Settings { buffers: 4096, ..Settings::default() }, Log::new());
    let mut parts = Parts { router: router.unwrap(), cli: Cli::new() };
    for feature in [crate::drops::FEATURE, FEATURE] {
        (feature.register)(&mut parts).unwrap();
    }
    let Parts { mut router, cli } = parts;
    cli.check().unwrap();
    router.engine.build().unwrap();
    router.engine.start_inline();
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
        ("set interface state pg0", "set interface state: missing the new state\n"),
        ("set interface state pg0 sideways", "set interface state: unknown input `sideways'\n"),
        ("set interface state pg0 up down", "set interface state: one or the other, not both\n"),
        ("set interface mtu pg0 1500", "set interface mtu: invalid mtu `pg0 1500'\n"),
        ("set interface mtu 0 pg0", "set interface mtu: the layer 3 MTU cannot be 0\n"),
        ("set interface mtu 70000 pg0", "set interface mtu: an MTU is 65535 bytes at most\n"),
        ("set interface promiscuous pg0", "set interface promiscuous: missing the new state\n"),
        (
            "set interface mac address pg0 ff:ff:ff:ff:ff:ff",
            "set interface mac address: a multicast address cannot be an interface's own\n",
        ),
        ("set interface mac address pg0 02:00", "set interface mac address: invalid mac `02:00'\n"),
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
    b.router.interfaces.set_queues(pg0, vec![RxQueue { thread: 0, node }; 2]);
    let expected = "Thread 0 (vpp_main):\n  node nothing-input:\n    \
                    pg0 queue 0 (adaptive)\n    pg0 queue 1 (adaptive)\n";
    assert_eq!(b.run("show interface rx-placement"), expected);
    assert_eq!(b.run("set interface rx-mode pg0 queue 1 polling"), "");
    assert!(b.run("show interface rx-placement").contains("pg0 queue 1 (polling)"));
    let wrong = "set interface rx-mode: the interface has no such receive queue\n";
    assert_eq!(b.run("set interface rx-mode pg0 queue 2 polling"), wrong);
    assert_eq!(b.run("set interface rx-mode local0 interrupt"), wrong);
    assert!(b.run("set interface rx-mode pg0 sometimes").contains("invalid mode"));
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
