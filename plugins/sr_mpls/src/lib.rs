//! Segment routing over MPLS (RFC 8660, RFC 9256): policies, which are lists of labels behind one
//! of their own (the binding SID), and prefixes that are steered into them.
//!
//! A policy is a label whose paths are its lists: the first label of each is looked up here, the
//! others are put on. A steered prefix is a route through the policy's label. So counters, load
//! shares and changes below are those of labels.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod steer;

use net::fib::{self, Label, Path, RouteOf, Source};
use net::prelude::*;
use wire::mpls::LABELS;

pub use api::*;
pub use steer::{Steering, Through};

/// The table that labels are of.
const TABLE: u32 = 0;
/// Labels below this have a meaning of their own.
const RESERVED: u32 = 16;
/// Most labels of a list: the first is looked up, the others are put on.
const MOST_SEGMENTS: usize = 17;

/// A list of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Weight.
    pub weight: u32,
    /// Labels, outermost first.
    pub segments: Vec<u32>,
}

/// A policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// True to replicate packets to all segment lists.
    pub is_spray: bool,
    /// The lists by number.
    pub lists: BTreeMap<u32, List>,
    /// Endpoint and colour, for automatic steering.
    pub endpoint: Option<(IpAddr, u32)>,
}

/// State of the control plane.
#[derive(Default)]
pub(crate) struct Policies {
    /// By label.
    all: BTreeMap<u32, Policy>,
    steered: steer::Steered,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such policy
    #[retval(NO_SUCH_ENTRY)]
    NoPolicy,
    /// a policy with this label exists
    #[retval(VALUE_EXIST)]
    Exists,
    /// no such segment list
    #[retval(NO_SUCH_ENTRY)]
    NoList,
    /// the last segment list cannot be deleted: delete the policy
    #[retval(INVALID_VALUE)]
    LastList,
    /// labels are 16 to 1048575, 1 to 17 per list
    #[retval(INVALID_VALUE)]
    Label,
    /// co must be 0, 1 or 2
    #[retval(INVALID_VALUE_2)]
    ColorOnly,
    /// no such table
    #[retval(NO_SUCH_FIB)]
    NoTable,
    /// the prefix is not steered
    #[retval(NO_SUCH_ENTRY)]
    NotSteered,
    /// {0}
    #[retval(UNSPECIFIED)]
    Fib(fib::Error),
    /// {0}
    #[retval(UNSPECIFIED)]
    Labels(mpls::Error),
}

impl From<fib::Error> for Error {
    fn from(e: fib::Error) -> Self {
        Self::Fib(e)
    }
}

impl From<mpls::Error> for Error {
    fn from(e: mpls::Error) -> Self {
        Self::Labels(e)
    }
}

fn is_label(label: u32) -> bool {
    (RESERVED..LABELS).contains(&label)
}

fn list(weight: u32, segments: Vec<u32>) -> Result<List, Error> {
    let is_fit = (1..=MOST_SEGMENTS).contains(&segments.len());
    if !is_fit || !segments.iter().all(|label| is_label(*label)) {
        return Err(Error::Label);
    }
    Ok(List { weight: weight.max(1), segments })
}

fn labels(values: &[u32]) -> Vec<Label> {
    let label = |value: &u32| Label { value: *value, ttl: 0, exp: 0, is_uniform: false };
    values.iter().map(label).collect()
}

/// Makes the label of a policy follow its lists.
fn install(router: &mut Router, bsid: u32, policy: &Policy) -> Result<(), Error> {
    let path = |list: &List| {
        let (first, rest) = list.segments.split_first()?;
        let target = Target::Label { table: TABLE, label: *first };
        let path = RouteOf::Label(Link::Mpls).path(&labels(rest), false, 0, |_| Some(target))?;
        Some(Path { weight: list.weight.min(u16::MAX.into()) as u16, ..path })
    };
    let paths: Vec<Path> = policy.lists.values().filter_map(path).collect();
    for is_last in [false, true] {
        let (source, of, is_multicast) = (Source::SR, Link::Mpls, policy.is_spray);
        let route = mpls::Route { source, of, paths: paths.clone(), is_multicast, bound: None };
        if let Err(e) = mpls::lead_label(router, TABLE, (bsid, is_last), route) {
            if is_last {
                mpls::leave_label(router, TABLE, (bsid, false), Source::SR);
            }
            return Err(e.into());
        }
    }
    Ok(())
}

/// Adds a policy with one list.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    bsid: u32,
    is_spray: bool,
    (weight, segments): (u32, Vec<u32>),
) -> Result<(), Error> {
    if !is_label(bsid) {
        return Err(Error::Label);
    }
    let list = list(weight, segments)?;
    if router.own::<Policies>().all.contains_key(&bsid) {
        return Err(Error::Exists);
    }
    let index = free_list(router);
    let policy = Policy { is_spray, lists: BTreeMap::from([(index, list)]), endpoint: None };
    install(router, bsid, &policy)?;
    router.own_mut::<Policies>().all.insert(bsid, policy);
    Ok(())
}

/// The least number that no list has.
fn free_list(router: &Router) -> u32 {
    let all = router.own::<Policies>().all.values();
    let used: Vec<u32> = all.flat_map(|p| p.lists.keys().copied()).collect();
    (0..).find(|index| !used.contains(index)).unwrap_or_default()
}

/// A change of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more list: its share and labels.
    Add(u32, Vec<u32>),
    /// A list goes.
    Remove(u32),
    /// A list gets another share.
    Weigh(u32, u32),
}

/// Changes a policy.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn modify(router: &mut Router, bsid: u32, change: Change) -> Result<(), Error> {
    let mut policy = router.own::<Policies>().all.get(&bsid).ok_or(Error::NoPolicy)?.clone();
    match change {
        Change::Add(weight, segments) => {
            policy.lists.insert(free_list(router), list(weight, segments)?);
        }
        Change::Remove(index) => {
            policy.lists.remove(&index).ok_or(Error::NoList)?;
            if policy.lists.is_empty() {
                return Err(Error::LastList);
            }
        }
        Change::Weigh(index, weight) => {
            policy.lists.get_mut(&index).ok_or(Error::NoList)?.weight = weight.max(1);
        }
    }
    install(router, bsid, &policy)?;
    router.own_mut::<Policies>().all.insert(bsid, policy);
    Ok(())
}

/// Deletes a policy. Steered traffic is dropped until it exists again.
///
/// # Errors
/// [`Error::NoPolicy`].
pub fn remove(router: &mut Router, bsid: u32) -> Result<(), Error> {
    router.own_mut::<Policies>().all.remove(&bsid).ok_or(Error::NoPolicy)?;
    for is_last in [false, true] {
        mpls::leave_label(router, TABLE, (bsid, is_last), Source::SR);
    }
    steer::again(router);
    Ok(())
}

/// Says where a policy leads and what it is good for.
///
/// # Errors
/// [`Error::NoPolicy`].
pub fn assign(
    router: &mut Router,
    bsid: u32,
    endpoint: Option<(IpAddr, u32)>,
) -> Result<(), Error> {
    let policy = router.own_mut::<Policies>().all.get_mut(&bsid).ok_or(Error::NoPolicy)?;
    policy.endpoint = endpoint;
    steer::again(router);
    Ok(())
}

/// Segment routing over MPLS.
pub const FEATURE: Feature = Feature {
    name: "srmpls",
    about: "Segment routing over MPLS",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["mpls"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Policies::default());
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
