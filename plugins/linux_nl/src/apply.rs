//! Routes and neighbours of Linux become the router's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;

use net::fib::{Path, Source};
use net::prelude::*;

use super::message::{Hop, Key, Neighbor, News, Route, To};
use super::{Devices, Mirror, Place, Sweep};

/// Entries that a sweep looks at between two looks at the time.
const STEP: usize = 64;

/// Tables of Linux that are mirrored, at most.
const MOST_TABLES: usize = 4096;

/// A route in the router: the number of its table, its source and its paths.
type Wanted = (u32, Source, Vec<Path>);

fn hash(paths: &[Path]) -> u64 {
    let mut hasher = DefaultHasher::new();
    paths.hash(&mut hasher);
    hasher.finish()
}

/// Does what a piece of news calls for.
pub(super) fn news(
    router: &mut Router,
    mirror: &mut Mirror,
    known: &Devices,
    sources: [Source; 2],
    news: News,
) {
    match news {
        News::Look | News::Lost => (),
        News::Begin => mirror.round += 1,
        News::End => mirror.sweep = Some(Sweep::Routes(None)),
        News::Neighbor(neighbor) => set_neighbor(router, mirror, known, neighbor),
        News::Route(route) => {
            let (key, round) = (route.key(), mirror.round);
            let place = mirror.places.entry(key).or_default();
            mirror.objects.edit(place, |place| {
                place.routes.retain(|(old, _)| old.metric != route.metric);
                let at = place.routes.partition_point(|(old, _)| old.metric < route.metric);
                place.routes.insert(at, (route, round));
            });
            settle(router, mirror, key, known, sources);
        }
        News::NoRoute(gone) => {
            let Some(place) = mirror.places.get_mut(&gone.key()) else { return };
            mirror.objects.edit(place, |place| remove(place, &gone));
            settle(router, mirror, gone.key(), known, sources);
        }
        // The kernel does not tell of the routes that went with it.
        News::Object { id, is_there } if mirror.objects.has(id) => match is_there {
            true => mirror.listener.tell_all(),
            false => mirror.sweep = Some(Sweep::Object(id, None)),
        },
        News::Object { .. } => (),
    }
}

/// Takes a route away: of IPv6 only the next hops that are named, if others are left.
fn remove(place: &mut Place, gone: &Route) {
    place.routes.retain_mut(|(route, _)| {
        if route.metric != gone.metric {
            return true;
        }
        match (&mut route.to, &gone.to) {
            (To::Hops(all), To::Hops(gone))
                if !gone.is_empty() && route.prefix.addr().is_ipv6() =>
            {
                all.retain(|hop| {
                    !gone.iter().any(|g| (g.device, g.gateway) == (hop.device, hop.gateway))
                });
                !all.is_empty()
            }
            _ => false,
        }
    });
}

/// The route that counts, as the router has it.
pub(super) fn wanted<'a>(
    routes: impl Iterator<Item = &'a Route>,
    known: &Devices,
    sources: [Source; 2],
) -> Option<Wanted> {
    // What wraps packets otherwise than routes of the router do is left out.
    let mut routes = routes.filter(|route| route.encapsulation.is_none());
    routes.find_map(|route| {
        let link = Link::of(route.prefix.addr());
        let paths: Vec<_> = match &route.to {
            To::Drop => vec![Path::to(Target::Drop)],
            To::Unreachable => vec![Path::to(Target::Unreachable)],
            To::Prohibit => vec![Path::to(Target::Prohibit)],
            To::Hops(hops) => {
                let there = hops.iter().filter_map(|hop| Some((known.get(hop.device)?, hop)));
                let path = |(phy, hop): (InterfaceIndex, &Hop)| {
                    let target = match hop.gateway {
                        Some(gateway) => Target::neighbor(link, phy, gateway),
                        None => Target::attached(link, phy),
                    };
                    Path { weight: hop.weight, ..Path::to(target) }
                };
                there.map(path).collect()
            }
        };
        let source = sources[usize::from(route.is_dynamic)];
        (!paths.is_empty()).then(|| (known.table_of(route), source, paths))
    })
}

/// The table of the router with a number, made if there is none.
fn table(router: &mut Router, mirror: &mut Mirror, prefix: Prefix, id: u32) -> Option<TableIndex> {
    let key = (IpVersion::from(prefix), id);
    if id == 0 {
        return Some(TableIndex::DEFAULT);
    }
    if let Some((table, _)) = mirror.tables.get(&key) {
        return Some(*table);
    }
    if mirror.tables.len() >= MOST_TABLES {
        return None;
    }
    let table = router.hold_table_of(key.0, id).ok()?;
    mirror.tables.insert(key, (table, 0));
    Some(table)
}

/// Counts a route of a table, or its end; a table without routes is given up.
fn count(router: &mut Router, mirror: &mut Mirror, prefix: Prefix, table: TableIndex, is_on: bool) {
    let version = IpVersion::from(prefix);
    let Some(id) = router.fib.table_id_for(version, table) else { return };
    let Some((_, count)) = mirror.tables.get_mut(&(version, id)) else { return };
    *count = if is_on { *count + 1 } else { count.saturating_sub(1) };
    if *count == 0 {
        mirror.tables.remove(&(version, id));
        router.use_table_of(version, table, false);
    }
}

/// Updates the router's routes to a prefix, which is forgotten when Linux has none.
fn settle(
    router: &mut Router,
    mirror: &mut Mirror,
    key: Key,
    known: &Devices,
    sources: [Source; 2],
) {
    let Some(mut place) = mirror.places.remove(&key) else { return };
    update(router, mirror, &mut place, (key.1, known, sources));
    if !place.routes.is_empty() {
        mirror.places.insert(key, place);
    }
}

fn update(
    router: &mut Router,
    mirror: &mut Mirror,
    place: &mut Place,
    (prefix, known, sources): (Prefix, &Devices, [Source; 2]),
) {
    let wanted = wanted(place.routes.iter().map(|(route, _)| route), known, sources);
    let wanted = wanted.and_then(|(id, source, paths)| {
        let table = table(router, mirror, prefix, id);
        if table.is_none() {
            let log = router.log.class("linux-nl", "nl");
            log.warn(format_args!("route to {prefix}: no room for table {id}"));
        }
        Some((table?, source, paths))
    });
    let to = wanted.as_ref().map(|(table, source, _)| (*table, *source));
    let hash = wanted.as_ref().map_or(0, |(_, _, paths)| hash(paths));
    if let Some((table, source)) = to
        && place.installed == to
        && place.paths == hash
        && router.fib.has_route_of(source, table, prefix)
    {
        return;
    }
    place.paths = hash;
    let old = std::mem::replace(&mut place.installed, to);
    if let Some((table, source, paths)) = wanted {
        count(router, mirror, prefix, table, true);
        if let Err(e) = router.set_route(table, prefix, source, &paths) {
            place.installed = None;
            router.log.class("linux-nl", "nl").warn(format_args!("route to {prefix}: {e}"));
            count(router, mirror, prefix, table, false);
        }
    }
    if let Some((table, source)) = old {
        if to != old {
            // Its table may be gone.
            let _ = router.remove_route(table, prefix, source, &[]);
        }
        count(router, mirror, prefix, table, false);
    }
}

/// Removes some of the state that was not reported in the round before; nothing more of it is done
/// once the mirror has no sweep.
pub(super) fn sweep(
    router: &mut Router,
    mirror: &mut Mirror,
    known: &Devices,
    sources: [Source; 2],
) {
    let round = mirror.round;
    mirror.sweep = match mirror.sweep {
        Some(Sweep::Routes(last)) => {
            let last = retain(router, mirror, (known, sources), last, |_, told| told == round);
            Some(last.map_or(Sweep::Neighbors(None), |last| Sweep::Routes(Some(last))))
        }
        Some(Sweep::Object(id, last)) => {
            let stays = |route: &Route, _| route.object != Some(id);
            let last = retain(router, mirror, (known, sources), last, stays);
            last.map(|last| Sweep::Object(id, Some(last)))
        }
        Some(Sweep::Neighbors(last)) => {
            let looked_at = after(&mirror.neighbors, last);
            for (device, addr) in &looked_at {
                if mirror.neighbors.get(&(*device, *addr)) == Some(&round) {
                    continue;
                }
                mirror.neighbors.remove(&(*device, *addr));
                if let Some(phy) = known.get(*device) {
                    // The router may have forgotten it itself.
                    let _ = router.remove_neighbor((phy, *addr));
                }
            }
            mirror.is_complete |= looked_at.is_empty();
            looked_at.last().map(|last| Sweep::Neighbors(Some(*last)))
        }
        None => None,
    };
}

/// Forgets routes to some prefixes behind one, or the first, but for those that stay; the last
/// one that was looked at.
fn retain(
    router: &mut Router,
    mirror: &mut Mirror,
    (known, sources): (&Devices, [Source; 2]),
    last: Option<Key>,
    stays: impl Fn(&Route, u32) -> bool,
) -> Option<Key> {
    let looked_at = after(&mirror.places, last);
    for key in &looked_at {
        let Some(place) = mirror.places.get_mut(key) else { continue };
        if !place.routes.iter().all(|(route, told)| stays(route, *told)) {
            mirror.objects.edit(place, |place| {
                place.routes.retain(|(route, told)| stays(route, *told));
            });
            settle(router, mirror, *key, known, sources);
        }
    }
    looked_at.last().copied()
}

/// Some keys behind one, or the first.
fn after<K: Copy + Ord, V>(all: &BTreeMap<K, V>, last: Option<K>) -> Vec<K> {
    let from = last.map_or(Bound::Unbounded, Bound::Excluded);
    all.range((from, Bound::Unbounded)).take(STEP).map(|(key, _)| *key).collect()
}

/// Takes back the paths over a device that is no longer mirrored; `left` are the others.
pub(super) fn without(
    router: &mut Router,
    mirror: &mut Mirror,
    left: &Devices,
    sources: [Source; 2],
    device: u32,
) {
    let is_last = left.all.is_empty();
    let leads_there = |(route, _): &(Route, u32)| match &route.to {
        To::Hops(hops) => hops.iter().any(|hop| hop.device == device),
        _ => is_last,
    };
    let leads_there = |place: &Place| place.routes.iter().any(leads_there);
    let there = mirror.places.iter().filter(|(_, place)| leads_there(place));
    for key in there.map(|(key, _)| *key).collect::<Vec<_>>() {
        if is_last && let Some(place) = mirror.places.get_mut(&key) {
            mirror.objects.edit(place, |place| place.routes.clear());
        }
        settle(router, mirror, key, left, sources);
    }
}

fn set_neighbor(router: &mut Router, mirror: &mut Mirror, known: &Devices, news: Neighbor) {
    let Some(phy) = known.get(news.device) else { return };
    let (key, place) = ((phy, news.addr), (news.device, news.addr));
    let Some(mac) = news.mac else {
        if mirror.neighbors.remove(&place).is_some() {
            // The router may have forgotten it itself.
            let _ = router.remove_neighbor(key);
        }
        return;
    };
    mirror.neighbors.insert(place, mirror.round);
    let there = router.neighbors().table.at(key);
    if there.is_some_and(|there| there.mac == mac || there.is_static) {
        return;
    }
    if let Err(e) = router.set_neighbor(key, mac, false, true) {
        router.log.class("linux-nl", "nl").info(format_args!("neighbor {}: {e}", news.addr));
    }
}
