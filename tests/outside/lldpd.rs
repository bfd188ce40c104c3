//! lldpd as the other end of a link: each knows the other by LLDP and by CDP, and for how long.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::capture::decoded;
use tests::{Daemon, Host, eventually, has, is_root};

#[test]
fn lldpd_and_the_router_know_each_other() {
    if !(is_root() && has("ip") && has("lldpcli")) {
        return;
    }
    let (here, there) = (Host::alone(), Host::alone());
    here.connect("v0", &there, "p0");
    let router = Daemon::start_in(
        here.namespace(),
        "",
        &[
            "create host-interface name v0",
            "set interface state host-v0 up",
            "set lldp system-name north tx-hold 4 tx-interval 1",
            "set interface lldp host-v0 port-desc uplink mgmt-ip4 10.1.0.1 mgmt-ip6 2001:db8::1",
        ],
    );
    let file = router.folder().join("sent.pcap");
    let on = format!("pcap trace tx max 1000 intfc host-v0 file {}", file.display());
    router.tell(&on);
    let neighbors =
        |socket: &str| there.attempt(&format!("lldpcli -u {socket} show neighbors details")).1;
    let knows_all = |socket: &str, words: &[&str]| {
        let text = neighbors(socket);
        words.iter().all(|word| text.contains(word))
    };
    // Where the machine is busy, it may miss that it has a port: then another one is started.
    let started = (0..5).find_map(|n| {
        let socket = router.folder().join(format!("lldpd{n}")).display().to_string();
        let daemon = there.start(&format!("lldpd -d -cc -H 0 -u {socket} -I p0 -P machine"));
        let faster = || {
            let set = |what| there.attempt(&format!("lldpcli -u {socket} configure lldp {what}")).1;
            set("tx-interval 1") + &set("tx-hold 2")
        };
        assert!(eventually(|| faster().trim().is_empty()), "{}", faster());
        let end = Instant::now() + Duration::from_secs(10);
        while !knows_all(&socket, &["LLDP", "north", "uplink", "10.1.0.1", "2001:db8::1"]) {
            if Instant::now() > end {
                return None;
            }
            sleep(Duration::from_millis(20));
        }
        Some((socket, daemon))
    });
    let (socket, daemon) = started.expect("lldpd knows the router");
    // It hears the port now: CDP is sent once a minute, of which it is not to miss the first.
    router.tell("cdp enable");
    assert!(eventually(|| knows_all(&socket, &["CDPv2", "north"])), "{}", neighbors(&socket));
    let mac = there.run("cat /sys/class/net/p0/address");
    let shown = || router.tell("show lldp detail");
    let knows =
        || shown().contains("peer state: active") && shown().contains(&format!(": {}", mac.trim()));
    assert!(eventually(knows), "{}", shown());
    let cdp = || router.tell("show cdp");
    assert!(eventually(|| cdp().contains("host-v0") && cdp().contains("p0")), "{}", cdp());

    // It sends a shutdown frame when it ends; a killed one is deleted when its time is over.
    drop(daemon);
    assert!(eventually(|| shown().contains("peer state: inactive")), "{}", shown());
    router.tell("pcap trace tx off");
    if has("tshark") {
        assert!(decoded(&file).len() >= 2);
    }
}
