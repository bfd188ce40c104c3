//! Commands that show layer 2.

use net::prelude::*;

use super::arcs::{self, input};
use super::domain;
use super::fib::{self, Entry};
use super::output::Patched;
use super::state::{self, Bridging, Domain, Place, Role};

/// Show bridge domains.
#[derive(Command)]
#[command("show bridge-domain")]
struct ShowDomains {
    /// only this one
    #[positional]
    bridge_domain_id: Option<u32>,
    /// all that is known of it
    #[alias("det")]
    detail: bool,
    /// its interfaces
    int: bool,
    /// the hosts for which it answers ARP requests
    arp: bool,
    /// its tag
    bd_tag: bool,
}

/// Show how tags of frames are rewritten.
#[derive(Command)]
#[command("show interface vtr")]
struct ShowRewrites {
    /// interfaces; all when none is given
    #[positional]
    interfaces: Vec<InterfaceIndex>,
}

#[derive(Serialize)]
struct Rewrite {
    interface: String,
    tag_rewrite: String,
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:  VTR {}", self.interface, self.tag_rewrite)
    }
}

#[derive(Serialize)]
struct PortRow {
    interface: String,
    index: u32,
    sequence: u8,
    group: u8,
    is_bvi: bool,
    is_flooded: bool,
    tag_rewrite: String,
}

#[derive(Serialize)]
struct DomainRow {
    id: u32,
    index: u16,
    sequence: u8,
    age_minutes: u8,
    learning: bool,
    forwarding: bool,
    unknown: &'static str,
    flooding: bool,
    arp_term: bool,
    arp_ufwd: bool,
    learned: u64,
    limit: u32,
    bvi: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<Vec<PortRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owners: Option<Vec<(String, String)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn domain_row(router: &Router, id: u32, domain: &Domain, show: &ShowDomains) -> DomainRow {
    let bridging = router.own::<Bridging>();
    let name = |i: InterfaceIndex| router.interfaces.name(i.0).to_owned();
    let has = |bit| domain.bits & bit != 0;
    let port = |(i, group)| PortRow {
        interface: name(i),
        index: i.0,
        sequence: bridging.port_sequence(i),
        group,
        is_bvi: domain.bvi == Some(i),
        is_flooded: state::is_flooded(router, domain, i),
        tag_rewrite: rewrite_text(router, i),
    };
    // Bits that a domain does not decide are an interface's.
    let others = !(input::OWN | input::DROP | input::XCONNECT) & 0x000f_ffff;
    let rewrite = if domain.rewrites { 0 } else { 1 << 8 };
    let features = (domain.shown_bits() | others) & !rewrite;
    let owners = domain.owners.iter().map(|(ip, mac)| (ip.to_string(), mac.to_string()));
    let unknown = match (domain.unknown, has(input::UU_FLOOD)) {
        (Some(_), _) => "uu-fwd",
        (None, true) => "flood",
        (None, false) => "drop",
    };
    DomainRow {
        id,
        index: domain.index,
        sequence: bridging.domain_sequence(domain.index),
        age_minutes: domain.mac_age,
        learning: has(input::LEARN),
        forwarding: has(input::FWD),
        unknown,
        flooding: has(input::FLOOD),
        arp_term: has(input::ARP_TERM),
        arp_ufwd: has(input::ARP_UFWD),
        learned: bridging.learned.at(domain.index.into()),
        limit: domain.limit,
        bvi: domain.bvi.map_or("N/A".to_owned(), name),
        features: show.detail.then(|| {
            let all = features | input::XCONNECT;
            arcs::features(&net::ethernet::L2_INPUT, all).collect()
        }),
        ports: (show.int || show.detail).then(|| domain.ports().map(port).collect()),
        unknown_to: domain.unknown.filter(|_| show.int || show.detail).map(name),
        owners: (show.arp || show.detail).then(|| owners.collect()),
        tag: (show.bd_tag || show.detail).then(|| domain.tag.clone()),
    }
}

/// Tag rewrite of an interface, in words.
fn rewrite_text(router: &Router, interface: InterfaceIndex) -> String {
    let Some(r) = router.interfaces.at(interface).map(|i| i.tag_rewrite) else {
        return "none".to_owned();
    };
    let kind = if r.push_dot1q == 0 { "dot1ad" } else { "dot1q" };
    let ([first, second], is_pbb) = (r.tags, r.is_backbone);
    match r.op {
        0 => "none".to_owned(),
        _ if is_pbb => format!(
            "pbb {}",
            ["push", "pop", "translate"][usize::from(r.op > 2) + usize::from(r.op > 4)]
        ),
        1 => format!("push-1 {kind} {first}"),
        2 => format!("push-2 {kind} {first} {second}"),
        3 => "pop-1".to_owned(),
        4 => "pop-2".to_owned(),
        5 => format!("trans-1-1 {kind} {first}"),
        6 => format!("trans-1-2 {kind} {first} {second}"),
        7 => format!("trans-2-1 {kind} {first}"),
        _ => format!("trans-2-2 {kind} {first} {second}"),
    }
}

fn write_domains(rows: &[DomainRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "no bridge-domains in use");
    }
    let names = ["BD-ID", "Index", "BSN", "Age(min)", "Learning", "U-Forwrd", "UU-Flood"];
    write!(
        f,
        "{:>7} {:>7} {:>4}  {:<9} {:<9} {:<10} ",
        names[0], names[1], names[2], names[3], names[4], names[5]
    )?;
    writeln!(f, " {:<10} Flooding  ARP-Term  arp-ufwd Learn-co Learn-li   BVI-Intf ", names[6])?;
    for row in rows {
        let age = match row.age_minutes {
            0 => "off".to_owned(),
            minutes => minutes.to_string(),
        };
        write!(f, "{:^8} {:^7} {:^4} {age:^9}", row.id, row.index, row.sequence)?;
        write!(f, " {:^10} {:^10} {:^10}", on(row.learning), on(row.forwarding), row.unknown)?;
        write!(f, " {:^10} {:^9} {:^9}", on(row.flooding), on(row.arp_term), on(row.arp_ufwd))?;
        writeln!(f, " {:^8} {:^10} {:^10}", row.learned, row.limit, row.bvi)?;
        row.details(f)?;
    }
    Ok(())
}

impl DomainRow {
    fn details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(features) = &self.features {
            features.iter().try_for_each(|name| write!(f, "{name} "))?;
            writeln!(f)?;
        }
        if let Some(ports) = self.ports.as_ref().filter(|ports| !ports.is_empty()) {
            write!(f, "\n{:>20} {:>17} ISN  SHG  BVI  TxFlood", "Interface", "If-idx")?;
            writeln!(f, "{:>23}       ", "VLAN-Tag-Rewrite")?;
            for port in ports {
                let mark = |on: bool| if on { '*' } else { '-' };
                let (bvi, floods) = (mark(port.is_bvi), mark(port.is_flooded));
                write!(
                    f,
                    "{:^30} {:^7} {:^4} {:^4} {bvi:^5} {floods:^7}",
                    port.interface, port.index, port.sequence, port.group
                )?;
                writeln!(f, " {:^30}", port.tag_rewrite)?;
            }
        }
        if let Some(to) = &self.unknown_to {
            writeln!(f, "{to:^30} uu-fwd")?;
        }
        if let Some(owners) = self.owners.as_ref().filter(|o| !o.is_empty()) {
            writeln!(f, "\n  IP-to-MAC table for ARP Termination")?;
            owners.iter().try_for_each(|(ip, mac)| writeln!(f, "  {ip} => {mac}"))?;
        }
        match self.tag.as_ref().filter(|tag| !tag.is_empty()) {
            Some(tag) => writeln!(f, "  BD-Tag: {tag}"),
            None => Ok(()),
        }
    }
}

/// `show l2fib [verbose | all] [bd_id N | bd_index N] [learn | add] [raw]`.
#[derive(Default)]
struct ShowFib {
    is_verbose: bool,
    id: Option<u32>,
    index: Option<u16>,
    learned: Option<bool>,
    is_raw: bool,
}

impl Command for ShowFib {
    const PATHS: &'static [&'static str] = &["show l2fib"];
    const ABOUT: &'static str = "Show the MAC addresses of bridge domains";
    const USAGE: &'static str = "[verbose | all] [bd_id <nn> | bd_index <nn>] [learn | add] [raw]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self::default();
        while !args.is_empty() {
            if args.keyword("verbose") || args.keyword("all") {
                show.is_verbose = true;
            } else if args.keyword("bd_id") {
                show.id = Some(args.value("bridge domain")?);
            } else if args.keyword("bd_index") {
                show.index = Some(args.value("index")?);
            } else if args.keyword("learn") {
                show.learned = Some(true);
            } else if args.keyword("add") {
                show.learned = Some(false);
            } else if args.keyword("raw") {
                show.is_raw = true;
            } else {
                return Err(args.unknown());
            }
        }
        show.is_verbose |= show.id.is_some() || show.index.is_some() || show.learned.is_some();
        Ok(show)
    }
}

#[derive(Serialize)]
struct FibRow {
    mac: String,
    index: u16,
    interface_index: u32,
    sequence: [u8; 2],
    age: String,
    is_static: bool,
    is_filter: bool,
    is_bvi: bool,
    interface: String,
}

#[derive(Serialize)]
struct FibShown {
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<FibRow>>,
    total: usize,
    learned: u64,
    last_scan_seconds: f64,
    limit: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<(usize, usize)>,
}

fn show_fib(router: &mut Router, show: &ShowFib) -> FibShown {
    let minute = fib::minute(router.now());
    let found = if show.is_verbose { super::api::entries(router, show.index) } else { Vec::new() };
    let bridging = router.own::<Bridging>();
    let is_meant = |(id, _, entry): &(u32, _, Entry)| {
        show.id.is_none_or(|only| only == *id)
            && show.learned.is_none_or(|learned| learned != entry.has(fib::STATIC))
    };
    let row = |(id, mac, entry): (u32, wire::MacAddr, Entry)| {
        let domain = bridging.domains.get(&id);
        let age = match entry.has(fib::STATIC) {
            _ if domain.is_none_or(|d| d.mac_age == 0) || entry.has(fib::STATIC) => "no".to_owned(),
            _ => entry.age(minute).to_string(),
        };
        FibRow {
            mac: mac.to_string(),
            index: domain.map_or(0, |d| d.index),
            interface_index: entry.interface(),
            sequence: entry.sequence().to_be_bytes(),
            age,
            is_static: entry.has(fib::STATIC),
            is_filter: entry.has(fib::FILTER),
            is_bvi: entry.has(fib::BVI),
            interface: match entry.has(fib::FILTER) {
                true => "N/A".to_owned(),
                false => router.interfaces.name(entry.interface()).to_owned(),
            },
        }
    };
    let mut rows: Vec<_> = found.into_iter().filter(is_meant).map(row).collect();
    rows.sort_by(|a, b| (a.index, &a.mac).cmp(&(b.index, &b.mac)));
    FibShown {
        entries: show.is_verbose.then_some(rows),
        total: bridging.fib.view().len(),
        learned: bridging.learned.at(0),
        last_scan_seconds: bridging.scan.last,
        limit: bridging.limit,
        raw: show.is_raw.then(|| (bridging.fib.view().room(), bridging.fib.bytes())),
    }
}

impl fmt::Display for FibShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |on: bool| if on { '*' } else { '-' };
        if let Some(rows) = self.entries.as_ref().filter(|rows| !rows.is_empty()) {
            write!(f, "{:>15}     BD-Idx If-Idx BSN-ISN Age(min) ", "Mac-Address")?;
            writeln!(f, "static filter bvi{:>23}        ", "Interface-Name")?;
            for row in rows {
                let [domain, port] = row.sequence;
                write!(
                    f,
                    "{:^19}  {:^6} {:^6} {domain:>3}/{port:<3}",
                    row.mac, row.index, row.interface_index as i32
                )?;
                write!(f, " {:^8} {:^6} {:^6}", row.age, mark(row.is_static), mark(row.is_filter))?;
                writeln!(f, " {:^3} {:^30}", mark(row.is_bvi), row.interface)?;
            }
        }
        write!(f, "L2FIB total/learned entries: {}/{}  ", self.total, self.learned)?;
        let (scan, limit) = (self.last_scan_seconds, self.limit);
        writeln!(f, "Last scan time: {scan:.4}sec  Learn limit: {limit} ")?;
        match self.raw {
            Some((room, bytes)) => writeln!(f, "room for {room}, {bytes} bytes"),
            None => Ok(()),
        }
    }
}

/// Show the layer 2 mode of interfaces.
#[derive(Command)]
#[command("show mode")]
struct ShowMode {
    /// interfaces; default all
    #[positional]
    interfaces: Vec<InterfaceIndex>,
}

/// Show patches.
#[derive(Command)]
#[command("show l2patch")]
struct ShowPatches {}

/// Mode for the frames of an interface.
#[derive(Serialize)]
struct ModeRow {
    interface: String,
    mode: &'static str,
    /// The domain, its role there, and its group.
    #[serde(skip_serializing_if = "Option::is_none")]
    bridge: Option<(u32, &'static str, u8)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
}

fn write_patches(rows: &[PatchRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "no l2patch entries");
    }
    rows.iter().try_for_each(|row| writeln!(f, "{row}"))
}

impl fmt::Display for ModeRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.mode, self.interface)?;
        if let Some((id, role, group)) = self.bridge {
            write!(f, " bd_id {id}{role} shg {group}")?;
        }
        self.peer.iter().try_for_each(|peer| write!(f, " {peer}"))
    }
}

fn mode(router: &Router, index: InterfaceIndex) -> ModeRow {
    let bridging = router.own::<Bridging>();
    let name = |i: InterfaceIndex| router.interfaces.name(i.0).to_owned();
    let place = bridging.ports.get(&index).map(|port| port.place);
    let role = |role| match role {
        Role::Normal => "",
        Role::Bvi => " bvi",
        Role::Unknown => " uu-fwd",
    };
    let (mode, bridge, peer) = match place {
        None => ("l3", None, None),
        Some(Place::CrossConnect(to)) => ("l2 xconnect", None, Some(name(to))),
        Some(Place::Lent(_)) => ("l2 feature", None, None),
        Some(Place::Bridge(id, r, group)) => ("l2 bridge", Some((id, role(r), group)), None),
    };
    ModeRow { interface: name(index), mode, bridge, peer }
}

/// Where an interface is, as `show interface address` says it.
pub(super) fn place(router: &Router, index: InterfaceIndex) -> Option<String> {
    let bridging = router.own::<Bridging>();
    match bridging.ports.get(&index)?.place {
        Place::CrossConnect(to) => Some(format!("xconnect {}", router.interfaces.name(to.0))),
        Place::Bridge(id, role, group) => {
            let index = bridging.domains.get(&id)?.index;
            let role = match role {
                Role::Normal => "",
                Role::Bvi => " bvi",
                Role::Unknown => " uu-fwd",
            };
            Some(format!("bridge bd-id {id} idx {index} shg {group}{role}"))
        }
        Place::Lent(_) => None,
    }
}

/// An interface whose frames leave by another one.
#[derive(Serialize)]
struct PatchRow {
    rx: String,
    tx: String,
}

impl fmt::Display for PatchRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>26} -> {}", self.rx, self.tx)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: ShowDomains| {
        let bridging = router.own::<Bridging>();
        if show.bridge_domain_id.is_some_and(|id| !bridging.domains.contains_key(&id)) {
            return Err(domain::Error::NoDomain.into());
        }
        let meant = bridging
            .domains
            .iter()
            .filter(|(id, _)| show.bridge_domain_id.is_none_or(|i| i == **id));
        let rows = meant.map(|(id, domain)| domain_row(router, *id, domain, &show));
        Ok(Output::rows(rows, write_domains))
    });
    cli.command(|router: &mut Router, show: ShowFib| Ok(Output::of(show_fib(router, &show))));
    cli.command(|router: &mut Router, show: ShowRewrites| {
        let all = || router.interfaces.iter().map(|i| i.index).collect();
        let meant: Vec<_> = if show.interfaces.is_empty() { all() } else { show.interfaces };
        let row = |index: InterfaceIndex| Rewrite {
            interface: router.interfaces.name(index.0).to_owned(),
            tag_rewrite: rewrite_text(router, index),
        };
        Ok(Output::list(meant.into_iter().map(row)))
    });
    cli.command(|router: &mut Router, show: ShowMode| {
        let all = || router.interfaces.iter().map(|i| i.index).collect();
        let meant: Vec<_> = if show.interfaces.is_empty() { all() } else { show.interfaces };
        Ok(Output::list(meant.into_iter().map(|i| mode(router, i))))
    });
    cli.command(|router: &mut Router, _: ShowPatches| {
        let name = |i: InterfaceIndex| router.interfaces.name(i.0).to_owned();
        let row = |(from, to): (InterfaceIndex, &Patched)| {
            Some(PatchRow { rx: name(from), tx: name(to.0?) })
        };
        let rows = router.settings::<Patched>().filter_map(row);
        Ok(Output::rows(rows, write_patches))
    });
}
