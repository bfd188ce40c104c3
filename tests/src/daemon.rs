//! A daemon of the test's own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{eventually, unique};

/// A running daemon with its own folder and sockets. Dropping it ends it.
pub struct Daemon {
    command: Command,
    child: Child,
    folder: PathBuf,
}

/// The answer of `fvctl` to one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether the exit status was 0.
    pub is_ok: bool,
    /// Standard output.
    pub text: String,
    /// Standard error.
    pub error: String,
}

impl Daemon {
    /// Starts one that has run `setup`.
    ///
    /// # Panics
    /// When it does not start or a line of `setup` fails.
    pub fn start(setup: &[&str]) -> Self {
        Self::start_by(Command::new(program("ferrovia")), "", setup)
    }

    /// Starts one with these lines more in its configuration.
    pub fn start_with(config: &str, setup: &[&str]) -> Self {
        Self::start_by(Command::new(program("ferrovia")), config, setup)
    }

    /// Starts one in a network namespace, with these lines more in its configuration.
    pub fn start_in(namespace: &str, config: &str, setup: &[&str]) -> Self {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(program("ferrovia"));
        Self::start_by(command, config, setup)
    }

    /// Starts one by a command of the caller's, with these lines more in its configuration.
    ///
    /// # Panics
    /// As [`Daemon::start`].
    pub fn start_by(mut command: Command, more: &str, setup: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(unique());
        fs::create_dir_all(&folder).expect("a folder for the daemon");
        let dir = folder.display();
        let config = format!(
            "unix {{ nodaemon runtime-dir {dir} cli-listen {dir}/cli.sock log {dir}/log }}\n\
             statseg {{ socket-name {dir}/stats.sock }}\n\
             socksvr {{ socket-name {dir}/api.sock }}\n{more}\n"
        );
        fs::write(folder.join("startup.conf"), config).expect("a configuration file");
        let output = File::create(folder.join("output")).expect("a file for its output");
        command
            .arg("-c")
            .arg(folder.join("startup.conf"))
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second handle"))
            .stderr(output);
        let child = command.spawn().expect("the daemon is built: cargo build -p ferrovia -p fvctl");
        let mut daemon = Self { command, child, folder };
        daemon.wait();
        for line in setup {
            daemon.tell(line);
        }
        daemon
    }

    /// Starts one with a configuration of its own, whose socket of the command line is in `folder`.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_file(folder: PathBuf, config: &Path) -> Self {
        let output = File::create(folder.join("output")).expect("a file for its output");
        let mut command = Command::new(program("ferrovia"));
        command.arg("-c").arg(config).stdin(Stdio::null());
        command.stdout(output.try_clone().expect("a second handle")).stderr(output);
        let child = command.spawn().expect("the daemon is built: cargo build -p ferrovia -p fvctl");
        let mut daemon = Self { command, child, folder };
        daemon.wait();
        daemon
    }

    /// Kills it, as a crash would end it, and starts it again at once, as its supervisor would.
    ///
    /// # Panics
    /// When it does not start.
    pub fn kill_and_start(&mut self) {
        self.child.kill().expect("the daemon runs");
        self.child.wait().expect("it is our child");
        self.child = self.command.spawn().expect("it started before");
        self.wait();
    }

    /// Waits until it answers.
    fn wait(&mut self) {
        let mut has_ended = false;
        eventually(|| {
            has_ended = self.child.try_wait().expect("it is our child").is_some();
            has_ended || self.ask("show version").is_ok
        });
        let is_up = !has_ended && self.ask("show version").is_ok;
        assert!(is_up, "the daemon does not start");
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        let state = state.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| state != 'Z')
    }

    /// Its folder: for files of the test.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The answer to one command.
    pub fn ask(&self, line: &str) -> Answer {
        self.fvctl(&[line])
    }

    /// The text of a command that succeeds.
    ///
    /// # Panics
    /// When it does not.
    pub fn tell(&self, line: &str) -> String {
        let answer = self.ask(line);
        assert!(answer.is_ok, "`{line}` failed: {}{}", answer.text, answer.error);
        answer.text
    }

    /// The answer to `fvctl` with these arguments.
    pub fn fvctl(&self, arguments: &[&str]) -> Answer {
        let output = self
            .fvctl_command()
            .args(arguments)
            .output()
            .expect("fvctl is built: cargo build -p ferrovia -p fvctl");
        Answer {
            is_ok: output.status.success(),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
            error: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// `fvctl` for this daemon, without arguments of its own.
    pub fn fvctl_command(&self) -> Command {
        let mut command = Command::new(program("fvctl"));
        command.arg("-s").arg(self.folder.join("cli.sock")).stdin(Stdio::null());
        command
    }

    /// Starts all packet-generator streams and waits until their packets are through.
    pub fn generate(&self) {
        self.tell("packet-generator enable");
        let is_done = || !self.tell("show packet-generator").contains("Yes");
        assert!(eventually(is_done), "the generator does not end");
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the daemon runs");
    }

    /// Ends it with SIGTERM. `None` when it does not end.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        let mut status = None;
        eventually(|| {
            status = self.child.try_wait().expect("it is our child");
            status.is_some()
        });
        status
    }

    fn output(&self) -> String {
        fs::read_to_string(self.folder.join("output")).unwrap_or_default()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the daemon said:\n{}", self.output());
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            eprintln!("its log:\n{log}");
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A program of this workspace, built for the same profile as the test (or found in the folder that
/// `FERROVIA_PROGRAMS` names).
///
/// # Panics
/// When the test is no file, or the program is not built.
pub fn program(name: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os("FERROVIA_PROGRAMS") {
        return Path::new(&folder).join(name);
    }
    let test = std::env::current_exe().expect("the test is a file");
    let profile = test.parent().and_then(Path::parent).expect("tests are in PROFILE/deps");
    let program = profile.join(name);
    // `cargo test --workspace` builds a package's programs for its own tests in `tests/`.
    assert!(program.exists(), "{} is not built: cargo build --bins", program.display());
    program
}
