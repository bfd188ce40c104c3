//! The group that advertisements are sent to: its packets are taken while a virtual router hears
//! them.

use net::fib::Path;
use net::mfib::{EntryFlags, ItfFlags, MPath, MPrefix};
use net::prelude::*;
use wire::vrrp::{GROUP4, GROUP6};

use super::Vrrp;

/// Counts a virtual router that hears the group in a table, or its end.
pub(super) fn hear(router: &mut Router, link: Link, table: TableIndex, is_on: bool) {
    let vrrp = router.own_mut::<Vrrp>();
    let source = vrrp.source;
    let count = vrrp.groups.entry((link, table)).or_default();
    let before = *count;
    *count = if is_on { before + 1 } else { before.saturating_sub(1) };
    let after = *count;
    if after == 0 {
        vrrp.groups.remove(&(link, table));
    }
    if (before == 0) == (after == 0) {
        return;
    }
    let (group, len): (IpAddr, u8) =
        if link == Link::Ip6 { (GROUP6.into(), 128) } else { (GROUP4.into(), 32) };
    let prefix = MPrefix { group, len, source: None };
    let target = Target::Receive { interface: None, addr: None };
    let paths = [MPath { path: Path::to(target), flags: ItfFlags::FORWARD }];
    // Without room for the route nothing is heard, and the router becomes master.
    let _ = match is_on {
        true => {
            let flags = (EntryFlags::ACCEPT_ALL, 0);
            router.update_mroute(table, prefix, source, flags, &paths).map(|_| ())
        }
        false => router.remove_mroute(table, prefix, source, &[]).map(|_| ()),
    };
    router.use_table_of(link, table, is_on);
}
