//! Routes and neighbours of Linux become the router's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;

use net::fib::{Path, Source};
use net::prelude::*;

use super::message::{Neighbor, News, Route, To};
use super::{Devices, Mirror, Place, Sweep};

/// Entries that a sweep looks at between two looks at the time.
const STEP: usize = 64;

/// A route in the router: its table, its source and its paths.
type Wanted = (TableIndex, Source, Vec<Path>);

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
            let (prefix, round) = (route.prefix, mirror.round);
            let place = mirror.places.entry(prefix).or_default();
            mirror.objects.edit(place, |place| {
                place.routes.retain(|(old, _)| old.metric != route.metric);
                let at = place.routes.partition_point(|(old, _)| old.metric < route.metric);
                place.routes.insert(at, (route, round));
            });
            settle(router, place, prefix, known, sources);
        }
        News::NoRoute(gone) => {
            let prefix = gone.prefix;
            let Some(place) = mirror.places.get_mut(&prefix) else { return };
            mirror.objects.edit(place, |place| remove(place, &gone));
            settle(router, place, prefix, known, sources);
            if place.routes.is_empty() {
                mirror.places.remove(&prefix);
            }
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
    router: &Router,
    routes: impl Iterator<Item = &'a Route>,
    known: &Devices,
    sources: [Source; 2],
) -> Option<Wanted> {
    // What wraps packets otherwise than routes of the router do is left out.
    let mut routes = routes.filter(|route| route.encapsulation.is_none());
    routes.find_map(|route| {
        let link = Link::of(route.prefix.addr());
        let mut table = TableIndex::DEFAULT;
        let paths: Vec<_> = match &route.to {
            To::Drop => vec![Path::to(Target::Drop)],
            To::Unreachable => vec![Path::to(Target::Unreachable)],
            To::Prohibit => vec![Path::to(Target::Prohibit)],
            To::Hops(hops) => {
                let there = hops.iter().filter_map(|hop| Some((known.get(&hop.device)?, hop)));
                let mut there = there.peekable();
                if let Some((phy, _)) = there.peek() {
                    let on = router.addresses.of(**phy);
                    table = on.table_for(route.prefix);
                }
                let path = |(phy, hop): (&InterfaceIndex, &super::message::Hop)| {
                    let target = match hop.gateway {
                        Some(gateway) => Target::neighbor(link, *phy, gateway),
                        None => Target::attached(link, *phy),
                    };
                    Path { weight: hop.weight, ..Path::to(target) }
                };
                there.map(path).collect()
            }
        };
        let source = sources[usize::from(route.is_dynamic)];
        (!paths.is_empty()).then_some((table, source, paths))
    })
}

/// Updates the router's routes to a prefix.
fn settle(
    router: &mut Router,
    place: &mut Place,
    prefix: Prefix,
    known: &Devices,
    sources: [Source; 2],
) {
    let wanted = wanted(router, place.routes.iter().map(|(route, _)| route), known, sources);
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
    let old = std::mem::replace(&mut place.installed, to).filter(|old| Some(*old) != to);
    if let Some((table, source, paths)) = wanted
        && let Err(e) = router.set_route(table, prefix, source, &paths)
    {
        place.installed = None;
        router.log.class("linux-nl", "nl").warn(format_args!("route to {prefix}: {e}"));
    }
    if let Some((table, source)) = old {
        // Its table may be gone.
        let _ = router.remove_route(table, prefix, source, &[]);
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
                if let Some(phy) = known.get(device) {
                    // The router may have forgotten it itself.
                    let _ = router.remove_neighbor((*phy, *addr));
                }
            }
            mirror.is_complete |= looked_at.is_empty();
            looked_at.last().map(|last| Sweep::Neighbors(Some(*last)))
        }
        None => None,
    };
}

/// Forgets routes to some prefixes behind one, or the first, but for those that stay; the last
/// prefix that was looked at.
fn retain(
    router: &mut Router,
    mirror: &mut Mirror,
    (known, sources): (&Devices, [Source; 2]),
    last: Option<Prefix>,
    stays: impl Fn(&Route, u32) -> bool,
) -> Option<Prefix> {
    let looked_at = after(&mirror.places, last);
    for prefix in &looked_at {
        let Some(place) = mirror.places.get_mut(prefix) else { continue };
        if !place.routes.iter().all(|(route, told)| stays(route, *told)) {
            mirror.objects.edit(place, |place| {
                place.routes.retain(|(route, told)| stays(route, *told));
            });
            settle(router, place, *prefix, known, sources);
        }
        if place.routes.is_empty() {
            mirror.places.remove(prefix);
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
    for (prefix, place) in &mut mirror.places {
        let leads_there = |(route, _): &(Route, u32)| match &route.to {
            To::Hops(hops) => hops.iter().any(|hop| hop.device == device),
            _ => left.is_empty(),
        };
        if place.routes.iter().any(leads_there) {
            if left.is_empty() {
                mirror.objects.edit(place, |place| place.routes.clear());
            }
            settle(router, place, *prefix, left, sources);
        }
    }
}

fn set_neighbor(router: &mut Router, mirror: &mut Mirror, known: &Devices, news: Neighbor) {
    let Some(phy) = known.get(&news.device) else { return };
    let (key, place) = ((*phy, news.addr), (news.device, news.addr));
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
