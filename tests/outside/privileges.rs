//! Permissions of the daemon, as the kernel tells them, and who may talk to it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

use tests::Daemon;

/// `cap_net_admin` and `cap_sys_admin` in the kernel's numbers.
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
/// `cap_dac_override`, and what a router is given up: modules, raw devices, restart, time, users.
const DAC_OVERRIDE: u64 = 1 << 1;
const DANGERS: u64 = 1 << 16 | 1 << 17 | 1 << 22 | 1 << 25 | 1 << 7 | 1 << 6;

/// Threads of a process: their names, and the sets `CapEff` and `CapBnd`.
fn threads(id: u32) -> Vec<(String, u64, u64)> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap().flatten();
    let read = |folder: PathBuf| {
        let status = fs::read_to_string(folder.join("status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap();
            line.trim().to_owned()
        };
        let set = |name| u64::from_str_radix(&field(name), 16).unwrap();
        assert_eq!(field("CapEff:"), field("CapPrm:"));
        (field("Name:"), set("CapEff:"), set("CapBnd:"))
    };
    tasks.map(|task| read(task.path())).collect()
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root has something to give up");
    }
    is_root
}

#[test]
fn what_no_router_needs_is_given_up_by_all_threads() {
    if !is_root() {
        return;
    }
    let router = Daemon::start_with("", &[]);
    // A thread that starts later is no exception.
    router.tell("set workers 1");
    let threads = threads(router.id());
    let workers = threads.iter().filter(|(name, ..)| name.starts_with("vpp_wk")).count();
    assert_eq!(workers, 1, "{threads:x?}");
    for (name, effective, bounding) in &threads {
        assert_eq!(effective & DANGERS, 0, "{name}: {effective:x}");
        assert_eq!(bounding & DANGERS, 0, "{name}: {bounding:x}");
        if name.starts_with("vpp_wk") {
            assert_eq!(effective & !DAC_OVERRIDE, 0, "{name}: {effective:x}");
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", router.id())).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let log = router.tell("show logging");
    let line = log.lines().find(|l| l.contains("kept: ")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("cap_net_admin") && line.contains("cap_sys_admin"), "{line}");
    assert!(!line.contains("cap_sys_module") && !line.contains("cap_chown"), "{line}");
}

#[test]
fn the_configuration_says_what_is_kept() {
    if !is_root() {
        return;
    }
    let main = |config: &str| {
        let router = Daemon::start_with(config, &[]);
        threads(router.id())
            .iter()
            .find(|(name, ..)| name == "ferrovia" || name == "vpp_main")
            .unwrap()
            .1
    };
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find_map(|l| l.strip_prefix("CapPrm:")).unwrap().trim();
    assert_eq!(main("unix { capabilities all }"), u64::from_str_radix(own, 16).unwrap());
    assert_eq!(main("unix { capabilities cap_net_admin }"), NET_ADMIN);
    assert_eq!(main("unix { capabilities none }"), 0);
    let usual = main("");
    assert_eq!(usual & (NET_ADMIN | SYS_ADMIN), NET_ADMIN | SYS_ADMIN, "{usual:x}");
}

#[test]
fn sockets_belong_to_the_group_also_those_that_commands_make() {
    if !is_root() {
        return;
    }
    let group = fs::read_to_string("/etc/group").unwrap();
    let group = group.lines().find_map(|l| l.strip_prefix("daemon:x:")).unwrap();
    let number: u32 = group.trim_end_matches(':').parse().unwrap();
    let router = Daemon::start_with("unix { gid daemon }", &[]);
    let folder = router.folder();
    router.tell(&format!("create memif socket id 1 filename {}/m.sock", folder.display()));
    router.tell("create interface memif id 0 socket-id 1 master");
    let mut seen = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let meta = entry.metadata().unwrap();
        if meta.file_type().is_socket() {
            let name = entry.file_name().into_string().unwrap();
            assert_eq!(meta.gid(), number, "{name}");
            assert_eq!(meta.mode() & 0o002, 0, "{name}: others may connect");
            seen.push(name);
        }
    }
    seen.sort();
    assert_eq!(seen, ["api.sock", "cli.sock", "m.sock", "stats.sock"]);
}
