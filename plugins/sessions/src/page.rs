//! Sessions a page at a time: `show session list`.
//!
//! A page has at most [`MOST`] sessions, and at most [`VISITS`] slices of [`VISIT`] records are
//! looked at for it, so a request costs control the same however many sessions there are. Where
//! the bound is reached first, the page says where to go on.

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use graph::NoAnswer;
use net::prelude::*;
use serde::Serializer;
use zerocopy::FromZeros;

use crate::Pages;
use crate::flow::{Address, Flow};
use crate::session::Counted;
use crate::shared::{Sessions, VISIT};

/// Sessions of a page at most, and unless asked otherwise.
pub const MOST: usize = 1000;
const USUAL: usize = 100;
/// Slices of records that are looked at for one page.
const VISITS: usize = 8;

/// A position among the records of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    thread: usize,
    record: usize,
}

impl FromStr for Position {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let both = text.split_once('.').and_then(|(thread, record)| {
            Some(Self { thread: thread.parse().ok()?, record: record.parse().ok()? })
        });
        both.ok_or("expected a position as the last page gives it, such as 0.4096")
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.thread, self.record)
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The sessions that are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    from: Position,
    count: usize,
    address: Option<IpAddr>,
    port: Option<u16>,
    protocol: Option<Protocol>,
}

/// One end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct End(IpAddr, u16);

/// A session as a row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    thread: usize,
    protocol: String,
    src: End,
    dst: End,
    /// The ends after translation, where that changes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    translated_src: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    translated_dst: Option<End>,
    state: &'static str,
    packets: u64,
    bytes: u64,
    /// Seconds since the last packet.
    idle: f64,
}

/// A page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Sessions of the table, wanted or not.
    total: u64,
    sessions: Vec<Row>,
    /// Where to go on; `None` at the end.
    next: Option<Position>,
}

impl Wanted {
    fn has<A: Address + Into<IpAddr>>(&self, flow: &Flow<A>) -> bool {
        let is = |address: IpAddr| flow.src.into() == address || flow.dst.into() == address;
        self.protocol.is_none_or(|protocol| protocol == flow.protocol())
            && self.port.is_none_or(|port| port == flow.src_port || port == flow.dst_port)
            && self.address.is_none_or(is)
    }
    /// Whether either flow of a session has all that is wanted.
    fn is_met<A, B, D>(&self, session: &Counted<Flow<A>, Flow<B>, D>) -> bool
    where
        A: Address + Into<IpAddr>,
        B: Address + Into<IpAddr>,
    {
        self.has(&session.forward) || self.has(&session.reverse)
    }
}

/// The word for a session's state.
pub type NameState<A, B, D> = fn(&Counted<Flow<A>, Flow<B>, D>) -> &'static str;

/// Takes a page of a feature's sessions; `state` is the word for one's state.
///
/// # Errors
/// When a thread does not answer.
pub fn page<A, B, D>(
    router: &mut Router,
    sessions: &Sessions<Flow<A>, Flow<B>, D>,
    wanted: &Wanted,
    state: NameState<A, B, D>,
) -> Result<Page, NoAnswer>
where
    A: Address + Into<IpAddr>,
    B: Address + Into<IpAddr>,
    D: Copy + FromZeros + Send + 'static,
{
    let counts = sessions.counts();
    let (now, total) = (router.engine.clock().now(), counts.iter().sum());
    let mut next = Some(wanted.from);
    let mut rows: Vec<Row> = Vec::new();
    let mut visits = 0;
    while let Some(at) = next.filter(|_| rows.len() < wanted.count && visits < VISITS) {
        let next_thread = || {
            let later = at.thread + 1;
            (later < counts.len()).then_some(Position { thread: later, record: 0 })
        };
        if counts.get(at.thread).is_none_or(|count| *count == 0) {
            next = next_thread();
            continue;
        }
        visits += 1;
        let slice = slice(router, sessions, at, *wanted, wanted.count - rows.len())?;
        rows.extend(slice.0.iter().map(|one| row(at.thread, one, now, state)));
        next = slice.1.map(|record| Position { record, ..at }).or_else(next_thread);
    }
    Ok(Page { total, sessions: rows, next })
}

/// Sessions found in a slice, and the record where to go on.
type Slice<F, R, D> = (Vec<Counted<F, R, D>>, Option<usize>);

/// Looks at a slice of the records of a thread.
fn slice<A, B, D>(
    router: &mut Router,
    sessions: &Sessions<Flow<A>, Flow<B>, D>,
    at: Position,
    wanted: Wanted,
    room: usize,
) -> Result<Slice<Flow<A>, Flow<B>, D>, NoAnswer>
where
    A: Address + Into<IpAddr>,
    B: Address + Into<IpAddr>,
    D: Copy + FromZeros + Send + 'static,
{
    let found = Arc::new(Mutex::new((Vec::new(), None)));
    let to = Arc::clone(&found);
    sessions.visit(router, move |thread, table| {
        if thread != at.thread {
            return;
        }
        let (mut all, mut first_left) = (Vec::new(), None);
        let end = table.walk(at.record, VISIT, |index, session| {
            if wanted.is_met(session) {
                match all.len() < room {
                    true => all.push(*session),
                    false => first_left = first_left.or(Some(index.0 as usize)),
                }
            }
            true
        });
        *to.lock().unwrap_or_else(PoisonError::into_inner) = (all, first_left.or(end));
    })?;
    Ok(std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn row<A, B, D>(
    thread: usize,
    one: &Counted<Flow<A>, Flow<B>, D>,
    now: f64,
    state: NameState<A, B, D>,
) -> Row
where
    A: Address + Into<IpAddr>,
    B: Address + Into<IpAddr>,
{
    let (forward, reverse) = (&one.forward, &one.reverse);
    let ends = [(forward.src.into(), forward.src_port), (forward.dst.into(), forward.dst_port)];
    let [src, dst] = ends.map(|(address, port)| End(address, port));
    let after =
        [End(reverse.dst.into(), reverse.dst_port), End(reverse.src.into(), reverse.src_port)];
    let is_known = |end: &End| !end.0.is_unspecified();
    let protocol = match forward.protocol() {
        Protocol::TCP => "tcp".to_owned(),
        Protocol::UDP => "udp".to_owned(),
        Protocol::ICMP => "icmp".to_owned(),
        Protocol::ICMP6 => "icmp6".to_owned(),
        Protocol(number) => number.to_string(),
    };
    Row {
        thread,
        src,
        dst,
        translated_src: Some(after[0]).filter(|end| *end != src && is_known(end)),
        translated_dst: Some(after[1]).filter(|end| *end != dst && is_known(end)),
        state: if forward.protocol() == Protocol::TCP { state(one) } else { "" },
        protocol,
        packets: one.packets,
        bytes: one.bytes,
        idle: (now - one.heard()).max(0.0),
    }
}

/// Show the sessions of a table, a page at a time
#[derive(Command)]
#[command("show session list")]
struct Show {
    /// a table of `show session tables`
    #[positional]
    #[values("session-table")]
    table: String,
    /// go on where the last page ended
    from: Option<Position>,
    /// sessions of the page: 100, at most 1000
    count: Option<usize>,
    /// only those with this address
    address: Option<IpAddr>,
    /// only those with this port
    port: Option<u16>,
    /// only those of this protocol: tcp, udp, icmp, or a number
    protocol: Option<String>,
}

fn protocol(word: &str) -> Result<Protocol, Error> {
    match word {
        "tcp" => Ok(Protocol::TCP),
        "udp" => Ok(Protocol::UDP),
        "icmp" => Ok(Protocol::ICMP),
        number => match number.parse() {
            Ok(number) => Ok(Protocol(number)),
            Err(_) => Err(Error::new(format!("unknown protocol `{word}'"))),
        },
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("session-table", |router: &Router| {
        let Pages(all) = router.own();
        all.iter().map(|(name, _)| (*name).to_owned()).collect()
    });
    cli.command(|router: &mut Router, show: Show| -> Result<_, Error> {
        let all = &router.own::<Pages>().0;
        let Some((_, pages)) = all.iter().find(|(name, _)| *name == show.table) else {
            let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            return Err(Error::new(format!("unknown table `{}': one of {names}", show.table)));
        };
        let count = show.count.unwrap_or(USUAL);
        if !(1..=MOST).contains(&count) {
            return Err(Error::new(format!("invalid count `{count}': 1 to {MOST}")));
        }
        let wanted = Wanted {
            from: show.from.unwrap_or_default(),
            count,
            address: show.address,
            port: show.port,
            protocol: show.protocol.as_deref().map(protocol).transpose()?,
        };
        let page = pages(router, &wanted).map_err(|why| Error::new(why.to_string()))?;
        Ok(Output::of(page))
    });
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(IpAddr::V4(address), port) => write!(f, "{address}:{port}"),
            Self(IpAddr::V6(address), port) => write!(f, "[{address}]:{port}"),
        }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.sessions {
            write!(f, "{:<5} {} -> {}", row.protocol, row.src, row.dst)?;
            match (row.translated_src, row.translated_dst) {
                (None, None) => {}
                (src, dst) => {
                    write!(f, " as {} -> {}", src.unwrap_or(row.src), dst.unwrap_or(row.dst))?;
                }
            }
            let Row { state, packets, bytes, idle, .. } = row;
            let blank = if state.is_empty() { "" } else { " " };
            writeln!(f, "{blank}{state} packets {packets} bytes {bytes} idle {idle:.1}")?;
        }
        match self.next {
            Some(next) => writeln!(f, "{} sessions in all, more from {next}", self.total),
            None => writeln!(f, "{} sessions in all", self.total),
        }
    }
}
