//! Messages of the module `abf`.

use control::api::{Api, Message, Record, Retval};
use net::fib::types::{FibPath, FibPathNhProto};
use net::fib::{Path, RouteOf};
use net::{InterfaceIndex, Router};

use super::{LINKS, Policy, all, attachments};

/// Get the version of the feature.
#[derive(Message)]
#[option("status", "in_progress")]
#[reply(AbfPluginGetVersionReply)]
pub struct AbfPluginGetVersion {}

/// The version of the feature.
#[derive(Message)]
#[option("status", "in_progress")]
#[head(details)]
pub struct AbfPluginGetVersionReply {
    /// major version
    pub major: u32,
    /// minor version
    pub minor: u32,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
#[file("")]
pub struct AbfPolicy {
    /// index
    pub policy_id: u32,
    /// access list
    pub acl_index: u32,
    /// paths for packets the list permits
    #[counted(n_paths: u8)]
    pub paths: Vec<FibPath>,
}

/// A policy attached to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("")]
pub struct AbfItfAttach {
    /// policy
    pub policy_id: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// priority on the interface; the lowest is tried first
    pub priority: u32,
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
}

/// Add or delete a policy, or some of its paths.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct AbfPolicyAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// policy
    pub policy: AbfPolicy,
}

/// List policies.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(AbfPolicyDetails)]
pub struct AbfPolicyDump {}

/// A policy.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct AbfPolicyDetails {
    /// policy
    pub policy: AbfPolicy,
}

/// Attach or detach a policy.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct AbfItfAttachAddDel {
    /// true to attach, false to detach
    pub is_add: bool,
    /// policy and interface
    pub attach: AbfItfAttach,
}

/// List attached policies.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(AbfItfAttachDetails)]
pub struct AbfItfAttachDump {}

/// A policy attached to an interface.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct AbfItfAttachDetails {
    /// policy and interface
    pub attach: AbfItfAttach,
}

impl AbfPolicy {
    /// The version of its next hops, a place in [`LINKS`].
    fn version(&self) -> usize {
        usize::from(self.paths.iter().any(|path| path.proto == FibPathNhProto::IP6))
    }
    /// Its paths for packets of a version.
    fn native(&self, router: &Router, version: usize) -> Result<Vec<Path>, Retval> {
        let path = |path: &FibPath| path.native_of(router, RouteOf::Link(LINKS[version]));
        self.paths.iter().map(path).collect()
    }
    fn of(router: &Router, policy_id: u32, policy: &Policy) -> Self {
        let link = LINKS[policy.version];
        let paths = policy.paths().iter().take(u8::MAX.into());
        let paths = paths.map(|path| FibPath::of_link(router, link, path)).collect();
        Self { policy_id, acl_index: policy.list, paths }
    }
}

fn change(router: &mut Router, m: &AbfPolicyAddDel) -> Result<(), Retval> {
    let (policy, version) = (&m.policy, m.policy.version());
    if m.is_add {
        let own = policy.native(router, version)?;
        // What packets of the other version cannot take they do without.
        let other = policy.native(router, 1 - version).unwrap_or_default();
        let paths = if version == 0 { [own, other] } else { [other, own] };
        return Ok(super::add(router, policy.policy_id, policy.acl_index, version, paths)?);
    }
    let paths = policy.native(router, version)?;
    Ok(super::remove(router, policy.policy_id, &paths)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("abf", "1.0.0")
        .call(|_: &mut Router, _: AbfPluginGetVersion| {
            Ok(AbfPluginGetVersionReply { major: 1, minor: 0 })
        })
        .call(|router: &mut Router, m: AbfPolicyAddDel| change(router, &m))
        .call(|router: &mut Router, m: AbfItfAttachAddDel| {
            let AbfItfAttach { policy_id, sw_if_index, priority, is_ipv6 } = m.attach;
            let version = usize::from(is_ipv6);
            let done = if m.is_add {
                super::attach(router, policy_id, sw_if_index, version, priority)
            } else {
                super::detach(router, policy_id, sw_if_index, version)
            };
            Ok(done?)
        })
        .dump(|router: &mut Router, _: AbfPolicyDump| {
            let row = |(id, policy)| AbfPolicyDetails { policy: AbfPolicy::of(router, id, policy) };
            all(router).map(row).collect()
        })
        .dump(|router: &mut Router, _: AbfItfAttachDump| {
            let row = |(sw_if_index, version, attachment): (_, usize, &super::Attached)| {
                let (policy_id, priority) = (attachment.policy, attachment.priority);
                let is_ipv6 = version == 1;
                let attach = AbfItfAttach { policy_id, sw_if_index, priority, is_ipv6 };
                AbfItfAttachDetails { attach }
            };
            attachments(router).map(row).collect()
        });
}
