//! Messages about neighbours that were received and sent, by interface, under the names clients
//! know: `/net/arp/...`, `/net/ip6-nd/...`.
#![forbid(unsafe_code)]

use control::stats::{self, Segment};
use infra::counter::{Counter, Rows};

use crate::interface::{COLUMNS, InterfaceIndex};
use crate::router::Router;

/// One direction of one protocol.
#[derive(Clone, Debug)]
pub struct Messages {
    /// Questions for an address.
    pub requests: Rows<Counter>,
    /// I have it, as you asked.
    pub replies: Rows<Counter>,
    /// I have it, all of you.
    pub gratuitous: Rows<Counter>,
}

/// Of one protocol.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Received.
    pub rx: Messages,
    /// Sent.
    pub tx: Messages,
}

impl Messages {
    fn new(stats: &mut Segment, path: &str) -> Result<Self, stats::Error> {
        Ok(Self {
            requests: stats.simple(&format!("{path}/requests"), COLUMNS)?,
            replies: stats.simple(&format!("{path}/replies"), COLUMNS)?,
            gratuitous: stats.simple(&format!("{path}/gratuitous"), COLUMNS)?,
        })
    }
    fn all(&self) -> [&Rows<Counter>; 3] {
        [&self.requests, &self.replies, &self.gratuitous]
    }
}

impl Counters {
    /// Counters of `protocol`, which begin to be there.
    ///
    /// # Errors
    /// A segment without room.
    pub(super) fn new(stats: &mut Segment, protocol: &str) -> Result<Self, stats::Error> {
        let rx = Messages::new(stats, &format!("/net/{protocol}/rx"))?;
        let tx = Messages::new(stats, &format!("/net/{protocol}/tx"))?;
        Ok(Self { rx, tx })
    }
    fn all(&self) -> impl Iterator<Item = &Rows<Counter>> {
        self.rx.all().into_iter().chain(self.tx.all())
    }
}

/// Counts one message; on the thread of the row.
#[inline(always)]
pub fn count(rows: &Rows<Counter>, thread: usize, interface: u32) {
    if let Some(counter) = rows.row(thread).get(interface as usize) {
        counter.add(1);
    }
}

/// Starts the counters of a new interface at zero, whose number may have been another's.
pub(super) fn start(router: &mut Router, interface: InterfaceIndex) {
    let at = interface.0 as usize;
    let counters = router.neighbors().counters.clone();
    if counters.iter().flat_map(Counters::all).all(|rows| rows.sum(at) == 0) {
        return;
    }
    let zeroed = router.engine.on_threads(move |thread| {
        let rows = counters.iter().flat_map(Counters::all);
        rows.for_each(|rows| rows.zero(thread, at..at + 1));
    });
    // A thread that does not answer keeps its values.
    drop(zeroed);
}
