//! `show nat44 …`.

use control::cli::Error as CliError;
use net::prelude::*;
use sessions::Flow4;
use translation::session::{Data, ESTABLISHED, ICMP, NatSession, STATIC, TRANSITORY, TWICE};
use translation::words::{hash_tables, protocol, workers};

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
#[derive(Clone, Copy, Default)]
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
    cli.command(|router: &mut Router, Summary {}| Ok(Output::list(summary(router)?)));
    cli.command(|router: &mut Router, Tables {}| {
        let s = Nat::known(router);
        let all = s.more.vrfs.iter().map(|(table, far)| {
            let far: Vec<_> = far.iter().map(u32::to_string).collect();
            format!("table {table} with routes to: {}", far.join(" "))
        });
        Ok(Output::list(all))
    });
    cli.command(|router: &mut Router, show: Sessions| Ok(Output::list(sessions(router, &show)?)));
}

fn summary(router: &mut Router) -> Result<Vec<String>, Error> {
    let most = Nat::known(router).sessions;
    let all = Nat::list_sessions(router, |_| true)?;
    let count = |is: &dyn Fn(&NatSession) -> bool| all.iter().filter(|(_, s)| is(s)).count();
    let of = |protocol: Protocol| move |s: &NatSession| s.forward.protocol() == protocol;
    Ok(vec![
        format!("max translations per thread: {most}"),
        format!("total sessions: {}", all.len()),
        format!("total static sessions: {}", count(&|s| s.data.is(STATIC))),
        format!("total tcp sessions: {}", count(&of(Protocol::TCP))),
        format!("   total tcp established sessions: {}", count(&|s| s.class() == ESTABLISHED)),
        format!("   total tcp transitory sessions: {}", count(&|s| s.class() == TRANSITORY)),
        format!("total udp sessions: {}", count(&of(Protocol::UDP))),
        format!("total icmp sessions: {}", count(&|s| s.class() == ICMP)),
    ])
}

fn flow(f: &Flow4) -> String {
    let addr = |addr: [u8; 4]| Ipv4Addr::from(addr);
    let proto = match f.protocol() {
        Protocol::TCP => "TCP".to_owned(),
        Protocol::UDP => "UDP".to_owned(),
        Protocol::ICMP => "ICMP".to_owned(),
        Protocol(number) => number.to_string(),
    };
    let (src, dst) = (addr(f.src), addr(f.dst));
    format!("saddr {src} sport {} daddr {dst} dport {} proto {proto}", f.src_port, f.dst_port)
}

fn sessions(router: &mut Router, show: &Sessions) -> Result<Vec<String>, Error> {
    let Sessions([inside, outside]) = *show;
    let is_meant = move |s: &NatSession| inside.is_met(&s.forward) && outside.is_met(&s.reverse);
    let all = Nat::list_sessions(router, is_meant)?;
    let mut lines = vec!["NAT44 ED sessions:".to_owned()];
    let now = router.now();
    let threads = all.iter().map(|(thread, _)| *thread).max().map_or(0, |last| last + 1);
    for thread in 0..threads {
        let own: Vec<_> = all.iter().filter(|(of, _)| *of == thread).collect();
        lines.push(format!("-------- thread {thread}: {} sessions --------", own.len()));
        for (_, s) in own {
            let Data { in_fib, out_fib, tcp, .. } = s.data;
            lines.push(format!(
                "    i2o flow: match: {} fib_idx {in_fib} rewrite: {}",
                flow(&s.forward),
                flow(&s.reverse.reversed())
            ));
            lines.push(format!(
                "    o2i flow: match: {} fib_idx {out_fib} rewrite: {}",
                flow(&s.reverse),
                flow(&s.forward.reversed())
            ));
            let kind = if s.data.is(STATIC) { "static" } else { "dynamic" };
            let twice = if s.data.is(TWICE) { " twice-nat" } else { "" };
            let state = match s.forward.protocol() {
                Protocol::TCP => format!(" {}", tcp.name()),
                _ => String::new(),
            };
            lines.push(format!(
                "       {kind}{twice}{state}, last heard {:.2}s ago, total pkts {}, total bytes {}",
                now - s.heard(),
                s.packets,
                s.bytes
            ));
        }
    }
    Ok(lines)
}
