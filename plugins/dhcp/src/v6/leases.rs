//! Leases of clients: their times, and what interfaces have because of them (RFC 8415 section
//! 18.2.10.1).

use net::address::AddressState;
use net::prelude::*;
use wire::dhcp6::{INFINITE, Lease};

use super::client::{State, at, bound, decline, restart};
use super::message::{Given, MOST_LEASES, is_in_order};
use super::{Ia, prefixes};

/// A lease that a client has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// The address or prefix.
    pub prefix: Ip6Prefix,
    /// When others become better.
    pub preferred_until: f64,
    /// When it ends.
    pub valid_until: f64,
    /// Seconds of both, as they were given.
    pub times: (u32, u32),
}

/// The time so many seconds from now.
fn after(now: f64, seconds: u32) -> f64 {
    if seconds == INFINITE { f64::INFINITY } else { now + f64::from(seconds) }
}

/// Takes away what leases gave.
pub fn give_up(router: &mut Router, ia: Ia, on: InterfaceIndex) {
    let Some(client) = at(router, ia, on) else { return };
    let leases = std::mem::take(&mut client.leases);
    leases.iter().for_each(|held| uninstall(router, ia, on, held.prefix));
}

/// Takes away what one lease gave.
pub fn uninstall(router: &mut Router, ia: Ia, on: InterfaceIndex, prefix: Ip6Prefix) {
    match ia {
        // The address may have been removed meanwhile.
        Ia::Address => drop(router.remove_address(on, Prefix::Ip6(prefix))),
        Ia::Prefix => prefixes::take(router, on, prefix),
    }
}

/// Takes leases with their times; those that the answer does not name stay as they are.
pub fn bind(router: &mut Router, (ia, on): (Ia, InterfaceIndex), server: u32, given: &Given) {
    let now = router.now();
    let is_first = at(router, ia, on).is_some_and(|client| client.state == State::Request);
    if is_first {
        let named = |held: &Held| given.leases.iter().any(|lease| lease.addr == held.prefix.addr());
        let Some(client) = at(router, ia, on) else { return };
        let (stay, gone): (Vec<_>, Vec<_>) = client.leases.drain(..).partition(named);
        client.leases = stay;
        gone.iter().for_each(|held| uninstall(router, ia, on, held.prefix));
    }
    let mut bad = Vec::new();
    for lease in given.leases.iter().filter(|lease| is_in_order(lease)) {
        if !take(router, (ia, on), lease, now) {
            bad.push(*lease);
        }
    }
    if !bad.is_empty() {
        decline(router, (ia, on), server, bad);
    }
    let Some(client) = at(router, ia, on) else { return };
    if client.leases.is_empty() && !given.is_later() {
        return restart(router, ia, on);
    }
    (client.t1, client.t2) = times(given, now);
    client.server = Some(server);
    bound(router, ia, on);
}

/// When the server is asked for more time, and when any is (RFC 8415 section 21.4).
fn times(given: &Given, now: f64) -> (f64, f64) {
    let lasting = given.leases.iter().filter(|lease| is_in_order(lease) && lease.valid > 0);
    let shortest = lasting.map(|lease| match lease.preferred {
        0 => lease.valid,
        preferred => preferred,
    });
    let shortest = shortest.min().unwrap_or(INFINITE);
    let part = |part: f64| match shortest {
        INFINITE => f64::INFINITY,
        seconds => now + f64::from(seconds) * part,
    };
    let (t1, t2) = match (given.t1, given.t2) {
        (0, 0) => (part(0.5), part(0.8)),
        (0, t2) => (part(0.5).min(after(now, t2)), after(now, t2)),
        (t1, 0) => (after(now, t1), part(0.8)),
        (t1, t2) => (after(now, t1), after(now, t2)),
    };
    // A lease that ends at once is not asked for without end.
    let t1 = t1.max(now + 1.0);
    (t1, t2.max(t1))
}

/// An address with the length of the network that its interface is in already: what is leased says
/// nothing of what is on the link.
fn within(router: &Router, on: InterfaceIndex, addr: Ip6Prefix) -> Ip6Prefix {
    let mut networks = router.addresses.of(on).ip6.iter();
    let len = networks.find(|prefix| prefix.contains(addr.addr())).map(|p| p.prefix_len());
    len.and_then(|len| Ip6Prefix::new(addr.addr(), len).ok()).unwrap_or(addr)
}

/// Takes one lease; whether the interface can have it.
fn take(router: &mut Router, (ia, on): (Ia, InterfaceIndex), lease: &Lease, now: f64) -> bool {
    let Ok(given) = Ip6Prefix::new(lease.addr, lease.len) else { return true };
    let prefix = match ia {
        Ia::Prefix => given.network(),
        Ia::Address => within(router, on, given),
    };
    let Some(client) = at(router, ia, on) else { return true };
    let is_it = |held: &Held| match ia {
        Ia::Prefix => held.prefix == prefix,
        Ia::Address => held.prefix.addr() == prefix.addr(),
    };
    let known = client.leases.iter().position(is_it);
    // An address stays as it was given to the interface.
    let prefix = known.map_or(prefix, |known| client.leases[known].prefix);
    if lease.valid == 0 {
        if let Some(known) = known {
            client.leases.remove(known);
            uninstall(router, ia, on, prefix);
        }
        return true;
    }
    let held = Held {
        prefix,
        preferred_until: after(now, lease.preferred),
        valid_until: after(now, lease.valid),
        times: (lease.preferred, lease.valid),
    };
    match known {
        Some(known) => {
            client.leases[known] = held;
            if ia == Ia::Prefix {
                prefixes::extend(router, on, &held);
            }
        }
        None if client.leases.len() >= MOST_LEASES => return true,
        None => {
            client.leases.push(held);
            let group = client.group.clone();
            if !install(router, (ia, on), &held, &group) {
                return false;
            }
        }
    }
    if now < held.preferred_until {
        deprecate(router, ia, on, prefix, false);
    }
    true
}

/// Gives an interface what is leased; whether it can have it.
fn install(router: &mut Router, (ia, on): (Ia, InterfaceIndex), held: &Held, group: &str) -> bool {
    if ia == Ia::Prefix {
        prefixes::give(router, on, group, held);
        return true;
    }
    let prefix = held.prefix;
    let Err(why) = router.add_learned_address(on, Prefix::Ip6(prefix)) else { return true };
    let name = router.interfaces.name(on.0).to_owned();
    router.log.class("dhcp", "client6").warn(format_args!("{name}: {prefix}: {why}"));
    at(router, ia, on)
        .into_iter()
        .for_each(|client| client.leases.retain(|held| held.prefix != prefix));
    false
}

/// Marks an address or prefix as deprecated, or not.
pub fn deprecate(router: &mut Router, ia: Ia, on: InterfaceIndex, prefix: Ip6Prefix, is_old: bool) {
    match ia {
        Ia::Address => {
            let standing = is_old.then_some(AddressState::Deprecated);
            router.set_standing(on, prefix.addr(), standing);
        }
        Ia::Prefix => prefixes::deprecate(router, on, prefix, is_old),
    }
}
