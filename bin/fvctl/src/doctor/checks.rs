//! The checks.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::machine::Machine;
use super::{Finding, Running};

/// Open files that a router may need: a socket for each client, some for each interface.
const FILES: u64 = 4096;
const CPU: &str = "/sys/devices/system/cpu";

/// All checks, one after the other. `folder` has the router's sockets.
pub fn all(machine: &Machine, running: Option<&Running>, folder: &Path) -> Vec<Finding> {
    let cpus = running.map(|running| running.cpus.clone()).unwrap_or_default();
    let mut findings = vec![huge_pages(machine), clock(machine)];
    findings.extend(isolation(machine, &cpus));
    findings.extend(governor(machine, &cpus));
    findings.extend(numa(machine, &cpus));
    findings.extend(limits(machine, running));
    findings.extend(kernel(machine));
    findings.extend(devices(machine));
    findings.extend(sockets(machine, folder));
    findings
}

fn huge_pages(machine: &Machine) -> Finding {
    let topic = "huge pages";
    match machine.chosen("/sys/kernel/mm/transparent_hugepage/enabled").as_deref() {
        Some(kind @ ("always" | "madvise")) => {
            Finding::good(topic, format!("available to programs that ask ({kind})"))
        }
        Some(kind) => {
            let found = format!("transparent huge pages: {kind}");
            Finding::bad(topic, found, "lookups in big tables take 50 % longer")
                .mend("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
        }
        None => Finding::note(topic, "the kernel has none", "lookups in big tables take longer"),
    }
}

fn clock(machine: &Machine) -> Finding {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = machine.read(source).unwrap_or_default();
    let info = machine.read("/proc/cpuinfo").unwrap_or_default();
    let is_steady = ["constant_tsc", "nonstop_tsc"].iter().all(|flag| info.contains(flag));
    let topic = "clock";
    match (is_steady, source.as_str()) {
        (true, "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page") => {
            Finding::good(topic, format!("steady time-stamp counter, clock source {source}"))
        }
        (false, _) if info.contains("GenuineIntel") || info.contains("AuthenticAMD") => {
            let cost = "times and rates may be wrong: the router's clock counts it";
            Finding::bad(topic, "the processor has no invariant time-stamp counter", cost)
                .mend("a virtual machine: give it the host's processor and invtsc")
        }
        _ => {
            Finding::note(topic, format!("clock source {source}"), "reading time is a system call")
                .mend("clocksource=tsc on the kernel's command line, if the counter is steady")
        }
    }
}

fn isolation(machine: &Machine, cpus: &BTreeSet<u32>) -> Vec<Finding> {
    let topic = "CPU isolation";
    let isolated = machine.cpus(&format!("{CPU}/isolated"));
    let online = machine.cpus(&format!("{CPU}/online"));
    let mut findings = Vec::new();
    if online.len() == 1 {
        let cost = "control and packets take turns: up to 100 us before a packet is served";
        findings.push(Finding::note("CPUs", "only one", cost).mend("two CPUs or more"));
    }
    if cpus.is_empty() {
        return findings;
    }
    let open: Vec<_> = cpus.difference(&isolated).map(u32::to_string).collect();
    findings.push(if open.is_empty() {
        Finding::good(topic, "data-plane threads have CPUs of their own")
    } else {
        let list = open.join(",");
        let cost = "other programs hold packets up now and then";
        let found = format!(
            "the kernel may schedule other threads on CPUs {list} of the data \
            plane"
        );
        let words = format!("isolcpus={list} nohz_full={list} rcu_nocbs={list}");
        Finding::note(topic, found, cost).mend(format!("{words} on the kernel's command line"))
    });
    findings
}

fn governor(machine: &Machine, cpus: &BTreeSet<u32>) -> Vec<Finding> {
    let online = machine.cpus(&format!("{CPU}/online"));
    let cpus = if cpus.is_empty() { &online } else { cpus };
    let slow = |cpu: &&u32| {
        let path = format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor");
        machine.read(&path).is_some_and(|governor| governor != "performance")
    };
    let slow: Vec<_> = cpus.iter().filter(slow).map(u32::to_string).collect();
    if slow.is_empty() {
        return vec![Finding::good("frequency", "no governor slows CPUs down")];
    }
    let cost = "after a rest packets take longer, until the frequency has risen";
    let found = format!("a governor changes the frequency of CPUs {}", slow.join(","));
    vec![Finding::bad("frequency", found, cost).mend("cpupower frequency-set -g performance")]
}

fn numa(machine: &Machine, cpus: &BTreeSet<u32>) -> Vec<Finding> {
    let folder = "/sys/devices/system/node";
    let is_node = |name: &String| {
        name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let nodes: Vec<_> = machine.names(folder).into_iter().filter(is_node).collect();
    if nodes.len() < 2 {
        return vec![Finding::good("NUMA", "one node")];
    }
    let used: BTreeSet<_> = nodes
        .iter()
        .filter(|node| !machine.cpus(&format!("{folder}/{node}/cpulist")).is_disjoint(cpus))
        .filter_map(|node| node.strip_prefix("node"))
        .collect();
    let mut findings = Vec::new();
    for device in machine.names("/sys/class/net") {
        let of = machine.read(&format!("/sys/class/net/{device}/device/numa_node"));
        let Some(of) = of.filter(|of| of != "-1") else { continue };
        if !used.is_empty() && !used.contains(of.as_str()) {
            let cost = "each access to its packets crosses between nodes";
            let found = format!("{device} is on node {of}, without data-plane threads");
            let mend = format!("cpu {{ corelist-workers … }} with CPUs of node {of}");
            findings.push(Finding::note("NUMA", found, cost).mend(mend));
        }
    }
    if findings.is_empty() {
        let found = format!("{} nodes, devices are near the threads", nodes.len());
        findings.push(Finding::good("NUMA", found));
    }
    findings
}

fn limits(machine: &Machine, running: Option<&Running>) -> Vec<Finding> {
    let (of, path) = match running.and_then(|running| running.process) {
        Some(process) => ("the router", format!("/proc/{process}/limits")),
        None => ("this shell", "/proc/self/limits".to_owned()),
    };
    let Some(text) = machine.read(&path) else { return Vec::new() };
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()).unwrap_or_default();
    let found = format!("{of} has a limit of {soft} open files");
    let is_enough = soft == "unlimited" || soft.parse::<u64>().is_ok_and(|most| most >= FILES);
    vec![match is_enough {
        true => Finding::good("limits", found),
        false => Finding::note("limits", found, "with many interfaces or clients some will fail")
            .mend("LimitNOFILE=65536 in the unit, or ulimit -n 65536"),
    }]
}

fn kernel(machine: &Machine) -> Vec<Finding> {
    let release = machine.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.split(['.', '-']).filter_map(|part| part.parse::<u32>().ok());
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let mut findings = vec![match version >= (5, 10) {
        true => Finding::good("kernel", format!("Linux {release}")),
        false => Finding::note("kernel", format!("Linux {release}"), "not tested below 5.10"),
    }];
    let protocols = machine.read("/proc/net/protocols").unwrap_or_default();
    let has = |name: &str| protocols.lines().any(|line| line.split(' ').next() == Some(name));
    let drivers = [
        ("af_packet", has("PACKET"), "create host-interface", "modprobe af_packet"),
        ("af_xdp", has("XDP"), "create interface af_xdp", "a kernel with CONFIG_XDP_SOCKETS"),
        ("tap", machine.path("/dev/net/tun").exists(), "create tap", "modprobe tun"),
        ("vhost", machine.path("/dev/vhost-net").exists(), "", "modprobe vhost_net"),
    ];
    for (topic, is_there, command, mend) in drivers {
        findings.push(match (is_there, command) {
            (true, _) => Finding::good(topic, "the kernel has what it needs"),
            (false, "") => {
                let found = "no /dev/vhost-net: only host-side virtual machines would need it";
                Finding::good(topic, found)
            }
            (false, command) => {
                let found = format!("not supported by the kernel: `{command}' will fail");
                Finding::note(topic, found, "").mend(mend)
            }
        });
    }
    findings
}

fn devices(machine: &Machine) -> Vec<Finding> {
    let folder = "/sys/bus/pci/devices";
    let mut findings = Vec::new();
    for device in machine.names(folder) {
        let class = machine.read(&format!("{folder}/{device}/class")).unwrap_or_default();
        if !class.starts_with("0x02") {
            continue;
        }
        let driver = machine.link(&format!("{folder}/{device}/driver"));
        let is_usable = driver
            .as_deref()
            .is_some_and(|driver| !["vfio-pci", "uio_pci_generic", "igb_uio"].contains(&driver));
        let found = format!("{device} has {}", driver.as_deref().unwrap_or("no driver"));
        findings.push(match is_usable {
            true => Finding::good("devices", found),
            false => {
                Finding::note("devices", found, "the router drives devices through the kernel")
                    .mend(format!("driverctl unset-override {device}"))
            }
        });
    }
    findings
}

fn sockets(machine: &Machine, folder: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in ["cli.sock", "api.sock", "stats.sock"] {
        let path = folder.join(name).display().to_string();
        let Ok(data) = std::fs::symlink_metadata(machine.path(&path)) else { continue };
        let mode = data.permissions().mode() & 0o777;
        let found = format!("{path} has mode {mode:o}");
        findings.push(match mode & 0o002 != 0 {
            true => {
                Finding::bad("sockets", found, "every user of this machine can control the router")
                    .mend(format!("chmod o-rwx {path}, and unix {{ gid GROUP }}"))
            }
            false => Finding::good("sockets", found),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::State;
    use super::*;

    /// A machine of these files.
    fn machine(name: &str, files: &[(&str, &str)]) -> Machine {
        let root = std::env::temp_dir().join(format!("doctor-{name}-{}", std::process::id()));
        let machine = Machine::at(&root);
        for (path, text) in files {
            let path = machine.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        machine
    }

    fn states(findings: &[Finding], topic: &str) -> Vec<State> {
        findings.iter().filter(|f| f.topic == topic).map(|f| f.state).collect()
    }

    #[test]
    fn a_bad_set_up_is_told_with_its_cost_and_how_to_mend_it() {
        let machine = machine(
            "bad",
            &[
                ("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
                ("/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : tsc\n"),
                ("/sys/devices/system/cpu/online", "0-3\n"),
                ("/sys/devices/system/cpu/isolated", "2\n"),
                ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n"),
                ("/sys/devices/system/node/node0/cpulist", "0-1\n"),
                ("/sys/devices/system/node/node1/cpulist", "2-3\n"),
                ("/sys/class/net/eth0/device/numa_node", "0\n"),
                ("/proc/7/limits", "Max open files            1024                 4096  files\n"),
                ("/proc/sys/kernel/osrelease", "4.19.0-5-amd64\n"),
                ("/sys/bus/pci/devices/0000:01:00.0/class", "0x020000\n"),
            ],
        );
        let running = Running { cpus: [2, 3].into(), process: Some(7) };
        let all = all(&machine, Some(&running), Path::new("/run/vpp"));
        for (topic, state) in [
            ("huge pages", State::Bad),
            ("clock", State::Bad),
            ("CPU isolation", State::Note),
            ("frequency", State::Bad),
            ("NUMA", State::Note),
            ("limits", State::Note),
            ("kernel", State::Note),
            ("devices", State::Note),
        ] {
            assert_eq!(states(&all, topic), [state], "{topic}: {all:?}");
        }
        let isolation = all.iter().find(|f| f.topic == "CPU isolation").unwrap();
        assert!(isolation.mend.starts_with("isolcpus=3 "), "{isolation:?}");
        assert!(all.iter().filter(|f| f.state == State::Bad).all(|f| !f.mend.is_empty()));
        fs::remove_dir_all(machine.path("/")).unwrap();
    }

    #[test]
    fn a_good_one_is_good() {
        let machine = machine(
            "good",
            &[
                ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
                ("/proc/cpuinfo", "flags : tsc constant_tsc nonstop_tsc\n"),
                ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
                ("/sys/devices/system/cpu/online", "0-3\n"),
                ("/sys/devices/system/cpu/isolated", "2-3\n"),
                ("/proc/net/protocols", "protocol size\nPACKET 1\nXDP 1\n"),
                ("/proc/sys/kernel/osrelease", "6.1.0\n"),
                ("/dev/net/tun", ""),
                ("/proc/7/limits", "Max open files            65536                65536  files\n"),
                ("/run/vpp/cli.sock", ""),
            ],
        );
        fs::set_permissions(machine.path("/run/vpp/cli.sock"), fs::Permissions::from_mode(0o660))
            .unwrap();
        let running = Running { cpus: [2, 3].into(), process: Some(7) };
        let all = all(&machine, Some(&running), Path::new("/run/vpp"));
        assert!(all.iter().all(|f| f.state == State::Good), "{all:?}");
        fs::remove_dir_all(machine.path("/")).unwrap();
    }
}
