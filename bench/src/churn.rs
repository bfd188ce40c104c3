//! Route changes while packets flow: nothing may be lost, and hardly anything slower.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::daemon::{Cores, Daemon};
use crate::groups::set_up;
use crate::options::Options;
use crate::scenario::Scenario;
use crate::traffic::{self, Random};
use crate::window::Window;

/// Changes in one file: a tenth of a second's worth.
const CHANGES: usize = 10_000;
/// Between two files.
const PACE: Duration = Duration::from_millis(100);
/// Pairs of windows, one with changes and one without, of a second each.
const ROUNDS: usize = 10;

/// Forwards at full rate among a million prefixes, with and without 100,000 changes a second.
///
/// The data plane has the core; whatever else there is changes routes.
///
/// # Errors
/// A daemon that does not start, files that cannot be written.
pub fn run(options: &Options, folder: &Path) -> io::Result<Value> {
    let scenario = Scenario::named("bgp4-1m", folder).expect("it is one");
    let daemon = Daemon::start(&options.ours, Cores::All { main: options.core }, folder)?;
    let (_, complaints) = set_up(&daemon, &scenario);
    complaints.iter().for_each(|c| println!("  {c}"));
    let files = files(folder)?;
    daemon.run("packet-generator enable");
    thread::sleep(Duration::from_secs(1));
    daemon.run("clear errors");
    let (mut quiet, mut changing, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        quiet.extend(daemon.window(1.0));
        let (window, rate) = with_changes(&daemon, &files);
        changing.extend(window);
        rates.push(rate);
    }
    let median = |windows: &[Window]| {
        let mut mpps: Vec<f64> = windows.iter().map(|w| w.mpps).collect();
        mpps.sort_by(f64::total_cmp);
        mpps.get(mpps.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let lost: f64 = changing.iter().map(|w| w.drop).sum();
    let lossless = changing.iter().filter(|w| w.is_lossless()).count();
    let (before, during) = (median(&quiet), median(&changing));
    let rate = rates.iter().sum::<f64>() / rates.len() as f64;
    println!(
        "\n| changes a second | Mpps without | Mpps with | slower by | windows without loss |"
    );
    println!("|---|---|---|---|---|");
    let slower = 100.0 * (1.0 - during / before);
    println!("| {rate:.0} | {before:.2} | {during:.2} | {slower:.1} % | {lossless} of {ROUNDS} |");
    Ok(json!({ "rate": rate, "mpps": before, "mpps_changing": during, "dropped": lost,
        "quiet": quiet, "changing": changing }))
}

/// Two files: prefixes that come, and the same that go.
fn files(folder: &Path) -> io::Result<[String; 2]> {
    // Others than those of the table, or withdrawing them would be the loss.
    let there: HashSet<_> = traffic::bgp4().into_iter().collect();
    let mut prefixes = traffic::prefixes("bgp4", 2 * CHANGES, &mut Random(0x5851_f42d_4c95_7f2d));
    prefixes.retain(|prefix| !there.contains(prefix));
    prefixes.truncate(CHANGES);
    let mut lines = Vec::new();
    for verb in ["add", "del"] {
        let file = folder.join(format!("churn.{verb}"));
        let text = prefixes.iter().map(|(bits, len)| traffic::route("bgp4", verb, *bits, *len));
        fs::write(&file, text.collect::<Vec<_>>().join("\n") + "\n")?;
        lines.push(format!("exec {}", file.display()));
    }
    Ok([lines.remove(0), lines.remove(0)])
}

/// A window while another thread changes routes; and how many changes a second that were.
fn with_changes(daemon: &Daemon, files: &[String; 2]) -> (Option<Window>, f64) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let (start, mut count) = (Instant::now(), 0);
            while !is_over.load(Relaxed) || count % 2 > 0 {
                daemon.run(&files[count % 2]);
                count += 1;
                thread::sleep((PACE * count as u32).saturating_sub(start.elapsed()));
            }
            (count * CHANGES) as f64 / start.elapsed().as_secs_f64()
        });
        let window = daemon.window(1.0);
        is_over.store(true, Relaxed);
        (window, changes.join().unwrap_or(0.0))
    })
}
