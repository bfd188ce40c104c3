//! `show ipsec …`, `clear ipsec …`.

use crypto::{CIPHERS, MACS};

use net::prelude::*;

use super::sa::Sa;
use super::selector::Selector;
use super::spd::Action;
use super::{ERRORS, Ipsec, flows, protect, sa, spd};

/// Show security associations.
#[derive(Command)]
#[command("show ipsec sa")]
struct ShowSa {
    /// only this one
    #[positional]
    index: Option<u32>,
    /// accepted: details are always shown
    #[keyword("detail")]
    _is_detailed: bool,
}

/// Show security policy databases.
#[derive(Command)]
#[command("show ipsec spd")]
struct ShowSpd {
    /// only this one
    #[positional]
    id: Option<u32>,
    /// only the interfaces they are applied to
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
struct SaRow {
    index: u32,
    id: u32,
    spi: u32,
    protocol: &'static str,
    flags: Vec<&'static str>,
    crypto: &'static str,
    integrity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tunnel: Option<String>,
    /// Of this end, and of the remote end; not those that select everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    selectors: Option<[Vec<String>; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<(u16, u16)>,
    thread: Option<usize>,
    sent: u64,
    received: u64,
    window: u32,
    packets: u64,
    bytes: u64,
    errors: Vec<(&'static str, u64)>,
}

impl SaRow {
    fn of(router: &Router, (index, sa): (u32, &Sa)) -> Self {
        let (c, ipsec) = (&sa.config, router.own::<Ipsec>());
        let flags = [
            (c.has_esn, "esn"),
            (c.has_anti_replay, "anti-replay"),
            (c.tunnel.is_some(), "tunnel"),
            (c.udp.is_some(), "udp-encap"),
            (c.is_inbound, "inbound"),
            (c.is_async, "async"),
        ];
        let volume = ipsec.counters.sum(index as usize);
        let errors = ERRORS.into_iter().zip(&ipsec.errors.0);
        let counted = errors.map(|(name, rows)| (name, rows.sum(index as usize)));
        Self {
            index,
            id: c.id,
            spi: c.spi,
            protocol: if c.protocol == Protocol::AH { "ah" } else { "esp" },
            flags: flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect(),
            crypto: CIPHERS.get(c.cipher as usize).map_or("unknown", |c| c.sa_name),
            integrity: MACS.get(c.mac as usize).map_or("unknown", |m| m.name),
            tunnel: c.tunnel.map(|t| format!("{} -> {}", t.src, t.dst)),
            selectors: c.selectors.as_ref().map(|all| all.ends().map(texts)),
            udp: c.udp,
            thread: sa.state.owner.thread(),
            sent: sa.state.sent.last(),
            received: sa.state.received.newest(),
            window: c.window,
            packets: volume.packets,
            bytes: volume.bytes,
            errors: counted.filter(|(_, n)| *n > 0).collect(),
        }
    }
}

fn texts(all: &[Selector]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn write_sa_rows(rows: &[SaRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for r in rows {
        let flags = r.flags.join(" ");
        let SaRow { index, id, spi, protocol, .. } = r;
        write!(f, "[{index}] sa {id} (0x{id:x}) spi {spi} (0x{spi:08x}) ")?;
        writeln!(f, "protocol:{protocol} flags:[{flags}]")?;
        let thread = r.thread.map_or_else(|| "none".to_owned(), |thread| thread.to_string());
        writeln!(f, "   thread:{thread} crypto alg {} integrity alg {}", r.crypto, r.integrity)?;
        writeln!(f, "   seq {} last-seq {} window-size {}", r.sent, r.received, r.window)?;
        if let Some(tunnel) = &r.tunnel {
            writeln!(f, "   tunnel {tunnel}")?;
        }
        let ends = ["local", "remote"].into_iter().zip(r.selectors.iter().flatten());
        for (end, all) in ends {
            all.iter().try_for_each(|one| writeln!(f, "   {end} traffic selector {one}"))?;
        }
        if let Some((src, dst)) = r.udp {
            writeln!(f, "   UDP:[src:{src} dst:{dst}]")?;
        }
        writeln!(f, "   packets {} bytes {}", r.packets, r.bytes)?;
        for (name, n) in &r.errors {
            writeln!(f, "   {name}: {n}")?;
        }
    }
    Ok(())
}

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
    ports: String,
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
            let [local, remote] = ports.map(|r| format!("{} - {}", r.start(), r.end()));
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
                protocol: p.protocol.map_or_else(|| "any".to_owned(), |p| p.0.to_string()),
                local: format!("{} - {}", p.local.start(), p.local.end()),
                remote: format!("{} - {}", p.remote.start(), p.remote.end()),
                ports: format!("{local} {remote}"),
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

fn write_spd_rows(rows: &[SpdRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for spd in rows {
        writeln!(f, "spd {}", spd.id)?;
        for p in &spd.policies {
            let PolicyRow { index, direction, family, priority, action, protocol, .. } = p;
            writeln!(
                f,
                " {family}-{direction}: [{index}] priority {priority} action {action} \
                 protocol {protocol}"
            )?;
            writeln!(f, "     local addr range {} remote addr range {}", p.local, p.remote)?;
            writeln!(f, "     port ranges {} packets {} bytes {}", p.ports, p.packets, p.bytes)?;
        }
        writeln!(f, " interfaces: {}", spd.interfaces.join(" "))?;
    }
    Ok(())
}

fn sa_rows(router: &Router, index: Option<u32>) -> Vec<SaRow> {
    let chosen = sa::all(router).filter(|(at, _)| index.is_none_or(|index| index == *at));
    chosen.map(|row| SaRow::of(router, row)).collect()
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
}

fn write_protect_rows(rows: &[ProtectRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for r in rows {
        writeln!(f, "{} next-hop {}", r.interface, r.next_hop)?;
        writeln!(f, " output-sa: {}", r.output_sa)?;
        let all: Vec<_> = r.input_sa.iter().map(u32::to_string).collect();
        writeln!(f, " input-sa: {}", all.join(" "))?;
    }
    Ok(())
}

fn protect_rows(router: &Router) -> Vec<ProtectRow> {
    let id = |index: &u32| protect::id_of(router, *index);
    let row = |t: &protect::Protected| ProtectRow {
        interface: router.interfaces.name(t.interface.0).to_string(),
        next_hop: t.next_hop,
        output_sa: id(&t.sa_out),
        input_sa: t.sa_in.iter().map(id).collect(),
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
    let mut rows = rows.iter();
    rows.try_for_each(|r| {
        let KeyRow { remote, spi, sa } = r;
        writeln!(f, " {remote} spi {spi} (0x{spi:08x}) sa {sa}")
    })
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
        mode: if itf.is_multipoint { "p2mp" } else { "p2p" },
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
        Ok(Output::rows(sa_rows(router, c.index), write_sa_rows))
    });
    cli.command(|router: &mut Router, c: ShowSpd| match c.bindings {
        true => {
            let mut rows = spd_rows(router, c.id);
            rows.iter_mut().for_each(|spd| spd.policies.clear());
            Ok(Output::rows(rows, write_spd_rows))
        }
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
        let mut all = Output::rows(sa_rows(router, None), write_sa_rows);
        all.append(spds(router, None));
        all.append(Output::rows(protect_rows(router), write_protect_rows));
        all.append(Output::rows(itf_rows(router), write_itf_rows));
        Ok(all)
    });
    cli.command(|router: &mut Router, c: ClearSa| clear(router, c.index, false));
    cli.command(|router: &mut Router, _: ClearCounters| clear(router, None, true));
}
