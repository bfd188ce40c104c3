//! Simulator of long links: delay, loss and reordering.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod link;
mod node;

use net::interface::{DEVICE_INPUT, INTERFACE_OUTPUT};
use net::ip::add_with_outputs;
use net::prelude::*;

pub use api::*;
pub use link::Link;
use link::MOST;

/// Simulator of long links.
pub const FEATURE: Feature = Feature {
    name: "nsim",
    about: "Simulator of delay, loss and reordering",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Sizes of packets that make sense, in bytes.
const SIZES: std::ops::RangeInclusive<u32> = 64..=9000;

/// The other interface that what an interface receives leaves by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Peer(Option<InterfaceIndex>);

/// Whether what an interface sends is late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Late(bool);

/// The state of control.
struct Simulator(Shared<Option<Link>>);

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such second interface
    #[retval(INVALID_SW_IF_INDEX_2)]
    NoSecond,
    /// an interface cannot be connected to itself
    #[retval(INVALID_SW_IF_INDEX_2)]
    Same,
    /// no link parameters: set nsim
    #[retval(CANNOT_ENABLE_DISABLE_FEATURE)]
    NoLink,
    /// the delay must be more than 0
    #[retval(INVALID_VALUE)]
    NoDelay,
    /// the bandwidth must be more than 0
    #[retval(INVALID_VALUE)]
    NoBandwidth,
    /// the packet size must be 64 to 9000 bytes, not {0}
    #[retval(INVALID_VALUE_2)]
    BadSize(u32),
    /// a fraction must be 0 to 1
    #[retval(INVALID_VALUE)]
    BadFraction,
    /// a time must be more than 0
    #[retval(INVALID_VALUE)]
    BadTime,
    /// a rate that changes needs a buffer
    #[retval(INVALID_VALUE)]
    NoBuffer,
    /// the link is in use
    #[retval(INSTANCE_IN_USE)]
    InUse,
}

/// Sets what links are like.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_link(router: &mut Router, link: Link) -> Result<(), Error> {
    if link.delay.is_nan() || link.delay <= 0.0 {
        return Err(Error::NoDelay);
    }
    if link.bandwidth == 0 {
        return Err(Error::NoBandwidth);
    }
    if !SIZES.contains(&link.packet_size) {
        return Err(Error::BadSize(link.packet_size));
    }
    let burst = link.burst.map_or(0.0, |(probability, _)| probability);
    if [link.drop_fraction, link.reorder_fraction, burst].iter().any(|f| !(0.0..=1.0).contains(f)) {
        return Err(Error::BadFraction);
    }
    let [outage, stall] = [link.outage, link.stall.map(|(_, every, long)| (every, long))]
        .map(|pair| pair.map_or([None; 2], |(a, b)| [Some(a), Some(b)]));
    let times = [link.buffer, link.burst.map(|(_, long)| long), Some(link.reorder_delay)];
    let is_time = |time: &f64| *time >= 0.0 && time.is_finite();
    if !times.iter().chain(&outage).chain(&stall).flatten().all(is_time) {
        return Err(Error::BadTime);
    }
    match link.stall {
        Some((_, every, _)) if every <= 0.0 => return Err(Error::BadTime),
        Some((0, ..)) => return Err(Error::NoBandwidth),
        Some(_) if link.buffer.is_none() => return Err(Error::NoBuffer),
        _ => {}
    }
    router.own_mut::<Simulator>().0.publish(Some(link));
    Ok(())
}

/// Deletes the link parameters.
///
/// # Errors
/// [`Error::InUse`]; nothing has changed then.
pub fn forget_link(router: &mut Router) -> Result<(), Error> {
    let is_used = router.settings::<Peer>().any(|(_, peer)| peer.0.is_some())
        || router.settings::<Late>().any(|(_, late)| late.0);
    if is_used {
        return Err(Error::InUse);
    }
    router.own_mut::<Simulator>().0.publish(None);
    Ok(())
}

fn need_link(router: &Router, on: bool) -> Result<(), Error> {
    let is_there = router.own::<Simulator>().0.current().is_some();
    if on && !is_there { Err(Error::NoLink) } else { Ok(()) }
}

/// Cross-connects two interfaces over a link, or disconnects them.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn connect(router: &mut Router, [a, b]: [InterfaceIndex; 2], on: bool) -> Result<(), Error> {
    need_link(router, on)?;
    router.interfaces.at(a).ok_or(Error::NoInterface)?;
    router.interfaces.at(b).ok_or(Error::NoSecond)?;
    if a == b {
        return Err(Error::Same);
    }
    for interface in [a, b] {
        disconnect(router, interface);
    }
    if on {
        router.put(a, Peer(Some(b)))?;
        router.put(b, Peer(Some(a)))?;
    }
    Ok(())
}

/// Ends the connection of an interface, if it has one.
fn disconnect(router: &mut Router, interface: InterfaceIndex) {
    if let Peer(Some(peer)) = router.setting::<Peer>(interface) {
        for end in [interface, peer] {
            // A deleted one has no setting.
            let _ = router.put(end, Peer(None));
        }
    }
}

/// Enables or disables a link on an interface's output.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_late(router: &mut Router, interface: InterfaceIndex, on: bool) -> Result<(), Error> {
    need_link(router, on)?;
    Ok(router.put(interface, Late(on))?)
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        disconnect(router, interface);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.interfaces.observe(follow);
    let peers = router.attach::<Peer>().map_err(refuse)?;
    router.attach::<Late>().map_err(refuse)?;
    let link = Shared::new(None);
    let queue = node::Queue::new(link.reader());
    let engine = &mut router.engine;
    engine
        .add_feature(&DEVICE_INPUT, node::Cross { peers, queue: queue.clone() })
        .map_err(refuse)?;
    engine.add_feature(&INTERFACE_OUTPUT, node::Output { queue }).map_err(refuse)?;
    add_with_outputs(router, |edges| node::Wheel { edges })?;
    router.attach_at::<Peer, _>([AttachedAt {
        arc: &DEVICE_INPUT,
        node: node::CROSS,
        is_on: |peer| peer.0.is_some(),
    }]);
    let node = node::OUTPUT;
    router.attach_at::<Late, _>([AttachedAt { arc: &INTERFACE_OUTPUT, node, is_on: |l| l.0 }]);
    router.insert(Simulator(link));
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
