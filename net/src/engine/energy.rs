//! `show energy`: the use of time by data-plane threads, and the energy of the processor's packages
//! if the system reports it (`/sys/class/powercap`).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use control::cli::{Cli, Command, Output};
use infra::order::Order;
use serde::Serialize;

use crate::router::Router;

/// Show the share of time that threads work, poll and sleep, and the energy used.
#[derive(Command)]
#[command("show energy")]
struct ShowEnergy;

/// Folder in which the kernel lists meters.
const FOLDER: &str = "/sys/class/powercap";

/// A meter of a package, and where it stood when the router started.
#[derive(Clone)]
struct Meter {
    name: String,
    folder: PathBuf,
    start: u64,
    /// Largest value, after which it wraps around to 0.
    most: u64,
}

/// All meters.
struct Meters {
    list: Vec<Meter>,
    since: f64,
}

#[derive(Serialize)]
struct Energy {
    threads: Vec<Thread>,
    packages: Vec<Package>,
}

#[derive(Serialize)]
struct Thread {
    name: String,
    cpu: Option<usize>,
    /// Shares of the time since it started, in percent.
    busy: f64,
    idle: f64,
    asleep: f64,
}

#[derive(Serialize)]
struct Package {
    name: String,
    /// Since the router started, by all that runs on it.
    joules: f64,
    watts: f64,
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Meters of whole packages in a folder of the kernel's, by name.
fn meters(folder: &Path) -> Vec<Meter> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let meter = |folder: PathBuf| {
        let name = fs::read_to_string(folder.join("name")).ok()?.trim().to_owned();
        let start = number(&folder.join("energy_uj"))?;
        let most = number(&folder.join("max_energy_range_uj")).unwrap_or(u64::MAX);
        // Parts of a package have names of their own.
        name.starts_with("package-").then_some(Meter { name, folder, start, most })
    };
    let mut found: Vec<_> = entries.filter_map(|entry| meter(entry.path())).collect();
    found.order_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Meter {
    /// Joules since the start, if it wrapped around at most once.
    fn joules(&self) -> Option<f64> {
        let now = number(&self.folder.join("energy_uj"))?;
        let used = match now.checked_sub(self.start) {
            Some(used) => used,
            None => self.most - self.start.min(self.most) + now,
        };
        Some(used as f64 / 1e6)
    }
}

impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12} {:>4} {:>9} {:>9} {:>9}",
            "Thread", "CPU", "Busy %", "Idle %", "Asleep %"
        )?;
        for t in &self.threads {
            let cpu = t.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string());
            let (busy, idle, asleep) = (t.busy, t.idle, t.asleep);
            writeln!(f, "{:<12} {cpu:>4} {busy:>9.3} {idle:>9.3} {asleep:>9.3}", t.name)?;
        }
        if self.packages.is_empty() {
            return writeln!(f, "this system tells no energy of packages");
        }
        self.packages.iter().try_for_each(|p| {
            writeln!(f, "{}: {:.1} J since the start, {:.2} W", p.name, p.joules, p.watts)
        })
    }
}

fn energy(router: &Router) -> Energy {
    let thread = |info: graph::ThreadInfo| {
        let spent = info.spent;
        let percent = |clocks: u64| clocks as f64 * 100.0 / spent.total.max(1) as f64;
        let idle = spent.total.saturating_sub(spent.busy).saturating_sub(spent.asleep);
        let (busy, idle, asleep) = (percent(spent.busy), percent(idle), percent(spent.asleep));
        Thread { name: info.name, cpu: info.cpu, busy, idle, asleep }
    };
    let threads = router.engine.thread_infos().into_iter().map(thread).collect();
    let packages = router.state::<Meters>().map_or_else(Vec::new, |meters| {
        let seconds = (router.now() - meters.since).max(1e-6);
        let package = |meter: &Meter| {
            let joules = meter.joules()?;
            Some(Package { name: meter.name.clone(), joules, watts: joules / seconds })
        };
        meters.list.iter().filter_map(package).collect()
    });
    Energy { threads, packages }
}

pub(super) fn register(router: &mut Router, cli: &mut Cli<Router>) {
    let since = router.now();
    router.insert(Meters { list: meters(Path::new(FOLDER)), since });
    cli.command(|router: &mut Router, _: ShowEnergy| Ok(Output::of(energy(router))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meters_of_packages_are_read_and_go_round() {
        let folder = std::env::temp_dir().join(format!("energy-{}", std::process::id()));
        for (name, what, microjoules) in
            [("a", "package-0", 900), ("a:0", "core", 5), ("b", "package-1", 7_000_000)]
        {
            let at = folder.join(name);
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("name"), format!("{what}\n")).unwrap();
            fs::write(at.join("energy_uj"), format!("{microjoules}\n")).unwrap();
            fs::write(at.join("max_energy_range_uj"), "1000\n").unwrap();
        }
        let found = meters(&folder);
        let names: Vec<_> = found.iter().map(|meter| meter.name.as_str()).collect();
        assert_eq!(names, ["package-0", "package-1"]);
        fs::write(folder.join("a/energy_uj"), "400").unwrap();
        assert_eq!(found[0].joules(), Some(0.0005));
        fs::write(folder.join("b/energy_uj"), "9000000").unwrap();
        assert_eq!(found[1].joules(), Some(2.0));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found[0].joules(), None);
        assert!(meters(&folder).is_empty());
    }
}
