//! Layer 3 cross-connects: all IPv4 or IPv6 packets that an interface receives leave by given
//! paths, whatever their destination.
//!
//! The node is a feature before the lookup; it sends packets to a load balance that follows the
//! paths, as a route's does.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use net::fib::{self, Followed, GivenPaths, Path};
use net::prelude::*;

pub use api::*;
pub use node::{Crossed, Input};

/// Layer 3 cross-connects.
pub const FEATURE: Feature = Feature {
    name: "l3xc",
    about: "L3 Cross-Connect (L3XC)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Load balances that the IPv4 and the IPv6 packets of an interface go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balances([Option<u32>; 2]);

/// A cross-connect: an interface, and its packets of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Interface.
    pub interface: InterfaceIndex,
    /// The version of the packets.
    pub version: IpVersion,
}

/// Paths of packets.
struct Connect {
    paths: Vec<Path>,
    followed: Followed,
}

/// All cross-connects.
#[derive(Default)]
struct Connects(BTreeMap<Key, Connect>);

/// Reason why a cross-connect is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// a cross-connect needs paths
    #[retval(INVALID_VALUE)]
    NoPaths,
    /// no such cross-connect
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// invalid path: {0}
    #[retval(INVALID_VALUE)]
    Path(fib::Error),
}

/// Sets the paths of an interface's packets; returns the load balance that counts them.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, key: Key, paths: Vec<Path>) -> Result<u32, Error> {
    router.interfaces.at(key.interface).ok_or(Error::NoInterface)?;
    if paths.is_empty() {
        return Err(Error::NoPaths);
    }
    let known = router.own::<Connects>().0.get(&key).map(|c| c.followed.load_balance());
    if let Some(balance) = known {
        router.refollow(balance, &paths).map_err(Error::Path)?;
        let connects = &mut router.own_mut::<Connects>().0;
        connects.get_mut(&key).into_iter().for_each(|c| c.paths.clone_from(&paths));
        return Ok(balance);
    }
    let followed = router.follow_paths(&paths, None).map_err(Error::Path)?;
    let balance = followed.load_balance();
    switch(router, key, Some(balance));
    router.own_mut::<Connects>().0.insert(key, Connect { paths, followed });
    Ok(balance)
}

/// Routes an interface's packets again.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(router: &mut Router, key: Key) -> Result<(), Error> {
    let gone = router.own_mut::<Connects>().0.remove(&key).ok_or(Error::Unknown)?;
    switch(router, key, None);
    router.unfollow(gone.followed);
    Ok(())
}

/// All cross-connects and their paths, by interface.
pub fn all(router: &Router) -> impl Iterator<Item = (Key, &[Path])> {
    followed(router).map(|(key, paths, _)| (key, paths))
}

/// The same, and the routes that packets follow.
pub(crate) fn followed(router: &Router) -> impl Iterator<Item = (Key, &[Path], &Followed)> {
    router.own::<Connects>().0.iter().map(|(key, c)| (*key, &*c.paths, &c.followed))
}

fn switch(router: &mut Router, key: Key, to: Option<u32>) {
    let mut balances = router.setting::<Balances>(key.interface);
    balances.0[key.version as usize] = to;
    router.put(key.interface, balances).expect("it was found, or goes only now");
}

impl GivenPaths for Connects {
    type Key = Key;

    fn all(router: &Router) -> impl Iterator<Item = (Key, &[Path])> {
        all(router)
    }
    fn replace(router: &mut Router, key: &Key, left: Vec<Path>) -> bool {
        set(router, *key, left).is_ok()
    }
    fn end(router: &mut Router, key: &Key) {
        remove(router, *key).expect("it was there just now");
    }
}

/// Forgets the cross-connects of an interface that goes.
fn forget(router: &mut Router, gone: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        for version in IpVersion::ALL {
            // It may have none.
            let _ = remove(router, Key { interface: gone, version });
        }
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let balances = router.attach::<Balances>().map_err(refuse)?;
    router.engine.add_feature(&IP4_UNICAST, Input::<V4>::new(&balances)).map_err(refuse)?;
    router.engine.add_feature(&IP6_UNICAST, Input::<V6>::new(&balances)).map_err(refuse)?;
    router.attach_at::<Balances, _>([
        AttachedAt { arc: &IP4_UNICAST, node: V4::NODE, is_on: |to| to.0[0].is_some() },
        AttachedAt { arc: &IP6_UNICAST, node: V6::NODE, is_on: |to| to.0[1].is_some() },
    ]);
    router.insert(Connects::default());
    router.interfaces.observe(forget);
    router.interfaces.observe(fib::forget_paths::<Connects>);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
