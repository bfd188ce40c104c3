//! Commands about sessions, and the end of those that are over.

use net::prelude::*;
use sessions::slices::{self, Gather, LISTED, Slices};
use sessions::{Address, Usage, Walked};

use super::error::no_answer;
use super::log::{self, Entry};
use super::object::Name;
use super::session::{Of, One};
use super::state;
use super::zone::{Pair, Zone};

/// Sessions that are shown unless asked otherwise.
const SHOWN: usize = 100;

/// Show firewall sessions
#[derive(Command)]
#[command("show firewall sessions")]
struct Show {
    /// maximum number to show; default 100
    count: Option<usize>,
    /// number to skip
    skip: Option<usize>,
    /// only sessions from this zone
    from: Option<String>,
    /// only sessions to this zone
    to: Option<String>,
    /// only sessions with this address
    address: Option<IpAddr>,
    /// only those with this port
    port: Option<u16>,
}

/// Delete all firewall sessions
#[derive(Command)]
#[command("clear firewall sessions")]
struct Clear;

#[derive(Serialize)]
struct Row {
    thread: usize,
    from: String,
    to: String,
    src: IpAddr,
    dst: IpAddr,
    src_port: u16,
    dst_port: u16,
    protocol: u8,
    state: &'static str,
    rule: Option<u32>,
    packets: u64,
    bytes: u64,
    idle: f64,
}

#[derive(Serialize)]
struct Shown {
    sessions: usize,
    limit: usize,
    made: u64,
    expired: u64,
    evicted: u64,
    refused: u64,
    shown: Vec<Row>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, limit, made, expired, evicted, refused, shown } = self;
        writeln!(f, "sessions {sessions} of {limit} on each thread for a version of IP")?;
        writeln!(f, "begun {made}, over {expired}, evicted {evicted}, refused {refused}")?;
        shown.iter().try_for_each(|row| {
            let Row { from, to, src, dst, src_port, dst_port, protocol, state, .. } = row;
            let rule = row.rule.map_or_else(|| "default".to_owned(), |rule| rule.to_string());
            write!(f, "  {from} -> {to} protocol {protocol} ")?;
            write!(f, "{src} {src_port} -> {dst} {dst_port} {state} rule {rule} ")?;
            let Row { packets, bytes, idle, .. } = row;
            writeln!(f, "packets {packets} bytes {bytes} idle {idle:.1}")
        })
    }
}

/// Which sessions are meant.
#[derive(Clone, Copy)]
struct Wanted {
    from: Option<Zone>,
    to: Option<Zone>,
    address: Option<IpAddr>,
    port: Option<u16>,
}

impl Wanted {
    fn of(router: &Router, c: &Show) -> Result<Self, Error> {
        let zone = |word: &Option<String>| -> Result<Option<Zone>, Error> {
            let Some(word) = word else { return Ok(None) };
            let name: Name = word.parse().map_err(|why: super::Error| Error::from(why))?;
            Ok(Some(state(router).zones.at(&name)?))
        };
        let Show { address, port, .. } = *c;
        Ok(Self { from: zone(&c.from)?, to: zone(&c.to)?, address, port })
    }
    fn has<A: Address + Into<IpAddr>>(&self, session: &One<A>) -> bool {
        let (flow, pair) = (&session.forward, Pair::of_scope(session.forward.scope));
        let is = |wanted: Option<Zone>, zone| wanted.is_none_or(|wanted| wanted == zone);
        let ends: [IpAddr; 2] = [flow.src.into(), flow.dst.into()];
        is(self.from, pair.from)
            && is(self.to, pair.to)
            && self.address.is_none_or(|address| ends.contains(&address))
            && self.port.is_none_or(|port| flow.src_port == port || flow.dst_port == port)
    }
}

/// The rows of sessions that are meant.
fn find<A: Address + Into<IpAddr> + Sync>(of: &Of<A>, wanted: Wanted) -> Slices<Row> {
    let found = of.slices(move |thread, session| {
        Walked::keep(wanted.has(session).then_some((thread, *session)))
    });
    slices::map(found, |router, one| row(router, &one))
}

fn row<A: Address + Into<IpAddr>>(router: &Router, (thread, one): &(usize, One<A>)) -> Row {
    let (flow, data) = (&one.forward, &one.data);
    let pair = Pair::of_scope(flow.scope);
    let zones = &state(router).zones;
    Row {
        thread: *thread,
        from: zones.name(pair.from),
        to: zones.name(pair.to),
        src: flow.src.into(),
        dst: flow.dst.into(),
        src_port: flow.src_port,
        dst_port: flow.dst_port,
        protocol: flow.protocol().0,
        state: if flow.protocol() == Protocol::TCP { data.tcp.name() } else { "" },
        rule: Some(data.rule).filter(|rule| *rule != u32::MAX),
        packets: one.packets,
        bytes: one.bytes,
        idle: router.engine.clock().now() - one.heard(),
    }
}

fn show(router: &Router, c: &Show) -> Result<Gather<Row, Result<Output, Error>>, Error> {
    let wanted = Wanted::of(router, c)?;
    let sessions = &state(router).sessions;
    let mut all = slices::chain([find(&sessions.v4, wanted), find(&sessions.v6, wanted)]);
    let mut skipped = c.skip.unwrap_or(0);
    let mut left = c.count.unwrap_or(SHOWN).min(LISTED);
    let shown: Slices<Row> = Box::new(move |router| {
        let Some(mut rows) = all(router)?.filter(|_| left > 0) else { return Ok(None) };
        rows.drain(..skipped.min(rows.len())).for_each(|_| skipped -= 1);
        rows.truncate(left);
        left -= rows.len();
        Ok(Some(rows))
    });
    Ok(Gather::all(shown, |router, shown| {
        let sessions = state(router).sessions.clone();
        let usages = [sessions.v4.usage(router), sessions.v6.usage(router)];
        let usages: Vec<Usage> = usages.into_iter().flatten().flatten().collect();
        let sum = |of: fn(&Usage) -> u64| usages.iter().map(of).sum();
        Ok(Output::of(Shown {
            sessions: usages.iter().map(|u| u.sessions).sum(),
            limit: state(router).options.session_limit as usize,
            made: sum(|u| u.made),
            expired: sum(|u| u.expired),
            evicted: sum(|u| u.evicted),
            refused: sum(|u| u.refused),
            shown: shown.map_err(no_answer)?,
        }))
    }))
}

/// Totals of the tables of all threads.
pub(super) fn usage(router: &mut Router) -> Vec<Usage> {
    let sessions = state(router).sessions.clone();
    let mut rows = sessions.v4.usage(router).unwrap_or_default();
    for (row, other) in rows.iter_mut().zip(sessions.v6.usage(router).unwrap_or_default()) {
        *row += other;
    }
    rows
}

/// Ends what is over; whether there may be more.
pub(super) fn expire(router: &mut Router) -> bool {
    let sessions = state(router).sessions.clone();
    let (more4, ended4) = sessions.expire(router, &sessions.v4);
    let (more6, ended6) = sessions.expire(router, &sessions.v6);
    ended4.iter().for_each(|one| log::log(router, Entry::end(one)));
    ended6.iter().for_each(|one| log::log(router, Entry::end(one)));
    more4 || more6
}

fn clear(router: &mut Router) -> Result<(), Error> {
    let sessions = state(router).sessions.clone();
    sessions.end(router, &sessions.v4, |_| true)?;
    sessions.end(router, &sessions.v6, |_| true)?;
    Ok(())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, c: Show| Ok(Box::new(show(router, &c)?) as _));
    cli.command(|router: &mut Router, _: Clear| clear(router));
}
