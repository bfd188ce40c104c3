//! Captures as they are asked for.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use control::api::Retval;
use net::{InterfaceIndex, Router};

/// Folder of files that are named without one.
const FOLDER: &str = "/tmp";

/// Packets to capture.
#[derive(Clone, Debug, Default)]
pub struct CaptureRequest {
    /// Received packets.
    pub rx: bool,
    /// Sent packets.
    pub tx: bool,
    /// Dropped packets.
    pub drop: bool,
    /// Packets at these nodes.
    pub nodes: Vec<String>,
    /// Packets at the features of these arcs.
    pub arcs: Vec<String>,
    /// Only what belongs to these interfaces; to any if there is none.
    pub interfaces: Vec<InterfaceIndex>,
    /// Only what was dropped for these reasons, `node.reason`, or by these nodes; for any if there
    /// is none.
    pub reasons: Vec<String>,
    /// Bytes of each packet at most.
    pub most_bytes: usize,
}

impl CaptureRequest {
    /// Captured packets, in words.
    pub fn what(&self) -> Vec<String> {
        let chosen = [(self.rx, "rx"), (self.tx, "tx"), (self.drop, "drop")];
        let mut what: Vec<_> = chosen.iter().filter(|c| c.0).map(|c| c.1.to_owned()).collect();
        what.extend(self.nodes.iter().map(|name| format!("node {name}")));
        what.extend(self.arcs.iter().map(|name| format!("arc {name}")));
        what
    }
}

/// Reasons why a capture cannot start or end.
#[derive(Debug)]
pub enum Error {
    /// Nothing to capture was named.
    Nothing,
    /// One is running.
    Running,
    /// One of this name is running.
    Taken(String),
    /// None is running.
    NotRunning,
    /// None has this name.
    NoCapture(String),
    /// No counter has this name.
    NoReason(String),
    /// No node has this name.
    NoNode(String),
    /// The node is given no packets: it brings them in.
    Input(String),
    /// No arc has this name.
    NoArc(String),
    /// The filter is none: its text, and why.
    Filter(String, String),
    /// No file can have this name.
    Name(String),
    /// There is not as much memory.
    NoMemory,
    /// The file cannot be written.
    Write(PathBuf, io::Error),
    /// The capture has no reader.
    NoReader,
    /// A thread does not answer.
    NoAnswer(graph::NoAnswer),
}

impl Error {
    /// The error of a file.
    pub fn of(path: &Path, e: io::Error) -> Self {
        Self::Write(path.to_owned(), e)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("expected rx, tx or drop"),
            Self::Running => f.write_str("a capture is already running"),
            Self::Taken(name) => write!(f, "capture `{name}' is already running"),
            Self::NotRunning => f.write_str("no capture is running"),
            Self::NoCapture(name) => write!(f, "no capture `{name}'"),
            Self::NoReason(name) => write!(f, "unknown reason `{name}': expected <node>.<reason>"),
            Self::NoNode(name) => write!(f, "unknown node `{name}'"),
            Self::Input(name) => {
                write!(f, "`{name}' is an input node: use capture rx instead")
            }
            Self::NoArc(name) => write!(f, "unknown arc `{name}': see `show features'"),
            Self::Filter(text, why) => write!(f, "`{text}': {why}"),
            Self::Name(name) => write!(f, "`{name}' is not a valid file name"),
            Self::NoMemory => f.write_str("out of memory"),
            Self::Write(path, e) => {
                write!(f, "write `{}': {}", path.display(), control::cli::io_text(e))
            }
            Self::NoReader => f.write_str("it has no reader"),
            Self::NoAnswer(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Write(PathBuf::new(), e)
    }
}

impl From<Error> for Retval {
    fn from(e: Error) -> Self {
        match e {
            Error::Running | Error::Taken(_) => Self::VALUE_EXIST,
            Error::NotRunning | Error::NoCapture(_) => Self::NO_SUCH_ENTRY,
            Error::Nothing | Error::Name(_) | Error::Filter(..) => Self::INVALID_VALUE,
            Error::NoReason(_) | Error::NoArc(_) => Self::NO_SUCH_LABEL,
            Error::NoNode(_) | Error::Input(_) => Self::NO_SUCH_NODE,
            Error::NoMemory => Self::TABLE_TOO_BIG,
            Error::Write(..) => Self::SYSCALL_ERROR_1,
            Error::NoReader | Error::NoAnswer(_) => Self::UNSPECIFIED,
        }
    }
}

/// The place of a file of this name.
///
/// # Errors
/// [`Error::Name`]: a folder, or a path that climbs.
pub fn place(name: &str) -> Result<PathBuf, Error> {
    let path = Path::new(FOLDER).join(name);
    let climbs = path.components().any(|c| c == Component::ParentDir);
    if climbs || path.file_name().is_none() || path == Path::new(FOLDER) {
        return Err(Error::Name(name.to_owned()));
    }
    Ok(path)
}

/// The counter of a reason named `node.reason`, or `{node}.{reason}` as clients write it; those of
/// all reasons of a node named `node`.
///
/// # Errors
/// [`Error::NoReason`].
pub fn reasons(router: &Router, name: &str) -> Result<Vec<u32>, Error> {
    let bare = name.strip_prefix('{').and_then(|n| n.strip_suffix('}')?.split_once("}.{"));
    let pair = bare.or_else(|| name.split_once('.'));
    let is_one = |node: &str, reason: &str| match pair {
        Some(pair) => pair == (node, reason),
        None => node == name,
    };
    let counters = router.engine.counters();
    let found: Vec<_> = counters.filter(|c| is_one(c.1, c.2.name)).map(|c| c.0).collect();
    if found.is_empty() { Err(Error::NoReason(name.to_owned())) } else { Ok(found) }
}
