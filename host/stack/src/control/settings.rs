//! Settings of the layer and its transports: the stanzas `session` and `tcp`, and changes by
//! commands.

use control::cli::Args;
use control::config::Size;
use control::feature::Refused;
use net::{Parts, Router, refuse};

use super::Control;
use super::published::Backend;

/// Congestion control algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, control::cli::Words)]
pub enum Algorithm {
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// NewReno (RFC 6582).
    Newreno,
}

/// Settings of TCP. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Congestion control of new connections.
    pub algorithm: Algorithm,
    /// Layer 3 MTU in bytes.
    pub mtu: u32,
    /// Largest receive FIFO in bytes.
    pub max_rx_fifo: u64,
    /// Initial congestion window as a multiple of the default; 0 for the default.
    pub initial_cwnd_multiplier: u32,
    /// Largest GSO segment in bytes.
    pub max_gso_size: u32,
    /// Whether large segments are passed on and segmented by lower layers.
    pub has_tso: bool,
    /// Whether duplicate segments are reported (D-SACK, RFC 2883).
    pub has_dsack: bool,
    /// Timeout in SYN-RECEIVED.
    pub syn_rcvd_time: u32,
    /// Timeout in FIN-WAIT-1 without an acknowledgment.
    pub finwait1_time: u32,
    /// Timeout in FIN-WAIT-2 after the application has closed.
    pub finwait2_time: u32,
    /// Timeout in CLOSING.
    pub closing_time: u32,
    /// Timeout in LAST-ACK.
    pub lastack_time: u32,
    /// Duration of TIME-WAIT.
    pub timewait_time: u32,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Cubic,
            mtu: 1500,
            max_rx_fifo: 32 << 20,
            initial_cwnd_multiplier: 0,
            max_gso_size: 65_536,
            has_tso: true,
            has_dsack: true,
            syn_rcvd_time: 60,
            finwait1_time: 60,
            finwait2_time: 30,
            closing_time: 30,
            lastack_time: 30,
            timewait_time: 60,
        }
    }
}

/// All settings used by the data plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// TCP settings.
    pub tcp: Tcp,
    /// Range of local ports for outgoing connections, inclusive.
    pub ports: (u16, u16),
}

impl Default for Settings {
    fn default() -> Self {
        Self { tcp: Tcp::default(), ports: PORTS }
    }
}

/// Allowed MTUs: from the minimum of IPv4 hosts (RFC 791) to the longest IP packet.
const MTUS: std::ops::RangeInclusive<u32> = 576..=65_535;
/// Default range of local ports for outgoing connections: all but system ports (RFC 6335).
const PORTS: (u16, u16) = (1024, u16::MAX);
/// Largest multiple of the default initial window.
const MOST_MULTIPLIER: u32 = 100;

/// The current settings.
pub fn current(router: &Router) -> &Settings {
    router.own::<Control>().settings.current()
}

/// Changes settings, for new connections.
///
/// # Errors
/// The reason, as text; nothing has changed then.
pub fn change(router: &mut Router, change: impl FnOnce(&mut Settings)) -> Result<(), String> {
    let mut new = current(router).clone();
    change(&mut new);
    new.check()?;
    router.own_mut::<Control>().settings.publish(new);
    crate::data::follow_settings(router);
    Ok(())
}

impl Settings {
    fn check(&self) -> Result<(), String> {
        if !MTUS.contains(&self.tcp.mtu) {
            return Err(format!("mtu must be 576 to 65535, not {}", self.tcp.mtu));
        }
        if self.tcp.initial_cwnd_multiplier > MOST_MULTIPLIER {
            return Err(format!("initial-cwnd-multiplier must be at most {MOST_MULTIPLIER}"));
        }
        if !(1024..=1 << 30).contains(&self.tcp.max_rx_fifo) {
            return Err("max-rx-fifo must be 1K to 1G".to_owned());
        }
        if !(1500..=65_536).contains(&self.tcp.max_gso_size) {
            return Err("max-gso-size must be 1500 to 65536".to_owned());
        }
        if self.ports.0 == 0 || self.ports.0 > self.ports.1 {
            let (first, last) = self.ports;
            return Err(format!("min-src-port must be 1 to max-src-port: {first} to {last}"));
        }
        Ok(())
    }
}

/// Settings of the startup configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Startup {
    /// The backend with which the layer is enabled, if it is.
    pub backend: Option<Backend>,
    /// Whether app sockets are enabled.
    pub has_app_sockets: bool,
    /// Other settings.
    pub settings: Settings,
}

impl Startup {
    /// Parses the stanzas.
    ///
    /// # Errors
    /// An unknown word, or an invalid value.
    pub fn read(parts: &Parts<'_>) -> Result<Self, Refused> {
        let mut all = Self::default();
        for stanza in &parts.router.stanzas {
            let read = match stanza.word.as_str() {
                "session" => Self::session,
                "tcp" => Self::tcp,
                _ => continue,
            };
            let mut args = stanza.args();
            while !args.is_empty() {
                let is_known = read(&mut all, &mut args);
                let fail = |why: String| {
                    refuse(format_args!("{}: {why} (line {})", stanza.word, stanza.line))
                };
                if !is_known.map_err(|e| fail(e.to_string()))? {
                    return Err(fail(args.unknown().to_string()));
                }
            }
        }
        all.settings.check().map_err(refuse)?;
        Ok(all)
    }

    fn session(&mut self, args: &mut Args<'_>) -> Result<bool, control::cli::Error> {
        if args.keyword("enable rt-backend sdl") {
            self.backend = Some(Backend::Sdl);
        } else if args.keyword("enable rt-backend rule-table") || args.keyword("enable") {
            self.backend = Some(Backend::RuleTable);
        } else if args.keyword("use-app-socket-api") {
            self.has_app_sockets = true;
        } else if args.keyword("min-src-port") {
            self.settings.ports.0 = args.value("port")?;
        } else if args.keyword("max-src-port") {
            self.settings.ports.1 = args.value("port")?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn tcp(&mut self, args: &mut Args<'_>) -> Result<bool, control::cli::Error> {
        let tcp = &mut self.settings.tcp;
        if args.keyword("cc-algo") {
            tcp.algorithm = args.value("algorithm")?;
        } else if args.keyword("mtu") {
            tcp.mtu = args.value("mtu")?;
        } else if args.keyword("max-rx-fifo") {
            tcp.max_rx_fifo = args.value::<Size>("size")?.0;
        } else if args.keyword("initial-cwnd-multiplier") {
            tcp.initial_cwnd_multiplier = args.value("multiplier")?;
        } else if args.keyword("max-gso-size") {
            tcp.max_gso_size = args.value("size")?;
        } else if args.keyword("tso") {
            tcp.has_tso = true;
        } else if args.keyword("no-dsack") {
            tcp.has_dsack = false;
        } else {
            return self.times(args);
        }
        Ok(true)
    }

    fn times(&mut self, args: &mut Args<'_>) -> Result<bool, control::cli::Error> {
        let tcp = &mut self.settings.tcp;
        let times = [
            ("syn-rcvd-time", &mut tcp.syn_rcvd_time),
            ("finwait1-time", &mut tcp.finwait1_time),
            ("finwait2-time", &mut tcp.finwait2_time),
            ("closing-time", &mut tcp.closing_time),
            ("lastack-time", &mut tcp.lastack_time),
            ("timewait-time", &mut tcp.timewait_time),
        ];
        for (word, time) in times {
            if args.keyword(word) {
                *time = args.value("seconds")?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
