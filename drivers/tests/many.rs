//! Interfaces by the thousand, with all features there are: what making and deleting one costs does
//! not depend on how many there are.

use control::api::Local;
use control::log::Log;
use drivers::loopback::api::CreateLoopback;
use graph::Settings;
use infra::memory::allocations::{Counted, allocated};
use net::interface::SubInterface;
use net::{Assembly, InterfaceIndex, Router};
use wire::MacAddr;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

const COUNT: usize = 4096;

/// A router with all features, and a client.
fn talk(work: impl FnOnce(&Local<'_, Router>, &mut Router)) {
    let router = Router::new(Settings { buffers: 4096, ..Settings::default() }, Log::new());
    let mut parts = Assembly::new(router.expect("memory"));
    for feature in net::FEATURES.iter().chain(drivers::FEATURES) {
        parts.add(feature).expect("features register");
    }
    parts.api.finish(&parts.router.clients).expect("messages have names of their own");
    parts.router.engine.build().expect("the graph is whole");
    // One thread, this one: its work is counted too.
    parts.router.engine.start_inline();
    let local = Local::new(&parts.api, &parts.cli, &parts.router.clients);
    work(&local, &mut parts.router);
}

fn loopback(local: &Local<'_, Router>, router: &mut Router) -> InterfaceIndex {
    let made = local.call(router, &CreateLoopback { mac_address: MacAddr::ZERO });
    made.expect("there is room for one more").sw_if_index
}

/// Makes and deletes interfaces; bytes allocated for each, by how many there are.
fn spent(
    router: &mut Router,
    make: impl Fn(&mut Router, usize) -> InterfaceIndex,
) -> [Vec<u64>; 2] {
    let (mut all, mut made, mut deleted) = (Vec::with_capacity(COUNT), Vec::new(), Vec::new());
    // Twice as many each time, so that tables which double do so once in each.
    for end in [COUNT / 8, COUNT / 4, COUNT / 2, COUNT] {
        let (first, before) = (all.len(), allocated());
        (first..end).for_each(|i| all.push(make(router, i)));
        made.push((allocated() - before) / (end - first) as u64);
    }
    for end in [COUNT / 2, COUNT / 4, COUNT / 8, 0] {
        let (count, before) = (all.len() - end, allocated());
        // The oldest first: what is shifted would be all the others.
        all.drain(..count).for_each(|index| router.remove_interface(index));
        deleted.push((allocated() - before) / count as u64);
    }
    [made, deleted]
}

#[track_caller]
fn check([made, deleted]: [Vec<u64>; 2]) {
    assert!(made[3] < made[1] * 5 / 4, "bytes allocated to make each: {made:?}");
    assert!(deleted[0] < deleted[2] * 5 / 4, "bytes allocated to delete each: {deleted:?}");
}

#[test]
fn what_a_loopback_costs_does_not_grow_with_their_number() {
    talk(|local, router| check(spent(router, |router, _| loopback(local, router))));
}

#[test]
fn what_a_sub_interface_costs_does_not_grow_with_their_number() {
    talk(|local, router| {
        let parent = loopback(local, router);
        check(spent(router, |router, i| {
            let (id, vlan) = (i as u32 + 1, i as u16 % 4094 + 1);
            let inner = Some(i as u16 / 4094 + 1);
            let sub = SubInterface { tags: 2, inner, ..SubInterface::dot1q(id, vlan) };
            router.add_sub_interface(parent, sub).expect("there is room for one more")
        }));
    });
}
