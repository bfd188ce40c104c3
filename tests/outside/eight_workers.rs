//! Eight worker threads and eight queues, in a router within the test: the daemon gives each worker
//! a CPU of its own, of which there may be fewer here.

use std::time::{Duration, Instant};

use control::cli::Output;
use graph::{Plan, Settings};
use net::Assembly;

const WORKERS: usize = 8;
/// Packets of each worker's stream, and how many a second: what waits while threads change has room
/// in a ring, even where eight threads share two processors with other programs for seconds.
const COUNT: usize = 2000;
const RATE: usize = 500;
/// Longest wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// Generated packets go through shared memory, with as many queues as there are workers, and are
/// received by the same router.
struct Rig(Assembly);

impl Rig {
    fn new() -> Self {
        let settings = Settings { buffers: 65_536, most_workers: WORKERS, ..Settings::default() };
        let mut parts = crate::parts_with(settings);
        parts.router.engine.start().unwrap();
        let mut rig = Self(parts);
        rig.keep(WORKERS);
        let socket = format!("@{}", tests::unique());
        for line in [
            "create packet-generator interface pg0",
            "create packet-generator interface pg1",
            "set interface state pg0 up",
            "set interface state pg1 up",
            &format!("create memif socket id 1 filename {socket}"),
            &format!("create memif socket id 2 filename {socket}"),
            "create interface memif socket-id 1 master",
            "create interface memif socket-id 2 slave rx-queues 8 tx-queues 8 ring-size 16384",
            "set interface state memif1/0 up",
            "set interface state memif2/0 up",
            "set interface l2 xconnect pg0 memif2/0",
            "set interface l2 xconnect memif1/0 pg1",
        ] {
            rig.tell(line);
        }
        rig.until("it is connected", |rig| {
            rig.tell("show memif memif2/0").contains(" connected\n")
        });
        rig
    }
    /// Sets the number of workers.
    fn keep(&mut self, count: usize) {
        let plan = Plan { cpu: None, shares: true };
        self.0.router.set_threads(1, &vec![plan; count]).unwrap();
    }
    #[track_caller]
    fn tell(&mut self, line: &str) -> String {
        let reply = self.0.cli.run(&mut self.0.router, line);
        assert!(reply.result.is_ok(), "`{line}` failed: {}", reply.text());
        Output::to_text(&reply.output)
    }
    #[track_caller]
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        #[allow(clippy::disallowed_methods, reason = "threads take real time")]
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < PATIENCE, "{what}: {}", self.tell("show errors"));
            self.0.router.run_due();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    fn counted(&mut self, interface: &str, what: &str) -> u64 {
        let text = self.tell(&format!("show interface {interface}"));
        let line = text.lines().find_map(|line| line.split_once(what));
        line.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or(0)
    }
    /// Starts a stream on each worker there is, whose packets count in their destination.
    fn send(&mut self, workers: usize) {
        for n in 0..workers {
            let last = COUNT - 1;
            self.tell(&format!(
                "packet-generator new {{ name s{n} limit {COUNT} rate {RATE} size 64-64 \
                 interface pg0 worker {n} node ethernet-input data {{ IP4: 02:00:00:00:00:01 -> \
                 02:00:00:00:00:02 UDP: 10.0.0.{n} -> 16.{n}.0.0-16.{n}.{}.{} UDP: 1 -> 2 \
                 incrementing 8 }} }}",
                last >> 8,
                last & 255
            ));
        }
        self.tell("packet-generator enable");
    }
    /// Changes the number of workers, one after the other, while packets pass.
    fn change(&mut self, counts: &[usize]) {
        for count in counts {
            let before = self.counted("pg1", "tx packets");
            self.until("packets pass", |rig| rig.counted("pg1", "tx packets") > before);
            self.keep(*count);
        }
    }
    /// Waits until all packets are through, and looks at their numbers.
    fn expect(&mut self, workers: usize) {
        let total = (workers * COUNT) as u64;
        self.until("it is sent", |rig| !rig.tell("show packet-generator").contains("Yes"));
        self.until("it is received", |rig| rig.counted("pg1", "tx packets") >= total);
        let seen = [
            self.counted("pg0", "rx packets"),
            self.counted("memif2/0", "tx packets"),
            self.counted("memif1/0", "rx packets"),
            self.counted("pg1", "tx packets"),
        ];
        assert_eq!(seen, [total; 4], "{}", self.tell("show errors"));
        self.until("all buffers are back", |rig| {
            rig.tell("show buffers").trim_end().ends_with(" 0")
        });
        for n in 0..workers {
            self.tell(&format!("packet-generator delete s{n}"));
        }
        self.tell("clear interfaces");
    }
    /// Threads that serve the receive queues of an interface.
    fn serving(&mut self) -> Vec<usize> {
        let text = self.tell("show hardware-interfaces memif1/0");
        let rows = text.split("RX Queues:").nth(1).and_then(|t| t.split("TX Queues:").next());
        let of = |line: &str| line.split_once("vpp_wk_")?.1.split(' ').next()?.parse().ok();
        rows.unwrap_or_default().lines().filter_map(of).collect()
    }
}

#[test]
fn eight_workers_serve_a_queue_each_and_lose_nothing_when_some_go() {
    let mut rig = Rig::new();
    let mut served = rig.serving();
    served.sort_unstable();
    assert_eq!(served, (0..WORKERS).collect::<Vec<_>>());
    rig.send(WORKERS);
    rig.expect(WORKERS);
    // More of them under way.
    rig.keep(1);
    rig.send(1);
    rig.change(&[3, WORKERS]);
    rig.expect(1);
    assert_eq!(rig.serving().len(), WORKERS, "{}", rig.tell("show interface rx-placement"));
    // And fewer: each packet of each flow is there, once.
    let captured = std::env::temp_dir().join(tests::unique());
    rig.tell(&format!("packet-generator capture pg1 pcap {}", captured.display()));
    rig.send(WORKERS);
    rig.change(&[5, 3, 1]);
    rig.expect(WORKERS);
    rig.tell(&format!("packet-generator capture pg1 pcap {} disable", captured.display()));
    let frames = tests::capture::frames(&captured);
    std::fs::remove_file(&captured).unwrap();
    let mut numbers: Vec<_> = frames.iter().map(|f| (f[31], f[32], f[33])).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!((frames.len(), numbers.len()), (WORKERS * COUNT, WORKERS * COUNT));
}
