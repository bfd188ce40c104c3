//! What the operator says about advertising (RFC 4861 section 6.2.1), and its bounds.

use std::fmt;

use wire::Ip6Prefix;

use super::advertiser::{Advertiser, Prefix};
use super::process;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Most prefixes that an interface advertises: they fit into the least MTU.
pub const MAX_PREFIXES: usize = 32;
/// Seconds for which a prefix is valid that is given without lifetimes: 30 days.
pub const DEFAULT_VALID: u32 = 2_592_000;
/// Seconds for which its addresses are preferred: 7 days.
pub const DEFAULT_PREFERRED: u32 = 604_800;

/// How an interface advertises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Whether it does.
    pub sends: bool,
    /// Whether it tells everybody that it no longer is a router.
    pub ceases: bool,
    /// Addresses come from DHCPv6.
    pub managed: bool,
    /// Other configuration comes from DHCPv6.
    pub other: bool,
    /// Whether its address of layer 2 is told.
    pub tells_mac: bool,
    /// Whether solicitations are answered to who asked only.
    pub unicast: bool,
    /// Most seconds between two advertisements.
    pub max_interval: f64,
    /// Least seconds between two advertisements.
    pub min_interval: f64,
    /// Seconds for which it is a default router; 0: it is none.
    pub lifetime: u16,
    /// First advertisements, which follow each other faster.
    pub initial_count: u32,
    /// Most seconds between these.
    pub initial_interval: f64,
    /// Hop limit for hosts to use.
    pub hop_limit: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sends: false,
            ceases: false,
            managed: false,
            other: false,
            tells_mac: true,
            unicast: false,
            max_interval: 200.0,
            min_interval: 150.0,
            lifetime: 600,
            initial_count: 3,
            initial_interval: 16.0,
            hop_limit: 64,
        }
    }
}

/// What is to be changed: flags that are named are set, or with `is_no` cleared; values that are
/// named are set, or with `is_no` go back to what they were at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The other way round.
    pub is_no: bool,
    /// Does not advertise.
    pub suppress: bool,
    /// [`Config::managed`].
    pub managed: bool,
    /// [`Config::other`].
    pub other: bool,
    /// Does not tell its address of layer 2.
    pub suppress_mac: bool,
    /// [`Config::unicast`].
    pub unicast: bool,
    /// [`Config::ceases`].
    pub ceases: bool,
    /// [`Config::lifetime`].
    pub lifetime: Option<u32>,
    /// [`Config::initial_count`] and [`Config::initial_interval`].
    pub initial: Option<(u32, u32)>,
    /// [`Config::max_interval`], and [`Config::min_interval`] where it is not three quarters.
    pub interval: Option<(u32, Option<u32>)>,
}

/// A prefix that is to be advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixChange {
    /// The prefix.
    pub prefix: Ip6Prefix,
    /// With the lifetimes and flags that a prefix has when nothing else is said.
    pub is_default: bool,
    /// [`Prefix::is_silent`].
    pub no_advertise: bool,
    /// Neither on the link nor a route of ours.
    pub off_link: bool,
    /// Hosts may not make addresses of it.
    pub no_autoconfig: bool,
    /// Not said to be on the link.
    pub no_onlink: bool,
    /// Seconds for which it is valid.
    pub valid: u32,
    /// Seconds for which its addresses are preferred.
    pub preferred: u32,
}

/// Why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such interface.
    NoInterface,
    /// IPv6 is not enabled on it, or it has no neighbours.
    NotEnabled,
    /// A value out of its bounds: which.
    Bounds(&'static str),
    /// The prefix is link-local, a group's, or none.
    Invalid,
    /// The prefix is not advertised.
    Unknown,
    /// There are as many prefixes as there may be.
    Full,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => f.write_str("no such interface"),
            Self::NotEnabled => f.write_str("IPv6 is not enabled on the interface"),
            Self::Bounds(which) => f.write_str(which),
            Self::Invalid => f.write_str("not a prefix that hosts can be told"),
            Self::Unknown => f.write_str("no such prefix"),
            Self::Full => write!(f, "no more than {MAX_PREFIXES} prefixes"),
        }
    }
}
impl std::error::Error for Refusal {}

impl Config {
    /// With these changes.
    ///
    /// # Errors
    /// [`Refusal::Bounds`].
    pub fn with(mut self, c: &Changes) -> Result<Self, Refusal> {
        let (first, on) = (Self::default(), !c.is_no);
        let set = |flag: &mut bool, is_named: bool, to: bool| {
            if is_named {
                *flag = to;
            }
        };
        set(&mut self.sends, c.suppress, !on);
        set(&mut self.managed, c.managed, on);
        set(&mut self.other, c.other, on);
        set(&mut self.tells_mac, c.suppress_mac, !on);
        set(&mut self.unicast, c.unicast, on);
        set(&mut self.ceases, c.ceases, on);
        if let Some((max, min)) = c.interval {
            (self.max_interval, self.min_interval) = match c.is_no {
                true => (first.max_interval, first.min_interval),
                false => intervals(max, min)?,
            };
        }
        if let Some((count, interval)) = c.initial {
            (self.initial_count, self.initial_interval) = match c.is_no {
                true => (first.initial_count, first.initial_interval),
                false => initial(count, interval)?,
            };
        }
        if let Some(lifetime) = c.lifetime {
            self.lifetime = if c.is_no { first.lifetime } else { self.lifetime_of(lifetime)? };
        }
        Ok(self)
    }
    fn lifetime_of(&self, seconds: u32) -> Result<u16, Refusal> {
        let is_good = seconds == 0 || f64::from(seconds) >= self.max_interval && seconds <= 9000;
        let bad = Refusal::Bounds("lifetime is 0, or from the longest interval to 9000 seconds");
        if is_good { Ok(seconds as u16) } else { Err(bad) }
    }
}

fn intervals(max: u32, min: Option<u32>) -> Result<(f64, f64), Refusal> {
    if !(4..=1800).contains(&max) {
        return Err(Refusal::Bounds("longest interval is 4 to 1800 seconds"));
    }
    let max = f64::from(max);
    let min = min.map_or_else(|| (max * 0.75).max(3.0), f64::from);
    if min < 3.0 || min > (max * 0.75).max(3.0) {
        return Err(Refusal::Bounds("shortest interval is 3 seconds to 3/4 of the longest"));
    }
    Ok((max, min))
}

fn initial(count: u32, interval: u32) -> Result<(u32, f64), Refusal> {
    match (count, interval) {
        (0..=3, 1..=16) => Ok((count, interval.into())),
        _ => Err(Refusal::Bounds("up to 3 first advertisements, 1 to 16 seconds apart")),
    }
}

impl Router {
    /// Changes how an interface advertises; it starts anew.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn configure_ra(
        &mut self,
        interface: InterfaceIndex,
        changes: &Changes,
    ) -> Result<(), Refusal> {
        let advertiser = self.advertiser_mut(interface)?;
        advertiser.config = advertiser.config.with(changes)?;
        self.restart_ra(interface);
        Ok(())
    }
    /// Advertises a prefix, or the one that is advertised in another way.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn set_ra_prefix(
        &mut self,
        interface: InterfaceIndex,
        c: &PrefixChange,
    ) -> Result<(), Refusal> {
        let addr = c.prefix.addr();
        if addr.is_multicast() || addr.is_unicast_link_local() || c.prefix.prefix_len() == 0 {
            return Err(Refusal::Invalid);
        }
        if !c.is_default && c.preferred > c.valid {
            return Err(Refusal::Bounds("a prefix is preferred no longer than it is valid"));
        }
        let new = Prefix {
            prefix: c.prefix,
            on_link: c.is_default || !(c.off_link || c.no_onlink),
            autonomous: c.is_default || !c.no_autoconfig,
            valid: if c.is_default { DEFAULT_VALID } else { c.valid },
            preferred: if c.is_default { DEFAULT_PREFERRED } else { c.preferred },
            is_silent: !c.is_default && c.no_advertise,
        };
        let all = &mut self.advertiser_mut(interface)?.prefixes;
        match all.iter().position(|p| p.prefix == c.prefix) {
            Some(at) => all[at] = new,
            None if all.len() == MAX_PREFIXES => return Err(Refusal::Full),
            None => all.push(new),
        }
        self.restart_ra(interface);
        Ok(())
    }
    /// No longer advertises a prefix.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn remove_ra_prefix(
        &mut self,
        interface: InterfaceIndex,
        prefix: Ip6Prefix,
    ) -> Result<(), Refusal> {
        let all = &mut self.advertiser_mut(interface)?.prefixes;
        let at = all.iter().position(|p| p.prefix == prefix).ok_or(Refusal::Unknown)?;
        all.remove(at);
        self.restart_ra(interface);
        Ok(())
    }
    fn restart_ra(&mut self, interface: InterfaceIndex) {
        let now = self.now();
        self.advertiser_mut(interface).expect("it was there just now").restart(now);
        publish(self);
        process::send_due(self);
        process::wake(self);
    }
    fn advertiser_mut(&mut self, interface: InterfaceIndex) -> Result<&mut Advertiser, Refusal> {
        self.interfaces.at(interface).ok_or(Refusal::NoInterface)?;
        self.routers_mut().advertisers.get_mut(&interface).ok_or(Refusal::NotEnabled)
    }
}

/// Lets the node know which interfaces answer.
pub(super) fn publish(router: &mut Router) {
    let routers = router.routers_mut();
    let most = routers.advertisers.keys().last().map_or(0, |i| i.0 as usize + 1);
    let mut answers = vec![false; most];
    for (interface, advertiser) in &routers.advertisers {
        answers[interface.0 as usize] = advertiser.config.sends && !advertiser.config.ceases;
    }
    if routers.answers.current() != &answers {
        routers.answers.publish(answers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_bounds() {
        let refused = |c: Changes| Config::default().with(&c).is_err();
        for (interval, is_bad) in [
            ((3, None), true),
            ((4, None), false),
            ((1801, None), true),
            ((200, Some(2)), true),
            ((200, Some(151)), true),
            ((200, Some(150)), false),
        ] {
            let c = Changes { interval: Some(interval), ..Changes::default() };
            assert_eq!(refused(c), is_bad, "{interval:?}");
        }
        for (lifetime, is_bad) in [(0, false), (199, true), (200, false), (9001, true)] {
            let c = Changes { lifetime: Some(lifetime), ..Changes::default() };
            assert_eq!(refused(c), is_bad, "{lifetime}");
        }
        for (initial, is_bad) in [((3, 16), false), ((4, 16), true), ((1, 0), true)] {
            let c = Changes { initial: Some(initial), ..Changes::default() };
            assert_eq!(refused(c), is_bad, "{initial:?}");
        }
    }

    #[test]
    fn no_takes_back() {
        let all = Changes {
            suppress: true,
            managed: true,
            other: true,
            suppress_mac: true,
            unicast: true,
            ceases: true,
            lifetime: Some(1000),
            initial: Some((1, 4)),
            interval: Some((10, None)),
            ..Changes::default()
        };
        let changed = Config::default().with(&all).unwrap();
        assert_eq!((changed.managed, changed.tells_mac, changed.min_interval), (true, false, 7.5));
        let back = changed.with(&Changes { is_no: true, ..all }).unwrap();
        assert_eq!(back, Config { sends: true, ..Config::default() });
    }
}
