//! `show scheduler`: ports, their pipes and queues, and what these counted.

use infra::counter::Rows;
use net::prelude::*;

use super::plan::{QUEUES, QUEUES_OF_PIPE, Rate};
use super::tree::Tree;
use super::{Port, Scheduler};

/// Show interface schedulers and the counters of their pipes
#[derive(Command)]
#[command("show scheduler")]
struct Show {
    /// only this port
    #[positional]
    interface: Option<InterfaceIndex>,
    /// include each queue
    verbose: bool,
}

/// Packets and bytes of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Packets that wait.
    pub waiting: u64,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Packets dropped by random early detection.
    pub early_dropped: u64,
    /// Packets that were queued, and dropped because a pipe, interface or thread went.
    pub flushed: u64,
}

/// A queue and what it counted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Queue {
    /// The traffic class.
    pub class: u8,
    /// The queue.
    pub queue: u8,
    /// Counters.
    #[serde(flatten)]
    pub counted: Counted,
}

/// A pipe and what its queues counted.
#[derive(Clone, Debug, Serialize)]
pub struct Pipe {
    /// Subport.
    pub subport: u16,
    /// Pipe.
    pub pipe: u16,
    /// Profile.
    pub profile: u32,
    /// Bits per second; 0 for no limit.
    pub rate: u64,
    /// All queues together.
    #[serde(flatten)]
    pub counted: Counted,
    /// Include each queue.
    pub queues: Vec<Queue>,
}

#[derive(Serialize)]
struct ShownPort {
    interface: String,
    rate: u64,
    burst: u64,
    overhead: u32,
    queue_length: u32,
    packets: u32,
    pipes_at_most: u32,
    memory_bytes: usize,
    thread: Option<usize>,
    #[serde(flatten)]
    counted: Counted,
    pipes: Vec<Pipe>,
    #[serde(skip)]
    is_verbose: bool,
}

impl Counted {
    fn of(scheduler: &Scheduler, column: usize) -> Self {
        let counters = &scheduler.counters;
        let sum = |rows: &Rows<VolumeCounter>| rows.sum(column);
        let Volume { packets: sent, bytes: sent_bytes } = sum(&counters.sent);
        let flushed = sum(&counters.flushed).packets;
        Self {
            waiting: sum(&counters.queued).packets.saturating_sub(sent + flushed),
            sent,
            sent_bytes,
            dropped: sum(&counters.dropped).packets,
            early_dropped: sum(&counters.early).packets,
            flushed,
        }
    }
    fn plus(self, other: &Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            dropped: self.dropped + other.dropped,
            early_dropped: self.early_dropped + other.early_dropped,
            flushed: self.flushed + other.flushed,
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting, sent, sent_bytes, dropped, early_dropped, flushed } = self;
        write!(f, "waiting {waiting} sent {sent} ({sent_bytes} bytes) dropped {dropped}")?;
        write!(f, " early {early_dropped} flushed {flushed}")
    }
}

/// The pipes of a port, and what their queues counted.
fn pipes_of(scheduler: &Scheduler, port: &Port) -> Vec<Pipe> {
    let pipes = port.config.pipes.iter().map(|((subport, pipe), found)| {
        let first = port.column() + found.slot as usize * QUEUES_OF_PIPE;
        let queue = |at: usize| Queue {
            class: (at / QUEUES) as u8,
            queue: (at % QUEUES) as u8,
            counted: Counted::of(scheduler, first + at),
        };
        let queues: Vec<_> = (0..QUEUES_OF_PIPE).map(queue).collect();
        let counted = queues.iter().fold(Counted::default(), |sum, queue| sum.plus(&queue.counted));
        let profile = scheduler.profiles.get(&found.profile).copied().unwrap_or_default();
        Pipe {
            subport: *subport,
            pipe: *pipe,
            profile: found.profile,
            rate: profile.level.shape.rate.0,
            counted,
            queues,
        }
    });
    pipes.collect()
}

/// The pipes of a port, and what their queues counted; none where nothing is scheduled.
pub fn pipes(router: &Router, interface: InterfaceIndex) -> Vec<Pipe> {
    let scheduler = router.own::<Scheduler>();
    scheduler.ports.get(&interface).map_or_else(Vec::new, |port| pipes_of(scheduler, port))
}

fn show(router: &Router, c: &Show) -> Vec<ShownPort> {
    let scheduler = router.own::<Scheduler>();
    let is_asked = |interface: &InterfaceIndex| c.interface.is_none_or(|i| i == *interface);
    let ports = scheduler.ports.iter().filter(|(interface, _)| is_asked(interface));
    let shown = ports.map(|(interface, port)| {
        let pipes = pipes_of(scheduler, port);
        let config = &port.config;
        let (_, burst) = config.shape.in_bytes();
        ShownPort {
            interface: router.interfaces.name(interface.0).to_owned(),
            rate: config.shape.rate.0,
            burst: burst as u64,
            overhead: config.overhead,
            queue_length: config.queue_length,
            packets: config.packets,
            pipes_at_most: config.most_pipes,
            memory_bytes: Tree::memory(config.packets, config.most_pipes),
            thread: port.core.owner.thread(),
            counted: pipes.iter().fold(Counted::default(), |sum, p| sum.plus(&p.counted)),
            pipes,
            is_verbose: c.verbose,
        }
    });
    shown.collect()
}

/// A rate in words.
fn rate(rate: u64) -> String {
    if rate == 0 { "unlimited".to_owned() } else { Rate(rate).to_string() }
}

impl fmt::Display for ShownPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: rate {} burst {}", self.interface, rate(self.rate), self.burst)?;
        write!(f, " overhead {} queue-length {}", self.overhead, self.queue_length)?;
        write!(f, " packets {} pipes {}", self.packets, self.pipes_at_most)?;
        write!(f, " memory {} bytes", self.memory_bytes)?;
        match self.thread {
            Some(thread) => writeln!(f, " thread {thread}")?,
            None => writeln!(f)?,
        }
        writeln!(f, "  {}", self.counted)?;
        for p in &self.pipes {
            write!(f, "  subport {} pipe {} profile {}", p.subport, p.pipe, p.profile)?;
            writeln!(f, " rate {}: {}", rate(p.rate), p.counted)?;
            for q in p.queues.iter().filter(|_| self.is_verbose) {
                writeln!(f, "    tc {} queue {}: {}", q.class, q.queue, q.counted)?;
            }
        }
        Ok(())
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| Ok(Output::list(show(router, &c))));
}
