//! The process in its system: limits, folders, files, and what happens on a panic.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use control::cli::io_text;
use control::config::Unix;
use control::log::Log;
use infra::capabilities::Capabilities;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Panics that are not in the log yet.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Most of them that are kept.
const MOST_PANICS: usize = 64;

/// Gives up privileges that nothing here needs, takes as many file descriptors as it may have,
/// never leaves a core file behind, and says of a panic one line only: panics are caught where they
/// happen, and the router goes on.
pub fn prepare(unix: &Unix) -> Result<(), String> {
    let failed = |e| format!("cannot give up capabilities: {}", io_text(&e));
    kept(unix)?.and(Capabilities::START).keep_only().map_err(failed)?;
    // A limit may always be lowered.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    // Thousands of clients may connect.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let text = panic.payload_as_str().unwrap_or("panic");
        let place = panic.location().map(|l| format!(" at {l}")).unwrap_or_default();
        let line = format!("thread {name} panicked{place}: {text}").replace('\n', " ");
        // Nobody could be told that standard error is gone.
        let _ = writeln!(std::io::stderr(), "ferrovia: {line}");
        let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
        if panics.len() < MOST_PANICS {
            panics.push(line);
        }
    }));
    Ok(())
}

/// The panics since the last call, for the log.
pub fn panics() -> Vec<String> {
    std::mem::take(&mut PANICS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Files that are there as long as the daemon runs.
pub struct Surroundings {
    pidfile: Option<PathBuf>,
}

impl Surroundings {
    /// Makes the runtime folder and writes the process number.
    pub fn make(unix: &Unix) -> Result<Self, String> {
        let folder = unix.runtime_dir();
        let failed = |what: &str, path: &Path, e: std::io::Error| {
            format!("{what} {}: {}", path.display(), io_text(&e))
        };
        fs::create_dir_all(&folder).map_err(|e| failed("cannot make runtime-dir", &folder, e))?;
        give_to_group(unix, &folder)?;
        if unix.gid.is_some() {
            inherit_group(&folder);
        }
        if let Some(path) = &unix.pidfile {
            let number = format!("{}\n", std::process::id());
            fs::write(path, number).map_err(|e| failed("cannot write pidfile", path, e))?;
        }
        Ok(Self { pidfile: unix.pidfile.clone() })
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        // Somebody may have cleaned up already, and the next router may have written its own.
        if let Some(path) = &self.pidfile
            && fs::read_to_string(path).is_ok_and(|n| n.trim() == std::process::id().to_string())
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Gives a file to the group of `unix { gid G }`, so that its members may use the sockets.
pub fn give_to_group(unix: &Unix, path: &Path) -> Result<(), String> {
    let Some(group) = &unix.gid else { return Ok(()) };
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let number = group.parse().ok().or_else(|| group_number(&groups, group));
    let number = number.ok_or_else(|| format!("unix: gid: no group is called {group}"))?;
    chown(path, None, Some(number))
        .map_err(|e| format!("cannot give {} to group {group}: {}", path.display(), io_text(&e)))
}

/// Has sockets that commands make in a folder later belong to its group. Where that is forbidden,
/// as by `RestrictSUIDSGID` of systemd, `Group` has to say it.
fn inherit_group(folder: &Path) {
    if let Ok(meta) = fs::metadata(folder) {
        let mode = meta.permissions().mode() | 0o2000;
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode));
    }
}

/// Capabilities to keep as long as the daemon runs.
pub fn kept(unix: &Unix) -> Result<Capabilities, String> {
    let kept = unix.capabilities.as_deref().map_or(Ok(Capabilities::ROUTER), str::parse);
    kept.map_err(|why| format!("unix: capabilities: {why}"))
}

/// Gives up what only the start needed, and says in the log what is left.
pub fn give_up(unix: &Unix, log: &Log) -> Result<(), String> {
    let failed = |e| format!("cannot give up capabilities: {}", io_text(&e));
    let left = kept(unix)?.keep_only().map_err(failed)?;
    log.class("main", "capabilities").notice(format_args!("kept: {left}"));
    Ok(())
}

/// Looks a group up by name in the text of `/etc/group`.
fn group_number(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_name() {
        let text = "root:x:0:\nrouters:x:998:alice,bob\n";
        assert_eq!(group_number(text, "routers"), Some(998));
        assert_eq!(group_number(text, "route"), None);
    }
}
