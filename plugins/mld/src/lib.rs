//! Multicast listener discovery (RFC 3810): switches and routers learn which groups an interface is
//! a member of. `ip6-mld-process` reports when the groups change, and when the interface comes up;
//! queries are answered after a random time.
//!
//! A query for sources of a group is answered for the group; one of version 1 (RFC 2710) by reports
//! of version 1.
#![forbid(unsafe_code)]

mod query;
mod report;

use control::process::{Timer, between};
use net::address::OnInterface;
use net::interface::Kind;
use net::nd::ALL_NODES;
use net::neighbor::{self, Strict};
use net::prelude::*;

pub use query::{Queries, Query};
pub use report::{RecordType, version2 as report_frames};

const PROCESS: &str = "ip6-mld-process";

/// Multicast listener reports.
pub const FEATURE: Feature = Feature {
    name: "mld",
    about: "IPv6 multicast listener reports",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["icmp", "neighbor"],
    register,
    configuration: Configuration::None("it follows the addresses of interfaces"),
};

/// Reports that are to be sent, by interface.
#[derive(Default)]
struct Pending {
    /// Groups that were left.
    left: BTreeMap<InterfaceIndex, Vec<Ipv6Addr>>,
    answers: BTreeMap<InterfaceIndex, Answer>,
}

/// An answer that waits for its time.
struct Answer {
    timer: Timer,
    due: f64,
    /// The groups asked for.
    groups: BTreeSet<Ipv6Addr>,
    is_version1: bool,
}

/// Follows the groups of an interface, which was a member of those of `before`.
fn follow_groups(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    let (now, before) = (router.addresses.of(interface).groups6(), before.groups6());
    if now != before {
        let left = before.iter().filter(|g| !now.contains(g)).copied();
        report(router, interface, left);
    }
}

fn report(router: &mut Router, interface: InterfaceIndex, left: impl Iterator<Item = Ipv6Addr>) {
    router.own_mut::<Pending>().left.entry(interface).or_default().extend(left);
    router.processes.signal(PROCESS, 0);
}

fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::State && router.addresses.of(interface).link_local.is_some() {
        report(router, interface, std::iter::empty());
    }
}

/// The groups in reports of an interface. All hosts are members of all-nodes, which only the
/// original reports (against RFC 3810 section 6), and interfaces set to do the same.
fn groups(router: &Router, interface: InterfaceIndex) -> impl Iterator<Item = Ipv6Addr> {
    let Strict(names_all) = router.setting(interface);
    let all = router.addresses.of(interface).groups6();
    all.into_iter().filter(move |group| names_all || *group != ALL_NODES)
}

/// Source of reports of an interface, if it sends any now.
fn sender(router: &Router, interface: InterfaceIndex) -> Option<(MacAddr, Ipv6Addr)> {
    let i = router.interfaces.at(interface)?;
    let source = router.addresses.of(interface).link_local?;
    (i.admin_up && i.link_up && i.kind == Kind::Ethernet).then_some((i.mac, source))
}

fn send_changes(router: &mut Router, interface: InterfaceIndex, left: &[Ipv6Addr]) {
    let Some((mac, source)) = sender(router, interface) else { return };
    let joined = groups(router, interface).map(|group| (RecordType::Joined, group));
    let left =
        left.iter().filter(|group| **group != ALL_NODES).map(|group| (RecordType::Left, *group));
    let records: Vec<_> = joined.chain(left).collect();
    for frame in report::version2(mac, source, &records) {
        neighbor::send(router, interface, frame);
    }
}

/// A router asks. Several answers that wait become one, at the time of the first.
fn asked(router: &mut Router, query: Query) {
    let Query { interface, group, is_version1, .. } = query;
    let wanted = groups(router, interface).filter(|g| group.is_unspecified() || *g == group);
    let mut groups: BTreeSet<_> = wanted.collect();
    if groups.is_empty() || sender(router, interface).is_none() {
        return;
    }
    let wait = between(0.0, f64::from(query.within_ms) / 1000.0);
    let due = router.now() + wait;
    let earlier = router.own_mut::<Pending>().answers.remove(&interface);
    let mut answer = match earlier {
        Some(mut answer) => {
            groups.append(&mut answer.groups);
            let is_version1 = is_version1 || answer.is_version1;
            Answer { groups, is_version1, ..answer }
        }
        None => {
            let timer = router.after(wait, send_answer, interface.0.into());
            Answer { timer, due, groups, is_version1 }
        }
    };
    if due < answer.due {
        router.cancel(answer.timer);
        answer.timer = router.after(wait, send_answer, interface.0.into());
        answer.due = due;
    }
    router.own_mut::<Pending>().answers.insert(interface, answer);
}

fn send_answer(router: &mut Router, interface: u64) {
    let interface = InterfaceIndex(interface as u32);
    // The plugin may be gone meanwhile.
    let pending = router.state_mut::<Pending>();
    let Some(answer) = pending.and_then(|p| p.answers.remove(&interface)) else { return };
    let Some((mac, source)) = sender(router, interface) else { return };
    let still = groups(router, interface).filter(|group| answer.groups.contains(group));
    let frames: Vec<_> = if answer.is_version1 {
        still.map(|group| report::version1(mac, source, group)).collect()
    } else {
        let records: Vec<_> = still.map(|group| (RecordType::IsIn, group)).collect();
        report::version2(mac, source, &records)
    };
    for frame in frames {
        neighbor::send(router, interface, frame);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.insert(Pending::default());
    router.interfaces.observe(interface_changed);
    router.addresses.observe(follow_groups);
    router.events.handle(asked);
    let events = router.events.sender();
    router.engine.add(Queries { events }).map_err(refuse)?;
    router.icmp6_type(icmp6::Type::MULTICAST_LISTENER_QUERY, Queries::NAME).map_err(refuse)?;
    let body = |router: &mut Router, _| {
        for (interface, left) in std::mem::take(&mut router.own_mut::<Pending>().left) {
            send_changes(router, interface, &left);
        }
        Wake::OnEvent
    };
    router.processes.spawn(PROCESS, Box::new(body));
    Ok(())
}
