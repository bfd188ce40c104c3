//! Runs the actions that the state machine asks for.

use net::prelude::*;
use wire::checksum::{ip4_pseudo, ip6_pseudo};

use super::machine::{Act, Ends, NATT_PORT, Noted};
use super::node::{Arrived, Count, Error, Input};
use super::work::Worked;
use super::{Ikev2, PROCESS, install};

/// Handles a received message.
pub(super) fn arrived(router: &mut Router, arrived: Arrived) {
    let now = router.now();
    let on = router.addresses.of(InterfaceIndex(arrived.interface));
    let ends = Ends {
        local: arrived.to,
        remote: arrived.from,
        table: on.table_for(arrived.to.0).0,
        interface: arrived.interface,
        node: arrived.node,
    };
    let all = router.own_mut::<Ikev2>();
    let was_idle = all.machine.is_idle();
    all.machine.receive(now, ends, arrived.bytes());
    carry_out(router);
    if was_idle {
        router.processes.signal(PROCESS, 0);
    }
}

/// Handles a finished public-key computation.
pub(super) fn worked(router: &mut Router, _: Worked) {
    while let Some((sa, done)) = router.own::<Ikev2>().worker.take() {
        let now = router.now();
        router.own_mut::<Ikev2>().machine.done(now, sa, done);
        carry_out(router);
    }
}

/// Runs all pending actions of the state machine.
pub(super) fn carry_out(router: &mut Router) {
    loop {
        let acts = router.own_mut::<Ikev2>().machine.take_acts();
        if acts.is_empty() {
            return;
        }
        acts.into_iter().for_each(|act| one(router, act));
    }
}

fn one(router: &mut Router, act: Act) {
    match act {
        Act::Send(ends, bytes) if ends.local.1 == NATT_PORT => {
            send(router, &ends, &[&[0; 4], &bytes[..]].concat());
        }
        Act::Send(ends, bytes) => send(router, &ends, &bytes),
        Act::Keepalive(ends) => send(router, &ends, &[0xff]),
        Act::Compute(sa, job, from) => {
            let done = router.own::<Ikev2>().worker.give(sa, job, from);
            let now = router.now();
            if let Some(done) = done {
                router.own_mut::<Ikev2>().machine.done(now, sa, done);
            }
        }
        Act::Install(child) => install::add(router, &child),
        Act::Remove(child) => install::remove(router, child),
        Act::Count(node, what) => match node {
            0 => count::<0>(router, what),
            1 => count::<1>(router, what),
            _ => count::<2>(router, what),
        },
        Act::Log(text) => router.log.class("ikev2", "").notice(text),
    }
}

fn count<const AT: usize>(router: &mut Router, what: Noted) {
    let count = match what {
        Noted::Malformed => {
            return router.engine.count_reason_at::<Input<AT>>(Error::Malformed, 1);
        }
        Noted::InitRetransmit => Count::InitRetransmit,
        Noted::InitIgnored => Count::InitIgnored,
        Noted::Retransmit => Count::Retransmit,
        Noted::Ignored => Count::Ignored,
        Noted::Rekey => Count::Rekey,
        Noted::Init => Count::Init,
        Noted::Auth => Count::Auth,
        Noted::Keepalive => Count::Keepalive,
    };
    router.engine.count_at::<Input<AT>>(count, 1);
}

/// Sends a datagram.
fn send(router: &mut Router, ends: &Ends, data: &[u8]) {
    let Some((node, packet)) = packet(ends, data) else { return };
    let Some(node) = router.engine.index_of(node) else { return };
    let thread = router.engine.data_threads().start;
    let table = ends.table;
    router.engine.inject(thread, node, packet, move |p| {
        let l3 = p.offset();
        p.set_l3_offset(l3);
        p.set_fib(table);
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}

fn packet(ends: &Ends, data: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let len = u16::try_from(size_of::<udp::Header>() + data.len()).ok()?;
    let mut header = udp::Header::new(ends.local.1, ends.remote.1, len);
    match (ends.local.0, ends.remote.0) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let pseudo = ip4_pseudo(src.octets(), dst.octets(), Protocol::UDP, len);
            header.checksum = pseudo.add_bytes(header.as_bytes()).add_bytes(data).udp_checksum();
            let total = len.checked_add(size_of::<ip4::Header>() as u16)?;
            let front = ip4::Header::new(src, dst, Protocol::UDP, total);
            Some(("ip4-lookup", [front.as_bytes(), header.as_bytes(), data].concat()))
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let pseudo = ip6_pseudo(src.octets(), dst.octets(), Protocol::UDP, len.into());
            header.checksum = pseudo.add_bytes(header.as_bytes()).add_bytes(data).udp_checksum();
            let front = ip6::Header::new(src, dst, Protocol::UDP, len);
            Some(("ip6-lookup", [front.as_bytes(), header.as_bytes(), data].concat()))
        }
        _ => None,
    }
}
