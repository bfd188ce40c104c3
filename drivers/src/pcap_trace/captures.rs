//! Starting and ending captures.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use control::api::Retval;
use graph::{CounterText, NodeIndex, Watch};
use net::interface::Change;
use net::{InterfaceIndex, Router};

use super::dispatch::{self, Dispatches};
use super::points::Points;
use super::store::{Form, Store};
use crate::host::background::Background;
use crate::pcap;

/// Folder of files that are named without one.
const FOLDER: &str = "/tmp";

/// Nodes at which dropped packets end: some are answered by an ICMP error.
const DROPS: [&str; 3] = ["error-drop", "ip4-icmp-error", "ip6-icmp-error"];

/// The number of packets written, and the file.
pub type Written = Result<(usize, PathBuf), Error>;

/// Packets to capture.
#[derive(Debug, Default)]
pub struct CaptureRequest {
    /// Received packets.
    pub rx: bool,
    /// Sent packets.
    pub tx: bool,
    /// Dropped packets.
    pub drop: bool,
    /// Only what the filter of captures chooses: nothing while there is none.
    pub filter: bool,
    /// Packets at most.
    pub most: usize,
    /// Bytes of each packet at most.
    pub most_bytes: usize,
    /// Only what belongs to this interface.
    pub interface: Option<InterfaceIndex>,
    /// Only what was dropped for this reason: `node.reason`.
    pub error: Option<String>,
    /// Name of the file; one that says what is captured if `None`.
    pub file: Option<String>,
    /// Whether memory is taken at once.
    pub at_once: bool,
}

impl CaptureRequest {
    /// Captured packets, in words.
    pub fn what(&self) -> Vec<&'static str> {
        let chosen = [(self.rx, "rx"), (self.tx, "tx"), (self.drop, "drop")];
        chosen.iter().filter(|c| c.0).map(|c| c.1).collect()
    }
}

/// Reasons why a capture cannot start or end.
#[derive(Debug)]
pub enum Error {
    /// Nothing to capture was named.
    Nothing,
    /// One is running.
    Running,
    /// None is running.
    NotRunning,
    /// No counter has this name.
    NoReason(String),
    /// No file can have this name.
    Name(String),
    /// There is not as much memory.
    NoMemory,
    /// The file cannot be written.
    Write(PathBuf, io::Error),
    /// A thread does not answer.
    NoAnswer(graph::NoAnswer),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("expected rx, tx or drop"),
            Self::Running => f.write_str("a capture is running already"),
            Self::NotRunning => f.write_str("no capture is running"),
            Self::NoReason(name) => write!(f, "unknown reason `{name}': expected <node>.<reason>"),
            Self::Name(name) => write!(f, "`{name}' is no name for a file"),
            Self::NoMemory => f.write_str("there is not as much memory"),
            Self::Write(path, e) => {
                write!(f, "write `{}': {}", path.display(), control::cli::io_text(e))
            }
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
            Error::Running => Self::VALUE_EXIST,
            Error::NotRunning => Self::NO_SUCH_ENTRY,
            Error::Nothing | Error::Name(_) => Self::INVALID_VALUE,
            Error::NoReason(_) => Self::NO_SUCH_LABEL,
            Error::NoMemory => Self::TABLE_TOO_BIG,
            Error::Write(..) => Self::SYSCALL_ERROR_1,
            Error::NoAnswer(_) => Self::UNSPECIFIED,
        }
    }
}

/// A capture at work and where it will be written.
pub struct Running<W> {
    /// Watcher of the packets.
    pub watcher: Arc<W>,
    /// The file.
    pub path: PathBuf,
    /// Captured packets, in words.
    pub what: String,
}

/// The captures: one at interfaces, one at nodes.
#[derive(Default)]
pub struct Captures {
    /// Of packets that come in, go out or are dropped.
    pub trace: Option<Running<Points>>,
    /// Of packets at every node.
    pub dispatch: Option<Running<Dispatches>>,
}

impl Captures {
    /// Starts capturing received, sent or dropped packets.
    ///
    /// # Errors
    /// See [`Error`]; nothing is captured then.
    pub fn start(&mut self, router: &mut Router, wanted: &CaptureRequest) -> Result<(), Error> {
        if self.trace.is_some() {
            return Err(Error::Running);
        }
        let what = wanted.what();
        if what.is_empty() {
            return Err(Error::Nothing);
        }
        let usual = format!("{}.pcap", what.concat());
        let path = place(wanted.file.as_deref().unwrap_or(&usual))?;
        let error = wanted.error.as_deref().map(|name| reason(router, name)).transpose()?;
        let filter = router.capture_filter().filter(|_| wanted.filter);
        let is_any = filter.is_some() || !wanted.filter;
        let node = |on: bool, name| router.engine.index_of(name).filter(|_| on && is_any);
        let points = Points {
            rx: node(wanted.rx, "ethernet-input"),
            drops: DROPS.iter().filter_map(|name| node(wanted.drop, name)).collect(),
            tx: wanted.tx && is_any,
            interface: wanted.interface,
            error,
            filter,
            store: store(wanted.most, wanted.most_bytes, wanted.at_once)?,
        };
        self.trace = Some(Running { watcher: Arc::new(points), path, what: what.join(" ") });
        self.watch(router);
        Ok(())
    }
    /// Starts capturing what nodes are given.
    ///
    /// # Errors
    /// See [`Error`]; nothing is captured then.
    pub fn start_dispatch(
        &mut self,
        router: &mut Router,
        most: usize,
        file: Option<&str>,
    ) -> Result<(), Error> {
        if self.dispatch.is_some() {
            return Err(Error::Running);
        }
        let path = place(file.unwrap_or("dispatch.pcap"))?;
        let watcher = Arc::new(Dispatches { store: store(most, dispatch::MOST_BYTES, false)? });
        self.dispatch = Some(Running { watcher, path, what: "dispatch".to_owned() });
        self.watch(router);
        Ok(())
    }
    /// Ends a capture; its file is written elsewhere, if there is a packet.
    ///
    /// # Errors
    /// [`Error::NotRunning`], a thread that does not answer.
    pub fn stop(&mut self, router: &mut Router) -> Result<Background<Written>, Error> {
        let ended = self.trace.take().ok_or(Error::NotRunning)?;
        self.settle(router)?;
        let described =
            |c: (u32, &str, CounterText, u64)| (c.0, format!("{}: {}\0", c.1, c.2.text));
        let reasons: HashMap<_, _> = router.engine.counters().map(described).collect();
        let epoch = epoch(router);
        Ok(Background::begin(move || {
            let reason = |error: &Option<u32>, _: &[u8]| {
                let text = error.and_then(|e| reasons.get(&e)).cloned();
                (Vec::new(), text.unwrap_or_default().into_bytes())
            };
            let form = Form { link: pcap::ETHERNET, epoch, around: &reason };
            written(ended.path, |path| ended.watcher.store.write(path, &form))
        }))
    }
    /// As [`Captures::stop`], for what nodes are given.
    ///
    /// # Errors
    /// As there.
    pub fn stop_dispatch(&mut self, router: &mut Router) -> Result<Background<Written>, Error> {
        let ended = self.dispatch.take().ok_or(Error::NotRunning)?;
        self.settle(router)?;
        let named = |(index, name): (NodeIndex, &str)| (index, name.to_owned());
        let nodes: HashMap<_, _> = router.engine.node_names().map(named).collect();
        let epoch = epoch(router);
        Ok(Background::begin(move || {
            let head = |visit: &dispatch::Visit, packet: &[u8]| {
                let node = nodes.get(&visit.node).map_or("DELETED", String::as_str);
                (visit.head(packet, node), Vec::new())
            };
            let form = Form { link: dispatch::LINK, epoch, around: &head };
            written(ended.path, |path| ended.watcher.store.write(path, &form))
        }))
    }
    /// Waits until no thread adds to a capture that has ended; what was under way before is in it.
    fn settle(&self, router: &mut Router) -> Result<(), Error> {
        router.engine.fence().map_err(Error::NoAnswer)?;
        self.watch(router);
        router.engine.fence().map_err(Error::NoAnswer)
    }
    /// Shows the threads' packets to who is to see them.
    fn watch(&self, router: &mut Router) {
        let mut watches = Vec::new();
        if let Some(Running { watcher, .. }) = &self.trace {
            let mut nodes: Vec<NodeIndex> =
                watcher.rx.iter().chain(&watcher.drops).copied().collect();
            if watcher.tx {
                nodes.extend(router.interfaces.iter().map(|i| i.output));
            }
            watches.push(Watch::new(Some(&nodes), watcher.clone()));
        }
        if let Some(Running { watcher, .. }) = &self.dispatch {
            watches.push(Watch::new(None, watcher.clone()));
        }
        router.engine.set_watches(watches);
    }
}

/// New interfaces are captured like the others.
pub(super) fn follow(router: &mut Router, _: InterfaceIndex, change: Change) {
    if change == Change::Added && router.state::<Captures>().is_some_and(|c| c.trace.is_some()) {
        router.with(|captures: &mut Captures, router| captures.watch(router));
    }
}

fn written(path: PathBuf, write: impl FnOnce(&Path) -> io::Result<usize>) -> Written {
    match write(&path) {
        Ok(count) => Ok((count, path)),
        Err(e) => Err(Error::Write(path, e)),
    }
}

fn store<N>(most: usize, most_bytes: usize, at_once: bool) -> Result<Store<N>, Error> {
    Store::new(most, most_bytes.min(pcap::SNAP_LENGTH), at_once).map_err(|_| Error::NoMemory)
}

/// Seconds from 1970 to the start of the router's clock.
fn epoch(router: &Router) -> f64 {
    let since = router.engine.clock().started_at().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

fn place(name: &str) -> Result<PathBuf, Error> {
    let path = Path::new(FOLDER).join(name);
    let climbs = path.components().any(|c| c == Component::ParentDir);
    if climbs || path.file_name().is_none() || path == Path::new(FOLDER) {
        return Err(Error::Name(name.to_owned()));
    }
    Ok(path)
}

/// The counter of a reason named `node.reason`, or `{node}.{reason}` as clients write it.
fn reason(router: &Router, name: &str) -> Result<u32, Error> {
    let bare = name.strip_prefix('{').and_then(|n| n.strip_suffix('}')?.split_once("}.{"));
    let found = bare.or_else(|| name.split_once('.')).and_then(|(node, reason)| {
        let mut counters = router.engine.counters();
        counters.find(|(_, n, text, _)| *n == node && text.name == reason).map(|c| c.0)
    });
    found.ok_or_else(|| Error::NoReason(name.to_owned()))
}
