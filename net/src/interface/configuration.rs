//! The configuration of interfaces, as commands. Those that make them are their drivers'.

use control::configuration::Lines;
use wire::MacAddr;

use super::cli::{Protocol, SetMac, SetMtu, SetPromiscuous, SetState};
use super::settings::{SetName, SetSecondary, SetTag};
use super::sub_cli::Create;
use super::{Interface, Kind, Mtu};
use crate::router::Router;

/// Place of what comes last in its stage.
const LAST: u64 = u64::MAX;

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for i in router.interfaces.iter() {
        if let Some(first) = i.sub.filter(|sub| sub.sender.is_none()) {
            lines.push_interface(i.stage(), &Create { parent: i.sup, first, last: first.id });
        }
        name(router, i, lines);
        mtu(i, lines);
        set(i, lines);
    }
    super::placement::configuration(router, lines);
    // Sub-interfaces take the address of their parent when it changes.
    let (subs, devices): (Vec<_>, Vec<_>) = router.interfaces.iter().partition(|i| i.is_sub());
    for i in devices.into_iter().chain(subs) {
        let mac = i.own_mac.unwrap_or(i.mac);
        if router.interfaces.usual_mac(i.index) != Some(mac) {
            lines.push(&SetMac { interface: i.index, default: false, mac: Some(mac) });
        }
    }
}

/// The name under which an interface is made.
fn first_name(router: &Router, i: &Interface) -> String {
    let sub = i.sub.map(|sub| format!("{}.{}", router.interfaces.name(i.sup.0), sub.id));
    sub.unwrap_or_else(|| i.made.name.clone())
}

/// An interface gets its name as soon as it is made, by way of another one if its own is taken
/// until others have theirs.
fn name(router: &Router, i: &Interface, lines: &mut Lines<'_>) {
    let first = first_name(router, i);
    if first == i.name {
        return;
    }
    let rename = |from: &str, to: &str| SetName { interface: from.into(), name: to.to_owned() };
    let (stage, place) = i.stage();
    let is_taken = router.interfaces.iter().any(|other| first_name(router, other) == i.name);
    if !is_taken {
        return lines.push_in(stage, Lines::behind(place), &rename(&first, &i.name));
    }
    let between = format!("renamed-{first}");
    lines.push_in(stage, Lines::behind(place), &rename(&first, &between));
    lines.push_in(stage, LAST, &rename(&between, &i.name));
}

fn mtu(i: &Interface, lines: &mut Lines<'_>) {
    let mut push = |protocol, bytes| lines.push(&SetMtu { protocol, bytes, interface: i.index });
    let Mtu { l3, ip4, ip6, mpls } = i.mtu;
    let ip4 = if i.has_learned_mtu { 0 } else { ip4 };
    let mut first = if i.is_sub() { 0 } else { i.made.mtu };
    if !i.is_sub() && i.link_mtu != first {
        first = i.link_mtu;
        push(Protocol::All, first);
    }
    let each = [(Protocol::Packet, l3, first), (Protocol::Ip4, ip4, 0)];
    for (protocol, bytes, first) in
        each.into_iter().chain([(Protocol::Ip6, ip6, 0), (Protocol::Mpls, mpls, 0)])
    {
        if bytes != first {
            push(protocol, bytes);
        }
    }
}

fn set(i: &Interface, lines: &mut Lines<'_>) {
    let interface = i.index;
    if !i.tag.is_empty() {
        lines.push(&SetTag { interface, tag: i.tag.clone() });
    }
    if i.port.promiscuous {
        lines.push(&SetPromiscuous { on: true, off: false, interface });
    }
    let is_own = |mac: &&MacAddr| i.kind == Kind::Ethernet && !i.lent.contains(mac);
    for mac in i.port.secondary.iter().filter(is_own) {
        lines.push(&SetSecondary { interface, mac: *mac, _add: false, del: false });
    }
    if i.port.punts || i.admin_up != i.start.is_up {
        let punt = i.port.punts;
        lines.push(&SetState { interface, up: !punt && i.admin_up, down: !i.admin_up, punt });
    }
}
