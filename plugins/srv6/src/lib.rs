//! Segment routing over IPv6 (RFC 8402, RFC 8754, RFC 8986): local SIDs, which are addresses that
//! do something to packets; policies, which are lists of SIDs; and what is steered into them.
//!
//! A local SID is a route to an object of [`sid`]; a policy is one to an object of [`policy`],
//! under its binding SID. What is steered is a route to the same objects, or a feature of an
//! interface. Other plugins add behaviors of local SIDs ([`add_behavior`]).
#![forbid(unsafe_code)]

mod api;
mod behavior;
mod cli;
mod decap;
mod end;
mod messages;
mod policy;
mod rewrite;
mod show;
mod sid;
mod steer;

use control::feature::Registered;
use net::ethernet::L2_INPUT;
use net::fib::{self, NewKind, ObjectKind};
use net::interface::DEVICE_INPUT;
use net::prelude::*;

pub use behavior::{Behavior, Making, PolicyBehavior, add_behavior, add_policy_behavior};
pub use decap::{Decap, inner_len};
pub use end::Error as Drops;
pub use messages::*;
pub use policy::{
    Change, Kind, NewPolicy, add as add_policy, on_change as on_policy_change, segment_lists,
};
pub use sid::{What, add as add_sid, remove as remove_sid};
pub use steer::{Traffic, set as steer, unset as unsteer};

/// Ethernet frames behind an IPv6 header (RFC 8986 section 10.1).
pub const ETHERNET: wire::Protocol = wire::Protocol(143);

/// The kinds of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinds {
    /// Local SIDs that look at the next segment.
    end: ObjectKind,
    /// Objects that take the outer headers off.
    decap: ObjectKind,
    /// Micro-SIDs: with the header looked at, and without.
    micro: [ObjectKind; 2],
    /// Policies for what is steered into them: headers put in front, put in.
    steered: [ObjectKind; 2],
    /// The same for packets to the binding SID.
    bound: [ObjectKind; 2],
}

/// State of the control plane.
pub(crate) struct Segments {
    sids: sid::Sids,
    policies: policy::Policies,
    steered: steer::Steered,
    behaviors: Registered<Behavior>,
    policy_behaviors: Registered<PolicyBehavior>,
    /// Called with the binding SID of a policy that was made, changed or deleted.
    on_policies: Registered<fn(&mut Router, Ipv6Addr)>,
    kinds: Kinds,
    /// Source address of headers that are put in front.
    source: Ipv6Addr,
    /// Their hop limit.
    hop_limit: u8,
}

/// Reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// the local SID exists
    #[retval(VALUE_EXIST)]
    SidExists,
    /// no such local SID
    #[retval(NO_SUCH_ENTRY)]
    NoSid,
    /// no such behavior
    #[retval(INVALID_VALUE)]
    NoBehavior,
    /// lengths must be multiples of 8, the node's nonzero, and add up to at most 128
    #[retval(INVALID_VALUE_2)]
    Lengths,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// the next hop is of the other IP version
    #[retval(INVALID_ADDRESS_FAMILY)]
    NextHop,
    /// no such table
    #[retval(NO_SUCH_FIB)]
    NoTable,
    /// a policy with this binding SID exists
    #[retval(VALUE_EXIST)]
    PolicyExists,
    /// no such policy
    #[retval(NO_SUCH_ENTRY)]
    NoPolicy,
    /// no such segment list
    #[retval(NO_SUCH_ENTRY)]
    NoList,
    /// a list has 1 to 16 segments
    #[retval(INVALID_VALUE)]
    Segments,
    /// the last segment list cannot be deleted: delete the policy
    #[retval(INVALID_VALUE)]
    LastList,
    /// unknown policy type
    #[retval(UNIMPLEMENTED)]
    Kind,
    /// the policy does not accept this type of traffic
    #[retval(INVALID_VALUE_2)]
    NotCarried,
    /// the policy has no segment lists
    #[retval(INVALID_VALUE)]
    NoLists,
    /// a policy that inserts a header accepts IPv6 packets only
    #[retval(INVALID_VALUE_2)]
    Insert,
    /// not steered
    #[retval(NO_SUCH_ENTRY)]
    NotSteered,
    /// table full
    #[retval(TABLE_TOO_BIG)]
    Full,
    /// {0}
    #[retval(INVALID_VALUE)]
    Other(String),
    /// {0}
    #[retval(UNSPECIFIED)]
    Fib(fib::Error),
}

impl From<fib::Error> for Error {
    fn from(e: fib::Error) -> Self {
        Self::Fib(e)
    }
}

impl From<NoInterface> for Error {
    fn from(_: NoInterface) -> Self {
        Self::NoInterface
    }
}

/// Sets the source address of headers that policies made from now on put in front.
pub fn set_source(router: &mut Router, source: Ipv6Addr) {
    router.own_mut::<Segments>().source = source;
}

/// The source address of headers that are put in front.
pub fn source(router: &Router) -> Ipv6Addr {
    router.own::<Segments>().source
}

/// Sets their hop limit.
pub fn set_hop_limit(router: &mut Router, limit: u8) {
    router.own_mut::<Segments>().hop_limit = limit;
}

/// Their hop limit.
pub fn hop_limit(router: &Router) -> u8 {
    router.own::<Segments>().hop_limit
}

/// Segment routing over IPv6.
pub const FEATURE: Feature = Feature {
    name: "srv6",
    about: "Segment routing over IPv6",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "l2"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn add_kinds(router: &mut Router) -> Result<Kinds, BuildError> {
    let mut kind = |names: &[(Link, &str)], describe| {
        let nodes = names.iter().map(|(link, name)| (*link, (*name).to_owned())).collect();
        router.add_object_kind(NewKind { nodes, describe })
    };
    Ok(Kinds {
        end: kind(&[(Link::Ip6, end::NAME)], show::describe_sid)?,
        decap: kind(&[(Link::Ip6, decap::NAME)], show::describe_sid)?,
        micro: [
            kind(&[(Link::Ip6, end::MICRO)], show::describe_sid)?,
            kind(&[(Link::Ip6, end::MICRO_FAST)], show::describe_sid)?,
        ],
        steered: [
            kind(
                &[(Link::Ip6, rewrite::ENCAPS), (Link::Ip4, rewrite::ENCAPS4)],
                show::describe_policy,
            )?,
            kind(&[(Link::Ip6, rewrite::INSERT)], show::describe_policy)?,
        ],
        bound: [
            kind(&[(Link::Ip6, rewrite::BOUND_ENCAPS)], show::describe_policy)?,
            kind(&[(Link::Ip6, rewrite::BOUND_INSERT)], show::describe_policy)?,
        ],
    })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let sids = sid::Sids::new(router.engine.thread_rows()).map_err(refuse)?;
    let policies = policy::Policies::new().map_err(refuse)?;
    let steered = router.attach::<steer::Frames>().map_err(refuse)?;
    end::add(router, &sids).map_err(refuse)?;
    decap::add(router, &sids).map_err(refuse)?;
    rewrite::add(router, &policies.rewrites, &steered).map_err(refuse)?;
    // Those of devices meet the first, those of sub-interfaces the second.
    router.attach_at::<steer::Frames, _>([&DEVICE_INPUT, &L2_INPUT].map(|arc| AttachedAt {
        arc,
        node: rewrite::ENCAPS_L2,
        is_on: |frames: &steer::Frames| !frames.0.is_empty(),
    }));
    let kinds = add_kinds(router).map_err(refuse)?;
    router.insert(Segments {
        sids,
        policies,
        steered: steer::Steered::new(),
        behaviors: Registered::default(),
        policy_behaviors: Registered::default(),
        on_policies: Registered::default(),
        kinds,
        source: Ipv6Addr::UNSPECIFIED,
        hop_limit: wire::ip6::DEFAULT_HOP_LIMIT,
    });
    router.interfaces.observe(sid::forget);
    router.interfaces.observe(steer::forget);
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
