//! `unix { nodaemon runtime-dir DIR cli-listen DIR/cli.sock exec FILE }`.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::stanza::{Error, Section};
use super::values::Size;
use crate::cli::Args;

/// The process, its files and its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unix {
    /// Stay in the foreground.
    pub nodaemon: bool,
    /// Log to standard error, not to the system's log.
    pub nosyslog: bool,
    /// Keep big mappings in a core dump.
    pub full_coredump: bool,
    /// Largest core dump; `u64::MAX` for `unlimited`.
    pub coredump_size: Option<Size>,
    /// Command line on standard input.
    pub interactive: bool,
    /// No greeting in interactive sessions.
    pub nobanner: bool,
    /// Files of commands to run at start, in order.
    pub exec: Vec<PathBuf>,
    /// File of the configuration, loaded at start before [`exec`](Self::exec) and written by
    /// `save`.
    pub startup_config: Option<PathBuf>,
    /// Socket of the command line; in the runtime folder when not given.
    pub cli_listen: Option<Listen>,
    /// Prompt of interactive sessions; `vpp# ` when not given.
    pub cli_prompt: Option<String>,
    /// No stop at the end of each page.
    pub cli_no_pager: bool,
    /// No echo and no editing: for terminals that do it themselves.
    pub cli_line_mode: bool,
    /// Lines kept of each session.
    pub cli_history_limit: Option<usize>,
    /// Folder of the sockets.
    pub runtime_dir: Option<PathBuf>,
    /// File that commands and log entries are appended to.
    pub log: Option<PathBuf>,
    /// Group of the process, by name or number.
    pub gid: Option<String>,
    /// Microseconds to sleep in each turn of the data plane.
    pub poll_sleep_usec: Option<u32>,
    /// Capabilities that are kept after the start: `all`, `none` or names; those a router needs
    /// when not given.
    pub capabilities: Option<String>,
    /// File the process writes its number to.
    pub pidfile: Option<PathBuf>,
}

/// An address the command line listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A socket in the file system.
    Unix(PathBuf),
    /// `host:port`.
    Tcp(String),
}

impl FromStr for Listen {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let is_tcp = !text.contains('/')
            && text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Ok(if is_tcp { Self::Tcp(text.to_owned()) } else { Self::Unix(text.into()) })
    }
}

impl Unix {
    /// The folder of the sockets: as configured, else the system's place for this user.
    pub fn runtime_dir(&self) -> PathBuf {
        self.runtime_dir.clone().unwrap_or_else(default_runtime_dir)
    }

    /// The file that `save` writes: as configured, else `configuration` in the state folder of the
    /// service (`STATE_DIRECTORY`, as systemd gives it) or in the folder of the sockets.
    pub fn startup_config(&self) -> PathBuf {
        let folder = || {
            let state = std::env::var_os("STATE_DIRECTORY").filter(|_| self.runtime_dir.is_none());
            state.map_or_else(|| self.runtime_dir(), PathBuf::from)
        };
        self.startup_config.clone().unwrap_or_else(|| folder().join("configuration"))
    }

    /// Whether [`startup_config`](Self::startup_config) is loaded at start: not if files to carry
    /// out are named and this one is not.
    pub fn loads_startup_config(&self) -> bool {
        self.startup_config.is_some() || self.exec.is_empty()
    }

    /// Socket of the command line.
    pub fn cli_listen(&self) -> Listen {
        let default = || Listen::Unix(self.runtime_dir().join("cli.sock"));
        self.cli_listen.clone().unwrap_or_else(default)
    }

    /// The prompt of interactive sessions.
    pub fn prompt(&self) -> String {
        self.cli_prompt.as_ref().map_or_else(|| "vpp# ".to_owned(), |p| format!("{p} "))
    }
}

/// `/run/vpp` for root; for others in their folder below `/run/user`, or in `/tmp`.
fn default_runtime_dir() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return PathBuf::from("/run/vpp");
    }
    let system = PathBuf::from(format!("/run/user/{}", uid.as_raw()));
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let existing = [Some(system), session].into_iter().flatten().find(|dir| dir.is_dir());
    existing.map_or_else(
        || Path::new("/tmp").join(format!("vpp-{}", uid.as_raw())),
        |dir| dir.join("vpp"),
    )
}

impl Section for Unix {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "nodaemon" => self.nodaemon = true,
            "nosyslog" => self.nosyslog = true,
            "full-coredump" => self.full_coredump = true,
            "coredump-size" if args.keyword("unlimited") => {
                self.coredump_size = Some(Size(u64::MAX));
            }
            "coredump-size" => self.coredump_size = Some(args.value(word)?),
            "interactive" => self.interactive = true,
            "nobanner" | "cli-no-banner" => self.nobanner = true,
            "nocolor" | "cli-no-color" | "use-current-dir" => {}
            "exec" => self.exec.push(args.value(word)?),
            "startup-config" => self.startup_config = Some(args.value(word)?),
            "cli-listen" => self.cli_listen = Some(args.value(word)?),
            "cli-prompt" => self.cli_prompt = Some(args.value(word)?),
            "cli-no-pager" => self.cli_no_pager = true,
            "cli-line-mode" => self.cli_line_mode = true,
            "cli-history-limit" => self.cli_history_limit = Some(args.value(word)?),
            "cli-pager-buffer-limit" => drop(args.value::<u32>(word)?),
            "runtime-dir" => self.runtime_dir = Some(args.value(word)?),
            "log" => self.log = Some(args.value(word)?),
            "gid" => self.gid = Some(args.value(word)?),
            "poll-sleep-usec" => self.poll_sleep_usec = Some(args.value(word)?),
            "capabilities" => self.capabilities = Some(args.value(word)?),
            "pidfile" => self.pidfile = Some(args.value(word)?),
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}
