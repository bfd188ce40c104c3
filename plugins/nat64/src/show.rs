//! `show nat64 …`.

use control::cli::{Error as CliError, Task};
use net::prelude::*;
use sessions::slices::{self, Gather, Slices};

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
    /// The word in front of what is listed.
    fn word(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Only(protocol) => format!("{} ", name(protocol)),
            Self::Unknown => "unknown ".to_owned(),
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

/// Sessions, in slices.
pub fn sessions(router: &Router, which: Which) -> Slices<Row> {
    state::slices(router, move |s| which.has(s.reverse.protocol()))
}

/// Bindings, in slices: first those that stay.
pub fn bindings(router: &Router, which: Which) -> Slices<Bound> {
    let statics: Vec<_> =
        known(router).statics.into_iter().filter(|s| which.has(s.protocol)).collect();
    let end = |s: &Static| (s.outside.octets(), s.outside_port, s.protocol);
    let mut counts: HashMap<_, u32> = statics.iter().map(|s| (end(s), 0)).collect();
    // Only those of static bindings are counted here.
    let mut of_statics = match statics.is_empty() {
        true => slices::nothing(),
        false => sessions(router, which),
    };
    let mut statics = Some(statics);
    let fixed: Slices<Bound> = Box::new(move |router| {
        if let Some(found) = of_statics(router)? {
            for s in found {
                let end = (s.reverse.dst, s.reverse.dst_port, s.reverse.protocol());
                counts.entry(end).and_modify(|count| *count += 1);
            }
            return Ok(Some(Vec::new()));
        }
        let bound = |ends: Static| Bound { ends, is_static: true, sessions: counts[&end(&ends)] };
        Ok(statics.take().map(|all| all.into_iter().map(bound).collect()))
    });
    let learned = slices::map(state::bindings(router), |router: &Router, b| Bound {
        ends: Static {
            host: b.forward.src.into(),
            port: b.forward.src_port,
            outside: b.reverse.dst.into(),
            outside_port: b.reverse.dst_port,
            protocol: b.reverse.protocol(),
            vrf: vrf_of(router, b.forward.scope as u16),
        },
        is_static: false,
        sessions: b.data,
    });
    let mut all = slices::chain([fixed, learned]);
    Box::new(move |router| {
        let found = all(router)?;
        Ok(found.map(|all| all.into_iter().filter(|b| which.has(b.ends.protocol)).collect()))
    })
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
    head: impl fmt::Display + 'static,
    rows: impl IntoIterator<Item = R>,
) -> Output {
    Output::rows(rows, move |rows, f| {
        writeln!(f, "{head}")?;
        rows.iter().try_for_each(|row| writeln!(f, " {row}"))
    })
}

/// A listing of rows that are gathered in slices.
fn listing<R: fmt::Display + Serialize + 'static>(
    head: String,
    rows: Slices<R>,
) -> Box<dyn Task<Router>> {
    let answer = move |_: &mut Router, found: Result<Vec<R>, _>| {
        Ok(headed(head, found.map_err(|_| Error::NoAnswer)?))
    };
    Box::new(Gather::first(rows, answer))
}

#[derive(Serialize)]
struct Address {
    address: Ipv4Addr,
    vrf: Option<u32>,
    /// Busy ports: other, UDP, TCP, ICMP.
    busy: [usize; 4],
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        if let Some(vrf) = self.vrf {
            write!(f, " tenant VRF: {vrf}")?;
        }
        let names = ["other", "udp", "tcp", "icmp"];
        names.iter().zip(self.busy).try_for_each(|(name, n)| write!(f, "\n  {n} busy {name} ports"))
    }
}

/// Busy ports of an address of the pool: each has one binding.
fn busy(all: &[Bound], address: Ipv4Addr) -> [usize; 4] {
    let mut counts = [0; 4];
    for bound in all.iter().filter(|bound| bound.ends.outside == address) {
        let place = match bound.ends.protocol {
            Protocol::UDP => 1,
            Protocol::TCP => 2,
            Protocol::ICMP => 3,
            _ => 0,
        };
        counts[place] += 1;
    }
    counts
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
        let Self { protocol, vrf, .. } = self;
        match protocol.as_str() {
            "icmp" => {
                write!(f, "{host} {far_inside} {port} {outside} {far} {outside_port} protocol icmp")
            }
            // The third word is spelled as in the original.
            "tcp" | "udp" => write!(
                f,
                "{host} {port} {far_inside} {far_port} {outside} {outside_port} {far} {far_port} \
                 protcol {protocol}"
            ),
            _ => write!(f, "{host} {far_inside} {outside} {far} protocol {protocol}"),
        }?;
        write!(f, " vrf {vrf}")
    }
}

/// The pool, with the ports in use.
fn pool(router: &Router) -> Gather<Bound, Result<Output, CliError>> {
    Gather::all(bindings(router, Which::All), |router, found| {
        let all = found.map_err(|_| Error::NoAnswer)?;
        let settings = known(router);
        let pool: Vec<_> = state::pool(router, &settings).collect();
        let rows = pool.into_iter().map(|(address, vrf)| {
            let busy = busy(&all, address);
            Address { address, vrf, busy }
        });
        Ok(headed("NAT64 pool:", rows))
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|router: &mut Router, ShowBindings(which)| {
        let row = |_: &Router, b: Bound| BindingRow {
            host: b.ends.host,
            port: b.ends.port,
            outside: b.ends.outside,
            outside_port: b.ends.outside_port,
            protocol: name(b.ends.protocol),
            vrf: b.ends.vrf,
            is_static: b.is_static,
            sessions: b.sessions,
        };
        let head = format!("NAT64 {}BIB entries:", which.word());
        Ok(listing(head, slices::map(bindings(router, which), row)))
    });
    cli.task(|router: &mut Router, ShowSessions(which)| {
        let now = router.now();
        let row = move |router: &Router, s: Row| SessionRow {
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
        };
        let head = format!("NAT64 {}sessions:", which.word());
        Ok(listing(head, slices::map(sessions(router, which), row)))
    });
    cli.task(|router: &mut Router, ShowPool {}| Ok(Box::new(pool(router)) as _));
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
