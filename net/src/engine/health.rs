//! Health of the engine: threads that are behind or do not answer, buffers that run
//! out, nodes that fail, events that were lost.

use std::collections::HashMap;

use graph::PoolUse;

use crate::health::{Check, Findings, Lately, Severity};
use crate::router::Router;

/// Average packets in a call from which a thread is said to be behind, and to be busy: 256 is a
/// full frame.
const BEHIND: u64 = 200;
const BUSY: u64 = 100;
/// Calls that an average needs.
const CALLS: u64 = 100;

/// State at the last look.
#[derive(Default)]
struct Last {
    /// Calls and packets of nodes, by thread.
    threads: HashMap<usize, (u64, u64)>,
    events_lost: u64,
    /// Events lost lately, and when the last ones were noticed.
    events: Lately,
}

pub(super) fn register(router: &mut Router) {
    router.insert(Last::default());
    let checks = [
        Check {
            name: "threads",
            about: "data-plane threads answer, and keep up with their packets",
            look: threads,
        },
        Check { name: "buffers", about: "packet buffers are left", look: buffers },
        Check { name: "nodes", about: "no node has failed", look: nodes },
        Check { name: "events", about: "events of nodes reach control", look: events },
    ];
    checks.into_iter().for_each(|check| router.check_health(check));
}

fn threads(router: &mut Router, found: &mut Findings) {
    let rows = match router.engine.runtime_rows() {
        Ok(rows) => rows,
        Err(silent) => return found.add(Severity::Error, "data plane", silent.to_string()),
    };
    let last = &mut router.own_mut::<Last>().threads;
    for row in rows {
        // Nodes that bring packets in have a state.
        let nodes = row.nodes.iter().filter(|node| node.state.is_none());
        let now = nodes.fold((0, 0), |sum, n| (sum.0 + n.stats.calls, sum.1 + n.stats.vectors));
        let before = last.insert(row.thread, now).unwrap_or_default();
        // Numbers that were cleared meanwhile start at zero.
        let since = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        let (calls, vectors) = (since(now.0, before.0), since(now.1, before.1));
        let average = vectors.checked_div(calls).unwrap_or(0);
        let text = |word| format!("is {word}: {average} packets per call, of at most 256");
        match average {
            _ if calls < CALLS => {}
            BEHIND.. => found.add(Severity::Error, row.name, text("behind, and may lose packets")),
            BUSY.. => found.add(Severity::Warning, row.name, text("busy")),
            _ => {}
        }
    }
}

fn buffers(router: &mut Router, found: &mut Findings) {
    for pool in router.engine.pool_usage().unwrap_or_default() {
        let percent = 100 * pool.used / pool.limit.max(1);
        let PoolUse { name, used, limit, .. } = pool;
        let text = format!("{name}: {used} of at most {limit} buffers are in use ({percent} %)");
        match percent {
            90.. => found.add(Severity::Error, "buffers", text),
            75.. => found.add(Severity::Warning, "buffers", text),
            _ => {}
        }
    }
}

fn nodes(router: &mut Router, found: &mut Findings) {
    let failed = router.engine.counters().filter(|c| c.2.name == "node_failed" && c.3 > 0);
    for (_, node, _, count) in failed {
        let text = format!("has failed {count} times and dropped packets: a bug, please report it");
        found.add(Severity::Error, node, text);
    }
    let circles = router.engine.counters().filter(|c| c.2.name == "in_circles" && c.3 > 0);
    for (.., count) in circles {
        let text = format!(
            "{count} packets looped through bridges, cross-connects or tunnels, and were dropped"
        );
        found.add(Severity::Error, "forwarding", text);
    }
}

fn events(router: &mut Router, found: &mut Findings) {
    let now = router.events.lost();
    let time = router.now();
    let last = router.own_mut::<Last>();
    let new = now - std::mem::replace(&mut last.events_lost, now);
    let lost = last.events.add(new, time);
    if lost > 0 {
        let text = format!("{lost} were lost in the last minute: control had too much to do");
        found.add(Severity::Warning, "events", text);
    }
}
