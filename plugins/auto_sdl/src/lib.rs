//! Automatic source deny list: denies peers that leave connections to the host stack half-open.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod peers;

use host_stack::control::filters::deny_learned;
use host_stack::control::sdl::{DENY, SdlRule};
use host_stack::control::{Backend, Hook, backend};
use host_stack::data::Unfinished;
use net::prelude::*;

pub use api::*;
pub use peers::{MOST, Peer, State};

use peers::Peers;

/// Interval of checks for expired rules in seconds.
const LOOK: f64 = 0.5;
/// Tag of the deny rules.
const TAG: &str = "auto-sdl";

/// Denies peers that leave connections half-open.
pub const FEATURE: Feature = Feature {
    name: "auto_sdl",
    about: "Auto SDL",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["session"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of half-open connections after which a peer is denied.
    pub threshold: u32,
    /// Seconds for which a peer is denied, and for which a half-open connection counts.
    pub remove_timeout: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threshold: 5, remove_timeout: 300 }
    }
}

/// State of the control thread.
#[derive(Default)]
struct AutoSdl {
    settings: Option<Settings>,
    peers: Peers,
    /// Whether a check for expired rules is scheduled.
    is_due: bool,
}

/// Reasons for refusing a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// auto-sdl requires `session enable rt-backend sdl'
    #[retval(FEATURE_DISABLED)]
    NoSdl,
    /// the threshold must be greater than 0
    #[retval(INVALID_VALUE)]
    BadThreshold,
    /// the timeout must be greater than 0 seconds
    #[retval(INVALID_VALUE_2)]
    BadTimeout,
}

/// Enables the automatic deny list, or changes its settings.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn enable(router: &mut Router, settings: Settings) -> Result<(), Error> {
    if backend(router) != Some(Backend::Sdl) {
        return Err(Error::NoSdl);
    }
    if settings.threshold == 0 {
        return Err(Error::BadThreshold);
    }
    if settings.remove_timeout == 0 {
        return Err(Error::BadTimeout);
    }
    router.own_mut::<AutoSdl>().settings = Some(settings);
    Ok(())
}

/// Disables the automatic deny list and removes its rules.
pub fn disable(router: &mut Router) {
    let auto = router.own_mut::<AutoSdl>();
    auto.settings = None;
    let denied = auto.peers.clear();
    denied.into_iter().for_each(|peer| allow(router, peer));
}

/// The settings, if enabled.
pub fn settings(router: &Router) -> Option<Settings> {
    router.own::<AutoSdl>().settings
}

/// Peers that are counted or denied, in order.
pub fn peers(router: &Router) -> impl Iterator<Item = (Peer, State)> {
    router.own::<AutoSdl>().peers.iter()
}

fn prefix(peer: Peer) -> Prefix {
    let len = IpVersion::from(peer.addr).bits();
    Prefix::new(peer.addr, len).expect("an address has this many bits")
}

/// Removes the rule for a peer; it may have been deleted with its table.
fn allow(router: &mut Router, peer: Peer) {
    let _ = deny_learned(router, peer.table, prefix(peer), None);
}

fn follow(router: &mut Router, of: Unfinished) {
    let now = router.now();
    let auto = router.own_mut::<AutoSdl>();
    let Some(Settings { threshold, remove_timeout }) = auto.settings else { return };
    let peer = Peer { table: TableIndex(of.fib), addr: of.peer };
    let until = now + f64::from(remove_timeout);
    if !auto.peers.count(peer, threshold, until) {
        watch(router);
        return;
    }
    let rule = SdlRule { action: DENY, tag: TAG.to_owned(), is_learned: true };
    // A configured rule for the peer takes precedence.
    if let Err(why) = deny_learned(router, peer.table, prefix(peer), Some(rule)) {
        router.log.class("auto-sdl", "deny").warn(format_args!("{}: {why}", peer.addr));
    } else {
        router.note(format_args!("auto-sdl: {} is denied", peer.addr));
    }
    watch(router);
}

fn watch(router: &mut Router) {
    let auto = router.own_mut::<AutoSdl>();
    if !auto.peers.is_empty() && !std::mem::replace(&mut auto.is_due, true) {
        router.after(LOOK, look, 0);
    }
}

/// Removes expired rules.
fn look(router: &mut Router, _: u64) {
    let now = router.now();
    let auto = router.own_mut::<AutoSdl>();
    auto.is_due = false;
    let expired = auto.peers.expire(now);
    expired.into_iter().for_each(|peer| allow(router, peer));
    watch(router);
}

fn register(parts: &mut Parts<'_>) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.insert(AutoSdl::default());
    router.events.handle(follow);
    let switch = |router: &mut Router, is_on: bool| {
        if !is_on {
            disable(router);
        }
    };
    host_stack::control::follow(router, Hook { switch, namespace: |_, _, _| {} });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
