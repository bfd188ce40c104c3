//! Sessions as clients see them, and commands that show.

use std::cell::Cell;
use std::rc::Rc;

use control::cli::Error as CliError;
use net::prelude::*;
use sessions::Flow;
use sessions::slices::{Gather, LISTED};

use super::Sfdp;
use super::error::Error;
use super::messages::SfdpSessionKey;
use super::rows::{filtered, rows, tcp_rows};
use super::service::of_session;
use super::session::{Family, One, thread_of};
use super::tenant::{self, DETOURS, Tenant};
use super::user::User;

/// Sessions that are shown unless asked otherwise.
const SHOWN: usize = 32;

/// Lookup key of a session.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Key {
    context: u32,
    initiator: IpAddr,
    initiator_port: u16,
    responder: IpAddr,
    responder_port: u16,
}

impl Key {
    fn of<A: sessions::Address + Into<IpAddr>>(flow: &Flow<A>) -> Self {
        Self {
            context: flow.scope,
            initiator: flow.src.into(),
            initiator_port: flow.src_port,
            responder: flow.dst.into(),
            responder_port: flow.dst_port,
        }
    }
    pub fn native(&self) -> SfdpSessionKey {
        SfdpSessionKey {
            context_id: self.context,
            init_addr: self.initiator.into(),
            init_port: self.initiator_port,
            resp_addr: self.responder.into(),
            resp_port: self.responder_port,
        }
    }
}

/// An end: `192.0.2.1:80`, `[2001:db8::1]:80`.
fn end(address: IpAddr, port: u16) -> String {
    std::net::SocketAddr::new(address, port).to_string()
}

/// A session.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub id: u64,
    pub number: u32,
    pub thread: usize,
    pub tenant: u32,
    pub kind: u8,
    #[serde(serialize_with = "by_number")]
    pub protocol: Protocol,
    pub state: u8,
    pub remaining: f64,
    pub services: [u64; 2],
    pub tcp: u32,
    /// Bytes and packets of both directions.
    pub passed: [[u64; 2]; 2],
    pub keys: Vec<Key>,
}

fn by_number<S: serde::Serializer>(protocol: &Protocol, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u8(protocol.0)
}

impl Row {
    pub(super) fn of<F: Family>(
        session: &One<F::Address>,
        (now, timeout): (f64, f64),
        tenant: u32,
    ) -> Self {
        let data = &session.data;
        let [packets, bytes] = data.reverse;
        let forward = [session.bytes.saturating_sub(bytes), session.packets - packets];
        let second = (data.is_translated != 0).then(|| Key::of(&session.reverse.reversed()));
        Self {
            id: data.id,
            number: data.number,
            thread: thread_of(data.id),
            tenant,
            kind: F::KIND,
            protocol: session.forward.protocol(),
            state: data.state,
            remaining: (timeout - (now - session.heard())).max(0.0),
            services: data.services.map(|bits| of_session(bits, session.forward.protocol())),
            tcp: data.tcp.flags(),
            passed: [forward, [bytes, packets]],
            keys: [Some(Key::of(&session.forward)), second].into_iter().flatten().collect(),
        }
    }
    fn kind(&self) -> String {
        match self.kind {
            0 => "ipv4".to_owned(),
            1 => "ipv6".to_owned(),
            _ => format!("custom-parser: {}", User::LOOKUP),
        }
    }
    fn state(&self) -> &'static str {
        match self.state {
            0 => "embryonic",
            _ => "established",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, number, thread, tenant, protocol, remaining, .. } = self;
        write!(f, "0x{id:<14x} {number:<10} {thread:<7} {tenant:<10} ")?;
        write!(
            f,
            "{:<8} {:<12} {remaining:<10.3} {}",
            protocol.to_string(),
            self.state(),
            self.kind()
        )?;
        for key in &self.keys {
            let from = end(key.initiator, key.initiator_port);
            let to = end(key.responder, key.responder_port);
            write!(f, " context {} {from} -> {to}", key.context)?;
        }
        writeln!(f)
    }
}

/// Sessions, as many as are asked for.
#[derive(Serialize)]
struct Table {
    sessions: usize,
    shown: Vec<Row>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<16} {:<10} {:<7} {:<10} {:<8} {:<12} {:<10} kind and keys",
            "id", "index", "thread", "tenant", "protocol", "state", "remaining"
        )?;
        self.shown.iter().try_for_each(|row| write!(f, "{row}"))?;
        writeln!(f, "{} of {} sessions", self.shown.len(), self.sessions)
    }
}

/// `show sfdp session-table`.
struct ShowSessions {
    tenant: Option<u32>,
    most: usize,
}

impl Command for ShowSessions {
    const PATHS: &'static [&'static str] = &["show sfdp session-table"];
    const ABOUT: &'static str = "Show sessions; 32 by default";
    const USAGE: &'static str = "[tenant <tenant-id>] [max <count>] [unsafe-show-all]";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let mut show = Self { tenant: None, most: SHOWN };
        while !args.is_empty() {
            if args.keyword("tenant") {
                show.tenant = Some(args.value("tenant-id")?);
            } else if args.keyword("max") {
                show.most = args.value("count")?;
            } else if args.keyword("unsafe-show-all") {
                show.most = usize::MAX;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(show)
    }
}

/// Show TCP sessions with state checks
#[derive(Command)]
#[command("show sfdp tcp session-table")]
struct ShowTcp {
    /// only this tenant
    tenant: Option<u32>,
}

fn write_tcp_table(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const NAMES: [&str; 10] = [
        "wait-for-resp-syn",
        "wait-for-init-ack-to-syn",
        "wait-for-resp-ack-to-syn",
        "seen-fin-init",
        "seen-fin-resp",
        "seen-ack-to-fin-init",
        "seen-ack-to-fin-resp",
        "established",
        "removing",
        "blocked",
    ];
    rows.iter().try_for_each(|row| {
        let names = NAMES.iter().enumerate().filter(|(bit, _)| row.tcp >> bit & 1 != 0);
        let names: Vec<_> = names.map(|(_, name)| *name).collect();
        write!(f, "0x{:x} tenant {}", row.id, row.tenant)?;
        if let Some(key) = row.keys.first() {
            let to = end(key.responder, key.responder_port);
            write!(f, " {} -> {to}", end(key.initiator, key.initiator_port))?;
        }
        writeln!(f, " {}", names.join(","))
    })
}

/// `show sfdp session-detail`.
struct ShowDetail(u64);

impl Command for ShowDetail {
    const PATHS: &'static [&'static str] = &["show sfdp session-detail"];
    const ABOUT: &'static str = "Show a session";
    const USAGE: &'static str = "<session-id>";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let word: String = args.value("session-id")?;
        let id = word.strip_prefix("0x").and_then(|id| u64::from_str_radix(id, 16).ok());
        id.map(Self).ok_or_else(|| args.error(format_args!("expected 0x and an ID, not {word}")))
    }
}

#[derive(Serialize)]
struct Detail {
    session: Row,
    services: [Vec<&'static str>; 2],
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = &self.session;
        writeln!(f, "  session id: 0x{:x}", row.id)?;
        writeln!(f, "  thread index: {}", row.thread)?;
        writeln!(f, "  session index: {}", row.number)?;
        writeln!(f, "  tenant id: {}", row.tenant)?;
        writeln!(f, "  type: {}", row.kind())?;
        for key in &row.keys {
            let from = end(key.initiator, key.initiator_port);
            let to = end(key.responder, key.responder_port);
            writeln!(f, "  specification: {}\t{from}\t-> {to}", row.protocol)?;
        }
        writeln!(f, "  state: {}", row.state())?;
        writeln!(f, "  expires after: {:.6}s\n", row.remaining)?;
        let directions = ["forward", "reverse"];
        for (services, name) in self.services.iter().zip(directions) {
            write!(f, "  {name} service chain: ")?;
            services.iter().try_for_each(|service| write!(f, "{service},"))?;
            writeln!(f)?;
        }
        writeln!(f, "  counters:")?;
        for ([bytes, packets], name) in row.passed.iter().zip(directions) {
            writeln!(f, "    {name} flow:\n      bytes: {bytes}\n      packets: {packets}")?;
        }
        Ok(())
    }
}

fn detail(router: &Router, id: u64) -> Gather<Row, Result<Output, CliError>> {
    let found = filtered(rows(router, |_| true), move |row| row.id == id);
    Gather::all(found, |router, found| {
        let found = found.map_err(|_| Error::NoAnswer)?.into_iter().next();
        let session = found.ok_or(Error::NoSession)?;
        let services = session.services.map(|bits| tenant::services_of(router, bits));
        Ok(Output::of(Detail { session, services }))
    })
}

/// Show services in processing order
#[derive(Command)]
#[command("show sfdp services")]
struct ShowServices;

#[derive(Serialize)]
struct ServiceRow {
    index: u8,
    name: &'static str,
    is_terminal: bool,
}

fn write_services(rows: &[ServiceRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "scope default")?;
    rows.iter().try_for_each(|row| {
        let ends = if row.is_terminal { " terminal" } else { "" };
        writeln!(f, "  {:>2} {}{ends}", row.index, row.name)
    })
}

/// Show limits and session counts
#[derive(Command)]
#[command("show sfdp status")]
struct ShowStatus;

#[derive(Serialize)]
struct Status {
    sessions: usize,
    limit: usize,
    margin: usize,
    tenants: usize,
    most_tenants: usize,
    interval: f64,
    threads: Vec<usize>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "number of active sessions: {}", self.sessions)?;
        writeln!(f, "max sessions (of a kind on each thread): {}", self.limit)?;
        writeln!(f, "eviction margin: {}", self.margin)?;
        writeln!(f, "number of tenants: {} of {}", self.tenants, self.most_tenants)?;
        writeln!(f, "timer tick interval (s): {:.6}", self.interval)?;
        self.threads
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .try_for_each(|(thread, count)| writeln!(f, "  thread {thread}: {count} sessions"))
    }
}

fn status(router: &mut Router) -> Status {
    let threads: Vec<_> = super::expire::usage(router).iter().map(|u| u.sessions).collect();
    let sfdp = router.own::<Sfdp>();
    Status {
        sessions: threads.iter().sum(),
        limit: sfdp.limits.sessions,
        margin: sfdp.limits.margin,
        tenants: sfdp.by_id.len(),
        most_tenants: sfdp.limits.tenants,
        interval: sfdp.limits.interval,
        threads,
    }
}

/// Show tenants.
#[derive(Command)]
#[command("show sfdp tenant")]
struct ShowTenant {
    /// only this one
    #[positional]
    tenant: Option<u32>,
    /// with all that is set of it
    detail: bool,
}

#[derive(Serialize)]
struct TenantRow {
    id: u32,
    index: u32,
    context: u32,
    services: [Vec<&'static str>; 2],
    timeouts: Vec<(&'static str, u32)>,
    detours: Vec<(&'static str, String)>,
    created: u64,
    removed: u64,
    detail: bool,
}

fn write_tenants(rows: &[TenantRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        writeln!(f, "tenant {} index {} context {}", row.id, row.index, row.context)?;
        writeln!(f, "  sessions created {} removed {}", row.created, row.removed)?;
        writeln!(f, "  forward services: {}", row.services[0].join(" "))?;
        writeln!(f, "  reverse services: {}", row.services[1].join(" "))?;
        if row.detail {
            for (name, seconds) in &row.timeouts {
                writeln!(f, "  timeout {name}: {seconds} s")?;
            }
            for (name, node) in &row.detours {
                writeln!(f, "  {name}: {node}")?;
            }
        }
        Ok(())
    })
}

fn tenants(router: &Router, c: &ShowTenant) -> Result<Vec<TenantRow>, Error> {
    if let Some(id) = c.tenant {
        tenant::tenant(router, id)?;
    }
    let sfdp = router.own::<Sfdp>();
    let named = tenant::timeouts(router);
    let row = |(index, tenant): (u32, &Tenant)| TenantRow {
        id: tenant.id,
        index,
        context: tenant.context,
        services: tenant.services.map(|bits| sfdp.registry.names(bits)),
        timeouts: named.iter().map(|(at, name, _)| (*name, tenant.timeouts[*at])).collect(),
        detours: DETOURS
            .into_iter()
            .zip(&tenant.detours)
            .filter_map(|(name, detour)| Some((name, detour.as_ref()?.node.clone())))
            .collect(),
        created: sfdp.core.counters.created.sum(index as usize),
        removed: sfdp.core.counters.removed.sum(index as usize),
        detail: c.detail,
    };
    let all = sfdp.tenants.iter().filter(|(_, tenant)| c.tenant.is_none_or(|id| id == tenant.id));
    Ok(all.map(row).collect())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, c: ShowSessions| {
        let number = c.tenant.map(|id| tenant::tenant(router, id)).transpose()?.map(|(n, _)| n);
        let all = rows(router, move |tenant| number.is_none_or(|number| number == tenant));
        let (count, mut left) = (Rc::new(Cell::new(0)), c.most.min(LISTED));
        let to = Rc::clone(&count);
        let shown = filtered(all, move |_| {
            to.set(to.get() + 1);
            left.checked_sub(1).inspect(|less| left = *less).is_some()
        });
        Ok(Box::new(Gather::all(shown, move |_, shown| {
            let shown = shown.map_err(|_| Error::NoAnswer)?;
            Ok(Output::of(Table { sessions: count.get(), shown }))
        })) as _)
    });
    cli.task(|router: &mut Router, c: ShowTcp| {
        let rows = filtered(tcp_rows(router), move |row| {
            c.tenant.is_none_or(|tenant| tenant == row.tenant)
        });
        Ok(Box::new(Gather::first(rows, |_, rows| {
            Ok(Output::rows(rows.map_err(|_| Error::NoAnswer)?, write_tcp_table))
        })) as _)
    });
    cli.task(|router: &mut Router, c: ShowDetail| Ok(Box::new(detail(router, c.0)) as _));
    cli.command(|router: &mut Router, _: ShowServices| {
        let all = router.own::<Sfdp>().registry.services().into_iter();
        let row = |s: super::service::Service| ServiceRow {
            index: s.bit,
            name: s.node,
            is_terminal: s.is_terminal(),
        };
        Ok(Output::rows(all.map(row), write_services))
    });
    cli.command(|router: &mut Router, _: ShowStatus| Ok(Output::of(status(router))));
    cli.command(|router: &mut Router, c: ShowTenant| {
        Ok(Output::rows(tenants(router, &c)?, write_tenants))
    });
}
