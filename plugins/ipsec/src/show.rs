//! `show ipsec …`, `clear ipsec …`.

use net::prelude::*;

use super::association::{SaRow, sas};
use super::spd::Action;
use super::{Ipsec, flows, protect, sa, spd};

/// Show security associations.
#[derive(Command)]
#[command("show ipsec sa")]
struct ShowSa {
    /// only this one
    #[positional]
    index: Option<u32>,
    /// also sequence numbers, algorithms, counters and the tunnel, as of a single one
    #[keyword("detail")]
    is_detailed: bool,
}

/// Show security policy databases.
#[derive(Command)]
#[command("show ipsec spd")]
struct ShowSpd {
    /// only this one
    #[positional]
    id: Option<u32>,
    /// only the interfaces to which they are applied
    bindings: bool,
}

/// Show protected tunnels.
#[derive(Command)]
#[command("show ipsec protect", "show ipsec tunnel")]
struct ShowProtect;

/// Show the receive lookup keys of protected tunnels.
#[derive(Command)]
#[command("show ipsec protect-hash")]
struct ShowKeys;

/// Show IPsec interfaces.
#[derive(Command)]
#[command("show ipsec interface")]
struct ShowItf;

/// Show all IPsec state.
#[derive(Command)]
#[command("show ipsec all")]
struct ShowAll;

/// Clear the counters of security associations.
#[derive(Command)]
#[command("clear ipsec sa")]
struct ClearSa {
    /// only on this interface
    #[positional]
    index: Option<u32>,
}

/// Clear the counters of security associations and policies.
#[derive(Command)]
#[command("clear ipsec counters")]
struct ClearCounters;

#[derive(Serialize)]
struct PolicyRow {
    index: u32,
    direction: &'static str,
    family: &'static str,
    priority: i32,
    action: String,
    protocol: String,
    local: String,
    remote: String,
    ports: [String; 2],
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct SpdRow {
    id: u32,
    interfaces: Vec<String>,
    policies: Vec<PolicyRow>,
}

impl SpdRow {
    fn of(router: &Router, spd: &spd::Spd) -> Self {
        let ipsec = router.own::<Ipsec>();
        let row = |(index, p): (u32, &spd::Policy)| {
            let volume = ipsec.policy_counters.sum(index as usize);
            let ports = [&p.local_ports, &p.remote_ports];
            PolicyRow {
                index,
                direction: if p.is_outbound { "outbound" } else { "inbound" },
                family: if p.is_6 { "ip6" } else { "ip4" },
                priority: p.priority,
                action: match p.action {
                    Action::Bypass => "bypass".to_owned(),
                    Action::Discard => "discard".to_owned(),
                    Action::Protect(sa) => format!("protect sa {sa}"),
                },
                protocol: p.protocol.map_or_else(|| "any".to_owned(), |p| p.to_string()),
                local: format!("{} - {}", p.local.start(), p.local.end()),
                remote: format!("{} - {}", p.remote.start(), p.remote.end()),
                ports: ports.map(|r| format!("{} - {}", r.start(), r.end())),
                packets: volume.packets,
                bytes: volume.bytes,
            }
        };
        let id = spd.id();
        let mine = spd::applied(router).into_iter().filter(|(_, of)| *of == id);
        let interfaces = mine.map(|(i, _)| router.interfaces.name(i.0).to_string()).collect();
        Self { id, interfaces, policies: spd.policies().into_iter().map(row).collect() }
    }
}

/// Kinds of policies in the order in which they are shown: direction and action, before which
/// stands the IP version.
const KINDS: [(&str, &str); 4] =
    [("outbound", ""), ("inbound", "protect"), ("inbound", "bypass"), ("inbound", "discard")];

fn write_spd_rows(rows: &[SpdRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for spd in rows {
        writeln!(f, "spd {}", spd.id)?;
        for (direction, action) in KINDS {
            for family in ["ip4", "ip6"] {
                let hyphen = if action.is_empty() { "" } else { "-" };
                let kind = format!("{family}-{direction}{hyphen}{action}");
                writeln!(f, " {kind}:")?;
                let is_it = |p: &&PolicyRow| {
                    (p.family, p.direction) == (family, direction) && p.action.starts_with(action)
                };
                let mut policies = spd.policies.iter().filter(is_it);
                policies.try_for_each(|policy| policy.write(&kind, f))?;
                writeln!(f)?;
            }
        }
    }
    Ok(())
}

impl PolicyRow {
    fn write(&self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, priority, action, protocol, .. } = self;
        let (action, sa) = action.split_once(' ').unwrap_or((action, ""));
        let space = if sa.is_empty() { "" } else { " " };
        writeln!(
            f,
            "   [{index}] priority {priority} action {action} type {kind} protocol \
             {protocol}{space}{sa}"
        )?;
        let ends = [("local", &self.local), ("remote", &self.remote)];
        for ((end, range), ports) in ends.into_iter().zip(&self.ports) {
            writeln!(f, "     {end} addr range {range} port range {ports}")?;
        }
        writeln!(f, "     packets {} bytes {}", self.packets, self.bytes)
    }
}

/// Interfaces with a security policy database.
#[derive(Serialize)]
struct BindingRow {
    spd: u32,
    interface: String,
}

fn write_binding_rows(rows: &[BindingRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "SPD Bindings:")?;
    rows.iter().try_for_each(|row| writeln!(f, "  {} -> {}", row.spd, row.interface))
}

fn bindings(router: &Router) -> Output {
    let row = |(interface, spd): (net::InterfaceIndex, u32)| BindingRow {
        spd,
        interface: router.interfaces.name(interface.0).to_string(),
    };
    Output::rows(spd::applied(router).into_iter().map(row), write_binding_rows)
}

fn spd_rows(router: &Router, id: Option<u32>) -> Vec<SpdRow> {
    let chosen = spd::all(router).filter(|(_, spd)| id.is_none_or(|id| id == spd.id()));
    chosen.map(|(_, spd)| SpdRow::of(router, spd)).collect()
}

/// Numbers of cached flows, if the cache is enabled.
#[derive(Serialize)]
struct FlowRows {
    #[serde(skip_serializing_if = "Option::is_none")]
    inbound: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outbound: Option<u64>,
}

impl fmt::Display for FlowRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (direction, count) in [("inbound", self.inbound), ("outbound", self.outbound)] {
            if let Some(count) = count {
                writeln!(f, "ipv4-{direction}-spd-flow-cache-entries: {count}")?;
            }
        }
        Ok(())
    }
}

fn spds(router: &Router, id: Option<u32>) -> Output {
    let mut shown = Output::rows(spd_rows(router, id), write_spd_rows);
    let ipsec = router.own::<Ipsec>();
    let [inbound, outbound] = [0, 1].map(|at| {
        let count = || flows::count(&ipsec.flows, at * flows::COLUMNS, ipsec.versions[at]);
        (ipsec.settings.flows[at] > 0).then(count)
    });
    if inbound.is_some() || outbound.is_some() {
        shown.append(Output::of(FlowRows { inbound, outbound }));
    }
    shown
}

#[derive(Serialize)]
struct ProtectRow {
    interface: String,
    next_hop: std::net::IpAddr,
    output_sa: u32,
    input_sa: Vec<u32>,
    #[serde(skip)]
    lines: [Vec<String>; 2],
}

fn write_protect_rows(rows: &[ProtectRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for r in rows {
        write!(f, "{} flags:[none]", r.interface)?;
        if !r.next_hop.is_unspecified() {
            write!(f, ": {}", r.next_hop)?;
        }
        writeln!(f)?;
        for (direction, lines) in ["output", "input"].into_iter().zip(&r.lines) {
            writeln!(f, " {direction}-sa:")?;
            lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
    }
    Ok(())
}

fn protect_rows(router: &Router) -> Vec<ProtectRow> {
    let id = |index: &u32| protect::id_of(router, *index);
    let lines = |wanted: &[u32]| {
        let sas = wanted.iter().filter_map(|index| sa::all(router).find(|(at, _)| at == index));
        sas.map(|sa| SaRow::of(router, sa).line()).collect()
    };
    let row = |t: &protect::Protected| ProtectRow {
        interface: router.interfaces.name(t.interface.0).to_string(),
        next_hop: t.next_hop,
        output_sa: id(&t.sa_out),
        input_sa: t.sa_in.iter().map(id).collect(),
        lines: [lines(&[t.sa_out]), lines(&t.sa_in)],
    };
    protect::all(router).map(row).collect()
}

#[derive(Serialize)]
struct KeyRow {
    remote: std::net::IpAddr,
    spi: u32,
    sa: u32,
}

fn write_key_rows(rows: &[KeyRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (family, is_4) in [("IPv4", true), ("IPv6", false)] {
        writeln!(f, "{family}:")?;
        for KeyRow { remote, spi, sa } in rows.iter().filter(|row| row.remote.is_ipv4() == is_4) {
            writeln!(f, " remote:{remote} spi:{spi} (0x{spi:08x}) sa:{sa}")?;
        }
    }
    Ok(())
}

fn key_rows(router: &Router) -> Vec<KeyRow> {
    let row = |(is_6, remote, spi, sa): (bool, u128, u32, u32)| KeyRow {
        remote: match is_6 {
            true => std::net::Ipv6Addr::from_bits(remote).into(),
            false => std::net::Ipv4Addr::from_bits(remote as u32).into(),
        },
        spi,
        sa: protect::id_of(router, sa),
    };
    protect::keys(router).into_iter().map(row).collect()
}

#[derive(Serialize)]
struct ItfRow {
    instance: u32,
    interface: String,
    mode: &'static str,
}

fn write_itf_rows(rows: &[ItfRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut rows = rows.iter();
    rows.try_for_each(|r| writeln!(f, "[{}] {} {}", r.instance, r.interface, r.mode))
}

fn itf_rows(router: &Router) -> Vec<ItfRow> {
    let row = |(interface, itf): (net::InterfaceIndex, protect::itf::Itf)| ItfRow {
        instance: itf.instance,
        interface: router.interfaces.name(interface.0).to_string(),
        mode: if itf.is_multipoint { "multi-point" } else { "point-to-point" },
    };
    protect::itf::all(router).map(row).collect()
}

fn clear(router: &mut Router, index: Option<u32>, with_policies: bool) -> Result<(), Error> {
    let ipsec = router.own::<Ipsec>();
    let most = sa::all(router).map(|(at, _)| at as usize + 1).max().unwrap_or(0);
    let range = index.map_or(0..most, |at| at as usize..at as usize + 1);
    if range.end > most {
        return Err(Error::new("no such security association"));
    }
    let (counters, errors) = (ipsec.counters.clone(), ipsec.errors.clone());
    let (policies, count) = (ipsec.policy_counters.clone(), ipsec.policies as usize);
    let count = if with_policies { count } else { 0 };
    let zero = move |thread| {
        counters.zero(thread, range.clone());
        errors.0.iter().for_each(|rows| rows.zero(thread, range.clone()));
        policies.zero(thread, 0..count);
    };
    router.engine.on_threads(zero).map_err(|_| Error::new("a thread does not answer"))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: ShowSa| {
        Ok(sas(router, c.index, c.is_detailed || c.index.is_some()))
    });
    cli.command(|router: &mut Router, c: ShowSpd| match c.bindings {
        true => Ok(bindings(router)),
        false => Ok(spds(router, c.id)),
    });
    cli.command(|router: &mut Router, _: ShowProtect| {
        Ok(Output::rows(protect_rows(router), write_protect_rows))
    });
    cli.command(|router: &mut Router, _: ShowKeys| {
        Ok(Output::rows(key_rows(router), write_key_rows))
    });
    cli.command(|router: &mut Router, _: ShowItf| {
        Ok(Output::rows(itf_rows(router), write_itf_rows))
    });
    cli.command(|router: &mut Router, _: ShowAll| {
        let mut all = sas(router, None, false);
        all.append(spds(router, None));
        all.append(bindings(router));
        all.append(Output::rows(protect_rows(router), write_protect_rows));
        all.append(Output::rows(itf_rows(router), write_itf_rows));
        Ok(all)
    });
    cli.command(|router: &mut Router, c: ClearSa| clear(router, c.index, false));
    cli.command(|router: &mut Router, _: ClearCounters| clear(router, None, true));
}
