//! Commands about punting.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print, PrintValue, Word, is_word};
use control::configuration::{Lines, Stage};
use serde::Serialize;
use wire::{IpVersion, Protocol};

use super::{HEADER_VERSION, Port, Punted, RedirectTo, Redirecting, SocketError};
use crate::interface::InterfaceIndex;
use crate::ip::{V4, V6};
use crate::router::Router;

/// `set punt [ipv4|ip6|ipv6] [udp|tcp] [del] {all | PORT | protocol N | reason NAME}`.
#[derive(Debug, PartialEq)]
struct SetPunt {
    what: Punted,
    on: bool,
}

impl Command for SetPunt {
    const PATHS: &'static [&'static str] = &["set punt"];
    const ABOUT: &'static str = "Punt packets to ports without a listener, or stop";
    const USAGE: &'static str = "[ipv4|ip6|ipv6] [udp|tcp] [del] \
        {all | <port-num:1-65535> | protocol <number> | reason <name>}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut on = true;
        let what = what(args, |args| {
            let is_off = args.keyword("del");
            on &= !is_off;
            Ok(is_off)
        })?;
        Ok(Self { what, on })
    }
}

impl Print for SetPunt {
    const STAGE: Stage = Stage::Objects; // before listeners, which take what is left
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", !self.on).value(&self.what);
    }
}

/// `punt socket register [ipv4|ipv6] [udp|tcp|icmp6] {all | PORT | …} socket PATH`.
#[derive(Debug, PartialEq)]
struct Register {
    what: Punted,
    path: PathBuf,
}

/// `punt socket deregister [ipv4|ipv6] [udp|tcp|icmp6] {all | PORT | …}`.
struct Deregister(Punted);

/// Parses the punted packets; `other` parses further words of the command.
fn what(
    args: &mut Args<'_>,
    mut other: impl FnMut(&mut Args<'_>) -> Result<bool, Error>,
) -> Result<Punted, Error> {
    let (mut version, mut protocol, mut port) = (IpVersion::V4, Protocol::UDP, None);
    let (mut all_of, mut reason) = (None, None);
    while let Some(word) = args.peek() {
        if other(args)? {
            continue;
        }
        match word.to_ascii_lowercase().as_str() {
            "ipv4" => version = IpVersion::V4,
            "ip6" | "ipv6" => version = IpVersion::V6,
            "udp" => protocol = Protocol::UDP,
            "tcp" => protocol = Protocol::TCP,
            "icmp6" => protocol = Protocol::ICMP6,
            "all" => port = Some(None),
            "protocol" => {
                args.word();
                all_of = Some(Protocol(args.value("protocol")?));
                continue;
            }
            "reason" => {
                args.word();
                let name: Word = args.value("reason")?;
                let found = args.context().and_then(|r: &Router| r.punt_reason_named(&name));
                reason = Some(found.ok_or_else(|| name.unknown("punt reason"))?);
                continue;
            }
            _ => {
                port = Some(Some(args.value("port")?));
                continue;
            }
        }
        args.word();
    }
    Ok(match (reason, all_of) {
        (Some(reason), _) => Punted::Reason(reason),
        (None, Some(protocol)) => Punted::Protocol { version, protocol },
        (None, None) => {
            let port = port.ok_or_else(|| args.error("expected all or a port"))?;
            Punted::Port(Port { version, protocol, port })
        }
    })
}

impl PrintValue for Punted {
    fn print(&self, line: &mut Line<'_>) {
        match *self {
            Self::Port(Port { version, protocol, port }) => {
                let name = match protocol {
                    Protocol::TCP => "tcp",
                    Protocol::ICMP6 => "icmp6",
                    _ => "udp",
                };
                line.word(version.long_name()).word(name);
                line.word(port.map_or("all".to_owned(), |port| port.to_string()));
            }
            Self::Protocol { version, protocol } => {
                line.word(version.long_name()).keyword("protocol", &protocol.0);
            }
            Self::Reason(reason) => {
                let mut all = line.context::<Router>().into_iter().flat_map(Router::punt_reasons);
                let named =
                    all.find(|(number, ..)| *number == reason).map(|(_, info, ..)| info.name);
                line.keyword("reason", &named.unwrap_or_default());
            }
        }
    }
}

impl Command for Register {
    const PATHS: &'static [&'static str] = &["punt socket register"];
    const ABOUT: &'static str = "Punt packets of a port to a client socket";
    const USAGE: &'static str = "[ipv4|ipv6] [udp|tcp|icmp6] \
        {all | <port-num> | protocol <number> | reason <name>} socket <socket>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut path = None;
        let what = what(args, |args| {
            let is_socket = args.keyword("socket");
            if is_socket {
                path = Some(args.value("socket")?);
            }
            Ok(is_socket)
        })?;
        Ok(Self { what, path: path.ok_or_else(|| args.error("expected socket"))? })
    }
}

impl Command for Deregister {
    const PATHS: &'static [&'static str] = &["punt socket deregister"];
    const ABOUT: &'static str = "Stop punting packets of a port to a socket";
    const USAGE: &'static str = "[ipv4|ipv6] [udp|tcp|icmp6] \
        {all | <port-num> | protocol <number> | reason <name>}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        what(args, |_| Ok(false)).map(Self)
    }
}

impl Print for Register {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.what).keyword("socket", &self.path.display());
    }
}

/// `ip punt redirect [add|del] rx [INTERFACE|all] {via [NH] TX | nowhere}`.
#[derive(Debug, PartialEq)]
struct SetRedirect {
    on: bool,
    rx: Option<InterfaceIndex>,
    /// Nowhere for `None`.
    to: Option<(Option<IpAddr>, InterfaceIndex)>,
}

impl SetRedirect {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut on, mut rx, mut to, mut is_nowhere) = (true, None, None, false);
        while !args.is_empty() {
            if args.keyword("add") {
                on = true;
            } else if args.keyword("del") {
                on = false;
            } else if args.keyword("rx all") {
                rx = Some(None);
            } else if args.keyword("rx") {
                rx = Some(Some(args.value("interface")?));
            } else if args.keyword("via") {
                let next_hop = args.optional();
                to = Some((next_hop, args.value("interface")?));
            } else if to.is_some() && (args.keyword("weight") || args.keyword("preference")) {
                // The only path needs neither.
                let _: u8 = args.value("number")?;
            } else if args.keyword("nowhere") {
                is_nowhere = true;
            } else {
                return Err(args.unknown());
            }
        }
        let rx = rx.ok_or_else(|| args.error("expected rx"))?;
        if on && to.is_none() && !is_nowhere {
            return Err(args.error("expected via"));
        }
        Ok(Self { on, rx, to })
    }
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.on { "add" } else { "del" });
        line.option("rx", self.rx.as_ref()).flag("rx all", self.rx.is_none());
        match &self.to {
            Some((next_hop, tx)) => line.word("via").values(next_hop).value(tx),
            None => line.flag("nowhere", self.on),
        };
    }
    fn carry_out<V: Redirecting>(&self, router: &mut Router) -> Result<(), Error> {
        let to = self.to.map(|(next_hop, tx)| {
            let next_hop = next_hop.unwrap_or(V::UNSPECIFIED);
            RedirectTo { tx, next_hop }
        });
        let done = match self.on {
            true => router.set_punt_redirect::<V>(self.rx, to),
            false => router.remove_punt_redirect::<V>(self.rx),
        };
        done.map_err(|e| Error::new(e.to_string()))
    }
    fn all<V: Redirecting>(router: &Router) -> impl Iterator<Item = Self> {
        router.punt_redirects::<V>().map(|(rx, to)| {
            let next_hop = |to: RedirectTo| Some(to.next_hop).filter(|hop| *hop != V::UNSPECIFIED);
            Self { on: true, rx, to: to.map(|to| (next_hop(to), to.tx)) }
        })
    }
}

/// Its command for IPv4 or IPv6.
#[derive(Debug, PartialEq)]
struct SetRedirectOf<const IS_6: bool>(SetRedirect);

impl<const IS_6: bool> Command for SetRedirectOf<IS_6> {
    const PATHS: &'static [&'static str] =
        if IS_6 { &["ip6 punt redirect"] } else { &["ip punt redirect"] };
    const ABOUT: &'static str = "Redirect punted packets to a neighbor";
    const USAGE: &'static str = "[add|del] rx [<interface>|all] \
        {via [<next-hop>] <tx-interface> [weight <n:0-255>] [preference <n:0-255>] | nowhere}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        SetRedirect::take(args).map(Self)
    }
}

impl<const IS_6: bool> Print for SetRedirectOf<IS_6> {
    const STAGE: Stage = Stage::Routes;
    const UNDO: &'static str =
        if IS_6 { "ip6 punt redirect del rx {rx}" } else { "ip punt redirect del rx {rx}" };
    fn print(&self, line: &mut Line<'_>) {
        self.0.print(line);
    }
}

/// Punted packets and their receivers.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for what in router.told_to_punt() {
        lines.push(&SetPunt { what, on: true });
    }
    for client in router.punt_clients() {
        // What is not text cannot be said.
        if client.path.to_str().is_some_and(is_word) {
            lines.push(&Register { what: client.what, path: client.path.clone() });
        }
    }
    SetRedirect::all::<V4>(router).for_each(|c| lines.push(&SetRedirectOf::<false>(c)));
    SetRedirect::all::<V6>(router).for_each(|c| lines.push(&SetRedirectOf::<true>(c)));
}

/// Show redirects of punted packets.
#[derive(Command)]
#[command()]
struct ShowRedirects;

/// Show local UDP ports and their handlers.
#[derive(Command)]
#[command("show udp ports")]
struct ShowUdpPorts {
    /// only IPv4
    ip4: bool,
    /// only IPv6
    ip6: bool,
    /// accepted: only registered ports are listed
    #[keyword("bind")]
    _bind: bool,
    /// accepted: all are listed
    #[keyword("all")]
    _all: bool,
    /// only this one
    #[positional]
    port: Option<u16>,
}

/// Show UDP ports without a listener that are punted.
#[derive(Command)]
#[command("show udp punt")]
struct ShowUdpPunt {
    /// only IPv4
    ipv4: bool,
    /// only IPv6
    ipv6: bool,
}

/// Show local IP protocols and their handlers.
#[derive(Command)]
#[command()]
struct ShowLocal;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetPunt| {
        let done = match set.what {
            Punted::Port(port) => router.set_punt(port, set.on),
            Punted::Protocol { version, protocol } => {
                router.set_punt_protocol(version, protocol, set.on)
            }
            Punted::Reason(reason) => router.set_punt_reason(reason, set.on),
        };
        done.map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router: &mut Router, new: Register| {
        Ok::<_, Error>(router.register_punt_socket(new.what, HEADER_VERSION, &new.path)?)
    });
    cli.command(|router: &mut Router, old: Deregister| {
        Ok::<_, Error>(router.deregister_punt_socket(old.0)?)
    });
    cli.command(|router: &mut Router, set: SetRedirectOf<false>| set.0.carry_out::<V4>(router));
    cli.command(|router: &mut Router, set: SetRedirectOf<true>| set.0.carry_out::<V6>(router));
    let four = |router: &mut Router, _: ShowRedirects| Ok(redirects::<V4>(router));
    let six = |router: &mut Router, _: ShowRedirects| Ok(redirects::<V6>(router));
    cli.command_at("show ip punt redirect", four).command_at("show ip6 punt redirect", six);
    cli.command(|router: &mut Router, show: ShowUdpPorts| {
        let mut rows = router.udp_takers();
        rows.retain(|(family, port, _)| {
            let is_meant = if *family == "ip4" { show.ip4 } else { show.ip6 };
            (is_meant || show.ip4 == show.ip6) && show.port.is_none_or(|only| only == *port)
        });
        Ok(Output::rows(rows, write_ports))
    });
    cli.command(|router: &mut Router, show: ShowUdpPunt| {
        let both = show.ipv4 == show.ipv6;
        let is_shown = |version: &IpVersion| both || [show.ipv4, show.ipv6][*version as usize];
        let shown = IpVersion::ALL.into_iter().filter(is_shown);
        Ok(Output::rows(shown.map(|version| UdpPorts::of(router, version)), write_udp_punt))
    });
    for (path, version) in [("show ip local", IpVersion::V4), ("show ip6 local", IpVersion::V6)] {
        cli.command_at(path, move |router: &mut Router, _: ShowLocal| Ok(local(router, version)));
    }
}

impl From<SocketError> for Error {
    fn from(e: SocketError) -> Self {
        Self::new(e.to_string())
    }
}

fn redirects<V: Redirecting>(router: &Router) -> Output {
    let name = |i: InterfaceIndex| router.interfaces.name(i.0).to_owned();
    let rows = router.punt_redirects::<V>().map(|(from, to)| Row {
        rx: from.map_or_else(|| "all".to_owned(), name),
        to: to.map(|to| RedirectPath { next_hop: to.next_hop, tx: name(to.tx) }),
    });
    Output::rows(rows, write_rows)
}

#[derive(Serialize)]
struct Row {
    rx: String,
    #[serde(flatten)]
    to: Option<RedirectPath>,
}

#[derive(Serialize)]
struct RedirectPath {
    next_hop: IpAddr,
    tx: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Row { rx, to }| match to {
        Some(RedirectPath { next_hop, tx }) => {
            writeln!(f, "rx {rx} redirect via {next_hop} {tx}")
        }
        None => writeln!(f, "rx {rx} redirect nowhere"),
    })
}

/// Ports of one version of IP.
#[derive(Serialize)]
struct UdpPorts {
    version: &'static str,
    all: bool,
    ports: Vec<u16>,
}

impl UdpPorts {
    fn of(router: &Router, version: IpVersion) -> Self {
        let punted = router.punted_ports();
        let punted = punted.filter(|p| p.version == version && p.protocol == Protocol::UDP);
        let (all, ports): (Vec<_>, Vec<_>) = punted.map(|p| p.port).partition(Option::is_none);
        let version = ["IPV4", "IPV6"][version as usize];
        Self { version, all: !all.is_empty(), ports: ports.into_iter().flatten().collect() }
    }
}

fn write_udp_punt(rows: &[UdpPorts], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for UdpPorts { version, all, ports } in rows {
        write!(f, "{version} UDP ports punt :")?;
        match (all, ports.as_slice()) {
            (true, _) => writeln!(f, " all")?,
            (false, []) => writeln!(f, " none")?,
            (false, ports) => {
                let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
                writeln!(f, " {}", ports.join(", "))?;
            }
        }
    }
    Ok(())
}

fn write_ports(rows: &[Taker], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let width = rows.iter().map(|(.., node)| node.len()).max().unwrap_or_default();
    writeln!(f, " port proto {:>width$}", "node")?;
    rows.iter().try_for_each(|(of, port, node)| writeln!(f, "{port:>5} {of:>5} {node:>width$}"))
}

/// Version of IP, number of a port or protocol, and the node that takes its packets.
type Taker = (&'static str, u16, String);

fn local(router: &Router, version: IpVersion) -> Output {
    let of = version.name();
    let rows = router.protocol_takers().into_iter().filter(|row| row.0 == of);
    Output::rows(rows, move |rows: &[Taker], f| {
        writeln!(f, "Protocols handled by {of}_local")?;
        rows.iter().try_for_each(|(_, number, node)| match version {
            IpVersion::V4 => writeln!(f, "{}: {node}", Protocol(*number as u8)),
            IpVersion::V6 => writeln!(f, "{number}: {node}"),
        })
    })
}
