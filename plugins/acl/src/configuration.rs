//! Lists and where they are applied, as commands.

use net::prelude::*;

use super::cli::{Apply, SetList, SetOption, SetTypes};
use super::macip::{self, MacIp};
use super::macip_cli;
use super::session_cli::{SetReclassify, SetTimeout};
use super::words::Named;
use super::{Applied, Options, all};

/// The list that is printed next.
struct Cursor(u32);

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Cursor(from) = lines.resumed().unwrap_or_else(|| {
        rest(router, lines);
        Cursor(0)
    });
    for (index, list) in all(router).iter_from(from) {
        if lines.is_full() {
            return lines.pause(Cursor(index));
        }
        let (rules, tag) = (list.rules.to_vec(), list.tag.clone());
        lines.push(&SetList(Named { index: Some(index), create: true, rules, tag }));
    }
}

/// Everything but access lists.
fn rest(router: &Router, lines: &mut Lines<'_>) {
    let Options { counts, hash_lookup, reclassifies, .. } = *all(router).options();
    for timeout in SetTimeout::changed(&all(router).timeouts()) {
        lines.push(&timeout);
    }
    if reclassifies {
        lines.push(&SetReclassify(true));
    }
    if counts {
        lines.push(&SetOption::Counters(true));
    }
    if !hash_lookup {
        lines.push(&SetOption::HashLookup(false));
    }
    for (index, list) in macip::all(router).iter() {
        let (rules, tag) = (list.rules.clone(), list.tag.clone());
        let named = Named { index: Some(index), create: true, rules, tag };
        lines.push(&macip_cli::SetList(named));
    }
    for (interface, applied) in router.settings::<Applied>() {
        for (is_output, lists) in [false, true].into_iter().zip(&applied.lists) {
            for list in lists {
                lines.push(&Apply { interface, is_output, list: *list, del: false });
            }
        }
        if applied.types.iter().any(|types| !types.is_empty()) {
            lines.push(&SetTypes { interface, types: applied.types.clone() });
        }
    }
    for (interface, list) in router.settings::<MacIp>() {
        if let Some(acl) = list.0 {
            lines.push(&macip_cli::Apply { interface, _add: false, acl: Some(acl), del: false });
        }
    }
}
