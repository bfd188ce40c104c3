//! The host stack with sockets of the kernel on the other side, over AF_PACKET and TAP.

use tests::{Host, TwoHosts, eventually, has, is_root};

/// Bytes of a long transfer.
const LONG: usize = 10_000_000;

fn can_run() -> bool {
    is_root() && has("python3")
}

/// A peer's command.
fn peer(kind: &str, address: &str, port: u16, number: usize) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/peers_of_sessions.py");
    format!("python3 {script} {kind} {address} {port} {number}")
}

/// Runs a command that cannot fail.
#[track_caller]
fn set(net: &TwoHosts, line: &str) {
    let said = net.router.ask(line);
    assert!(said.is_ok, "{line}: {said:?}");
}

fn ask(host: &Host, kind: &str, address: &str, number: usize) {
    let text = host.run(&peer(kind, address, 7, number));
    assert!(text.contains(&format!("ok {number}")), "{kind}: {text}");
}

/// Two hosts, and an echo on all addresses of the router.
fn echoing(config: &str) -> TwoHosts {
    let net = TwoHosts::with(config);
    for line in
        ["session enable", "app ns add id six ip6-fib-id 0", "vperf server uri tcp://0.0.0.0/7"]
    {
        set(&net, line);
    }
    net
}

/// Sessions that there are.
fn count(net: &TwoHosts) -> usize {
    let text = net.router.tell("show session");
    let counts = text.lines().filter_map(|line| line.split(": ").nth(1)?.split(' ').next());
    counts.filter_map(|n| n.parse::<usize>().ok()).sum()
}

#[test]
fn clients_of_the_kernel_get_back_what_they_send() {
    if !can_run() {
        return;
    }
    let net = echoing("");
    ask(&net.left, "client", "10.1.1.1", LONG);
    ask(&net.right, "client", "10.1.1.1", 100_000);
    ask(&net.left, "half", "10.1.1.1", 20);
    ask(&net.left, "many", "10.1.1.1", 200);
    ask(&net.left, "reset", "10.1.1.1", 50);
    set(&net, "vperf server stop");
    set(&net, "vperf server uri tcp://::/7");
    ask(&net.left, "client", "2001:db8:1::1", LONG);
    ask(&net.left, "half", "2001:db8:1::1", 20);
    ask(&net.left, "reset", "2001:db8:1::1", 20);
}

#[test]
fn servers_of_the_kernel_send_back_what_they_get() {
    if !can_run() {
        return;
    }
    let net = echoing("");
    for address in ["10.1.1.2", "2001:db8:1::2"] {
        let uri = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        let _server = net.left.start(&peer("server", address, 9, 12));
        let client = |words: &str| {
            net.router
                .ask(&format!("vperf client plain echo-bytes test-bytes {words} uri tcp://{uri}:9"))
        };
        assert!(eventually(|| client("bytes 1k").is_ok), "the server listens");
        let said = client("bytes 10m test-timeout 60");
        assert!(said.text.contains("20971520 bytes"), "{said:?}");
        let said = client("bytes 100k nclients 10");
        assert!(said.text.contains("10 sessions"), "{said:?}");
    }
    let said = net.router.ask("vperf client plain uri tcp://10.1.1.2:10");
    assert!(said.error.contains("failed: 1 of 1 sessions: connection refused"), "{said:?}");
}

#[test]
fn bytes_arrive_over_a_link_that_loses_packets() {
    if !can_run() {
        return;
    }
    let net = echoing("");
    for line in [
        "set nsim delay 2 ms bandwidth 1 gbit packet-size 1500 packets-per-drop 20",
        "nsim output-feature enable-disable host-left",
    ] {
        set(&net, line);
    }
    // Some 400 packets, as the link takes segments of 64 KB.
    ask(&net.left, "client", "10.1.1.1", LONG);
    let stats = net.router.tell("show tcp stats");
    assert!(stats.contains("rxt_segs") || stats.contains("retransmitted"), "{stats}");
}

#[test]
fn two_threads_serve_and_their_number_changes_under_way() {
    if !can_run() {
        return;
    }
    let net = echoing("cpu { corelist-workers 0,1 }");
    ask(&net.left, "many", "10.1.1.1", 100);
    ask(&net.left, "client", "10.1.1.1", 1_000_000);
    let _server = net.right.start(&peer("server", "10.1.2.2", 9, 50));
    let client =
        "vperf client plain echo-bytes test-bytes bytes 100k nclients 10 uri tcp://10.1.2.2:9";
    assert!(eventually(|| net.router.ask(client).is_ok), "from both threads");
    for workers in ["1", "corelist 0,1", "0", "corelist 0,1"] {
        let line = peer("client", "10.1.1.1", 7, LONG);
        std::thread::scope(|scope| {
            let under_way = scope.spawn(|| net.left.run(&line));
            std::thread::sleep(std::time::Duration::from_millis(150));
            set(&net, &format!("set workers {workers}"));
            let text = under_way.join().expect("it ends");
            assert!(text.contains("ok"), "{text}");
        });
    }
}

#[test]
fn floods_and_noise_leave_sessions_and_other_ports_alone() {
    if !can_run() || !has("ping") {
        return;
    }
    let net = echoing("");
    net.left.set("ipv4/ip_forward", "0");
    std::thread::scope(|scope| {
        let attacks: Vec<_> = [("flood", 50_000), ("noise", 30_000)]
            .into_iter()
            .map(|(kind, number)| {
                let net = &net;
                scope.spawn(move || ask(&net.left, kind, "10.1.1.1", number))
            })
            .collect();
        ask(&net.right, "client", "10.1.1.1", 1_000_000);
        // By the port that is not flooded: the kernel's ring of the other one overflows.
        let (_, text) = net.right.attempt("ping -n -c 40 -i 0.05 -W 30 10.1.2.1");
        let received = text.lines().filter(|line| line.contains("bytes from")).count();
        assert_eq!(received, 40, "{text}");
        attacks.into_iter().for_each(|attack| attack.join().expect("it ends"));
    });
    ask(&net.right, "many", "10.1.1.1", 50);
    // Half-open connections are bounded, and SYNs beyond are answered without remembering them.
    assert!(count(&net) <= 8192 + 200, "{}", net.router.tell("show session"));
    assert!(net.router.is_running());
}

#[test]
fn a_deleted_address_ends_its_sessions_and_disabling_ends_all() {
    if !can_run() {
        return;
    }
    let net = echoing("");
    let _server = net.left.start(&peer("server", "10.1.1.2", 9, 4));
    let client = "vperf client plain echo-bytes run-time 20 uri tcp://10.1.1.2:9";
    assert!(eventually(|| net.router.ask("vperf client plain uri tcp://10.1.1.2:9").is_ok));
    std::thread::scope(|scope| {
        let under_way = scope.spawn(|| net.router.ask(client));
        let is_established = || net.router.tell("show session verbose").contains("ESTABLISHED");
        assert!(eventually(is_established));
        set(&net, "set interface ip address del host-left 10.1.1.1/24");
        let said = under_way.join().expect("it ends");
        assert!(said.error.contains("failed: 1 of 1 sessions"), "{said:?}");
    });
    set(&net, "set interface ip address host-left 10.1.1.1/24");
    ask(&net.left, "client", "10.1.1.1", 1000);
    set(&net, "session disable");
    // As in VPP nothing answers then: its second SYN leaves after a second.
    let (is_ok, text) =
        net.left.attempt(&format!("timeout 3 {}", peer("client", "10.1.1.1", 7, 10)));
    assert!(!is_ok && text.is_empty(), "{text}");
}
