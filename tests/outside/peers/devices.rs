//! Devices of the host that vanish under traffic.

use std::process::Command;

use tests::{Daemon, Host, eventually, has, is_root, skip};

use super::deaths::{GROWTH, Held, Rig, WARM, deaths};

/// One device is made and vanishes: the commands of the host and of the router.
struct Device {
    /// Arguments of `ip` that make it, if it is not the router that does.
    make: Option<&'static str>,
    create: &'static str,
    interface: &'static str,
    vanish: &'static str,
    delete: &'static str,
}

const AF_XDP: Device = Device {
    make: Some("link add v0 type veth peer name v1"),
    create: "create interface af_xdp host-if v0 name xdp0",
    interface: "xdp0",
    vanish: "link del v0",
    delete: "delete interface af_xdp xdp0",
};

const AF_PACKET: Device = Device {
    make: Some("link add v0 type veth peer name v1"),
    create: "create host-interface name v0",
    interface: "host-v0",
    vanish: "link del v0",
    delete: "delete host-interface name v0",
};

const TAP: Device = Device {
    make: None,
    create: "create tap id 0 host-if-name t0",
    interface: "tap0",
    vanish: "link del t0",
    delete: "delete tap tap0",
};

fn ip(host: &Host, line: &str) {
    let mut command = Command::new("ip");
    command.args(["-n", host.namespace()]).args(line.split_whitespace());
    let done = command.output().expect("ip is installed");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Makes it and lets it vanish with packets under way; false where the kernel has no such devices.
fn once(rig: &Rig, host: &Host, device: &Device, is_last: bool) -> bool {
    if let Some(make) = device.make {
        ip(host, make);
        ip(host, "link set v1 up");
    }
    let made = rig.router.ask(device.create);
    if made.error.contains("Operation not supported") || made.error.contains("not permitted") {
        skip(&format!("this kernel has no such devices: {}", made.error));
        return false;
    }
    assert!(made.is_ok, "{}", made.error);
    rig.connect();
    let sent = || rig.counted("tx packets") > 0;
    assert!(eventually(sent), "{}", rig.router.tell("show errors"));
    if is_last {
        rig.router.tell(device.delete);
        if device.make.is_some() {
            ip(host, device.vanish);
        }
    } else {
        ip(host, device.vanish);
        rig.router.tell(device.delete);
    }
    true
}

fn vanish(device: &Device, count: usize) {
    if !is_root() || !has("ip") {
        return;
    }
    let host = Host::alone();
    let setup = ["create packet-generator interface pg0", "set interface state pg0 up"];
    let router = Daemon::start_in(host.namespace(), "", &setup);
    let rig = Rig { router, interface: device.interface };
    rig.send();
    let mut before: Option<(Held, u64)> = None;
    for n in 0..WARM + count {
        if !once(&rig, &host, device, n % 5 == 4) {
            return;
        }
        if n + 1 == WARM {
            rig.stop();
            before = Some((rig.rest(), rig.memory()));
            rig.send();
        }
    }
    rig.stop();
    let (before, memory) = before.expect("there were so many");
    rig.expect(&before);
    let after = rig.memory();
    println!(
        "{}: {count} vanished; {before:?} before and after, {} and {} KB",
        device.interface,
        memory >> 10,
        after >> 10
    );
    assert!(after < memory + GROWTH, "{memory} bytes became {after}");
}

#[test]
fn devices_of_af_xdp_vanish() {
    vanish(&AF_XDP, deaths(10));
}

#[test]
fn devices_of_packet_sockets_vanish() {
    vanish(&AF_PACKET, deaths(10));
}

#[test]
fn taps_vanish() {
    vanish(&TAP, deaths(10));
}
