//! Addresses and tables of interfaces, as commands.

use control::cli::Print;
use control::configuration::{Lines, Stage};
use wire::Prefix;
use wire::prefix::IpPrefix;

use super::OnInterface;
use super::broadcast::SetDirectedBroadcast;
use super::cli::{DisableIp4, DisableIp6, EnableIp4, EnableIp6, SetAddress, SetTable4, SetTable6};
use super::unnumbered::SetUnnumbered;
use crate::fib::{Ip4, Ip6, TableIndex};
use crate::interface::InterfaceIndex;
use crate::router::Router;

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for i in router.interfaces.iter() {
        of(router, i.index, router.addresses.of(i.index), lines);
    }
}

fn of(router: &Router, interface: InterfaceIndex, on: &OnInterface, lines: &mut Lines<'_>) {
    let start = router.interfaces.at(interface).map(|i| i.start.tables).unwrap_or_default();
    let [first4, first6] = start.map(|table| table.map_or(TableIndex::DEFAULT, TableIndex));
    let [had4, had6] = start.map(|table| table.is_some());
    push_if(lines, on.table4 != first4, || {
        let table = router.fib.table_id::<Ip4>(on.table4).unwrap_or_default();
        SetTable4 { interface, table }
    });
    push_if(lines, on.table6 != first6, || {
        let table = router.fib.table_id::<Ip6>(on.table6).unwrap_or_default();
        SetTable6 { interface, table }
    });
    // The table first.
    push_if(lines, on.wants_ip4 && !had4, || EnableIp4 { interface });
    push_if(lines, on.wants_ip6 && !had6, || EnableIp6 { interface });
    push_if(lines, !on.wants_ip4 && had4, || DisableIp4 { interface });
    push_if(lines, !on.wants_ip6 && had6, || DisableIp6 { interface });
    push_if(lines, on.directed_broadcast, || SetDirectedBroadcast {
        interface,
        enable: true,
        disable: false,
    });
    let set = |prefix| SetAddress { is_del: false, interface, prefix: Some(prefix) };
    let is_learned = |p: &Prefix| router.addresses.learned.contains(&(interface, *p));
    on.iter().filter(|p| !is_learned(p)).for_each(|prefix| lines.push(&set(prefix)));
    let from = on.borrowed.as_ref().map(|borrowed| borrowed.from);
    push_if(lines, from.is_some(), || SetUnnumbered { interface, from });
    // Where other addresses have enabled IPv6 it is not enabled for this one.
    let usual = router.interfaces.at(interface).map(|i| i.mac.link_local());
    if let Some(own) = on.link_local.filter(|own| Some(*own) != usual) {
        let prefix = Prefix::from(IpPrefix::host(own));
        lines.push_in(Stage::Attachments, Lines::behind(0), &set(prefix));
    }
}

fn push_if<T: Print>(lines: &mut Lines<'_>, holds: bool, command: impl FnOnce() -> T) {
    if holds {
        lines.push(&command());
    }
}
