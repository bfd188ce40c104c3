//! Forwarding by access lists: packets that an interface receives and that a list permits leave by
//! the paths of a policy, whatever their destination.
//!
//! The policies of an interface are asked in the order of their priorities, the lowest first, and
//! the first rule about a packet counts: if it denies, or there is none, the packet is routed. The
//! node sends packets to a load balance that follows a policy's paths, as a route's does.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use acl::User;
use net::fib::{self, Followed, GivenPaths, Path};
use net::prelude::*;

pub use api::*;
pub use node::{Forwarded, Input};

/// Forwarding by access lists.
pub const FEATURE: Feature = Feature {
    name: "abf",
    about: "Access Control List (ACL) Based Forwarding",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["acl", "ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The links whose packets policies forward.
pub const LINKS: [Link; 2] = [Link::Ip4, Link::Ip6];

/// A policy.
pub struct Policy {
    /// The access list.
    pub list: u32,
    /// The version of the next hops, a place in [`LINKS`].
    pub version: usize,
    /// Paths of packets of both versions; none of one that cannot take them.
    paths: [Vec<Path>; 2],
    followed: [Option<Followed>; 2],
}

impl Policy {
    /// The followed routes of packets of both versions.
    pub(crate) fn followed(&self, version: usize) -> Option<&Followed> {
        self.followed[version].as_ref()
    }
    /// The paths, as they are for packets of the version of their next hops.
    pub fn paths(&self) -> &[Path] {
        &self.paths[self.version]
    }
}

/// A policy attached to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attached {
    /// Place in the order of an interface's policies; the lowest comes first.
    pub priority: u32,
    /// Policy.
    pub policy: u32,
    /// Access list.
    pub list: u32,
    /// The load balance of its paths.
    pub balance: u32,
}

/// The policies for packets of IPv4 and IPv6 that an interface receives, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachments(pub [Vec<Attached>; 2]);

/// All policies.
#[derive(Default)]
struct Policies(BTreeMap<u32, Policy>);

/// Reason why a request about policies is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(net::interface::NoInterface)]
    NoInterface,
    /// no policy {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(u32),
    /// no access list {0}
    #[retval(NO_SUCH_ENTRY)]
    NoList(u32),
    /// policy {0} uses another access list
    #[retval(INVALID_VALUE)]
    OtherList(u32),
    /// the paths of policy {0} are of the other IP version
    #[retval(INVALID_VALUE)]
    OtherVersion(u32),
    /// a policy needs paths
    #[retval(INVALID_VALUE)]
    NoPaths,
    /// policy {0} has no such path
    #[retval(NO_SUCH_ENTRY)]
    NoPath(u32),
    /// policy {0} is attached to interfaces
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// policy {0} is already attached
    #[retval(ENTRY_ALREADY_EXISTS)]
    Attached(u32),
    /// policy {0} is not attached
    #[retval(NO_SUCH_ENTRY)]
    NotAttached(u32),
    /// invalid path: {0}
    #[retval(INVALID_VALUE)]
    Path(fib::Error),
}

/// All policies by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Policy)> {
    router.own::<Policies>().0.iter().map(|(id, policy)| (*id, policy))
}

/// A policy's interfaces, with the version of the packets, a place in [`LINKS`].
pub fn attachments(router: &Router) -> impl Iterator<Item = (InterfaceIndex, usize, &Attached)> {
    router.settings::<Attachments>().flat_map(|(interface, attachments)| {
        let all = attachments.0.iter().enumerate();
        all.flat_map(move |(version, attachments)| {
            attachments.iter().map(move |attachment| (interface, version, attachment))
        })
    })
}

/// Makes a policy with paths for packets of IPv4 and IPv6, or gives one more paths. `version` is
/// that of the next hops, a place in [`LINKS`].
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    id: u32,
    list: u32,
    version: usize,
    paths: [Vec<Path>; 2],
) -> Result<(), Error> {
    acl::all(router).at(list).ok_or(Error::NoList(list))?;
    if paths[version].is_empty() {
        return Err(Error::NoPaths);
    }
    if let Some(policy) = router.own::<Policies>().0.get(&id) {
        if policy.list != list {
            return Err(Error::OtherList(id));
        }
        let is_like = |at: usize| paths[at].is_empty() == policy.paths[at].is_empty();
        if policy.version != version || !is_like(0) || !is_like(1) {
            return Err(Error::OtherVersion(id));
        }
        let more = |old: &[Path], new: &[Path]| {
            let mut all = old.to_vec();
            all.extend(new.iter().filter(|path| !old.contains(path)).cloned());
            all
        };
        let all = [0, 1].map(|at| more(&policy.paths[at], &paths[at]));
        return set_paths(router, id, all);
    }
    let first = follow_paths(router, &paths[0])?;
    let second = match follow_paths(router, &paths[1]) {
        Ok(second) => second,
        Err(why) => {
            first.into_iter().for_each(|first| router.unfollow(first));
            return Err(why);
        }
    };
    let policy = Policy { list, version, paths, followed: [first, second] };
    router.own_mut::<Policies>().0.insert(id, policy);
    Ok(())
}

fn follow_paths(router: &mut Router, paths: &[Path]) -> Result<Option<Followed>, Error> {
    if paths.is_empty() {
        return Ok(None);
    }
    router.follow_paths(paths, None).map(Some).map_err(Error::Path)
}

/// Replaces the paths of a policy.
fn set_paths(router: &mut Router, id: u32, paths: [Vec<Path>; 2]) -> Result<(), Error> {
    let policy = router.own::<Policies>().0.get(&id).ok_or(Error::Unknown(id))?;
    let followed = policy.followed.iter().zip(&policy.paths).zip(&paths);
    let followed = followed.filter_map(|((f, old), new)| Some((f.as_ref()?, old.clone(), new)));
    let changes: Vec<_> = followed.map(|(f, old, new)| (f.load_balance(), old, new)).collect();
    for (at, (balance, _, new)) in changes.iter().enumerate() {
        if let Err(why) = router.refollow(*balance, new) {
            for (balance, old, _) in &changes[..at] {
                // These paths were followed just now.
                let _ = router.refollow(*balance, old);
            }
            return Err(Error::Path(why));
        }
    }
    if let Some(policy) = router.own_mut::<Policies>().0.get_mut(&id) {
        policy.paths = paths;
    }
    Ok(())
}

/// Takes paths from a policy; with its last one, or where none is named, it goes.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(router: &mut Router, id: u32, gone: &[Path]) -> Result<(), Error> {
    let policy = router.own::<Policies>().0.get(&id).ok_or(Error::Unknown(id))?;
    let own = policy.paths();
    if gone.iter().any(|path| !own.contains(path)) {
        return Err(Error::NoPath(id));
    }
    let stays: Vec<bool> = own.iter().map(|path| !gone.contains(path)).collect();
    if !gone.is_empty() && stays.contains(&true) {
        let left = [0, 1].map(|at| kept(&policy.paths[at], &stays));
        return set_paths(router, id, left);
    }
    if attachments(router).any(|(_, _, attachment)| attachment.policy == id) {
        return Err(Error::InUse(id));
    }
    forget(router, id);
    Ok(())
}

/// The paths at the places that stay.
fn kept(paths: &[Path], stays: &[bool]) -> Vec<Path> {
    paths.iter().zip(stays).filter(|(_, stays)| **stays).map(|(path, _)| path.clone()).collect()
}

/// Ends a policy that is attached nowhere.
fn forget(router: &mut Router, id: u32) {
    let Some(policy) = router.own_mut::<Policies>().0.remove(&id) else { return };
    policy.followed.into_iter().flatten().for_each(|followed| router.unfollow(followed));
}

/// Attaches a policy to the packets of a version that an interface receives.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn attach(
    router: &mut Router,
    id: u32,
    interface: InterfaceIndex,
    version: usize,
    priority: u32,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let policy = router.own::<Policies>().0.get(&id).ok_or(Error::Unknown(id))?;
    let followed = policy.followed[version].as_ref().ok_or(Error::OtherVersion(id))?;
    let (list, balance) = (policy.list, followed.load_balance());
    let mut attachments = router.setting::<Attachments>(interface);
    if attachments.0[version].iter().any(|attachment| attachment.policy == id) {
        return Err(Error::Attached(id));
    }
    let at = attachments.0[version].partition_point(|attachment| attachment.priority <= priority);
    attachments.0[version].insert(at, Attached { priority, policy: id, list, balance });
    Ok(router.put(interface, attachments)?)
}

/// Detaches a policy.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn detach(
    router: &mut Router,
    id: u32,
    interface: InterfaceIndex,
    version: usize,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    router.own::<Policies>().0.get(&id).ok_or(Error::Unknown(id))?;
    let mut attachments = router.setting::<Attachments>(interface);
    let count = attachments.0[version].len();
    attachments.0[version].retain(|attachment| attachment.policy != id);
    if attachments.0[version].len() == count {
        return Err(Error::NotAttached(id));
    }
    Ok(router.put(interface, attachments)?)
}

impl GivenPaths for Policies {
    type Key = u32;

    fn all(router: &Router) -> impl Iterator<Item = (u32, &[Path])> {
        all(router).map(|(id, policy)| (id, policy.paths()))
    }
    fn replace(router: &mut Router, id: &u32, left: Vec<Path>) -> bool {
        let Some(policy) = router.own::<Self>().0.get(id) else { return false };
        let stays: Vec<_> = policy.paths().iter().map(|path| left.contains(path)).collect();
        let left = [0, 1].map(|at| kept(&policy.paths[at], &stays));
        set_paths(router, *id, left).is_ok()
    }
    fn end(router: &mut Router, id: &u32) {
        let at = attachments(router).filter(|(_, _, attachment)| attachment.policy == *id);
        let at: Vec<_> = at.map(|(interface, version, _)| (interface, version)).collect();
        for (interface, version) in at {
            detach(router, *id, interface, version).expect("it was attached just now");
        }
        forget(router, *id);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let reader = router.attach::<Attachments>().map_err(refuse)?;
    let lists = acl::all(router).reader();
    let engine = &mut router.engine;
    engine.add_feature(&IP4_UNICAST, Input::<V4>::new(&reader, &lists)).map_err(refuse)?;
    engine.add_feature(&IP6_UNICAST, Input::<V6>::new(&reader, &lists)).map_err(refuse)?;
    router.attach_at::<Attachments, _>([
        AttachedAt {
            arc: &IP4_UNICAST,
            node: V4::NODE,
            is_on: |attachments| !attachments.0[0].is_empty(),
        },
        AttachedAt {
            arc: &IP6_UNICAST,
            node: V6::NODE,
            is_on: |attachments| !attachments.0[1].is_empty(),
        },
    ]);
    router.insert(Policies::default());
    router.interfaces.observe(fib::forget_paths::<Policies>);
    acl::add_user(
        router,
        User {
            name: "ABF plugin",
            labels: ["policy", "attachments"],
            uses: |router| {
                let attached = |id| attachments(router).filter(|(.., w)| w.policy == id).count();
                all(router).map(|(id, p)| ([id, attached(id) as u32], vec![p.list])).collect()
            },
        },
    );
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
