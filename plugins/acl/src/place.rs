//! Places at which packets meet lists, and the names of the nodes there.

use super::packet::Matched;

/// The path on which packets meet lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Routed.
    Routed,
    /// Their frames are bridged or cross-connected.
    Bridged,
}

/// The name of a node for received (0) or sent (1) packets.
pub(super) const fn name<V: Matched>(path: Path, direction: usize) -> &'static str {
    match (path, V::NUMBER, direction) {
        (Path::Routed, 4, 0) => "acl-plugin-in-ip4-fa",
        (Path::Routed, 4, _) => "acl-plugin-out-ip4-fa",
        (Path::Routed, _, 0) => "acl-plugin-in-ip6-fa",
        (Path::Routed, _, _) => "acl-plugin-out-ip6-fa",
        (Path::Bridged, 4, 0) => "acl-plugin-in-ip4-l2",
        (Path::Bridged, 4, _) => "acl-plugin-out-ip4-l2",
        (Path::Bridged, _, 0) => "acl-plugin-in-ip6-l2",
        (Path::Bridged, _, _) => "acl-plugin-out-ip6-l2",
    }
}

/// The name of the node that hands packets of one to other threads.
pub(super) const fn handoff_name<V: Matched>(path: Path, direction: usize) -> &'static str {
    match (path, V::NUMBER, direction) {
        (Path::Routed, 4, 0) => "acl-plugin-in-ip4-fa-handoff",
        (Path::Routed, 4, _) => "acl-plugin-out-ip4-fa-handoff",
        (Path::Routed, _, 0) => "acl-plugin-in-ip6-fa-handoff",
        (Path::Routed, _, _) => "acl-plugin-out-ip6-fa-handoff",
        (Path::Bridged, 4, 0) => "acl-plugin-in-ip4-l2-handoff",
        (Path::Bridged, 4, _) => "acl-plugin-out-ip4-l2-handoff",
        (Path::Bridged, _, 0) => "acl-plugin-in-ip6-l2-handoff",
        (Path::Bridged, _, _) => "acl-plugin-out-ip6-l2-handoff",
    }
}

pub(super) const fn path(is_bridged: bool) -> Path {
    if is_bridged { Path::Bridged } else { Path::Routed }
}
