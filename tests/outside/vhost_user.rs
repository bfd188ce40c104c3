//! A daemon that serves network devices of DPDK's testpmd, which is driver and front end in one.

use std::process::{Child, Command, Stdio};

use tests::{Daemon, eventually, skip};

const NAME: &str = "VirtualEthernet0/0/0";

/// DPDK's testpmd, which sends back what it receives.
struct Testpmd(Child);

impl Testpmd {
    fn start(vdev: &str, queues: u32) -> Self {
        let arguments = ["-l", "0,1", "--no-huge", "-m", "256", "--no-pci", "--file-prefix"];
        let count = [format!("--rxq={queues}"), format!("--txq={queues}")];
        let child = Command::new("dpdk-testpmd")
            .args(arguments)
            .args([&tests::unique(), "--vdev", vdev, "--"])
            .args(["--forward-mode=5tswap", "--total-num-mbufs=8192", "-a"])
            .args(["--tx-first", "--stats-period=3600"])
            .args(count)
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

/// A counter of `show interface`.
fn count(daemon: &Daemon, what: &str) -> u64 {
    let text = daemon.tell(&format!("show interface {NAME}"));
    let line = text.lines().find_map(|line| line.split_once(what));
    line.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or(0)
}

fn is_linked(daemon: &Daemon) -> bool {
    daemon.tell("show hardware-interfaces").contains("VirtualEthernet0/0/0")
        && daemon.tell("show vhost-user").contains("Virtqueue 1 (RX)")
}

#[test]
fn dpdk_is_a_driver_of_all_kinds() {
    if Command::new("dpdk-testpmd").arg("--version").output().is_err() {
        return skip("dpdk-testpmd is not installed");
    }
    for (ours, theirs, queues) in [
        ("server", "packed_vq=0", 1),
        ("server packed", "packed_vq=1", 1),
        ("", "server=1,packed_vq=0,mrg_rxbuf=0,in_order=0", 1),
        ("packed event-idx", "server=1,packed_vq=1,queues=2", 2),
    ] {
        let daemon = Daemon::start(&[]);
        let path = daemon.folder().join("v");
        let socket = path.display();
        daemon.tell(&format!("create vhost-user socket {socket} {ours}"));
        daemon.tell(&format!("set interface state {NAME} up"));
        daemon.tell(&format!("set interface promiscuous on {NAME}"));
        for _ in 0..2 {
            // It goes without a word, and comes again: a socket that it left keeps it from listening.
            if theirs.starts_with("server") {
                let _ = std::fs::remove_file(&path);
            }
            let vdev = format!("net_virtio_user0,path={socket},{theirs}");
            let testpmd = Testpmd::start(&vdev, queues);
            let is_up = eventually(|| is_linked(&daemon));
            assert!(is_up, "{ours}: {}", daemon.tell("show vhost-user"));
            // Its first packets come by themselves: what was there before it forwards is lost.
            let first = 32 * u64::from(queues);
            let begun = eventually(|| count(&daemon, "rx packets") == first);
            assert!(begun, "{ours}: {}", daemon.tell("show vhost-user"));
            let before = count(&daemon, "rx packets");
            daemon.tell(
                "packet-generator new { name x limit 200 node VirtualEthernet0/0/0-output size \
                 60-1400 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 UDP: 10.0.0.1 -> \
                 10.0.0.2 UDP: 1 -> 2 incrementing 10 } }",
            );
            daemon.generate();
            // No more than a ring holds: none is lost without a reader.
            let came_back = || count(&daemon, "rx packets") - before == 200;
            let why = || format!("{}{}", daemon.tell("show interface"), daemon.tell("show errors"));
            assert!(eventually(came_back), "{ours}: {}", why());
            daemon.tell("packet-generator delete x");
            drop(testpmd);
            assert!(eventually(|| !is_linked(&daemon)));
            daemon.tell("clear interfaces");
        }
        daemon.tell(&format!("delete vhost-user {NAME}"));
    }
}
