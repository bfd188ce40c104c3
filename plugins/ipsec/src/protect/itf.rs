//! IPsec interfaces: they have no headers of their own; their packets get those of the protecting
//! SA.

use std::cell::RefCell;
use std::rc::Rc;

use net::adjacency::chain::Fixup;
use net::interface::{Kind, NewInterface, Offloads};
use net::ip::{Chain, Encapsulation};
use net::prelude::*;

use super::{Protect, Protected};
use crate::{Error, Ipsec};

/// MTU of a new interface.
const MTU: u32 = 9000;

/// An IPsec interface (`ipsec itf create`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Itf {
    /// Instance number in the name.
    pub instance: u32,
    /// Point-to-multipoint.
    pub is_multipoint: bool,
}

/// Remote endpoints by interface and next hop.
type FarEnds = Rc<RefCell<HashMap<(InterfaceIndex, IpAddr), (TableIndex, IpAddr)>>>;

/// The protected interfaces.
#[derive(Default)]
pub struct Itfs {
    all: BTreeMap<InterfaceIndex, Itf>,
    far_ends: FarEnds,
}

/// State of an interface for its adjacencies.
struct Bare {
    interface: InterfaceIndex,
    far_ends: FarEnds,
}

impl Encapsulation for Bare {
    fn chain(&self, _: Link, next_hop: IpAddr) -> Option<Chain> {
        let far_ends = self.far_ends.borrow();
        let everybody = |link: Link| far_ends.get(&(self.interface, link.unspecified()));
        let exact = far_ends.get(&(self.interface, next_hop));
        let to = exact.or_else(|| everybody(Link::Ip4)).or_else(|| everybody(Link::Ip6))?;
        let to = (*to).into();
        Some(Chain {
            header: Box::default(),
            fixup: Fixup::Own(|_, _| (), 0),
            carries_offloads: true,
            to,
        })
    }
}

/// All IPsec interfaces.
pub fn all(router: &Router) -> impl Iterator<Item = (InterfaceIndex, Itf)> {
    router.own::<Protect>().itfs.all.iter().map(|(interface, itf)| (*interface, *itf))
}

/// Whether an interface is an IPsec interface.
pub fn is_one(router: &Router, interface: InterfaceIndex) -> bool {
    router.own::<Protect>().itfs.all.contains_key(&interface)
}

/// Creates an IPsec interface with the given instance number, or the first free one.
///
/// # Errors
/// [`Error`]; nothing is created then.
pub fn add(
    router: &mut Router,
    instance: Option<u32>,
    is_multipoint: bool,
) -> Result<InterfaceIndex, Error> {
    let is_used = |instance: u32| all(router).any(|(_, itf)| itf.instance == instance);
    let instance = match instance {
        Some(instance) if is_used(instance) => return Err(Error::InUse(instance)),
        Some(instance) => instance,
        None => (0..u32::MAX).find(|n| !is_used(*n)).ok_or(Error::Full)?,
    };
    let new = NewInterface {
        name: format!("ipsec{instance}"),
        kind: Kind::Ip,
        hardware: "IPSec",
        mac: MacAddr::ZERO,
        mtu: MTU,
        offloads: Offloads::default(),
        link_follows_admin: true,
    };
    let interface = router.add_interface(new, super::input::Nowhere).map_err(Error::Interface)?;
    let itfs = &mut router.own_mut::<Protect>().itfs;
    itfs.all.insert(interface, Itf { instance, is_multipoint });
    let far_ends = Rc::clone(&itfs.far_ends);
    router.encapsulate(interface, Rc::new(Bare { interface, far_ends }));
    Ok(interface)
}

/// Deletes an IPsec interface.
///
/// # Errors
/// [`Error::NoTunnel`].
pub fn remove(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    if !is_one(router, interface) {
        return Err(Error::NoTunnel);
    }
    router.remove_interface(interface);
    Ok(())
}

pub(super) fn forget(router: &mut Router, interface: InterfaceIndex) {
    let itfs = &mut router.own_mut::<Protect>().itfs;
    itfs.all.remove(&interface);
    itfs.far_ends.borrow_mut().retain(|(i, _), _| *i != interface);
}

/// Makes an interface follow the routes to the remote endpoints of its current SAs.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex) {
    if !is_one(router, interface) {
        return;
    }
    let sas = &router.own::<Ipsec>().sas;
    let to = |t: &Protected| {
        let outer = sas.at(t.sa_out)?.config.tunnel?;
        Some(((interface, t.next_hop), (outer.table, outer.dst)))
    };
    let mine = super::all(router).filter(|t| t.interface == interface);
    let new: Vec<_> = mine.filter_map(to).collect();
    let far_ends = Rc::clone(&router.own::<Protect>().itfs.far_ends);
    far_ends.borrow_mut().retain(|(i, _), _| *i != interface);
    far_ends.borrow_mut().extend(new);
    router.encapsulate_anew(interface, None);
}
