//! Arguments of the commands of all kinds of NAT.

use graph::ThreadInfo;
use net::prelude::*;
use sessions::Usage;

use crate::session::Timeouts;

/// A head, and lines below it.
pub fn below(head: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(head.to_owned()).chain(lines).collect()
}

/// The head of a thread's sessions in a list.
pub fn thread_head(router: &Router, thread: usize, sessions: usize) -> String {
    let all = router.engine.thread_infos();
    let name = all.iter().find(|info| info.id == thread).map_or("vpp_main", |info| &info.name);
    format!("-------- thread {thread} {name}: {sessions} sessions --------")
}

/// Workers, in lines.
pub fn workers(all: &[ThreadInfo]) -> Vec<String> {
    let lines = all.iter().map(|thread| format!("  {}", thread.name));
    below(&format!("{} workers", all.len()), lines)
}

/// Usage of the session tables by thread, and counts of session events.
pub fn hash_tables(all: &[Usage], has_detail: bool) -> Vec<String> {
    let line = |(thread, u): (usize, &Usage)| {
        let Usage { sessions, limit, bytes, made, expired, evicted, refused, .. } = u;
        let line = format!("thread {thread}: {sessions} of {limit} sessions, {bytes} bytes");
        match has_detail {
            true => format!(
                "{line}, {made} made, {expired} expired, {evicted} evicted, {refused} refused"
            ),
            false => line,
        }
    };
    all.iter().enumerate().map(line).collect()
}

/// The protocols that have a word.
const PROTOCOLS: [(&str, Protocol); 3] =
    [("tcp", Protocol::TCP), ("udp", Protocol::UDP), ("icmp", Protocol::ICMP)];

/// `tcp`, `udp` or `icmp`.
pub fn protocol(args: &mut Args<'_>) -> Option<Protocol> {
    PROTOCOLS.into_iter().find(|(word, _)| args.keyword(word)).map(|(_, protocol)| protocol)
}

/// The word for one of these protocols.
pub fn word(protocol: Protocol) -> &'static str {
    PROTOCOLS.into_iter().find(|(_, p)| *p == protocol).map_or("icmp", |(word, _)| word)
}

/// `ADDRESS:PORT`.
///
/// # Errors
/// It is missing or invalid.
pub fn end(args: &mut Args<'_>, what: &str) -> Result<(Ipv4Addr, u16), Error> {
    let bad = args.error(format_args!("{what} is an address and a port: 192.0.2.1:80"));
    let word = args.word().ok_or_else(|| args.error(format_args!("missing {what}")))?;
    let (addr, port) = word.split_once(':').ok_or_else(|| bad.clone())?;
    Ok((addr.parse().map_err(|_| bad.clone())?, port.parse().map_err(|_| bad)?))
}

/// `FIRST [- LAST]`: addresses from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange(pub [Ipv4Addr; 2]);

impl Value for AddressRange {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let (first, last) = args.range(what)?;
        Ok(Self([first, last.unwrap_or(first)]))
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([first, last]) = self;
        write!(f, "{first}")?;
        if first == last { Ok(()) } else { write!(f, " - {last}") }
    }
}

/// Timeouts of sessions; those that are not said stay.
#[derive(Arguments, Debug, PartialEq)]
pub struct NewTimeouts {
    /// UDP timeout in seconds
    udp: Option<u32>,
    /// timeout of established TCP connections
    tcp_established: Option<u32>,
    /// timeout of other TCP connections
    tcp_transitory: Option<u32>,
    /// ICMP timeout
    icmp: Option<u32>,
    /// reset all others to defaults
    reset: bool,
}

impl NewTimeouts {
    /// Timeouts that are said.
    pub fn of(timeouts: &Timeouts) -> Self {
        Self {
            udp: Some(timeouts.udp),
            tcp_established: Some(timeouts.established),
            tcp_transitory: Some(timeouts.transitory),
            icmp: Some(timeouts.icmp),
            reset: false,
        }
    }
    /// The timeouts then.
    pub fn after(&self, now: Timeouts) -> Timeouts {
        let now = if self.reset { Timeouts::default() } else { now };
        Timeouts {
            udp: self.udp.unwrap_or(now.udp),
            established: self.tcp_established.unwrap_or(now.established),
            transitory: self.tcp_transitory.unwrap_or(now.transitory),
            icmp: self.icmp.unwrap_or(now.icmp),
        }
    }
}

/// Interfaces by side.
#[derive(Arguments)]
pub struct Sides {
    /// inside interfaces
    #[keyword("in")]
    #[values("interface")]
    pub inside: Vec<InterfaceIndex>,
    /// outside interfaces
    #[keyword("out")]
    #[values("interface")]
    pub outside: Vec<InterfaceIndex>,
    /// output feature: translate after routing, on transmit
    pub output_feature: bool,
    /// delete
    pub del: bool,
}

impl Sides {
    /// Refuses a command without an interface.
    ///
    /// # Errors
    /// There is none.
    pub fn check(&self) -> Result<(), Error> {
        let is_none = self.inside.is_empty() && self.outside.is_empty();
        if is_none { Err("missing interface: in or out".into()) } else { Ok(()) }
    }
}
