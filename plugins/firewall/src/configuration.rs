//! The firewall as commands.

use net::prelude::*;

use super::cli::{Object, SetAddress, SetExport, SetInterface, SetOption, SetService, SetZone};
use super::object::{Name, Objects, Plain};
use super::rule_cli::{SetPolicy, SetRule};
use super::ruleset::Options;
use super::zone::{Pair, Zone};
use super::{Export, Firewall, Member, state};

/// The rule that is printed next.
struct Cursor(Pair, u32);

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let firewall = state(router);
    let cursor = lines.resumed::<Cursor>();
    if cursor.is_none() {
        before_rules(router, lines);
    }
    let Cursor(pair, place) = cursor.unwrap_or(Cursor(Pair { from: Zone(0), to: Zone(0) }, 0));
    for (at, policy) in firewall.policies.range(pair..) {
        let (from, to) = (name(firewall, at.from), name(firewall, at.to));
        let first = if *at == pair { place } else { 0 };
        for (place, entry) in policy.rules.range(first..) {
            if lines.is_full() {
                return lines.pause(Cursor(*at, *place));
            }
            let (from, to, rule) = (from.clone(), to.clone(), Some(entry.rule.clone()));
            lines.push(&SetRule { from, to, place: *place, rule });
        }
    }
}

fn name(firewall: &Firewall, zone: Zone) -> Name {
    firewall.zones.name(zone).parse().expect("zones have names")
}

/// Everything but rules.
fn before_rules(router: &Router, lines: &mut Lines<'_>) {
    let firewall = state(router);
    for (name, _, settings) in firewall.zones.iter() {
        let (name, permits_within) = (name.clone(), settings.permits_within);
        lines.push(&SetZone { name, permits_within, del: false });
    }
    let (addresses, services) = (&firewall.known.addresses, &firewall.known.services);
    objects(addresses).for_each(|object| lines.push(&SetAddress(object)));
    objects(services).for_each(|object| lines.push(&SetService(object)));
    for (pair, policy) in &firewall.policies {
        let (from, to) = (name(firewall, pair.from), name(firewall, pair.to));
        lines.push(&SetPolicy { from, to, terms: policy.terms, del: false });
    }
    changed(&firewall.options).for_each(|option| lines.push(&option));
    if let Some(Export { domain, src_port, .. }) = firewall.export {
        lines.push(&SetExport(Some((domain, src_port))));
    }
    for (interface, member) in router.settings::<Member>() {
        if member.zone != Zone::NONE {
            let zone = name(firewall, member.zone);
            lines.push(&SetInterface { interface, zone, del: false });
        }
    }
}

fn objects<T: Plain>(all: &Objects<T>) -> impl Iterator<Item = Object<T>> {
    all.in_order().into_iter().map(|name| {
        let members = all.at(name).cloned().unwrap_or_default();
        Object { name: name.clone(), members, del: false }
    })
}

/// Options that are not so by default.
fn changed(options: &Options) -> impl Iterator<Item = SetOption> {
    let (now, usual) = (*options, Options::default());
    let pairs = now.timeouts.seconds.into_iter().zip(usual.timeouts.seconds).enumerate();
    let timeouts = pairs.filter(|(_, (now, usual))| now != usual);
    let timeouts = timeouts.map(|(class, (seconds, _))| SetOption::Timeout(class, seconds));
    let limit = (now.session_limit != usual.session_limit)
        .then_some(SetOption::SessionLimit(now.session_limit));
    let takes_up = (now.takes_up != usual.takes_up).then_some(SetOption::TakesUp(now.takes_up));
    timeouts.collect::<Vec<_>>().into_iter().chain(limit).chain(takes_up)
}
