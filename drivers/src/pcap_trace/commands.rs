//! `pcap trace`, `pcap dispatch trace`.

use control::cli::{Args, Cli, Command, Error, Task, Value, Word};
use net::Router;

use super::start::{Asked, DISPATCH, TRACE, start, start_dispatch, stop};
use crate::capture::{self, Capture, CaptureRequest, Captures, Ended, Written};
use crate::host::background::{Background, Pending};

/// Packets at most when nothing is said.
const MOST: u64 = 1000;
/// Bytes of a packet at most when nothing is said.
const MOST_BYTES: usize = 512;

/// Capture received, transmitted or dropped packets to a file.
#[derive(Command)]
#[command("pcap trace")]
struct Trace {
    /// received packets
    rx: bool,
    /// transmitted packets
    tx: bool,
    /// dropped packets, each followed by the reason
    drop: bool,
    /// stop the capture and write its file
    off: bool,
    /// maximum packets; default 1000
    #[alias("packets-to-capture")]
    max: Option<u64>,
    /// only packets of this interface; default any
    #[values("interface")]
    intfc: Option<Word>,
    /// file name, below /tmp if relative; default rxtx.pcap and the like
    file: Option<String>,
    /// show the state of the capture
    status: bool,
    /// bytes captured per packet; default 512
    max_bytes_per_pkt: Option<usize>,
    /// only packets dropped for this reason: node.reason
    error: Option<ReasonName>,
    /// only packets that match the capture filter
    filter: bool,
    /// accepted: packets are written as they are captured
    #[keyword("preallocate-data")]
    _preallocate_data: bool,
    /// accepted: memory is always freed
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
    max: Option<u64>,
    file: Option<String>,
    /// An input node, and how many of its packets are traced besides.
    traced: Option<(Word, u32)>,
}

impl Command for Dispatch {
    const PATHS: &'static [&'static str] = &["pcap dispatch trace"];
    const ABOUT: &'static str = "Capture every packet at every node into a file";
    const USAGE: &'static str = "[on|enable|off|disable] [max|packets-to-capture <packets>] \
        [file <name>] [status] [buffer-trace <input node> <packets>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut c = Self::default();
        while !args.is_empty() {
            let place = *args;
            match args.word().unwrap_or_default() {
                "on" | "enable" => c.on = true,
                "off" | "disable" => c.off = true,
                "status" => c.status = true,
                "max" | "packets-to-capture" => c.max = Some(args.value("max")?),
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

/// Answer, now or when a file is written.
enum Answer {
    Now(String),
    /// The latter is the answer; an error where there was no packet.
    When((Ended, Background<Written>), fn(u64, &str) -> String),
}

fn with(
    router: &mut Router,
    work: impl FnOnce(&mut Captures, &mut Router) -> Result<Answer, Error>,
) -> Result<Box<dyn Task<Router>>, Error> {
    let pending = match router.with(work).ok_or("not available")?? {
        Answer::Now(text) => Pending::ready(Ok(text)),
        Answer::When((ended, writing), say) => {
            Pending::new(writing, move |_: &mut Router, written| {
                match written.map_err(capture::Error::from)?? {
                    0 => Err(Error::new("No packets captured...")),
                    count => Ok(say(count, &ended.to)),
                }
            })
        }
    };
    Ok(Box::new(pending))
}

fn trace(all: &mut Captures, router: &mut Router, c: Trace) -> Result<Answer, Error> {
    if c.status {
        let Some(running) = all.get(TRACE) else {
            return Ok(Answer::Now("pcap capture is off...".to_owned()));
        };
        let only = running.interfaces().first().map(|i| router.interfaces.name(i.0));
        let (only, max, to) = (only.unwrap_or("any"), most(running), &running.to);
        let head = format!("max is {max}, for {only} interface to file {to}\n");
        return Ok(Answer::Now(head + &status(running)));
    }
    if c.off {
        return Ok(Answer::When(stop(all, router, TRACE)?, |n, to| {
            format!("Write {n} packets to {to}, and stop capture...")
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
        interfaces: interface.into_iter().collect(),
        reasons: c.error.into_iter().map(|name| name.0).collect(),
        most_bytes: c.max_bytes_per_pkt.unwrap_or(MOST_BYTES),
        ..CaptureRequest::default()
    };
    let what = wanted.what().join(" ");
    let asked = Asked { filter: c.filter, most: c.max.unwrap_or(MOST), file: c.file };
    start(all, router, wanted, asked)?;
    Ok(Answer::Now(format!("pcap {what} capture on...")))
}

fn dispatch(all: &mut Captures, router: &mut Router, c: &Dispatch) -> Result<Answer, Error> {
    if c.status {
        let off = || "pcap dispatch capture is off...".to_owned();
        return Ok(Answer::Now(all.get(DISPATCH).map_or_else(off, status)));
    }
    if c.on == c.off {
        return Err("expected on, off or status".into());
    }
    if c.off {
        return Ok(Answer::When(stop(all, router, DISPATCH)?, |n, to| {
            format!("captured {n} pkts...\nsaved to {to}...")
        }));
    }
    let traced = match &c.traced {
        Some((name, count)) => {
            let node = router.engine.index_of(name).filter(|n| router.engine.is_input(*n));
            Some((node.ok_or_else(|| name.unknown("input node"))?, *count))
        }
        None => None,
    };
    start_dispatch(all, router, c.max.unwrap_or(MOST), c.file.as_deref())?;
    let mut answer = "pcap dispatch capture on...".to_owned();
    if let (Some((node, count)), Some((name, _))) = (traced, &c.traced) {
        router.engine.trace(node, count);
        answer = format!("Buffer tracing of {count} pkts from {} enabled...\n{answer}", &**name);
    }
    Ok(Answer::Now(answer))
}

/// Packets of a capture at most.
fn most(running: &Capture) -> u64 {
    running.limits.packets.unwrap_or(u64::MAX)
}

fn status(running: &Capture) -> String {
    let (count, max) = (running.progress().0.packets, most(running));
    format!("pcap {} capture is on: {count} of {max} pkts...", running.what)
}
