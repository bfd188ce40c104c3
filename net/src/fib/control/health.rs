//! Health of routes: next hops that do not answer, paths of which none can be used.

use std::collections::HashMap;

use super::path::{Path, Target};
use crate::adjacency::Link;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::words_of_path;
use crate::health::{Check, Findings, Severity};
use crate::router::Router;

/// Routes that are looked at to name one for each trouble: a fraction of a millisecond.
const MOST: usize = 10_000;

pub(in crate::fib) fn register(router: &mut Router) {
    router.check_health(Check {
        name: "neighbours",
        about: "next hops of routes are known",
        look: neighbours,
    });
    router.check_health(Check {
        name: "routes",
        about: "routes have a path that can be used",
        look: routes,
    });
}

fn neighbours(router: &mut Router, found: &mut Findings) {
    let mut missing: Vec<(String, u32)> = Vec::new();
    for (_, list) in router.fib.lists.iter() {
        let usable = list.usable.iter();
        for ((path, index), is_usable) in list.paths.iter().zip(&list.adjacencies).zip(usable) {
            let Target::Neighbor { interface, addr } = path.target else { continue };
            let is_known = router.adjacencies.at(*index).is_none_or(|a| a.complete);
            if is_known || !is_usable || list.users == 0 {
                continue;
            }
            let subject = format!("{addr} on {}", router.interfaces.name(interface.0));
            match missing.iter_mut().find(|known| known.0 == subject) {
                Some(known) => known.1 += list.users,
                None => missing.push((subject, list.users)),
            }
        }
    }
    for (subject, users) in missing {
        let routes = if users == 1 { "a route leads" } else { "routes lead" };
        let count = if users == 1 { String::new() } else { format!("{users} ") };
        let text = format!("does not answer, and {count}{routes} there");
        found.add(Severity::Error, subject, text);
    }
}

fn routes(router: &mut Router, found: &mut Findings) {
    let is_wanted = |path: &Path| !matches!(path.target, Target::Drop | Target::Exempt);
    let troubled = router.fib.lists.iter().filter(|(_, list)| {
        list.users > 0 && list.paths.iter().any(is_wanted) && !list.usable.iter().any(|u| *u)
    });
    let mut troubled: HashMap<u32, (u32, Option<String>)> =
        troubled.map(|(index, list)| (index, (list.users, None))).collect();
    if troubled.is_empty() {
        return;
    }
    name::<Ip4>(router, &mut troubled);
    name::<Ip6>(router, &mut troubled);
    for (index, (users, prefix)) in troubled {
        let text = match users {
            0 | 1 => "has no usable path".to_owned(),
            2 => "has no usable path, like another with the same paths".to_owned(),
            _ => format!("has no usable path, like {} others with the same paths", users - 1),
        };
        let subject = prefix.unwrap_or_else(|| by_paths(router, index));
        found.add(Severity::Error, subject, text);
    }
}

/// A path list without a route among the first ones, as of labels and multicast, by its paths.
fn by_paths(router: &Router, list: u32) -> String {
    let paths = router.fib.lists.iter().find(|(index, _)| *index == list);
    let paths = paths.map(|(_, list)| &list.paths[..]).unwrap_or_default();
    let link = |path: &Path| match path.target {
        Target::Neighbor { addr, .. } => Link::of(addr),
        Target::Recursive { to, .. } => to.link,
        _ => Link::Ip4,
    };
    let words = paths.iter().filter_map(|path| words_of_path(router, link(path), path));
    format!("what goes {}", words.collect::<Vec<_>>().join(" "))
}

/// Finds a prefix for each path list, among the first routes.
fn name<F: Family>(router: &Router, lists: &mut HashMap<u32, (u32, Option<String>)>) {
    for (_, table) in F::tables(&router.fib).iter() {
        for (key, entry) in table.entries.iter().take(MOST) {
            if let Some((_, name)) = lists.get_mut(&entry.list)
                && name.is_none()
            {
                *name = Some(format!("{} in table {}", F::prefix(*key), table.id));
            }
        }
    }
}
