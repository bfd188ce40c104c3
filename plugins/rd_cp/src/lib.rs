//! Addresses and default routes from what other routers advertise (RFC 4862 section 5.5, RFC 4861
//! section 6.3.4): for interfaces on which this router is a host.
#![forbid(unsafe_code)]

use net::address::AddressState;
use net::fib::{Path, Source};
use net::health::{Check, Findings, Severity};
use net::prelude::*;
use ra::{Advertised, Error, ReceivedPrefix, Retries};
use wire::nd;
use wire::prefix::IpPrefix;

const PROCESS: &str = "rd-cp-process";
/// Forever.
const INFINITE: u32 = u32::MAX;
/// The remaining lifetime of an address cannot be shortened below this many seconds (section 5.5.3
/// e).
const LEAST_LEFT: f64 = 7200.0;
/// Most addresses that are made on one interface.
const MOST_ADDRESSES: usize = 16;
/// Most default routers of one interface.
const MOST_ROUTERS: usize = 16;
/// Solicitations at growing intervals of up to two minutes, without end.
const RETRIES: Retries = Retries { first: 1, longest: 120, count: 0, duration: 0 };

/// Address autoconfiguration.
pub const FEATURE: Feature = Feature {
    name: "rd-cp",
    about: "IPv6 addresses and default routes from router advertisements",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ra"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Enable or disable IPv6 address autoconfiguration on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ip6 nd address autoconfig")]
#[stage(Attachments)]
struct Autoconfig {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// install default routes as well
    default_route: bool,
    /// delete autoconfigured addresses and routes
    disable: bool,
}

/// Enable or disable IPv6 address autoconfiguration on an interface, with default routes.
#[derive(Message)]
pub struct Ip6NdAddressAutoconfig {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub enable: bool,
    /// install default routes as well
    pub install_default_routes: bool,
}

/// An address that was made.
#[derive(Clone, Copy, Debug)]
struct AutoAddress {
    prefix: Ip6Prefix,
    /// End of its lifetime, in seconds on the router's clock.
    end: f64,
    /// Time at which others become better sources (section 5.5.4).
    deprecated: f64,
}

/// Addresses and routes learned on one interface.
#[derive(Clone, Debug, Default)]
struct Learned {
    /// Whether default routes are wanted.
    wants_routes: bool,
    /// Addresses made.
    addresses: Vec<AutoAddress>,
    /// Default routers, with the time they end at.
    routers: Vec<(Ipv6Addr, f64)>,
    /// Routers and prefixes for which there was no room.
    refused: u64,
}

/// Interfaces that configure themselves.
#[derive(Default)]
struct Clients(BTreeMap<InterfaceIndex, Learned>);

/// Makes addresses of an interface, and default routes where wanted, from advertisements of other
/// routers; `None` deletes what was made.
///
/// # Errors
/// [`Error::NoInterface`]; [`Error::NotEnabled`] when it is not on.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    wants_routes: Option<bool>,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let Some(wants_routes) = wants_routes else {
        let gone = clients(router).remove(&interface).ok_or(Error::NotEnabled)?;
        // It need not be looking any more.
        let _ = ra::solicit(router, interface, None);
        // An interface that goes has forgotten it.
        let _ = router.hold_ip(interface, IpVersion::V6, false);
        gone.addresses.iter().for_each(|made| remove_address(router, interface, made.prefix));
        gone.routers.iter().for_each(|(addr, _)| remove_route(router, interface, *addr));
        return Ok(());
    };
    if !clients(router).contains_key(&interface) {
        router.hold_ip(interface, IpVersion::V6, true).map_err(|_| Error::NotEnabled)?;
    }
    let learned = clients(router).entry(interface).or_default();
    learned.wants_routes = wants_routes;
    let unwanted = if wants_routes { Vec::new() } else { std::mem::take(&mut learned.routers) };
    unwanted.iter().for_each(|(addr, _)| remove_route(router, interface, *addr));
    ra::solicit(router, interface, Some(RETRIES))
}

/// The default routers of an interface.
pub fn routers(router: &Router, interface: InterfaceIndex) -> impl Iterator<Item = Ipv6Addr> {
    let learned = router.own::<Clients>().0.get(&interface);
    learned.into_iter().flat_map(|learned| &learned.routers).map(|(addr, _)| *addr)
}

/// The interfaces, not what they learned.
fn configuration(router: &Router, lines: &mut Lines<'_>) {
    // Where IPv6 was disabled since, nothing is heard.
    let has_ip6 = |i: &InterfaceIndex| router.addresses.of(*i).link_local.is_some();
    for (interface, learned) in router.own::<Clients>().0.iter().filter(|(i, _)| has_ip6(i)) {
        let (interface, default_route) = (*interface, learned.wants_routes);
        lines.push(&Autoconfig { interface, default_route, disable: false });
    }
}

fn clients(router: &mut Router) -> &mut BTreeMap<InterfaceIndex, Learned> {
    &mut router.own_mut::<Clients>().0
}

/// Takes note of an advertisement.
fn heard(router: &mut Router, what: &Advertised) {
    let interface = what.interface;
    if !clients(router).contains_key(&interface) {
        return;
    }
    // A router exists: no solicitation is necessary.
    let _ = ra::solicit(router, interface, None);
    follow_router(router, what);
    for prefix in what.prefixes().filter(|p| p.flags & nd::AUTONOMOUS != 0) {
        follow_prefix(router, interface, prefix);
    }
    router.processes.signal(PROCESS, 0);
}

fn follow_router(router: &mut Router, what: &Advertised) {
    let (now, lifetime) = (router.now(), f64::from(what.lifetime));
    let Some(learned) = clients(router).get_mut(&what.interface) else { return };
    let known = learned.routers.iter().position(|(r, _)| *r == what.router);
    match known {
        Some(at) if what.lifetime == 0 => {
            learned.routers.remove(at);
            remove_route(router, what.interface, what.router);
        }
        Some(at) => learned.routers[at].1 = now + lifetime,
        None if what.lifetime == 0 || !learned.wants_routes => (),
        // Those that are known stay: anybody on the link can make up more.
        None if learned.routers.len() >= MOST_ROUTERS => learned.refused += 1,
        None => {
            if add_route(router, what.interface, what.router)
                && let Some(learned) = clients(router).get_mut(&what.interface)
            {
                learned.routers.push((what.router, now + lifetime));
            }
        }
    }
}

fn follow_prefix(router: &mut Router, interface: InterfaceIndex, heard: &ReceivedPrefix) {
    // Link-local ones, impossible lifetimes and lengths that leave no room for our number are
    // ignored (section 5.5.3 b to d).
    let is_odd = heard.addr.is_unicast_link_local() || heard.addr.is_multicast();
    if is_odd || heard.len != 64 || heard.preferred > heard.valid {
        return;
    }
    let Some(own) = router.addresses.of(interface).link_local else { return };
    let bits = heard.addr.to_bits() >> 64 << 64 | own.to_bits() & u128::from(u64::MAX);
    let Ok(prefix) = Ip6Prefix::new(Ipv6Addr::from_bits(bits), 64) else { return };
    let now = router.now();
    let after =
        |seconds| if seconds == INFINITE { f64::INFINITY } else { now + f64::from(seconds) };
    let (end, deprecated) = (after(heard.valid), after(heard.preferred));
    let Some(learned) = clients(router).get_mut(&interface) else { return };
    let count = learned.addresses.len();
    if let Some(made) = learned.addresses.iter_mut().find(|made| made.prefix == prefix) {
        // An unauthenticated router cannot remove an address at once (section 5.5.3 e).
        let is_longer = end - now > LEAST_LEFT || end > made.end;
        made.end = if is_longer { end } else { made.end.min(now + LEAST_LEFT) };
        made.deprecated = deprecated;
        if now < deprecated {
            router.set_standing(interface, prefix.addr(), None);
        }
    } else if heard.valid > 0 && count >= MOST_ADDRESSES {
        learned.refused += 1;
    } else if heard.valid > 0 {
        // One that already exists, or cannot be, is left to the operator.
        if router.add_learned_address(interface, Prefix::Ip6(prefix)).is_ok()
            && let Some(learned) = clients(router).get_mut(&interface)
        {
            learned.addresses.push(AutoAddress { prefix, end, deprecated });
        }
    }
}

/// Forgets what has come to its end, and notes which addresses are deprecated; when there is more
/// to do.
fn forget_old(router: &mut Router) -> Option<f64> {
    let now = router.now();
    let (mut addresses, mut routers, mut deprecated) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = f64::INFINITY;
    for (interface, learned) in clients(router).iter_mut() {
        learned.addresses.retain(|made| {
            if now >= made.end {
                addresses.push((*interface, made.prefix));
                return false;
            }
            if now < made.deprecated {
                next = next.min(made.deprecated);
            } else {
                deprecated.push((*interface, made.prefix.addr()));
            }
            next = next.min(made.end);
            true
        });
        learned.routers.retain(|(addr, end)| {
            let stays = now < *end;
            if stays {
                next = next.min(*end)
            } else {
                routers.push((*interface, *addr))
            }
            stays
        });
    }
    addresses.into_iter().for_each(|(on, prefix)| remove_address(router, on, prefix));
    routers.into_iter().for_each(|(on, addr)| remove_route(router, on, addr));
    for (on, addr) in deprecated {
        router.set_standing(on, addr, Some(AddressState::Deprecated));
    }
    next.is_finite().then_some(next)
}

fn remove_address(router: &mut Router, interface: InterfaceIndex, prefix: Ip6Prefix) {
    // The operator may have removed it.
    let _ = router.remove_address(interface, Prefix::Ip6(prefix));
}

fn default_route(via: InterfaceIndex, addr: Ipv6Addr) -> (Prefix, Path) {
    let all = IpPrefix::new(Ipv6Addr::UNSPECIFIED, 0).expect("a length of 0 is good");
    (Prefix::Ip6(all), Path::to(Target::Neighbor { interface: via, addr: addr.into() }))
}

fn add_route(router: &mut Router, interface: InterfaceIndex, addr: Ipv6Addr) -> bool {
    let table = router.addresses.of(interface).table6;
    let (prefix, path) = default_route(interface, addr);
    let added = router.add_route(table, prefix, Source::IP6_ND, &[path]);
    if let Err(why) = &added {
        router
            .log
            .class("rd_cp", "default")
            .error(format_args!("no default route via {addr}: {why}"));
    }
    added.is_ok()
}

fn remove_route(router: &mut Router, interface: InterfaceIndex, addr: Ipv6Addr) {
    let table = router.addresses.of(interface).table6;
    let (prefix, path) = default_route(interface, addr);
    // Gone already where the interface has taken its routes along.
    let _ = router.remove_route(table, prefix, Source::IP6_ND, &[path]);
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        // Most interfaces do not configure themselves.
        let _ = set(router, interface, None);
    }
}

/// Interfaces where routers or prefixes were refused.
fn look(router: &mut Router, found: &mut Findings) {
    let all = router.own::<Clients>().0.iter().filter(|(_, learned)| learned.refused > 0);
    for (interface, learned) in all {
        let text = format!(
            "{} routers and prefixes of advertisements were refused: it has {MOST_ROUTERS} default \
             routers and {MOST_ADDRESSES} addresses at most",
            learned.refused
        );
        found.add(Severity::Warning, router.interfaces.name(interface.0), text);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.insert(Clients::default());
    router.check_health(Check {
        name: "router-advertisements",
        about: "interfaces learn from all routers of their link",
        look,
    });
    router.interfaces.observe(interface_changed);
    ra::observe(router, heard);
    let body = |router: &mut Router, _| match forget_old(router) {
        Some(next) => {
            let wait = (next - router.now()).max(0.0);
            Wake::AfterOrEvent(Duration::from_secs_f64(wait))
        }
        None => Wake::OnEvent,
    };
    router.processes.spawn(PROCESS, Box::new(body));
    parts.cli.command(|router: &mut Router, c: Autoconfig| {
        Ok(set(router, c.interface, (!c.disable).then_some(c.default_route))?)
    });
    parts.api.core("rd_cp", "1.0.1").call(|router, m: Ip6NdAddressAutoconfig| {
        match set(router, m.sw_if_index, m.enable.then_some(m.install_default_routes)) {
            // Off is off.
            Err(Error::NotEnabled) if !m.enable => Ok(()),
            done => Ok(done?),
        }
    });
    Ok(())
}
