//! Traffic steered into policies: prefixes, and all frames of an interface.

use net::fib::{Path, Source};
use net::prelude::*;

use super::{Error, Segments, policy};

/// Steered traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    /// Packets to a prefix, by number of its table.
    Packets(u32, Prefix),
    /// Frames that an interface receives.
    Frames(InterfaceIndex),
}

/// Segment lists for frames of an interface: numbers, each as often as its share says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames(pub Box<[u32]>);

/// All that is steered, and the number of the policy.
pub type Steered = BTreeMap<Traffic, u32>;

fn install(router: &mut Router, traffic: Traffic, index: u32) -> Result<(), Error> {
    let policies = &router.own::<Segments>().policies;
    match traffic {
        Traffic::Packets(id, prefix) => {
            let of = Link::of(prefix.addr());
            let table = router.table_of(of, id).ok_or(Error::NoTable)?;
            let paths = match policies.all.contains_key(&index) {
                true => policy::steered_paths(router, index, of)?,
                false => vec![Path::to(Target::Drop)],
            };
            router.set_route(table, prefix, Source::SR, &paths)?;
        }
        Traffic::Frames(interface) => {
            let policy = policies.all.get(&index);
            if policy.is_some_and(|p| !p.new.is_encap) {
                return Err(Error::Insert);
            }
            if policy.is_some_and(|p| p.other.is_some()) {
                return Err(Error::NotCarried);
            }
            let shares = policy.map(policy::Policy::shares).unwrap_or_default();
            router.put(interface, Frames(shares.into()))?;
        }
    }
    Ok(())
}

/// The sub-interface whose frames are steered: they come by layer 2, not from the device.
fn sub_of(router: &Router, traffic: Traffic) -> Option<InterfaceIndex> {
    let Traffic::Frames(interface) = traffic else { return None };
    router.interfaces.at(interface).filter(|i| i.is_sub()).map(|_| interface)
}

/// Steers something into a policy.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, traffic: Traffic, policy: u32) -> Result<(), Error> {
    if !router.own::<Segments>().policies.all.contains_key(&policy) {
        return Err(Error::NoPolicy);
    }
    install(router, traffic, policy)?;
    let before = router.own_mut::<Segments>().steered.insert(traffic, policy);
    if let Some(sub) = sub_of(router, traffic).filter(|_| before.is_none()) {
        l2::domain::lend(router, sub).map_err(|_| Error::NoInterface)?;
    }
    Ok(())
}

/// Steers it no longer.
///
/// # Errors
/// [`Error::NotSteered`].
pub fn unset(router: &mut Router, traffic: Traffic) -> Result<(), Error> {
    router.own_mut::<Segments>().steered.remove(&traffic).ok_or(Error::NotSteered)?;
    match traffic {
        Traffic::Packets(id, prefix) => {
            let table = router.table_of(Link::of(prefix.addr()), id).ok_or(Error::NoTable)?;
            router.remove_route(table, prefix, Source::SR, &[])?;
        }
        Traffic::Frames(interface) => {
            router.put(interface, Frames::default())?;
            if let Some(sub) = sub_of(router, traffic) {
                l2::domain::give_back(router, sub);
            }
        }
    }
    Ok(())
}

/// Updates traffic steered into a policy.
pub fn again(router: &mut Router, policy: u32) {
    let all = router.own::<Segments>().steered.iter();
    let those: Vec<Traffic> = all.filter(|(_, p)| **p == policy).map(|(t, _)| *t).collect();
    for traffic in those {
        if let Err(why) = install(router, traffic, policy) {
            let log = router.log.class("sr", "steer");
            log.error(format_args!("{traffic:?} keeps its steering: {why}"));
        }
    }
}

/// Steers frames of an interface that is deleted no longer.
pub fn forget(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        router.own_mut::<Segments>().steered.remove(&Traffic::Frames(interface));
    }
}
