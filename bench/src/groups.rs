//! The scenarios and groups of them, and what is printed and kept of their results.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::churn;
use crate::clock;
use crate::daemon::{Cores, Daemon};
use crate::options::{Options, Programs};
use crate::plot;
use crate::scenario::{self, Scenario};
use crate::traffic;
use crate::window::Window;
use crate::workers;

/// The outcome of one scenario for one daemon.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Name of the daemon.
    pub daemon: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seconds that the configuration took.
    pub setup_s: f64,
    /// Megabytes of memory at the most.
    pub peak_mb: u64,
    /// Windows that lost packets and so do not count.
    pub lossy_windows: usize,
    /// Messages of the daemon that should not be there.
    pub complaints: Vec<String>,
    /// The window with the lowest sum.
    pub best: Option<Window>,
}

impl Outcome {
    /// Its lowest sum; not a number when no window counted.
    pub fn clocks(&self) -> f64 {
        self.best.as_ref().map_or(f64::NAN, |w| w.clocks)
    }
}

/// Runs what the options name, and writes the results.
///
/// # Errors
/// Daemons that do not start, files that cannot be written.
pub fn run(options: &Options) -> io::Result<()> {
    fs::create_dir_all(&options.folder)?;
    let folder = fs::canonicalize(&options.folder)?;
    traffic::make(&folder)?;
    println!(
        "time-stamp counter {:.3} GHz, core {} at {:.2} GHz, {} windows of {} s\n",
        clock::tsc_hz() / 1e9,
        options.core,
        clock::core_ghz(options.core),
        options.windows,
        options.seconds
    );
    let mut results = Map::new();
    let mut has_head = false;
    for name in &options.names {
        let result = match name.as_str() {
            "flatness" => flatness(options, &folder)?,
            "curve" | "curve-rules" | "curve-sessions" => curve(name, options, &folder)?,
            "load" => load(options, &folder)?,
            "memory" => memory(options, &folder)?,
            "churn" => churn::run(options, &folder)?,
            name if workers::ALL.contains(&name) => workers::run(name, options, &folder)?,
            single => {
                if !has_head {
                    println!("| scenario | daemon | clocks | Mpps | core GHz | MB | nodes |");
                    println!("|---|---|---|---|---|---|---|");
                }
                has_head = true;
                json!(measure(options, &folder, single)?)
            }
        };
        results.insert(name.clone(), result);
        let text = serde_json::to_string_pretty(&results)?;
        fs::write(folder.join("bench.json"), text)?;
    }
    println!("\nall results: {}", folder.join("bench.json").display());
    Ok(())
}

/// Measures a scenario of this name and prints its rows.
fn measure(options: &Options, folder: &Path, name: &str) -> io::Result<Vec<Outcome>> {
    let scenario = Scenario::named(name, folder).expect("options name existing scenarios");
    let outcomes = measure_all(options, folder, &scenario)?;
    for o in &outcomes {
        let best = o.best.clone().unwrap_or_default();
        let nodes: Vec<_> = best.nodes.iter().map(|(n, c)| format!("{n} {c:.1}")).collect();
        println!(
            "| {name} | {} | {:.1} | {:.1} | {:.2} | {} | {} |",
            o.daemon,
            o.clocks(),
            best.mpps,
            best.core_ghz,
            o.peak_mb,
            nodes.join(", ")
        );
        complain(o);
    }
    Ok(outcomes)
}

fn complain(o: &Outcome) {
    o.complaints.iter().for_each(|c| println!("  {}: {c}", o.daemon));
    if o.best.is_none() {
        println!("  {}: no window without loss", o.daemon);
    }
}

/// Runs a scenario on all daemons, their windows in turns.
fn measure_all(options: &Options, folder: &Path, s: &Scenario) -> io::Result<Vec<Outcome>> {
    let programs: Vec<&Programs> = [&options.ours].into_iter().chain(&options.other).collect();
    let mut running = Vec::new();
    for programs in &programs {
        let daemon = Daemon::start(programs, Cores::One(options.core), folder)?;
        let (setup_s, complaints) = set_up(&daemon, s);
        let scenario = s.name.clone();
        let (daemon_name, lossy_windows) = (programs.name, 0);
        let outcome = Outcome {
            daemon: daemon_name,
            scenario,
            setup_s,
            peak_mb: 0,
            lossy_windows,
            complaints,
            best: None,
        };
        running.push((daemon, outcome));
    }
    let is_alone = running.len() == 1;
    for round in 0..options.windows {
        for (daemon, outcome) in &mut running {
            if round == 0 || !is_alone {
                daemon.run("packet-generator enable");
                thread::sleep(Duration::from_millis(if round == 0 { 1000 } else { 200 }));
            }
            match daemon.window(options.seconds).filter(Window::is_lossless) {
                Some(w) if w.clocks >= outcome.clocks() => (),
                Some(window) => outcome.best = Some(window),
                None => outcome.lossy_windows += 1,
            }
            if !is_alone {
                daemon.run("packet-generator disable");
            }
        }
    }
    let done =
        |(daemon, outcome): (Daemon, Outcome)| Outcome { peak_mb: daemon.peak_mb(), ..outcome };
    Ok(running.into_iter().map(done).collect())
}

/// Configures a daemon; returns the seconds it took and what it complained of.
pub fn set_up(daemon: &Daemon, s: &Scenario) -> (f64, Vec<String>) {
    let start = Instant::now();
    let mut said: Vec<_> = s.setup.iter().map(|line| (line, daemon.run(line))).collect();
    let seconds = start.elapsed().as_secs_f64();
    said.push((&s.stream, daemon.run(&s.stream)));
    let is_answer = |text: &str| {
        let is_name = text.starts_with("pg") && text.len() < 5
            || text.lines().all(|line| line.starts_with("ipip"));
        text.is_empty() || is_name || text.contains("routes/sec") || text.contains("routes in")
    };
    let bad = said.into_iter().filter(|(_, text)| !is_answer(text));
    (seconds, bad.map(|(line, text)| format!("{line:.80}: {text:.200}")).collect())
}

/// The same destinations, one covering route against many: the share of the speed that is left.
fn flatness(options: &Options, folder: &Path) -> io::Result<Value> {
    let pairs = [
        ("ip4-1m-one", "ip4-1m"),
        ("ip4-8m-one", "ip4-8m"),
        ("bgp6-one", "bgp6-220k"),
        ("mpls-1m-one", "mpls-1m"),
    ];
    println!("\n| flatness: one route | clocks | many | clocks | ratio |\n|---|---|---|---|---|");
    let mut all = Vec::new();
    for (one, many) in pairs {
        let ours = Options { other: None, ..options.clone() };
        let [a, b] = [one, many].map(|name| -> io::Result<Outcome> {
            let scenario = Scenario::named(name, folder).expect("named above");
            Ok(measure_all(&ours, folder, &scenario)?.remove(0))
        });
        let (a, b) = (a?, b?);
        let ratio = a.clocks() / b.clocks();
        println!("| {one} | {:.1} | {many} | {:.1} | {ratio:.2} |", a.clocks(), b.clocks());
        all.push(json!({ "one": a, "many": b, "ratio": ratio }));
    }
    Ok(json!(all))
}

/// A curve: throughput over the size of a table.
struct Curve {
    /// Text below it, and the name of its file.
    about: &'static str,
    file: &'static str,
    /// Sizes, and the scenario of each.
    points: Vec<(u64, Scenario)>,
}

impl Curve {
    /// The curve of this name.
    fn named(name: &str, folder: &Path) -> Self {
        let named = |(size, name)| {
            let scenario = Scenario::named(name, folder).expect("one of those there are");
            (size, scenario)
        };
        match name {
            "curve-rules" => Self {
                about: "rules of an access list, random destinations among theirs",
                file: "rules.svg",
                points: [(50, "acl-50"), (1000, "acl-1k"), (100_000, "acl-100k")].map(named).into(),
            },
            "curve-sessions" => Self {
                about: "sessions of NAT44, packets of random ones",
                file: "sessions.svg",
                points: [(15_000, "nat44-15k"), (1 << 20, "nat44-1m-sessions")].map(named).into(),
            },
            _ => Self {
                about: "host routes, random destinations among them",
                file: "throughput.svg",
                points: [0, 4, 8, 12, 16, 18, 20, 22, 24].map(routes).into(),
            },
        }
    }
}

/// So many host routes, as a power of two.
fn routes(bits: u32) -> (u64, Scenario) {
    let n = 1u64 << bits;
    let mut setup = scenario::base(4);
    setup.push(scenario::count("add", n));
    let stream = scenario::ip4_stream(&scenario::range(n));
    (n, Scenario { name: format!("{n} routes"), setup, stream })
}

/// Throughput over the size of a table.
fn curve(name: &str, options: &Options, folder: &Path) -> io::Result<Value> {
    println!("\n| size | daemon | clocks | Mpps | core GHz | MB |\n|---|---|---|---|---|---|");
    let (mut points, mut all) = (Vec::new(), Vec::new());
    let curve = Curve::named(name, folder);
    for (n, s) in &curve.points {
        for o in measure_all(options, folder, s)? {
            let best = o.best.clone().unwrap_or_default();
            let (clocks, mb) = (o.clocks(), o.peak_mb);
            let (mpps, ghz) = (best.mpps, best.core_ghz);
            println!("| {n} | {} | {clocks:.1} | {mpps:.1} | {ghz:.2} | {mb} |", o.daemon);
            complain(&o);
            points.push((o.daemon, *n, mpps));
            all.push(o);
        }
    }
    let path = folder.join(curve.file);
    fs::write(&path, plot::throughput(&points, curve.about))?;
    println!("plot: {}", path.display());
    if Path::new("docs").is_dir() {
        fs::copy(&path, Path::new("docs").join(curve.file))?; // for the README
    }
    Ok(json!(all))
}

/// Seconds that a command takes, with what it printed if it should not have.
fn timed(daemon: &Daemon, what: &str, line: &str) -> (String, f64) {
    let start = Instant::now();
    let said = daemon.run(line);
    let seconds = start.elapsed().as_secs_f64();
    println!("| {what} | {} | {seconds:.3} |", daemon.name);
    if !said.is_empty() && !said.contains("routes") {
        println!("  {}: {said:.200}", daemon.name);
    }
    (what.to_owned(), seconds)
}

/// Adding and withdrawing a million routes.
fn load(options: &Options, folder: &Path) -> io::Result<Value> {
    println!("\n| load | daemon | seconds |\n|---|---|---|");
    let withdrawals = folder.join("bgp4.withdrawals");
    if !withdrawals.exists() {
        let routes = fs::read_to_string(folder.join("bgp4.routes"))?;
        fs::write(&withdrawals, routes.replace("ip route add", "ip route del"))?;
    }
    let mut all = Map::new();
    for programs in [&options.ours].into_iter().chain(&options.other) {
        let daemon = Daemon::start(programs, Cores::One(options.core), folder)?;
        scenario::base(4).iter().for_each(|line| drop(daemon.run(line)));
        let file = |name: &str| format!("exec {}", folder.join(name).display());
        let default = |verb: &str| format!("ip route {verb} 0.0.0.0/0 via 10.0.1.2 pg1");
        let rows = [
            timed(&daemon, "a command that does nothing", "show version"),
            timed(&daemon, "1,000,000 BGP routes by exec", &file("bgp4.routes")),
            timed(&daemon, "the default route among them", &default("add")),
            timed(&daemon, "and away", &default("del")),
            timed(&daemon, "withdrawn by exec", &file("bgp4.withdrawals")),
            timed(&daemon, "1,048,576 /32 by count", &scenario::count("add", 1 << 20)),
            timed(&daemon, "withdrawn by count", &scenario::count("del", 1 << 20)),
        ];
        all.insert(programs.name.to_owned(), json!(rows));
    }
    Ok(Value::Object(all))
}

/// Memory of large tables together, and of many small ones.
fn memory(options: &Options, folder: &Path) -> io::Result<Value> {
    println!("\n| memory | daemon | MB |\n|---|---|---|");
    let mut all = Map::new();
    for programs in [&options.ours].into_iter().chain(&options.other) {
        let daemon = Daemon::start(programs, Cores::One(options.core), folder)?;
        let mut lines = scenario::base(4);
        lines.extend(scenario::base(6).split_off(5));
        let files = ["bgp4.routes", "bgp6.routes"];
        lines.extend(files.map(|file| format!("exec {}", folder.join(file).display())));
        lines.iter().for_each(|line| drop(daemon.run(line)));
        let both = daemon.peak_mb();
        println!("| bgp4-1m and bgp6-220k, at the most | {} | {both} |", daemon.name);
        drop(daemon);

        let daemon = Daemon::start(programs, Cores::One(options.core), folder)?;
        let before = daemon.memory_mb();
        let tables: String = (1..=1000).map(|id| format!("ip table add {id}\n")).collect();
        let file = folder.join("tables");
        fs::write(&file, tables)?;
        daemon.run(&format!("exec {}", file.display()));
        let tables = daemon.memory_mb().saturating_sub(before);
        println!("| 1,000 empty tables | {} | {tables} |", daemon.name);
        all.insert(programs.name.to_owned(), json!({ "both": both, "tables": tables }));
    }
    Ok(Value::Object(all))
}
