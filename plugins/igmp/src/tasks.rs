//! Things to do at a time, in order: `igmp-timer-process`.

use net::prelude::*;

use super::{Igmp, Wanted, host, querier};

const PROCESS: &str = "igmp-timer-process";
/// Microseconds of a second.
pub const SECOND: u64 = 1_000_000;

/// A thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A router's query.
    Query(InterfaceIndex),
    /// A host answers, about a group or all of them.
    Answer(InterfaceIndex, Option<Ipv4Addr>),
    /// A host says once more that it joined a group.
    Repeat(InterfaceIndex, Ipv4Addr),
    /// A source of a group expires.
    Expire(InterfaceIndex, Ipv4Addr, Ipv4Addr),
}

/// Pending tasks and their times, in microseconds.
#[derive(Debug, Default)]
pub struct Tasks(BTreeSet<(u64, Task)>);

impl Tasks {
    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(u64, Task)> {
        self.0.iter()
    }
}

/// The time, in microseconds.
pub fn now(router: &Router) -> u64 {
    (router.now() * SECOND as f64) as u64
}

/// Schedules a task.
pub fn put(router: &mut Router, at: u64, task: Task) {
    let tasks = &mut router.own_mut::<Igmp>().tasks.0;
    let is_first = tasks.first().is_none_or(|first| at < first.0);
    tasks.insert((at, task));
    if is_first {
        router.processes.signal(PROCESS, 0);
    }
}

/// Schedules a task at once, by the process.
pub fn soon(router: &mut Router, task: Task) {
    let now = now(router);
    put(router, now, task);
}

/// Cancels a scheduled task.
pub fn take(router: &mut Router, at: u64, task: Task) {
    router.own_mut::<Igmp>().tasks.0.remove(&(at, task));
}

/// Tasks at most that are done before others have their turn.
const TURN: usize = 64;

fn run(router: &mut Router) -> Wake {
    let wake = turn(router);
    querier::settle(router);
    wake
}

fn turn(router: &mut Router) -> Wake {
    for _ in 0..TURN {
        let now = now(router);
        let tasks = &mut router.own_mut::<Igmp>().tasks.0;
        let Some((at, task)) = tasks.first().copied() else { return Wake::OnEvent };
        if at > now {
            return Wake::AfterOrEvent(Duration::from_micros(at - now));
        }
        tasks.pop_first();
        match task {
            Task::Query(interface) => querier::ask(router, interface),
            Task::Answer(interface, group) => host::answer(router, interface, group),
            Task::Repeat(interface, group) => {
                host::report_change(router, interface, group, &Wanted::default());
            }
            Task::Expire(interface, group, source) => {
                querier::expire(router, interface, group, source, at);
            }
        }
    }
    Wake::AfterOrEvent(Duration::ZERO)
}

pub fn register(router: &mut Router) {
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| run(router)));
}
