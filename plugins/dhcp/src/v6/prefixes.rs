//! Prefixes that clients got, by group, and addresses that interfaces make of them (RFC 8415
//! section 6.3).

use control::cli::is_word;
use net::fib::{Path, Source};
use net::prelude::*;

use super::Dhcp6;
use super::leases::Held;
use crate::Error;

/// Most addresses that are made of prefixes.
const MOST: usize = 4096;
/// Longest name of a group.
pub(super) const LONGEST_GROUP: usize = 63;

/// A prefix that a client got.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegated {
    /// The interface of the client.
    pub from: InterfaceIndex,
    /// Its group.
    pub group: String,
    /// Prefix.
    pub prefix: Ip6Prefix,
    /// Whether others are better.
    pub is_deprecated: bool,
    /// When its addresses are no longer preferred, and when it is no longer valid.
    pub until: (f64, f64),
    /// The table where what is not used of it leads nowhere.
    table: TableIndex,
}

/// An address that is made of a prefix of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// Interface index.
    pub on: InterfaceIndex,
    /// Group.
    pub group: String,
    /// The bits behind the prefix, with the length of the address.
    pub suffix: Ip6Prefix,
    /// The address that it has.
    pub made: Option<Ip6Prefix>,
}

/// Prefixes, in the order in which they came, and what is made of them.
#[derive(Default)]
pub struct Pool {
    /// Prefixes.
    pub prefixes: Vec<Delegated>,
    /// Addresses.
    pub consumers: Vec<Consumer>,
}

impl Pool {
    fn prefix_for(&self, consumer: &Consumer) -> Option<&Delegated> {
        let len = consumer.suffix.prefix_len();
        let fits = |p: &&Delegated| p.group == consumer.group && p.prefix.prefix_len() <= len;
        self.prefixes.iter().filter(fits).min_by_key(|p| p.is_deprecated)
    }
    /// The address for a consumer; prefixes that are preferred go first, of these the oldest.
    fn address_for(&self, consumer: &Consumer) -> Option<Ip6Prefix> {
        let len = consumer.suffix.prefix_len();
        let prefix = self.prefix_for(consumer)?.prefix;
        let mask = prefix.mask().to_bits();
        let bits = prefix.addr().to_bits() & mask | consumer.suffix.addr().to_bits() & !mask;
        Ip6Prefix::new(Ipv6Addr::from_bits(bits), len).ok()
    }
}

fn pool(router: &mut Router) -> &mut Pool {
    &mut router.own_mut::<Dhcp6>().pool
}

/// Whether prefixes and what follows them can have a group of this name.
pub(super) fn is_group(name: &str) -> bool {
    is_word(name) && name.len() <= LONGEST_GROUP
}

/// Gives an interface an address with bits of a prefix in front, as soon as the group has one.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    on: InterfaceIndex,
    group: &str,
    suffix: Ip6Prefix,
) -> Result<(), Error> {
    router.interfaces.at(on).ok_or(Error::NoInterface)?;
    if !is_group(group) {
        return Err(Error::Group(LONGEST_GROUP));
    }
    if suffix.prefix_len() == 0 {
        return Err(Error::Suffix(suffix));
    }
    let all = &mut pool(router).consumers;
    let new = Consumer { on, group: group.to_owned(), suffix, made: None };
    if all.iter().any(|c| (c.on, &c.group, c.suffix) == (on, &new.group, suffix)) {
        return Err(Error::AddressExists(suffix));
    }
    if all.len() >= MOST {
        return Err(Error::TooManyAddresses(MOST));
    }
    all.push(new);
    follow(router);
    Ok(())
}

/// Takes such an address away.
///
/// # Errors
/// [`Error::NoAddress`].
pub fn remove(
    router: &mut Router,
    on: InterfaceIndex,
    group: &str,
    suffix: Ip6Prefix,
) -> Result<(), Error> {
    let all = &mut pool(router).consumers;
    let is_it = |c: &Consumer| (c.on, c.group.as_str(), c.suffix) == (on, group, suffix);
    let at = all.iter().position(is_it).ok_or(Error::NoAddress(suffix))?;
    let gone = all.remove(at);
    if let Some(made) = gone.made {
        ra::unlearn(router, on, made.network());
        // The address may have been removed meanwhile.
        let _ = router.remove_address(on, Prefix::Ip6(made));
    }
    Ok(())
}

/// Forgets the addresses of an interface that goes.
pub fn forget(router: &mut Router, on: InterfaceIndex) {
    pool(router).consumers.retain(|consumer| consumer.on != on);
}

/// Adds a prefix that a client got. What no interface uses of it leads nowhere, instead of back to
/// the provider (RFC 7084 WPD-5).
pub fn give(router: &mut Router, from: InterfaceIndex, group: &str, held: &Held) {
    let (prefix, table) = (held.prefix, router.addresses.of(from).table6);
    let until = (held.preferred_until, held.valid_until);
    let group = group.to_owned();
    // Without room for the route the rest works all the same.
    let _ = router.add_route(table, Prefix::Ip6(prefix), Source::DHCP, &[unreachable()]);
    let new = Delegated { from, group, prefix, is_deprecated: false, until, table };
    pool(router).prefixes.push(new);
    follow(router);
}

fn unreachable() -> Path {
    Path::to(Target::Unreachable)
}

/// Gives a prefix other times.
pub fn extend(router: &mut Router, from: InterfaceIndex, held: &Held) {
    let mut all = pool(router).prefixes.iter_mut();
    if let Some(known) = all.find(|p| (p.from, p.prefix) == (from, held.prefix)) {
        known.until = (held.preferred_until, held.valid_until);
        follow(router);
    }
}

/// Takes a prefix away that a client has no more.
pub fn take(router: &mut Router, from: InterfaceIndex, prefix: Ip6Prefix) {
    let all = &mut pool(router).prefixes;
    let Some(at) = all.iter().position(|p| (p.from, p.prefix) == (from, prefix)) else { return };
    let gone = all.remove(at);
    // Its table may be gone.
    let _ = router.remove_route(gone.table, Prefix::Ip6(prefix), Source::DHCP, &[unreachable()]);
    follow(router);
}

/// Marks a prefix as deprecated, or not.
pub fn deprecate(router: &mut Router, from: InterfaceIndex, prefix: Ip6Prefix, is_old: bool) {
    let mut all = pool(router).prefixes.iter_mut();
    let known = all.find(|p| (p.from, p.prefix) == (from, prefix));
    if let Some(known) = known.filter(|p| p.is_deprecated != is_old) {
        known.is_deprecated = is_old;
        follow(router);
    }
}

/// Updates the addresses of interfaces, and the prefixes that they advertise, from the current
/// prefixes.
fn follow(router: &mut Router) {
    for at in 0..pool(router).consumers.len() {
        let pool = pool(router);
        let consumer = &pool.consumers[at];
        let (on, before, after) = (consumer.on, consumer.made, pool.address_for(consumer));
        let until = pool.prefix_for(consumer).map(|prefix| prefix.until);
        if before == after {
            advertise(router, on, after, until);
            continue;
        }
        if let Some(before) = before {
            ra::unlearn(router, on, before.network());
            // The address may have been removed meanwhile.
            let _ = router.remove_address(on, Prefix::Ip6(before));
        }
        let mut made = None;
        if let Some(after) = after {
            match router.add_learned_address(on, Prefix::Ip6(after)) {
                Ok(()) => made = Some(after),
                Err(why) => {
                    let name = router.interfaces.name(on.0).to_owned();
                    let log = router.log.class("dhcp", "client6");
                    log.warn(format_args!("{name}: {after}: {why}"));
                }
            }
        }
        advertise(router, on, made, until);
        router.own_mut::<Dhcp6>().pool.consumers[at].made = made;
    }
}

/// Advertises the network of an interface to hosts behind it.
fn advertise(
    router: &mut Router,
    on: InterfaceIndex,
    made: Option<Ip6Prefix>,
    until: Option<(f64, f64)>,
) {
    if let (Some(made), Some((preferred_until, valid_until))) = (made, until) {
        let prefix = made.network();
        ra::learn(router, on, ra::Learned { prefix, preferred_until, valid_until });
    }
}
