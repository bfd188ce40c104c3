//! The processes of this folder: ticking the nodes that hold packets, announcing, and ageing.
#![forbid(unsafe_code)]

use std::time::Duration;

use control::process::{Event, Wake};
use graph::Frame;

use super::family::Family;
use super::learn::end_hearing;
use super::resolve::{ResolveTarget, Resolver};
use super::waiting::INTERVAL;
use super::{Work, announce, table, visit};
use crate::router::Router;

/// Ticks the nodes while packets wait.
const TICKER: &str = "ip-neighbor-event";
/// Announces new addresses of ours.
const ANNOUNCER: &str = "ip-neighbor-announce";
/// Forget neighbours that are gone, IPv4 and IPv6.
const AGERS: [&str; 2] = ["ip4-neighbor-age-process", "ip6-neighbor-age-process"];
/// Precision of the time between two questions.
const TICK: Duration = Duration::from_millis(250);
/// Interval of looks through the table for old neighbours.
const LOOK: Duration = Duration::from_secs(1);
/// Most questions to an old neighbour before it is forgotten.
const ATTEMPTS: u8 = 3;

/// Starts the processes.
pub(super) fn spawn(router: &mut Router) {
    let ticker = |router: &mut Router, event| match event {
        Event::Start => Wake::OnEvent,
        Event::Signal(_) => Wake::After(TICK),
        Event::Timeout => {
            // A node that goes on holding packets says so again.
            router.neighbors_mut().is_ticking = false;
            visit(router, &Tick);
            end_hearing(router, INTERVAL);
            Wake::OnEvent
        }
    };
    router.processes.spawn(TICKER, Box::new(ticker));
    let announcer = |router: &mut Router, _| {
        announce::announce_new(router);
        Wake::OnEvent
    };
    router.processes.spawn(ANNOUNCER, Box::new(announcer));
    for (family, name) in AGERS.into_iter().enumerate() {
        // When it last looked.
        let mut last = None;
        let ager = move |router: &mut Router, _| {
            let now = router.now();
            age(router, family, now - last.unwrap_or(now));
            let ages = router.neighbors().table.configs[family].age > 0.0;
            last = ages.then_some(now);
            if ages { Wake::AfterOrEvent(LOOK) } else { Wake::OnEvent }
        };
        router.processes.spawn(name, Box::new(ager));
    }
}

/// Wakes the process that announces.
pub(super) fn announce_soon(router: &mut Router) {
    router.processes.signal(ANNOUNCER, 0);
}

/// Wakes the process that ticks.
pub(super) fn start_ticking(router: &mut Router) {
    router.processes.signal(TICKER, 0);
}

/// Makes a family's ageing follow its configuration.
pub(super) fn configured(router: &mut Router, family: usize) {
    router.processes.signal(AGERS[family], 0);
}

/// Looks through a family's neighbours, `leap` seconds after the last time.
fn age(router: &mut Router, family: usize, leap: f64) {
    let now = router.now();
    let table: &mut table::Table = &mut router.neighbors_mut().table;
    let table::Aged { ask, forget } = table.aged(family, (now, leap), ATTEMPTS);
    ask.into_iter().for_each(|key| announce::probe(router, key));
    for key in forget {
        // It was there just now.
        let _ = router.remove_neighbor(key);
    }
}

#[derive(Clone)]
struct Tick;

impl Work for Tick {
    fn work<F: Family, W: ResolveTarget>(
        self,
        node: &mut Resolver<F, W>,
        frame: &mut Frame<'_, Resolver<F, W>>,
    ) {
        node.tick(frame);
    }
}
