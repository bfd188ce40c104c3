//! A daemon that is killed comes back as it was.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::{Daemon, TwoHosts, eventually, has, is_root, unique};

/// Echoes a second.
const RATE: u32 = 100;

/// Longest outage that the test allows, in seconds, on a machine that has other things to do.
const GENEROUS: f64 = 15.0;

#[test]
fn killed_under_traffic_it_forwards_again_with_the_same_configuration() {
    if !is_root() || !has("ping") {
        return;
    }
    let mut hosts = TwoHosts::new();
    for line in [
        "ip route add count 1000 16.0.0.0/32 via 10.1.2.2 host-right",
        "ip table add 7",
        "set interface mtu packet 1400 host-right",
        "policer add name gold cir 1000000 cb 10000000",
        "policer input name gold host-left",
        "save",
    ] {
        hosts.router.tell(line);
    }
    let before = hosts.router.tell("show configuration");
    let seconds = 20;
    let (count, pause) = (RATE * seconds, 1.0 / f64::from(RATE));
    let left = &hosts.left;
    let said = std::thread::scope(|scope| {
        let ping = || left.attempt(&format!("ping -n -q -c {count} -i {pause} -W 1 10.1.2.2")).1;
        let said = scope.spawn(ping);
        sleep(Duration::from_secs(1));
        hosts.router.kill_and_start();
        said.join().unwrap()
    });
    let received = said.split(" received").next().and_then(|text| text.rsplit(' ').next());
    let received: u32 = received.and_then(|n| n.parse().ok()).unwrap_or_default();
    let outage = f64::from(count - received) * pause;
    println!("no echo for {outage:.2} s");
    assert!(outage > 0.0 && outage < GENEROUS, "{outage} s: {said}");
    assert_eq!(hosts.router.tell("show configuration"), before);
    assert_eq!(hosts.router.tell("show configuration diff"), "");
}

#[test]
fn what_was_committed_is_there_after_a_kill() {
    let mut daemon = Daemon::start(crate::GENERATORS);
    daemon.tell("commit two networks");
    daemon.tell("save");
    let networks = daemon.tell("show configuration");
    daemon.tell("ip route add 99.0.0.0/8 via drop");
    daemon.tell("commit a route\" that ends");
    let folder = daemon.folder().join("configuration.history");
    let history = || daemon.tell("show configuration history");
    let committed = history();
    // Files of others, and a revision that is cut, are left alone.
    fs::write(folder.join("notes"), "mine").unwrap();
    fs::write(folder.join("00000000"), "# {\"time\":").unwrap();
    let since = daemon.tell("show configuration diff 1");
    assert_eq!(since, "+ ip route add 99.0.0.0/8 via drop\n");

    daemon.kill_and_start();
    assert_eq!(daemon.tell("show configuration"), networks);
    let now = daemon.tell("show configuration history");
    let (first, rest) = now.split_once('\n').unwrap();
    assert!(first.contains("the start"), "{now}");
    // All is one place further back.
    let bare = |text: &str| text.lines().map(|l| l[4..].to_owned()).collect::<Vec<_>>();
    assert_eq!(bare(rest), bare(&committed));
    assert_eq!(daemon.tell("show configuration diff 1"), "- ip route add 99.0.0.0/8 via drop\n");
    assert_eq!(daemon.tell("show configuration diff 2"), "");
    daemon.tell("configure rollback 1");
    assert!(daemon.tell("show configuration").contains("ip route add 99.0.0.0/8 via drop\n"));
    daemon.tell("save");
    daemon.kill_and_start();
    // Nothing has changed by the start: it is no revision.
    let last = daemon.tell("show configuration history");
    assert!(last.lines().next().unwrap().contains("rolled back to revision 1"), "{last}");
    assert!(folder.join("notes").exists());

    for n in 0..60 {
        daemon.tell(&format!("ip table add {}", n + 1));
        daemon.tell("commit");
    }
    let shown = daemon.tell("show configuration history");
    assert_eq!(shown.lines().count(), 50, "{shown}");
    let numbered = |entry: fs::DirEntry| entry.file_name().to_str().unwrap().parse::<u64>().is_ok();
    let files = fs::read_dir(&folder).unwrap().flatten();
    // 50, and the one that is cut.
    assert_eq!(files.map(numbered).filter(|is| *is).count(), 51);
}

#[test]
fn a_commit_that_nobody_confirms_is_undone_on_time_over_a_restart() {
    let folder = std::env::temp_dir().join(unique());
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("setup");
    let config = format!("unix {{ startup-config {} }}", file.display());
    let mut daemon = Daemon::start_with(&config, crate::GENERATORS);
    daemon.tell("save");
    daemon.tell("commit two networks");
    let before = daemon.tell("show configuration");
    // Saved too early: it is loaded at the next start, and undone there as well.
    daemon.tell("ip route add 99.0.0.0/8 via drop");
    daemon.tell("save");
    let began = Instant::now();
    daemon.tell("commit confirm 0.1");
    daemon.kill_and_start();
    let changed = daemon.tell("show configuration");
    let is_early = began.elapsed() < Duration::from_secs(5);
    assert!(!is_early || changed.contains("99.0.0.0/8"), "{changed}");
    let history = daemon.tell("show configuration history");
    assert!(!is_early || history.starts_with("undone in "), "{history}");
    assert!(eventually(|| daemon.tell("show configuration") == before), "it is undone");
    assert!(began.elapsed() >= Duration::from_secs(6), "{:?}", began.elapsed());
    assert!(eventually(|| fs::read_to_string(&file).unwrap() == before), "in the file as well");
    let unconfirmed = folder.join("setup.history/unconfirmed");
    assert!(eventually(|| !unconfirmed.exists()), "and nothing waits any more");
    daemon.kill_and_start();
    assert_eq!(daemon.tell("show configuration"), before);
    assert!(!daemon.tell("show configuration history").contains("undone in"));

    // The time may be over when it starts.
    daemon.tell("ip route add 99.0.0.0/8 via drop");
    daemon.tell("save");
    daemon.tell("commit confirm 0.001");
    daemon.kill_and_start();
    assert!(eventually(|| daemon.tell("show configuration") == before), "it is undone");

    // Confirmed is confirmed.
    daemon.tell("ip route add 98.0.0.0/8 via drop");
    // What undid the one before may be at work for a moment.
    assert!(eventually(|| daemon.ask("commit confirm 0.05").is_ok));
    assert!(eventually(|| daemon.ask("save").is_ok));
    daemon.kill_and_start();
    let after = daemon.tell("show configuration");
    if daemon.ask("commit").text == "confirmed\n" {
        sleep(Duration::from_secs(4));
        assert_eq!(daemon.tell("show configuration"), after);
    }
    fs::remove_dir_all(folder).unwrap();
}
