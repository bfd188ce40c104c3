//! Places where packets for NAT64 are received: addresses that this router answers for, and routes
//! to interfaces that translate.

use net::fib::Path;
use net::prelude::*;

use crate::state::{Nat, Role, Settings};

/// Priority of routes: before those of operators, as translation is what the prefix is for.
const PRIORITY: u8 = 0x30;

/// Receives packets to prefixes on interfaces, as configured.
pub fn lead(router: &mut Router, settings: &Settings) {
    let nat = router.own::<Nat>();
    let route = |(vrf, on): (&u32, &InterfaceIndex)| {
        Some(((*nat.tables.get(vrf)?, *settings.prefixes.get(vrf)?), *on))
    };
    let new: BTreeMap<_, _> = settings.received.iter().filter_map(route).collect();
    let old = router.own_mut::<Nat>().routes.clone();
    let Some(source) = router.fib.sources.add_own("nat64", PRIORITY) else { return };
    for (key, _) in old.iter().filter(|(key, on)| new.get(key) != Some(on)) {
        // Gone already when the table is.
        let _ = router.remove_route(key.0, key.1.into(), source, &[]);
    }
    for (key, on) in new.iter().filter(|(key, on)| old.get(key) != Some(on)) {
        let path = Path::to(Target::InterfaceRx { interface: *on });
        // Without room packets are routed as others.
        let _ = router.set_route(key.0, key.1.into(), source, &[path]);
    }
    router.own_mut::<Nat>().routes = new;
}

/// Answers for addresses of the pool and of mappings where IPv4 is.
pub fn answer(router: &mut Router, settings: &Settings) {
    let pool = settings.pool.iter().map(|(addr, _)| *addr);
    let addresses: Vec<_> = pool.chain(settings.statics.iter().map(|s| s.outside)).collect();
    let outside = router.settings::<Role>().filter(|(_, role)| role.is_outside);
    let on = |(interface, _)| {
        addresses.iter().map(move |addr| (Some(interface), [IpAddr::V4(*addr); 2]))
    };
    let all = outside.flat_map(on).collect();
    router.answer_for("nat64", all);
}
