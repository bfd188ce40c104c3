//! Commands of the packet generator.

use std::fmt;
use std::path::PathBuf;

use control::cli::{Args, Cli, Command, Error, Output, Word};
use net::Router;
use serde::Serialize;

use super::interface;
use super::spec::{Spec, USAGE};
use super::stream::{Generator, Stream};

/// `packet-generator new`
struct New(Spec);

impl Command for New {
    const PATHS: &'static [&'static str] = &["packet-generator new"];
    const ABOUT: &'static str = "Create a packet generator stream";
    const USAGE: &'static str = USAGE;

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Spec::parse(args).map(Self)
    }
}

/// `packet-generator configure`
struct Configure(String, Spec);

impl Command for Configure {
    const PATHS: &'static [&'static str] = &["packet-generator configure"];
    const ABOUT: &'static str = "Change the parameters of a stream";
    const USAGE: &'static str = "<stream> [limit <packets>] [rate <packets/s>] \
        [size <a>-<b>|<a>+<b>] [interface|source <interface>] [node <node>] [worker <n>] \
        [maxframe <n>] [buffer-size <bytes>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        args.keyword("name");
        Ok(Self(args.value("stream")?, Spec::parse(args)?))
    }
}

/// Delete a stream.
#[derive(Command)]
#[command("packet-generator delete")]
struct Delete {
    /// name
    #[positional]
    #[values("stream")]
    stream: String,
}

/// Start one or all streams; their receive interfaces are set up.
#[derive(Command)]
#[command("packet-generator enable-stream")]
struct Enable {
    /// name
    #[positional]
    #[values("stream")]
    stream: Option<String>,
}

/// Stop one or all streams.
#[derive(Command)]
#[command("packet-generator disable-stream")]
struct Disable {
    /// name
    #[positional]
    #[values("stream")]
    stream: Option<String>,
}

/// Capture an interface's transmitted packets to a file.
#[derive(Command)]
#[command("packet-generator capture")]
struct Capture {
    /// path of the file; it must not exist, and is created with the first packet
    pcap: Option<PathBuf>,
    /// stop after this many packets
    count: Option<u64>,
    /// stop the capture
    disable: bool,
    /// a packet generator interface
    #[positional]
    #[values("interface")]
    interface: Word,
}

/// Show streams; a finished stream is marked once its packets have left the graph.
#[derive(Command)]
#[command("show packet-generator")]
struct Show {
    /// include interfaces, next nodes and packet bytes
    verbose: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|r: &mut Router, New(spec)| with(r, |g, r| g.add(r, spec)));
    cli.command(|r: &mut Router, Configure(name, spec)| {
        with(r, |g, r| g.configure(r, &name, &spec))
    });
    cli.command(|r: &mut Router, c: Delete| with(r, |g, r| g.delete(r, &c.stream)));
    cli.command(|r: &mut Router, c: Enable| with(r, |g, r| g.switch(r, c.stream.as_deref(), true)));
    cli.command(|r: &mut Router, c: Disable| {
        with(r, |g, r| g.switch(r, c.stream.as_deref(), false))
    });
    cli.command(capture);
    cli.command(show);
    cli.values("stream", |r: &Router| {
        let streams = r.state::<Generator>().map(Generator::streams).unwrap_or_default();
        streams.iter().map(|s| s.name.clone()).collect()
    });
}

/// Lets the generator work on the router.
pub(super) fn with<T>(
    router: &mut Router,
    work: impl FnOnce(&mut Generator, &mut Router) -> Result<T, Error>,
) -> Result<T, Error> {
    router.with(work).ok_or("the packet generator is not loaded")?
}

fn capture(router: &mut Router, c: Capture) -> Result<(), Error> {
    let interface = interface::find(router, &c.interface)?.clone();
    match c.pcap {
        _ if c.disable => with(router, |g, r| g.end_capture(r, &interface)),
        Some(path) => with(router, |g, r| g.capture(r, &interface, path, c.count)),
        None => Err(Error::new("missing `pcap <file>'")),
    }
}

/// Output of `show packet-generator`.
#[derive(Serialize)]
struct Streams {
    streams: Vec<Row>,
    #[serde(skip)]
    verbose: bool,
}

/// One stream in it.
#[derive(Serialize)]
struct Row {
    name: String,
    enabled: bool,
    count: u64,
    limit: u64,
    rate: f64,
    shortest: usize,
    longest: usize,
    buffer_size: u32,
    worker: usize,
    interface: String,
    node: String,
    packets: String,
}

impl Row {
    fn of(s: &Stream, enabled: bool, router: &Router) -> Self {
        let (shortest, longest) = s.sizes();
        Self {
            name: s.name.clone(),
            enabled,
            count: s.sent(),
            limit: s.limit,
            rate: s.rate,
            shortest,
            longest,
            buffer_size: s.buffer_size,
            worker: s.worker,
            interface: router.interfaces.name(s.interface.0).to_owned(),
            node: s.node.clone(),
            packets: s.describe(),
        }
    }
}

fn show(router: &mut Router, c: Show) -> Result<Output, Error> {
    with(router, |generator, router| {
        let running: Vec<_> = generator.streams().iter().map(Stream::is_running).collect();
        // Packets of streams that ended just now, or that control sent, may still be on their way.
        router.engine.fence().map_err(|e| Error::new(e.to_string()))?;
        let rows = generator.streams().iter().zip(running);
        let streams = rows.map(|(s, on)| Row::of(s, on, router)).collect();
        Ok(Output::of(Streams { streams, verbose: c.verbose }))
    })
}

impl fmt::Display for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.streams.is_empty() {
            return writeln!(f, "no streams currently defined");
        }
        writeln!(f, "{:<16}{}{}Parameters", "Name", Centred("Enabled", 12), Centred("Count", 16))?;
        for s in &self.streams {
            let (enabled, count) = (if s.enabled { "Yes" } else { "No" }, s.count.to_string());
            let (enabled, count) = (Centred(enabled, 12), Centred(&count, 16));
            write!(f, "{:<16}{enabled}{count}limit {}, ", s.name, s.limit as i64)?;
            write!(f, "rate {:.2e} pps, size {}-{}, ", s.rate, s.shortest, s.longest)?;
            writeln!(f, "buffer-size {}, worker {}, ", s.buffer_size, s.worker)?;
            if self.verbose {
                writeln!(f, "    interface {}, node {}", s.interface, s.node)?;
                writeln!(f, "{}", s.packets)?;
            }
        }
        Ok(())
    }
}

/// Text in the middle of so many columns, rather to the right.
struct Centred<'a>(&'a str, usize);

impl fmt::Display for Centred<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let room = self.1.saturating_sub(self.0.len());
        let (left, right) = (room.div_ceil(2), room / 2);
        write!(f, "{:left$}{}{:right$}", "", self.0, "")
    }
}
