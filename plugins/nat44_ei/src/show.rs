//! `show nat44 ei …`.

use net::prelude::*;
use translation::session::{NatSession, STATIC};
use translation::words::{hash_tables, word, workers};

use crate::configuration::words;
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
        let ports = words(Nat::known(router).more.ports);
        let line = format!("Port address assignment algorithm: {ports}");
        Ok(Output::list(vec![line]))
    });
    cli.command(|router: &mut Router, Workers {}| {
        Ok(Output::list(workers(&Nat::worker_infos(router))))
    });
    cli.command(|router: &mut Router, show: Sessions| Ok(Output::list(sessions(router, &show)?)));
    cli.command(|router: &mut Router, show: HashTables| {
        Ok(Output::list(hash_tables(&Nat::usage(router), show.detail || show.verbose)))
    });
}

/// A session, in a line.
fn line(s: &NatSession, now: f64) -> String {
    let (f, r) = (&s.forward, &s.reverse);
    let (host, outside) = (Ipv4Addr::from(f.src), Ipv4Addr::from(r.dst));
    let kind = if s.data.is(STATIC) { "static" } else { "dynamic" };
    let protocol = match f.protocol() {
        of @ (Protocol::TCP | Protocol::UDP | Protocol::ICMP) => word(of).to_owned(),
        Protocol(number) => number.to_string(),
    };
    format!(
        "    i2o {host} port {} o2i {outside} port {} {protocol} fib {} {kind}, last heard {:.2}s \
         ago, total pkts {}, total bytes {}",
        f.src_port,
        r.dst_port,
        s.data.in_fib,
        now - s.heard(),
        s.packets,
        s.bytes
    )
}

fn sessions(router: &mut Router, show: &Sessions) -> Result<Vec<String>, Error> {
    let saddr = show.saddr;
    let is_meant = move |s: &NatSession| saddr.is_none_or(|a| a.octets() == s.forward.src);
    let mut by_host = BTreeMap::<_, Vec<NatSession>>::new();
    for (thread, s) in Nat::list_sessions(router, is_meant)? {
        by_host.entry((thread, s.forward.src, s.data.in_fib)).or_default().push(s);
    }
    let now = router.now();
    let mut lines = vec!["NAT44 EI sessions:".to_owned()];
    let mut last = None;
    for ((thread, host, _), all) in by_host {
        if last.replace(thread) != Some(thread) {
            lines.push(format!("-------- thread {thread} --------"));
        }
        let fixed = all.iter().filter(|s| s.data.is(STATIC)).count();
        let (host, dynamic) = (Ipv4Addr::from(host), all.len() - fixed);
        lines
            .push(format!("  {host}: {dynamic} dynamic translations, {fixed} static translations"));
        if show.detail || show.filter {
            lines.extend(all.iter().map(|s| line(s, now)));
        }
    }
    Ok(lines)
}
