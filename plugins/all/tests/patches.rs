//! Patches of the configuration: all of the lines or none, at a cost that is theirs.
#![forbid(unsafe_code)]

use std::fmt::Write;
use std::time::{Duration, Instant};

use control::cli::{Output, Run, Step};
use control::configuration::Hash;
use net::Feature;
use net::testing::Rig;

fn rig() -> Rig {
    let features: Vec<Feature> = plugins::features().copied().collect();
    Rig::new(&features)
}

/// The answer to a patch, without the end of the line.
fn patch(rig: &mut Rig, lines: &str, more: &str) -> String {
    rig.run(&format!("configure patch {{ {lines}\n}} {more}")).trim_end().to_owned()
}

fn configuration(rig: &mut Rig) -> String {
    rig.run("show configuration")
}

/// The hash that the router prints, which has to be that of the lines that it prints.
fn hash(rig: &mut Rig) -> String {
    let hash = Hash::of(configuration(rig).lines()).to_string();
    let shown = rig.run("show configuration hash");
    assert_eq!(shown.trim_end(), hash);
    hash
}

/// A patch that is refused with these words, and changes nothing.
#[track_caller]
fn refused(rig: &mut Rig, lines: &str, why: &str) {
    let before = rig.run("show configuration secrets");
    let said = patch(rig, lines, "");
    assert!(said.contains(why), "`{said}' for\n{lines}");
    assert_eq!(rig.run("show configuration secrets"), before, "{lines}");
}

const AROUND: &str = "create loopback interface instance 1
create loopback interface instance 2
ip table add 7
set interface state loop1 up
set interface ip address loop1 10.1.0.1/24
ip route add 20.0.0.0/8 via 10.1.0.2 loop1
ip route add 21.0.0.0/8 table 7 via drop
";

fn around() -> Rig {
    let mut rig = rig();
    rig.attempt(AROUND).unwrap();
    rig
}

#[test]
fn lines_go_and_come_together() {
    let mut rig = around();
    let said = patch(
        &mut rig,
        "+ ip route add 30.0.0.0/8 via drop\n- ip route add 20.0.0.0/8 via 10.1.0.2 loop1",
        "",
    );
    assert!(said.starts_with("1 removed, 1 added"), "{said}");
    let now = configuration(&mut rig);
    assert!(now.contains("ip route add 30.0.0.0/8 via drop"), "{now}");
    assert!(!now.contains("20.0.0.0/8"), "{now}");
    // Interfaces, their settings and routes over them in one.
    let lines = "+ create loopback interface instance 9
+ set interface state loop9 up
+ set interface ip address loop9 10.9.0.1/24
+ ip route add 40.0.0.0/8 via 10.9.0.2 loop9";
    let said = patch(&mut rig, lines, "");
    assert!(said.starts_with("0 removed, 4 added, hash "), "{said}");
    let hash = hash(&mut rig);
    assert!(said.ends_with(&hash), "{said}");
    let back = lines.replace("+ ", "- ");
    let said = patch(&mut rig, &back, &format!("if {hash}"));
    assert!(said.starts_with("4 removed, 0 added"), "{said}");
    assert_eq!(configuration(&mut rig), now);
    // A setting in place of another.
    patch(&mut rig, "+ set interface mtu packet 1400 loop1", "");
    let is = |rig: &mut Rig, mtu: &str| configuration(rig).contains(mtu);
    if is(&mut rig, "set interface mtu packet 1400 loop1") {
        let lines = "- set interface mtu packet 1400 loop1\n+ set interface mtu packet 1300 loop1";
        patch(&mut rig, lines, "");
        assert!(is(&mut rig, "set interface mtu packet 1300 loop1"));
    }
}

#[test]
fn a_wrong_line_is_named_and_nothing_is_done() {
    let mut rig = around();
    let add = "+ ip route add 30.0.0.0/8 via drop\n";
    for (line, why) in [
        (
            "ip route add 31.0.0.0/8 via drop",
            "standard input:2: a line must begin with `+ ' or `- '",
        ),
        (
            "+ ip route add 20.0.0.0/8 via 10.1.0.2 loop1",
            ":2: is part of the configuration already",
        ),
        ("- ip route add 20.0.0.0/8 via drop", ":2: is not in the configuration"),
        ("- ip route add 99.0.0.0/8 via drop", ":2: is not in the configuration"),
        ("+ ip route add 31.0.0.0/8 via 10.1.0.2 loop7", ":2: "),
        ("+ ip route add 31.0.0.0/8 table 99 via drop", ":2: Nonexistent table id 99"),
        ("+ ip route add 31.0.0.0/8", ":2: missing path"),
        ("+ ip route add count 5 31.0.0.0/8 via drop", ":2: a line of a configuration adds one"),
        ("+ ip route del 20.0.0.0/8", ":2: a line of a configuration adds one route"),
        ("+ ip route add 30.0.0.0/8 via drop", ":2: repeats the command of line 1"),
        ("+ set interface state loop7 up", ":2: "),
        ("+ show version", ":2: `show version' is not a configuration command"),
        ("+ exec /etc/passwd", ":2: `exec' is not a configuration command"),
        ("+ nonsense", ":2: unknown input"),
        ("+ create loopback interface", ":2: is written differently in the configuration"),
        ("- create loopback interface instance 1", "would also be removed"),
        ("- set interface state loop1 up\n+ set interface state loop1 down", ":3: "),
    ] {
        refused(&mut rig, &format!("{add}{line}"), why);
    }
    refused(&mut rig, "+ ip route add 20.0.0.0/8 via 10.1.0.3 loop1", ":1: ");
    let said = patch(&mut rig, add, "if 12");
    assert!(said.contains("64 hexadecimal digits"), "{said}");
}

#[test]
fn a_route_in_other_words_is_refused_with_its_line() {
    let mut rig = around();
    // Recursive: the router adds the table of the next hop.
    refused(&mut rig, "+ ip route add 31.0.0.0/8 via 10.1.0.9", ":1: ");
    refused(&mut rig, "+ ip route 31.0.0.0/8 via drop", ":1: ");
    refused(&mut rig, "+ ip route add 31.1.2.3/8 via drop", ":1: ");
}

#[test]
fn a_patch_for_another_configuration_does_nothing() {
    let mut rig = around();
    let then = hash(&mut rig);
    let said = patch(&mut rig, "+ ip route add 30.0.0.0/8 via drop", &format!("if {then}"));
    let now = hash(&mut rig);
    assert_eq!(said, format!("0 removed, 1 added, hash {now}"));
    let before = configuration(&mut rig);
    for lines in ["+ ip route add 31.0.0.0/8 via drop", "+ ip table add 8"] {
        let said = patch(&mut rig, lines, &format!("if {then}"));
        assert!(said.contains("the configuration has changed since"), "{said}");
        assert_eq!(configuration(&mut rig), before);
    }
    // An operator's command between two patches is seen.
    rig.set("ip table add 8");
    let said = patch(&mut rig, "+ ip route add 31.0.0.0/8 via drop", &format!("if {now}"));
    assert!(said.contains("the configuration has changed since"), "{said}");
    // Hashes follow many patches without a look at the whole.
    let mut known = hash(&mut rig);
    for n in 0..50 {
        let lines = format!("+ ip route add 50.0.{n}.0/24 via drop");
        let said = patch(&mut rig, &lines, &format!("if {known}"));
        known = said.rsplit(' ').next().unwrap().to_owned();
    }
    assert_eq!(known, hash(&mut rig));
}

#[test]
fn secrets_are_named_as_they_are_shown() {
    let mut rig = rig();
    let key = "bfd key set conf-key-id 1 type keyed-sha1 secret";
    let before = hash(&mut rig);
    patch(&mut rig, &format!("+ {key} c0ffee"), "");
    let shown = configuration(&mut rig);
    assert_eq!(shown, format!("{key} <hidden>\n"));
    hash(&mut rig);
    refused(&mut rig, "+ bfd key set conf-key-id 2 type keyed-sha1 secret <hidden>", ":1: ");
    let said = patch(&mut rig, &format!("+ {key} decade"), "");
    assert!(!said.contains("c0ffee") && said.contains("would also be removed"), "{said}");
    let said = patch(&mut rig, &format!("- {key} <hidden>"), "");
    assert!(said.starts_with("1 removed"), "{said}");
    assert_eq!(hash(&mut rig), before);
}

#[test]
fn an_unconfirmed_patch_is_undone() {
    let mut rig = around();
    let before = configuration(&mut rig);
    let said = patch(&mut rig, "+ ip route add 30.0.0.0/8 via drop", "confirm 0.001");
    assert!(said.contains("rollback in 0.001 minutes unless confirmed"), "{said}");
    assert!(configuration(&mut rig).contains("30.0.0.0/8"));
    let start = Instant::now();
    while configuration(&mut rig) != before {
        assert!(start.elapsed() < Duration::from_secs(60));
        rig.control(|router| router.run_due());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_change_that_waits_is_undone_with_those_that_follow() {
    for (more, said) in [("confirm 60", "rollback in 0"), ("", "1 added"), ("whole", "unconfirmed")]
    {
        let mut rig = around();
        rig.attempt("commit").unwrap();
        let before = configuration(&mut rig);
        rig.attempt("ip route add 31.0.0.0/8 via drop").unwrap();
        rig.attempt("commit confirm 0.05").unwrap();
        let new = "ip route add 30.0.0.0/8 via drop";
        let answer = match more {
            "whole" => {
                let all = configuration(&mut rig) + new;
                rig.run(&format!("configure replace {{ {all}\n}}"))
            }
            more => patch(&mut rig, &format!("+ {new}"), more),
        };
        assert!(answer.contains(said), "{more}: {answer}");
        let start = Instant::now();
        while configuration(&mut rig) != before {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", configuration(&mut rig));
            rig.control(|router| router.run_due());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A configuration of this many routes.
fn routes(rig: &mut Rig, count: u32) {
    if count > 0 {
        rig.set(&format!("ip route add count {count} 60.0.0.0/32 via 10.1.0.2 loop1"));
    }
}

/// Processor time of this thread: what other threads do does not count.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time of a patch; the shortest of three.
fn time(rig: &mut Rig, lines: &str) -> Duration {
    let one = |rig: &mut Rig, lines: &str| {
        let start = processor_time();
        let said = patch(rig, lines, "");
        assert!(said.contains(" removed, "), "{said}");
        processor_time() - start
    };
    let back: Vec<_> = lines.lines().rev().map(|line| line.replacen('+', "-", 1)).collect();
    let times = (0..3).map(|_| {
        let time = one(rig, lines);
        one(rig, &back.join("\n"));
        time
    });
    times.min().unwrap_or_default()
}

#[test]
fn the_cost_is_that_of_the_change() {
    let (mut small, mut large) = (around(), around());
    routes(&mut large, 10_000);
    assert!(configuration(&mut large).lines().count() > 10_000);
    let ten = (0..10).fold(String::new(), |mut text, n| {
        writeln!(text, "+ ip route add 70.0.{n}.0/24 via 10.1.0.2 loop1").unwrap();
        text
    });
    let [few, many] = [&mut small, &mut large].map(|rig| time(rig, &ten));
    println!("10 routes: {few:?} beside 7 lines, {many:?} beside 10,007");
    assert!(many < few * 4 + Duration::from_millis(5), "{few:?} {many:?}");
    let other = "+ set interface ip address loop2 10.2.0.1/24\n+ set interface state loop2 up\n";
    let [few, many] = [&mut small, &mut large].map(|rig| time(rig, other));
    println!("2 lines that need a trial: {few:?} beside 7 lines, {many:?} beside 10,007");
    // The whole is collected, but not tried.
    let file = std::env::temp_dir().join(format!("ferrovia-patch-{}", std::process::id()));
    std::fs::write(&file, configuration(&mut large)).unwrap();
    let start = processor_time();
    assert_eq!(large.run(&format!("configure replace {}", file.display())), "");
    let whole = processor_time() - start;
    println!("the whole, replaced by itself: {whole:?}");
    std::fs::remove_file(file).unwrap();
    assert!(many < whole, "{many:?} {whole:?}");
}

#[test]
fn a_change_with_a_name_is_confirmed_by_that_name_only() {
    let mut rig = around();
    rig.run("commit");
    let add = |n: u32| format!("+ ip route add 9{n}.0.0.0/8 via drop");
    let said = patch(&mut rig, &add(1), "confirm 1 id fleet-1");
    assert!(said.contains("unless confirmed by `commit id fleet-1'"), "{said}");
    let waits = "only `commit id fleet-1' confirms it";
    for other in ["commit", "commit confirm 1", "configure rollback 0 confirm 1"] {
        let said = rig.run(other);
        assert!(said.contains(waits), "{other}: {said}");
    }
    for more in ["confirm 1", "confirm 1 id other"] {
        let said = patch(&mut rig, &add(2), more);
        assert!(said.contains(waits), "{more}: {said}");
    }
    let said = rig.run("commit id other");
    assert!(said.contains("no change `other' waits"), "{said}");
    assert!(rig.run("show configuration history").contains("commit id fleet-1"));
    assert_eq!(rig.run("commit id fleet-1"), "");
    assert!(!rig.run("show configuration history").contains("undone in"));
    // What an operator waits for is not the fleet's to confirm, or to build on.
    rig.run("ip route add 93.0.0.0/8 via drop");
    rig.run("commit confirm 1");
    let said = patch(&mut rig, &add(4), "confirm 1 id fleet-2");
    assert!(said.contains("only `commit' confirms it"), "{said}");
    assert!(rig.run("commit id fleet-2").contains("no change `fleet-2' waits"));
    assert!(rig.run("show configuration history").contains("undone in"));
    assert_eq!(rig.run("commit").trim(), "confirmed");
    let said = patch(&mut rig, &add(5), "id fleet-3");
    assert!(said.contains("id: needs confirm"), "{said}");
}

/// A task of a patch that needs a trial, and the output so far.
fn stepped(rig: &mut Rig, mut between: impl FnMut(&mut Rig)) -> String {
    let lines = "+ create loopback interface instance 8";
    let mut run = Run::new(&format!("configure patch {{ {lines}\n}}"));
    let mut out = Output::none();
    loop {
        let step = rig.connected(|rig| {
            let cli = rig.cli.clone();
            run.step(&cli, &mut rig.router, &mut out)
        });
        match step {
            Step::Done(Ok(())) => return out.to_text(),
            Step::Done(Err(error)) => return error.to_string(),
            Step::Sleep(time) => std::thread::sleep(time),
            Step::Again | Step::Wait => {}
        }
        between(rig);
    }
}

#[test]
fn the_hash_follows_commands_that_act_once_and_remove_lines() {
    let mut rig = around();
    rig.run("create bridge-domain 5");
    rig.set("set interface l2 bridge loop2 5");
    let without = hash(&mut rig);
    rig.set("l2fib add 02:00:00:00:00:09 5 loop2 static");
    assert_ne!(hash(&mut rig), without);
    rig.run("clear l2fib");
    assert_eq!(hash(&mut rig), without);
    let known = rig.run("show configuration hash");
    rig.run("clear errors\nset terminal ansi off");
    assert_eq!(rig.run("show configuration hash"), known);
}

/// The longest turn of a patch that needs a trial, in processor time.
fn longest_turn(rig: &mut Rig) -> Duration {
    let (mut longest, mut start) = (Duration::ZERO, processor_time());
    let said = stepped(rig, |_| {
        longest = longest.max(processor_time() - start);
        start = processor_time();
    });
    assert!(said.starts_with("0 removed, 1 added"), "{said}");
    longest
}

#[test]
fn no_turn_of_a_patch_or_a_hash_is_as_long_as_the_configuration() {
    let (mut small, mut large) = (around(), around());
    routes(&mut large, 30_000);
    // What all trials cost is in both.
    let [few, many] = [&mut small, &mut large].map(longest_turn);
    println!("longest turn: {few:?} beside 7 lines, {many:?} beside 30,007");
    let start = processor_time();
    let whole = configuration(&mut large).lines().count();
    let whole = (whole > 30_000).then(|| processor_time() - start).unwrap();
    assert!(many < few * 2 + whole / 4, "{few:?} {many:?} {whole:?}");
}

#[test]
fn requests_of_others_that_change_nothing_do_not_keep_a_patch_away() {
    let mut rig = around();
    let mut count = 0;
    let said = stepped(&mut rig, |rig| {
        count += 1;
        // Sometimes of a kind that may change something.
        rig.run(["ping 10.99.0.1 repeat 0", "set terminal ansi off"][count % 2]);
        if count % 997 == 0 {
            rig.run("set interface mtu packet 1500 no-such-interface");
        }
    });
    assert!(said.starts_with("0 removed, 1 added"), "{said}");
    assert!(configuration(&mut rig).contains("create loopback interface instance 8"));
}

#[test]
fn a_patch_is_tried_again_beside_changes_of_others_and_keeps_them() {
    let mut rig = around();
    // Once before any of its steps, so that each meets a change.
    let mut count = 0;
    stepped(&mut rig, |_| count += 1);
    patch(&mut rig, "- create loopback interface instance 8", "");
    for at in (1..count).step_by(count / 40 + 1) {
        let mut steps = 0;
        let said = stepped(&mut rig, |rig| {
            steps += 1;
            if steps == at {
                rig.run(&format!("ip route add 80.0.0.{}/32 via drop", at % 256));
            }
        });
        assert!(said.starts_with("0 removed, 1 added"), "{at}: {said}");
        let now = configuration(&mut rig);
        let route = format!("ip route add 80.0.0.{}/32 via drop", at % 256);
        assert!(steps < at || now.contains(&route), "{at}: {now}");
        assert!(now.contains("create loopback interface instance 8"), "{at}: {now}");
        patch(&mut rig, "- create loopback interface instance 8", "");
    }
}
