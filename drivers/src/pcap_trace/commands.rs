//! `pcap trace`, `pcap dispatch trace`.

use std::path::PathBuf;

use control::api::Retval;
use control::cli::{Args, Cli, Command, Error, Task, Value, Word};
use net::Router;

use super::captures::{self, CaptureRequest, Captures, Running, Written};
use super::store::Store;
use crate::host::background::{Background, Pending};

/// Packets at most when nothing is said.
const MOST: usize = 1000;
/// Bytes of a packet at most when nothing is said.
const MOST_BYTES: usize = 512;

/// Capture received, sent or dropped packets into a file.
#[derive(Command)]
#[command("pcap trace")]
struct Trace {
    /// packets that come in
    rx: bool,
    /// packets that go out
    tx: bool,
    /// packets that are dropped, with the reason behind them
    drop: bool,
    /// end the capture and write its file
    off: bool,
    /// packets at most; 1000 if not given
    max: Option<usize>,
    /// only packets of this interface; any by default
    #[values("interface")]
    intfc: Option<Word>,
    /// name of the file, in /tmp if it says nothing else; rxtx.pcap and the like if not given
    file: Option<String>,
    /// show what is captured
    status: bool,
    /// bytes of a packet at most; 512 if not given
    max_bytes_per_pkt: Option<usize>,
    /// only packets dropped for this reason: node.reason
    error: Option<ReasonName>,
    /// only packets that the filter of captures chooses
    filter: bool,
    /// take memory at once
    preallocate_data: bool,
    /// accepted: memory is always given back
    #[keyword("free-data")]
    _free_data: bool,
}

/// `node.reason`, or `{node}.{reason}`.
struct ReasonName(String);

impl Value for ReasonName {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let start = *args;
        let Some(mut node) = args.block()? else { return Ok(Self(args.value(what)?)) };
        let reason = if args.keyword(".") { args.block()? } else { None };
        let mut reason = reason.ok_or_else(|| start.error(format_args!("invalid {what}")))?;
        let [node, reason]: [String; 2] = [node.value("node")?, reason.value("reason")?];
        Ok(Self(format!("{node}.{reason}")))
    }
}

/// `pcap dispatch trace`
#[derive(Default)]
struct Dispatch {
    on: bool,
    off: bool,
    status: bool,
    max: Option<usize>,
    file: Option<String>,
    /// An input node, and how many of its packets are traced besides.
    traced: Option<(Word, u32)>,
}

impl Command for Dispatch {
    const PATHS: &'static [&'static str] = &["pcap dispatch trace"];
    const ABOUT: &'static str = "Capture every packet at every node into a file";
    const USAGE: &'static str =
        "[on|off] [max <packets>] [file <name>] [status] [buffer-trace <input node> <packets>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut c = Self::default();
        while !args.is_empty() {
            let place = *args;
            match args.word().unwrap_or_default() {
                "on" => c.on = true,
                "off" => c.off = true,
                "status" => c.status = true,
                "max" => c.max = Some(args.value("max")?),
                "file" => c.file = Some(args.value("file")?),
                "buffer-trace" => c.traced = Some((args.value("node")?, args.value("packets")?)),
                _ => return Err(place.unknown()),
            }
        }
        Ok(c)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|r: &mut Router, c: Trace| with(r, |all, r| trace(all, r, c)));
    cli.task(|r: &mut Router, c: Dispatch| with(r, |all, r| dispatch(all, r, &c)));
}

impl From<captures::Error> for Error {
    fn from(e: captures::Error) -> Self {
        let text = e.to_string();
        Self::new(text).with_code(Retval::from(e).0)
    }
}

/// Answer, now or when a file is written.
enum Answer {
    Now(String),
    /// The latter is the answer; an error where there was no packet.
    When(Background<Written>, fn(usize, PathBuf) -> String),
}

fn with(
    router: &mut Router,
    work: impl FnOnce(&mut Captures, &mut Router) -> Result<Answer, Error>,
) -> Result<Box<dyn Task<Router>>, Error> {
    let pending = match router.with(work).ok_or("not available")?? {
        Answer::Now(text) => Pending::ready(Ok(text)),
        Answer::When(writing, say) => Pending::new(writing, move |_: &mut Router, written| {
            match written.map_err(captures::Error::from)?? {
                (0, _) => Err(Error::new("No packets captured...")),
                (count, path) => Ok(say(count, path)),
            }
        }),
    };
    Ok(Box::new(pending))
}

fn trace(all: &mut Captures, router: &mut Router, c: Trace) -> Result<Answer, Error> {
    if c.status {
        let Some(running) = &all.trace else {
            return Ok(Answer::Now("pcap capture is off...".to_owned()));
        };
        let only = running.watcher.interface.map(|i| router.interfaces.name(i.0));
        let (only, path) = (only.unwrap_or("any"), running.path.display());
        let max = running.watcher.store.count().1;
        let head = format!("max is {max}, for {only} interface to file {path}\n");
        return Ok(Answer::Now(head + &status(running, &running.watcher.store)));
    }
    if c.off {
        return Ok(Answer::When(all.stop(router)?, |n, path| {
            format!("Write {n} packets to {}, and stop capture...", path.display())
        }));
    }
    if c.filter && router.capture_filter().is_none() {
        return Err(Error::new("No filter of captures is configured"));
    }
    let interface = match &c.intfc {
        Some(name) if &**name != "any" => {
            let found = router.interfaces.named(name).map(|i| i.index);
            Some(found.ok_or_else(|| name.unknown("interface"))?)
        }
        _ => None,
    };
    let wanted = CaptureRequest {
        rx: c.rx,
        tx: c.tx,
        drop: c.drop,
        filter: c.filter,
        most: c.max.unwrap_or(MOST),
        most_bytes: c.max_bytes_per_pkt.unwrap_or(MOST_BYTES),
        interface,
        error: c.error.map(|name| name.0),
        file: c.file,
        at_once: c.preallocate_data,
    };
    all.start(router, &wanted)?;
    Ok(Answer::Now(format!("pcap {} capture on...", wanted.what().join(" "))))
}

fn dispatch(all: &mut Captures, router: &mut Router, c: &Dispatch) -> Result<Answer, Error> {
    if c.status {
        let off = || "pcap dispatch capture is off...".to_owned();
        let text = all.dispatch.as_ref().map_or_else(off, |r| status(r, &r.watcher.store));
        return Ok(Answer::Now(text));
    }
    if c.on == c.off {
        return Err("expected on, off or status".into());
    }
    if c.off {
        return Ok(Answer::When(all.stop_dispatch(router)?, |n, path| {
            format!("captured {n} pkts...\nsaved to {}...", path.display())
        }));
    }
    let traced = match &c.traced {
        Some((name, count)) => {
            let node = router.engine.index_of(name).filter(|n| router.engine.is_input(*n));
            Some((node.ok_or_else(|| name.unknown("input node"))?, *count))
        }
        None => None,
    };
    all.start_dispatch(router, c.max.unwrap_or(MOST), c.file.as_deref())?;
    let mut answer = "pcap dispatch capture on...".to_owned();
    if let (Some((node, count)), Some((name, _))) = (traced, &c.traced) {
        router.engine.trace(node, count);
        answer = format!("Buffer tracing of {count} pkts from {} enabled...\n{answer}", &**name);
    }
    Ok(Answer::Now(answer))
}

fn status<W, N>(running: &Running<W>, store: &Store<N>) -> String {
    let (count, max) = store.count();
    format!("pcap {} capture is on: {count} of {max} pkts...", running.what)
}
