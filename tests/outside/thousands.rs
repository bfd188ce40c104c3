//! Interfaces by the thousand: what each costs in time and memory, what other clients feel
//! meanwhile, and what is left of them.
//!
//! With `FERROVIA_TIMING=1` there are 20,000, and the bounds are those that are promised. Waits of
//! control, the data plane and the other client for a processor, while other work of the machine has
//! it, are not in the times of answers. However busy the machine, control never works for long before
//! an answer.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ferrovia_client::messages::{
    CreateLoopback, CreateVlanSubif, DeleteLoopback, DeleteSubif, ShowVersion, TapCreateV3,
    TapDeleteV2,
};
use ferrovia_client::{Call, Client, Error, stats};
use tests::{Daemon, Host, is_root, is_timing_wanted, skip};

/// Number of each kind that are made and deleted at a time.
const BATCH: usize = 200;
/// Sub-interfaces of a loopback.
const SUBS: usize = 4;

/// Answers after this are late.
const LATE: Duration = Duration::from_millis(20);

/// Usage of a process: bytes in memory and seconds.
struct Taken {
    bytes: i64,
    /// Of these, those of the statistics segment.
    shared: i64,
    /// Outside the kernel, in ticks of 10 ms.
    seconds: f64,
}

impl Taken {
    fn by(process: u32) -> Self {
        let read = |file| std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
        let status = read("status");
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse::<i64>().unwrap() * 1024
        };
        // The names of threads may have blanks, but what is counted follows the last bracket.
        let stat = read("stat");
        let ticks: f64 =
            stat.rsplit_once(')').unwrap().1.split_whitespace().nth(11).unwrap().parse().unwrap();
        let shared = of("RssShmem:");
        Self { bytes: of("RssAnon:") + shared, shared, seconds: ticks / 100.0 }
    }

    /// Seconds of the threads of a process on a processor, to the nanosecond.
    fn run(process: u32) -> f64 {
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
        // A thread may end meanwhile.
        let stats =
            threads.filter_map(|t| std::fs::read_to_string(t.path().join("schedstat")).ok());
        let ns = stats.filter_map(|stat| stat.split_whitespace().next()?.parse::<f64>().ok());
        ns.sum::<f64>() / 1e9
    }
}

/// Time of a thread, by its folder in /proc, on a processor, and ready to run without one.
fn times(folder: &str) -> [Duration; 2] {
    let stat = std::fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
    let mut words = stat.split_whitespace();
    let mut next = || words.next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
    [0; 2].map(|_| Duration::from_nanos(next()))
}

/// The folder in /proc of the router's data-plane thread.
fn data_plane(router: u32) -> String {
    let threads = std::fs::read_dir(format!("/proc/{router}/task")).unwrap().flatten();
    let mut folders = threads.map(|thread| thread.path().display().to_string());
    let name = |folder: &str| std::fs::read_to_string(format!("{folder}/comm"));
    folders.find(|folder| name(folder).is_ok_and(|name| name == "vpp_main\n")).unwrap()
}

/// Answers to a client that asks all the while.
#[derive(Debug, Default)]
struct Answers {
    count: usize,
    /// Of these, those after more than [`LATE`].
    late: usize,
    longest: Duration,
    /// Longest time that control was busy before an answer: on a processor, whatever else the
    /// machine had to do.
    busiest: Duration,
}

/// Asks until the end. Answers that took much longer are printed when they come, between what the
/// other thread prints.
fn ask_meanwhile(socket: &Path, router: u32, is_done: &AtomicBool) -> Answers {
    let control = format!("/proc/{router}/task/{router}");
    let threads = [control, data_plane(router), "/proc/thread-self".to_owned()];
    let mut client = Client::connect(socket, "other").unwrap();
    let mut answers = Answers::default();
    while !is_done.load(Relaxed) {
        let before = threads.each_ref().map(|thread| times(thread));
        #[allow(clippy::disallowed_methods, reason = "how long it takes is real time")]
        let start = Instant::now();
        client.call(&ShowVersion::default()).unwrap();
        let took = start.elapsed();
        let mut taken = threads.each_ref().map(|thread| times(thread));
        for (now, before) in taken.iter_mut().flatten().zip(before.iter().flatten()) {
            *now = now.saturating_sub(*before);
        }
        let [[busy, waited], [_, forwarding], [_, own]] = taken;
        let took = took.saturating_sub(waited + forwarding + own);
        answers.longest = answers.longest.max(took);
        answers.busiest = answers.busiest.max(busy.saturating_sub(own));
        answers.late += usize::from(took > LATE);
        answers.count += 1;
        if took > LATE {
            println!("another client waited {took:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
    answers
}

/// Makes or deletes interfaces by the batch; microseconds of each batch that the router took for
/// each interface, and the answers. Other work of the machine is not in them.
fn in_batches<M: Call, R>(
    client: &mut Client,
    process: u32,
    requests: Vec<M>,
    of: impl Fn(Result<M::Reply, Error>) -> R,
) -> (Vec<f64>, Vec<R>) {
    let (mut times, mut replies) = (Vec::new(), Vec::new());
    let mut requests = requests.into_iter().peekable();
    while requests.peek().is_some() {
        let batch: Vec<_> = requests.by_ref().take(BATCH).collect();
        let count = batch.len();
        let start = Taken::run(process);
        let refused = client.calls(batch, |_, reply| replies.push(of(reply))).unwrap();
        assert_eq!(refused, 0);
        times.push((Taken::run(process) - start) * 1e6 / count as f64);
    }
    (times, replies)
}

/// Ends the other client when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Factor by which the last quarter took longer than the first. The last batch is not a whole one.
fn growth(times: &[f64]) -> f64 {
    let whole = &times[..(times.len() - 1).max(1)];
    let quarter = (whole.len() / 4).max(1);
    let sum = |times: &[f64]| times.iter().sum::<f64>();
    sum(&whole[whole.len() - quarter..]) / sum(&whole[..quarter])
}

fn shown(what: &str, times: &[f64]) {
    let [first, last] = [times.first(), times.last()].map(|t| t.copied().unwrap_or(0.0));
    println!("{what}: {first:.0} us each at first, {last:.0} us at last, x {:.2}", growth(times));
}

#[test]
fn each_of_thousands_costs_as_much_as_the_first_and_little_and_others_are_answered() {
    if !is_root() {
        return skip("taps need root");
    }
    let is_full = is_timing_wanted();
    let (taps, rest) = if is_full { (500, 19_500) } else { (20, 2_000) };
    let (loopbacks, subs) = (rest / (SUBS + 1), rest - rest / (SUBS + 1));
    let host = Host::alone();
    let daemon = Daemon::start_in(host.namespace(), "", &[]);
    let socket = daemon.folder().join("api.sock");
    let mut client = Client::connect(&socket, "thousands").unwrap();
    let segment = stats::fetch(&daemon.folder().join("stats.sock")).unwrap();
    let reader = stats::Reader::new(segment).unwrap();
    let (taken, is_done) = (|| Taken::by(daemon.id()), AtomicBool::new(false));
    let is_far = |growth: f64| is_full && growth > 1.5;

    thread::scope(|scope| {
        let other = scope.spawn(|| ask_meanwhile(&socket, daemon.id(), &is_done));
        let _ends = Ends(&is_done);
        let mut after = Vec::new();
        for round in 0..3 {
            let start = taken();
            let new = |id| TapCreateV3 { id, ..TapCreateV3::default() };
            let made = |reply: Result<ferrovia_client::messages::TapCreateV3Reply, Error>| {
                reply.unwrap().sw_if_index
            };
            let (times, tapped) =
                in_batches(&mut client, daemon.id(), (0..taps).map(new).collect(), made);
            shown("taps", &times);
            let with_taps = taken();
            println!(
                "taps: {:.0} us each outside the kernel",
                (with_taps.seconds - start.seconds) * 1e6 / f64::from(taps)
            );
            let requests = vec![CreateLoopback::default(); loopbacks];
            let (times, looped) =
                in_batches(&mut client, daemon.id(), requests, |r| r.unwrap().sw_if_index);
            shown("loopbacks", &times);
            assert!(!is_far(growth(&times)), "{times:?}");
            let of = |n: usize| CreateVlanSubif {
                sw_if_index: looped[n / SUBS],
                vlan_id: 10 + (n % SUBS) as u32,
            };
            let requests = (0..subs).map(of).collect();
            let (times, subbed) =
                in_batches(&mut client, daemon.id(), requests, |r| r.unwrap().sw_if_index);
            shown("sub-interfaces", &times);
            assert!(!is_far(growth(&times)), "{times:?}");
            let all = taken();
            let each = (all.bytes - with_taps.bytes) / rest as i64;
            println!(
                "{each} bytes each, with taps {}",
                (all.bytes - start.bytes) / (rest as i64 + i64::from(taps))
            );
            assert!(each < 10 << 10, "round {round}: {each} bytes each");

            let requests = subbed.into_iter().map(|sw_if_index| DeleteSubif { sw_if_index });
            let (times, _) =
                in_batches(&mut client, daemon.id(), requests.collect(), |r| r.unwrap());
            shown("sub-interfaces deleted", &times);
            assert!(!is_far(growth(&times)), "{times:?}");
            let requests = looped.into_iter().map(|sw_if_index| DeleteLoopback { sw_if_index });
            let (times, _) =
                in_batches(&mut client, daemon.id(), requests.collect(), |r| r.unwrap());
            shown("loopbacks deleted", &times);
            assert!(!is_far(growth(&times)), "{times:?}");
            let requests = tapped.into_iter().map(|sw_if_index| TapDeleteV2 { sw_if_index });
            let (times, _) =
                in_batches(&mut client, daemon.id(), requests.collect(), |r| r.unwrap());
            shown("taps deleted", &times);
            thread::sleep(Duration::from_secs(3));
            let end = taken();
            let used = reader.read("/mem/stat segment").unwrap().unwrap().sum(1);
            println!(
                "from {} to {} to {} kB; of it statistics {}, {}, {} kB, by their own count {} kB",
                start.bytes >> 10,
                all.bytes >> 10,
                end.bytes >> 10,
                start.shared >> 10,
                all.shared >> 10,
                end.shared >> 10,
                used >> 10
            );
            after.push((start.bytes, all.bytes, end.bytes));
        }
        is_done.store(true, Relaxed);
        let answers = other.join().unwrap();
        println!("to another client: {answers:?}");
        let (start, most, _) = after[0];
        let (_, _, end) = after[2];
        // Allocations made once and kept happened in the first round.
        let kept = if is_full { start } else { after[0].2 };
        assert!(end - kept < (most - kept) / 4, "{after:?}");
        assert!(answers.busiest < LATE, "{answers:?}");
        assert!(!is_full || answers.late == 0, "{answers:?}");
    });
}
