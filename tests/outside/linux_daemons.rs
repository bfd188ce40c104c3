//! Daemons of Linux behind mirrors, for protocols that the router speaks itself.

use std::fs;

use tests::{eventually, has, is_root};

use crate::linux::Lab;

/// Waits for a packet of a protocol to a group on device e1, and writes a file then.
const LISTEN: &str = "\
import socket, struct, sys
protocol, group, done = int(sys.argv[1]), sys.argv[2], sys.argv[3]
one = socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol)
at = struct.pack('=4s4si', socket.inet_aton(group), bytes(4), socket.if_nametoindex('e1'))
one.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, at)
while one.recvfrom(100)[1][0] != '10.1.1.2': pass
open(done, 'w').close()
";
/// Sends such a packet.
const SEND: &str = "\
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_RAW, int(sys.argv[1]))
one.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
one.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton('10.1.1.2'))
one.sendto(bytes([33, 7, 100, 1]) + bytes(16), (sys.argv[2], 0))
";

#[test]
fn daemons_of_linux_get_what_the_router_has_a_use_for_itself() {
    if !is_root() || !has("python3") {
        return;
    }
    let lab = Lab::new();
    let file = |name: &str| lab.router.folder().join(name);
    let [listen, send] = [("listen.py", LISTEN), ("send.py", SEND)].map(|(name, text)| {
        fs::write(file(name), text).unwrap();
        file(name).display().to_string()
    });
    assert!(eventually(|| lab.linux.run("ip addr show e1").contains("10.1.1.1/24")));
    // VRRP and IGMP.
    for (protocol, group) in [(112, "224.0.0.18"), (2, "224.0.0.1")] {
        let done = file(&format!("heard-{protocol}"));
        let words = format!("python3 {listen} {protocol} {group} {}", done.display());
        let _listener = lab.linux.start(&words);
        let is_heard = || {
            lab.left.run(&format!("python3 {send} {protocol} {group}"));
            done.exists()
        };
        assert!(eventually(is_heard), "protocol {protocol}: {}", lab.router.tell("show errors"));
    }
}
