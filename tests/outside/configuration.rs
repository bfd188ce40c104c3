//! The configuration of a daemon, replayed into another one.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::thread::{scope, sleep};
use std::time::Duration;

use ferrovia_client::messages::{
    AddressUnion, CreateLoopbackInstance, FibPath, FibPathNh, IpRouteAddDelV2, IpTableAddDel,
    SwInterfaceTagAddDel,
};
use ferrovia_client::{Client, stats};
use rustix::process::{Pid, Signal, kill_process};
use tests::{Daemon, eventually, is_root, program, unique};

/// Commands, beside two generator interfaces with addresses, neighbours and routes.
const TOLD: &[&str] = &[
    "ip6 table add 9",
    "create sub-interfaces pg1 7 dot1q 70 exact-match",
    "set interface name pg1.7 customer",
    "set interface state customer up",
    "set interface ip address customer 10.7.0.1/24",
    "set ip neighbor customer 10.7.0.2 02:00:00:00:00:77 static",
    "ip route add 17.0.0.0/8 via 10.7.0.2 customer via 10.0.1.2 pg1 weight 3",
    "policer add name gold cir 1000 cb 100000",
    "policer input name gold pg0",
    "set interface tcp-mss-clamp pg1 ip4 enable ip4-mss 1400",
    "set interface mtu ip4 1400 pg1",
    "set arp proxy start 10.0.0.50 end 10.0.0.60",
    "set interface proxy-arp pg0",
    "set logging class ip level debug",
];

/// A stream to both routes: 300 packets each.
const STREAM: &str = "packet-generator new { name s limit 600 size 64-64 interface pg0 \
    node ethernet-input data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
    UDP: 10.0.0.2 -> 16.255.255.106-17.0.0.149 UDP: 1 -> 2 incrementing 22 } }";

/// Packets that both generator interfaces and the sub-interface sent.
fn sent(daemon: &Daemon) -> [u64; 2] {
    let segment = stats::fetch(&daemon.folder().join("stats.sock")).unwrap();
    let reader = stats::Reader::new(segment).unwrap();
    ["pg1", "customer"]
        .map(|name| reader.read(&format!("/interfaces/{name}/tx")).unwrap().unwrap().sum(0))
}

/// Tells a daemon more, as a client of the binary API.
fn tell_by_message(daemon: &Daemon) {
    let mut client = Client::connect(daemon.folder().join("api.sock"), "configuration").unwrap();
    let new =
        CreateLoopbackInstance { is_specified: true, user_instance: 12, ..Default::default() };
    let made = client.call(&new).unwrap().sw_if_index;
    let mut tag = SwInterfaceTagAddDel { is_add: true, sw_if_index: made, ..Default::default() };
    tag.tag = "the twelfth".to_owned();
    client.call(&tag).unwrap();
    let mut table = IpTableAddDel { is_add: true, ..Default::default() };
    (table.table.table_id, table.table.name) = (5, "blue".to_owned());
    client.call(&table).unwrap();
    let mut route = IpRouteAddDelV2 { is_add: true, ..Default::default() };
    route.route.table_id = 5;
    route.route.prefix.len = 24;
    route.route.prefix.address.un = AddressUnion::of_ip4(&[20, 0, 0, 0]);
    let nh = FibPathNh { address: AddressUnion::of_ip4(&[20, 1, 1, 1]), ..Default::default() };
    let sw_if_index = made;
    route.route.paths = vec![FibPath { sw_if_index, weight: 7, nh, ..Default::default() }];
    client.call(&route).unwrap();
}

#[test]
fn a_fresh_daemon_takes_what_another_one_was_told() {
    let first = Daemon::start(&[crate::GENERATORS, TOLD].concat());
    tell_by_message(&first);
    let told = first.tell("show configuration");
    for line in [
        "ip table add 5 name blue",
        "create loopback interface instance 12",
        "set interface tag loop12 the twelfth",
        "ip route add 20.0.0.0/24 table 5 source API via 20.1.1.1 loop12 weight 7",
        "policer input index 0 pg0",
    ] {
        assert!(told.lines().any(|l| l == line), "{line} is not in\n{told}");
    }
    let file = first.folder().join("told");
    fs::write(&file, &told).unwrap();
    let second = Daemon::start(&[&format!("exec {}", file.display())]);
    assert_eq!(second.tell("show configuration"), told);
    assert_eq!(second.tell("show configuration fib"), first.tell("show configuration fib"));
    let rows = second.fvctl(&["--json", "show configuration fib"]).text;
    assert!(rows.contains(r#""feature": "fib""#) || rows.contains(r#""feature":"fib""#), "{rows}");
    let sent = [first, second].map(|daemon| {
        let before = sent(&daemon);
        daemon.tell(STREAM);
        daemon.generate();
        let all = || sent(&daemon).iter().sum::<u64>() >= before.iter().sum::<u64>() + 600;
        assert!(eventually(all), "{:?}", sent(&daemon));
        sent(&daemon)
    });
    // Beside the stream there are a few questions for neighbours.
    let is_alike = sent[0].iter().zip(sent[1]).all(|(a, b)| a.abs_diff(b) < 20);
    assert!(is_alike && sent[0][1] > 50, "{sent:?}");
}

#[test]
fn devices_of_the_host_are_made_again() {
    if !is_root() {
        return;
    }
    let host = tests::Host::alone();
    let create = format!("create tap id 3 host-ns {} host-if-name eth0 gso", host.namespace());
    let told = {
        let mut first = Daemon::start(&[&create, "set interface state tap3 up"]);
        let told = first.tell("show configuration");
        first.stop();
        told
    };
    assert!(told.starts_with("create tap id 3 "), "{told}");
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(Daemon::start(&lines).tell("show configuration"), told);
}

#[test]
fn killed_while_it_saves_a_daemon_comes_back_with_one_of_both_configurations() {
    let folder = std::env::temp_dir().join(unique());
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("configuration");
    let config = format!("unix {{ startup-config {} }}", file.display());
    let mut possible = BTreeSet::from([String::new()]);
    let kills = std::env::var("FERROVIA_KILLS").ok().and_then(|text| text.parse().ok());
    for round in 0..kills.unwrap_or(8_u64) {
        let saved = fs::read_to_string(&file).unwrap_or_default();
        assert!(possible.contains(&saved), "{saved}");
        let daemon = Daemon::start_with(&config, &[]);
        assert!(eventually(|| daemon.tell("show configuration") == saved), "{saved}");
        daemon.tell(&format!("ip route add count 500 16.{}.0.0/32 via drop", round % 256));
        possible = BTreeSet::from([saved]);
        for change in ["ip table add 9", "ip table del 9"] {
            daemon.tell(change);
            possible.insert(daemon.tell("show configuration"));
        }
        scope(|scope| {
            let saves = || {
                let lines = ["save", "ip table add 9", "save", "ip table del 9"];
                lines.iter().cycle().all(|line| daemon.ask(line).is_ok)
            };
            scope.spawn(saves);
            sleep(Duration::from_millis(100 + 37 * (round % 16)));
            let id = Pid::from_raw(daemon.id().cast_signed()).unwrap();
            kill_process(id, Signal::KILL).unwrap();
        });
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_commit_that_nobody_confirms_is_undone_on_time() {
    let daemon = Daemon::start(crate::GENERATORS);
    daemon.tell("commit two networks");
    let before = daemon.tell("show configuration");
    daemon.tell("commit confirm 60");
    daemon.tell("ip route add 99.0.0.0/8 via drop");
    tell_by_message(&daemon);
    let changed = daemon.tell("show configuration");
    let diff = daemon.tell("show configuration diff");
    assert!(diff.contains("+ ip route add 99.0.0.0/8 via drop\n"), "{diff}");
    daemon.tell("set clock adjust 3000");
    assert_eq!(daemon.tell("show configuration"), changed);
    daemon.tell("set clock adjust 700");
    assert!(eventually(|| daemon.tell("show configuration") == before), "it is undone");
    let history = || daemon.tell("show configuration history");
    let is_told = || history().contains("not confirmed") && history().contains("API client");
    assert!(eventually(is_told), "{}", history());
    // What undid it may still be writing.
    assert!(eventually(|| daemon.ask("commit confirm 1").is_ok));
    daemon.tell("ip table add 5");
    assert_eq!(daemon.tell("commit"), "confirmed\n");
    daemon.tell("set clock adjust 100");
    assert!(daemon.tell("show configuration").contains("ip table add 5\n"));
    daemon.tell("configure rollback 1");
    assert!(eventually(|| daemon.tell("show configuration") == before));
}

#[test]
fn a_configuration_is_checked_before_a_start() {
    let folder = std::env::temp_dir().join(unique());
    fs::create_dir_all(&folder).unwrap();
    let dir = folder.display();
    fs::write(folder.join("setup"), "create tap id 7\nset interface state tap7 up\n").unwrap();
    let words = format!("unix {{ nodaemon runtime-dir {dir} startup-config {dir}/setup }}");
    fs::write(folder.join("startup.conf"), words).unwrap();
    let check = || {
        let mut command = std::process::Command::new(program("ferrovia"));
        let output = command.args(["--check", "-c"]).arg(folder.join("startup.conf")).output();
        let output = output.unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(check(), (true, String::new()));
    fs::write(folder.join("setup"), "# a tap\nset interface state tap7 up\n").unwrap();
    let (is_right, said) = check();
    assert!(!is_right && said.contains("setup:2: ") && said.contains("tap7"), "{said}");

    // What looks or acts is passed over, files that others name are looked into, and nothing is
    // made or taken, be it a socket that a router has.
    let _punt = UnixDatagram::bind(folder.join("punt.sock")).unwrap();
    let inode = || fs::symlink_metadata(folder.join("punt.sock")).map(|about| about.ino()).ok();
    let before = inode();
    let words = format!(
        "unix {{ nodaemon runtime-dir {dir} startup-config {dir}/setup log {dir}/log }} \
         punt {{ socket {dir}/punt.sock }}"
    );
    fs::write(folder.join("startup.conf"), words).unwrap();
    let setup = format!("show vlib graphviz {dir}/graph\nwait 100\nexec {dir}/more\n");
    fs::write(folder.join("setup"), setup).unwrap();
    fs::write(folder.join("more"), "ip table add 7\npunt socket register udp 5000 socket /x\n")
        .unwrap();
    assert_eq!(check(), (true, String::new()));
    fs::write(folder.join("more"), "ip table add 7\nip tabel add 8\n").unwrap();
    let (is_right, said) = check();
    assert!(!is_right && said.contains("more:2: ") && said.contains("tabel"), "{said}");
    assert_eq!(inode(), before);
    assert!(!folder.join("graph").exists() && !folder.join("log").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn standard_input_is_checked_and_compared() {
    let daemon = Daemon::start(&[]);
    daemon.tell("ip table add 7");
    let give = |words: &[&str], text: &str| {
        let mut command = daemon.fvctl_command();
        let command = command.args(words).stdin(Stdio::piped());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("fvctl");
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let text = "# two { tables\n\nip table add 7\nip table add 8\n";
    let (said, wrong) = give(&["configure", "check", "-"], text);
    assert_eq!((&*said, &*wrong), ("2 commands: 0 to be removed, 1 to be added\n", ""));
    assert_eq!(give(&["show", "configuration", "diff", "-"], text).0, "+ ip table add 8\n");
    let (_, wrong) = give(&["configure", "check", "-"], "ip table add 7\nip tabel add 8\n");
    assert!(wrong.contains("standard input:2: "), "{wrong}");
    assert_eq!(give(&["configure", "replace", "-", "confirm", "5"], text).1, "");
    assert!(daemon.tell("show configuration").contains("ip table add 8\n"));
    let (_, wrong) = give(&["configure", "check", "-"], "comment {");
    assert!(wrong.contains("braces"), "{wrong}");
}
