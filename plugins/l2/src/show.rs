//! Commands that show layer 2.

use net::prelude::*;

use super::arcs::{self, input};
use super::domain;
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
    unknown: String,
    flooding: bool,
    arp_term: bool,
    arp_ufwd: bool,
    learned: u64,
    limit: u32,
    bvi: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<(&'static str, &'static str)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<Vec<PortRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_to: Option<(String, u32)>,
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
        (Some(to), _) => name(to),
        (None, true) => "flood".to_owned(),
        (None, false) => "drop".to_owned(),
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
        features: show.detail.then(|| arcs::input_features(features | input::XCONNECT)),
        ports: (show.int || show.detail).then(|| domain.ports().map(port).collect()),
        unknown_to: domain.unknown.filter(|_| show.int || show.detail).map(|to| (name(to), to.0)),
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
    const WIDTHS: [usize; 13] = [8, 8, 6, 9, 11, 9, 13, 9, 11, 9, 10, 8, 13];
    writeln!(f, "{}", in_columns(WIDTHS, NAMES.each_ref().map(|name| name as _)))?;
    for row in rows {
        let age = match row.age_minutes {
            0 => "off".to_owned(),
            minutes => minutes.to_string(),
        };
        let flags = [row.learning, row.forwarding, row.flooding, row.arp_term, row.arp_ufwd];
        let [learning, forwarding, flooding, arp_term, arp_ufwd] = flags.map(on);
        let values: [&dyn fmt::Display; 13] = [
            &row.id,
            &row.index,
            &row.sequence,
            &age,
            &learning,
            &forwarding,
            &row.unknown,
            &flooding,
            &arp_term,
            &arp_ufwd,
            &row.learned,
            &row.limit,
            &row.bvi,
        ];
        writeln!(f, "{}", in_columns(WIDTHS, values))?;
        row.details(f)?;
    }
    Ok(())
}

/// Columns of `show bridge-domain`.
const NAMES: [&str; 13] = [
    "BD-ID", "Index", "BSN", "Age(min)", "Learning", "U-Forwrd", "UU-Flood", "Flooding",
    "ARP-Term", "arp-ufwd", "Learn-co", "Learn-li", "BVI-Intf",
];

impl DomainRow {
    fn details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTHS: [usize; 7] = [30, 7, 4, 6, 4, 10, 30];
        if let Some(features) = &self.features {
            features.iter().try_for_each(|(name, node)| writeln!(f, "{name:>17} ({node})"))?;
        }
        if let Some(ports) = self.ports.as_ref().filter(|ports| !ports.is_empty()) {
            let names = ["Interface", "If-idx", "ISN", "SHG", "BVI", "TxFlood", "VLAN-Tag-Rewrite"];
            writeln!(f, "\n{}", in_columns(WIDTHS, names.each_ref().map(|name| name as _)))?;
            for port in ports {
                let mark = |on: bool| if on { '*' } else { '-' };
                let PortRow { interface, index, sequence, group, tag_rewrite, .. } = port;
                let (bvi, floods) = (mark(port.is_bvi), mark(port.is_flooded));
                let values: [&dyn fmt::Display; 7] =
                    [interface, index, sequence, group, &bvi, &floods, tag_rewrite];
                writeln!(f, "{}", in_columns(WIDTHS, values))?;
            }
        }
        if let Some(to) = &self.unknown_to {
            let values: [&dyn fmt::Display; 7] = [&to.0, &to.1, &0, &0, &"uu", &"-", &"None"];
            writeln!(f, "{}", in_columns(WIDTHS, values))?;
        }
        if let Some(owners) = self.owners.as_ref().filter(|o| !o.is_empty()) {
            writeln!(f, "\n  IP4/IP6 to MAC table for ARP Termination")?;
            owners.iter().try_for_each(|(ip, mac)| {
                writeln!(f, "{} => {}", centred(ip, 40), centred(mac, 20))
            })?;
        }
        if self.tag.is_some() {
            writeln!(f)?;
        }
        match self.tag.as_ref().filter(|tag| !tag.is_empty()) {
            Some(tag) => writeln!(f, "  BD-Tag: {tag}"),
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
