//! A daemon on its core, and commands to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use infra::cpu;

use crate::clock;
use crate::options::Programs;
use crate::window::Window;

/// Processors that a daemon may run on.
#[derive(Clone, Copy, Debug)]
pub enum Cores {
    /// This one only, for control too.
    One(usize),
    /// All there are, the data plane on one of them.
    All {
        /// This one.
        main: usize,
    },
    /// All there are, with a worker on each of these.
    Workers([usize; 2]),
}

/// A running daemon, ended when dropped.
pub struct Daemon {
    /// Name in the results.
    pub name: &'static str,
    child: Child,
    ctl: PathBuf,
    socket: PathBuf,
    core: usize,
}

impl Daemon {
    /// Starts a daemon; its files go to `folder`.
    ///
    /// # Errors
    /// The system's, or that it does not answer.
    pub fn start(programs: &Programs, cores: Cores, folder: &Path) -> io::Result<Self> {
        let (Cores::One(core) | Cores::All { main: core } | Cores::Workers([core, _])) = cores;
        let threads = match cores {
            Cores::Workers([one, two]) => format!("corelist-workers {one},{two}"),
            _ => format!("main-core {core}"),
        };
        let folder = folder.join(programs.name);
        fs::create_dir_all(&folder)?;
        let folder = fs::canonicalize(folder)?;
        let f = folder.display();
        let socket = folder.join("cli.sock");
        let _ = fs::remove_file(&socket); // of an earlier run
        let words = format!(
            "unix {{ nodaemon cli-listen {f}/cli.sock runtime-dir {f} log {f}/log }} \
             cpu {{ {threads} }} buffers {{ buffers-per-numa 32768 }} \
             memory {{ main-heap-size 8G main-heap-page-size default }} \
             statseg {{ size 512M socket-name {f}/stats.sock }} \
             socksvr {{ socket-name {f}/api.sock }} api-segment {{ prefix bench{} }}",
            programs.name
        );
        let mut command = Command::new(&programs.daemon);
        command.args(words.split_whitespace()).stdin(Stdio::null());
        command.stdout(File::create(folder.join("out"))?);
        command.stderr(File::create(folder.join("err"))?);
        // A child may run where the thread that makes it may.
        let place = move || match cores {
            Cores::One(core) => cpu::pin(core),
            Cores::All { .. } | Cores::Workers(_) => Ok(()),
        };
        let spawn = move || place().and_then(|()| command.spawn());
        let child = thread::spawn(spawn).join().expect("spawning does not panic")?;
        let ctl = programs.ctl.clone();
        let daemon = Self { name: programs.name, child, ctl, socket, core };
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(100));
            if daemon.socket.exists() && daemon.run("show version").contains('v') {
                return Ok(daemon);
            }
        }
        Err(io::Error::other(format!("{} does not answer", programs.daemon.display())))
    }
    /// Runs a command and returns its output.
    pub fn run(&self, line: &str) -> String {
        let mut command = Command::new(&self.ctl);
        command.arg("-s").arg(&self.socket).arg(line).stdin(Stdio::null());
        match command.output() {
            Ok(output) => {
                let said = [output.stdout, output.stderr].concat();
                String::from_utf8_lossy(&said).trim().to_owned()
            }
            Err(e) => format!("{}: {e}", self.ctl.display()),
        }
    }
    /// One window of measurement.
    pub fn window(&self, seconds: f64) -> Option<Window> {
        let before = clock::core_ghz(self.core);
        self.run("clear runtime");
        thread::sleep(Duration::from_secs_f64(seconds));
        let text = self.run("show runtime");
        let core_ghz = before.min(clock::core_ghz(self.core));
        Some(Window { core_ghz, ..Window::parse(&text)? })
    }
    /// Megabytes of memory at the most so far.
    pub fn peak_mb(&self) -> u64 {
        self.status("VmHWM:") / 1024
    }
    /// Megabytes of memory now.
    pub fn memory_mb(&self) -> u64 {
        self.status("VmRSS:") / 1024
    }
    fn status(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Nothing of it is to be kept, so it need not take leave.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
