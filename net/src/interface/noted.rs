//! Changes of interfaces in the event log.

use super::{Change, InterfaceIndex};
use crate::router::Router;

/// Follows changes of interfaces.
pub(super) fn note(router: &mut Router, index: InterfaceIndex, change: Change) {
    let Some(i) = router.interfaces.at(index) else { return };
    let (name, state) = (&i.name, |is_up| if is_up { "up" } else { "down" });
    match change {
        Change::Added => router.note(format_args!("interface {name} ({}): added", index.0)),
        Change::Deleting => router.note(format_args!("interface {name} ({}): deleted", index.0)),
        Change::State => {
            let (admin, link) = (state(i.admin_up), state(i.link_up));
            router.note(format_args!("interface {name}: admin {admin}, link {link}"));
        }
        Change::Mac => router.note(format_args!("interface {name}: MAC address {}", i.mac)),
        Change::Mtu => {
            let (l3, link) = (i.mtu.l3, i.link_mtu);
            router.note(format_args!("interface {name}: MTU {l3}, link {link}"));
        }
        Change::Segments => {
            let state = if i.asks_segments { "enabled" } else { "disabled" };
            router.note(format_args!("interface {name}: feature gso {state}"));
        }
        Change::Name => router.note(format_args!("interface {}: renamed {name}", index.0)),
    }
}
