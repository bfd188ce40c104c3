//! Interfaces on devices of the host, past its stack.

use std::process::Command;

use tests::{Daemon, Host, eventually, has, is_root, unique};

/// A device here whose other end is `eth0` of a host.
struct Device(String);

impl Device {
    fn to(host: &Host, mtu: u32) -> Self {
        let name = unique().replace("fvt", "x");
        let namespace = host.namespace();
        ip(&format!(
            "link add {name} mtu {mtu} type veth peer name eth0 mtu {mtu} netns {namespace}"
        ));
        ip(&format!("-n {namespace} link set eth0 up"));
        Self(name)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &self.0]).output();
    }
}

fn ip(line: &str) {
    let done = Command::new("ip").args(line.split_whitespace()).output().expect("ip is installed");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Two hosts, each behind a device that the router has in this way.
fn check(options: &str, mtu: u32, sizes: &[u32]) {
    let (left, right) = (Host::alone(), Host::alone());
    let devices = [Device::to(&left, mtu), Device::to(&right, mtu)];
    let router = Daemon::start(&[]);
    for (n, (host, Device(device))) in (1..).zip([(&left, &devices[0]), (&right, &devices[1])]) {
        let line = format!("create interface af_xdp host-if {device} name xdp{n} {options}");
        let made = router.ask(&line);
        if made.error.contains("Operation not supported") || made.error.contains("not permitted") {
            return tests::skip(&format!("this kernel has no AF_XDP: {}", made.error));
        }
        assert_eq!(made.text, format!("xdp{n}\n"), "{}", made.error);
        router.tell(&format!("set interface state xdp{n} up"));
        router.tell(&format!("set interface ip address xdp{n} 10.1.{n}.1/24"));
        router.tell(&format!("set interface ip address xdp{n} 2001:db8:{n}::1/64"));
        host.run(&format!("ip address add 10.1.{n}.2/24 dev eth0"));
        host.run(&format!("ip address add 2001:db8:{n}::2/64 dev eth0 nodad"));
        host.run(&format!("ip route add default via 10.1.{n}.1"));
        host.run(&format!("ip -6 route add default via 2001:db8:{n}::1"));
    }
    let reaches = |address: &str, size: u32| {
        let line = format!("ping -n -c 3 -i 0.2 -W 10 -s {size} {address}");
        eventually(|| left.attempt(&line).1.contains("3 received, 0% packet loss"))
    };
    for size in sizes {
        for address in ["10.1.2.2", "2001:db8:2::2", "10.1.1.1"] {
            let shown = || router.tell("show errors") + &router.tell("show hardware-interfaces");
            assert!(reaches(address, *size), "{options} {size} {address}: {}", shown());
        }
    }
    let shown = router.tell("show hardware-interfaces xdp1");
    assert!(shown.contains("mode copy"), "{shown}");
    // A device that has gone is no reason not to.
    drop(devices);
    router.tell("delete interface af_xdp xdp1");
    router.tell("delete interface af_xdp xdp2");
}

#[test]
fn hosts_talk_past_the_stack_of_the_router() {
    if !is_root() || !has("ping") {
        return;
    }
    check("", 1500, &[56, 1400]);
    check("no-zero-copy rx-queue-size 64 tx-queue-size 64 mac-reuse", 1500, &[56]);
    check("multi-buffer", 9000, &[56, 1400, 4096, 8900]);
}

#[test]
fn a_device_is_the_hosts_again_when_its_interface_is_deleted_or_the_router_dies() {
    if !is_root() || !has("ping") {
        return;
    }
    let host = Host::alone();
    let device = Device::to(&host, 1500);
    let Device(name) = &device;
    ip(&format!("address add 10.88.0.1/24 dev {name}"));
    ip(&format!("link set {name} up"));
    host.run("ip address add 10.88.0.2/24 dev eth0");
    let is_reached = || host.attempt("ping -n -c 1 -W 1 10.88.0.1").0;
    assert!(eventually(is_reached));
    for dies in [false, true] {
        let router = Daemon::start(&[]);
        let made = router.ask(&format!("create interface af_xdp host-if {name} name xdp0"));
        if made.error.contains("Operation not supported") || made.error.contains("not permitted") {
            return tests::skip("this kernel has no AF_XDP");
        }
        assert!(made.is_ok, "{}", made.error);
        let again = router.ask(&format!("create interface af_xdp host-if {name} name xdp1"));
        assert!(again.error.contains("attach the program"), "{}", again.error);
        router.tell("set interface state xdp0 up");
        assert!(!is_reached());
        if !dies {
            router.tell("delete interface af_xdp xdp0");
            assert!(eventually(is_reached));
        }
        drop(router);
        assert!(eventually(is_reached));
    }
    let router = Daemon::start(&[]);
    for (line, why) in [
        ("create interface af_xdp host-if nosuch0", "host-if"),
        ("create interface af_xdp host-if lo rx-queue-size 100", "power of 2"),
        ("create interface af_xdp host-if lo num-rx-queues 0", "queues must be 1 to 64"),
        ("create interface af_xdp host-if lo num-rx-queues x", "is not a number of queues"),
        ("create interface af_xdp host-if lo zero-copy no-zero-copy", "not both"),
        ("create interface af_xdp host-if lo netns nosuch", "host-if"),
        ("delete interface af_xdp local0", "not an af_xdp interface"),
    ] {
        let said = router.ask(line);
        assert!(!said.is_ok && said.error.contains(why), "{line}: {}", said.error);
    }
}
