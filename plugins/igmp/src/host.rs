//! Groups that the router is a member of itself (RFC 3376 section 5).

use control::process::between;
use net::prelude::*;
use wire::igmp::{Query, RecordType};

use super::send::{self, Record};
use super::tasks::{self, SECOND, Task};
use super::{Error, Igmp, MOST_SOURCES, Mode, Wanted, is_group, port, port_mut, routes};

/// Part of the longest delay within which an answer begins: it has to arrive as well.
const SHARE: f64 = 0.8;

/// An answer that waits for its time.
#[derive(Debug)]
pub struct Answer {
    at: u64,
    /// The sources asked for; none for all.
    sources: BTreeSet<Ipv4Addr>,
}

/// Sets what the router wants of a group on a host interface, and says so there; a group that is
/// new once more within a second, as messages get lost.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn listen(
    router: &mut Router,
    interface: InterfaceIndex,
    group: Ipv4Addr,
    wanted: Wanted,
) -> Result<(), Error> {
    if set(router, interface, group, wanted)? {
        let at = tasks::now(router) + (between(0.3, 1.0) * SECOND as f64) as u64;
        tasks::put(router, at, Task::Repeat(interface, group));
    }
    Ok(())
}

/// As [`listen`], but says it once. Whether the group is new.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    group: Ipv4Addr,
    wanted: Wanted,
) -> Result<bool, Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let on = port(router, interface)?;
    if on.mode != Mode::Host {
        return Err(Error::IsRouter);
    }
    if !is_group(group) {
        return Err(Error::NoGroup);
    }
    if wanted.sources.iter().any(|s| s.is_unspecified() || s.is_multicast() || s.is_broadcast()) {
        return Err(Error::NoSource);
    }
    if wanted.sources.len() > router.own::<Igmp>().room() {
        return Err(Error::Full);
    }
    let (table, is_gone, size) = (on.table, wanted.is_nothing(), wanted.size());
    let Some(on) = port_mut(router, interface) else { return Err(Error::Off) };
    let before = on.set(group, wanted);
    let is_new = before.is_none() && !is_gone;
    let igmp = router.own_mut::<Igmp>();
    igmp.held = igmp.held + size - before.as_ref().map_or(0, Wanted::size);
    report_change(router, interface, group, &before.unwrap_or_default());
    routes::follow(router, table, group);
    Ok(is_new)
}

/// Reports the change of a group (section 5.1); of a missing one, that it was left.
pub fn report_change(
    router: &mut Router,
    interface: InterfaceIndex,
    group: Ipv4Addr,
    before: &Wanted,
) {
    let Ok(on) = port(router, interface) else { return };
    let nothing = Wanted::default();
    let now = on.wanted.get(&group).unwrap_or(&nothing);
    let minus = |a: &Wanted, b: &Wanted| a.sources.difference(&b.sources).copied().collect();
    let record = |kind, sources: Vec<Ipv4Addr>| Record { kind, group, sources };
    let records = match (before.is_exclude, now.is_exclude) {
        (false, true) => {
            vec![record(RecordType::ToExclude, now.sources.iter().copied().collect())]
        }
        (true, false) => {
            vec![record(RecordType::ToInclude, now.sources.iter().copied().collect())]
        }
        (is_exclude, _) => {
            let (more, less) = (minus(now, before), minus(before, now));
            let (allow, block) = if is_exclude { (less, more) } else { (more, less) };
            let both = [record(RecordType::Allow, allow), record(RecordType::Block, block)];
            both.into_iter().filter(|r| !r.sources.is_empty()).collect()
        }
    };
    send::report(router, interface, &records);
}

/// Current state of a group: of the sources asked for, or of all.
fn state(group: Ipv4Addr, wanted: &Wanted, asked: &BTreeSet<Ipv4Addr>) -> Option<Record> {
    if asked.is_empty() {
        let kind = [RecordType::IsInclude, RecordType::IsExclude][usize::from(wanted.is_exclude)];
        return Some(Record { kind, group, sources: wanted.sources.iter().copied().collect() });
    }
    let is_wanted = |source: &&Ipv4Addr| wanted.sources.contains(source) != wanted.is_exclude;
    let sources: Vec<_> = asked.iter().filter(is_wanted).copied().collect();
    (!sources.is_empty()).then_some(Record { kind: RecordType::IsInclude, group, sources })
}

/// A router asks (section 5.2).
pub fn asked(router: &mut Router, interface: InterfaceIndex, query: Query<'_>) {
    let delay = f64::from(query.within) / 10.0 * between(0.0, SHARE);
    let mut at = tasks::now(router) + (delay * SECOND as f64) as u64;
    let group = Some(query.group).filter(|group| !group.is_unspecified());
    let Some(on) = port_mut(router, interface) else { return };
    if on.wanted.is_empty() || group.is_some_and(|group| !on.wanted.contains_key(&group)) {
        return;
    }
    if on.answers.get(&None).is_some_and(|general| general.at <= at) {
        return;
    }
    let mut sources: BTreeSet<_> = query.sources.iter().map(|s| Ipv4Addr::from(*s)).collect();
    let earlier = on.answers.remove(&group);
    if let Some(mut earlier) = earlier {
        if group.is_some() {
            match sources.is_empty() || earlier.sources.is_empty() {
                true => sources.clear(),
                false => sources.append(&mut earlier.sources),
            }
            at = at.min(earlier.at);
        }
        tasks::take(router, earlier.at, Task::Answer(interface, group));
    }
    if sources.len() > MOST_SOURCES {
        sources.clear();
    }
    let Some(on) = port_mut(router, interface) else { return };
    on.answers.insert(group, Answer { at, sources });
    tasks::put(router, at, Task::Answer(interface, group));
}

/// Answers a query.
pub fn answer(router: &mut Router, interface: InterfaceIndex, group: Option<Ipv4Addr>) {
    let Some(on) = port_mut(router, interface) else { return };
    let Some(answer) = on.answers.remove(&group) else { return };
    let chosen = on.in_order().filter(|(g, _)| group.is_none_or(|group| group == *g));
    let records: Vec<_> = chosen.filter_map(|(g, w)| state(g, w, &answer.sources)).collect();
    send::report(router, interface, &records);
}

/// Says all that is wanted on an interface that has come up.
pub fn tell_all(router: &mut Router, interface: InterfaceIndex) {
    if !router.interfaces.at(interface).is_some_and(|i| i.admin_up && i.link_up) {
        return;
    }
    let Some(on) = port_mut(router, interface) else { return };
    let all = BTreeSet::new();
    let records: Vec<_> = on.in_order().filter_map(|(g, w)| state(g, w, &all)).collect();
    send::report(router, interface, &records);
}
