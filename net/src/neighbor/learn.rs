//! Neighbours learned from the messages that they send.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use wire::{IpVersion, MacAddr};

use super::table::{Evidence, Outcome};
use super::{has_neighbors, release};
use crate::events::Event;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Neighbours that asked, and whose answers are waited for, at most.
const MOST_HEARD: usize = 4096;

/// A neighbor announced its MAC address.
#[derive(Clone, Copy, Debug)]
pub struct Learned {
    /// The interface it is on.
    pub interface: InterfaceIndex,
    /// Address.
    pub addr: IpAddr,
    /// MAC address.
    pub mac: MacAddr,
    /// Weight of the message as evidence.
    pub how: Evidence,
}

impl Event for Learned {}

/// A neighbor announced its MAC address when it requested ours, by ARP.
#[derive(Clone, Copy, Debug)]
pub struct Heard(pub Learned);

impl Event for Heard {}

/// Takes note of what the data plane heard. Packets that wait for it go on with [`release`].
pub fn learned(router: &mut Router, news: Learned) {
    if take_note(router, news) {
        router.neighbors_mut().known.push((news.interface, news.addr));
    }
}

/// Takes note of a neighbour that asked. Packets that wait for it go on with its answer to our own
/// question, or after the time for one.
pub(super) fn heard(router: &mut Router, Heard(news): Heard) {
    let (key, now) = ((news.interface, news.addr), router.now());
    let before = router.neighbors().known.len();
    if take_note(router, news) {
        let neighbors = router.neighbors_mut();
        // Its route's new adjacency has found it known.
        neighbors.known.truncate(before);
        if neighbors.is_ticking && neighbors.heard.len() < MOST_HEARD {
            neighbors.heard.push((key, now));
        } else {
            neighbors.known.push(key);
        }
    }
}

/// Sends packets on whose neighbors had `time` seconds to answer since the request.
pub(super) fn end_hearing(router: &mut Router, time: f64) {
    let now = router.now();
    let neighbors = router.neighbors_mut();
    let ended = neighbors.heard.extract_if(.., |(_, at)| !(0.0..time).contains(&(now - *at)));
    neighbors.known.extend(ended.map(|(key, _)| key));
    release(router);
}

/// Whether a neighbour is known now, as it says.
fn take_note(router: &mut Router, Learned { interface, addr, mac, how }: Learned) -> bool {
    let (key, now) = ((interface, addr), router.now());
    let is_up = router.interfaces.at(interface).is_some_and(|i| i.admin_up && i.link_up);
    if !is_up || !has_neighbors(router, interface) {
        return false;
    }
    let learned = router.with_room(key, |table| table.learn(key, mac, how, now));
    let neighbors = router.neighbors_mut();
    if learned.is_err() {
        neighbors.table.refused[IpVersion::from(addr) as usize] += 1;
    }
    let outcome = learned.unwrap_or(Outcome::Ignored);
    let Some(neighbor) = neighbors.table.at(key).copied() else { return false };
    // Packets can wait for a neighbour that is known: the answer overtook a change of routes.
    if outcome == Outcome::Ignored || !neighbor.has_route {
        return false;
    }
    let settled = router.settle(key, neighbor, outcome);
    if let Err(why) = &settled {
        router.log.class("ip", "neighbor").error(format_args!("{addr}: {why}"));
    }
    settled.is_ok()
}
