//! `show nat64 …`.

use control::cli::Error as CliError;
use net::prelude::*;

use crate::api::vrf_of;
use crate::config::Static;
use crate::core::{NatSession, has_ports};
use crate::state::{self, Error, Role, Settings, settings};

/// A session.
pub type Row = NatSession;

/// The protocols of what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// One.
    Only(Protocol),
    /// Protocols without ports.
    Unknown,
}

impl Which {
    fn has(self, protocol: Protocol) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => only == protocol,
            Self::Unknown => !has_ports(protocol),
        }
    }
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        let words = [
            ("all", Self::All),
            ("tcp", Self::Only(Protocol::TCP)),
            ("udp", Self::Only(Protocol::UDP)),
            ("icmp", Self::Only(Protocol::ICMP)),
            ("unknown", Self::Unknown),
        ];
        let found = words.into_iter().find(|(word, _)| args.keyword(word));
        found.map(|(_, which)| which).ok_or_else(|| args.unknown())
    }
}

/// A binding.
pub struct Bound {
    /// Its ends.
    pub ends: Static,
    /// True if static.
    pub is_static: bool,
    /// Number of sessions.
    pub sessions: u32,
}

/// The settings; none while NAT64 is disabled.
fn known(router: &Router) -> Settings {
    settings(router).cloned().unwrap_or_default()
}

/// Sessions.
pub fn sessions(router: &mut Router, which: Which) -> Result<Vec<Row>, Error> {
    state::list_sessions(router, move |s| which.has(s.reverse.protocol()))
}

/// Bindings: first those that stay.
pub fn bindings(router: &mut Router, which: Which) -> Result<Vec<Bound>, Error> {
    let statics = known(router).statics;
    let mut counts = HashMap::<_, u32>::new();
    for s in sessions(router, which)? {
        let end = (s.reverse.dst, s.reverse.dst_port, s.reverse.protocol());
        *counts.entry(end).or_default() += 1;
    }
    let count = |s: &Static| {
        let end = (s.outside.octets(), s.outside_port, s.protocol);
        counts.get(&end).copied().unwrap_or(0)
    };
    let of_statics = statics.into_iter().filter(|s| which.has(s.protocol));
    let mut all: Vec<_> =
        of_statics.map(|ends| Bound { ends, is_static: true, sessions: count(&ends) }).collect();
    for b in state::list_bindings(router)? {
        let ends = Static {
            host: b.forward.src.into(),
            port: b.forward.src_port,
            outside: b.reverse.dst.into(),
            outside_port: b.reverse.dst_port,
            protocol: b.reverse.protocol(),
            vrf: vrf_of(router, b.forward.scope as u16),
        };
        if which.has(ends.protocol) {
            all.push(Bound { ends, is_static: false, sessions: b.data });
        }
    }
    Ok(all)
}

/// `show nat64 bib`.
struct ShowBindings(Which);

impl Command for ShowBindings {
    const PATHS: &'static [&'static str] = &["show nat64 bib"];
    const ABOUT: &'static str = "Show NAT64 bindings";
    const USAGE: &'static str = "all|tcp|udp|icmp|unknown";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Ok(Self(Which::parse(args)?))
    }
}

/// `show nat64 session table`.
struct ShowSessions(Which);

impl Command for ShowSessions {
    const PATHS: &'static [&'static str] = &["show nat64 session table"];
    const ABOUT: &'static str = "Show sessions";
    const USAGE: &'static str = "all|tcp|udp|icmp|unknown";
    fn parse(args: &mut Args<'_>) -> Result<Self, CliError> {
        Ok(Self(Which::parse(args)?))
    }
}

/// Show pool addresses
#[derive(Command)]
#[command("show nat64 pool")]
struct ShowPool {}

/// Show inside and outside interfaces
#[derive(Command)]
#[command("show nat64 interfaces")]
struct ShowInterfaces {}

/// Show NAT64 prefixes
#[derive(Command)]
#[command("show nat64 prefix")]
struct ShowPrefixes {}

/// Show session timeouts
#[derive(Command)]
#[command("show nat64 timeouts")]
struct ShowTimeouts {}

/// Rows with a line above them.
fn headed<R: fmt::Display + Serialize + 'static>(
    head: &'static str,
    rows: impl IntoIterator<Item = R>,
) -> Output {
    Output::rows(rows, move |rows, f| {
        writeln!(f, "{head}")?;
        rows.iter().try_for_each(|row| writeln!(f, " {row}"))
    })
}

#[derive(Serialize)]
struct Address {
    address: Ipv4Addr,
    vrf: Option<u32>,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.vrf {
            Some(vrf) => write!(f, "{} tenant VRF: {vrf}", self.address),
            None => write!(f, "{} tenant VRF independent", self.address),
        }
    }
}

#[derive(Serialize)]
struct Side {
    interface: String,
    inside: bool,
    outside: bool,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = match (self.inside, self.outside) {
            (true, true) => "in out",
            (true, false) => "in",
            _ => "out",
        };
        write!(f, "{} {sides}", self.interface)
    }
}

#[derive(Serialize)]
struct Prefix {
    prefix: String,
    vrf: u32,
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tenant-vrf {}", self.prefix, self.vrf)
    }
}

#[derive(Serialize)]
struct Timeout {
    kind: &'static str,
    seconds: u32,
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}sec", self.kind, self.seconds)
    }
}

/// The name of a protocol.
fn name(protocol: Protocol) -> String {
    match protocol {
        Protocol::TCP => "tcp".to_owned(),
        Protocol::UDP => "udp".to_owned(),
        Protocol::ICMP => "icmp".to_owned(),
        Protocol(number) => number.to_string(),
    }
}

#[derive(Serialize)]
struct BindingRow {
    host: Ipv6Addr,
    port: u16,
    outside: Ipv4Addr,
    outside_port: u16,
    protocol: String,
    vrf: u32,
    is_static: bool,
    sessions: u32,
}

impl fmt::Display for BindingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, outside, outside_port, protocol, vrf, sessions, .. } = self;
        let kind = if self.is_static { "static" } else { "dynamic" };
        write!(f, "{host} {port} {outside} {outside_port} protocol {protocol} vrf {vrf} ")?;
        write!(f, "{kind} {sessions} sessions")
    }
}

#[derive(Serialize)]
struct SessionRow {
    host: Ipv6Addr,
    port: u16,
    far_inside: Ipv6Addr,
    far: Ipv4Addr,
    far_port: u16,
    outside: Ipv4Addr,
    outside_port: u16,
    protocol: String,
    vrf: u32,
    state: Option<&'static str>,
    packets: u64,
    bytes: u64,
    silent_seconds: f64,
}

impl fmt::Display for SessionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, far_inside, far, far_port, outside, outside_port, .. } = self;
        let Self { protocol, vrf, packets, bytes, silent_seconds, .. } = self;
        write!(f, "{host} {port} {far_inside} {far_port} {outside} {outside_port} {far} ")?;
        write!(f, "{far_port} protocol {protocol} vrf {vrf} {}", self.state.unwrap_or(""))?;
        write!(f, " packets {packets} bytes {bytes} last heard {silent_seconds:.2}s ago")
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, ShowBindings(which)| {
        let all = bindings(router, which)?.into_iter().map(|b| BindingRow {
            host: b.ends.host,
            port: b.ends.port,
            outside: b.ends.outside,
            outside_port: b.ends.outside_port,
            protocol: name(b.ends.protocol),
            vrf: b.ends.vrf,
            is_static: b.is_static,
            sessions: b.sessions,
        });
        Ok(headed("NAT64 bindings:", all))
    });
    cli.command(|router: &mut Router, ShowSessions(which)| {
        let now = router.now();
        let all = sessions(router, which)?.into_iter().map(|s| SessionRow {
            host: s.forward.src.into(),
            port: s.forward.src_port,
            far_inside: s.forward.dst.into(),
            far: s.reverse.src.into(),
            far_port: s.reverse.src_port,
            outside: s.reverse.dst.into(),
            outside_port: s.reverse.dst_port,
            protocol: name(s.reverse.protocol()),
            vrf: vrf_of(router, s.data.in_fib),
            state: (s.reverse.protocol() == Protocol::TCP).then(|| s.data.tcp.name()),
            packets: s.packets,
            bytes: s.bytes,
            silent_seconds: now - s.heard(),
        });
        Ok(headed("NAT64 sessions:", all))
    });
    cli.command(|router: &mut Router, ShowPool {}| {
        let settings = known(router);
        let pool = state::pool(router, &settings);
        let rows = pool.map(|(address, vrf)| Address { address, vrf });
        Ok(headed("NAT64 pool:", rows))
    });
    cli.command(|router: &mut Router, ShowInterfaces {}| {
        let row = |(interface, role): (net::InterfaceIndex, &Role)| Side {
            interface: router.interfaces.name(interface.0).to_owned(),
            inside: role.is_inside,
            outside: role.is_outside,
        };
        let rows = router.settings::<Role>().map(row);
        Ok(headed("NAT64 interfaces:", rows))
    });
    cli.command(|router: &mut Router, ShowPrefixes {}| {
        let all = known(router).prefixes.into_iter();
        let rows = all.map(|(vrf, prefix)| Prefix { prefix: prefix.to_string(), vrf });
        Ok(headed("NAT64 prefix:", rows))
    });
    cli.command(|router: &mut Router, ShowTimeouts {}| {
        let t = known(router).timeouts;
        let rows = [
            ("udp", t.udp),
            ("tcp-established", t.established),
            ("tcp-transitory", t.transitory),
            ("icmp", t.icmp),
        ];
        let rows = rows.map(|(kind, seconds)| Timeout { kind, seconds });
        Ok(headed("NAT64 timeouts:", rows))
    });
}
