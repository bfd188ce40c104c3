//! Plugins in files: both samples under traffic, folders of the configuration, the scaffold.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tests::{Daemon, Host, TwoHosts, eventually, is_root, program, unique};

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

/// Echo requests that a host has sent and replies that it has received, of both IP versions. `ping`
/// itself is no judge: after its last request it waits for two round trips only.
fn echoes(host: &Host) -> [u64; 2] {
    let text = host.run("cat /proc/net/snmp /proc/net/snmp6");
    let ip4: Vec<Vec<_>> = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("IcmpMsg: ")?.split(' ').collect()))
        .collect();
    let ip4 = |name| ip4[0].iter().position(|n| *n == name).map_or("0", |at| ip4[1][at]);
    let ip6 = |name| {
        let mut lines = text.lines().map(|line| line.split_whitespace());
        lines.find(|words| words.clone().next() == Some(name)).map_or("0", |w| w.last().unwrap())
    };
    let count = |text: &str| text.parse::<u64>().unwrap();
    [("OutType8", "Icmp6OutType128"), ("InType0", "Icmp6InType129")]
        .map(|(of_ip4, of_ip6)| count(ip4(of_ip4)) + count(ip6(of_ip6)))
}

/// Pings each address while `work` is done; no packet may be lost.
fn under_traffic(hosts: &TwoHosts, addresses: &[&str], work: impl FnOnce()) {
    for address in addresses {
        hosts.left.run(&format!("ping -n -c 1 -W 10 {address}"));
    }
    let [before, _] = echoes(&hosts.left);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for address in addresses {
            let ping = format!("ping -n -q -c 200 -i 0.004 -W 10 {address}");
            let is_done = &is_done;
            scope.spawn(move || {
                while !is_done.load(Relaxed) {
                    hosts.left.attempt(&ping);
                }
            });
        }
        // Also when it panics.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        is_done.store(true, Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    let none_is_lost = || {
        let [sent, received] = echoes(&hosts.left);
        sent == received
    };
    assert!(eventually(none_is_lost), "{:?}", echoes(&hosts.left));
    assert!(echoes(&hosts.left)[0] >= before + 200, "packets flow");
}

#[test]
fn the_samples_are_as_short_as_the_guide_says() {
    for (file, most) in [("nth_drop_rust/src/lib.rs", 150), ("nth_drop_c/nth_drop.c", 250)] {
        let text = fs::read_to_string(root().join("examples").join(file)).unwrap();
        assert!(text.lines().count() <= most, "{file}: {} lines", text.lines().count());
    }
}

#[test]
fn both_samples_come_and_go_a_hundred_times_and_no_packet_is_lost() {
    if !is_root() || !tests::has("ping") {
        return;
    }
    let (hosts, folder) = (TwoHosts::new(), folder());
    let files = [in_c(&folder), in_rust(&folder.join("rust"))];
    under_traffic(&hosts, &["10.1.2.2", "2001:db8:2::2"], || {
        for memory in files.map(|file| come_and_go(&hosts.router, &file)) {
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
    under_traffic(&hosts, &["10.1.2.2"], || {
        let mut memory = Vec::new();
        for round in 1..=100 {
            for set in ["set urpf ip4 rx strict host-left", "set urpf ip4 rx off host-left"] {
                hosts.router.tell(set);
            }
            hosts.router.tell("plugin unload urpf");
            hosts.router.tell("plugin unload scheduler");
            hosts.router.tell("plugin unload policer");
            assert!(!hosts.router.tell("show plugins").contains("urpf_plugin.so"));
            hosts.router.tell("plugin load policer");
            hosts.router.tell("plugin load scheduler");
            hosts.router.tell("plugin load urpf");
            if round % 10 == 0 {
                memory.push(resident(hosts.router.id()));
            }
        }
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
    assert!(log.contains("broken.so: not a shared object"), "{log}");
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
