//! Mirrors (SPAN): copies of what an interface receives or sends leave by other interfaces.
//!
//! On devices all frames are copied on receive and transmit; on layer 2 those that are bridged or
//! cross-connected, which get the destination's tag rewrite. Copies are not copied again.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use graph::Claim;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::interface::{DEVICE_INPUT, INTERFACE_OUTPUT};
use net::prelude::*;

pub use api::*;
pub use node::{Mirror, MirrorLayer2};

/// The place where frames are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorPoint {
    /// The device, on receive and transmit.
    Device,
    /// Bridged and cross-connected frames.
    Layer2,
}

/// The directions of an interface's copied frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// Received packets.
    pub rx: bool,
    /// Sent packets.
    pub tx: bool,
}

/// Destinations of an interface's copies: at devices and on layer 2, of what is received and sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors([[Vec<u32>; 2]; 2]);

/// Reasons why a mirror cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// an interface cannot be its own mirror
    #[retval(INVALID_INTERFACE)]
    Itself,
}

/// Mirrors frames of an interface to another one, or stops (`to` is `None`).
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    from: InterfaceIndex,
    to: Option<InterfaceIndex>,
    at: MirrorPoint,
    which: Directions,
) -> Result<(), Error> {
    router.interfaces.at(from).ok_or(Error::NoInterface)?;
    if let Some(to) = to {
        router.interfaces.at(to).ok_or(Error::NoInterface)?;
    }
    if to == Some(from) {
        return Err(Error::Itself);
    }
    let mut all = router.setting::<Mirrors>(from);
    let lists = &mut all.0[at as usize];
    for (list, is_on) in lists.iter_mut().zip([which.rx, which.tx]) {
        match to {
            None => list.clear(),
            Some(to) => {
                list.retain(|other| *other != to.0);
                if is_on {
                    list.push(to.0);
                    list.sort_unstable();
                }
            }
        }
    }
    Ok(router.put(from, all)?)
}

/// All mirrors of a place: source, destination and which frames, in the order of both.
pub fn all(router: &Router, at: MirrorPoint) -> Vec<(InterfaceIndex, InterfaceIndex, Directions)> {
    let mut rows = Vec::new();
    for (from, Mirrors(lists)) in router.settings::<Mirrors>() {
        let [rx, tx] = &lists[at as usize];
        let mut to: Vec<u32> = rx.iter().chain(tx).copied().collect();
        to.sort_unstable();
        to.dedup();
        let which = |to| Directions { rx: rx.contains(&to), tx: tx.contains(&to) };
        rows.extend(to.into_iter().map(|to| (from, InterfaceIndex(to), which(to))));
    }
    rows
}

/// Removes a deleted interface from all mirror destinations.
fn follow(router: &mut Router, gone: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    for at in [MirrorPoint::Device, MirrorPoint::Layer2] {
        for (from, to, _) in all(router, at) {
            if to == gone && from != gone {
                let done = set(router, from, Some(to), at, Directions::default());
                done.expect("an interface that is being deleted is still there");
            }
        }
    }
}

/// Mirrors.
pub const FEATURE: Feature = Feature {
    name: "span",
    about: "Mirrors of what interfaces receive and send",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface", "ethernet", "l2"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let mirrors = router.attach::<Mirrors>().map_err(refuse)?;
    router.engine.claim(Claim::of("mirrored", node::MIRRORED)).map_err(refuse)?;
    node::add(router, &mirrors)?;
    let [input, output, input2, output2] = node::NAMES;
    router.attach_at::<Mirrors, _>([
        AttachedAt { arc: &DEVICE_INPUT, node: input, is_on: |m| !m.0[0][0].is_empty() },
        AttachedAt { arc: &INTERFACE_OUTPUT, node: output, is_on: |m| !m.0[0][1].is_empty() },
        AttachedAt { arc: &L2_INPUT, node: input2, is_on: |m| !m.0[1][0].is_empty() },
        AttachedAt { arc: &L2_OUTPUT, node: output2, is_on: |m| !m.0[1][1].is_empty() },
    ]);
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
