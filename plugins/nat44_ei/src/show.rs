//! `show nat44 ei …`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use control::cli::{Cli, Command, Output};
use net::Router;
use net::interface::InterfaceIndex;
use sessions::Usage;
use translation::session::{NatSession, STATIC};
use translation::words::{Lines, word};
use wire::Protocol;

use crate::configuration::words;
use crate::state::{Error, Nat, Role, Settings};

macro_rules! shows {
    ($($(#[$doc:meta])* $name:ident, $path:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Command)]
        #[command($path)]
        struct $name {}
    )*};
}

shows! {
    /// Show addresses that packets get
    Addresses, "show nat44 ei addresses";
    /// Show interfaces inside and outside
    Interfaces, "show nat44 ei interfaces";
    /// Show interfaces whose addresses packets get
    InterfaceAddresses, "show nat44 ei interface address";
    /// Show mappings that stay
    Mappings, "show nat44 ei static mappings";
    /// Show the ports that packets get
    Ports, "show nat44 ei addr-port-assignment-alg";
    /// Show timeouts of sessions
    TimeoutsShown, "show nat44 ei timeouts";
    /// Show the maximum segment size of TCP that is translated
    Mss, "show nat44 ei mss-clamping";
    /// Show the threads that translate
    Workers, "show nat44 ei workers";
}

/// Show sessions by host
#[derive(Command)]
#[command("show nat44 ei sessions")]
struct Sessions {
    /// each of them
    detail: bool,
    /// those of one host
    filter: bool,
    /// the host
    saddr: Option<Ipv4Addr>,
}

/// Show how full the tables of sessions are
#[derive(Command)]
#[command("show nat44 ei hash tables")]
struct HashTables {
    /// and what became of sessions
    detail: bool,
    /// the same
    verbose: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, Addresses {}| Ok(Output::of(addresses(router))));
    cli.command(|router: &mut Router, Interfaces {}| Ok(Output::of(interfaces(router))));
    cli.command(|router: &mut Router, InterfaceAddresses {}| {
        let s = known(router);
        let all = s.pool.interfaces.iter();
        let all = all.map(|(interface, _)| format!(" {}", router.interfaces.name(interface.0)));
        Ok(Output::of(Lines::below("NAT44 pool address interfaces:", all)))
    });
    cli.command(|router: &mut Router, Mappings {}| {
        let s = known(router);
        let all = s.mappings.iter().map(|m| m.text(router));
        Ok(Output::of(Lines::below("NAT44 static mappings:", all)))
    });
    cli.command(|router: &mut Router, Ports {}| {
        let ports = words(known(router).more.ports);
        let line = format!("Port address assignment algorithm: {ports}");
        Ok(Output::of(Lines(vec![line])))
    });
    cli.command(|router: &mut Router, TimeoutsShown {}| {
        let t = known(router).timeouts;
        let line = |name: &str, seconds: u32| format!("{name} timeout: {seconds}sec");
        Ok(Output::of(Lines(vec![
            line("udp", t.udp),
            line("tcp-established", t.established),
            line("tcp-transitory", t.transitory),
            line("icmp", t.icmp),
        ])))
    });
    cli.command(|router: &mut Router, Mss {}| {
        let mss = known(router).mss;
        let text = mss.map_or_else(|| "disabled".to_owned(), |mss| mss.to_string());
        Ok(Output::of(Lines(vec![format!("mss-clamping {text}")])))
    });
    cli.command(|router: &mut Router, Workers {}| {
        let is_on = Nat::settings(router).is_ok();
        let threads = router.engine.thread_infos().into_iter().filter(|t| t.id > 0 && is_on);
        let line = |t: graph::ThreadInfo| format!("  {}", t.name);
        let lines: Vec<_> = threads.map(line).collect();
        Ok(Output::of(Lines::below(&format!("{} workers", lines.len()), lines.into_iter())))
    });
    cli.command(|router: &mut Router, show: Sessions| Ok(Output::of(sessions(router, &show)?)));
    cli.command(|router: &mut Router, show: HashTables| {
        let sessions = router.own::<Nat>().sessions.current().clone();
        let usage = sessions.and_then(|s| s.usage(router).ok()).unwrap_or_default();
        let line = |(thread, u): (usize, &Usage)| {
            let Usage { sessions, limit, bytes, made, expired, evicted, refused, .. } = u;
            let line = format!("thread {thread}: {sessions} of {limit} sessions, {bytes} bytes");
            match show.detail || show.verbose {
                true => format!(
                    "{line}, {made} made, {expired} expired, {evicted} evicted, {refused} refused"
                ),
                false => line,
            }
        };
        Ok(Output::of(Lines(usage.iter().enumerate().map(line).collect())))
    });
}

/// The settings; none while NAT is disabled.
fn known(router: &Router) -> Settings {
    Nat::settings(router).cloned().unwrap_or_default()
}

fn addresses(router: &Router) -> Lines {
    let mut lines = vec!["NAT44 pool addresses:".to_owned()];
    for address in known(router).pool.all(router) {
        lines.push(address.addr.to_string());
        lines.push(match address.vrf {
            Some(vrf) => format!("  tenant VRF: {vrf}"),
            None => "  tenant VRF independent".to_owned(),
        });
    }
    Lines(lines)
}

fn interfaces(router: &Router) -> Lines {
    let mut lines = vec!["NAT44 interfaces:".to_owned()];
    let all: Vec<(InterfaceIndex, Role)> =
        router.settings::<Role>().map(|(i, role)| (i, *role)).collect();
    for (interface, role) in all {
        let name = router.interfaces.name(interface.0);
        if !role.word().is_empty() {
            lines.push(format!(" {name} {}", role.word()));
        }
        if role.is_output {
            lines.push(format!(" {name} output-feature out"));
        }
    }
    Lines(lines)
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

fn sessions(router: &mut Router, show: &Sessions) -> Result<Lines, Error> {
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
    Ok(Lines(lines))
}
