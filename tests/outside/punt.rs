//! Packets to programs and back, through the daemon's punt socket.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tests::capture::frames;
use tests::{Daemon, eventually, unique};

use crate::GENERATORS;
use crate::workers::two_workers;

/// A folder for sockets, gone with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(unique());
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sends packets of pg0 to a UDP port of the router.
fn generate(daemon: &Daemon, count: usize) {
    daemon.tell(&format!(
        "packet-generator new {{ name s limit {count} size 64-64 interface pg0 node ethernet-input \
         data {{ IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 10.0.0.1 \
         UDP: 1234 -> 7654 incrementing 22 }} }}",
    ));
    daemon.generate();
}

/// A datagram from a program: number of the interface, action, bytes.
fn datagram(interface: u32, action: u32, bytes: &[u8]) -> Vec<u8> {
    [&interface.to_ne_bytes()[..], &action.to_ne_bytes(), bytes].concat()
}

/// The frames that came out of pg1 once there are `count` of them.
fn caught(path: &Path, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    eventually(|| {
        all = if path.exists() { frames(path) } else { Vec::new() };
        all.len() >= count
    });
    all
}

#[test]
fn a_program_gets_packets_and_sends_some() {
    let folder = Folder::new();
    let (router, program) = (folder.path("router"), folder.path("program"));
    let config = format!("punt {{ socket {} }}", router.display());
    let daemon = Daemon::start_with(&config, GENERATORS);
    let socket = UnixDatagram::bind(&program).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let path = program.display();
    daemon.tell(&format!("punt socket register ipv4 udp 7654 socket {path}"));
    let shown = daemon.tell("show punt socket registrations");
    assert!(shown.contains(&format!("ip4 UDP port:7654 path:{path}")), "{shown}");
    generate(&daemon, 3);
    let mut room = [0; 2048];
    let mut pg0 = 0;
    for _ in 0..3 {
        let (len, sender) = socket.recv_from(&mut room).unwrap();
        assert_eq!(sender.as_pathname(), Some(router.as_path()), "answers go where it came from");
        pg0 = u32::from_ne_bytes(room[..4].try_into().unwrap());
        assert_eq!(room[4..8], [0; 4]);
        // Ethernet, IPv4 and UDP, all as they came.
        assert_eq!((len, &room[8..14]), (8 + 64, &[2, 0, 0, 0, 0, 0xaa][..]));
        assert_eq!(room[8 + 36..8 + 38], 7654_u16.to_be_bytes());
    }
    let ip = room[8 + 14..8 + 64].to_vec();

    let out = daemon.folder().join("out.pcap");
    daemon.tell(&format!("packet-generator capture pg1 pcap {}", out.display()));
    let frame = [&[2, 0, 0, 0, 0, 0xbb, 2, 0, 0, 0, 0, 0xcc, 0x12, 0x34][..], &[7; 46]].concat();
    socket.send_to(&datagram(pg0 + 1, 0, &frame), &router).unwrap();
    assert_eq!(caught(&out, 1), [frame]);
    let mut routed = ip;
    routed[16..20].copy_from_slice(&[10, 0, 1, 2]);
    routed[10..12].fill(0);
    let sum: u32 = routed[..20].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    routed[10..12].copy_from_slice(&sum.to_be_bytes());
    socket.send_to(&datagram(pg0, 1, &routed), &router).unwrap();
    let sent = caught(&out, 2);
    assert_eq!(sent.len(), 2, "{}", daemon.tell("show errors"));
    assert_eq!((&sent[1][..6], sent[1][22]), (&[2, 0, 0, 0, 0, 0xbb][..], routed[8] - 1));
    assert_eq!(sent[1][26..], routed[12..]);

    daemon.tell("punt socket deregister ipv4 udp 7654");
    daemon.tell("packet-generator delete s");
    generate(&daemon, 1);
    let errors = daemon.tell("show errors");
    assert!(errors.contains("no_listener") || errors.contains("no listener"), "{errors}");
}

#[test]
fn a_policer_of_a_worker_that_ends_goes_on_elsewhere() {
    if two_workers().is_none() {
        return;
    }
    let setup = [
        GENERATORS,
        &[
            "policer add name slow cir 1 cb 300 violate-action transmit",
            "policer input name slow pg0",
            "policer bind name slow 0",
        ],
    ]
    .concat();
    let daemon = Daemon::start_with("cpu { workers 1 }", &setup);
    daemon.tell("set punt udp 7654");
    generate(&daemon, 50);
    let shown = daemon.tell("show policer name slow");
    assert!(shown.contains("thread 1\n"), "{shown}");
    let counted = || {
        let shown = daemon.tell("show policer");
        let of = |what: &str| {
            let line =
                shown.lines().find(|line| line.starts_with(what) && line.contains("packets"));
            let number = line.and_then(|line| line.split(' ').nth(1));
            number.and_then(|n| n.parse::<u64>().ok()).unwrap_or_default()
        };
        of("conform") + of("violate")
    };
    assert!(eventually(|| counted() == 50), "{}", counted());
    assert!(!daemon.ask("policer bind name slow 1").is_ok, "there is one worker");
    // The worker that has it ends: packets go on.
    daemon.tell("set workers 0");
    daemon.tell("packet-generator delete s");
    generate(&daemon, 50);
    assert!(eventually(|| counted() == 100), "{}", counted());
}
