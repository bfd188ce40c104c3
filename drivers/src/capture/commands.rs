//! `capture start`.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use control::cli::{Args, Cli, Command, Error, Output, Task, Value};
use control::socket::SocketFile;
use net::trace::Compiler;
use net::{InterfaceIndex, Router};
use serde::Serialize;

use super::captures::{self, CaptureRequest, Captures, Folder, NewCapture, Places, place};
use super::copies::Link;
use super::form::Kind;
use super::points::Chooser;
use super::writer::{Files, Limits, Sink};
use crate::host::background::{Background, Pending};

/// Bytes of a packet at most when nothing is said.
const MOST_BYTES: usize = 262_144;
/// Files of a ring when nothing is said.
const FILES: usize = 10;
/// Name of a capture when nothing is said.
const NAME: &str = "capture";

/// Capture packets to a file or stream; received and transmitted ones by default.
#[derive(Command)]
#[command("capture start")]
struct Start {
    /// capture name; needed for more than one at a time
    name: Option<String>,
    /// received packets
    rx: bool,
    /// transmitted packets
    tx: bool,
    /// dropped packets
    drop: bool,
    /// only packets dropped by this node, or for this reason (node.reason)
    reason: Vec<String>,
    /// packets entering this node
    node: Vec<String>,
    /// packets entering this feature arc
    arc: Vec<String>,
    /// only packets of this interface
    interface: Vec<InterfaceIndex>,
    /// only packets that match this filter, in tcpdump syntax
    filter: Option<Expression>,
    /// bytes captured per packet; default 262144
    snap_length: Option<usize>,
    /// maximum packets
    packets: Option<u64>,
    /// maximum bytes
    bytes: Option<u64>,
    /// maximum seconds
    seconds: Option<u64>,
    /// file name; relative names are below /tmp
    file: Option<String>,
    /// size at which a ring of files starts the next one
    file_size: Option<u64>,
    /// number of files in the ring; default 10
    files: Option<usize>,
    /// write to a socket, and print its name
    stream: bool,
}

/// `{ EXPRESSION }`.
struct Expression(String);

impl Value for Expression {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        match args.block()? {
            Some(inside) => Ok(Self(inside.remaining().trim_matches(['{', '}', ' ']).to_owned())),
            None => Err(args.error(format_args!("expected {{ EXPRESSION }} as {what}, got"))),
        }
    }
}

impl From<captures::Error> for Error {
    fn from(e: captures::Error) -> Self {
        let text = e.to_string();
        Self::new(text).with_code(control::api::Retval::from(e).0)
    }
}

/// A started capture.
#[derive(Serialize)]
struct Started {
    name: String,
    /// The socket that is to be read, or the file.
    to: String,
}

impl Start {
    fn wanted(&self) -> CaptureRequest {
        let drop = self.drop || !self.reason.is_empty();
        let is_any = !self.rx && !self.tx && !drop && self.node.is_empty() && self.arc.is_empty();
        CaptureRequest {
            rx: self.rx || is_any,
            tx: self.tx || is_any,
            drop,
            nodes: self.node.clone(),
            arcs: self.arc.clone(),
            interfaces: self.interface.clone(),
            reasons: self.reason.clone(),
            most_bytes: self.snap_length.unwrap_or(MOST_BYTES).clamp(1, MOST_BYTES),
        }
    }
    fn limits(&self) -> Limits {
        Limits { packets: self.packets, bytes: self.bytes, seconds: self.seconds }
    }
}

fn start(router: &mut Router, c: Start) -> Result<Box<dyn Task<Router>>, Error> {
    if c.stream == c.file.is_some() {
        return Err("expected file NAME or stream".into());
    }
    if c.file_size.is_none() && c.files.is_some() {
        return Err("expected file-size with files".into());
    }
    let chooser = match &c.filter {
        Some(Expression(text)) => compile(router, text)?,
        None => Chooser::All,
    };
    let places = Places::new(router, c.wanted(), chooser, false)?;
    let Some(file) = &c.file else { return stream(router, c, places) };
    let path = place(file)?;
    let name = c.name.clone().unwrap_or_else(|| NAME.to_owned());
    let all = router.state::<Captures>().ok_or("not available")?;
    all.check_free(&name)?;
    let (opened, size, most) = (path.clone(), c.file_size, c.files.unwrap_or(FILES).max(1));
    let open = Background::begin(move || Files::create(&opened, size, most));
    let finish = move |router: &mut Router, opened: std::io::Result<std::io::Result<Files>>| {
        let refused = |e| captures::Error::of(&path, e);
        let files = opened.map_err(refused)?.map_err(refused)?;
        begin(router, &c, (name, places), Sink::Files(files), path.display().to_string())
    };
    Ok(Box::new(Pending::new(open, finish)))
}

fn stream(router: &mut Router, c: Start, places: Places) -> Result<Box<dyn Task<Router>>, Error> {
    let folder =
        router.state::<Folder>().map_or_else(|| PathBuf::from("/run/vpp"), |f| f.0.clone());
    let number = router
        .with(|all: &mut Captures, _| {
            all.streams += 1;
            all.streams
        })
        .ok_or("not available")?;
    let name = c.name.clone().unwrap_or_else(|| format!("stream-{number}"));
    let path = folder.join(format!("capture-{number}.sock"));
    let is_served = |path: &Path| UnixStream::connect(path).is_ok();
    let refused = |e| captures::Error::of(&path, e);
    let (listener, file) =
        SocketFile::appear(&path, is_served, |p| UnixListener::bind(p)).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let sink = Sink::Listener(listener, file);
    let started = begin(router, &c, (name, places), sink, path.display().to_string());
    Ok(Box::new(Pending::ready(started)))
}

fn begin(
    router: &mut Router,
    c: &Start,
    (name, places): (String, Places),
    sink: Sink,
    to: String,
) -> Result<Output, Error> {
    let wanted = c.wanted();
    let mut what = wanted.what().join(", ");
    for interface in &wanted.interfaces {
        what = format!("{what} of {}", router.interfaces.name(interface.0));
    }
    let filter = c.filter.as_ref().map_or_else(String::new, |f| f.0.clone());
    let new = NewCapture {
        what: what.clone(),
        kind: Kind::NextGeneration { filter, about: what.clone() },
        sink: (sink, to.clone()),
        limits: c.limits(),
    };
    let start = |all: &mut Captures, router: &mut Router| all.start(router, &name, places, new);
    router.with(start).ok_or("not available")??;
    let text = format!("capture {name} of {what} to {to}");
    Ok(Output::both(text, Started { name, to }))
}

/// A filter for frames, and for packets without a layer 2 header if it makes sense for these.
fn compile(router: &mut Router, text: &str) -> Result<Chooser, Error> {
    let compiler = router.state::<Compiler>().map(|compiler| compiler.0);
    let compile = compiler.ok_or("filters need the plugin bpf_trace_filter")?;
    let malformed = |why| captures::Error::Filter(text.to_owned(), why);
    let frames: Arc<dyn graph::Filter> =
        compile(router, text, Link::ETHERNET.0).map_err(malformed)?;
    Ok(Chooser::Expression(frames, compile(router, text, Link::RAW.0).ok()))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(start);
}
