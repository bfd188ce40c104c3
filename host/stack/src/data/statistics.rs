//! Statistics of sessions and TCP in the statistics segment.

use std::io;
use std::time::Duration;

use control::process::{Event, Wake};
use control::stats::{Columns, Error, Number};
use infra::counter::{Counter, Rows};
use net::Router;
use tcp_machine::Counters;

use super::layer::Layer;

/// Time between two updates.
const INTERVAL: Duration = Duration::from_secs(10);
/// Name of the process.
const PROCESS: &str = "session-queue-process";
/// An entry and its counter.
type Entry = (&'static str, fn(&Counters) -> u64);
/// Entries of `/sys/tcp`.
const TCP: [Entry; 14] = [
    ("timer_expirations", |c| c.timer_expirations),
    ("rxt_segs", |c| c.rxt_segs),
    ("tr_events", |c| c.tr_events),
    ("to_establish", |c| c.to_establish),
    ("to_persist", |c| c.to_persist),
    ("to_closewait", |c| c.to_closewait),
    ("to_closewait2", |c| c.to_closewait2),
    ("to_finwait1", |c| c.to_finwait1),
    ("to_finwait2", |c| c.to_finwait2),
    ("to_lastack", |c| c.to_lastack),
    ("to_closing", |c| c.to_closing),
    ("tr_abort", |c| c.tr_abort),
    ("rst_unread", |c| c.rst_unread),
    ("no_buffer", |c| c.no_buffer),
];

/// The entries.
struct Statistics {
    by_worker: Rows<Counter>,
    total: Number,
    port_tries: Number,
    tcp: Rows<Counter>,
}

/// Adds the entries, and the process that updates them.
pub(super) fn register(router: &mut Router) -> io::Result<()> {
    let failed = |e: Error| io::Error::other(e);
    let stats = &mut router.stats;
    let threads = stats.threads();
    let tcp = stats.simple("/sys/tcp", Columns::fixed(TCP.len())).map_err(failed)?;
    for (column, (name, _)) in (0..).zip(TCP) {
        stats.symlink(&format!("/sys/tcp/{name}"), "/sys/tcp", column).map_err(failed)?;
    }
    let statistics = Statistics {
        by_worker: stats.row("/sys/session/sessions_per_worker", threads).map_err(failed)?,
        total: stats.gauge("/sys/session/sessions_total").map_err(failed)?,
        port_tries: stats.gauge("/sys/session/transport_port_alloc_max_tries").map_err(failed)?,
        tcp,
    };
    router.insert(statistics);
    let body = |router: &mut Router, _: Event| {
        update(router);
        if router.own::<Layer>().is_on { Wake::AfterOrEvent(INTERVAL) } else { Wake::OnEvent }
    };
    router.processes.spawn(PROCESS, Box::new(body));
    Ok(())
}

/// Wakes the process to update the entries.
pub(super) fn refresh(router: &mut Router) {
    router.processes.signal(PROCESS, 0);
}

fn update(router: &mut Router) {
    let Some(statistics) = router.state::<Statistics>() else { return };
    let (rows, stack) = (statistics.tcp.clone(), router.own::<Layer>().stack.clone());
    let seen = stack.ask(&mut router.engine, move |worker| {
        let row = rows.row(worker.thread);
        for (counter, (_, of)) in row.iter().zip(TCP) {
            counter.set(of(&worker.machine.counters));
        }
        (worker.count() as u64, u64::from(worker.ports.most_tries()))
    });
    let Ok(seen) = seen else { return };
    let statistics = router.own::<Statistics>();
    let by_worker = statistics.by_worker.row(0);
    for (thread, counter) in by_worker.iter().enumerate() {
        let here = seen.iter().find(|(at, _)| *at == thread);
        counter.set(here.map_or(0, |(_, (count, _))| *count));
    }
    let total = seen.iter().map(|(_, (count, _))| count).sum();
    router.stats.set(statistics.total, total);
    let tries = seen.iter().map(|(_, (_, tries))| *tries).max().unwrap_or(0);
    router.stats.set(statistics.port_tries, tries);
}
