//! Requests that change the firewall: all or nothing, and published at once.

use net::prelude::*;

use super::list::{MOST_PATTERNS, Resolved};
use super::object::{Addresses, Member as Part, Name, Service};
use super::policy::{Entry, Known, MOST_POLICIES, MOST_RULES, Policy, Rule, Terms};
use super::publish::refresh;
use super::ruleset::Options;
use super::zone::{LOCAL, Pair, Settings, Zone};
use super::{BY_POLICY, BY_RULE, Error, Firewall, Member, state};

/// Makes a zone, or changes its settings.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put_zone(router: &mut Router, name: &Name, settings: Settings) -> Result<(), Error> {
    let zone = router.own_mut::<Firewall>().zones.put(name, settings)?;
    refresh(router, [Pair { from: zone, to: zone }]);
    Ok(())
}

/// Deletes a zone that has neither interfaces nor policies.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_zone(router: &mut Router, name: &Name) -> Result<(), Error> {
    if name.as_str() == LOCAL {
        return Err(Error::OwnZone(name.clone()));
    }
    let zone = state(router).zones.at(name)?;
    let has_policy = state(router).policies.keys().any(|p| p.from == zone || p.to == zone);
    if has_policy || router.settings::<Member>().any(|(_, member)| member.zone == zone) {
        return Err(Error::ZoneInUse(name.clone()));
    }
    router.own_mut::<Firewall>().zones.remove(name);
    refresh(router, [Pair { from: zone, to: zone }]);
    Ok(())
}

/// Puts an interface into a zone, or takes it out of the one that it is in.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_interface(
    router: &mut Router,
    interface: InterfaceIndex,
    name: &Name,
    is_in: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let zone = state(router).zones.at(name)?;
    if zone == Zone::LOCAL {
        return Err(Error::NotForInterfaces(name.clone()));
    }
    if !is_in && router.setting::<Member>(interface).zone != zone {
        return Err(Error::NotInZone(name.clone()));
    }
    join(router, interface, if is_in { zone } else { Zone::NONE })
}

fn join(router: &mut Router, interface: InterfaceIndex, zone: Zone) -> Result<(), Error> {
    let old = router.setting::<Member>(interface);
    if old.zone == zone {
        return Ok(());
    }
    // Rules about ports are about all fragments of a packet.
    if (old.zone == Zone::NONE) != (zone == Zone::NONE) {
        for family in 0..2 {
            let is_needed = zone != Zone::NONE;
            let done = router.need_fragment_ports(interface, family, is_needed);
            done.map_err(|_| Error::NoInterface)?;
        }
    }
    router.put(interface, Member { zone, ..old })?;
    guard_all(router)
}

/// Checks the packets that interfaces send, as long as any interface is in a zone.
fn guard_all(router: &mut Router) -> Result<(), Error> {
    let is_guarded = router.settings::<Member>().any(|(_, member)| member.zone != Zone::NONE);
    let all: Vec<_> = router.interfaces.iter().map(|interface| interface.index).collect();
    for interface in all {
        let member = router.setting::<Member>(interface);
        router.put(interface, Member { is_guarded, ..member })?;
    }
    Ok(())
}

/// A new interface: it is in no zone.
pub(super) fn guard_new(router: &mut Router, interface: InterfaceIndex) {
    let is_guarded = router.settings::<Member>().any(|(_, member)| member.is_guarded);
    let done = router.put(interface, Member { zone: Zone::NONE, is_guarded });
    done.expect("an interface that was added is there");
}

/// An interface that is being deleted leaves its zone.
pub(super) fn forget(router: &mut Router, interface: InterfaceIndex) {
    let done = join(router, interface, Zone::NONE);
    done.expect("an interface that is being deleted is still there");
}

/// Makes an object of addresses, or gives it other members.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put_addresses(
    router: &mut Router,
    name: &Name,
    members: Vec<Part<Addresses>>,
) -> Result<(), Error> {
    change_known(
        router,
        |known| known.addresses.put(name, members),
        |rule, known| rule.names_address(known, name),
    )
}

/// Makes an object of services, or gives it other members.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put_services(
    router: &mut Router,
    name: &Name,
    members: Vec<Part<Service>>,
) -> Result<(), Error> {
    change_known(
        router,
        |known| known.services.put(name, members),
        |rule, known| rule.names_service(known, name),
    )
}

/// Changes objects; those rules are looked at again that are affected.
fn change_known(
    router: &mut Router,
    change: impl FnOnce(&mut Known) -> Result<(), Error>,
    is_affected: impl Fn(&Rule, &Known) -> bool,
) -> Result<(), Error> {
    let firewall = router.own_mut::<Firewall>();
    let mut known = firewall.known.clone();
    change(&mut known)?;
    let mut counts = Vec::new();
    for (pair, policy) in &firewall.policies {
        for (place, entry) in &policy.rules {
            if is_affected(&entry.rule, &known) {
                counts.push((*pair, *place, count_of(*place, &entry.rule, &known)?));
            }
        }
    }
    let mut policies = firewall.policies.clone();
    for (pair, place, count) in &counts {
        let policy = policies.get_mut(pair);
        if let Some(entry) = policy.and_then(|policy| policy.rules.get_mut(place)) {
            entry.patterns = *count;
        }
    }
    let is_large = |policy: &Policy| policy.patterns() > MOST_PATTERNS;
    if counts.iter().any(|(pair, ..)| policies.get(pair).is_some_and(is_large)) {
        return Err(Error::TooLarge);
    }
    (firewall.known, firewall.policies) = (known, policies);
    refresh(router, counts.into_iter().map(|(pair, ..)| pair));
    Ok(())
}

/// Combinations that a rule stands for.
fn count_of(place: u32, rule: &Rule, known: &Known) -> Result<usize, Error> {
    let count = Resolved::of(rule, known)?.count();
    match count {
        0 => Err(Error::Versions(place)),
        _ if count > MOST_PATTERNS => Err(Error::TooLarge),
        _ => Ok(count),
    }
}

/// Deletes an object of addresses that nothing names.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_addresses(router: &mut Router, name: &Name) -> Result<(), Error> {
    let Firewall { known, policies, .. } = router.own_mut::<Firewall>();
    let mut rules = policies.values().flat_map(|policy| policy.rules.values());
    if rules.any(|entry| entry.rule.names_address(known, name)) {
        return Err(Error::ObjectInUse(name.clone()));
    }
    known.addresses.remove(name)
}

/// Deletes an object of services that nothing names.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_services(router: &mut Router, name: &Name) -> Result<(), Error> {
    let Firewall { known, policies, .. } = router.own_mut::<Firewall>();
    let mut rules = policies.values().flat_map(|policy| policy.rules.values());
    if rules.any(|entry| entry.rule.names_service(known, name)) {
        return Err(Error::ObjectInUse(name.clone()));
    }
    known.services.remove(name)
}

/// The pair of two zones by name.
///
/// # Errors
/// [`Error::NoZone`], [`Error::LocalToLocal`].
pub fn pair(router: &Router, from: &Name, to: &Name) -> Result<Pair, Error> {
    let zones = &state(router).zones;
    let pair = Pair { from: zones.at(from)?, to: zones.at(to)? };
    if pair.from == Zone::LOCAL && pair.to == Zone::LOCAL {
        return Err(Error::LocalToLocal);
    }
    Ok(pair)
}

/// Numbers of counters: those that were given back are given out first.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    free: BTreeSet<u32>,
    next: u32,
}

impl Numbers {
    fn take(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
    /// Numbers that were ever given out.
    fn ever(&self) -> u32 {
        self.next
    }
    fn give_back(&mut self, number: u32) {
        self.free.insert(number);
    }
}

/// Adds a column of counters, at zero.
fn begin_counter(router: &mut Router, by_rule: Option<u32>, by_policy: Option<u16>) {
    // Without room for a column there is nothing to see; packets pass as they would.
    if let Some(column) = by_rule {
        let _ = router.stats.grow(BY_RULE, column as usize + 1);
    }
    if let Some(column) = by_policy {
        let _ = router.stats.grow(BY_POLICY, usize::from(column) + 1);
    }
    let counters = state(router).counters.clone();
    let _ = router.engine.on_threads(move |thread| {
        if thread >= counters.rules.threads() {
            return;
        }
        if let Some(column) = by_rule {
            counters.rules.zero(thread, column as usize..column as usize + 1);
        }
        if let Some(column) = by_policy {
            counters.policies.zero(thread, column.into()..usize::from(column) + 1);
        }
    });
}

/// Makes a policy, or changes its settings; its rules stay.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put_policy(router: &mut Router, pair: Pair, terms: Terms) -> Result<(), Error> {
    let firewall = router.own_mut::<Firewall>();
    if let Some(policy) = firewall.policies.get_mut(&pair) {
        policy.terms = terms;
    } else {
        let is_free = |n: &u16| firewall.policies.values().all(|policy| policy.number != *n);
        let number = (0..MOST_POLICIES as u16).find(is_free).ok_or(Error::TooManyPolicies)?;
        let counter = firewall.numbers.take();
        let policy = Policy { number, counter, terms, rules: Default::default() };
        firewall.policies.insert(pair, policy);
        begin_counter(router, Some(counter), Some(number));
    }
    refresh(router, [pair]);
    Ok(())
}

/// Deletes a policy with its rules.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_policy(router: &mut Router, pair: Pair) -> Result<(), Error> {
    let firewall = router.own_mut::<Firewall>();
    let gone = firewall.policies.remove(&pair).ok_or_else(|| firewall.no_policy(pair))?;
    firewall.numbers.give_back(gone.counter);
    gone.rules.values().for_each(|entry| firewall.numbers.give_back(entry.counter));
    refresh(router, [pair]);
    Ok(())
}

/// Replaces the rule at a position of a policy.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put_rule(router: &mut Router, pair: Pair, place: u32, rule: Rule) -> Result<(), Error> {
    let firewall = router.own_mut::<Firewall>();
    rule.check(&firewall.known)?;
    let patterns = count_of(place, &rule, &firewall.known)?;
    let policy = firewall.policies.get(&pair).ok_or_else(|| firewall.no_policy(pair))?;
    let old = policy.rules.get(&place);
    let others = policy.patterns() - old.map_or(0, |old| old.patterns);
    if others + patterns > MOST_PATTERNS {
        return Err(Error::TooLarge);
    }
    let is_full = || firewall.policies.values().map(|p| p.rules.len()).sum::<usize>() >= MOST_RULES;
    if old.is_none() && is_full() {
        return Err(Error::TooManyRules);
    }
    let kept = old.map(|old| old.counter);
    let counter = kept.unwrap_or_else(|| firewall.numbers.take());
    if let Some(policy) = firewall.policies.get_mut(&pair) {
        policy.rules.insert(place, Entry { rule, counter, patterns });
    }
    if kept.is_none() {
        begin_counter(router, Some(counter), None);
    }
    refresh(router, [pair]);
    Ok(())
}

/// Takes a rule out of a policy.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_rule(router: &mut Router, pair: Pair, place: u32) -> Result<(), Error> {
    let firewall = router.own_mut::<Firewall>();
    let none = firewall.no_policy(pair);
    let policy = firewall.policies.get_mut(&pair).ok_or(none)?;
    let gone = policy.rules.remove(&place).ok_or(Error::NoRule(place))?;
    firewall.numbers.give_back(gone.counter);
    refresh(router, [pair]);
    Ok(())
}

impl Firewall {
    /// Columns of counters by rule that were ever used.
    pub(super) fn numbers_used(&self) -> usize {
        self.numbers.ever() as usize
    }
    fn no_policy(&self, pair: Pair) -> Error {
        let name = |zone| self.zones.name(zone).parse().expect("zones have names");
        Error::NoPolicy(name(pair.from), name(pair.to))
    }
}

/// Sets what holds for all packets.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_options(router: &mut Router, options: Options) -> Result<(), Error> {
    let is_timeout = |seconds: &u32| (1..=31_536_000).contains(seconds);
    if !options.timeouts.seconds.iter().all(is_timeout) {
        return Err(Error::Timeout);
    }
    let sessions = state(router).sessions.clone();
    sessions.set_timeouts(router, &options.timeouts)?;
    router.own_mut::<Firewall>().options = options;
    refresh(router, []);
    Ok(())
}
