//! The configuration of an advertiser (RFC 4861 section 6.2.1), and its bounds.

use net::prelude::*;

use super::advertiser::{Advertiser, Learned, Prefix};
use super::{Routers, process};

/// Most prefixes that an interface advertises: they fit into the least MTU.
pub const MAX_PREFIXES: usize = 32;
/// Seconds for which a prefix is valid that is given without lifetimes: 30 days.
pub const DEFAULT_VALID: u32 = 2_592_000;
/// Seconds for which its addresses are preferred: 7 days.
pub const DEFAULT_PREFERRED: u32 = 604_800;

/// The advertisements of an interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Whether it does.
    pub sends: bool,
    /// Whether it announces that it no longer is a router.
    pub ceases: bool,
    /// Managed flag: addresses are available by DHCPv6.
    pub managed: bool,
    /// Other flag: other configuration is available by DHCPv6.
    pub other: bool,
    /// Whether its address of layer 2 is in advertisements.
    pub tells_mac: bool,
    /// Whether answers to solicitations are unicast.
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

/// Changes of a configuration: flags that are named are set, or with `is_no` cleared; values that
/// are named are set, or with `is_no` go back to their defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Clear instead of set.
    pub is_no: bool,
    /// Advertises, even if nothing else changes.
    pub starts: bool,
    /// Does not advertise.
    pub suppress: bool,
    /// [`Config::managed`].
    pub managed: bool,
    /// [`Config::other`].
    pub other: bool,
    /// Leaves its address of layer 2 out.
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

/// A prefix to advertise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixChange {
    /// Prefix.
    pub prefix: Ip6Prefix,
    /// Use the default lifetimes and flags.
    pub is_default: bool,
    /// [`Prefix::is_silent`].
    pub no_advertise: bool,
    /// Neither on the link nor a route of ours.
    pub off_link: bool,
    /// Clear the autonomous flag: no address autoconfiguration.
    pub no_autoconfig: bool,
    /// Clear the on-link flag.
    pub no_onlink: bool,
    /// Valid lifetime in seconds.
    pub valid: u32,
    /// Preferred lifetime in seconds.
    pub preferred: u32,
}

/// Reasons why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// IPv6 is not enabled on the interface
    #[retval(IP6_NOT_ENABLED)]
    NotEnabled,
    /// {0}
    #[retval(INVALID_VALUE)]
    Bounds(&'static str),
    /// not a valid prefix to advertise
    #[retval(INVALID_VALUE)]
    Invalid,
    /// no such prefix
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// at most {MAX_PREFIXES} prefixes
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

impl Changes {
    /// Whether an interface advertises after these changes: as in the original after all but that
    /// of the address of layer 2, also when they take something back.
    pub fn starts(&self) -> bool {
        let values = (self.lifetime, self.initial, self.interval) != (None, None, None);
        self.starts || self.managed || self.other || self.unicast || self.ceases || values
    }
}

impl Config {
    /// With these changes.
    ///
    /// # Errors
    /// [`Error::Bounds`].
    pub fn with(mut self, c: &Changes) -> Result<Self, Error> {
        let (first, on) = (Self::default(), !c.is_no);
        let set = |flag: &mut bool, is_named: bool, to: bool| {
            if is_named {
                *flag = to;
            }
        };
        set(&mut self.sends, c.starts(), true);
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
    fn lifetime_of(&self, seconds: u32) -> Result<u16, Error> {
        let is_good = seconds == 0 || f64::from(seconds) >= self.max_interval && seconds <= 9000;
        let bad = Error::Bounds("lifetime is 0, or from the longest interval to 9000 seconds");
        if is_good { Ok(seconds as u16) } else { Err(bad) }
    }
}

fn intervals(max: u32, min: Option<u32>) -> Result<(f64, f64), Error> {
    if !(4..=1800).contains(&max) {
        return Err(Error::Bounds("longest interval is 4 to 1800 seconds"));
    }
    let max = f64::from(max);
    let min = min.map_or_else(|| (max * 0.75).max(3.0), f64::from);
    if min < 3.0 || min > (max * 0.75).max(3.0) {
        return Err(Error::Bounds("shortest interval is 3 seconds to 3/4 of the longest"));
    }
    Ok((max, min))
}

fn initial(count: u32, interval: u32) -> Result<(u32, f64), Error> {
    match (count, interval) {
        (0..=3, 1..=16) => Ok((count, interval.into())),
        _ => Err(Error::Bounds("up to 3 first advertisements, 1 to 16 seconds apart")),
    }
}

/// Changes the advertisements of an interface; they restart.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn configure(
    router: &mut Router,
    interface: InterfaceIndex,
    changes: &Changes,
) -> Result<(), Error> {
    let advertiser = advertiser_mut(router, interface)?;
    advertiser.config = advertiser.config.with(changes)?;
    restart(router, interface);
    Ok(())
}

/// Advertises a prefix, or the one that is advertised in another way.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_prefix(
    router: &mut Router,
    interface: InterfaceIndex,
    c: &PrefixChange,
) -> Result<(), Error> {
    let addr = c.prefix.addr();
    if addr.is_multicast() || addr.is_unicast_link_local() || c.prefix.prefix_len() == 0 {
        return Err(Error::Invalid);
    }
    if !c.is_default && c.preferred > c.valid {
        return Err(Error::Bounds("a prefix is preferred no longer than it is valid"));
    }
    let new = Prefix {
        prefix: c.prefix,
        on_link: c.is_default || !(c.off_link || c.no_onlink),
        autonomous: c.is_default || !c.no_autoconfig,
        valid: if c.is_default { DEFAULT_VALID } else { c.valid },
        preferred: if c.is_default { DEFAULT_PREFERRED } else { c.preferred },
        is_silent: !c.is_default && c.no_advertise,
    };
    let all = &mut advertiser_mut(router, interface)?.prefixes;
    match all.iter().position(|p| p.prefix == c.prefix) {
        Some(at) => all[at] = new,
        None if all.len() == MAX_PREFIXES => return Err(Error::Full),
        None => all.push(new),
    }
    restart(router, interface);
    Ok(())
}

/// No longer advertises a prefix.
///
/// # Errors
/// [`Error`].
pub fn remove_prefix(
    router: &mut Router,
    interface: InterfaceIndex,
    prefix: Ip6Prefix,
) -> Result<(), Error> {
    let all = &mut advertiser_mut(router, interface)?.prefixes;
    let at = all.iter().position(|p| p.prefix == prefix).ok_or(Error::Unknown)?;
    all.remove(at);
    restart(router, interface);
    Ok(())
}

/// Seconds for which a prefix that went away early is still announced at most (RFC 7084 L-13).
const LATE: f64 = 7200.0;

/// Advertises a prefix until it ends, in addition to those that are set. Without advertisements on
/// the interface nothing happens.
pub fn learn(router: &mut Router, interface: InterfaceIndex, new: Learned) {
    let now = router.now();
    let Some(routers) = router.state_mut::<Routers>() else { return };
    let Some(advertiser) = routers.advertisers.get_mut(&interface) else { return };
    let all = &mut advertiser.learned;
    let before = all.iter().find(|p| p.prefix == new.prefix).copied();
    all.retain(|p| now < p.valid_until && p.prefix != new.prefix);
    all.truncate(MAX_PREFIXES - 1);
    // Those that are preferred go first, as far as there is room in a message.
    all.insert(0, new);
    // Hosts hear at once of what is new or ends earlier, and in time that others last longer.
    if before.is_none_or(|p| new.preferred_until < p.preferred_until) {
        restart(router, interface);
    }
}

/// Announces that a prefix is not to be used any more.
pub fn unlearn(router: &mut Router, interface: InterfaceIndex, prefix: Ip6Prefix) {
    let now = router.now();
    let Some(routers) = router.state_mut::<Routers>() else { return };
    let Some(advertiser) = routers.advertisers.get_mut(&interface) else { return };
    let Some(at) = advertiser.learned.iter().position(|p| p.prefix == prefix) else { return };
    let mut old = advertiser.learned.remove(at);
    (old.preferred_until, old.valid_until) = (now, old.valid_until.min(now + LATE));
    advertiser.learned.push(old);
    restart(router, interface);
}

fn restart(router: &mut Router, interface: InterfaceIndex) {
    let now = router.now();
    advertiser_mut(router, interface).expect("it was there just now").restart(now);
    publish(router);
    process::send_due(router);
    process::wake(router);
}

fn advertiser_mut(
    router: &mut Router,
    interface: InterfaceIndex,
) -> Result<&mut Advertiser, Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    router.own_mut::<Routers>().advertisers.get_mut(&interface).ok_or(Error::NotEnabled)
}

/// Publishes to the node which interfaces answer.
pub(super) fn publish(router: &mut Router) {
    let routers = router.own_mut::<Routers>();
    let most = routers.advertisers.keys().last().map_or(0, |i| i.0 as usize + 1);
    let mut answers = vec![false; most];
    for (interface, advertiser) in &routers.advertisers {
        answers[interface.0 as usize] = advertiser.config.sends && !advertiser.config.ceases;
    }
    if routers.answers.current() != &answers {
        routers.answers.publish(answers);
    }
}
