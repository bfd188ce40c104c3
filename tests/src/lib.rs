//! Rigs for tests of the whole daemon: a daemon of their own, hosts in network namespaces, and
//! capture files.
//!
//! Every daemon and namespace has a name of its own and is gone when its guard is dropped, also
//! when the test fails.
#![forbid(unsafe_code)]

pub mod capture;
mod daemon;
mod guest;
mod hosts;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use daemon::{Answer, Daemon, program};
pub use guest::Guest;
pub use hosts::{Host, Running, TwoHosts};

/// A unique name on this machine.
pub fn unique() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("fvt{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The folder of this crate's capture files.
pub fn captures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/pcap"))
}

/// Says why a test does nothing.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Whether the test may make network namespaces; says so if not.
pub fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip("needs root for network namespaces");
    }
    is_root
}

/// Whether tests that depend on time are wanted (`FERROVIA_TIMING=1`); says so if not.
pub fn is_timing_wanted() -> bool {
    let is_wanted = std::env::var_os("FERROVIA_TIMING").is_some();
    if !is_wanted {
        skip("depends on time; FERROVIA_TIMING=1 runs it");
    }
    is_wanted
}

/// Whether a program is installed; says so if not.
pub fn has(program: &str) -> bool {
    let has = Command::new(program).arg("--version").output().is_ok();
    if !has {
        skip(&format!("{program} is not installed"));
    }
    has
}

/// A Python with the clients' own library: `FERROVIA_PAPI`, or the environment that `make test`
/// keeps in the target folder. Says so if there is none.
pub fn papi() -> Option<String> {
    let found = std::env::var("FERROVIA_PAPI").ok().or_else(|| kept("python"));
    if found.is_none() {
        skip("no Python with vpp_papi: FERROVIA_PAPI names one");
    }
    found
}

/// A Go that builds programs with govpp: the machine's, when it is new enough to fetch what it
/// lacks (1.21), or that of the environment which `make test` keeps. Says so if there is none.
pub fn go() -> Option<String> {
    let is_new = |go: &String| {
        let version = Command::new(go).args(["env", "GOVERSION"]).output().ok()?;
        let text = String::from_utf8_lossy(&version.stdout).into_owned();
        let minor: u32 = text.trim().strip_prefix("go1.")?.split('.').next()?.parse().ok()?;
        Some(minor >= 21)
    };
    let candidates = [Some("go".to_owned()), kept("go")].into_iter().flatten();
    let found = candidates.into_iter().find(|go| is_new(go) == Some(true));
    if found.is_none() {
        skip("no Go from 1.21 on");
    }
    found
}

/// A program of the environment that `make test` keeps in the target folder.
fn kept(program: &str) -> Option<String> {
    let target = std::env::current_exe().ok()?;
    let path = target.ancestors().nth(3)?.join("papi/bin").join(program);
    path.exists().then(|| path.display().to_string())
}

/// Longest wait for an event on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `is_so`, at most half a minute; whether it became so.
pub fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(20));
    }
}

/// Output of a program, both streams.
fn text_of(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}
