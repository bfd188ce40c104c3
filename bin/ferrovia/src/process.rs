//! The process in its system: limits, folders, files, and what happens on a panic.

use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use control::cli::io_text;
use control::config::{Config, Listen, Unix};
use control::log::Log;
use control::socket::is_trusted_folder;
use infra::capabilities::Capabilities;
use rustix::fs::{Access, Mode, access};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

/// Panics that are not in the log yet.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Most of them that are kept.
const MOST_PANICS: usize = 64;

/// Gives up privileges that nothing here needs, takes as many file descriptors as it may have,
/// never leaves a core file or one that others may write, and says of a panic one line only: panics
/// are caught where they happen, and the router goes on.
pub fn prepare(unix: &Unix) -> Result<(), String> {
    let failed = |e| format!("cannot drop capabilities: {}", io_text(&e));
    kept(unix)?.and(Capabilities::START).keep_only().map_err(failed)?;
    // A limit may always be lowered.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    umask(umask(Mode::empty()) | Mode::WOTH);
    // Thousands of clients may connect.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let text = panic.payload_as_str().unwrap_or("panic");
        let place = panic.location().map(|l| format!(" at {l}")).unwrap_or_default();
        let line = format!("thread {name} panicked{place}: {text}").replace('\n', " ");
        // Standard error is closed: nowhere to report this.
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

/// Files that exist as long as the daemon runs.
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
        let made = DirBuilder::new().recursive(true).mode(mode_of(unix)).create(&folder);
        made.map_err(|e| failed("cannot make runtime-dir", &folder, e))?;
        is_trusted(unix)?;
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
        // The file may have been removed, and the next router may have written its own.
        if let Some(path) = &self.pidfile
            && fs::read_to_string(path).is_ok_and(|n| n.trim() == std::process::id().to_string())
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Mode of a runtime folder that is created: private in `/tmp`.
fn mode_of(unix: &Unix) -> u32 {
    if unix.runtime_dir().starts_with("/tmp") && unix.runtime_dir.is_none() { 0o700 } else { 0o777 }
}

/// Checks that no other user controls the default folder of the sockets.
fn is_trusted(unix: &Unix) -> Result<(), String> {
    let folder = unix.runtime_dir();
    if unix.runtime_dir.is_some() || !folder.exists() {
        return Ok(());
    }
    let advice = "name a folder, unix { runtime-dir }";
    is_trusted_folder(&folder).map_err(|why| format!("{why}: {advice}"))
}

/// Writes the log to a file, in a folder that is created.
pub fn write_log(log: &Log, path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), fs::create_dir_all);
    let failed = |e| format!("cannot write log {}: {}", path.display(), io_text(&e));
    made.and_then(|()| log.write_to(path)).map_err(failed)
}

/// Finds what the start would fail on: groups, capabilities, folders of files.
pub fn check(config: &Config) -> Result<(), String> {
    let unix = &config.unix;
    kept(unix)?;
    group(unix)?;
    let runtime = unix.runtime_dir();
    let failed = |what: &str, path: &Path, why: &str| format!("{what} {}: {why}", path.display());
    let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    is_trusted(unix)?;
    may_write(&runtime).map_err(|why| failed("cannot make runtime-dir", &runtime, &why))?;
    if let Some(log) = &unix.log {
        let target = if log.exists() { log.clone() } else { folder(log) };
        may_write(&target).map_err(|why| failed("cannot write log", log, &why))?;
    }
    if let Some(pidfile) = &unix.pidfile {
        let is_there = folder(pidfile) == runtime || folder(pidfile).is_dir();
        let why = "No such file or directory";
        is_there.then_some(()).ok_or_else(|| failed("cannot write pidfile", pidfile, why))?;
    }
    let cli = match unix.cli_listen() {
        Listen::Unix(path) => Some(path),
        Listen::Tcp(_) => None,
    };
    let sockets = [cli, config.socksvr.socket_name.clone(), config.statseg.socket_name.clone()];
    for socket in sockets.iter().flatten() {
        // Folders of sockets below /run are made.
        let is_made = socket.starts_with("/run") || folder(socket) == runtime;
        if !is_made && !folder(socket).is_dir() && folder(socket) != Path::new("") {
            return Err(failed("cannot listen on", socket, "No such file or directory"));
        }
    }
    Ok(())
}

/// Whether a file can be written, or files in a folder that may have to be made.
fn may_write(path: &Path) -> Result<(), String> {
    let there = path.ancestors().map(|path| match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    });
    let mut there = there.filter(|path| path.exists());
    let Some(first) = there.next() else { return Ok(()) };
    if first != path && !first.is_dir() {
        return Err("Not a directory".to_owned());
    }
    access(first, Access::WRITE_OK).map_err(|e| io_text(&e.into()))
}

/// Number of the group of `unix { gid G }`.
fn group(unix: &Unix) -> Result<Option<u32>, String> {
    let Some(group) = &unix.gid else { return Ok(None) };
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let number = group.parse().ok().or_else(|| group_number(&groups, group));
    number.map(Some).ok_or_else(|| format!("unix: gid: no group {group}"))
}

/// Gives a file to the group of `unix { gid G }`, so that its members may use the sockets.
pub fn give_to_group(unix: &Unix, path: &Path) -> Result<(), String> {
    let Some(number) = group(unix)? else { return Ok(()) };
    let failed = |e| format!("cannot give {} to group {number}: {}", path.display(), io_text(&e));
    chown(path, None, Some(number)).map_err(failed)
}

/// Makes sockets that commands create later in a folder belong to its group. Where that is
/// forbidden, as by `RestrictSUIDSGID` of systemd, `Group` has to be set.
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
    let failed = |e| format!("cannot drop capabilities: {}", io_text(&e));
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
