//! Health of IKE: whether there is room for new associations.

use net::Router;
use net::health::{Check, Findings, Severity};

use super::Ikev2;
use super::machine::MOST_HALF_OPEN;

pub(super) fn register(router: &mut Router) {
    router.check_health(Check {
        name: "ikev2",
        about: "IKEv2 has room for new associations",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let count = router.own::<Ikev2>().machine.half_open();
    if count >= MOST_HALF_OPEN {
        let text = format!("{count} associations wait for a proof of identity: no other begins");
        found.add(Severity::Error, "IKEv2", text);
    }
}
