//! `show nat44 ei …`.

use std::cell::RefCell;
use std::rc::Rc;

use control::cli::Error as CliError;
use net::prelude::*;
use sessions::slices::{self, Gather, LISTED};
use translation::ports::PortSet;
use translation::session::{BYPASS, NatSession, STATIC};
use translation::words::{hash_tables, thread_head, word, workers};

use crate::state::{Error, Nat};

/// Show the port allocation algorithm
#[derive(Command)]
#[command("show nat44 ei addr-port-assignment-alg")]
struct Ports {}

/// Show threads with NAT44
#[derive(Command)]
#[command("show nat44 ei workers")]
struct Workers {}

/// Show sessions by host
#[derive(Command)]
#[command("show nat44 ei sessions")]
struct Sessions {
    /// list each one
    detail: bool,
    /// only this host
    #[expect(dead_code, reason = "the word before saddr")]
    filter: bool,
    /// the host
    saddr: Option<Ipv4Addr>,
}

/// Show session table usage
#[derive(Command)]
#[command("show nat44 ei hash tables")]
struct HashTables {
    /// include session statistics
    detail: bool,
    /// accepted; the output is the same
    verbose: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, Ports {}| {
        Ok(Output::list(ports(Nat::known(router).more.ports)))
    });
    cli.command(|router: &mut Router, Workers {}| {
        Ok(Output::list(workers(&Nat::worker_infos(router))))
    });
    cli.task(|router: &mut Router, show: Sessions| Ok(Box::new(sessions(router, &show)) as _));
    cli.command(|router: &mut Router, show: HashTables| {
        Ok(Output::list(hash_tables(&Nat::usage(router), show.detail || show.verbose)))
    });
}

/// A session, in lines.
fn lines(s: &NatSession, index: usize) -> [String; 6] {
    let (f, r) = (&s.forward, &s.reverse);
    let (host, outside) = (Ipv4Addr::from(f.src), Ipv4Addr::from(r.dst));
    let kind = if s.data.is(STATIC) { "static" } else { "dynamic" };
    let protocol = match f.protocol() {
        of @ (Protocol::TCP | Protocol::UDP | Protocol::ICMP) => word(of).to_owned(),
        Protocol(number) => number.to_string(),
    };
    let fib = s.data.in_fib;
    [
        format!("    i2o {host} proto {protocol} port {} fib {fib}", f.src_port),
        format!("  o2i {outside} proto {protocol} port {} fib {fib}", r.dst_port),
        format!("       index {index}"),
        format!("       last heard {:.2}", s.heard()),
        format!("       total pkts {}, total bytes {}", s.packets, s.bytes),
        format!("       {kind} translation\n\n"),
    ]
}

/// Dynamic and static sessions of a host, and those of them that are shown.
type OfHost = ([usize; 2], Vec<NatSession>);
/// Hosts, by thread, address and table.
type Hosts = BTreeMap<(usize, [u8; 4], u16), OfHost>;

fn sessions(router: &Router, show: &Sessions) -> Gather<(), Result<Output, CliError>> {
    let (saddr, is_long) = (show.saddr, show.detail);
    let by_host = Rc::new(RefCell::new(Hosts::new()));
    let (to, mut shown) = (Rc::clone(&by_host), 0);
    let is_meant = |s: &NatSession| !s.data.is(BYPASS);
    let slices = slices::map(Nat::slices(router, is_meant), move |_, (thread, s)| {
        let mut by_host = to.borrow_mut();
        let (counts, all) = by_host.entry((thread, s.forward.src, s.data.in_fib)).or_default();
        counts[usize::from(s.data.is(STATIC))] += 1;
        let is_shown = saddr.is_none_or(|addr| addr.octets() == s.forward.src);
        if is_long && is_shown && shown < LISTED {
            shown += 1;
            all.push(s);
        }
    });
    Gather::all(slices, move |router, done| {
        done.map_err(|_| Error::NoAnswer)?;
        Ok(Output::list(listed(router, &by_host.borrow(), saddr)))
    })
}

fn listed(router: &Router, by_host: &Hosts, saddr: Option<Ipv4Addr>) -> Vec<String> {
    let mut all = vec!["NAT44 sessions:".to_owned()];
    for thread in router.engine.data_threads() {
        let own = by_host.range((thread, [0; 4], 0)..=(thread, [u8::MAX; 4], u16::MAX));
        let count = own.clone().map(|(_, (counts, _))| counts.iter().sum::<usize>()).sum();
        all.push(thread_head(router, thread, count));
        let is_meant = |host: [u8; 4]| saddr.is_none_or(|addr| addr.octets() == host);
        let own = own.filter(|((_, host, _), _)| is_meant(*host)).take(LISTED);
        for ((_, host, _), ([dynamic, fixed], shown)) in own {
            let host = Ipv4Addr::from(*host);
            all.push(format!(
                "  {host}: {dynamic} dynamic translations, {fixed} static translations"
            ));
            all.extend(shown.iter().enumerate().flat_map(|(at, s)| lines(s, at)));
        }
    }
    all
}

/// The port allocation algorithm.
fn ports(ports: PortSet) -> Vec<String> {
    let head = |name| format!("NAT address and port: {name}");
    match ports {
        PortSet::All => vec![head("default")],
        PortSet::Psid { offset, len, psid } => {
            vec![head("map-e"), format!("  psid {psid} psid-offset {offset} psid-len {len}")]
        }
        PortSet::Range { first, last } => {
            vec![head("port-range"), format!("  start-port {first} end-port {last}")]
        }
    }
}
