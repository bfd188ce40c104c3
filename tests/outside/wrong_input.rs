//! Wrong input to commands: a clear message, exit status 1, and nothing changed.

use std::fs;

use tests::Daemon;

use crate::GENERATORS;

/// All that commands can change, without what time changes.
fn state(daemon: &Daemon) -> Vec<String> {
    let mut lines = Vec::new();
    for command in [
        "show hardware-interfaces",
        "show interface address",
        "show ip fib",
        "show ip6 fib",
        "show ip table",
        "show adjacency",
        "show packet-generator",
    ] {
        lines.extend(daemon.tell(command).lines().map(str::to_owned));
    }
    // The router may speak of its own accord, so counters change.
    let interfaces = daemon.tell("show interface");
    let rows = interfaces.lines().filter(|line| !line.starts_with(' '));
    lines.extend(rows.map(|row| row.split_whitespace().take(4).collect::<Vec<_>>().join(" ")));
    // The first word is how long a neighbour has been known.
    let neighbors = daemon.tell("show ip neighbors");
    let rows = neighbors.lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
    lines.extend(rows.map(|row| row.join(" ")));
    lines
}

/// Each command and what its message must contain.
const WRONG: &[(&str, &str)] = &[
    ("bogus", "unknown input `bogus'"),
    ("show bogus", "show: unknown input `bogus'"),
    ("show interface nosuch", "nosuch"),
    ("set interface state nosuch up", "set interface state: unknown interface `nosuch up'"),
    ("set interface state pg0 sideways", "sideways"),
    ("set interface mac address pg0 02:00", "02:00"),
    ("set interface mtu packet nonsense pg0", "nonsense"),
    ("set interface ip address pg0 10.0.0.1/24", "conflicts with 10.0.0.1/24"),
    ("set interface ip address pg1 10.0.0.9/24", "10.0.0.9/24"),
    ("set interface ip address pg0 10.0.0.1/33", "33"),
    ("set interface ip address del pg0 10.9.9.9/24", "10.9.9.9/24"),
    ("set interface ip address nosuch 10.7.0.1/24", "nosuch"),
    ("ip route add 10.0.0.0/33 via 1.2.3.4", "Invalid prefix len: 33"),
    ("ip route add 10.0.0.0/8 via 1.2.3.4 nosuch", "parse error `via 1.2.3.4 nosuch'"),
    ("ip route add 10.0.0.0/8 table 77 via 1.2.3.4", "Nonexistent table id 77"),
    ("ip route add 2001:db8::/129 via 2001:db8::2", "129"),
    ("ip route add 16.0.0.0/8", "ip route"),
    ("ip route del 99.0.0.0/8", "99.0.0.0/8"),
    ("ip table add nonsense", "nonsense"),
    ("set ip neighbor pg1 10.0.1.2", "set ip neighbor"),
    ("set ip neighbor nosuch 10.0.1.2 02:00:00:00:00:bb", "nosuch"),
    ("set ip neighbor pg1 10.0.1.9 02:00:00:zz", "02:00:00:zz"),
    ("create packet-generator interface pg0", "pg0"),
    ("create packet-generator interface nosuch", "nosuch"),
    ("delete packet-generator interface pg7", "pg7"),
    ("create host-interface name nosuchif", "create host-interface: Invalid interface name"),
    ("delete host-interface name nosuchif", "delete host-interface: Invalid interface name"),
    ("create loopback interface mac nonsense", "nonsense"),
    ("delete loopback interface intfc loop9", "loop9"),
    ("exec /nonexistent", "exec: failed to open `/nonexistent': No such file or directory"),
    ("packet-generator new pcap /nonexistent source pg0 name x", "open `/nonexistent'"),
    ("packet-generator new { name y limit 1 interface nosuch data { hex 0x00 } }", "nosuch"),
    (
        "packet-generator new { name y limit 1 interface pg0 node nosuch data { hex 0x00 } }",
        "nosuch",
    ),
    ("packet-generator new { name y interface pg0 node ethernet-input data { IP9: x } }", "IP9"),
    ("packet-generator capture nosuch pcap /nonexistent/x.pcap", "nosuch"),
    ("packet-generator delete nosuch", "nosuch"),
    ("trace add nosuch-node 10", "expected NODE COUNT, got `nosuch-node 10'"),
    ("trace add pg-input many", "many"),
    ("show node nosuch", "nosuch"),
    ("set clock adjust nonsense", "nonsense"),
    ("ping nonsense", "nonsense"),
];

#[test]
fn wrong_input_changes_nothing() {
    let daemon = Daemon::start(GENERATORS);
    let not_a_capture = daemon.folder().join("text.pcap");
    fs::write(&not_a_capture, "this is no capture file, but long enough to be one").unwrap();
    let no_capture =
        format!("packet-generator new pcap {} source pg0 name z", not_a_capture.display());
    let before = state(&daemon);
    let mut complaints = Vec::new();
    let wrong = WRONG.iter().copied().chain([(no_capture.as_str(), "text.pcap")]);
    for (command, message) in wrong {
        let answer = daemon.ask(command);
        if answer.is_ok || !answer.error.contains(message) {
            complaints.push(format!("`{command}` should say `{message}`: {answer:?}"));
        }
        let after = state(&daemon);
        if after != before {
            let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
            complaints.push(format!("`{command}` changed something, new is {new:#?}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_file_stops_at_its_first_bad_line() {
    let daemon = Daemon::start(&[]);
    let path = daemon.folder().join("commands");
    let lines = "# two good lines\ncreate loopback interface\ncomment { nothing }\n\
        set interface state loop0 sideways\ncreate loopback interface\n";
    fs::write(&path, lines).unwrap();
    let answer = daemon.ask(&format!("exec {}", path.display()));
    assert!(!answer.is_ok);
    let place = format!("{}:4:", path.display());
    assert!(answer.error.contains(&place) && answer.error.contains("sideways"), "{answer:?}");
    let interfaces = daemon.tell("show interface");
    assert!(interfaces.contains("loop0") && !interfaces.contains("loop1"), "{interfaces}");
}
