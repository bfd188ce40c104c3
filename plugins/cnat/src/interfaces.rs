//! Interfaces whose packets are looked at, and their places in the policy.

use net::prelude::*;

use crate::config::OnInterface;
use crate::state::Cnat;
use crate::wanted::{Error, LOCAL};

/// Adds an interface to a table of the policy, or removes it; either may be repeated.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set_included(
    router: &mut Router,
    interface: InterfaceIndex,
    table: usize,
    is_add: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let mut on = router.setting::<OnInterface>(interface);
    on.included[table] = is_add;
    Ok(router.put(interface, on)?)
}

/// Enables or disables translations that are limited to selected interfaces.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set_feature(
    router: &mut Router,
    interface: InterfaceIndex,
    is_on: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let old = router.setting::<OnInterface>(interface);
    put(router, interface, OnInterface { feature: is_on, ..old })
}

/// Changes an interface's setting; packets that are looked at need the ports of fragments.
fn put(router: &mut Router, interface: InterfaceIndex, new: OnInterface) -> Result<(), Error> {
    let old = router.setting::<OnInterface>(interface);
    router.put(interface, new)?;
    if old.is_on() != new.is_on() {
        for family in 0..2 {
            let needed = router.need_fragment_ports(interface, family, new.is_on());
            needed.map_err(|_| Error::NoInterface)?;
        }
    }
    Ok(())
}

/// Processes packets of all interfaces while a translation or a source applies to all.
pub fn follow_everywhere(router: &mut Router) {
    let cnat = router.own_mut::<Cnat>();
    let is_for_all = cnat.translations.values().any(|t| t.flags & LOCAL == 0);
    let is_now = is_for_all || !cnat.sources.is_empty();
    if std::mem::replace(&mut cnat.is_everywhere, is_now) == is_now {
        return;
    }
    let all: Vec<_> = router.interfaces.iter().map(|i| i.index).collect();
    all.into_iter().for_each(|interface| follow_interface(router, interface));
}

pub fn follow_interface(router: &mut Router, interface: InterfaceIndex) {
    let everywhere = router.own::<Cnat>().is_everywhere;
    let old = router.setting::<OnInterface>(interface);
    // The interface is there: it was listed, or is being added.
    let _ = put(router, interface, OnInterface { everywhere, ..old });
}
