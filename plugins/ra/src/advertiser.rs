//! The advertiser of an interface (RFC 4861 section 6.2.4, 6.2.6), and its messages (section 4.2).
//! Pure state; times are seconds on the router's clock.

use control::process::between;
use net::prelude::*;
use wire::nd::{self, LinkLayer, Mtu, PrefixInformation};

use super::config::{Config, MAX_PREFIXES};
use net::nd::{ALL_NODES, frame};

/// Least seconds between two answers to solicitations (section 10).
pub const MIN_DELAY_BETWEEN_RAS: f64 = 3.0;
/// Last advertisements of a router that ceases (section 10).
const FINAL_ADVERTISEMENTS: u32 = 3;

/// An advertised prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// The prefix as it was given, bits after its length too: who hears it ignores these.
    pub prefix: Ip6Prefix,
    /// Whether it is on the link.
    pub on_link: bool,
    /// Whether hosts may make addresses of it.
    pub autonomous: bool,
    /// Seconds for which it is valid; all ones: forever.
    pub valid: u32,
    /// Seconds for which its addresses are preferred; all ones: forever.
    pub preferred: u32,
    /// Whether it is left out of advertisements.
    pub is_silent: bool,
}

/// A prefix that another feature had advertised, with the times at which it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learned {
    /// The prefix.
    pub prefix: Ip6Prefix,
    /// When its addresses are no longer preferred.
    pub preferred_until: f64,
    /// When it is no longer valid.
    pub valid_until: f64,
}

impl Learned {
    fn at(&self, now: f64) -> Prefix {
        // All ones stand for no end.
        let left = |until: f64| (until - now).max(0.0) as u32;
        Prefix {
            prefix: self.prefix,
            on_link: true,
            autonomous: true,
            valid: left(self.valid_until),
            preferred: left(self.preferred_until),
            is_silent: false,
        }
    }
}

/// Messages that an interface sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Advertisements sent.
    pub sent: u32,
    /// Solicitations received.
    pub received: u32,
    /// Of these, not answered because there was an answer lately.
    pub dropped: u32,
}

/// Advertising on one interface.
#[derive(Clone, Debug)]
pub struct Advertiser {
    /// Configuration.
    pub config: Config,
    /// Advertised prefixes, in the order of their configuration.
    pub prefixes: Vec<Prefix>,
    /// Further prefixes, whose times run.
    pub learned: Vec<Learned>,
    /// Messages sent and received.
    pub tally: Tally,
    /// Time of the last multicast advertisement.
    pub last_multicast: Option<f64>,
    /// Time of the next multicast advertisement.
    pub next_multicast: f64,
    /// Time of the last answer since the configuration changed.
    pub last_answer: Option<f64>,
    /// Advertisements sent since the last start, up to those that follow each other faster.
    pub initial_sent: u32,
}

impl Advertiser {
    /// One that starts at `now`.
    pub fn new(now: f64) -> Self {
        Self {
            config: Config::default(),
            prefixes: Vec::new(),
            learned: Vec::new(),
            tally: Tally::default(),
            last_multicast: None,
            next_multicast: now,
            last_answer: None,
            initial_sent: 0,
        }
    }
    /// All prefixes, with the seconds that are left of those that were learned.
    pub fn all_prefixes(&self, now: f64) -> impl Iterator<Item = Prefix> {
        let is_set = |of: Ip6Prefix| self.prefixes.iter().any(|p| p.prefix.network() == of);
        let lasting = self.learned.iter().filter(move |p| now < p.valid_until && !is_set(p.prefix));
        self.prefixes.iter().copied().chain(lasting.map(move |p| p.at(now)))
    }
    /// Restarts: with an advertisement at once.
    pub fn restart(&mut self, now: f64) {
        (self.initial_sent, self.next_multicast, self.last_answer) = (0, now, None);
    }
    /// Whether it sends anything.
    pub fn is_active(&self) -> bool {
        let has_ceased = self.config.ceases && self.initial_sent >= FINAL_ADVERTISEMENTS;
        self.config.sends && !has_ceased
    }
    /// Whether a multicast advertisement is due; if so, it counts as sent.
    pub fn is_due(&mut self, now: f64) -> bool {
        if !self.is_active() || now < self.next_multicast {
            return false;
        }
        let Config { min_interval, max_interval, initial_count, initial_interval, .. } =
            self.config;
        self.initial_sent = self.initial_sent.saturating_add(1);
        let mut wait = between(min_interval, max_interval);
        let is_final = self.config.ceases && self.initial_sent < FINAL_ADVERTISEMENTS;
        if self.initial_sent < initial_count || is_final {
            wait = wait.min(initial_interval);
        }
        (self.last_multicast, self.next_multicast) = (Some(now), now + wait);
        self.tally.sent = self.tally.sent.wrapping_add(1);
        true
    }
    /// Whether a solicitation is answered now; if so, it counts as answered.
    pub fn answers(&mut self, now: f64) -> bool {
        self.tally.received = self.tally.received.wrapping_add(1);
        let is_early = |at: f64| now >= at && now - at < MIN_DELAY_BETWEEN_RAS;
        let answers = !self.last_answer.is_some_and(is_early);
        if answers {
            self.last_answer = Some(now);
            self.tally.sent = self.tally.sent.wrapping_add(1);
        } else {
            self.tally.dropped = self.tally.dropped.wrapping_add(1);
        }
        answers
    }
    /// The frame with the advertisement of a router at `mac` and `source`, multicast or to a host
    /// that solicited.
    pub fn frame(
        &self,
        now: f64,
        (mac, source): (MacAddr, Ipv6Addr),
        mtu: u32,
        to: Option<(MacAddr, Ipv6Addr)>,
    ) -> Vec<u8> {
        let c = &self.config;
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let head = nd::RouterAdvertisement {
            icmp: icmp6::Header::new(icmp6::Type::ROUTER_ADVERTISEMENT, 0),
            hop_limit: c.hop_limit,
            flags: flag(c.managed, nd::MANAGED) | flag(c.other, nd::OTHER_CONFIG),
            router_lifetime: if c.ceases { 0 } else { c.lifetime }.into(),
            reachable_time: 0.into(),
            retrans_timer: 0.into(),
        };
        let mut message = head.as_bytes().to_vec();
        if c.tells_mac {
            message.extend_from_slice(LinkLayer::source(mac).as_bytes());
        }
        message.extend_from_slice(Mtu::new(mtu).as_bytes());
        for p in self.all_prefixes(now).filter(|p| !p.is_silent).take(MAX_PREFIXES) {
            let flags = flag(p.on_link, nd::ON_LINK) | flag(p.autonomous, nd::AUTONOMOUS);
            let mut option = PrefixInformation::new(p.prefix, flags, p.valid, p.preferred);
            option.prefix = p.prefix.addr().octets();
            message.extend_from_slice(option.as_bytes());
        }
        let (to, dst) = to.unwrap_or((MacAddr::for_ip6_group(ALL_NODES), ALL_NODES));
        frame((mac, source), (to, dst), message)
    }
}
