//! `show nat44 …`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use control::cli::Error as CliError;
use net::prelude::*;
use sessions::Flow4;
use sessions::slices::{self, Gather, LISTED};
use translation::session::{Data, ESTABLISHED, NatSession, STATIC, TWICE};
use translation::words::{below, hash_tables, protocol, thread_head, workers};

use crate::state::{Error, Nat};

/// Show the number of sessions by type
#[derive(Command)]
#[command("show nat44 summary")]
struct Summary {}

/// Show tables of inside hosts with those of their external hosts
#[derive(Command)]
#[command("show nat44 vrf tables")]
struct Tables {}

/// Show workers with sessions
#[derive(Command)]
#[command("show nat workers")]
struct Workers {}

/// Conditions on a flow of a session.
#[derive(Clone, Copy, Default, PartialEq)]
struct Filter {
    saddr: Option<Ipv4Addr>,
    daddr: Option<Ipv4Addr>,
    sport: Option<u16>,
    dport: Option<u16>,
    protocol: Option<Protocol>,
}

/// `show nat44 sessions`: filters of the flows from inside and from outside.
struct Sessions([Filter; 2]);

impl Command for Sessions {
    const PATHS: &'static [&'static str] = &["show nat44 sessions"];
    const ABOUT: &'static str =
        "Show sessions: all, or those whose flow from inside (i2o) or outside (o2i) matches";
    const USAGE: &'static str = concat!(
        "[filter i2o|o2i] [saddr <address>] [daddr <address>] [sport <port:0-65535>] ",
        "[dport <port:0-65535>] [proto tcp|udp|icmp|<number>]"
    );

    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let (mut filters, mut at) = ([Filter::default(); 2], 0);
        while !args.is_empty() {
            let is_next = args.keyword("filter");
            if args.keyword("i2o") {
                at = 0;
            } else if args.keyword("o2i") {
                at = 1;
            } else if is_next {
                return Err(args.unknown());
            }
            let filter = &mut filters[at];
            if args.keyword("saddr") {
                filter.saddr = Some(args.value("saddr")?);
            } else if args.keyword("daddr") {
                filter.daddr = Some(args.value("daddr")?);
            } else if args.keyword("sport") {
                filter.sport = Some(args.value("sport")?);
            } else if args.keyword("dport") {
                filter.dport = Some(args.value("dport")?);
            } else if args.keyword("proto") {
                let named = protocol(args);
                let numbered = if named.is_none() { Some(args.value("proto")?) } else { None };
                filter.protocol = named.or(numbered.map(Protocol));
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self(filters))
    }
}

impl Filter {
    fn is_met(&self, f: &Flow4) -> bool {
        self.saddr.is_none_or(|a| a.octets() == f.src)
            && self.daddr.is_none_or(|a| a.octets() == f.dst)
            && self.sport.is_none_or(|p| p == f.src_port)
            && self.dport.is_none_or(|p| p == f.dst_port)
            && self.protocol.is_none_or(|p| p == f.protocol())
    }
}

/// Show session table usage
#[derive(Command)]
#[command("show nat44 hash tables")]
struct HashTables {
    /// include session statistics
    detail: bool,
    /// accepted; the output is the same
    verbose: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, Workers {}| {
        Ok(Output::list(workers(&Nat::worker_infos(router))))
    });
    cli.command(|router: &mut Router, show: HashTables| {
        Ok(Output::list(hash_tables(&Nat::usage(router), show.detail || show.verbose)))
    });
    cli.task(|router: &mut Router, Summary {}| Ok(Box::new(summary(router)) as _));
    cli.command(|router: &mut Router, Tables {}| {
        let s = Nat::known(router);
        let all = s.more.vrfs.iter().flat_map(|(table, far)| {
            let far = far.iter().enumerate().map(|(at, vrf)| format!("[{at}] vrf-id {vrf}"));
            below(&format!("table {table}:"), far)
        });
        Ok(Output::list(all))
    });
    cli.task(|router: &mut Router, show: Sessions| Ok(Box::new(sessions(router, &show)) as _));
}

/// Sessions of one class: all, those that are over, and when the one that was silent longest ends.
#[derive(Clone, Copy, Default)]
struct Class {
    total: usize,
    over: usize,
    ends: Option<f64>,
}

impl Class {
    fn line(self, name: &str) -> String {
        format!("{name}: {} (timed out: {})", self.total, self.over)
    }
    fn and(self, other: Self) -> Self {
        let (total, over) = (self.total + other.total, self.over + other.over);
        Self { total, over, ends: None }
    }
}

/// Classes: established, transitory, UDP, ICMP, others.
type Classes = [Class; 5];

fn summary(router: &Router) -> Gather<(), Result<Output, CliError>> {
    let (now, timeouts) = (router.now(), Nat::known(router).timeouts);
    let classes = Rc::new(Cell::new(Classes::default()));
    let to = Rc::clone(&classes);
    let slices = slices::map(Nat::slices(router, |_| true), move |_, (_, s)| {
        let place = match s.forward.protocol() {
            Protocol::TCP if s.class() == ESTABLISHED => 0,
            Protocol::TCP => 1,
            Protocol::UDP => 2,
            Protocol::ICMP => 3,
            _ => 4,
        };
        let mut all = to.get();
        let (class, ends) = (&mut all[place], s.heard() + f64::from(timeouts.of(&s)));
        class.total += 1;
        class.over += usize::from(ends < now);
        class.ends = Some(class.ends.map_or(ends, |first| first.min(ends)));
        to.set(all);
    });
    Gather::all(slices, move |router, done| {
        done.map_err(|_| Error::NoAnswer)?;
        Ok(Output::list(summary_of(router, classes.get(), now)))
    })
}

fn summary_of(router: &Router, classes: Classes, now: f64) -> Vec<String> {
    let settings = Nat::known(router);
    let fib = |vrf: u32| router.fib.table::<Ip4>(vrf).map_or(0, |table| table.0);
    let limit =
        |(vrf, most): (u32, u32)| format!("max translations per thread: {most} fib {}", fib(vrf));
    let all = Nat::is_enabled(router).then_some((settings.inside_vrf, settings.sessions));
    let others = settings.more.limits.iter().map(|(vrf, most)| (*vrf, *most));
    let others = others.filter(|(vrf, _)| *vrf != settings.inside_vrf);
    let own = settings.more.limits.get(&settings.inside_vrf).copied();
    let all = all.map(|(vrf, most)| (vrf, own.unwrap_or(most)));
    let mut lines: Vec<_> = all.into_iter().chain(others).map(limit).collect();
    let names = ["established tcp", "transitory tcp", "udp", "icmp", "unknown protocol"];
    for (name, class) in names.iter().zip(&classes) {
        lines.extend(class.ends.map(|ends| {
            format!("{name} LRU min session timeout {} (now {})", ends as u64, now as u64)
        }));
    }
    let [established, transitory, udp, icmp, others] = classes;
    let tcp = established.and(transitory);
    let each = [udp, icmp, others].iter().fold(tcp, |sum, class| sum.and(*class));
    lines.push(each.line("total sessions"));
    lines.extend(["tcp sessions:".to_owned(), tcp.line("    total")]);
    lines.extend([established.line("        established"), transitory.line("        transitory")]);
    for (name, class) in [("udp", udp), ("icmp", icmp), ("other", others)] {
        lines.extend([format!("{name} sessions:"), class.line("    total")]);
    }
    lines
}

/// Upper-case name of a protocol.
fn name(protocol: Protocol) -> String {
    protocol.to_string()
}

/// A flow that is matched.
fn matched(f: &Flow4, fib: u16) -> String {
    let (src, dst) = (Ipv4Addr::from(f.src), Ipv4Addr::from(f.dst));
    let (sport, dport, proto) = (f.src_port, f.dst_port, name(f.protocol()));
    format!("saddr {src} sport {sport} daddr {dst} dport {dport} proto {proto} fib_idx {fib}")
}

/// Fields that packets get; the source port only where `sets_sport`.
fn rewritten(f: &Flow4, fib: u16, sets_sport: bool) -> String {
    let (src, dst) = (Ipv4Addr::from(f.src), Ipv4Addr::from(f.dst));
    let ends = match f.protocol() {
        Protocol::TCP | Protocol::UDP => {
            let sport = if sets_sport { format!(" sport {}", f.src_port) } else { String::new() };
            format!("saddr {src}{sport} daddr {dst} dport {}", f.dst_port)
        }
        Protocol::ICMP => format!("saddr {src} daddr {dst} icmp-id {}", f.src_port),
        _ => format!("saddr {src} daddr {dst}"),
    };
    format!("{ends} txfib {fib} ")
}

/// An end of a session's host: `10.0.0.1 proto UDP port 53 fib 0`.
fn host(addr: [u8; 4], port: u16, protocol: Protocol, fib: u16) -> String {
    let addr = Ipv4Addr::from(addr);
    match protocol {
        Protocol::TCP | Protocol::UDP | Protocol::ICMP => {
            format!("{addr} proto {} port {port} fib {fib}", name(protocol))
        }
        Protocol(number) => format!("{addr} proto {number} fib {fib}"),
    }
}

/// A session, in lines.
fn lines(s: &NatSession, index: usize, timeout: u32, now: f64) -> Vec<String> {
    let Data { in_fib, out_fib, .. } = s.data;
    let (f, r) = (&s.forward, &s.reverse);
    let far = |addr: [u8; 4], port: u16| format!("{}:{port}", Ipv4Addr::from(addr));
    let (outer, inner) = (far(r.src, r.src_port), far(f.dst, f.dst_port));
    let is_twice = s.data.is(TWICE);
    let far = match is_twice {
        true => format!("external host o2i {outer} i2o {inner}"),
        false => format!("external host {inner}"),
    };
    let left = s.heard() + f64::from(timeout) - now;
    let kind = if s.data.is(STATIC) { "static" } else { "dynamic" };
    let protocol = f.protocol();
    let mut lines = vec![
        format!("    i2o {}", host(f.src, f.src_port, protocol, in_fib)),
        format!("    o2i {}", host(r.dst, r.dst_port, protocol, out_fib)),
        format!("       {far}"),
        format!(
            "       i2o flow: match: {} rewrite: {}",
            matched(f, in_fib),
            rewritten(&r.reversed(), out_fib, true)
        ),
        format!(
            "       o2i flow: match: {} rewrite: {}",
            matched(r, out_fib),
            rewritten(&f.reversed(), in_fib, is_twice)
        ),
        format!("       index {index}"),
        format!("       last heard {:.2}", s.heard()),
        format!("       timeout in {:.2}", left.max(0.0)),
        format!("       total pkts {}, total bytes {}", s.packets, s.bytes),
    ];
    let twice = if is_twice { "\n       twice-nat" } else { "" };
    lines.push(format!("       {kind} translation{twice}\n\n"));
    lines
}

/// Sessions of a thread: all, those that are meant, and those of them that are shown.
#[derive(Default)]
struct Counted {
    total: usize,
    meant: usize,
    shown: Vec<(usize, NatSession)>,
}

fn sessions(router: &Router, show: &Sessions) -> Gather<(), Result<Output, CliError>> {
    let filters = show.0;
    let threads = Rc::new(RefCell::new(BTreeMap::<usize, Counted>::new()));
    let (to, mut shown) = (Rc::clone(&threads), 0);
    let slices = slices::map(Nat::slices(router, |_| true), move |_, (thread, s)| {
        let mut threads = to.borrow_mut();
        let own = threads.entry(thread).or_default();
        own.total += 1;
        let [inside, outside] = &filters;
        if inside.is_met(&s.forward) && outside.is_met(&s.reverse) {
            own.meant += 1;
            if shown < LISTED {
                shown += 1;
                own.shown.push((own.total - 1, s));
            }
        }
    });
    Gather::all(slices, move |router, done| {
        done.map_err(|_| Error::NoAnswer)?;
        let is_filtered = filters != [Filter::default(); 2];
        Ok(Output::list(listed(router, &threads.borrow(), is_filtered)))
    })
}

fn listed(router: &Router, threads: &BTreeMap<usize, Counted>, is_filtered: bool) -> Vec<String> {
    let mut all = vec!["NAT44 ED sessions:".to_owned()];
    let (now, timeouts) = (router.now(), Nat::known(router).timeouts);
    let none = Counted::default();
    for thread in router.engine.data_threads() {
        let Counted { total, meant, shown } = threads.get(&thread).unwrap_or(&none);
        all.push(thread_head(router, thread, *total));
        for (index, s) in shown {
            all.extend(lines(s, *index, timeouts.of(s), now));
        }
        let filtered = total - meant;
        if is_filtered {
            all.push(format!(
                "Showed: {meant}, Filtered: {filtered} of total {total} sessions of thread {thread}"
            ));
        }
        if meant > &shown.len() {
            all.push(format!("the first {} of {meant} sessions", shown.len()));
        }
    }
    all
}
