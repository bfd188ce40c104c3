//! `ip6-ra-process`: multicast advertisements in time; and answers to solicitations.

use net::prelude::*;

use super::Routers;
use super::node::{RouterSolicitation, Solicited};
use net::nd::ALL_NODES;

const NAME: &str = "ip6-ra-process";

pub(super) fn spawn(router: &mut Router) {
    let body = |router: &mut Router, _| {
        send_due(router);
        let now = router.now();
        let active = router.own::<Routers>().advertisers.iter().filter(|(i, a)| {
            a.is_active() && router.interfaces.at(**i).is_some_and(|i| i.admin_up && i.link_up)
        });
        match active.map(|(_, a)| a.next_multicast).min_by(f64::total_cmp) {
            Some(next) => Wake::AfterOrEvent(Duration::from_secs_f64((next - now).max(0.0))),
            None => Wake::OnEvent,
        }
    };
    router.processes.spawn(NAME, Box::new(body));
}

/// Wakes the process.
pub(super) fn wake(router: &mut Router) {
    router.processes.signal(NAME, 0);
}

/// Sends the advertisements that are due.
pub(super) fn send_due(router: &mut Router) {
    let now = router.now();
    let up = router.interfaces.iter().filter(|i| i.admin_up && i.link_up).map(|i| i.index);
    let up: Vec<_> = up.collect();
    for interface in up {
        let advertiser = router.own_mut::<Routers>().advertisers.get_mut(&interface);
        if advertiser.is_some_and(|a| a.is_due(now)) {
            send(router, interface, None);
        }
    }
}

/// Answers a solicitation, unless there was an answer lately: to the host's address where this is
/// configured and it has one, else to all nodes. The frame goes to the host alone, as in the
/// original.
pub fn solicited(router: &mut Router, host: Solicited) {
    let now = router.now();
    let Some(advertiser) = router.own_mut::<Routers>().advertisers.get_mut(&host.interface) else {
        return;
    };
    if advertiser.is_active() && advertiser.answers(now) {
        let is_alone = advertiser.config.unicast && !host.addr.is_unspecified();
        let dst = if is_alone { host.addr } else { ALL_NODES };
        send(router, host.interface, Some((host.mac, dst)));
    }
}

fn send(router: &mut Router, interface: InterfaceIndex, to: Option<(MacAddr, Ipv6Addr)>) {
    let Some(i) = router.interfaces.at(interface) else { return };
    let (Some(source), Some(advertiser)) =
        (router.addresses.of(interface).link_local, super::advertiser(router, interface))
    else {
        return;
    };
    let frame = advertiser.frame(router.now(), (i.mac, source), i.mtu.for_ip6(), to);
    let (thread, node) =
        (router.engine.data_threads().start, router.own::<Routers>().solicitations);
    router.engine.visit::<RouterSolicitation>(thread, node, move |_, visit| {
        RouterSolicitation::send(visit, interface, &frame);
    });
}
