//! `ip6-rs-process`: router solicitations (RFC 4861 section 6.3.7), repeated at growing intervals
//! (RFC 7559).

use control::process::between;
use net::nd::frame;
use net::neighbor;
use net::prelude::*;
use wire::nd::{self, LinkLayer};

use super::Routers;
use super::config::Error;

const NAME: &str = "ip6-rs-process";
/// All routers on the link (RFC 4291 section 2.7.1).
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// Number, intervals and duration of solicitations (RFC 3315 section 14). Zero: no bound; for the
/// first interval, one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// Seconds until the second one (IRT).
    pub first: u32,
    /// Most seconds between two (MRT).
    pub longest: u32,
    /// Most solicitations (MRC).
    pub count: u32,
    /// Most seconds in all (MRD).
    pub duration: u32,
}

/// Solicitations on an interface.
#[derive(Clone, Copy, Debug)]
pub struct Soliciting {
    retries: Retries,
    /// Time of the first one.
    since: f64,
    sent: u32,
    wait: f64,
    next: f64,
}

impl Soliciting {
    fn new(retries: Retries, now: f64) -> Self {
        let first = if retries.first == 0 { 1.0 } else { f64::from(retries.first) };
        Self { retries, since: now, sent: 0, wait: first * between(0.9, 1.1), next: now }
    }
    /// Whether one is due; if so, it counts as sent.
    fn is_due(&mut self, now: f64) -> bool {
        if now < self.next || self.is_over(now) {
            return false;
        }
        let longest = f64::from(self.retries.longest);
        self.sent += 1;
        self.next = now + self.wait;
        self.wait *= between(1.9, 2.1);
        if longest > 0.0 && self.wait > longest {
            self.wait = longest * between(0.9, 1.1);
        }
        true
    }
    fn is_over(&self, now: f64) -> bool {
        let Retries { count, duration, .. } = self.retries;
        let is_late = duration > 0 && now - self.since >= f64::from(duration);
        is_late || count > 0 && self.sent >= count
    }
}

/// Solicits routers on an interface, at once and then as `retries` says; `None` stops that.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::NotEnabled`].
pub fn solicit(
    router: &mut Router,
    interface: InterfaceIndex,
    retries: Option<Retries>,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    router.addresses.of(interface).link_local.ok_or(Error::NotEnabled)?;
    let now = router.now();
    let soliciting = &mut router.own_mut::<Routers>().soliciting;
    match retries {
        Some(retries) => drop(soliciting.insert(interface, Soliciting::new(retries, now))),
        None => drop(soliciting.remove(&interface)),
    }
    router.processes.signal(NAME, 0);
    Ok(())
}

pub(super) fn spawn(router: &mut Router) {
    let body = |router: &mut Router, _| {
        let now = router.now();
        let all = &mut router.own_mut::<Routers>().soliciting;
        let due = all.iter_mut().filter_map(|(i, s)| s.is_due(now).then_some(*i));
        let due: Vec<_> = due.collect();
        all.retain(|_, s| !s.is_over(now));
        let next = all.values().map(|s| s.next).min_by(f64::total_cmp);
        due.into_iter().for_each(|interface| send(router, interface));
        match next {
            Some(next) => Wake::AfterOrEvent(Duration::from_secs_f64((next - now).max(0.0))),
            None => Wake::OnEvent,
        }
    };
    router.processes.spawn(NAME, Box::new(body));
}

fn send(router: &mut Router, interface: InterfaceIndex) {
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    let Some(source) = router.addresses.of(interface).link_local else { return };
    let head = nd::RouterSolicitation {
        icmp: icmp6::Header::new(icmp6::Type::ROUTER_SOLICITATION, 0),
        reserved: 0.into(),
    };
    let message = [head.as_bytes(), LinkLayer::source(mac).as_bytes()].concat();
    let to = (MacAddr::for_ip6_group(ALL_ROUTERS), ALL_ROUTERS);
    neighbor::send(router, interface, frame((mac, source), to, message));
}
