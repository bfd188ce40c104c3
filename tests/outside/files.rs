//! Plugins in files: both samples under traffic, folders of the configuration, the scaffold.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tests::{Daemon, TwoHosts, is_root, program, unique};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate has a folder above")
}

/// A folder of a test's own.
fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(unique());
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Output of a program that must succeed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

/// The sample in C.
fn in_c(folder: &Path) -> PathBuf {
    let file = folder.join("nth_drop.so");
    let include = root().join("sdk/include");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", "-I"]).arg(include).arg("-o").arg(&file);
    run(cc.arg(root().join("examples/nth_drop_c/nth_drop.c")));
    file
}

/// The sample in Rust.
fn in_rust(folder: &Path) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--release", "--target-dir"]).arg(folder);
    run(cargo.current_dir(root().join("examples/nth_drop_rust")));
    folder.join("release/libnth_drop.so")
}

/// Memory of a process in kB.
fn resident(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// Loads and unloads a plugin a hundred times; returns the memory after each tenth time.
fn come_and_go(router: &Daemon, file: &Path) -> Vec<usize> {
    let mut memory = Vec::new();
    for round in 1..=100 {
        router.tell(&format!("plugin load {}", file.display()));
        router.tell("set interface nth-drop host-left 1000000");
        router.tell("set interface nth-drop host-right 1000000");
        assert_eq!(router.tell("plugin unload nth_drop"), "");
        if round % 10 == 0 {
            memory.push(resident(router.id()));
        }
    }
    memory
}

#[test]
fn both_samples_come_and_go_a_hundred_times_and_no_packet_is_lost() {
    if !is_root() || !tests::has("ping") {
        return;
    }
    let (hosts, folder) = (TwoHosts::new(), folder());
    hosts.left.run("ping -n -c 1 -W 10 10.1.2.2");
    hosts.left.run("ping -n -c 1 -W 10 2001:db8:2::2");
    let files = [in_c(&folder), in_rust(&folder.join("rust"))];
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pings = ["10.1.2.2", "2001:db8:2::2"].map(|address| {
            let (left, is_done) = (&hosts.left, &is_done);
            scope.spawn(move || {
                let mut count = 0;
                while !is_done.load(Relaxed) {
                    let text = left.run(&format!("ping -n -q -c 200 -i 0.004 -W 10 {address}"));
                    assert!(text.contains("200 received, 0% packet loss"), "{text}");
                    count += 200;
                }
                count
            })
        });
        let memory = files.map(|file| come_and_go(&hosts.router, &file));
        is_done.store(true, Relaxed);
        for ping in pings {
            assert!(ping.join().unwrap() > 0, "packets flow");
        }
        for memory in memory {
            assert!(memory[9] <= memory[2] + 512, "kB: {memory:?}");
        }
    });
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn built_in_plugins_come_and_go_a_hundred_times_and_no_packet_is_lost() {
    if !is_root() || !tests::has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    hosts.left.run("ping -n -c 1 -W 10 10.1.2.2");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ping = scope.spawn(|| {
            let mut count = 0;
            while !is_done.load(Relaxed) {
                let text = hosts.left.run("ping -n -q -c 200 -i 0.004 -W 10 10.1.2.2");
                assert!(text.contains("200 received, 0% packet loss"), "{text}");
                count += 200;
            }
            count
        });
        let mut memory = Vec::new();
        for round in 1..=100 {
            for set in ["set urpf ip4 rx strict host-left", "set urpf ip4 rx off host-left"] {
                hosts.router.tell(set);
            }
            hosts.router.tell("plugin unload urpf");
            hosts.router.tell("plugin unload policer");
            assert!(!hosts.router.tell("show plugins").contains("urpf_plugin.so"));
            hosts.router.tell("plugin load policer");
            hosts.router.tell("plugin load urpf");
            if round % 10 == 0 {
                memory.push(resident(hosts.router.id()));
            }
        }
        is_done.store(true, Relaxed);
        assert!(ping.join().unwrap() > 0, "packets flow");
        assert!(memory[9] <= memory[2] + 512, "kB: {memory:?}");
    });
}

#[test]
fn folders_of_the_configuration_are_searched_and_plugins_switched() {
    let folder = folder();
    let file = in_c(&folder);
    fs::write(folder.join("broken.so"), "no plugin").unwrap();
    let dir = folder.display();
    let config = format!("plugins {{ path /nowhere add-path {dir} }}");
    let router = Daemon::start_with(&config, &[]);
    let shown = router.tell("show plugins");
    assert!(shown.contains(&format!("Plugin path is: /nowhere:{dir} ")), "{shown}");
    let row = shown.lines().find(|line| line.contains("nth_drop.so")).unwrap();
    assert!(row.contains(&file.display().to_string()) && row.contains(" 1.0.0 "), "{row}");
    let log = router.tell("show logging");
    assert!(log.contains("broken.so: it is no shared object"), "{log}");
    assert!(router.tell("show configuration").contains(&format!("plugin load {dir}/nth_drop.so")));
    router.tell("plugin unload nth_drop");
    assert!(!router.tell("show plugins").contains("nth_drop"));
    // By its name in the folder.
    router.tell("plugin load nth_drop.so");
    assert!(router.tell("show interface nth-drop").is_empty());
    for off in ["plugin default { disable }", "plugin nth_drop.so { disable }"] {
        let config = format!("plugins {{ path {dir} {off} }}");
        let router = Daemon::start_with(&config, &[]);
        assert!(!router.tell("show plugins").contains("nth_drop"), "{off}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_new_plugin_builds_and_passes_its_test_at_once() {
    let folder = folder();
    // From what is installed, with nothing of this tree.
    let prefix = format!("PREFIX={}", folder.join("usr").display());
    run(Command::new("make").args(["-s", "install", &prefix]).current_dir(root()));
    let scaffold = folder.join("usr/bin/ferrovia-new-plugin");
    for (language, name) in [("c", "fresh_c"), ("rust", "fresh_rust")] {
        let mut new = Command::new(&scaffold);
        run(new.args([language, name]).current_dir(&folder));
        let mut make = Command::new("make");
        make.args(["-C", name, "test"]).current_dir(&folder);
        make.env("FERROVIA", program("ferrovia")).env("FVCTL", program("fvctl"));
        let text = run(&mut make);
        assert!(text.lines().any(|line| line == "ok"), "{text}");
    }
    let sample = folder.join("usr/share/ferrovia/sdk/nth_drop_c");
    run(Command::new("make").arg("-C").arg(&sample));
    assert!(sample.join("nth_drop.so").exists());
    let mut wrong = Command::new(&scaffold);
    let output = wrong.args(["c", "No-Name"]).current_dir(&folder).output().unwrap();
    assert!(!output.status.success());
    fs::remove_dir_all(folder).unwrap();
}
