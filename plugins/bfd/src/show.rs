//! `show bfd`.

use net::prelude::*;
use wire::bfd::State;

use super::{AuthKey, EchoSource, Session};

/// A state in words.
pub(super) fn state(state: State) -> &'static str {
    match state {
        State::AdminDown => "AdminDown",
        State::Down => "Down",
        State::Init => "Init",
        State::Up => "Up",
    }
}

/// Parts of what is shown.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Keys.
    Keys,
    /// Sessions.
    Sessions,
    /// Where echo packets come from.
    EchoSource,
}

/// Show BFD sessions, keys or the echo source
#[derive(Command)]
#[command("show bfd")]
struct Show {
    /// only this part
    #[positional]
    #[words]
    part: Option<Part>,
}

#[derive(Serialize)]
struct KeyRow {
    conf_key_id: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    use_count: u32,
}

#[derive(Serialize)]
struct Row {
    index: u32,
    /// `None` over several hops.
    interface: Option<String>,
    local: String,
    peer: String,
    state: &'static str,
    remote_state: &'static str,
    diagnostic: u8,
    discriminator: u32,
    remote_discriminator: u32,
    detect_mult: u8,
    remote_detect_mult: u8,
    desired_min_tx_us: u32,
    required_min_rx_us: u32,
    remote_desired_min_tx_us: u32,
    remote_required_min_rx_us: u32,
    remote_required_min_echo_rx_us: u32,
    tx_interval: f64,
    detection_time: f64,
    echo_interval: Option<f64>,
    is_polling: bool,
    remote_is_demanding: bool,
    conf_key_id: Option<u32>,
    bfd_key_id: Option<u8>,
    /// Another kind of authentication waits for the other end.
    is_authentication_delayed: bool,
    out_of_order: u64,
    rx: u64,
    tx: u64,
    rx_echo: u64,
    tx_echo: u64,
}

impl Row {
    fn of(router: &Router, s: &Session) -> Self {
        let (machine, remote, by) = (&s.machine, &s.machine.remote, s.configured());
        let counters = &router.own::<super::Bfd>().counters;
        let packets = |rows: &infra::counter::Rows<infra::counter::VolumeCounter>| {
            rows.sum(s.index as usize).packets
        };
        Self {
            index: s.index,
            interface: s.key.interface.map(|i| router.interfaces.name(i.0).to_owned()),
            local: s.key.local.to_string(),
            peer: s.key.peer.to_string(),
            state: state(machine.state),
            remote_state: state(remote.state),
            diagnostic: machine.diagnostic,
            discriminator: machine.discriminator,
            remote_discriminator: remote.discriminator,
            detect_mult: machine.parameters.detect_mult,
            remote_detect_mult: remote.detect_mult,
            desired_min_tx_us: machine.parameters.desired_min_tx_us,
            required_min_rx_us: machine.parameters.required_min_rx_us,
            remote_desired_min_tx_us: remote.desired_min_tx_us,
            remote_required_min_rx_us: remote.required_min_rx_us,
            remote_required_min_echo_rx_us: remote.required_min_echo_rx_us,
            tx_interval: machine.tx_interval(),
            detection_time: machine.detection_time(),
            echo_interval: machine.echo_interval(),
            is_polling: machine.is_polling(),
            remote_is_demanding: remote.is_demanding,
            conf_key_id: by.map(|by| by.conf_key_id),
            bfd_key_id: by.map(|by| by.key_id),
            is_authentication_delayed: s.next.is_some(),
            out_of_order: s.replayed,
            rx: packets(&counters.rx),
            tx: packets(&counters.tx),
            rx_echo: packets(&counters.rx_echo),
            tx_echo: packets(&counters.tx_echo),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = self.interface.as_deref().unwrap_or("multihop");
        writeln!(f, "[{}] {on} local {} peer {}", self.index, self.local, self.peer)?;
        let line = |f: &mut fmt::Formatter<'_>, what: &str, ours: String, theirs: String| {
            writeln!(f, "    {what:<28} {ours:>14} {theirs:>14}")
        };
        line(f, "", "local".into(), "remote".into())?;
        line(f, "state", self.state.into(), self.remote_state.into())?;
        let discriminators = [self.discriminator, self.remote_discriminator];
        let [ours, theirs] = discriminators.map(|n| format!("{n:#x}"));
        line(f, "discriminator", ours, theirs)?;
        for (what, [ours, theirs]) in [
            ("detect multiplier", [self.detect_mult.into(), self.remote_detect_mult.into()]),
            ("desired min tx (us)", [self.desired_min_tx_us, self.remote_desired_min_tx_us]),
            ("required min rx (us)", [self.required_min_rx_us, self.remote_required_min_rx_us]),
            ("required min echo rx (us)", [1, self.remote_required_min_echo_rx_us]),
        ] {
            line(f, what, ours.to_string(), theirs.to_string())?;
        }
        let echo = self.echo_interval.map_or("off".into(), |s| format!("every {s:.6}s"));
        writeln!(
            f,
            "    sends every {:.6}s, down after {:.6}s, echo {echo}, diagnostic {}",
            self.tx_interval, self.detection_time, self.diagnostic
        )?;
        let words = [(self.is_polling, "polling"), (self.remote_is_demanding, "remote demand")];
        for (_, word) in words.into_iter().filter(|(is_on, _)| *is_on) {
            writeln!(f, "    {word}")?;
        }
        if let (Some(conf), Some(id)) = (self.conf_key_id, self.bfd_key_id) {
            let when = if self.is_authentication_delayed { ", delayed" } else { "" };
            let lost = self.out_of_order;
            writeln!(f, "    config key {conf} bfd key {id}{when}, {lost} out of order")?;
        }
        let Self { rx, tx, rx_echo, tx_echo, .. } = self;
        writeln!(f, "    packets rx {rx} tx {tx}, echoes rx {rx_echo} tx {tx_echo}")
    }
}

#[derive(Serialize)]
struct Source {
    interface: String,
    ip4: Option<String>,
    ip6: Option<String>,
}

#[derive(Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<Row>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    echo_source: Option<Option<Source>>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(keys) = &self.keys {
            writeln!(f, "{:<15} {:<25} {:>10}", "Config Key ID", "Type", "Use Count")?;
            for KeyRow { conf_key_id, kind, use_count } in keys {
                writeln!(f, "{conf_key_id:<15} {kind:<25} {use_count:>10}")?;
            }
        }
        if let Some(sessions) = &self.sessions {
            sessions.iter().try_for_each(|row| row.fmt(f))?;
            writeln!(f, "Number of configured BFD sessions: {}", sessions.len())?;
        }
        let Some(source) = &self.echo_source else { return Ok(()) };
        let Some(Source { interface, ip4, ip6 }) = source else {
            return writeln!(f, "UDP echo source is not set.");
        };
        let [ip4, ip6] = [ip4, ip6].map(|addr| addr.as_deref().unwrap_or("none"));
        writeln!(f, "UDP echo source is: {interface}")?;
        writeln!(f, "IPv4 address usable as echo source: {ip4}")?;
        writeln!(f, "IPv6 address usable as echo source: {ip6}")
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: Show| {
        let has = |part| show.part.is_none_or(|only| only == part);
        let key = |(conf_key_id, key): (u32, &AuthKey)| KeyRow {
            conf_key_id,
            kind: if key.secret.is_meticulous() { "meticulous-keyed-sha1" } else { "keyed-sha1" },
            use_count: key.use_count,
        };
        let source = |EchoSource { interface, ip4, ip6 }: EchoSource| Source {
            interface: router.interfaces.name(interface.0).to_owned(),
            ip4: ip4.map(|addr| addr.to_string()),
            ip6: ip6.map(|addr| addr.to_string()),
        };
        let sessions = || super::sessions(router).map(|s| Row::of(router, s)).collect();
        Ok(Output::of(Shown {
            keys: has(Part::Keys).then(|| super::keys(router).iter().map(key).collect()),
            sessions: has(Part::Sessions).then(sessions),
            echo_source: has(Part::EchoSource).then(|| super::echo_source(router).map(source)),
        }))
    });
}
