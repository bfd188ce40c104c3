//! Commands about punting.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use control::cli::{Args, Cli, Command, Error, Output, Word};
use serde::Serialize;
use wire::Protocol;

use super::{HEADER_VERSION, Port, Punted, RedirectTo, Redirecting, SocketError};
use crate::interface::InterfaceIndex;
use crate::ip::{V4, V6};
use crate::router::Router;

/// `set punt [ipv4|ip6|ipv6] [udp|tcp] [del] [all|PORT]`.
struct SetPunt {
    port: Port,
    on: bool,
}

impl Command for SetPunt {
    const PATHS: &'static [&'static str] = &["set punt"];
    const ABOUT: &'static str = "Have packets to ports that nobody listens on punted";
    const USAGE: &'static str = "[ipv4|ip6|ipv6] [udp|tcp] [del] [all|<port-num:1-65535>]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut on = true;
        let port = port(args, |args| {
            let is_off = args.keyword("del");
            on &= !is_off;
            Ok(is_off)
        })?;
        Ok(Self { port, on })
    }
}

/// `punt socket register [ipv4|ipv6] [udp|tcp] [all|PORT] socket PATH`.
struct Register {
    port: Port,
    path: PathBuf,
}

/// `punt socket deregister [ipv4|ipv6] [udp|tcp] [all|PORT]`.
struct Deregister(Port);

/// Reads which port; `other` takes words that the command has besides.
fn port(
    args: &mut Args<'_>,
    mut other: impl FnMut(&mut Args<'_>) -> Result<bool, Error>,
) -> Result<Port, Error> {
    let (mut is_ip6, mut protocol, mut port) = (false, Protocol::UDP, None);
    while let Some(word) = args.peek() {
        if other(args)? {
            continue;
        }
        match word.to_ascii_lowercase().as_str() {
            "ipv4" => is_ip6 = false,
            "ip6" | "ipv6" => is_ip6 = true,
            "udp" => protocol = Protocol::UDP,
            "tcp" => protocol = Protocol::TCP,
            "all" => port = Some(None),
            _ => {
                port = Some(Some(args.value("port")?));
                continue;
            }
        }
        args.word();
    }
    let port = port.ok_or_else(|| args.error("expected all or a port"))?;
    Ok(Port { is_ip6, protocol, port })
}

impl Command for Register {
    const PATHS: &'static [&'static str] = &["punt socket register"];
    const ABOUT: &'static str = "Have packets to a port sent to the socket of a program";
    const USAGE: &'static str = "[ipv4|ipv6] [udp|tcp] [all|<port-num>] socket <socket>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut path = None;
        let port = port(args, |args| {
            let is_socket = args.keyword("socket");
            if is_socket {
                path = Some(args.value("socket")?);
            }
            Ok(is_socket)
        })?;
        Ok(Self { port, path: path.ok_or_else(|| args.error("expected socket"))? })
    }
}

impl Command for Deregister {
    const PATHS: &'static [&'static str] = &["punt socket deregister"];
    const ABOUT: &'static str = "Have packets to a port no longer sent to a socket";
    const USAGE: &'static str = "[ipv4|ipv6] [udp|tcp] [all|<port-num>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        port(args, |_| Ok(false)).map(Self)
    }
}

/// `ip punt redirect [add|del] rx [INTERFACE|all] via [NH] TX`.
struct SetRedirect {
    on: bool,
    rx: Option<Word>,
    to: Option<(Option<IpAddr>, Word)>,
}

impl SetRedirect {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let on = !args.keyword("del");
        if on {
            args.keyword("add");
        }
        if !args.keyword("rx") {
            return Err(args.error("expected rx"));
        }
        let rx = if args.keyword("all") { None } else { Some(args.value("interface")?) };
        let mut to = None;
        if args.keyword("via") {
            let next_hop = args.optional();
            to = Some((next_hop, args.value("interface")?));
        }
        if on && to.is_none() {
            return Err(args.error("expected via"));
        }
        Ok(Self { on, rx, to })
    }
    fn carry_out<V: Redirecting>(&self, router: &mut Router) -> Result<(), Error> {
        let index = |router: &Router, name: &Word| {
            let found = router.interfaces.named(name).map(|i| i.index);
            found.ok_or_else(|| name.unknown("interface"))
        };
        let from = self.rx.as_ref().map(|name| index(router, name)).transpose()?;
        let done = match self.to.as_ref().filter(|_| self.on) {
            Some((next_hop, tx)) => {
                let next_hop = next_hop.unwrap_or(V::UNSPECIFIED);
                let to = RedirectTo { tx: index(router, tx)?, next_hop };
                router.set_punt_redirect::<V>(from, Some(to))
            }
            None => router.remove_punt_redirect::<V>(from),
        };
        done.map_err(|e| Error::new(e.to_string()))
    }
}

struct SetRedirect4(SetRedirect);
struct SetRedirect6(SetRedirect);

const USAGE: &str = "[add|del] rx [<interface>|all] via [<next-hop>] <tx-interface>";

impl Command for SetRedirect4 {
    const PATHS: &'static [&'static str] = &["ip punt redirect"];
    const ABOUT: &'static str = "Send punted IPv4 packets to a neighbor";
    const USAGE: &'static str = USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        SetRedirect::take(args).map(Self)
    }
}

impl Command for SetRedirect6 {
    const PATHS: &'static [&'static str] = &["ip6 punt redirect"];
    const ABOUT: &'static str = "Send punted IPv6 packets to a neighbor";
    const USAGE: &'static str = USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        SetRedirect::take(args).map(Self)
    }
}

/// Show where punted IPv4 packets go.
#[derive(Command)]
#[command("show ip punt redirect")]
struct ShowRedirects4;

/// Show where punted IPv6 packets go.
#[derive(Command)]
#[command("show ip6 punt redirect")]
struct ShowRedirects6;

/// Show who takes UDP packets for this router.
#[derive(Command)]
#[command("show udp ports")]
struct ShowUdpPorts;

/// Show which UDP ports that nobody listens on are punted.
#[derive(Command)]
#[command("show udp punt")]
struct ShowUdpPunt {
    /// only those of IPv4
    ipv4: bool,
    /// only those of IPv6
    ipv6: bool,
}

/// Show who takes protocols for this router.
#[derive(Command)]
#[command("show ip local", "show ip6 local")]
struct ShowLocal;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetPunt| {
        router.set_punt(set.port, set.on).map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router: &mut Router, new: Register| {
        let what = Punted::Port(new.port);
        Ok::<_, Error>(router.register_punt_socket(what, HEADER_VERSION, &new.path)?)
    });
    cli.command(|router: &mut Router, old: Deregister| {
        Ok::<_, Error>(router.deregister_punt_socket(Punted::Port(old.0))?)
    });
    cli.command(|router: &mut Router, set: SetRedirect4| set.0.carry_out::<V4>(router));
    cli.command(|router: &mut Router, set: SetRedirect6| set.0.carry_out::<V6>(router));
    cli.command(|router: &mut Router, _: ShowRedirects4| Ok(redirects::<V4>(router)));
    cli.command(|router: &mut Router, _: ShowRedirects6| Ok(redirects::<V6>(router)));
    cli.command(|router: &mut Router, _: ShowUdpPorts| {
        let ports = router.udp_takers();
        Ok(Output::of(Takers { what: "port", rows: ports }))
    });
    cli.command(|router: &mut Router, show: ShowUdpPunt| {
        let both = show.ipv4 == show.ipv6;
        let shown = [(false, show.ipv4), (true, show.ipv6)].into_iter();
        let shown = shown.filter(|(_, named)| both || *named);
        Ok(Output::of(UdpPunt(shown.map(|(is_ip6, _)| UdpPorts::of(router, is_ip6)).collect())))
    });
    cli.command(|router: &mut Router, _: ShowLocal| {
        let protocols = router.protocol_takers();
        Ok(Output::of(Takers { what: "protocol", rows: protocols }))
    });
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
        to: to.map(|to| Way { next_hop: to.next_hop, tx: name(to.tx) }),
    });
    Output::of(Rows(rows.collect()))
}

#[derive(Serialize)]
struct Row {
    rx: String,
    #[serde(flatten)]
    to: Option<Way>,
}

#[derive(Serialize)]
struct Way {
    next_hop: IpAddr,
    tx: String,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Rows(Vec<Row>);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|Row { rx, to }| match to {
            Some(Way { next_hop, tx }) => writeln!(f, "rx {rx} redirect via {next_hop} {tx}"),
            None => writeln!(f, "rx {rx} redirect nowhere"),
        })
    }
}

/// What `show udp punt` prints.
#[derive(Serialize)]
#[serde(transparent)]
struct UdpPunt(Vec<UdpPorts>);

/// Ports of one version of IP.
#[derive(Serialize)]
struct UdpPorts {
    version: &'static str,
    all: bool,
    ports: Vec<u16>,
}

impl UdpPorts {
    fn of(router: &Router, is_ip6: bool) -> Self {
        let punted = router.punted_ports();
        let punted = punted.filter(|p| p.is_ip6 == is_ip6 && p.protocol == Protocol::UDP);
        let (all, ports): (Vec<_>, Vec<_>) = punted.map(|p| p.port).partition(Option::is_none);
        let version = if is_ip6 { "IPV6" } else { "IPV4" };
        Self { version, all: !all.is_empty(), ports: ports.into_iter().flatten().collect() }
    }
}

impl fmt::Display for UdpPunt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for UdpPorts { version, all, ports } in &self.0 {
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
}

/// Numbers and the nodes that take them, of IPv4 and IPv6.
#[derive(Serialize)]
struct Takers {
    what: &'static str,
    rows: Vec<(&'static str, u16, String)>,
}

impl fmt::Display for Takers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8}{:<10}node", "family", self.what)?;
        self.rows
            .iter()
            .try_for_each(|(family, number, node)| writeln!(f, "{family:<8}{number:<10}{node}"))
    }
}
