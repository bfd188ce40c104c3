//! Multicast listener reports (RFC 3810 section 5.2): switches that watch them learn which groups
//! an interface is a member of. `ip6-mld-process` sends one when the groups change, and when the
//! interface comes up.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use control::feature::Refused;
use control::process::Wake;
use wire::{MacAddr, Protocol, checksum, ethernet, icmp6, ip6};
use zerocopy::IntoBytes;

use crate::address::OnInterface;
use crate::interface::{Change, InterfaceIndex, Kind};
use crate::nd::ALL_NODES;
use crate::neighbor;
use crate::router::{Feature, Parts, Router};

const PROCESS: &str = "ip6-mld-process";
/// All routers that understand version 2 of MLD.
const REPORTS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// Hop-by-hop options: ICMPv6 follows; router alert for MLD (RFC 2711), and padding.
const ROUTER_ALERT: [u8; 8] = [58, 0, 5, 2, 0, 0, 1, 0];
/// Record types: from now on everybody is listened to; nobody is.
const TO_EXCLUDE: u8 = 4;
const TO_INCLUDE: u8 = 3;
/// Most records that fit into the least MTU.
const MOST_RECORDS: usize = 60;

/// Multicast listener reports.
pub const FEATURE: Feature = Feature {
    name: "mld",
    about: "IPv6 multicast listener reports",
    default_enabled: true,
    register,
};

/// Reports that are to be sent: groups that were left, by interface.
#[derive(Default)]
struct Pending(BTreeMap<InterfaceIndex, Vec<Ipv6Addr>>);

/// Follows the groups of an interface, which was a member of those of `before`.
fn follow_groups(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    let (now, before) = (router.addresses.of(interface).groups6(), before.groups6());
    if now != before {
        let left = before.iter().filter(|g| !now.contains(g)).copied();
        report(router, interface, left);
    }
}

fn report(router: &mut Router, interface: InterfaceIndex, left: impl Iterator<Item = Ipv6Addr>) {
    let Pending(pending) = router.state_mut().expect("the feature puts it in");
    pending.entry(interface).or_default().extend(left);
    router.processes.signal(PROCESS, 0);
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::State && router.addresses.of(interface).link_local.is_some() {
        report(router, interface, std::iter::empty());
    }
}

fn send(router: &mut Router, interface: InterfaceIndex, left: &[Ipv6Addr]) {
    let Some(i) = router.interfaces.at(interface) else { return };
    let on = router.addresses.of(interface);
    let (true, Some(source)) = (i.admin_up && i.link_up, on.link_local) else { return };
    if i.kind == Kind::Ethernet {
        let joined = on.groups6().into_iter().map(|group| (TO_EXCLUDE, group));
        let left = left.iter().map(|group| (TO_INCLUDE, *group));
        // Everybody is a member of all nodes, which nobody says.
        let records = joined.chain(left).filter(|(_, group)| *group != ALL_NODES);
        let records: Vec<_> = records.take(MOST_RECORDS).collect();
        let frame = frame(i.mac, source, &records);
        neighbor::send(router, interface, frame);
    }
}

fn frame(mac: MacAddr, source: Ipv6Addr, records: &[(u8, Ipv6Addr)]) -> Vec<u8> {
    let kind = icmp6::Header::new(icmp6::Type::MULTICAST_LISTENER_REPORT_V2, 0);
    let mut message = [kind.as_bytes(), &[0, 0, 0, records.len() as u8]].concat();
    for (kind, group) in records {
        message.extend([*kind, 0, 0, 0]);
        message.extend(group.octets());
    }
    let len = ROUTER_ALERT.len() + message.len();
    let mut ip = ip6::Header::new(source, REPORTS, Protocol(0), len as u16);
    ip.hop_limit = 1;
    let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, message.len() as u32);
    let sum = pseudo.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(sum.as_bytes());
    let to = MacAddr::for_ip6_group(REPORTS);
    let ethernet = ethernet::Header::new(to, mac, ethernet::EtherType::IP6);
    [ethernet.as_bytes(), ip.as_bytes(), &ROUTER_ALERT, &message].concat()
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    router.insert(Pending::default());
    router.interfaces.observe(interface_changed);
    router.addresses.observe(follow_groups);
    let body = |router: &mut Router, _| {
        let pending: &mut Pending = router.state_mut().expect("put in above");
        for (interface, left) in std::mem::take(&mut pending.0) {
            send(router, interface, &left);
        }
        Wake::OnEvent
    };
    router.processes.spawn(PROCESS, Box::new(body));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::testing::{Bench, PG0};

    #[test]
    fn a_report_names_all_groups_but_all_nodes() {
        let mut b = Bench::new();
        b.cli("set interface ip address pg0 2001:db8:9::5/64");
        let out = b.wait(0.0);
        assert_eq!(out.len(), 1);
        let bytes = &out[0].bytes;
        assert_eq!((&bytes[..2], &bytes[6..12]), (&[0x33, 0x33][..], &PG0.0[..]));
        assert_eq!(bytes[54..62], ROUTER_ALERT);
        let ip = ip6::Header::new("fe80::ff:fe00:aa".parse().unwrap(), REPORTS, Protocol(0), 0);
        let message = &bytes[62..];
        let len = message.len() as u32;
        let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, len);
        assert!(pseudo.add_bytes(message).is_valid());
        let records: Vec<_> = message[8..].chunks(20).collect();
        assert_eq!((message[0], message[7], records.len()), (143, 5, 5));
        assert!(records.iter().all(|r| r[0] == TO_EXCLUDE));
        assert_eq!(records[4][17..], [0, 0, 5]);

        b.cli("set interface ip address del pg0 2001:db8:9::5/64");
        let out = b.wait(0.0);
        assert_eq!((out[0].bytes[62 + 7], out[0].bytes[62 + 8 + 4 * 20]), (5, TO_INCLUDE));
    }
}
