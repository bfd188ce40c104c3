//! Output of profiles and associations, without keys.

use net::prelude::*;

use super::Ikev2;
use super::codec::number::{auth, id};
use super::codec::{Id, Selector};
use super::crypto::suite::{EspSuite, Suite};
use super::crypto::{CIPHERS_BY_NAME, GROUPS_BY_NAME, MACS_BY_NAME, PRFS_BY_NAME, name_of};
use super::machine::{At, Child, Profile, Sa, State, on_wire};

/// An identity as text.
fn text_of(id: &Id) -> String {
    let kinds =
        [(id::IP4, "ip4-addr"), (id::FQDN, "fqdn"), (id::RFC822, "rfc822"), (id::IP6, "ip6-addr")];
    let kind = kinds.iter().find(|(kind, _)| *kind == id.kind).map(|(_, name)| *name);
    let wire = on_wire(id);
    let data = match (wire.kind, wire.data.len()) {
        (id::IP4, 4) | (id::IP6, 16) => address(&wire.data),
        _ => match std::str::from_utf8(&id.data) {
            Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
            _ => format!("0x{}", control::cli::hex(&id.data)),
        },
    };
    format!(
        "{} data {data}",
        kind.unwrap_or(if id.kind == id::DN { "der-asn1-dn" } else { "key-id" })
    )
}

fn address(bytes: &[u8]) -> String {
    let four = <[u8; 4]>::try_from(bytes).map(|b| std::net::IpAddr::from(b).to_string());
    let six = || <[u8; 16]>::try_from(bytes).map(|b| std::net::IpAddr::from(b).to_string());
    four.or_else(|_| six()).unwrap_or_default()
}

fn cipher(encr: u16, bits: u16) -> String {
    let name = name_of(CIPHERS_BY_NAME, encr);
    if bits > 0 { format!("{name}-{bits}") } else { name }
}

/// A profile, without its key.
#[derive(Serialize)]
pub(super) struct ProfileRow {
    name: String,
    lines: Vec<String>,
}

fn write_profiles(rows: &[ProfileRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        writeln!(f, "profile {}", row.name)?;
        row.lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
    })
}

fn profile(router: &Router, p: &Profile) -> ProfileRow {
    let mut lines = Vec::new();
    if let Some(auth) = &p.auth {
        lines.push(match auth.method {
            auth::SHARED_KEY => {
                format!("auth-method shared-key-mic auth data {}", control::HIDDEN)
            }
            _ => {
                let file = String::from_utf8_lossy(&auth.data.0);
                format!("auth-method rsa-sig auth data {file}")
            }
        });
    }
    lines.extend(p.local_id.iter().map(|id| format!("local id-type {}", text_of(id))));
    lines.extend(p.remote_id.iter().map(|id| format!("remote id-type {}", text_of(id))));
    lines.extend(p.local_ts.iter().map(|ts| format!("local traffic-selector {ts}")));
    lines.extend(p.remote_ts.iter().map(|ts| format!("remote traffic-selector {ts}")));
    if let Some(tunnel) = p.tunnel {
        lines.push(format!("protected tunnel {}", router.interfaces.name(tunnel)));
    }
    if let Some(responder) = &p.responder {
        let at = match &responder.at {
            At::Addr(addr) => addr.to_string(),
            At::Name(name) => name.clone(),
        };
        let interface = InterfaceIndex(responder.interface);
        lines.push(format!("responder {} {at}", router.interfaces.name(interface.0)));
    }
    if p.ike.encr > 0 {
        let (prf, dh) = (name_of(PRFS_BY_NAME, p.ike.prf), name_of(GROUPS_BY_NAME, p.ike.group));
        let integ = name_of(MACS_BY_NAME, p.ike.integ);
        let encr = cipher(p.ike.encr, p.ike.bits);
        lines
            .push(format!("ike-crypto-alg {encr} ike-integ-alg {integ} ike-prf {prf} ike-dh {dh}"));
    }
    if p.esp.encr > 0 {
        let integ = name_of(MACS_BY_NAME, p.esp.integ);
        let encr = cipher(p.esp.encr, p.esp.bits);
        lines.push(format!("esp-crypto-alg {encr} esp-integ-alg {integ}"));
    }
    let l = p.lifetime;
    lines.push(format!(
        "lifetime {} jitter {} handover {} maxdata {}",
        l.seconds, l.jitter, l.handover, l.most_bytes
    ));
    lines.extend(p.has_udp.then(|| "udp-encap".to_owned()));
    lines.extend(p.udp_port.map(|port| format!("ipsec-over-udp port {port}")));
    lines.extend(p.is_natt_off.then(|| "natt disabled".to_owned()));
    ProfileRow { name: p.name.clone(), lines }
}

pub(super) fn profiles(router: &Router) -> Output {
    let all = router.own::<Ikev2>().machine.profiles.values();
    Output::rows(all.map(|p| profile(router, p)), write_profiles)
}

#[derive(Serialize)]
struct ChildRow {
    index: u32,
    ispi: String,
    rspi: String,
    algorithms: String,
    uptime: f64,
    is_replaced: bool,
    local: Vec<String>,
    remote: Vec<String>,
}

#[derive(Serialize)]
struct SaRow {
    index: u32,
    profile: String,
    state: &'static str,
    initiator: String,
    responder: String,
    ispi: String,
    rspi: String,
    uptime: f64,
    algorithms: String,
    ids: [String; 2],
    has_translator: [bool; 2],
    children: Vec<ChildRow>,
    has_details: bool,
}

/// An association, or a peer that became silent.
#[derive(Serialize)]
#[serde(untagged)]
enum Row {
    Sa(Box<SaRow>),
    Silent { silent_peer: String, profile: String, tries: u32, next_in: f64 },
}

fn write_sas(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let sa = match row {
            Row::Sa(sa) => sa,
            Row::Silent { silent_peer, profile, tries, next_in } => {
                return writeln!(
                    f,
                    "profile {profile}: {silent_peer} is silent: {tries} attempts to reach it, the \
                     next in {next_in:.0}s"
                );
            }
        };
        write!(f, "iip {} ispi {} ", sa.initiator, sa.ispi)?;
        writeln!(f, "rip {} rspi {}", sa.responder, sa.rspi)?;
        if !sa.has_details {
            return Ok(());
        }
        writeln!(f, " profile {} state {} uptime {:.1}s", sa.profile, sa.state, sa.uptime)?;
        writeln!(f, " {}", sa.algorithms)?;
        writeln!(f, " identifier (i) id-type {}", sa.ids[0])?;
        writeln!(f, " identifier (r) id-type {}", sa.ids[1])?;
        if sa.has_translator.contains(&true) {
            let [here, there] = sa.has_translator;
            writeln!(f, " address translation: here {here}, at the peer {there}")?;
        }
        sa.children.iter().try_for_each(|child| {
            let note = if child.is_replaced { " (replaced)" } else { "" };
            writeln!(f, " child sa {}: uptime {:.1}s{note}", child.index, child.uptime)?;
            writeln!(f, "  {}", child.algorithms)?;
            writeln!(f, "  spi(i) {} spi(r) {}", child.ispi, child.rspi)?;
            child.local.iter().try_for_each(|ts| writeln!(f, "  traffic selectors (i): {ts}"))?;
            child.remote.iter().try_for_each(|ts| writeln!(f, "  traffic selectors (r): {ts}"))
        })
    })
}

fn ike_text(suite: &Suite) -> String {
    let integ =
        suite.integ.map_or(String::new(), |id| format!(" integ:{}", name_of(MACS_BY_NAME, id)));
    let (encr, prf) = (cipher(suite.encr.id, suite.encr.bits), name_of(PRFS_BY_NAME, suite.prf));
    format!("encr:{encr} prf:{prf}{integ} dh-group:{}", suite.group)
}

fn esp_text(suite: &EspSuite) -> String {
    let integ =
        suite.integ.map_or(String::new(), |id| format!(" integ:{}", name_of(MACS_BY_NAME, id)));
    let esn = if suite.has_esn { " esn" } else { "" };
    format!("encr:{}{integ}{esn}", cipher(suite.encr.id, suite.encr.bits))
}

fn child(now: f64, child: &Child) -> ChildRow {
    let texts = |all: &[Selector]| all.iter().map(ToString::to_string).collect();
    ChildRow {
        index: child.id,
        ispi: format!("{:08x}", child.spis().0),
        rspi: format!("{:08x}", child.spis().1),
        algorithms: esp_text(&child.suite),
        uptime: now - child.born,
        is_replaced: child.goes_at.is_some(),
        local: texts(&child.ts.0),
        remote: texts(&child.ts.1),
    }
}

fn sa(now: f64, sa: &Sa, has_details: bool) -> SaRow {
    let (local, remote) = (sa.ends.local.0.to_string(), sa.ends.remote.0.to_string());
    let (initiator, responder) = if sa.is_initiator { (local, remote) } else { (remote, local) };
    let id = |id: Option<&Id>| id.map(text_of).unwrap_or_default();
    SaRow {
        index: sa.index,
        profile: sa.profile.clone(),
        state: match sa.state {
            State::Init => "SA_INIT",
            State::Established => "AUTHENTICATED",
            State::Failed => "AUTH_FAILED",
            State::Replaced => "REKEYED",
            State::Closing | State::Dead => "DELETED",
        },
        initiator,
        responder,
        ispi: format!("{:016x}", sa.spis.0),
        rspi: format!("{:016x}", sa.spis.1),
        uptime: now - sa.born,
        algorithms: sa.suite.as_ref().map(ike_text).unwrap_or_default(),
        ids: [id(sa.ids.0.as_ref()), id(sa.ids.1.as_ref())],
        has_translator: [sa.nat.0, sa.nat.1],
        children: sa.children.iter().map(|one| child(now, one)).collect(),
        has_details,
    }
}

/// The associations and silent peers, or only the association with the given responder SPI, with
/// all its details.
pub(super) fn sas(router: &Router, wanted: Option<u64>, has_details: bool) -> Output {
    let now = router.now();
    let machine = &router.own::<Ikev2>().machine;
    let all = machine.sas().filter(|sa| wanted.is_none_or(|spi| sa.spis.1 == spi));
    let all = all.map(|one| Row::Sa(Box::new(sa(now, one, has_details || wanted.is_some()))));
    let silent = machine.silent().filter(|_| wanted.is_none()).map(|(profile, silent)| {
        let (silent_peer, profile) = (silent.peer.to_string(), profile.to_owned());
        let next_in = (silent.at - now).max(0.0);
        Row::Silent { silent_peer, profile, tries: silent.tries, next_in }
    });
    Output::rows(all.chain(silent), write_sas)
}
