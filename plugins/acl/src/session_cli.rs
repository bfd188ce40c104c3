//! Commands about sessions, and the process that ends those that are over.

use control::process::Event;
use graph::NoAnswer;
use net::prelude::*;
use sessions::page::page;
use sessions::slices::{self, Gather, LISTED, Slices};
use sessions::{Address, Usage, Walked};

use super::session::{One, Timeouts, of_scope};
use super::{Lists, all, set_options};

/// The process that ends sessions.
const NAME: &str = "acl-plugin-fa-cleaner-process";
/// Between two looks, and while there is more to end.
const PAUSE: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(10);
/// Sessions that are shown unless asked otherwise.
const SHOWN: usize = 100;

/// `set acl-plugin session timeout …`.
#[derive(Debug, PartialEq)]
pub(super) enum SetTimeout {
    UdpIdle(u32),
    TcpIdle(u32),
    TcpTransient(u32),
}

impl Command for SetTimeout {
    const PATHS: &'static [&'static str] = &["set acl-plugin session timeout"];
    const ABOUT: &'static str = "Set session timeouts, in seconds";
    const USAGE: &'static str = "{{udp idle}|tcp {idle|transient}} <seconds>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let make = if args.keyword("udp idle") {
            Self::UdpIdle
        } else if args.keyword("tcp idle") {
            Self::TcpIdle
        } else if args.keyword("tcp transient") {
            Self::TcpTransient
        } else {
            return Err(args.unknown());
        };
        Ok(make(args.value("seconds")?))
    }
}

impl Print for SetTimeout {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=set acl-plugin session timeout {?udp} udp idle 600|\
        set acl-plugin session timeout {?idle} tcp idle 86400|\
        set acl-plugin session timeout tcp transient 120";
    fn print(&self, line: &mut Line<'_>) {
        let (word, seconds) = match self {
            Self::UdpIdle(seconds) => ("udp idle", seconds),
            Self::TcpIdle(seconds) => ("tcp idle", seconds),
            Self::TcpTransient(seconds) => ("tcp transient", seconds),
        };
        line.keyword(word, seconds);
    }
}

impl SetTimeout {
    /// Timeouts that differ from the default.
    pub fn changed(timeouts: &Timeouts) -> Vec<Self> {
        let Timeouts { udp_idle, tcp_idle, tcp_transient } = *timeouts;
        let usual = Timeouts::default();
        let all = [
            (udp_idle != usual.udp_idle).then_some(Self::UdpIdle(udp_idle)),
            (tcp_idle != usual.tcp_idle).then_some(Self::TcpIdle(tcp_idle)),
            (tcp_transient != usual.tcp_transient).then_some(Self::TcpTransient(tcp_transient)),
        ];
        all.into_iter().flatten().collect()
    }
    /// The timeouts with this one.
    fn among(&self, mut timeouts: Timeouts) -> Timeouts {
        match self {
            Self::UdpIdle(seconds) => timeouts.udp_idle = *seconds,
            Self::TcpIdle(seconds) => timeouts.tcp_idle = *seconds,
            Self::TcpTransient(seconds) => timeouts.tcp_transient = *seconds,
        }
        timeouts
    }
}

/// `set acl-plugin reclassify-sessions 0|1`.
#[derive(Debug, PartialEq)]
pub(super) struct SetReclassify(pub bool);

impl Command for SetReclassify {
    const PATHS: &'static [&'static str] = &["set acl-plugin reclassify-sessions"];
    const ABOUT: &'static str = "Re-evaluate sessions when access lists change";
    const USAGE: &'static str = "{0|1}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Ok(Self(args.value::<u8>("0 or 1")? != 0))
    }
}

impl Print for SetReclassify {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=set acl-plugin reclassify-sessions 0";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&u8::from(self.0));
    }
}

/// Set session table sizes or the event trace level; accepted: tables grow, and packet traces show
/// sessions.
#[derive(Command)]
#[command("set acl-plugin session table")]
struct SetTable {
    /// sessions
    #[keyword("max-entries")]
    _max_entries: Option<u64>,
    /// buckets
    #[keyword("hash-table-buckets")]
    _buckets: Option<u64>,
    /// bytes, with a letter for their unit
    #[keyword("hash-table-memory")]
    memory: Option<String>,
    /// level
    #[keyword("event-trace")]
    _event_trace: Option<u32>,
}

/// Set the event trace level; accepted: packet traces show sessions.
#[derive(Command)]
#[command("set acl-plugin event-trace")]
struct SetEventTrace {
    /// level
    #[positional]
    _level: u32,
}

/// Set heap validation or tracing; accepted: the router's language makes it unnecessary.
#[derive(Command)]
#[command("set acl-plugin heap")]
struct SetHeap {
    /// heap of lists
    #[keyword("main")]
    _main: bool,
    /// heap of lookups
    #[keyword("hash")]
    _hash: bool,
    /// 1 to validate, 0 not to
    #[keyword("validate")]
    _validate: Option<u32>,
    /// 1 to trace, 0 not to
    #[keyword("trace")]
    _trace: Option<u32>,
}

/// Delete all sessions.
#[derive(Command)]
#[command("clear acl-plugin sessions")]
struct Clear;

/// Show sessions.
#[derive(Command)]
#[command("show acl-plugin sessions")]
struct Show {
    /// maximum number to show; default 100
    count: Option<usize>,
    /// number to skip
    from: Option<usize>,
    /// only this interface
    #[alias("sw_if_index")]
    sw_if_index: Option<u32>,
    /// only this thread
    thread: Option<usize>,
    /// of these, only this one
    index: Option<usize>,
    /// verbosity: nonzero shows threads as well
    verbose: Option<u32>,
}

#[derive(Serialize)]
struct Row {
    thread: usize,
    /// Its place among those of its thread.
    index: usize,
    #[serde(skip)]
    has_place: bool,
    sw_if_index: u32,
    direction: &'static str,
    src: IpAddr,
    dst: IpAddr,
    src_port: u16,
    dst_port: u16,
    protocol: u8,
    state: &'static str,
    acl: u32,
    rule: u32,
    packets: u64,
    bytes: u64,
    idle: f64,
}

#[derive(Serialize)]
struct Shown {
    added: u64,
    deleted: u64,
    active: usize,
    limit: usize,
    refused: u64,
    sessions: Vec<Row>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added, deleted, active, limit, refused, sessions } = self;
        writeln!(f, "Sessions total: add {added} - del {deleted} = {active}")?;
        writeln!(f, "Limit on each thread: {limit}, refused: {refused}")?;
        sessions.iter().try_for_each(|row| {
            let Row { sw_if_index, direction, src, dst, src_port, dst_port, protocol, .. } = row;
            let Row { state, acl, rule, packets, bytes, idle, .. } = row;
            if row.has_place {
                write!(f, "  thread {} index {}", row.thread, row.index)?;
            }
            write!(f, "  sw_if_index {sw_if_index} {direction} proto {protocol} ")?;
            write!(f, "{src} {src_port} -> {dst} {dst_port} {state} acl {acl} rule {rule} ")?;
            writeln!(f, "packets {packets} bytes {bytes} idle {idle:.1}")
        })
    }
}

fn row<A: Address>(thread: usize, session: &One<A>, ip: fn(A) -> IpAddr, now: f64) -> Row {
    let flow = &session.forward;
    let (sw_if_index, is_bridged, direction) = of_scope(flow.scope);
    let directions = if is_bridged { ["input l2", "output l2"] } else { ["input", "output"] };
    let protocol = flow.protocol();
    Row {
        thread,
        index: 0,
        has_place: false,
        sw_if_index,
        direction: directions[direction],
        src: ip(flow.src),
        dst: ip(flow.dst),
        src_port: flow.src_port,
        dst_port: flow.dst_port,
        protocol: protocol.0,
        state: if protocol == wire::Protocol::TCP { session.data.state() } else { "" },
        acl: session.data.list,
        rule: session.data.rule,
        packets: session.packets,
        bytes: session.bytes,
        idle: now - session.heard(),
    }
}

/// The sessions of a version, as far as they are meant.
fn rows<A: Address + sessions::Look + Sync>(
    router: &Router,
    of: &super::session::Of<A>,
    only: Option<u32>,
    ip: fn(A) -> IpAddr,
) -> Slices<Row> {
    let now = router.engine.clock().now();
    of.slices(move |thread, session| {
        let row = row(thread, session, ip, now);
        let is_meant = only.is_none_or(|only| only == row.sw_if_index);
        Walked::keep(is_meant.then_some(row))
    })
}

fn show(router: &Router, c: &Show) -> Gather<Row, Result<Output, Error>> {
    let sessions = all(router).sessions();
    let v4 = rows(router, &sessions.v4, c.sw_if_index, |a| a.into());
    let v6 = rows(router, &sessions.v6, c.sw_if_index, |a| a.into());
    let found = placed(slices::chain([v4, v6]), c);
    Gather::all(found, |router, found| {
        let sessions = all(router).sessions().clone();
        let mut usages: Vec<Usage> = sessions.v4.usage(router).map_err(no_answer)?;
        usages.extend(sessions.v6.usage(router).map_err(no_answer)?);
        let active = usages.iter().map(|u| u.sessions).sum::<usize>();
        let added = usages.iter().map(|u| u.made).sum::<u64>();
        Ok(Output::of(Shown {
            added,
            deleted: added.saturating_sub(active as u64),
            active,
            limit: super::MOST_SESSIONS,
            refused: usages.iter().map(|u| u.refused).sum(),
            sessions: found.map_err(no_answer)?,
        }))
    })
}

/// Sessions with their places, as far as these are meant and shown.
fn placed(mut found: Slices<Row>, c: &Show) -> Slices<Row> {
    let (thread, index, verbose) = (c.thread, c.index, c.verbose.unwrap_or(0));
    let (mut skipped, mut left) = (c.from.unwrap_or(0), c.count.unwrap_or(SHOWN).min(LISTED));
    let mut next = BTreeMap::<usize, usize>::new();
    Box::new(move |router| {
        let Some(rows) = found(router)?.filter(|_| left > 0) else { return Ok(None) };
        let placed = rows.into_iter().map(|row| {
            let next = next.entry(row.thread).or_default();
            *next += 1;
            Row { index: *next - 1, has_place: verbose > 0 || thread.is_some(), ..row }
        });
        let meant = placed.filter(|row| {
            thread.is_none_or(|only| only == row.thread)
                && index.is_none_or(|only| only == row.index)
        });
        let mut shown: Vec<Row> = meant.collect();
        shown.drain(..skipped.min(shown.len())).for_each(|_| skipped -= 1);
        shown.truncate(left);
        left -= shown.len();
        Ok(Some(shown))
    })
}

/// Whether a text is a number of bytes, with a letter for their unit.
fn is_size(text: &str) -> bool {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    text.len() - digits.len() < 2 && digits.parse::<u64>().is_ok()
}

/// A thread has not done what it was asked to.
fn no_answer(why: NoAnswer) -> Error {
    Error::new(why.to_string())
}

/// Sets the timeouts.
fn set_timeouts(router: &mut Router, timeouts: Timeouts) -> Result<(), Error> {
    let sessions = all(router).sessions().clone();
    let classes = || timeouts.classes().to_vec();
    sessions.v4.set_classes(router, classes()).map_err(no_answer)?;
    sessions.v6.set_classes(router, classes()).map_err(no_answer)?;
    router.own_mut::<Lists>().timeouts = timeouts;
    Ok(())
}

/// Ends sessions that are over.
fn clean(router: &mut Router, _: Event) -> Wake {
    let lists = all(router);
    let is_used = lists.has_sessions || lists.iter().any(|(_, list)| list.is_stateful);
    if !is_used {
        return Wake::After(PAUSE);
    }
    let sessions = lists.sessions().clone();
    let more = sessions.v4.expire(router, |_, _, _| ()) | sessions.v6.expire(router, |_, _, _| ());
    let usages = [sessions.v4.usage(router), sessions.v6.usage(router)];
    let mut usages = usages.into_iter().flatten().flatten();
    let are_left = usages.any(|usage| usage.sessions > 0);
    router.own_mut::<Lists>().has_sessions = are_left;
    Wake::After(if more { SOON } else { PAUSE })
}

/// Ends the sessions of an interface that goes, all at once: another one may get its number.
pub(super) fn forget(router: &mut Router, interface: InterfaceIndex) {
    let lists = all(router);
    if !lists.has_sessions && !lists.iter().any(|(_, list)| list.is_stateful) {
        return;
    }
    let sessions = lists.sessions().clone();
    let judge = move |scope: u32| match of_scope(scope).0 == interface.0 {
        true => Walked::<()>::remove(None),
        false => Walked::keep(None),
    };
    // A thread that does not answer has no packets for it either.
    let _ = sessions.v4.walk(router, move |_, session| judge(session.forward.scope));
    let _ = sessions.v6.walk(router, move |_, session| judge(session.forward.scope));
}

/// Starts the process, and lists the tables.
pub(super) fn spawn(router: &mut Router) {
    router.processes.spawn(NAME, Box::new(clean));
    sessions::list(router, "acl-ip4", |router| {
        all(router).sessions().clone().v4.usage(router).unwrap_or_default()
    });
    sessions::list(router, "acl-ip6", |router| {
        all(router).sessions().clone().v6.usage(router).unwrap_or_default()
    });
    sessions::list_pages(router, "acl-ip4", |router, wanted| {
        let all = all(router).sessions().v4.clone();
        page(router, &all, wanted, |one| one.data.state())
    });
    sessions::list_pages(router, "acl-ip6", |router, wanted| {
        let all = all(router).sessions().v6.clone();
        page(router, &all, wanted, |one| one.data.state())
    });
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTimeout| {
        let timeouts = c.among(all(router).timeouts());
        set_timeouts(router, timeouts)
    });
    cli.command(|router: &mut Router, SetReclassify(on): SetReclassify| {
        set_options(router, |options| options.reclassifies = on);
        Ok(())
    });
    cli.command(|_: &mut Router, c: SetTable| match c.memory.filter(|memory| !is_size(memory)) {
        Some(memory) => Err(Error::new(format!("invalid hash-table-memory `{memory}'"))),
        None => Ok(()),
    });
    cli.command(|_: &mut Router, _: SetEventTrace| Ok(()));
    cli.command(|_: &mut Router, _: SetHeap| Ok(()));
    cli.command(|router: &mut Router, _: Clear| {
        let sessions = all(router).sessions().clone();
        let all = |_, _: &mut _| Walked::<()>::remove(None);
        sessions.v4.sweep(router, all, |_, _| ()).map_err(no_answer)?;
        let all = |_, _: &mut _| Walked::<()>::remove(None);
        sessions.v6.sweep(router, all, |_, _| ()).map_err(no_answer)?;
        Ok(())
    });
    cli.task(|router: &mut Router, c: Show| Ok(Box::new(show(router, &c)) as _));
}
