//! Agents of other projects, as they are: what they ask before they start, and vppcfg, which
//! brings a router to what a file says.

use std::fs;
use std::path::Path;
use std::process::Command;

use tests::{Daemon, Host, is_root, papi, skip};

/// Output of a program that succeeds.
#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program is there");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}");
    text
}

#[test]
fn what_agents_want_to_see_before_they_start_is_answered() {
    let Some(python) = papi() else { return };
    let daemon = Daemon::start(&[]);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/agents.py");
    let mut command = Command::new(python);
    command.arg(program).arg("messages").arg(daemon.folder().join("api.sock"));
    let text = output(&mut command);
    assert!(text.ends_with("ok\n"), "{text}");
}

/// vppcfg beside the clients' own library, or `FERROVIA_VPPCFG`; says so if it is missing.
fn vppcfg() -> Option<String> {
    let beside = || {
        let program = Path::new(&papi()?).with_file_name("vppcfg");
        program.exists().then(|| program.display().to_string())
    };
    let found = std::env::var("FERROVIA_VPPCFG").ok().or_else(beside);
    if found.is_none() {
        skip("no vppcfg beside vpp_papi; FERROVIA_VPPCFG names one");
    }
    found
}

/// Everything of vppcfg that needs no device of DPDK.
const WANTED: &str = r#"
bondethernets:
  BondEthernet0:
    interfaces: [ GigabitEthernet3/0/0, GigabitEthernet3/0/1 ]
    mac: 02:b0:b0:01:02:03
    mode: xor
    load-balance: l2
interfaces:
  GigabitEthernet3/0/0:
    device-type: dpdk
    mtu: 9000
    description: "LAG #1"
  GigabitEthernet3/0/1:
    device-type: dpdk
    mtu: 9000
    description: "LAG #2"
  HundredGigabitEthernet12/0/0:
    device-type: dpdk
    mac: f2:01:00:12:00:00
    mtu: 9000
    addresses: [ 192.0.2.17/30, 2001:db8:3::1/64 ]
    mpls: true
    sub-interfaces:
      1234:
        mtu: 1200
        encapsulation: { dot1q: 1234, exact-match: True }
      1235:
        mtu: 1100
        encapsulation: { dot1q: 1234, inner-dot1q: 1000, exact-match: True }
  BondEthernet0:
    mtu: 9000
    sub-interfaces:
      100:
        mtu: 2500
        l2xc: BondEthernet0.200
        encapsulation: { dot1q: 100, exact-match: False }
      200:
        mtu: 2500
        l2xc: BondEthernet0.100
        encapsulation: { dot1q: 200, exact-match: False }
      500:
        mtu: 2000
        encapsulation: { dot1ad: 500, exact-match: False }
  vxlan_tunnel1:
    mtu: 2000
loopbacks:
  loop0:
    addresses: [ 10.0.0.1/32, 2001:db8::1/128 ]
  loop1:
    mtu: 2000
    mac: 02:de:ad:01:be:ef
    addresses: [ 10.0.1.1/24, 2001:db8:1::1/64 ]
bridgedomains:
  bd1:
    mtu: 2000
    bvi: loop1
    interfaces: [ BondEthernet0.500, vxlan_tunnel1 ]
vxlan_tunnels:
  vxlan_tunnel1:
    local: 192.0.2.1
    remote: 192.0.2.2
    vni: 101
"#;

/// The same with changes: a value here, an object less there.
const CHANGES: [(&str, &str); 4] = [
    ("mtu: 1200", "mtu: 1300"),
    ("10.0.0.1/32, ", ""),
    ("vni: 101", "vni: 102"),
    ("load-balance: l2", "load-balance: l34"),
];

/// Devices that stand for those of the file.
fn devices(host: &Host) -> Vec<String> {
    let names = ["GigabitEthernet3/0/0", "GigabitEthernet3/0/1", "HundredGigabitEthernet12/0/0"];
    let mut all = vec!["mpls table add 0".to_owned()];
    for (n, name) in names.iter().enumerate() {
        host.run(&format!("ip link add v{n} type veth peer name w{n}"));
        host.run(&format!("ip link set v{n} mtu 9216 up"));
        host.run(&format!("ip link set w{n} mtu 9216 up"));
        all.push(format!("create host-interface name v{n}"));
        all.push(format!("set interface name host-v{n} {name}"));
    }
    all
}

#[test]
fn vppcfg_applies_a_file_and_then_has_nothing_to_do() {
    let Some(vppcfg) = vppcfg() else { return };
    if !is_root() {
        return;
    }
    let host = Host::alone();
    let devices = devices(&host);
    let setup: Vec<&str> = devices.iter().map(String::as_str).collect();
    let daemon = Daemon::start_in(host.namespace(), "", &setup);
    let socket = daemon.folder().join("api.sock");
    let file = daemon.folder().join("wanted.yaml");
    // It applies at the usual place only.
    let script = "mount -t tmpfs none /run && mkdir /run/vpp && ln -s $1 /run/vpp/api.sock && \
        exec $2 $3 -c $4 -a $1";
    let run = |verb: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&socket).args([&vppcfg, verb]);
        output(command.arg(&file))
    };
    let is_command = |line: &&str| {
        !line.trim().is_empty() && !line.starts_with("comment") && !line.starts_with('[')
    };
    let plan = || run("plan").lines().filter(is_command).map(str::to_owned).collect::<Vec<_>>();
    let mut text = WANTED.to_owned();
    fs::write(&file, &text).unwrap();
    assert!(plan().len() > 30, "{:?}", plan());
    run("apply");
    assert_eq!(plan(), Vec::<String>::new(), "{}", daemon.tell("show configuration"));
    for (from, to) in CHANGES {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
        fs::write(&file, &text).unwrap();
        assert!(!plan().is_empty(), "{from} is noticed");
        run("apply");
        assert_eq!(plan(), Vec::<String>::new(), "{from}\n{}", daemon.tell("show configuration"));
    }
}
