//! Two daemons that share memory, and DPDK's testpmd in place of one of them.

use std::process::{Child, Command, Stdio};

use tests::{Daemon, eventually, skip};

/// A daemon with one memif interface on this socket, with an address on it.
fn end(socket: &str, role: &str, address: &str) -> Daemon {
    Daemon::start(&[
        &format!("create memif socket id 1 filename {socket}"),
        &format!("create interface memif socket-id 1 {role} secret abc"),
        // First, so that it is announced when the link comes up.
        &format!("set interface ip address memif1/0 {address}/24"),
        "set interface state memif1/0 up",
    ])
}

fn is_linked(daemon: &Daemon) -> bool {
    daemon.tell("show memif memif1/0").contains(" connected\n")
}

/// Packets of all sizes find the way there and back.
fn ping(from: &Daemon, to: &str) {
    for size in [64, 1400, 8000] {
        let line = format!("ping {to} size {size} repeat 3 interval 0.1");
        let is_answered = || from.tell(&line).contains("3 sent, 3 received");
        assert!(eventually(is_answered), "{line}: {}", from.tell("show errors"));
    }
}

#[test]
fn two_daemons_share_memory_until_one_dies_and_after() {
    let name = format!("@{}", tests::unique());
    let master = end(&name, "master", "10.9.0.1");
    for role in ["slave", "slave rx-queues 2 tx-queues 2 buffer-size 512", "slave ring-size 16"] {
        let slave = end(&name, role, "10.9.0.2");
        let both = eventually(|| is_linked(&master) && is_linked(&slave));
        assert!(both, "{}", master.tell("show memif"));
        ping(&master, "10.9.0.2");
        ping(&slave, "10.9.0.1");
        // It goes without a word, with packets on their way.
        slave.tell("set interface rx-mode memif1/0 interrupt");
        ping(&master, "10.9.0.2");
        drop(slave);
        assert!(eventually(|| !is_linked(&master)));
    }
    let slave = end(&name, "slave", "10.9.0.2");
    assert!(eventually(|| is_linked(&slave)));
    drop(master);
    assert!(eventually(|| !is_linked(&slave)));
    let master = end(&name, "master", "10.9.0.1");
    assert!(eventually(|| is_linked(&master) && is_linked(&slave)));
    ping(&slave, "10.9.0.1");
    // Deleting it while packets pass.
    slave.tell("delete interface memif memif1/0");
    assert!(eventually(|| !is_linked(&master)));
}

/// DPDK's testpmd, which sends back what it receives.
struct Testpmd(Child);

impl Testpmd {
    fn start(vdev: &str) -> Self {
        let arguments = ["-l", "0,1", "--no-huge", "-m", "256", "--no-pci", "--file-prefix"];
        let child = Command::new("dpdk-testpmd")
            .args(arguments)
            .args([&tests::unique(), "--vdev", vdev, "--"])
            .args(["--forward-mode=5tswap", "--total-num-mbufs=8192", "-a"])
            .args(["--tx-first", "--stats-period=3600"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("it is installed"))
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn dpdk_is_a_peer_of_both_roles() {
    if Command::new("dpdk-testpmd").arg("--version").output().is_err() {
        return skip("dpdk-testpmd is not installed");
    }
    for (ours, theirs) in [("master", "slave"), ("slave", "master")] {
        let daemon =
            Daemon::start(&["create packet-generator interface pg0", "set interface state pg0 up"]);
        let socket = daemon.folder().join("m");
        let socket = socket.display();
        daemon.tell(&format!("create memif socket id 1 filename {socket}"));
        daemon.tell(&format!("create interface memif socket-id 1 {ours}"));
        daemon.tell("set interface state memif1/0 up");
        daemon.tell("set interface promiscuous on memif1/0");
        let vdev = format!("net_memif,role={theirs},socket={socket},socket-abstract=no,id=0");
        let testpmd = Testpmd::start(&vdev);
        let is_up = eventually(|| is_linked(&daemon));
        assert!(is_up, "{ours}: {}", daemon.tell("show memif"));
        let count = |what: &str| {
            let text = daemon.tell("show interface memif1/0");
            let line = text.lines().find_map(|line| line.split_once(what));
            line.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or(0)
        };
        // Its first packets come by themselves: what was there before it forwards it throws away.
        assert!(eventually(|| count("rx packets") >= 32), "{}", daemon.tell("show memif"));
        daemon.tell(
            "packet-generator new { name x limit 1000 node memif1/0-output size 60-1400 data { IP4: \
             02:00:00:00:00:01 -> 02:00:00:00:00:02 UDP: 10.0.0.1 -> 10.0.0.2 UDP: 1 -> 2 \
             incrementing 10 } }",
        );
        daemon.generate();
        let came_back = || count("tx packets") == 1000 && count("rx packets") == 1032;
        assert!(eventually(came_back), "{ours}: {}", daemon.tell("show interface memif1/0"));
        drop(testpmd);
        assert!(eventually(|| !is_linked(&daemon)));
    }
}
