//! Bidirectional forwarding detection with another program's: BIRD.

use std::fs;

use tests::{Daemon, Host, Running, eventually, has, is_root, skip};

/// Sessions over one hop, without and with authentication, and over several hops.
const BIRD: &str = r#"
router id 10.1.0.2;
protocol device {}
protocol bfd {
    interface "eth0" { interval 100 ms; multiplier 3; };
    interface "eth1" {
        interval 100 ms;
        multiplier 3;
        authentication meticulous keyed sha1;
        password "a secret" { id 7; };
    };
    multihop { interval 100 ms; multiplier 3; };
    neighbor 10.1.0.1 dev "eth0" local 10.1.0.2;
    neighbor 2001:db8:1::1 dev "eth0" local 2001:db8:1::2;
    neighbor 10.2.0.1 dev "eth1" local 10.2.0.2;
    neighbor 10.7.7.1 local 10.7.7.2 multihop yes;
}
"#;

const SESSION: &str = "desired-min-tx 100000 required-min-rx 100000 detect-mult 3";

fn router(there: &Host) -> Daemon {
    let tap = |n: u32| {
        format!("create tap id {n} host-if-name eth{} host-ns {}", n - 1, there.namespace())
    };
    let named = [
        "interface tap1 local-addr 10.1.0.1 peer-addr 10.1.0.2",
        "interface tap1 local-addr 2001:db8:1::1 peer-addr 2001:db8:1::2",
        "multihop local-addr 10.7.7.1 peer-addr 10.7.7.2",
    ];
    let mut setup = vec![
        format!("{} host-ip4-addr 10.1.0.2/24 host-ip6-addr 2001:db8:1::2/64", tap(1)),
        format!("{} host-ip4-addr 10.2.0.2/24", tap(2)),
        "set interface state tap1 up".to_owned(),
        "set interface state tap2 up".to_owned(),
        "set interface ip address tap1 10.1.0.1/24".to_owned(),
        "set interface ip address tap1 2001:db8:1::1/64".to_owned(),
        "set interface ip address tap2 10.2.0.1/24".to_owned(),
        "loopback create-interface".to_owned(),
        "set interface state loop0 up".to_owned(),
        "set interface ip address loop0 10.7.7.1/32".to_owned(),
        "ip route add 10.7.7.2/32 via 10.1.0.2 tap1".to_owned(),
        "ip route add 10.50.0.0/16 via 10.1.0.2 tap1 preference 1".to_owned(),
        "ip route add 10.50.0.0/16 via 10.2.0.2 tap2 preference 2".to_owned(),
        "bfd key set conf-key-id 1 type meticulous-keyed-sha1 secret 6120736563726574".to_owned(),
    ];
    setup.extend(named.map(|name| format!("bfd udp session add {name} {SESSION}")));
    setup.push(format!(
        "bfd udp session add interface tap2 local-addr 10.2.0.1 peer-addr 10.2.0.2 {SESSION} \
         conf-key-id 1 bfd-key-id 7"
    ));
    let setup: Vec<_> = setup.iter().map(String::as_str).collect();
    Daemon::start_with("", &setup)
}

fn bird(router: &Daemon, there: &Host) -> Running {
    let file = |kind: &str| router.folder().join(format!("bird.{kind}"));
    fs::write(file("conf"), BIRD).unwrap();
    let [conf, ctl, pid] = ["conf", "ctl", "pid"].map(|kind| file(kind).display().to_string());
    there.start(&format!("bird -f -c {conf} -s {ctl} -P {pid}"))
}

/// Sessions that are up at both ends.
fn up(router: &Daemon) -> usize {
    let shown = router.tell("show bfd sessions");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    shown.lines().filter(|line| words(line) == ["Session", "state", "Up", "Up"]).count()
}

/// Whether packets to the network behind both links go by this one.
fn goes_by(router: &Daemon, interface: &str) -> bool {
    let shown = router.tell("show ip fib 10.50.0.0/16");
    let buckets: Vec<_> = shown.lines().filter(|line| line.contains("[0] [@")).collect();
    buckets.iter().any(|bucket| bucket.contains(interface))
}

#[test]
fn sessions_with_bird_come_up_and_move_routes_when_it_is_gone() {
    if !is_root() {
        return;
    }
    if !has("bird") {
        skip("BIRD is not installed");
        return;
    }
    let there = Host::alone();
    let router = router(&there);
    there.run("ip addr add 10.7.7.2/32 dev lo");
    there.run("ip link set lo up");
    there.run("ip route add 10.7.7.1/32 via 10.1.0.1");
    let first = bird(&router, &there);
    let shown = || router.tell("show bfd sessions");
    assert!(eventually(|| up(&router) == 4), "{}", shown());
    assert!(goes_by(&router, "tap1"), "{}", router.tell("show ip fib 10.50.0.0/16"));
    // The link keeps its state; only packets do not get through.
    there.run("ip link set eth0 down");
    assert!(eventually(|| up(&router) == 1), "{}", shown());
    assert!(eventually(|| goes_by(&router, "tap2")), "{}", router.tell("show ip fib"));
    there.run("ip link set eth0 up");
    there.run("ip route replace 10.7.7.1/32 via 10.1.0.1");
    assert!(eventually(|| up(&router) >= 3), "{}", shown());
    assert!(eventually(|| goes_by(&router, "tap1")), "{}", router.tell("show ip fib"));
    // It says that it goes: that is no failure of the path.
    drop(first);
    assert!(eventually(|| up(&router) == 0), "{}", shown());
}
