//! Going into the background without `fork`: the program starts itself once more, in a session of
//! its own, and the first one ends when the second is ready, so that who started it may connect at
//! once.

use std::env;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};

/// Set for the second process.
const MARK: &str = "FERROVIA_IN_BACKGROUND";

/// One of the two processes.
pub enum Side {
    /// The first: the daemon, a process of this number, is ready.
    Parent(u32),
    /// The second.
    Daemon(Ready),
}

/// Lets go of the terminal when the daemon is ready.
pub struct Ready;

/// Starts the daemon and waits until it is ready, or finds that this is the daemon.
pub fn enter() -> Result<Side, String> {
    if env::var_os(MARK).is_some() {
        // It fails only for the leader of a group, which is as good.
        let _ = rustix::process::setsid();
        return Ok(Side::Daemon(Ready));
    }
    let failed = |e: std::io::Error| format!("cannot become a daemon: {e}");
    // Under its name, by which it is found among processes; the file may have been replaced.
    let program = env::current_exe().ok().filter(|path| path.exists());
    let mut args = env::args_os();
    let mut daemon = Command::new(program.unwrap_or_else(|| "/proc/self/exe".into()))
        .arg0(args.next().unwrap_or_else(|| "ferrovia".into()))
        .args(args)
        .env(MARK, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut byte = [0];
    let ready = daemon.stdout.take().map(|mut out| out.read(&mut byte));
    if matches!(ready, Some(Ok(1))) {
        return Ok(Side::Parent(daemon.id()));
    }
    let status = daemon.wait().map_err(failed)?;
    Err(format!("the daemon did not start ({status})"))
}

impl Ready {
    /// Tells the first process and closes the terminal.
    pub fn tell(self) {
        // The parent process may have ended.
        let _ = std::io::stdout().write_all(b"+").and_then(|()| std::io::stdout().flush());
        if let Ok(null) = open("/dev/null", OFlags::RDWR, Mode::empty()) {
            let _ = rustix::stdio::dup2_stdout(&null);
            let _ = rustix::stdio::dup2_stderr(&null);
        }
    }
}
