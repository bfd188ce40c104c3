//! Properties of a session as they are listed.

use net::prelude::*;
use wire::bfd::State;

use super::Session;

/// A state in words.
pub(super) fn state(state: State) -> &'static str {
    match state {
        State::AdminDown => "AdminDown",
        State::Down => "Down",
        State::Init => "Init",
        State::Up => "Up",
    }
}

/// A session as it is listed.
#[derive(Serialize)]
pub(super) struct Row {
    index: u32,
    /// `None` over several hops.
    interface: Option<String>,
    local: String,
    peer: String,
    state: &'static str,
    remote_state: &'static str,
    diagnostic: u8,
    remote_diagnostic: u8,
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
    /// Seconds since the last packets were received and sent.
    #[serde(skip)]
    ago: [Option<f64>; 2],
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
    pub fn of(router: &Router, s: &Session) -> Self {
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
            remote_diagnostic: remote.diagnostic,
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
            ago: machine.last().map(|last| last.map(|last| router.now() - last)),
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

/// Texts of diagnostic codes (RFC 5880 section 4.1).
const DIAGNOSTICS: [&str; 9] = [
    "No Diagnostic",
    "Control Detection Time Expired",
    "Echo Function Failed",
    "Neighbor Signaled Session Down",
    "Forwarding Plane Reset",
    "Path Down",
    "Concatenated Path Down",
    "Administratively Down",
    "Reverse Concatenated Path Down",
];

impl Row {
    /// Property, this end's value and that of the other end.
    fn lines(&self) -> Vec<(&'static str, String, String)> {
        let said = |code: u8| DIAGNOSTICS.get(usize::from(code)).copied().unwrap_or("Unknown");
        let yes = |is_so: bool| if is_so { "yes" } else { "no" };
        let none = String::new;
        let remote_tx = self.remote_desired_min_tx_us;
        let us = |seconds: f64| ((seconds * 1e6).round() as u64).to_string();
        let poll = if self.is_polling { "BFD_POLL_IN_PROGRESS" } else { "BFD_POLL_NOT_NEEDED" };
        let mut lines = vec![
            ("Session state", self.state.to_owned(), self.remote_state.to_owned()),
            (
                "Diagnostic code",
                said(self.diagnostic).to_owned(),
                said(self.remote_diagnostic).to_owned(),
            ),
            (
                "Detect multiplier",
                self.detect_mult.to_string(),
                self.remote_detect_mult.to_string(),
            ),
            ("Detection Time (usec)", us(self.detection_time), none()),
            (
                "Required Min Rx Interval (usec)",
                self.required_min_rx_us.to_string(),
                self.remote_required_min_rx_us.to_string(),
            ),
            (
                "Desired Min Tx Interval (usec)",
                self.desired_min_tx_us.to_string(),
                remote_tx.to_string(),
            ),
            ("Transmit interval", us(self.tx_interval), none()),
        ];
        let frames = ["Last control frame rx", "Last control frame tx"].into_iter().zip(self.ago);
        let frames = frames.filter_map(|(name, ago)| Some((name, format!("{:.2}s ago", ago?))));
        lines.extend(frames.map(|(name, ago)| (name, ago, none())));
        let echo = self.remote_required_min_echo_rx_us.to_string();
        lines.push(("Min Echo Rx Interval (usec)", "1".to_owned(), echo));
        if let Some(interval) = self.echo_interval {
            lines.push(("Echo transmit interval", us(interval), none()));
        }
        let demand = [false, self.remote_is_demanding].map(|is_so| yes(is_so).to_owned());
        let [ours, theirs] = demand;
        lines.extend([("Demand mode", ours, theirs), ("Poll state", poll.to_owned(), none())]);
        if let (Some(conf), Some(id)) = (self.conf_key_id, self.bfd_key_id) {
            let delayed = if self.is_authentication_delayed { "(delayed) " } else { "" };
            lines.extend([
                ("Authentication config key ID", format!("{delayed}{conf}"), none()),
                ("Authentication BFD key ID", id.to_string(), none()),
                ("Out of order", self.out_of_order.to_string(), none()),
            ]);
        }
        lines
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |index: &str, what: &str, ours: &str, theirs: &str| {
            let line = format!("{} {what:<32} {ours:>20} {theirs:>20}", centred(index, 10));
            writeln!(f, "{}", line.trim_end())
        };
        let hops = if self.interface.is_some() { "SINGLE" } else { "MULTI" };
        line("", "Hop Type", &format!("BFD_HOP_TYPE_{hops}"), "")?;
        let family = if self.local.contains(':') { "IPv6 address" } else { "IPv4 address" };
        line(&self.index.to_string(), family, &self.local, &self.peer)?;
        self.lines().iter().try_for_each(|(what, ours, theirs)| line("", what, ours, theirs))
    }
}
