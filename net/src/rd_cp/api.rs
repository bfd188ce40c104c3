//! The message of the module `rd_cp`.

use control::api::{Api, Message};

use crate::interface::InterfaceIndex;
use crate::ra::Refusal;
use crate::router::Router;

/// Make addresses, and default routes, of what other routers advertise on an interface, or no
/// longer.
#[derive(Message)]
struct Ip6NdAddressAutoconfig {
    sw_if_index: InterfaceIndex,
    enable: bool,
    install_default_routes: bool,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("rd_cp", "1.0.1").call(|router, m: Ip6NdAddressAutoconfig| {
        let wants_routes = m.enable.then_some(m.install_default_routes);
        match router.set_autoconfig(m.sw_if_index, wants_routes) {
            // Off is off.
            Err(Refusal::NotEnabled) if !m.enable => Ok(()),
            done => Ok(done?),
        }
    });
}

#[cfg(test)]
mod tests {
    use control::api::Retval;

    use super::*;
    use crate::neighbor::testing::Bench;

    #[test]
    fn interfaces_are_switched() {
        Bench::new().talk(|local, router| {
            let pg0 = router.interfaces.named("pg0").unwrap().index;
            let set = |sw_if_index, enable| Ip6NdAddressAutoconfig {
                sw_if_index,
                enable,
                install_default_routes: true,
            };
            local.call(router, &set(pg0, true)).unwrap();
            local.call(router, &set(pg0, false)).unwrap();
            local.call(router, &set(pg0, false)).unwrap();
            let refused = local.call(router, &set(InterfaceIndex(77), true)).err();
            assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
        });
    }
}
