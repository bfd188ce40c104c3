//! `show cnat …`.

use std::cell::Cell;
use std::rc::Rc;

use control::cli::Task;
use net::prelude::*;
use sessions::slices::{self, Gather, LISTED, Slices};

use crate::cli::PROTOCOLS;
use crate::config::{OnInterface, TABLES};
use crate::state::Cnat;
use crate::walk::{self, Shown};
use crate::wanted::{self, Endpoint};

/// Show translations
#[derive(Command)]
#[command("show cnat translation")]
struct ShowTranslations {
    /// only this address
    #[positional]
    vip: Option<IpAddr>,
    /// only the one with this number
    #[positional]
    id: Option<u32>,
}

/// Show addresses routed to cnat
#[derive(Command)]
#[command("show cnat client")]
struct ShowClients {}

/// Show interfaces with cnat
#[derive(Command)]
#[command("show cnat feature-hooks")]
struct ShowHooks {}

/// Show the source NAT policy
#[derive(Command)]
#[command("show cnat snat-policy")]
struct ShowPolicy {}

/// `show cnat session`.
#[derive(Clone, Debug, Default, PartialEq)]
struct ShowSessions {
    verbose: u32,
    answers: bool,
    ip: Option<IpAddr>,
    port: Option<u16>,
    protocol: Option<Protocol>,
    table: Option<u32>,
    reference: Option<u32>,
    max: Option<usize>,
}

impl Command for ShowSessions {
    const PATHS: &'static [&'static str] = &["show cnat session"];
    const ABOUT: &'static str = "Show the number of cnat sessions, or matching ones";
    const USAGE: &'static str = "[verbose <N>] [return] [ip <ip>] [port <port>] [proto <proto>] \
        [fib <table-id>] [ref <ref>] [max <max>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self::default();
        while !args.is_empty() {
            if args.keyword("verbose") {
                show.verbose = args.optional().unwrap_or(1);
            } else if args.keyword("return") {
                show.answers = true;
            } else if args.keyword("ip") {
                show.ip = Some(args.value("address")?);
            } else if args.keyword("port") {
                show.port = Some(args.value("port")?);
            } else if args.keyword("proto") {
                show.protocol = Some(protocol(args)?);
            } else if args.keyword("fib") {
                show.table = Some(args.value("table")?);
            } else if args.keyword("ref") {
                show.reference = Some(args.value("number of a session")?);
            } else if args.keyword("max") {
                show.max = Some(args.value("number of sessions")?);
            } else {
                return Err(args.unknown());
            }
        }
        Ok(show)
    }
}

impl ShowSessions {
    fn fits(&self, s: &Shown) -> bool {
        let ends = || s.flows.iter().flatten();
        self.ip.is_none_or(|ip| ends().any(|end| end.0 == ip))
            && self.port.is_none_or(|port| ends().any(|end| end.1 == port))
            && self.protocol.is_none_or(|protocol| s.protocol == protocol)
            && self.table.is_none_or(|table| s.scope == table)
            && self.reference.is_none_or(|number| s.number == number)
    }
    /// Whether sessions are listed, not only counted.
    fn lists(&self) -> bool {
        *self != Self::default()
    }
}

/// A protocol by name or number.
fn protocol(args: &mut Args<'_>) -> Result<Protocol, Error> {
    let icmp = [("icmp", Protocol::ICMP), ("icmp6", Protocol::ICMP6)];
    match PROTOCOLS.into_iter().chain(icmp).find(|(word, _)| args.keyword(word)) {
        Some((_, protocol)) => Ok(protocol),
        None => args.value("protocol").map(Protocol),
    }
}

/// Show when sessions last carried packets
#[derive(Command)]
#[command("show cnat timestamp")]
struct ShowTimestamps {
    /// include each session
    verbose: Option<u32>,
}

#[derive(Serialize)]
struct Session {
    thread: usize,
    number: u32,
    protocol: String,
    table: u32,
    translation: Option<u32>,
    /// Source and destination of packets, as they come.
    from: [(IpAddr, u16); 2],
    /// The same as they leave.
    to: [(IpAddr, u16); 2],
    packets: u64,
    bytes: u64,
    silent_s: f64,
    #[serde(skip)]
    is_answer: bool,
}

fn end((addr, port): &(IpAddr, u16)) -> String {
    if addr.is_ipv4() { format!("{addr}:{port}") } else { format!("[{addr}]:{port}") }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, protocol, packets, bytes, silent_s, .. } = self;
        let [src, dst] = self.from.each_ref().map(end);
        let [new_src, new_dst] = self.to.each_ref().map(end);
        write!(f, "[{}:{number}] {protocol} {src} -> {dst}", self.thread)?;
        write!(f, " => {new_src} -> {new_dst} table {}", self.table)?;
        match self.translation {
            Some(id) => write!(f, " translation {id}")?,
            None => write!(f, " source")?,
        }
        let way = if self.is_answer { " return" } else { "" };
        write!(f, " packets {packets} bytes {bytes} silent {silent_s:.1}s{way}")
    }
}

#[derive(Serialize)]
struct Sessions {
    sessions: usize,
    shown: Vec<Session>,
}

impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "CNat sessions: {}", self.sessions)?;
        self.shown.iter().try_for_each(|session| writeln!(f, "  {session}"))
    }
}

fn sessions(router: &Router, show: ShowSessions) -> Box<dyn Task<Router>> {
    let (count, only) = (Rc::new(Cell::new(0)), show.clone());
    let (to, mut left) = (Rc::clone(&count), show.max.unwrap_or(LISTED).min(LISTED));
    let mut all = walk::sessions(router);
    let fitting: Slices<_> = Box::new(move |router| {
        let Some(mut found) = all(router)? else { return Ok(None) };
        to.set(to.get() + found.len());
        found.retain(|(_, s)| left > 0 && only.lists() && only.fits(s));
        found.truncate(left);
        left -= found.len();
        Ok(Some(found))
    });
    Box::new(Gather::all(fitting, move |router, found| {
        let found = found.map_err(|_| wanted::Error::NoAnswer)?;
        Ok(Output::of(listed(router.now(), count.get(), &found, &show)))
    }))
}

fn listed(now: f64, count: usize, fit: &[(usize, Shown)], show: &ShowSessions) -> Sessions {
    let mut shown = Vec::new();
    for (thread, s) in fit {
        let [forward, [back_src, back_dst]] = s.flows;
        let of = |from, to, is_answer| Session {
            thread: *thread,
            number: s.number,
            protocol: s.protocol.to_string(),
            table: s.scope,
            translation: s.translation,
            from,
            to,
            packets: s.packets,
            bytes: s.bytes,
            silent_s: (now - s.heard).max(0.0),
            is_answer,
        };
        shown.push(of(forward, [back_dst, back_src], false));
        if show.answers && s.is_answered {
            shown.push(of([back_src, back_dst], [forward[1], forward[0]], true));
        }
    }
    Sessions { sessions: count, shown }
}

#[derive(Serialize)]
struct Backend {
    addr: Option<IpAddr>,
    port: u16,
    src: Option<IpAddr>,
    src_port: u16,
    interface: Option<String>,
    translated: bool,
    /// Share of a Maglev table, in places.
    places: Option<usize>,
}

#[derive(Serialize)]
struct Translation {
    id: u32,
    addr: Option<IpAddr>,
    port: u16,
    protocol: String,
    interface: Option<String>,
    real: bool,
    flags: u8,
    balancing: &'static str,
    in_use: bool,
    backends: Vec<Backend>,
}

impl fmt::Display for Translation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |addr: &Option<IpAddr>, port| {
            addr.map_or("unresolved".to_owned(), |addr| end(&(addr, port)))
        };
        write!(f, "[{}] {} {}", self.id, self.protocol, text(&self.addr, self.port))?;
        self.interface.iter().try_for_each(|name| write!(f, " ({name})"))?;
        write!(f, " lb:{}", self.balancing)?;
        write!(f, "{}", if self.real { " real" } else { "" })?;
        writeln!(f, "{}", if self.in_use { "" } else { " not in use" })?;
        for b in &self.backends {
            write!(f, "    ")?;
            if let Some(src) = b.src {
                write!(f, "{} ", end(&(src, b.src_port)))?;
            }
            write!(f, "-> {}", text(&b.addr, b.port))?;
            b.interface.iter().try_for_each(|name| write!(f, " ({name})"))?;
            write!(f, "{}", if b.translated { "" } else { " as it is" })?;
            b.places.iter().try_for_each(|places| write!(f, " places {places}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

fn translations(router: &Router, c: &ShowTranslations) -> Vec<Translation> {
    let cnat = router.own::<Cnat>();
    let name = |end: &Endpoint| end.interface.map(|i| router.interfaces.name(i.0).to_owned());
    let row = |(id, t): (&u32, &wanted::Translation)| {
        let used = cnat.services.at(*id);
        let backend = |b: &wanted::Wanted| {
            let addr = b.dst.resolve(router);
            let is_it = |other: &crate::service::Backend| {
                Some(other.addr) == addr && other.port == b.dst.port
            };
            let places = used.filter(|s| !s.maglev.is_empty()).map(|s| {
                let place = s.backends.iter().position(is_it);
                s.maglev.iter().filter(|at| Some(usize::from(**at)) == place).count()
            });
            Backend {
                addr,
                port: b.dst.port,
                src: b.src.resolve(router),
                src_port: b.src.port,
                interface: name(&b.dst),
                translated: !b.is_untranslated,
                places,
            }
        };
        Translation {
            id: *id,
            addr: t.vip.resolve(router),
            port: t.vip.port,
            protocol: t.protocol.to_string(),
            interface: name(&t.vip),
            real: t.is_real,
            flags: t.flags,
            balancing: if t.is_maglev { "maglev" } else { "default" },
            in_use: used.is_some(),
            backends: t.backends.iter().map(backend).collect(),
        }
    };
    let all = cnat.translations.iter().map(row);
    let is_chosen =
        |t: &Translation| (c.vip.is_none() || t.addr == c.vip) && c.id.is_none_or(|id| t.id == id);
    all.filter(is_chosen).collect()
}

#[derive(Serialize)]
struct Client {
    table: u16,
    addr: IpAddr,
    services: u32,
    sources: u32,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, addr, services, sources } = self;
        writeln!(f, "{addr} fib {table} services {services} sources {sources}")
    }
}

#[derive(Serialize)]
struct Hook {
    interface: String,
    feature: bool,
    everywhere: bool,
    tables: Vec<&'static str>,
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.interface)?;
        write!(f, "{}", if self.feature { " feature" } else { "" })?;
        write!(f, "{}", if self.everywhere { " all-interfaces" } else { "" })?;
        self.tables.iter().try_for_each(|table| write!(f, " {table}"))?;
        writeln!(f)
    }
}

#[derive(Serialize)]
struct Sources {
    table: u32,
    answers: u32,
    addrs: [Option<IpAddr>; 2],
    interface: Option<String>,
}

#[derive(Serialize)]
struct PolicyShown {
    policy: &'static str,
    sources: Vec<Sources>,
    excluded: Vec<String>,
    interfaces: Vec<Hook>,
}

impl fmt::Display for PolicyShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Source NAT policy: {}", self.policy)?;
        for s in &self.sources {
            write!(f, "  table {} answers in table {}:", s.table, s.answers)?;
            s.addrs.iter().flatten().try_for_each(|addr| write!(f, " {addr}"))?;
            s.interface.iter().try_for_each(|name| write!(f, " ({name})"))?;
            writeln!(f)?;
        }
        self.excluded.iter().try_for_each(|prefix| writeln!(f, "  excluded {prefix}"))?;
        self.interfaces.iter().try_for_each(|hook| write!(f, "  {hook}"))
    }
}

fn hooks(router: &Router) -> Vec<Hook> {
    let row = |(interface, on): (net::InterfaceIndex, &OnInterface)| Hook {
        interface: router.interfaces.name(interface.0).to_owned(),
        feature: on.feature,
        everywhere: on.everywhere,
        tables: (0..TABLES.len()).filter(|n| on.included[*n]).map(|n| TABLES[n]).collect(),
    };
    router.settings::<OnInterface>().map(row).collect()
}

fn policy(router: &Router) -> PolicyShown {
    let cnat = router.own::<Cnat>();
    let sources = cnat.sources.values().map(|s| Sources {
        table: s.table,
        answers: s.answers,
        addrs: s.resolve(router),
        interface: s.interface.map(|i| router.interfaces.name(i.0).to_owned()),
    });
    PolicyShown {
        policy: cnat.policy.word(),
        sources: sources.collect(),
        excluded: cnat.excluded.iter().map(ToString::to_string).collect(),
        interfaces: hooks(router).into_iter().filter(|hook| !hook.tables.is_empty()).collect(),
    }
}

#[derive(Serialize)]
struct Timestamp {
    number: u32,
    heard_s: f64,
    silent_s: f64,
}

#[derive(Serialize)]
struct Timestamps {
    timestamps: usize,
    shown: Vec<Timestamp>,
}

impl fmt::Display for Timestamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "CNat timestamps: {}", self.timestamps)?;
        self.shown.iter().try_for_each(|t| {
            writeln!(f, "  [{}] last {:.1} silent {:.1}s", t.number, t.heard_s, t.silent_s)
        })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: ShowTranslations| {
        Ok(Output::list(translations(router, &c)))
    });
    cli.command(|router: &mut Router, ShowClients {}| {
        let all = router.own::<Cnat>().clients();
        let row = |(table, addr, [services, sources]): (net::fib::TableIndex, _, [u32; 2])| {
            Client { table: table.0, addr, services, sources }
        };
        Ok(Output::list(all.map(row)))
    });
    cli.command(|router: &mut Router, ShowHooks {}| Ok(Output::list(hooks(router))));
    cli.command(|router: &mut Router, ShowPolicy {}| Ok(Output::of(policy(router))));
    cli.task(|router: &mut Router, c: ShowSessions| Ok(sessions(router, c)));
    cli.task(|router: &mut Router, c: ShowTimestamps| {
        let now = router.now();
        let row = move |_: &Router, (_, s): (usize, Shown)| Timestamp {
            number: s.number,
            heard_s: s.heard,
            silent_s: (now - s.heard).max(0.0),
        };
        let is_long = c.verbose.is_some();
        let all = slices::map(walk::sessions(router), row);
        Ok(Box::new(Gather::all(all, move |_, found| {
            let mut shown = found.map_err(|_| wanted::Error::NoAnswer)?;
            let timestamps = shown.len();
            shown.truncate(if is_long { LISTED } else { 0 });
            Ok(Output::of(Timestamps { timestamps, shown }))
        })) as _)
    });
}
